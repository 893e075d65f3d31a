"""The search without a network, against dense graphs and their eigenvectors."""

import numpy as np
import pytest
import scipy.sparse
import torch
from toy_runs import load

import dmac
from dmac.anchor_graph import anchor_graph
from dmac.compute.distances import squared_distances
from dmac.compute.kmeans import sample_anchors
from experiments.ideas import search

N, M, K = 40, 9, 3
POINTS = torch.randn(N, 4, generator=torch.Generator().manual_seed(0))


def seeded():
    return torch.Generator().manual_seed(1)


@pytest.mark.parametrize("sets, lloyd", [(1, 0), (4, 2)])
def test_factor_is_a_root_of_the_averaged_graph(sets, lloyd):
    generator, total = seeded(), np.zeros((N, N))
    for _ in range(sets):
        u = sample_anchors(POINTS, M, generator, lloyd)
        s = anchor_graph(squared_distances(POINTS, u), K).to_dense().double().numpy()
        total += s @ np.diag(1 / np.maximum(s.sum(0), 1e-300)) @ s.T
    b = search._factor(POINTS, M, K, sets, lloyd, seeded())
    assert b.shape == (N, sets * M)
    np.testing.assert_allclose((b @ b.T).toarray(), total / sets, atol=1e-6)


def test_eigenvectors_are_those_of_the_sum():
    factors = [search._factor(POINTS, M, K, 2, 1, seeded()) for _ in range(2)]
    z = search._eigenvectors(factors, 3)
    values, vectors = np.linalg.eigh(sum((b @ b.T).toarray() for b in factors))
    assert values[-3] - values[-4] > 1e-3
    np.testing.assert_allclose(z @ z.T, vectors[:, -3:] @ vectors[:, -3:].T, atol=1e-6)


def test_powers_keep_signs_and_sparse_views_stay_as_they_were():
    x = np.random.default_rng(0).normal(size=(30, 6))
    matrix = scipy.sparse.csr_matrix(x)
    expected = search._prepare(np.sign(x) * np.sqrt(np.abs(x)), 1.0, 2, 0.0)
    torch.testing.assert_close(search._prepare(x, 0.5, 2, 0.0), expected)
    torch.testing.assert_close(search._prepare(matrix, 0.5, 2, 0.0), expected, rtol=0, atol=1e-4)
    np.testing.assert_array_equal(matrix.toarray(), x)


@pytest.mark.parametrize("changes", [{}, dict(joint=False), dict(again=2), dict(power=0.5)])
def test_separated_clusters_are_found(changes):
    data = load("toy")
    settings = search.BASE | {"components": 1.0, "sets": 4} | changes
    labels = search.spectral_search(data.views, 3, 1, **settings)
    assert dmac.scores(data.labels, labels)["acc"] > 0.95
