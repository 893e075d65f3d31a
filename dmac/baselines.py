"""The shallow, label-free pipelines that a deep method has to beat.

Chapter 1 of the book introduces them, "Your own data" uses them. `raw_kmeans`,
`whitened_kmeans` and `landmark_spectral_clustering` take the views, a list of v array_likes of
shape (n, d_a), the number of clusters c and a seed, and return int64 labels of shape (n,); one
setting serves all data. Views that are not usable are a ``ValueError``
(:func:`dmac.data.checks.check_views`).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from dmac._types import Array, Integers, Matrix, Views
from dmac.anchor_graph import AnchorGraph, anchor_graph
from dmac.anchors import n_anchors_for
from dmac.compute.distances import squared_distances
from dmac.compute.kmeans import kmeans, kmeans_anchors
from dmac.data.checks import check_views
from dmac.data.whitening import RowNormalizer, Whitening


def concatenate_views(views: Views) -> Matrix:
    """Rows of every view scaled to unit length, views side by side: (n, sum of the d_a).

    Squared distances then add up over the views :eq:`eq:sum-of-views`. Sparse if every view is.

    Examples
    --------
    >>> from dmac.baselines import concatenate_views
    >>> concatenate_views([[[3.0, 4.0]], [[0.0, 2.0]]])
    array([[0.6, 0.8, 0. , 1. ]])
    """
    views = [RowNormalizer().fit_transform(x) for x in check_views(views)]
    if all(scipy.sparse.issparse(x) for x in views):
        return scipy.sparse.hstack(views, format="csr")
    return np.hstack([x.toarray() if scipy.sparse.issparse(x) else x for x in views])


def whiten_views(views: Views, n_clusters: int) -> Array:
    """Per view: unit rows, centred, whitened :eq:`eq:whitening`, unit rows; then side by side.

    Twice as many principal directions are kept as there are clusters to tell apart, so the result
    is (n, at most 2 c v).

    Examples
    --------
    >>> import dmac
    >>> h = dmac.baselines.whiten_views(dmac.load("mfeat").views, n_clusters=10)
    >>> h.shape, (h**2).sum(1).round(6)[:2]
    ((2000, 106), array([6., 6.]))

    Six rows of length 1 side by side, of 20 columns each but for the last view, which has six.
    """
    unit_rows = RowNormalizer().fit_transform
    whiten = Whitening(2 * n_clusters).fit_transform
    return np.hstack([unit_rows(whiten(unit_rows(x))) for x in check_views(views)])


def raw_kmeans(views: Views, n_clusters: int, seed: int) -> Integers:
    """K-means (10 starts) on :func:`concatenate_views` views.

    Examples
    --------
    >>> import dmac
    >>> data = dmac.load("mfeat")
    >>> labels = dmac.baselines.raw_kmeans(data.views, n_clusters=10, seed=0)
    >>> dmac.scores(data.labels, labels)["acc"] > 0.8
    True
    """
    return kmeans(concatenate_views(views), n_clusters, seed, n_init=10).labels_.astype(np.int64)


def whitened_kmeans(views: Views, n_clusters: int, seed: int) -> Integers:
    """K-means (10 starts) on :func:`whiten_views` views.

    Examples
    --------
    >>> import dmac
    >>> data = dmac.load("mfeat")
    >>> labels = dmac.baselines.whitened_kmeans(data.views, n_clusters=10, seed=0)
    >>> dmac.scores(data.labels, labels)["acc"] > 0.9
    True
    """
    h = whiten_views(views, n_clusters)
    return kmeans(h, n_clusters, seed, n_init=10).labels_.astype(np.int64)


def landmark_spectral_clustering(
    views: Views, n_clusters: int, seed: int, n_neighbors: int = 5
) -> Integers:
    r"""Spectral clustering on the anchor graph of whitened views, with nothing trained.

    :math:`m = \lfloor\sqrt{nc}\rfloor` k-means anchors of the :func:`whiten_views` views, their
    closed-form anchor graph S :eq:`eq:anchor-graph` of k = ``n_neighbors`` below m,
    the top c left singular vectors of :math:`S D_S^{-1/2}` (those are the eigenvectors of
    :math:`G = S D_S^{-1} S^T`), rows to unit length, k-means (10 starts). They solve
    :math:`\min \mathrm{Tr}(Z^T (I - G) Z)` under :math:`Z^T Z = I`: the structure preservation
    loss :eq:`eq:trace-form` with its trivial solution, all rows the same, excluded by a
    constraint (one column may be constant, the others are orthogonal to it). Anchors in spectral
    clustering: Chen and Cai 2011; unit rows before k-means: Ng et al. 2001.

    Examples
    --------
    >>> import dmac
    >>> data = dmac.load("mfeat")
    >>> lsc = dmac.baselines.landmark_spectral_clustering
    >>> labels = lsc(data.views, n_clusters=10, seed=0)
    >>> dmac.scores(data.labels, labels)["acc"] > 0.95
    True
    """
    h = torch.as_tensor(whiten_views(views, n_clusters))
    generator = torch.Generator().manual_seed(seed)
    u = kmeans_anchors(h, n_anchors_for(len(h), n_clusters), generator)
    graph = anchor_graph(squared_distances(h, u), n_neighbors)
    z = spectral_embedding(graph, n_clusters).numpy()
    rows = RowNormalizer().fit_transform(z)
    return kmeans(rows, n_clusters, seed, n_init=10).labels_.astype(np.int64)


#: The name of `landmark_spectral_clustering` until 0.2.
closed_form = landmark_spectral_clustering


def spectral_embedding(graph: AnchorGraph, n_components: int) -> Tensor:
    r"""Top left singular vectors of :math:`S D_S^{-1/2}`, through the m x m Gram matrix.

    Orthonormal columns, (n, ``n_components``), by decreasing eigenvalue of G. The eigenvalue 1
    belongs to the constant vector, and to more where the graph falls into parts; past the rank of
    the graph the columns are 0 up to rounding.

    Examples
    --------
    Two pairs of samples, each with two anchors of its own: the second column tells them apart.

    >>> import torch
    >>> from dmac.anchor_graph import AnchorGraph
    >>> from dmac.baselines import spectral_embedding
    >>> weights = torch.full((4, 2), 0.5, dtype=torch.float64)
    >>> indices = torch.tensor([[0, 1], [0, 1], [2, 3], [2, 3]])
    >>> graph = AnchorGraph(indices, weights, 4)
    >>> z = spectral_embedding(graph, 2)
    >>> (z.T @ z).round(decimals=6).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    >>> torch.allclose(z[0], z[1]), torch.allclose(z[1], z[2])
    (True, False)
    """
    root = graph.inverse_degrees().sqrt()
    s = scipy.sparse.csr_matrix(
        (
            graph.weights.flatten().numpy(),
            graph.indices.flatten().numpy(),
            np.arange(0, graph.indices.numel() + 1, graph.indices.shape[1]),
        ),
        shape=(len(graph.indices), graph.n_anchors),
    ) @ scipy.sparse.diags(root.numpy())
    values, vectors = torch.linalg.eigh(torch.as_tensor((s.T @ s).toarray()))
    order = torch.argsort(values, descending=True)[:n_components]
    scale = values[order].clamp_min(torch.finfo(values.dtype).eps).sqrt()
    return torch.as_tensor(s @ vectors[:, order].numpy()) / scale
