"""Anchors: the k-means start, the perturbation, the distances and the entropy."""

import math

import pytest
import torch
from helpers import assert_matches, problems, random_points
from hypothesis import given

from dmac import reference
from dmac.anchors import (
    PerturbationGenerator,
    anchor_learning_loss,
    n_anchors_for,
    neighbor_bandwidth,
)
from dmac.compute.distances import squared_distances


@pytest.mark.parametrize(
    "n, c, given, m",
    [
        *[(680, 68, (), 215), (685, 5, (), 58), (10800, 100, (), 1039), (4, 4, (), 4)],
        # floor(2 sqrt(n c)) is more than twice floor(sqrt(n c)), and half of 680 less than that
        *[(2000, 10, (2.0, 0.5), 282), (680, 68, (2.0, 0.5), 340)],
        *[(680, 68, (0.5, 1.0), 107), (101, 4, (1.0, 0.1), 10)],
    ],
)
def test_number_of_anchors(n, c, given, m):
    assert n_anchors_for(n, c, *given) == m


FAR = 1e12 * (1 - torch.eye(5, dtype=torch.float64))


@pytest.mark.parametrize(
    "d2, plain, balanced",
    [
        (torch.ones(9, 5), math.log(5), 0),  # all anchors are at one place
        (FAR[:, [2] * 5].T, 0, 0),  # all samples are at one of the anchors
        (FAR, 0, -math.log(5)),  # every sample is at an anchor of its own
    ],
)
def test_anchor_learning_loss_where_it_is_known(d2, plain, balanced):
    losses = [anchor_learning_loss(d2, balanced=kind).item() for kind in (False, True)]
    assert losses == pytest.approx([plain, balanced], abs=1e-6)


@pytest.mark.parametrize("sigma", ["relu", "softplus"])
def test_perturbation_is_reparameterised(sigma, generator):
    module = PerturbationGenerator(4, sigma, generator=generator).double()
    assert module.slope.shape == (4,)
    u_hat = torch.randn(6, 4, generator=generator, dtype=torch.float64)
    noise = torch.randn(6, 4, generator=generator, dtype=torch.float64)
    mu = torch.nn.functional.leaky_relu(module.mu(u_hat), 0.25)
    pre = module.sigma(u_hat)
    deviation = pre.clamp_min(0) if sigma == "relu" else torch.log1p(pre.exp())
    expected = reference.perturbed_anchors(u_hat, mu, deviation, noise)
    torch.testing.assert_close(module(u_hat, noise), expected)
    assert (module(u_hat, noise) - module(u_hat, 0 * noise)).abs().sum() > 0
    module(u_hat, noise).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in module.parameters())


@given(problems)
def test_bandwidth_is_the_unit_of_the_distances(problem):
    n, m, d, seed, _ = problem
    d2 = squared_distances(*(x.detach() for x in random_points(n, m, d, seed)))
    for balanced in (False, True):
        scaled = anchor_learning_loss(d2 / 0.3, balanced=balanced)
        wide = anchor_learning_loss(d2, torch.tensor(0.3).double(), balanced=balanced)
        torch.testing.assert_close(wide, scaled, rtol=1e-6, atol=1e-7)
    assert float(anchor_learning_loss(d2, 100.0)) > float(anchor_learning_loss(d2, 0.01))


@given(problems)
def test_balanced_loss_is_minus_the_information_between_samples_and_anchors(problem):
    n, m, d, seed, _ = problem
    z, u = random_points(n, m, d, seed)

    def minus_information(z, u):
        q = reference.similarity(z, u)
        return -(q * torch.log(q / q.mean(0))).sum() / n

    def fast(z, u):
        return anchor_learning_loss(squared_distances(z, u), balanced=True)

    assert_matches(fast, minus_information, z, u)
    assert -math.log(m) <= float(fast(10 * z, 10 * u).detach()) <= 1e-12


def test_neighbor_bandwidth_by_hand():
    rows = [[1.0, 2, 3, 4], [0, 5, 1, 9], [7, 7, 8, 6]]
    d2 = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
    # Medians of 2, 1, 7 and of 3, 5, 7.
    assert [float(neighbor_bandwidth(d2, k)) for k in (1, 2)] == [2, 5]
    assert not neighbor_bandwidth(d2, 1).requires_grad
    assert float(neighbor_bandwidth(torch.zeros(3, 4), 1)) > 0
