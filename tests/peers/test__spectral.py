"""Singular vectors against LAPACK on the whole matrix, components against planted ones."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from systems import planted_graph, same_partition

from dmac.peers._spectral import bipartite_embedding, components


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
