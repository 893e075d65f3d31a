"""The closed form against the reference, an independent solver of its quadratic programme, and its
invariants; the sparse products against dense ones."""

import numpy as np
import pytest
import torch
from helpers import assert_matches, problems, random_points
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from dmac import reference
from dmac.anchor_graph import AnchorGraph, anchor_graph
from dmac.compute.distances import squared_distances


def dense_graph(z, u, k):
    return anchor_graph(squared_distances(z, u), k).to_dense()


@given(problems)
def test_matches_the_reference(problem):
    n, m, d, seed, k = problem
    z, u = random_points(n, m, d, seed)
    assert_matches(
        lambda z, u: dense_graph(z, u, k), lambda z, u: reference.anchor_graph(z, u, k), z, u
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [1, 3, 5])
def test_is_the_optimum_of_its_quadratic_programme(seed, k):
    z, u = random_points(3, 8, 4, seed)
    d2 = squared_distances(z, u).detach()
    s, gamma = dense_graph(z, u, k).detach(), reference.gamma(d2, k)
    for row, s_row, g in zip(d2.numpy(), s.numpy(), gamma.numpy()):
        # Completing the square, min ||s + d / (2 gamma)||^2 over the simplex. Lawson and Hanson's
        # active set method solves it; the last equation, heavily weighted, is the sum. Adding a
        # constant to the distances changes no solution and keeps the numbers small.
        heavy = 1e5
        a = np.vstack([np.eye(8), np.full((1, 8), heavy)])
        optimum, _ = nnls(a, np.append((row.min() - row) / (2 * g), heavy))
        assert optimum.sum() == pytest.approx(1)
        np.testing.assert_allclose(s_row, optimum, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_ties_give_equal_weights_and_finite_gradients(dtype):
    z = torch.zeros(4, 3, dtype=dtype, requires_grad=True)
    u = torch.zeros(5, 3, dtype=dtype, requires_grad=True)
    graph = anchor_graph(squared_distances(z, u), 2)
    torch.testing.assert_close(graph.weights, torch.full((4, 2), 0.5, dtype=dtype))
    graph.weights.square().sum().backward()
    assert torch.isfinite(z.grad).all() and torch.isfinite(u.grad).all()


def test_differences_at_rounding_level_count_as_ties():
    eps = torch.finfo(torch.float32).eps
    d2 = torch.tensor([[1.0, 1 + eps, 1 + 2 * eps]], requires_grad=True)
    graph = anchor_graph(d2, 2)
    torch.testing.assert_close(graph.weights.detach(), torch.tensor([[0.5, 0.5]]))
    graph.weights[0, 0].backward()
    assert (d2.grad == 0).all()


@given(problems)
def test_full_graph_is_symmetric_and_doubly_stochastic(problem):
    n, m, d, seed, k = problem
    z, u = random_points(n, m, d, seed)
    graph = anchor_graph(squared_distances(z, u), k)
    eye = torch.eye(n, dtype=z.dtype)
    g = graph.to_samples(graph.inverse_degrees()[:, None] * graph.to_anchors(eye))
    torch.testing.assert_close(g, reference.full_graph(graph.to_dense()))
    torch.testing.assert_close(g, g.T)
    torch.testing.assert_close(g.sum(1), torch.ones(n, dtype=g.dtype))


@given(problems, st.integers(1, 5))
def test_sparse_products_match_dense_ones(problem, width):
    n, m, d, seed, k = problem
    z, u = random_points(n, m, d, seed)
    graph = anchor_graph(squared_distances(z, u).detach(), k)
    indices, weights = graph.indices, graph.weights.requires_grad_()
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, width, generator=generator, dtype=torch.float64, requires_grad=True)
    f = torch.randn(m, width, generator=generator, dtype=torch.float64, requires_grad=True)

    def sparse(weights):
        return AnchorGraph(indices, weights, m)

    assert_matches(
        lambda w, x: sparse(w).to_anchors(x), lambda w, x: sparse(w).to_dense().T @ x, weights, x
    )
    assert_matches(
        lambda w, f: sparse(w).to_samples(f), lambda w, f: sparse(w).to_dense() @ f, weights, f
    )
    assert_matches(
        lambda w, f: sparse(w).smooth(f),
        lambda w, f: reference.convolution_operator(sparse(w).to_dense()) @ f,
        weights,
        f,
    )
    x, f = x.detach(), f.detach()  # the gradient of the weights alone
    assert_matches(
        lambda w: torch.cat([sparse(w).to_anchors(x), sparse(w).to_samples(f)]),
        lambda w: torch.cat([sparse(w).to_dense().T @ x, sparse(w).to_dense() @ f]),
        weights,
    )


def test_empty_anchors_have_no_influence():
    z, u = random_points(12, 4, 3, 0)
    far = torch.cat([u.detach(), torch.full((2, 3), 1e3, dtype=torch.float64)])
    near, padded = (anchor_graph(squared_distances(z, v), 2) for v in (u, far))
    assert not torch.stack([padded.degrees(), padded.inverse_degrees()])[:, 4:].any()
    torch.testing.assert_close(padded.to_dense()[:, :4], near.to_dense())
    f = torch.randn(6, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    smooth = torch.cat([near.smooth(f[:4]), torch.zeros(2, 2, dtype=torch.float64)])
    torch.testing.assert_close(padded.smooth(f), smooth)
    nearly = AnchorGraph(torch.tensor([[0, 1, 2]]), torch.tensor([[1.0, 2e-12, 5e-13]]), 4)
    torch.testing.assert_close(nearly.inverse_degrees(), torch.tensor([1, 5e11, 0, 0]))


@pytest.mark.parametrize("k, message", [(0, "at least 1"), (4, "at least 5 anchors")])
def test_impossible_numbers_of_neighbours_are_refused(k, message):
    with pytest.raises(ValueError, match=message):
        anchor_graph(torch.ones(3, 4), k)
