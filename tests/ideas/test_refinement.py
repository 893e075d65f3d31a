"""Anchors and noise that learn: gradients, what each loss reaches, and what stays as it was."""

import pytest
import torch

from dmac.anchor_graph import anchor_graph
from dmac.compute.distances import squared_distances
from experiments.ideas.refinement import FORMS, Targets, _loss, predict, refine

ALL = [form for forms in FORMS.values() for form in forms]


@pytest.fixture
def clouds():
    """Three clouds in the plane with a column of noise, anchors, and what is known of them."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(240) % 3
    centres = torch.tensor([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    x = torch.cat(
        [
            centres[labels] + 0.7 * torch.randn(240, 2, generator=generator),
            2 * torch.randn(240, 1, generator=generator),
        ],
        1,
    ).double()
    shares = torch.eye(3, dtype=torch.float64)[labels]
    return x, x[:30].clone(), Targets(shares - 1 / 3, shares, 0.8 * shares + 0.2 / 3)


def test_prediction_is_the_sample_graph_between_the_halves(clouds):
    x, u, targets = clouds
    known, new = (
        anchor_graph(squared_distances(rows, u), 3).to_dense() for rows in (x[:120], x[120:])
    )
    degrees = known.sum(0)
    inverse = torch.where(degrees > 0, 1 / degrees, 0.0)
    weights = new @ torch.diag(inverse) @ known.T
    wanted = weights @ targets.shares[:120] / weights.sum(1, keepdim=True)
    found = predict(x[:120], targets.shares[:120], x[120:], u, 3)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(found.sum(1), torch.ones(120, dtype=torch.float64))


# A bandwidth from the data is a constant for the gradient; tests/test_scaling.py has that one.
@pytest.mark.parametrize("form", [form for form in ALL if form != "balanced entropy"])
def test_the_gradient_is_that_of_differences(form, clouds):
    x, u, targets = clouds
    halves = torch.arange(0, 240, 2), torch.arange(1, 240, 2)
    second = x[60:90].clone()

    def value(anchors):
        return _loss(form, x, anchors, second, halves, targets, 3)

    direction = torch.randn(u.shape, generator=torch.Generator().manual_seed(1)).double()
    u = u.requires_grad_(True)
    value(u).backward()
    slope = (u.grad * direction).sum()
    with torch.no_grad():
        differences = (value(u + 1e-6 * direction) - value(u - 1e-6 * direction)) / 2e-6
    torch.testing.assert_close(slope, differences, rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize("form", ALL)
def test_steps_lower_the_loss(form, clouds):
    x, u, targets = clouds
    halves = torch.arange(0, 240, 2), torch.arange(1, 240, 2)

    def loss(anchors):
        with torch.no_grad():
            return float(_loss(form, x, anchors, x[60:90], halves, targets, 3))

    moved, again = (
        refine(x, u, 3, form, targets, 60, torch.Generator().manual_seed(0)) for _ in range(2)
    )
    assert torch.equal(moved, again)
    assert not moved.requires_grad and moved.shape == u.shape
    assert not torch.equal(moved, u)
    if not form.startswith("noise"):  # noise that is learned still is noise
        assert loss(moved) < loss(u)


@pytest.mark.parametrize("form", ALL)
def test_a_constant_block_stays_as_it_is(form, clouds):
    _, _, targets = clouds
    x = torch.ones(240, 2, dtype=torch.float64)
    moved = refine(x, x[:30], 3, form, targets, 3, torch.Generator().manual_seed(0))
    assert torch.equal(moved, x[:30])


@pytest.mark.parametrize("form", ["prediction", "noise by prediction"])
def test_anchors_that_overflow_are_an_error(form, clouds):
    x, u, targets = clouds
    with pytest.raises(FloatingPointError, match=f"'{form}' trains stopped being finite: are the"):
        refine(1e200 * x, 1e200 * u, 3, form, targets, 2, torch.Generator().manual_seed(0))
