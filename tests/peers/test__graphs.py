"""Nearest-neighbour graphs against loops over pairs, their operator, components and vectors."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from systems import planted_graph, same_partition

from dmac.peers import _graphs
from dmac.peers._graphs import (
    METRICS,
    directed_graph,
    mutual_graph,
    nearest_neighbors,
    normalized,
)
from dmac.peers._spectral import bipartite_embedding, components


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


@pytest.mark.parametrize("n, asked, taken", [(40, 50, 10), (40, 10, 10), (3, 50, 1)])
def test_number_of_neighbors_is_cut_down_to_a_quarter_of_the_samples(n, asked, taken):
    assert nearest_neighbors(points(n), asked).shape == (n, taken)


def test_a_sample_is_not_its_own_neighbor_even_among_copies():
    found = nearest_neighbors(np.repeat(points(5), 4, axis=0), 3)
    assert (found != np.arange(20)[:, None]).all()
    np.testing.assert_array_equal(found // 4, np.repeat(np.arange(5), 4)[:, None] * [1, 1, 1])


def test_graphs_match_loops_over_pairs(monkeypatch):
    monkeypatch.setattr(_graphs, "_ROWS", 7)  # several blocks
    near = nearest_neighbors(points(40), 7)
    directed = np.array([[j in row for j in range(40)] for row in near])
    mutual = directed & directed.T
    common = np.array([[sum(one & other) for other in mutual] for one in mutual])
    np.testing.assert_array_equal(directed_graph(near).toarray(), directed)
    np.testing.assert_array_equal(mutual_graph(near, 0).toarray(), mutual)
    for least in (1, 2, 3):
        kept = mutual & (common >= least)
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


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 2**31 - 1))
def test_components_are_the_planted_ones(sizes, seed):
    graph, parts = planted_graph(sizes, seed)
    for kind in (np.asarray, scipy.sparse.csr_matrix):
        assert same_partition(components(kind(graph)), parts)


def test_a_link_in_one_direction_is_a_link_and_a_stored_zero_is_none():
    stored = scipy.sparse.csr_matrix(([0.1, 0.0], ([2, 1], [0, 3])), shape=(4, 4))
    for graph in (stored, stored.toarray()):
        assert components(graph).tolist() == [0, 1, 0, 2]
    assert stored.nnz == 2  # the caller's matrix is left alone


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
def test_bipartite_embedding_holds_eigenvectors_of_the_normalised_laplacian(kind):
    generator = np.random.default_rng(0)
    z = generator.random((12, 5)) * (generator.random((12, 5)) < 0.7) + 0.01
    u, v, s, distances = bipartite_embedding(kind(z), 3)
    whole = np.block([[np.zeros((12, 12)), z], [z.T, np.zeros((5, 5))]])
    root = 1 / np.sqrt(whole.sum(1))
    normalised = np.eye(17) - root[:, None] * whole * root
    f = np.vstack([u, v])
    np.testing.assert_allclose(f.T @ f, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(normalised @ f, f * (1 - s[:3]), atol=1e-10)
    np.testing.assert_allclose(1 - s, scipy.linalg.eigvalsh(normalised)[:4], atol=1e-10)
    scaled = f * root[:, None]
    expected = ((scaled[:12, None] - scaled[None, 12:]) ** 2).sum(2)
    np.testing.assert_allclose(distances, expected, atol=1e-10)
    # The link-weighted distances are the trace that the embedding minimises.
    assert (z * distances).sum() == pytest.approx(np.trace(f.T @ normalised @ f))


def test_a_graph_of_rank_one_separates_nothing():
    # Where every row is alike, vectors beyond the first are arbitrary: none may be made up.
    u, v, s, distances = bipartite_embedding(np.full((6, 4), 0.25), 3)
    np.testing.assert_allclose(s, [1, 0, 0, 0], atol=1e-7)
    assert (u[:, 1:] == 0).all() and (v[:, 1:] == 0).all()
    np.testing.assert_allclose(distances, 0, atol=1e-12)
