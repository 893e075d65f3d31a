"""The search before there was a network: spectral embeddings of averaged anchor graphs.

Chapter 18 of the book shows its stored runs. Every row of `VARIANTS` changes one choice of `BASE`.
"""

import numpy as np
import scipy.sparse
import torch
from scipy.sparse.linalg import LinearOperator, eigsh

from dmac.anchor_graph import anchor_graph
from dmac.anchors import n_anchors_for
from dmac.compute.distances import squared_distances
from dmac.compute.kmeans import kmeans, sample_anchors
from dmac.data.pipeline import ViewPipeline
from dmac.data.whitening import RowNormalizer, normalize_rows

#: The method's name in a record.
METHOD = "spectral search"

#: The settings from which each variant differs.
BASE = dict(
    power=1.0, components=2.0, ridge=0.0, factor=1.0, k=5, sets=30, lloyd=5, joint=True, again=0
)
#: Name in the table of chapter 18, and the settings that differ from `BASE`.
VARIANTS = {
    "one anchor set": dict(sets=1),
    "5 anchor sets": dict(sets=5),
    "30 anchor sets": dict(),
    "a graph a view": dict(joint=False),
    "random samples as anchors": dict(lloyd=0),
    "k = 10": dict(k=10),
    "components x 0.5": dict(components=1.0),
    "components x 2": dict(components=4.0),
    "no whitening": dict(ridge=1e6),
    "twice the anchors": dict(factor=2.0),
    "three times the anchors": dict(factor=3.0),
    "twice, ridge 0.03": dict(factor=2.0, ridge=0.03),
    "twice, ridge 0.1": dict(factor=2.0, ridge=0.1),
    "twice, ridge 0.3": dict(factor=2.0, ridge=0.3),
    "twice, signed power 0.7": dict(factor=2.0, power=0.7),
    "twice, signed root": dict(factor=2.0, power=0.5),
    "twice, signed power 0.33": dict(factor=2.0, power=1 / 3),
    "twice, signed root, ridge 0.03": dict(factor=2.0, power=0.5, ridge=0.03),
    "the same, graph of Z mixed in once": dict(factor=2.0, power=0.5, ridge=0.03, again=1),
    "the same, twice": dict(factor=2.0, power=0.5, ridge=0.03, again=2),
    "the same, four times": dict(factor=2.0, power=0.5, ridge=0.03, again=4),
}


def spectral_search(
    views, n_clusters, seed, *, power, components, ridge, factor, k, sets, lloyd, joint, again
):
    r"""Cluster the top c eigenvectors of averaged sample graphs :math:`S D^{-1} S^T`: labels (n,).

    Entries get the signed ``power``; views the principal directions that ``components`` (in units
    of c) and ``ridge`` say (:class:`dmac.data.pipeline.ViewPipeline`). ``sets`` anchor sets of
    ``factor`` :math:`\sqrt{n c}` anchors, each after so many ``lloyd`` iterations, link a sample
    to ``k`` of them, in one graph of all views (``joint``) or in one a view. So many times as
    ``again`` says, the graph of the embedding is added and the eigenvectors taken anew.
    """
    n = views[0].shape[0]
    generator = torch.Generator().manual_seed(seed)
    rank = max(1, round(components * n_clusters))
    views = [_prepare(x, power, rank, ridge) for x in views]
    spaces = [torch.cat(views, 1) / len(views) ** 0.5] if joint else views
    settings = n_anchors_for(n, n_clusters, factor), k, sets, lloyd, generator
    factors = [_factor(x, *settings) / len(spaces) ** 0.5 for x in spaces]
    z = _eigenvectors(factors, n_clusters)
    for _ in range(again):
        rows = torch.as_tensor(normalize_rows(z), dtype=torch.float32)
        z = _eigenvectors([*factors, _factor(rows, *settings)], n_clusters)
    return kmeans(RowNormalizer().fit_transform(z), n_clusters, seed, n_init=10).labels_


def _prepare(x, power, rank, ridge):
    if power != 1:
        x = x.copy() if scipy.sparse.issparse(x) else np.array(x, dtype=float)
        entries = x.data if scipy.sparse.issparse(x) else x
        entries[...] = np.sign(entries) * np.abs(entries) ** power
    return torch.as_tensor(ViewPipeline(False, rank, ridge).fit_transform(x), dtype=torch.float32)


def _factor(points, m, k, sets, lloyd, generator):
    """B (n, sets m) with B B^T the average of S D^-1 S^T over anchor sets."""
    blocks = []
    for _ in range(sets):
        anchors = sample_anchors(points, m, generator, lloyd)
        graph = anchor_graph(squared_distances(points, anchors), k)
        weights = graph.weights * graph.inverse_degrees().sqrt()[graph.indices]
        rows = np.arange(0, weights.numel() + 1, k)
        parts = (weights.flatten().numpy(), graph.indices.flatten().numpy(), rows)
        blocks.append(scipy.sparse.csr_matrix(parts, shape=(len(points), m)))
    return scipy.sparse.hstack(blocks).tocsr().astype(float) / np.sqrt(sets)


def _eigenvectors(factors, c):
    """Top c eigenvectors of the sum of B B^T."""
    n = factors[0].shape[0]
    pairs = [(b, b.T.tocsr()) for b in factors]
    graph = LinearOperator((n, n), lambda v: sum(b @ (transposed @ v) for b, transposed in pairs))
    return eigsh(graph, k=c, which="LA", v0=np.ones(n))[1]
