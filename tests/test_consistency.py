"""Both readings of the mutual information against the reference, closed forms and bounds."""

import math

import pytest
import torch
from helpers import assert_matches
from hypothesis import given
from hypothesis import strategies as st

from dmac import reference
from dmac.consistency import consistency_loss, mutual_information_joint, mutual_information_per_row

shapes = st.tuples(st.integers(1, 20), st.integers(2, 7), st.integers(0, 2**31 - 1))


def logits(m, c, seed, views=2):
    generator = torch.Generator().manual_seed(seed)
    draw = [torch.randn(m, c, generator=generator, dtype=torch.float64) for _ in range(views)]
    return [3 * x.requires_grad_() for x in draw]


def on_simplex(function):
    return lambda *xs: function(*(x.softmax(1) for x in xs))


@given(shapes)
def test_per_row_reading_is_zero_with_its_gradient(shape):
    xs = logits(*shape)
    value = on_simplex(mutual_information_per_row)(*xs)
    assert value.abs().max() < 1e-12
    for gradient in torch.autograd.grad(value.sum(), xs):
        assert gradient.abs().max() < 1e-12
    assert_matches(
        on_simplex(mutual_information_per_row),
        on_simplex(reference.mutual_information_per_row),
        *xs,
    )


def test_per_row_reading_of_rows_that_are_no_distributions():
    # The closed form holds for any sums: MI = -r log r with r = r_a r_b.
    rows = [2 * x.softmax(1) for x in logits(5, 3, 0)]
    mass = torch.tensor(4.0, dtype=torch.float64)
    torch.testing.assert_close(mutual_information_per_row(*rows), (-mass * mass.log()).expand(5))
    assert_matches(mutual_information_per_row, reference.mutual_information_per_row, *rows)
    assert_matches(
        lambda *fs: consistency_loss(fs, "per_row"),
        lambda *fs: reference.consistency_loss(fs, "per_row"),
        *rows,
    )


@given(shapes)
def test_joint_reading_matches_the_reference(shape):
    assert_matches(
        on_simplex(mutual_information_joint),
        on_simplex(reference.mutual_information_joint),
        *logits(*shape),
    )


def test_joint_reading_reaches_log_c_for_agreeing_balanced_views():
    f = torch.eye(4, dtype=torch.float64).repeat(3, 1).requires_grad_()
    value = mutual_information_joint(f, f)
    assert value.item() == pytest.approx(math.log(4))
    value.backward()
    assert torch.isfinite(f.grad).all()


@pytest.mark.parametrize("reading", ["per_row", "joint"])
@pytest.mark.parametrize("views", [1, 2, 4])
def test_loss_matches_the_reference(reading, views):
    xs = logits(6, 3, 1, views)

    def dense(*fs):
        return torch.as_tensor(reference.consistency_loss(fs, reading)) + 0 * fs[0].sum()

    assert_matches(
        on_simplex(lambda *fs: consistency_loss(fs, reading) + 0 * fs[0].sum()),
        on_simplex(dense),
        *xs,
    )


def test_unknown_reading_is_refused():
    with pytest.raises(ValueError, match="per_row"):
        consistency_loss([torch.ones(2, 2)], "both")
