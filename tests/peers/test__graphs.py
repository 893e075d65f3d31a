"""Nearest-neighbour graphs against loops over pairs, and their operator."""

import numpy as np
import pytest
import scipy.sparse

from dmac.peers import _graphs
from dmac.peers._graphs import (
    METRICS,
    directed_graph,
    mutual_graph,
    nearest_neighbors,
    normalized,
)


def points(n=40, d=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def distances(x, metric):
    if metric == "manhattan":
        return np.abs(x[:, None] - x[None]).sum(2)
    if metric == "cosine":
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        return 1 - unit @ unit.T
    return np.linalg.norm(x[:, None] - x[None], axis=2)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("metric", METRICS)
def test_neighbors_are_the_nearest_others_in_order(metric, kind):
    x = points()
    d = distances(x, metric)
    np.fill_diagonal(d, np.inf)
    expected = np.argsort(d, axis=1)[:, :6]
    np.testing.assert_array_equal(nearest_neighbors(kind(x), 6, metric), expected)


def test_number_of_neighbors_is_cut_down_to_a_quarter_of_the_samples():
    assert nearest_neighbors(points(40), 50).shape == (40, 10)
    assert nearest_neighbors(points(40), 10).shape == (40, 10)
    assert nearest_neighbors(points(3), 50).shape == (3, 1)


def test_a_sample_is_not_its_own_neighbor_even_among_copies():
    x = np.repeat(points(5), 4, axis=0)
    found = nearest_neighbors(x, 3)
    assert (found != np.arange(20)[:, None]).all()
    np.testing.assert_array_equal(found // 4, np.repeat(np.arange(5), 4)[:, None] * [1, 1, 1])


def test_graphs_match_loops_over_pairs(monkeypatch):
    monkeypatch.setattr(_graphs, "_ROWS", 7)  # several blocks
    n, k = 40, 7
    near = nearest_neighbors(points(n), k)
    lists = [set(row) for row in near.tolist()]
    directed = np.array([[j in lists[i] for j in range(n)] for i in range(n)])
    mutual = directed & directed.T
    np.testing.assert_array_equal(directed_graph(near).toarray(), directed)
    np.testing.assert_array_equal(mutual_graph(near, 0).toarray(), mutual)
    for least in (1, 2, 3):
        common = [[sum(mutual[i] & mutual[j]) for j in range(n)] for i in range(n)]
        kept = mutual & (np.array(common) >= least)
        assert kept.any() and (kept != mutual).any()
        np.testing.assert_array_equal(mutual_graph(near, least).toarray(), kept)


def test_operator_of_a_graph():
    graph = mutual_graph(nearest_neighbors(points(), 8), 0)
    a = graph.toarray() + np.eye(40)
    root = np.diag(a.sum(1) ** -0.5)
    operator = normalized(graph)
    np.testing.assert_allclose(operator.toarray(), root @ a @ root, rtol=1e-12)
    values = np.linalg.eigvalsh(operator.toarray())
    assert values[-1] == pytest.approx(1) and values[0] > -1
    # Isolated samples are left alone.
    np.testing.assert_array_equal(normalized(scipy.sparse.csr_matrix((3, 3))).toarray(), np.eye(3))
