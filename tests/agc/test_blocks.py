"""Blocks of features: their order, weights and distances; what is left out; one view."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dmac.agc.blocks import (
    Block,
    beside,
    blocks_of,
    side_by_side,
    single_view_blocks,
)
from dmac.data.levels import LEVELS
from dmac.recipes import CLOSED_FORM_0_2

WIDTHS = [(2, 3), (1, 4), (2, 2)]
SPREADS = [0.9, 0.3, 0.6]


def fitted(widths=WIDTHS, spreads=SPREADS, told=1.0, levels="both"):
    """What pipelines know, where halves of the columns tell each other so far of unit rows."""
    return [
        SimpleNamespace(
            levels=LEVELS[levels],
            widths_=width,
            spread_=s,
            measured_=False,
            weights_={"whitened": told, "plain": told * s, "scaled": s / 2},
        )
        for width, s in zip(widths, spreads)
    ]


@pytest.fixture
def x(generator):
    """The levels of three views, side by side."""
    return [torch.randn(7, sum(w), generator=generator) for w in WIDTHS]


def recipe(**changes):
    return dataclasses.replace(CLOSED_FORM_0_2, **changes)


def test_all_blocks_in_order(x):
    blocks = blocks_of(x, fitted(), recipe())
    assert [b.level for b in blocks] == 4 * ["whitened"] + 4 * ["plain"]
    assert [b.view for b in blocks] == 2 * [None, 0, 1, 2]
    own = single_view_blocks(blocks, np.array([True, False, True]))
    assert own == [blocks[1], blocks[3], blocks[5], blocks[7]]
    torch.testing.assert_close(blocks[2].x, x[1][:, :1])
    torch.testing.assert_close(blocks[7].x, x[2][:, 2:])
    equal = [b.weight for b in blocks_of(x, fitted(), recipe(level_weight="equal"))]
    assert equal == pytest.approx(2 * [1, 1 / 3, 1 / 3, 1 / 3])


@pytest.mark.parametrize("of_views", [None, [1.0, 0.5, 0.25]])
def test_views_have_their_shares_in_distances_weights_and_the_mean_of_the_spreads(of_views, x):
    shares = np.array(of_views or [1, 1, 1])
    shares = shares / shares.sum()
    blocks = blocks_of(x, fitted(), recipe(plain_scale="rows"), of_views)
    expected = [1, *shares, shares @ SPREADS, *(shares * SPREADS)]
    assert [b.weight for b in blocks] == pytest.approx(expected)
    for joint, own in ((blocks[0], blocks[1:4]), (blocks[4], blocks[5:])):
        d2 = torch.cdist(joint.x, joint.x) ** 2
        mean = sum(s * torch.cdist(b.x, b.x) ** 2 for s, b in zip(shares, own))
        torch.testing.assert_close(d2, mean)


def test_plain_levels_side_by_side_are_in_units_of_their_spread(x):
    rows, scaled = (blocks_of(x, fitted(), recipe(plain_scale=s)) for s in ("rows", "spread"))
    for b in (0, 1, 5, 6, 7):  # nothing else changes
        torch.testing.assert_close(scaled[b].x, rows[b].x, rtol=0, atol=0)
    d2 = torch.cdist(scaled[4].x, scaled[4].x) ** 2
    mean = sum(torch.cdist(b.x, b.x) ** 2 / s for s, b in zip(SPREADS, rows[5:])) / 3
    torch.testing.assert_close(d2, mean)
    less = blocks_of(x, fitted(told=0.1), recipe(plain_scale="spread"))
    torch.testing.assert_close(less[4].x, scaled[4].x)  # what halves say moves weights alone
    assert less[4].weight == pytest.approx(scaled[4].weight / 10)
    alike = blocks_of(x, fitted(spreads=[0.0] * 3), recipe(plain_scale="spread"))
    assert alike[4].x.isfinite().all()


def test_kinds_can_be_left_out(x):
    joint = blocks_of(x, fitted(), recipe(blocks="joint"))
    assert [(b.level, b.view) for b in joint] == [("whitened", None), ("plain", None)]
    own = blocks_of(x, fitted(), recipe(blocks="views"))
    assert len(own) == 6 and not any(b.view is None for b in own)
    for level in ("whitened", "plain", "scaled"):
        whole = fitted([(sum(w),) for w in WIDTHS], levels=level)
        assert blocks_of(x, whole, recipe())[0].level == level


def test_scaled_blocks_come_last_and_weigh_the_shares_of_their_directions(x):
    x = [torch.cat([one, one[:, :2]], 1) for one in x]
    pipelines = fitted([(*w, 2) for w in WIDTHS], levels="all")
    blocks = blocks_of(x, pipelines, recipe())
    assert [b.level for b in blocks[8:]] == 4 * ["scaled"]
    expected = [np.mean(SPREADS) / 2, *(s / 6 for s in SPREADS)]
    assert [b.weight for b in blocks[8:]] == pytest.approx(expected)
    torch.testing.assert_close(blocks[10].x, x[1][:, -2:])
    mean = sum(torch.cdist(b.x, b.x) ** 2 for b in blocks[9:]) / 3
    torch.testing.assert_close(torch.cdist(blocks[8].x, blocks[8].x) ** 2, mean)


@pytest.mark.parametrize("blocks", ["joint", "views", "both"])
def test_one_view_is_the_joint_block(blocks, x):
    found = blocks_of(x[:1], fitted()[:1], recipe(blocks=blocks))
    assert [(b.level, b.view) for b in found] == [("whitened", None), ("plain", None)]
    torch.testing.assert_close(found[0].x, x[0][:, :2])


def test_features_have_the_mean_of_the_views_products():
    views = [torch.randn(9, d, dtype=torch.float64) for d in (3, 5, 2)]
    found = side_by_side(views, CLOSED_FORM_0_2)
    np.testing.assert_allclose(found @ found.T, sum(x @ x.T for x in views) / 3, rtol=1e-12)


def test_distances_beside_a_ballot_add_up(generator):
    x = torch.randn(9, 3, generator=generator)
    rows = np.random.default_rng(1).normal(size=(9, 2))
    both = beside([Block("plain", 0, x, 1.0, (3,))], rows)[0].x
    assert both.dtype == x.dtype
    added = torch.cdist(x, x) ** 2 + torch.cdist(*2 * [torch.as_tensor(rows).float()]) ** 2
    torch.testing.assert_close(torch.cdist(both, both) ** 2, added)


def test_a_sample_is_in_no_block_of_a_level_that_loses_its_row(x):
    present = np.ones((7, 3), bool)
    present[0, 1] = False
    x[2][1, : WIDTHS[2][0]] = 0  # at the first level
    blocks = blocks_of(x, fitted(), recipe(), present=present)
    for of_level, lost in ((blocks[:4], [[0, 1], [1, 2]]), (blocks[4:], [[0, 1]])):
        joint, *own = (block.present for block in of_level)
        np.testing.assert_array_equal(joint, np.hstack(own))
        assert np.argwhere(~joint).tolist() == lost
    assert all(block.present is None for block in blocks_of(x, fitted(), recipe()))
