"""Which blocks there are, what is in them, and what their graphs weigh."""

import dataclasses

import pytest
import torch

from dmac.blocks import blocks_of, level_names
from dmac.recipes import CLOSED_FORM

WIDTHS = [(2, 3), (1, 4), (2, 2)]
SPREADS = [0.9, 0.3, 0.6]


def views(generator):
    return [torch.randn(7, sum(w), generator=generator) for w in WIDTHS]


def recipe(**changes):
    return dataclasses.replace(CLOSED_FORM, **changes)


def test_all_blocks_in_order(generator):
    x = views(generator)
    blocks = blocks_of(x, WIDTHS, SPREADS, recipe())
    names = ["whitened", "whitened 0", "whitened 1", "whitened 2"]
    assert [b.name for b in blocks] == names + [n.replace("whitened", "plain") for n in names]
    assert [b.joint for b in blocks] == 2 * [True, False, False, False]
    torch.testing.assert_close(blocks[2].x, x[1][:, :1])
    torch.testing.assert_close(blocks[7].x, x[2][:, 2:])


def test_joint_distance_is_the_mean_of_the_views(generator):
    x = views(generator)
    blocks = blocks_of(x, WIDTHS, SPREADS, recipe())
    for joint, own in ((blocks[0], blocks[1:4]), (blocks[4], blocks[5:])):
        d2 = torch.cdist(joint.x, joint.x) ** 2
        mean = sum(torch.cdist(b.x, b.x) ** 2 for b in own) / 3
        torch.testing.assert_close(d2, mean)


def test_weights(generator):
    blocks = blocks_of(views(generator), WIDTHS, SPREADS, recipe())
    expected = [1, 1 / 3, 1 / 3, 1 / 3, 0.6, 0.3, 0.1, 0.2]
    assert [b.weight for b in blocks] == pytest.approx(expected)
    equal = blocks_of(views(generator), WIDTHS, SPREADS, recipe(level_weight="equal"))
    assert [b.weight for b in equal] == pytest.approx(2 * [1, 1 / 3, 1 / 3, 1 / 3])


def test_kinds_can_be_left_out(generator):
    x = views(generator)
    joint = blocks_of(x, WIDTHS, SPREADS, recipe(blocks="joint"))
    assert [b.name for b in joint] == ["whitened", "plain"]
    own = blocks_of(x, WIDTHS, SPREADS, recipe(blocks="views"))
    assert len(own) == 6 and not any(b.joint for b in own)
    for level in ("whitened", "plain"):
        one = recipe(levels=level)
        assert level_names(one) == (level,)
        widths = [(sum(w),) for w in WIDTHS]
        assert blocks_of(x, widths, SPREADS, one)[0].name == level


def test_one_view_is_the_joint_block(generator):
    x = views(generator)[:1]
    for blocks in ("joint", "views", "both"):
        found = blocks_of(x, WIDTHS[:1], SPREADS[:1], recipe(blocks=blocks))
        assert [(b.name, b.joint) for b in found] == [("whitened", True), ("plain", True)]
        torch.testing.assert_close(found[0].x, x[0][:, :2])
