"""Nearest-neighbour graphs against loops over pairs, their operator and its eigenvectors."""

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from dmac.peers._graphs import (
    METRICS,
    directed_graph,
    leading_vectors,
    mutual_graph,
    nearest_neighbors,
    normalized,
    union_graph,
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


def test_unknown_metric_is_refused():
    with pytest.raises(ValueError, match="metric is 'best'"):
        nearest_neighbors(points(), 3, "best")


def test_graphs_match_loops_over_pairs():
    n, k = 40, 7
    near = nearest_neighbors(points(n), k)
    lists = [set(row) for row in near.tolist()]
    directed, union, mutual = np.zeros((3, n, n))
    for i in range(n):
        for j in range(n):
            directed[i, j] = j in lists[i]
            union[i, j] = j in lists[i] or i in lists[j]
            mutual[i, j] = j in lists[i] and i in lists[j]
    np.testing.assert_array_equal(directed_graph(near).toarray(), directed)
    np.testing.assert_array_equal(union_graph(near).toarray(), union)
    np.testing.assert_array_equal(mutual_graph(near, 0).toarray(), mutual)
    for least in (1, 2, 3):
        kept = np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                common = sum(mutual[i, h] and mutual[j, h] for h in range(n))
                kept[i, j] = mutual[i, j] and common >= least
        assert kept.any() and (kept != mutual).any()
        np.testing.assert_array_equal(mutual_graph(near, least).toarray(), kept)


def test_mutual_graph_is_the_same_whatever_the_block(monkeypatch):
    near = nearest_neighbors(points(), 8)
    whole = mutual_graph(near).toarray()
    monkeypatch.setattr("dmac.peers._graphs._ROWS", 7)
    np.testing.assert_array_equal(mutual_graph(near).toarray(), whole)


def test_edge_between_two_cliques_goes():
    # Two cliques of 4 and a mutual edge from one to the other: its ends share no neighbour.
    cliques = [range(4), range(4, 8)]
    near = np.array([[j for j in cliques[i // 4] if j != i] for i in range(8)])
    other = np.array([4, *range(2, 5), 0, *range(6, 8), 4])[:, None]
    near = np.hstack([near, other])
    assert mutual_graph(near, 0)[0, 4] == 1
    np.testing.assert_array_equal(
        mutual_graph(near, 2).toarray(), np.kron(np.eye(2), 1 - np.eye(4))
    )


def test_operator_of_a_graph():
    graph = union_graph(nearest_neighbors(points(), 4))
    a = graph.toarray() + np.eye(40)
    root = np.diag(a.sum(1) ** -0.5)
    operator = normalized(graph)
    np.testing.assert_allclose(operator.toarray(), root @ a @ root, rtol=1e-12)
    values = np.linalg.eigvalsh(operator.toarray())
    assert values[-1] == pytest.approx(1) and values[0] > -1


def test_operator_leaves_isolated_samples_alone():
    np.testing.assert_array_equal(normalized(scipy.sparse.csr_matrix((3, 3))).toarray(), np.eye(3))


@pytest.mark.parametrize("n", [30, 520])
def test_leading_vectors_maximise_the_trace(n):
    # Fan 1949: the largest trace over orthonormal Q is the sum of the c largest eigenvalues.
    operator = normalized(union_graph(nearest_neighbors(points(n), 5))).toarray()
    q = leading_vectors(operator, 4)
    np.testing.assert_allclose(q.T @ q, np.eye(4), atol=1e-8)
    assert np.trace(q.T @ operator @ q) == pytest.approx(np.linalg.eigvalsh(operator)[-4:].sum())


def test_leading_vectors_span_the_parts_of_a_graph():
    blocks = np.kron(np.eye(6), np.full((100, 100), 0.01))
    q = leading_vectors(blocks, 6)
    np.testing.assert_allclose(q @ q.T, blocks, atol=1e-8)


def test_leading_vectors_fall_back_on_the_dense_decomposition(monkeypatch):
    def fail(*args, **kwargs):
        raise scipy.sparse.linalg.ArpackNoConvergence("none", np.empty(0), np.empty((0, 0)))

    monkeypatch.setattr("dmac.peers._graphs.eigsh", fail)
    operator = np.diag(np.arange(520.0))
    np.testing.assert_allclose(np.abs(leading_vectors(operator, 2)), np.eye(520)[:, -2:], atol=1e-9)


@pytest.mark.parametrize("c", [4, 40])
def test_leading_vectors_of_eigenvalues_that_hardly_differ_take_no_more_than_the_dense_ones(
    monkeypatch, c
):
    products = []

    def count(operator, *args, **kwargs):
        def multiply(x):
            products.append(1)
            return operator @ x

        counted = LinearOperator(operator.shape, multiply, dtype=operator.dtype)
        return eigsh(counted, *args, **kwargs)

    monkeypatch.setattr("dmac.peers._graphs.eigsh", count)
    n = 600
    values = 1 - np.geomspace(1e-9, 1, n)  # many near 1, none equal
    turned = np.linalg.qr(np.random.default_rng(0).standard_normal((n, n)))[0]
    operator = (turned * values) @ turned.T
    operator = (operator + operator.T) / 2
    q = leading_vectors(operator, c)
    assert 0 < len(products) <= n // 4 + max(2 * c + 1, 20)
    np.testing.assert_allclose(q.T @ q, np.eye(c), atol=1e-8)
    assert np.trace(q.T @ operator @ q) == pytest.approx(values[:c].sum(), abs=1e-10)
