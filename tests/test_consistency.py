"""The convolution and both readings of the mutual information against the reference; bounds."""

import math

import pytest
import torch
from helpers import assert_matches, problems, random_points
from hypothesis import given
from hypothesis import strategies as st

from dmac import reference
from dmac.anchor_graph import anchor_graph
from dmac.compute.distances import squared_distances
from dmac.consistency import consistency_loss, mutual_information_joint, mutual_information_per_row
from dmac.convolution import AnchorGraphConvolution

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
    ours, dense = (  # of one view it is a constant
        on_simplex(lambda *fs, loss=loss: torch.as_tensor(loss(fs, reading)) + 0 * fs[0].sum())
        for loss in (consistency_loss, reference.consistency_loss)
    )
    assert_matches(ours, dense, *logits(6, 3, 1, views))


def test_unknown_reading_is_refused():
    with pytest.raises(ValueError, match="per_row"):
        consistency_loss([torch.ones(2, 2)], "both")


@given(problems)
def test_convolution_matches_the_reference(problem):
    n, m, d, seed, k = problem
    z, u = random_points(n, m, d, seed)
    generator = torch.Generator().manual_seed(seed)
    # 5 -> 7 widens and 7 -> 3 narrows, so both orders of the product are taken.
    module = AnchorGraphConvolution((d, 7, 3), negative_slope=0.01, generator=generator).double()
    weights = [layer.weight.T for layer in module.layers]
    assert_matches(
        lambda z, u, *_: module(anchor_graph(squared_distances(z, u), k), u),
        lambda z, u, *_: reference.agcn(reference.anchor_graph(z, u, k), u, weights),
        z,
        u,
        *module.parameters(),
    )


def test_anchor_without_samples_is_uniform(generator):
    z, u = random_points(10, 4, 3, 1)
    far = torch.cat([u.detach(), torch.full((1, 3), 1e3, dtype=torch.float64)])
    module = AnchorGraphConvolution((3, 4, 5), negative_slope=0.01, generator=generator).double()
    f = module(anchor_graph(squared_distances(z, far), 2), far)
    torch.testing.assert_close(f[-1], torch.full((5,), 0.2, dtype=torch.float64))
    torch.testing.assert_close(f.sum(1), torch.ones(5, dtype=torch.float64))
