"""Anchors that learn, in the plane and on the sphere: what chapter 3 runs and draws."""

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
import torch.nn.functional as F

from dmac.anchors import anchor_learning_loss
from dmac.compute.distances import squared_distances
from experiments import learned_anchors


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def points(n, d, seed=0):
    x = torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return F.normalize(x, dim=1)


def test_least_loss_is_that_of_the_proposition():
    generator = torch.Generator().manual_seed(0)
    options = dict(generator=generator, dtype=torch.float64)
    w = (3 * torch.rand(2000, 6, **options) - 0.9).clamp(0.2, 1)  # many at the ends
    losses = [anchor_learning_loss(row) for row in (1 / w - 1).split(1)]
    assert min(losses) == pytest.approx(learned_anchors.least_loss(6)[0])
    t = 1.25 * math.log(5)
    assert math.floor(1e4 * (t - 1 - math.log(t))) == 3127
    assert math.floor(2500 * (t - 1)) == 2529
    for m in (3, 63, 1039):
        least, near = learned_anchors.least_loss(m)
        assert least >= math.log(m) - (t - 1 - math.log(t))
        assert abs(near - (t - 1) * m / 4) < 1
        z, u = points(5, 4)[:1], points(5, 4)[:1]
        d2 = squared_distances(z, torch.cat([u.repeat(near, 1), -u.repeat(m - near, 1)]))
        assert anchor_learning_loss(d2).item() == pytest.approx(least)


def test_a_descent_stays_on_the_sphere_and_lowers_the_loss():
    trace, z, u = learned_anchors.descend(points(30, 5), points(8, 5, 1), steps=30)
    assert trace.shape == (30, 2) and trace[-1, 0] < trace[0, 0] <= 1
    for x in (z, u):
        torch.testing.assert_close(x.norm(dim=1), torch.ones(len(x)).double())
    figure = learned_anchors.plot_descents({"one": [trace], "two": [trace]}, 0.9)
    assert [text.get_text() for text in figure.axes[1].get_legend().texts] == ["one", "two"]


@pytest.mark.parametrize("kind", ["relu", "softplus"])
def test_what_a_perturbation_does_is_measured(kind):
    z, u = points(60, 8).float(), points(12, 8, 1).float()
    before = learned_anchors.measure_untrained(z, torch.Generator().manual_seed(0), u, kind)
    start = anchor_learning_loss(squared_distances(z, u)).item()
    assert before["loss below log m, k-means"] == pytest.approx(1000 * (math.log(12) - start))
    assert min(before.values()) >= 0 and (kind == "relu" or before["features with σ = 0"] == 0)
    after = learned_anchors.learn_perturbation(z, torch.Generator().manual_seed(0), u, kind, 20)
    assert after["loss below log m"] > before["loss below log m, perturbed"]
    assert 1 <= after["anchors nearest to a sample"] <= 12 >= after["anchors on the far side"]


def test_anchors_in_the_plane_learn():
    plane, first, states = learned_anchors.train_in_plane(steps=200)
    assert plane.shape == (180, 2) and first.shape == (9, 2) and len(states) == 201
    losses = [loss for _, _, loss in states]
    assert np.mean(losses[-20:]) < np.mean(losses[:20]) - 0.05
    figure = learned_anchors.plot_in_plane(plane, first, states)
    assert [len(axis.patches) for axis in figure.axes[:2]] == [9, 9]
    assert [axis.get_title() for axis in figure.axes[:2]] == ["before learning", "after 200 steps"]


def test_tiles_are_the_mean_digits_of_the_anchors():
    views = [None, None, None, np.repeat(np.arange(4.0), 2)[:, None] * np.ones(240)]
    nearest = torch.tensor([3, 3, 2, 2, 1, 1, 0, 0])
    figure = learned_anchors.plot_mean_digits(views, [0, 0, 1, 1, 2, 2, 3, 3], nearest, (2, 2))
    mosaic = figure.axes[0].images[0].get_array()
    assert mosaic.shape == (32, 30)
    assert [mosaic[0, 0], mosaic[0, 29], mosaic[31, 0], mosaic[31, 29]] == [0, 1, 2, 3]


def test_bandwidths_have_a_curve_for_each_number_of_anchors():
    grid = [0.1, 1.0]
    figure = learned_anchors.plot_bandwidths(grid, {9: [0.2, 0.9]}, (7, [0.5, 1.0]), 0.3)
    labels = [text.get_text() for text in figure.axes[0].get_legend().texts]
    assert labels == ["smallest, m = 9", "numerals, m = 7"]
