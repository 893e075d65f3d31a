"""The averaged graph against its dense definition, and its eigenvectors against LAPACK's."""

import numpy as np
import pytest
import torch

from dmac import averaged_graph
from dmac.anchor_graph import anchor_graph
from dmac.averaged_graph import AveragedGraph, average, draw_sets, rows_on
from dmac.compute.distances import squared_distances

M, K = 12, 3


@pytest.fixture
def x(generator):
    return torch.randn(50, 4, generator=generator, dtype=torch.float64)


def dense(x, sets):
    """The mean of S D^-1 S^T, by its definition."""
    whole = 0
    for u in sets.u:
        s = anchor_graph(squared_distances(x, u), K).to_dense()
        degrees = s.sum(0)
        inverse = torch.where(degrees > 0, 1 / degrees, 0.0)
        whole = whole + s @ torch.diag(inverse) @ s.T
    return (whole / len(sets.u)).numpy()


def test_factor_gives_the_graph(x, generator):
    sets, factor = draw_sets(x, 5, M, 2, K, generator)
    assert factor.shape == (50, 5 * M) and sets.u.shape == (5, M, 4)
    np.testing.assert_allclose((factor @ factor.T).toarray(), dense(x, sets), atol=1e-12)


def test_average_is_weighted_and_doubly_stochastic(x, generator):
    first, a = draw_sets(x, 2, M, 0, K, generator)
    second, b = draw_sets(x[:, :2], 3, M, 1, K, generator)
    graph = AveragedGraph([a, b], [3.0, 1.0])
    expected = 0.75 * dense(x, first) + 0.25 * dense(x[:, :2], second)
    found = graph @ np.eye(50)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(found, found.T, atol=1e-12)
    np.testing.assert_allclose(found.sum(0), 1)
    values = np.linalg.eigvalsh(found)
    assert values.min() > -1e-12 and values.max() == pytest.approx(1)
    np.testing.assert_allclose(graph.rows.toarray(), average([a, b], [3, 1]).toarray())


def test_rows_of_fitted_samples_are_those_of_the_factor(x, generator):
    sets, factor = draw_sets(x, 4, M, 2, K, generator)
    np.testing.assert_allclose(rows_on(sets, x, K).toarray(), factor.toarray(), atol=1e-12)
    some = rows_on(sets, x[7:9], K)
    np.testing.assert_allclose(some.toarray(), factor[7:9].toarray(), atol=1e-12)


@pytest.mark.parametrize("limit", [0, 2000], ids=["Lanczos", "LAPACK"])
def test_eigenpairs(x, generator, monkeypatch, limit):
    monkeypatch.setattr(averaged_graph, "_DENSE", limit)
    _, factor = draw_sets(x, 6, M, 2, K, generator)
    graph = AveragedGraph([factor], [1])
    values, lift = graph.eigenpairs(5)
    g = graph @ np.eye(50)
    expected, vectors = np.linalg.eigh(g)
    np.testing.assert_allclose(values, expected[::-1][:5], atol=1e-8)
    u = graph.rows @ lift
    np.testing.assert_allclose(u.T @ u, np.eye(5), atol=1e-5)
    overlap = np.abs((u * vectors[:, ::-1][:, :5]).sum(0))
    np.testing.assert_allclose(overlap, 1, atol=1e-5)
    assert np.ptp(u[:, 0]) < 1e-5  # the constant vector


@pytest.mark.parametrize("limit", [0, 2000], ids=["Lanczos", "LAPACK"])
def test_repeated_eigenvalues_of_a_graph_in_parts(generator, monkeypatch, limit):
    monkeypatch.setattr(averaged_graph, "_DENSE", limit)
    x = torch.randn(60, 2, generator=generator, dtype=torch.float64)
    x[20:40] += 100
    x[40:] -= 100
    _, factor = draw_sets(x, 8, 20, 2, 2, generator)
    graph = AveragedGraph([factor], [1])
    assert graph.parts(9).sum(0).tolist() == [20, 20, 20]
    assert graph.parts(2).shape == (60, 2)
    values, lift = graph.eigenpairs(4)
    np.testing.assert_allclose(values[:3], 1, atol=1e-7)
    assert values[3] < 0.999
    u = factor @ lift[:, :3]
    assert np.ptp(u[:, 0]) < 1e-7  # the constant one comes first
    for part in (slice(0, 20), slice(20, 40), slice(40, 60)):
        assert np.ptp(u[part], axis=0).max() < 1e-5


def test_eigenvalues_of_zero_carry_no_direction(generator):
    x = torch.randn(9, 2, generator=generator, dtype=torch.float64)
    _, factor = draw_sets(x, 1, 3, 0, 2, generator)  # of rank at most 3
    values, lift = AveragedGraph([factor], [1]).eigenpairs(6)
    assert (values[3:] < 1e-8).all() and not lift[:, 3:].any() and np.isfinite(lift).all()


def test_too_many_neighbours_are_refused(x, generator):
    with pytest.raises(ValueError, match="12 neighbours need at least 13 anchors"):
        draw_sets(x, 1, M, 0, 12, generator)
