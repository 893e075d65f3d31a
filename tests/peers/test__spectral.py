"""Eigenvectors against LAPACK on the whole matrix, components against ones that were planted."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from dmac.peers import _spectral
from dmac.peers._spectral import (
    bipartite_components,
    bipartite_embedding,
    components,
    laplacian,
    leading_singular_vectors,
    smallest_eigenvectors,
)


def planted_graph(sizes, seed, neighbors=6):
    """A weighted graph with one connected component a size, its nodes shuffled; and their parts."""
    generator = np.random.default_rng(seed)
    parts = generator.permutation(np.repeat(np.arange(len(sizes)), sizes))
    graph = np.zeros((len(parts), len(parts)))
    for part in range(len(sizes)):
        nodes = np.flatnonzero(parts == part)
        for i, node in enumerate(nodes):
            others = generator.choice(nodes, min(neighbors, len(nodes)), replace=False)
            graph[node, others] = generator.random(len(others))
            graph[node, nodes[i - 1]] = 0.5  # a ring keeps the component in one piece
    np.fill_diagonal(graph, 0)
    return graph, parts


def same_partition(a, b):
    return len(set(zip(a, b))) == len(set(a)) == len(set(b))


@pytest.mark.parametrize("sizes", [(40,), (30, 20), (5, 50, 8), (17, 17, 17, 17)])
@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize("dense", [True, False])
def test_smallest_eigenvectors_are_those_of_the_whole_matrix(sizes, k, dense, monkeypatch):
    if not dense:
        monkeypatch.setattr(_spectral, "_DENSE", 0)
    graph, _ = planted_graph(sizes, seed=sum(sizes))
    matrix = laplacian(graph)
    values, vectors = smallest_eigenvectors(matrix, k, np.random.default_rng(0))
    np.testing.assert_allclose(values, scipy.linalg.eigvalsh(matrix.toarray())[:k], atol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-8)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-8)
    assert (values == 0).sum() == min(k, len(sizes))


def test_lanczos_iterations_run_on_a_large_component_and_repeat():
    graph, _ = planted_graph((900,), seed=0)
    matrix = laplacian(graph)
    found = [smallest_eigenvectors(matrix, 5, np.random.default_rng(3)) for _ in range(2)]
    np.testing.assert_array_equal(found[0][1], found[1][1])
    np.testing.assert_allclose(found[0][0], scipy.linalg.eigvalsh(matrix.toarray())[:5], atol=1e-10)


def test_more_components_than_vectors_gives_the_largest():
    graph, parts = planted_graph((4, 20, 9, 15), seed=1)
    values, vectors = smallest_eigenvectors(laplacian(graph), 2, np.random.default_rng(0))
    assert (values == 0).all()
    np.testing.assert_array_equal(vectors[:, 0] > 0, parts == 1)
    np.testing.assert_array_equal(vectors[:, 1] > 0, parts == 3)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 2**31 - 1))
def test_components_are_the_planted_ones(sizes, seed):
    graph, parts = planted_graph(sizes, seed)
    assert same_partition(components(graph), parts)
    assert same_partition(components(scipy.sparse.csr_matrix(graph)), parts)


def test_a_link_in_one_direction_is_a_link_and_a_stored_zero_is_none():
    graph = np.zeros((4, 4))
    graph[2, 0] = 0.1
    assert components(graph).tolist() == [0, 1, 0, 2]
    stored = scipy.sparse.csr_matrix(([0.1, 0.0], ([2, 1], [0, 3])), shape=(4, 4))
    assert components(stored).tolist() == [0, 1, 0, 2]
    assert stored.nnz == 2  # the caller's matrix is left alone


def test_bipartite_components_count_samples_alone():
    graph = np.zeros((5, 4))
    graph[[0, 1], 3] = 0.5
    graph[1, 1] = 0.5
    graph[[2, 4], 0] = 1
    # Sample 3 is alone, and so is anchor 2, which must leave no gap in the numbers.
    found = bipartite_components(graph)
    assert same_partition(found, [0, 0, 1, 2, 1])
    assert sorted(set(found)) == [0, 1, 2]


def test_the_laplacian_has_rows_that_sum_to_zero_and_the_energy_of_its_links():
    graph, _ = planted_graph((12, 9), seed=2)
    matrix = laplacian(scipy.sparse.csr_matrix(graph))
    np.testing.assert_allclose(matrix.sum(1), 0, atol=1e-14)
    f = np.random.default_rng(0).normal(size=21)
    energy = 0.5 * (graph * (f[:, None] - f) ** 2).sum()
    assert f @ (matrix @ f) == pytest.approx(energy)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
def test_leading_singular_vectors_agree_with_lapack(kind):
    x = np.random.default_rng(0).normal(size=(40, 7))
    u, s, v = leading_singular_vectors(kind(x), 3)
    np.testing.assert_allclose(s, np.linalg.svd(x)[1][:3])
    np.testing.assert_allclose(u.T @ u, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(x @ v, u * s, atol=1e-12)
    np.testing.assert_allclose(x.T @ u, v * s, atol=1e-12)


def test_singular_vectors_beyond_the_rank_are_zero():
    x = np.outer(np.arange(1.0, 6), [1.0, 2.0])
    u, s, v = leading_singular_vectors(x, 4)
    np.testing.assert_allclose(s[0], np.linalg.norm(x))
    assert s[1:].tolist() == [0, 0, 0]
    assert (u[:, 1:] == 0).all() and u.shape == (5, 4) and v.shape == (2, 4)
    u, s, _ = leading_singular_vectors(np.zeros((5, 2)), 2)
    assert (u == 0).all() and (s == 0).all()


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


def test_a_node_without_links_gets_zero():
    z = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 0]])
    u, v, s, distances = bipartite_embedding(z, 2)
    assert (u[2] == 0).all() and (v[2] == 0).all() and np.isfinite(distances).all()
    np.testing.assert_allclose(s, [1, 1, 0])


def test_a_graph_of_rank_one_separates_nothing():
    # Where every row is alike, vectors beyond the first are arbitrary: none may be made up.
    u, v, s, distances = bipartite_embedding(np.full((6, 4), 0.25), 3)
    np.testing.assert_allclose(s, [1, 0, 0, 0], atol=1e-7)
    assert (u[:, 1:] == 0).all() and (v[:, 1:] == 0).all()
    np.testing.assert_allclose(distances, 0, atol=1e-12)
