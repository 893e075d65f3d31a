"""The shallow pipelines on separated clusters, against plain formulas, and on real files."""

import numpy as np
import pytest
import scipy.sparse
import torch
from helpers import problems, random_points
from hypothesis import given
from sklearn.cluster import KMeans

import dmac
from dmac import baselines, reference
from dmac.anchor_graph import anchor_graph
from dmac.compute.distances import squared_distances
from dmac.compute.kmeans import kmeans_anchors


def test_concatenation_of_sparse_views_stays_sparse(views):
    sparse = [scipy.sparse.csr_matrix(x) for x in views]
    joined = baselines.concatenate_views(sparse)
    assert scipy.sparse.issparse(joined)
    dense = baselines.raw_kmeans([x.toarray() for x in sparse], 3, seed=0)
    assert dmac.scores(dense, baselines.raw_kmeans(sparse, 3, seed=0))["ari"] > 0.9
    np.testing.assert_allclose(joined.toarray(), baselines.concatenate_views(views))
    mixed = baselines.concatenate_views([sparse[0], *views[1:]])
    np.testing.assert_allclose(mixed, baselines.concatenate_views(views))


def test_whitened_views_have_unit_rows_of_2c_dimensions(views):
    h = baselines.whiten_views(views, 2)
    assert h.shape == (90, 4 * 3)
    np.testing.assert_allclose(np.linalg.norm(h[:, :4], axis=1), 1)


@pytest.fixture(scope="module")
def noise():
    """Two views without clusters, where every start of k-means and every neighbour matters."""
    rng = np.random.default_rng(0)
    return [rng.normal(size=(60, 7)), rng.normal(size=(60, 9))]


def embedded(views, seed, k=5):
    """The rows of which `closed_form` takes the k-means."""
    h = torch.as_tensor(baselines.whiten_views(views, 4))
    u = kmeans_anchors(h, 15, torch.Generator().manual_seed(seed))  # floor(sqrt(60 * 4))
    z = baselines.spectral_embedding(anchor_graph(squared_distances(h, u), k), 4).numpy()
    return z / np.linalg.norm(z, axis=1, keepdims=True)


@pytest.mark.parametrize(
    "method, rows",
    [
        (baselines.raw_kmeans, lambda views, seed: baselines.concatenate_views(views)),
        (baselines.whitened_kmeans, lambda views, seed: baselines.whiten_views(views, 4)),
        (baselines.landmark_spectral_clustering, embedded),
        (
            lambda *given: baselines.landmark_spectral_clustering(*given, n_neighbors=3),
            lambda views, seed: embedded(views, seed, 3),
        ),
    ],
)
def test_it_is_k_means_of_ten_starts(method, rows, noise):
    for seed in range(20):
        expected = KMeans(4, n_init=10, random_state=seed).fit(rows(noise, seed)).labels_
        labels = method(noise, 4, seed)
        np.testing.assert_array_equal(labels, expected)
        assert labels.dtype == np.int64


@given(problems)
def test_spectral_embedding_minimises_the_structure_loss_on_orthonormal_columns(problem):
    n, m, d, seed, k = problem
    z, u = random_points(n, m, d, seed)
    graph = anchor_graph(squared_distances(z, u).detach(), k)
    values = torch.linalg.eigvalsh(reference.full_graph(graph.to_dense())).flip(0)
    c = min(2, int((values > 1e-6).sum()))  # or the rank
    y = baselines.spectral_embedding(graph, c)
    torch.testing.assert_close(y.T @ y, torch.eye(c, dtype=y.dtype), rtol=1e-5, atol=1e-5)
    attained = reference.structure_preservation_loss_trace(y, graph.to_dense())
    torch.testing.assert_close(attained, (1 - values[:c]).sum(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "name, method, acc, nmi",
    [
        ("PIE", "closed_form", 74.3, 85.8),
        ("HandWritten", "closed_form", 98.0, 95.5),
        ("BBCSport", "closed_form", 96.3, 88.6),
        ("NGs", "whitened_kmeans", 97.1, 90.7),
    ],
)
def test_reaches_the_known_scores_on_real_files(name, method, acc, nmi, data_folder):
    # Means of 3 seeds, measured by a separate implementation; 3 points are about two of its sd.
    data = dmac.load(name)
    results = [
        dmac.scores(data.labels, getattr(baselines, method)(data.views, data.n_clusters, seed))
        for seed in range(3)
    ]
    means = [100 * np.mean([r[score] for r in results]) for score in ("acc", "nmi")]
    assert means == pytest.approx([acc, nmi], abs=3)
