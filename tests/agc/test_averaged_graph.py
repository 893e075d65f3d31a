"""The averaged graph against its dense definition, and its eigenvectors against LAPACK's."""

from unittest.mock import Mock

import numpy as np
import pytest
import scipy.sparse
import torch

from dmac.agc import averaged_graph
from dmac.agc.anchor_sets import draw_sets
from dmac.agc.averaged_graph import AveragedGraph, average, csr_tensor, times
from dmac.anchor_graph import anchor_graph
from dmac.compute.distances import squared_distances

M, K = 12, 3


@pytest.fixture
def x(generator):
    return torch.randn(50, 4, generator=generator, dtype=torch.float64)


def dense(x, sets):
    """The mean of S D^-1 S^T, by its definition."""
    graphs = [anchor_graph(squared_distances(x, u), K).to_dense() for u in sets.u]
    inverse = (torch.diag(torch.where(s.sum(0) > 0, 1 / s.sum(0), 0.0)) for s in graphs)
    return (sum(s @ d @ s.T for s, d in zip(graphs, inverse)) / len(graphs)).numpy()


@pytest.mark.parametrize("n", [9, 0])
def test_side_by_side_is_a_scaled_stack(n):
    a = scipy.sparse.random(9, 4, 0.5, "csr", rng=0)[:n]
    b = scipy.sparse.random(9, 6, 0.5, "csr", rng=1)[:n]
    found, roots = average([a, b], [1.0, 3.0]), (0.5, 0.75**0.5)
    expected = [root * x.toarray() for root, x in zip(roots, (a, b))]
    np.testing.assert_array_equal(found.toarray(), np.hstack(expected))
    assert found.indices.dtype == np.int32 and found.nnz == a.nnz + b.nnz
    found.check_format(full_check=True)


def test_columns_beyond_32_bits_are_counted_in_64():
    one = scipy.sparse.csr_matrix(([1.0], [7], [0, 1]), (1, 2**31 - 1))
    assert average([one, one], [1, 1]).indices.tolist() == [7, 2**31 + 6]


def test_average_is_weighted_and_doubly_stochastic(x, generator):
    first, a = draw_sets(x, 2, M, 0, K, generator)
    second, b = draw_sets(x[:, :2], 3, M, 1, K, generator)
    expected = 0.75 * dense(x, first) + 0.25 * dense(x[:, :2], second)
    found = AveragedGraph(average([a, b], [3.0, 1.0])) @ np.eye(50)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(found.sum(0), 1)
    assert np.linalg.eigvalsh(found).min() > -1e-12
    assert a.shape == (50, 2 * M) and first.u.shape == (2, M, 4)


@pytest.fixture(params=["LAPACK", "Lanczos"])
def solver(request, monkeypatch):
    """Both ways to the eigenpairs: a dense graph, and its products."""
    monkeypatch.setattr(averaged_graph, "_DENSE", 2000 if request.param == "LAPACK" else 0)


def assert_eigenpairs(graph, count, atol=1e-7):
    """Those of R^-1/2 G R^-1/2 by LAPACK; returned are the values and U / sqrt(r)."""
    values, lift = graph.eigenpairs(count)
    rows, root = graph.rows @ np.eye(graph.rows.shape[1]), np.sqrt(graph.shares)[:, None]
    g = rows @ rows.T / root / root.T
    np.testing.assert_allclose(values, np.linalg.eigvalsh(g)[::-1][:count], atol=atol)
    u = graph.to_samples(lift) / root
    np.testing.assert_allclose(u.T @ u, np.eye(count), atol=1e-5)
    np.testing.assert_allclose(g @ u, u * values, atol=1e-5)
    constant = u[:, 0] / root[:, 0]  # the first one
    np.testing.assert_allclose(constant, constant[0], rtol=1e-5)
    np.testing.assert_allclose(u.max(0), abs(u).max(0), rtol=1e-3)  # the sign
    return values, u / root


def test_eigenpairs_where_blocks_do_not_know_all_samples(generator, solver):
    x = torch.randn(90, 5, generator=generator, dtype=torch.float64)
    x[:20, :2] = 0
    found = [
        draw_sets(x[:, :2], 2, 15, 1, 4, generator, (2,), np.arange(90)[:, None] >= 20)[1],
        draw_sets(x[:, 2:], 2, 15, 1, 4, generator, (3,))[1],
    ]
    graph = AveragedGraph(average(found, [1, 3]))
    np.testing.assert_allclose(graph.shares, np.r_[np.full(20, 0.75), np.ones(70)])
    assert_eigenpairs(graph, 6)


def test_repeated_eigenvalues_of_a_graph_in_parts(generator, solver):
    x = torch.randn(65, 2, generator=generator, dtype=torch.float64)
    x[20:40] += 100
    x[40:] -= 100
    graph = AveragedGraph(draw_sets(x, 8, 20, 2, 2, generator)[1])
    assert graph.parts(9).sum(0).tolist() == [25, 20, 20]
    assert graph.parts(2).shape == (65, 2)
    values, u = assert_eigenpairs(graph, 4)
    np.testing.assert_allclose(values[:3], 1, atol=1e-7)
    assert values[3] < 0.999
    for part in np.split(u[:, :3], [20, 40]):
        assert np.ptp(part, axis=0).max() < 1e-5


@pytest.mark.parametrize("kind", ["near", "chain", "two", "unknown", "none"])
def test_a_short_walk_finds_the_part_that_a_search_finds(kind, monkeypatch):
    rows = np.eye(30, 31) + np.eye(30, 31, 1)  # a chain, of which a step takes one link
    for where, value in {
        "near": [(np.s_[:, 0], 1)],
        "two": [(np.s_[9, 10], 0)],
        "unknown": [(np.s_[:, 0], 1), (np.s_[4], 0)],
        "none": [(np.s_[:], 0)],
    }.get(kind, []):
        rows[where] = value
    graph = AveragedGraph(scipy.sparse.csr_matrix(rows))
    search = Mock(wraps=averaged_graph.connected_components)
    monkeypatch.setattr(averaged_graph, "connected_components", search)
    found = graph.parts(9)
    assert search.call_count == (kind not in ("near", "unknown"))
    monkeypatch.setattr(averaged_graph, "_STEPS", 0)
    np.testing.assert_array_equal(found, graph.parts(9))
    assert found.sum(0).tolist() == {"two": [20, 10], "unknown": [29], "none": []}.get(kind, [30])


def test_eigenvalues_of_zero_carry_no_direction(generator, solver):
    x = torch.randn(9, 2, generator=generator, dtype=torch.float64)
    graph = AveragedGraph(draw_sets(x, 1, 3, 0, 2, generator)[1])  # of rank at most 3
    values, lift = graph.eigenpairs(6)
    assert (values[3:] < 1e-7).all() and not lift[:, 3:].any() and np.isfinite(lift).all()


def test_as_many_parts_as_eigenpairs_are_those_of_the_parts(generator, solver):
    """Four clouds that share no anchor: of four eigenvalues all are 1, and of five one is less."""
    clouds = torch.arange(60) % 4
    x = torch.randn(60, 3, generator=generator, dtype=torch.float64) + 1e4 * clouds[:, None]
    graph = AveragedGraph(draw_sets(x, 3, 32, 2, 2, generator)[1])
    assert graph.parts(9).shape == (60, 4)
    values, lift = graph.eigenpairs(4)
    np.testing.assert_array_equal(values, 1)  # to the last digit, since no solver is asked
    u = graph.to_samples(lift)
    np.testing.assert_allclose(u.T @ u, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(u, np.tile(u[:4], (15, 1)), atol=1e-9)
    assert graph.eigenpairs(5)[0][4] < 1 - 1e-6


def test_tensors_share_the_memory():
    b = scipy.sparse.random(10, 7, 0.4, "csr", rng=0)
    tensor = csr_tensor(b)
    b.data *= 2
    np.testing.assert_array_equal(tensor.to_dense().numpy(), b.toarray())


@pytest.mark.parametrize("columns", [1, 5, 70])
def test_products_of_sparse_tensors(columns):
    b = scipy.sparse.random(50, 8, 0.4, "csr", rng=0)
    for factor in (b, b.T.tocsr()):
        x = np.random.default_rng(2).standard_normal((factor.shape[1], columns))
        np.testing.assert_allclose(times(csr_tensor(factor), x), factor.toarray() @ x, atol=1e-13)
