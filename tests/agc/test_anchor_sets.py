"""Anchor sets in blocks, and rows of samples that have all views, and of others."""

import dataclasses

import numpy as np
import pytest
import torch

from dmac.agc.anchor_sets import draw_graphs, draw_sets, n_sets, rows_on
from dmac.agc.averaged_graph import AveragedGraph
from dmac.agc.blocks import Block
from dmac.recipes import CLOSED_FORM

M, K = 12, 3


@pytest.fixture
def x(generator):
    return torch.randn(50, 4, generator=generator, dtype=torch.float64)


def test_rows_of_fitted_samples_are_those_of_the_factor(x, generator):
    sets, factor = draw_sets(x, 4, M, 2, K, generator)
    for some in (slice(None), slice(7, 9)):
        rows = rows_on(sets, x[some], K).toarray()
        np.testing.assert_allclose(rows, factor[some].toarray(), atol=1e-12)


def test_samples_that_lack_a_view_are_compared_in_the_others(generator):
    x = torch.randn(60, 6, generator=generator, dtype=torch.float64)  # the last one is a ballot
    x[:20, :2] = 0
    x[20:23, :5] = 0
    present = np.column_stack([np.arange(60) >= 23, ~np.isin(np.arange(60), (20, 21, 22))])
    sets, factor = draw_sets(x, 3, 12, 1, 3, generator, (2, 3), present)
    dense = factor.toarray()
    # By hand: nearest anchors of sample 0 in its second view and the ballot.
    d2 = (x[0, 2:] - sets.u[0][:, 2:]).square().sum(1)
    np.testing.assert_array_equal(np.flatnonzero(dense[0, :12]), np.sort(d2.argsort()[:3].numpy()))
    np.testing.assert_allclose(rows_on(sets, x, 3, present).toarray(), dense, atol=1e-12)
    graph = AveragedGraph(factor)
    np.testing.assert_allclose(graph.shares, np.r_[np.ones(20), np.zeros(3), np.ones(37)])


@pytest.mark.parametrize("whole, m", [(7, 8), (8, 4), (15, 7), (16, 8)])
def test_anchors_are_at_most_half_of_enough_whole_samples(whole, m, generator):
    """With fewer than 2 (k + 1) = 8 of them zeros are values, and every sample counts."""
    x = torch.randn(30, 4, generator=generator, dtype=torch.float64)
    x[whole:, :2] = 0
    present = np.column_stack([np.arange(30) < whole, np.ones(30, bool)])
    sets, factor = draw_sets(x, 2, 8, 1, 3, generator, (2, 2), present)
    assert sets.widths == (() if whole < 8 else (2, 2)) and sets.u.shape[1] == m
    assert ((sets.u[:, :, :2] == 0).all(2).sum() == 0) == (whole >= 8)
    np.testing.assert_allclose(AveragedGraph(factor).shares, 1)


def test_new_samples_may_lack_views_that_all_fitted_ones_have(x, generator):
    sets, _ = draw_sets(x, 2, M, 1, K, generator, widths=(x.shape[1],))
    rows = rows_on(sets, x[:3], K, np.array([[False], [True], [True]])).toarray()
    assert rows.any(1).tolist() == [False, True, True]


@pytest.mark.parametrize(
    "sets, view, n_views, expected",
    [
        *[(12, None, 3, [12, 6]), (12, 0, 3, [4, 2]), (12, 0, 12, [2, 1])],
        *[(1, None, 3, [1, 1]), (1, 0, 3, [1, 1])],
    ],
)
def test_numbers_of_sets(sets, view, n_views, expected):
    block = Block("plain", view, torch.ones(1, 1), 1.0, (1,))
    recipe = dataclasses.replace(CLOSED_FORM, anchor_sets=sets)
    assert [n_sets(block, n_views, recipe, voting) for voting in (False, True)] == expected


def test_blocks_side_by_side_are_those_one_after_the_other():
    blocks = [Block("plain", view, torch.randn(60, 4), 1.0, (4,)) for view in (None, 0, 1, 2)]
    every = draw_graphs(blocks, 3, CLOSED_FORM, 20, torch.Generator().manual_seed(2))
    generator, k = torch.Generator().manual_seed(2), CLOSED_FORM.n_neighbors
    for block, drawn in zip(blocks, every):
        t, steps = n_sets(block, 3, CLOSED_FORM, False), CLOSED_FORM.anchor_iterations
        sets, factor = draw_sets(block.x, t, 20, steps, k, generator, block.widths)
        assert drawn.block is block
        torch.testing.assert_close(drawn.sets.u, sets.u, rtol=0, atol=0)
        np.testing.assert_array_equal(drawn.factor.toarray(), factor.toarray())
