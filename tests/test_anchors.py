"""Anchors: the k-means start, the perturbation, the distances and the entropy."""

import math

import numpy as np
import pytest
import torch
from helpers import assert_matches, problems, random_points
from hypothesis import given
from sklearn.cluster import KMeans

from dmac import reference
from dmac.anchors import (
    PerturbationGenerator,
    SpreadPerturbation,
    anchor_learning_loss,
    kmeans,
    kmeans_anchors,
    n_anchors_for,
    neighbor_bandwidth,
    sampled_anchors,
    squared_distances,
)


@pytest.mark.parametrize("n, c, m", [(680, 68, 215), (685, 5, 58), (10800, 100, 1039), (4, 4, 4)])
def test_number_of_anchors(n, c, m):
    assert n_anchors_for(n, c) == m == math.floor(math.sqrt(n * c))


@pytest.mark.parametrize(
    "n, c, factor, share, m",
    [
        (2000, 10, 2.0, 0.5, 282),  # floor(2 sqrt(n c)), which is more than twice floor(sqrt(n c))
        (680, 68, 2.0, 0.5, 340),  # half of the samples are fewer than 2 * 215
        (680, 68, 0.5, 1.0, 107),
        (101, 4, 1.0, 0.1, 10),
    ],
)
def test_number_of_anchors_by_factor_and_share(n, c, factor, share, m):
    assert n_anchors_for(n, c, factor, share) == m


@given(problems)
def test_distances_match_the_reference(problem):
    n, m, d, seed, _ = problem
    assert_matches(squared_distances, reference.squared_distances, *random_points(n, m, d, seed))


def test_distances_keep_their_digits_in_a_collapsed_embedding():
    # Spread 1e-3 around a unit vector: the plain Gram identity in float32 is off by 10 % here.
    z, u = random_points(200, 30, 64, 0)
    base = torch.nn.functional.normalize(torch.ones(64, dtype=torch.float64), dim=0)
    z, u = (base + 1e-3 / 8 * x.detach() for x in (z, u))
    exact = reference.squared_distances(z, u)
    single = squared_distances(z.float(), u.float()).double()
    assert float(((single - exact).abs() / exact).max()) < 1e-3


@given(problems)
def test_anchor_learning_loss_matches_the_reference(problem):
    n, m, d, seed, _ = problem
    assert_matches(
        lambda z, u: anchor_learning_loss(squared_distances(z, u)),
        reference.anchor_learning_loss,
        *random_points(n, m, d, seed),
    )


@given(problems)
def test_anchor_learning_loss_is_an_entropy(problem):
    n, m, d, seed, _ = problem
    z, u = (x.detach() for x in random_points(n, m, d, seed))
    loss = float(anchor_learning_loss(squared_distances(1e3 * z, 1e3 * u)))
    assert 0 <= loss <= math.log(m) + 1e-12
    permuted = anchor_learning_loss(squared_distances(1e3 * z.flip(0), 1e3 * u))
    assert float(permuted) == pytest.approx(loss)


def test_anchor_learning_loss_is_log_m_at_collapse():
    d2 = squared_distances(torch.ones(9, 4), torch.ones(7, 4))
    assert float(anchor_learning_loss(d2)) == pytest.approx(math.log(7), rel=1e-6)


def test_anchor_learning_loss_goes_to_zero_with_one_near_anchor():
    d2 = torch.full((3, 5), 1e12, dtype=torch.float64)
    d2[:, 2] = 0
    assert float(anchor_learning_loss(d2)) < 1e-8


def test_kmeans_anchors_are_as_good_as_scikit_learns(generator):
    z = torch.randn(400, 5, generator=generator)

    def inertia(centres):
        return float(squared_distances(z, torch.as_tensor(centres)).min(1).values.sum())

    ours = np.mean([inertia(kmeans_anchors(z, 30, generator)) for _ in range(10)])
    theirs = np.mean(
        [
            inertia(KMeans(30, n_init=1, random_state=seed).fit(z.numpy()).cluster_centers_)
            for seed in range(10)
        ]
    )
    assert ours < 1.02 * theirs


def test_kmeans_anchors_are_centres_of_their_samples(generator):
    z = torch.randn(200, 3, generator=generator, dtype=torch.float64)
    u = kmeans_anchors(z, 9, generator, tol=0)
    nearest = squared_distances(z, u).argmin(1)
    for j in range(9):
        torch.testing.assert_close(u[j], z[nearest == j].mean(0))


def test_kmeans_anchors_find_separated_clusters(generator):
    centres = 100 * torch.eye(6, dtype=torch.float64)
    z = centres.repeat(20, 1) + torch.randn(120, 6, generator=generator, dtype=torch.float64)
    u = kmeans_anchors(z, 6, generator)
    assert sorted(squared_distances(centres, u).argmin(1).tolist()) == list(range(6))


def test_kmeans_anchors_repeat_with_the_seed_and_follow_a_shift():
    z = torch.randn(100, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    runs = [
        kmeans_anchors(z + shift, 11, torch.Generator().manual_seed(5)) for shift in (0, 0, 50)
    ]
    assert torch.equal(runs[0], runs[1])
    torch.testing.assert_close(runs[0] + 50, runs[2])


def test_kmeans_anchors_of_identical_samples(generator):
    u = kmeans_anchors(torch.ones(10, 3), 4, generator)
    torch.testing.assert_close(u, torch.ones(4, 3))


def test_kmeans_anchors_carry_no_gradient(generator):
    z = torch.randn(20, 3, generator=generator, requires_grad=True)
    assert not kmeans_anchors(z, 4, generator).requires_grad


def test_sampled_anchors_without_iterations_are_distinct_samples(generator):
    x = torch.randn(30, 4, generator=generator, dtype=torch.float64) + 3
    u = sampled_anchors(x, 12, generator, 0)
    d2, rows = squared_distances(u, x).min(1)
    assert float(d2.max()) < 1e-12
    assert len(set(rows.tolist())) == 12


def test_iterations_lower_the_inertia_of_sampled_anchors():
    x = torch.randn(200, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    inertias = []
    for iterations in range(4):
        u = sampled_anchors(x, 9, torch.Generator().manual_seed(1), iterations)
        inertias.append(float(squared_distances(x, u).min(1).values.sum()))
    assert all(after < before for before, after in zip(inertias, inertias[1:]))


def test_one_iteration_moves_sampled_anchors_to_the_means_of_their_cells():
    x = torch.randn(60, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    start, moved = (sampled_anchors(x, 7, torch.Generator().manual_seed(1), i) for i in (0, 1))
    nearest = squared_distances(x, start).argmin(1)
    means = torch.stack([x[nearest == j].mean(0) for j in range(7)])
    torch.testing.assert_close(moved, means)


def test_sampled_anchors_are_fresh_and_repeat_with_the_seed():
    x = torch.randn(50, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    generator = torch.Generator().manual_seed(1)
    first, second = (sampled_anchors(x, 5, generator, 2) for _ in range(2))
    assert not torch.allclose(first, second)
    assert torch.equal(first, sampled_anchors(x, 5, torch.Generator().manual_seed(1), 2))
    assert not first.requires_grad


def test_final_kmeans_repeats_with_the_seed():
    x = np.random.default_rng(0).normal(size=(300, 5))
    first, second = (kmeans(x, 12, 3, n_init=2).labels_ for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("sigma", ["relu", "softplus"])
def test_perturbation_is_reparameterised(sigma, generator):
    module = PerturbationGenerator(4, sigma, generator=generator).double()
    assert module.slope.shape == (4,)
    u_hat = torch.randn(6, 4, generator=generator, dtype=torch.float64)
    noise = torch.randn(6, 4, generator=generator, dtype=torch.float64)
    mu = module.mu(u_hat)
    mu = torch.where(mu > 0, mu, 0.25 * mu)
    pre = module.sigma(u_hat)
    deviation = pre.clamp_min(0) if sigma == "relu" else torch.log1p(pre.exp())
    expected = reference.perturbed_anchors(u_hat, mu, deviation, noise)
    torch.testing.assert_close(module(u_hat, noise), expected)
    assert (module(u_hat, noise) - module(u_hat, 0 * noise)).abs().sum() > 0
    module(u_hat, noise).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in module.parameters())


def test_noise_has_the_size_of_the_anchors_cell():
    x = torch.tensor([[0.0, 0], [2, 0], [10, 0], [10, 4]], dtype=torch.float64)
    u_hat = torch.tensor([[1.0, 0], [10, 2], [100, 100]], dtype=torch.float64)
    noise = torch.tensor([[1.0, -1], [1, 2], [1, 1]], dtype=torch.float64)
    module = SpreadPerturbation(0.5).double()
    u = module(u_hat, noise, x)
    # Squared distances 1, 1 and 4, 4 over two features; the third anchor has no samples.
    spread = torch.tensor([0.5, 2, 0], dtype=torch.float64).sqrt()
    torch.testing.assert_close(u, u_hat + 0.5 * spread[:, None] * noise, rtol=1e-6, atol=1e-9)
    (gradient,) = torch.autograd.grad(u.sum(), module.log_scale)
    torch.testing.assert_close(gradient, (u - u_hat).sum())


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


def test_balanced_loss_is_zero_at_collapse_and_minus_log_m_with_all_anchors_in_use():
    u = 1e6 * torch.eye(5, dtype=torch.float64)
    at_collapse = squared_distances(torch.ones(8, 5, dtype=torch.float64), u)
    assert float(anchor_learning_loss(at_collapse, balanced=True)) == pytest.approx(0, abs=1e-12)
    in_use = squared_distances(u, u)
    assert float(anchor_learning_loss(in_use, balanced=True)) == pytest.approx(-math.log(5))


def test_neighbor_bandwidth_by_hand():
    rows = [[1.0, 2, 3, 4], [0, 5, 1, 9], [7, 7, 8, 6]]
    d2 = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
    assert float(neighbor_bandwidth(d2, 1)) == 2  # of 2, 1, 7
    assert float(neighbor_bandwidth(d2, 2)) == 5  # of 3, 5, 7
    assert not neighbor_bandwidth(d2, 1).requires_grad
    assert float(neighbor_bandwidth(torch.zeros(3, 4), 1)) > 0
