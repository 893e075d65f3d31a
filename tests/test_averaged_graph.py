"""The averaged graph against its dense definition, and its eigenvectors against LAPACK's."""

import dataclasses

import numpy as np
import pytest
import torch

from dmac import averaged_graph
from dmac.anchor_graph import anchor_graph
from dmac.averaged_graph import (
    AveragedGraph,
    average,
    blocks_of,
    draw_graphs,
    draw_sets,
    level_names,
    n_sets,
    own_blocks,
    rows_on,
)
from dmac.compute.distances import squared_distances
from dmac.recipes import CLOSED_FORM

M, K = 12, 3


@pytest.fixture
def x(generator):
    return torch.randn(50, 4, generator=generator, dtype=torch.float64)


def dense(x, sets):
    """The mean of S D^-1 S^T, by its definition."""
    whole = 0
    for u in sets.u:
        s = anchor_graph(squared_distances(x, u), K).to_dense()
        degrees = s.sum(0)
        inverse = torch.where(degrees > 0, 1 / degrees, 0.0)
        whole = whole + s @ torch.diag(inverse) @ s.T
    return (whole / len(sets.u)).numpy()


def test_average_is_weighted_and_doubly_stochastic(x, generator):
    first, a = draw_sets(x, 2, M, 0, K, generator)
    second, b = draw_sets(x[:, :2], 3, M, 1, K, generator)
    graph = AveragedGraph([a, b], [3.0, 1.0])
    expected = 0.75 * dense(x, first) + 0.25 * dense(x[:, :2], second)
    found = graph @ np.eye(50)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(found, found.T, atol=1e-12)
    np.testing.assert_allclose(found.sum(0), 1)
    values = np.linalg.eigvalsh(found)
    assert values.min() > -1e-12 and values.max() == pytest.approx(1)
    np.testing.assert_allclose(graph.rows.toarray(), average([a, b], [3, 1]).toarray())
    assert a.shape == (50, 2 * M) and first.u.shape == (2, M, 4)


def test_rows_of_fitted_samples_are_those_of_the_factor(x, generator):
    sets, factor = draw_sets(x, 4, M, 2, K, generator)
    np.testing.assert_allclose(rows_on(sets, x, K).toarray(), factor.toarray(), atol=1e-12)
    some = rows_on(sets, x[7:9], K)
    np.testing.assert_allclose(some.toarray(), factor[7:9].toarray(), atol=1e-12)


@pytest.fixture(params=["LAPACK", "Lanczos"])
def solver(request, monkeypatch):
    """Both ways to the eigenpairs: a dense graph, and its products."""
    monkeypatch.setattr(averaged_graph, "_DENSE", 2000 if request.param == "LAPACK" else 0)
    return request.param


def assert_eigenpairs(graph, count, atol=1e-7):
    """Those of R^-1/2 G R^-1/2 by LAPACK; returned are the values and U / sqrt(r)."""
    values, lift = graph.eigenpairs(count)
    rows, root = graph.rows @ np.eye(graph.rows.shape[1]), np.sqrt(graph.shares)[:, None]
    g = rows @ rows.T / root / root.T
    np.testing.assert_allclose(values, np.linalg.eigvalsh(g)[::-1][:count], atol=atol)
    u = graph.to_samples(lift) / root
    np.testing.assert_allclose(u.T @ u, np.eye(count), atol=1e-5)
    np.testing.assert_allclose(g @ u, u * values, atol=1e-5)
    constant = u[:, 0] / root[:, 0]  # the first one
    np.testing.assert_allclose(constant, constant[0], rtol=1e-5)
    np.testing.assert_allclose(u.max(0), abs(u).max(0), rtol=1e-3)  # the sign
    return values, u / root


def test_eigenpairs(x, generator, solver):
    assert_eigenpairs(AveragedGraph([draw_sets(x, 6, M, 2, K, generator)[1]], [1]), 5)


def test_eigenpairs_where_blocks_do_not_know_all_samples(generator, solver):
    x = torch.randn(90, 5, generator=generator, dtype=torch.float64)
    x[:20, :2] = 0
    found = [
        draw_sets(x[:, :2], 2, 15, 1, 4, generator, widths=(2,))[1],
        draw_sets(x[:, 2:], 2, 15, 1, 4, generator, widths=(3,))[1],
    ]
    graph = AveragedGraph(found, [1, 3])
    np.testing.assert_allclose(graph.shares, np.r_[np.full(20, 0.75), np.ones(70)])
    assert_eigenpairs(graph, 6)


def test_repeated_eigenvalues_of_a_graph_in_parts(generator, solver):
    x = torch.randn(65, 2, generator=generator, dtype=torch.float64)
    x[20:40] += 100
    x[40:] -= 100
    graph = AveragedGraph([draw_sets(x, 8, 20, 2, 2, generator)[1]], [1])
    assert graph.parts(9).sum(0).tolist() == [25, 20, 20]
    assert graph.parts(2).shape == (65, 2)
    values, u = assert_eigenpairs(graph, 4)
    np.testing.assert_allclose(values[:3], 1, atol=1e-7)
    assert values[3] < 0.999
    for part in (slice(0, 20), slice(20, 40), slice(40, 65)):
        assert np.ptp(u[part, :3], axis=0).max() < 1e-5


def test_eigenvalues_of_zero_carry_no_direction(generator, solver):
    x = torch.randn(9, 2, generator=generator, dtype=torch.float64)
    graph = AveragedGraph([draw_sets(x, 1, 3, 0, 2, generator)[1]], [1])  # of rank at most 3
    values, lift = graph.eigenpairs(6)
    assert (values[3:] < 1e-7).all() and not lift[:, 3:].any() and np.isfinite(lift).all()


def test_too_many_neighbours_are_refused(x, generator):
    with pytest.raises(ValueError, match="12 neighbours need at least 13 anchors"):
        draw_sets(x, 1, M, 0, 12, generator)


def test_samples_that_lack_a_view_are_compared_in_the_others(generator):
    x = torch.randn(60, 5, generator=generator, dtype=torch.float64)
    x[:20, :2] = 0
    x[20:23] = 0
    sets, factor = draw_sets(x, 3, 12, 1, 3, generator, widths=(2, 3))
    dense = factor.toarray()
    assert (dense[20:23] == 0).all() and (dense[:20] > 0).any(1).all()
    # By hand: nearest anchors of sample 0 in its second view.
    d2 = (x[0, 2:] - sets.u[0][:, 2:]).square().sum(1)
    np.testing.assert_array_equal(np.flatnonzero(dense[0, :12]), np.sort(d2.argsort()[:3].numpy()))
    np.testing.assert_allclose(rows_on(sets, x, 3).toarray(), dense, atol=1e-12)
    graph = AveragedGraph([factor], [1])
    np.testing.assert_allclose(graph.shares, np.r_[np.ones(20), np.zeros(3), np.ones(37)])


@pytest.mark.parametrize("whole, m", [(7, 8), (8, 4), (15, 7), (16, 8)])
def test_anchors_are_at_most_half_of_enough_whole_samples(whole, m, generator):
    """With fewer than 2 (k + 1) = 8 of them zeros are values, and every sample counts."""
    x = torch.randn(30, 4, generator=generator, dtype=torch.float64)
    x[whole:, :2] = 0
    sets, factor = draw_sets(x, 2, 8, 1, 3, generator, widths=(2, 2))
    assert sets.widths == (() if whole < 8 else (2, 2)) and sets.u.shape[1] == m
    assert ((sets.u[:, :, :2] == 0).all(2).sum() == 0) == (whole >= 8)
    np.testing.assert_allclose(AveragedGraph([factor], [1]).shares, 1)


def test_new_samples_may_lack_views_that_all_fitted_ones_have(x, generator):
    sets, _ = draw_sets(x, 2, M, 1, K, generator, widths=(x.shape[1],))
    new = x[:3].clone()
    new[0] = 0
    rows = rows_on(sets, new, K).toarray()
    assert (rows[0] == 0).all() and (rows[1:] > 0).any(1).all()


def test_as_many_parts_as_eigenpairs_need_no_solver(generator, monkeypatch, solver):
    """Four clouds that share no anchor: of four eigenvalues all are 1, and of five one is less."""
    clouds = torch.arange(60) % 4
    x = torch.randn(60, 3, generator=generator, dtype=torch.float64) + 1e4 * clouds[:, None]
    graph = AveragedGraph([draw_sets(x, 3, 32, 2, 2, generator)[1]], [1.0])
    assert graph.parts(9).shape == (60, 4)
    with monkeypatch.context() as patch:
        for name in ("eigh", "eigsh"):
            patch.setattr(averaged_graph, name, _unexpected)
        values, lift = graph.eigenpairs(4)
    np.testing.assert_array_equal(values, 1)
    u, atol = graph.to_samples(lift), 1e-9
    np.testing.assert_allclose(u.T @ u, np.eye(4), atol=atol)
    for k in range(4):
        np.testing.assert_allclose(u[clouds == k], u[clouds == k][:1].repeat(15, 0), atol=atol)
    assert graph.eigenpairs(5)[0][4] < 1 - 1e-6


def _unexpected(*args, **kwargs):
    pytest.fail("an eigenproblem was solved")


WIDTHS = [(2, 3), (1, 4), (2, 2)]
SPREADS = [0.9, 0.3, 0.6]


def block_views(generator):
    return [torch.randn(7, sum(w), generator=generator) for w in WIDTHS]


def recipe(**changes):
    return dataclasses.replace(CLOSED_FORM, **changes)


def test_all_blocks_in_order(generator):
    x = block_views(generator)
    blocks = blocks_of(x, WIDTHS, SPREADS, recipe())
    names = ["whitened", "whitened 0", "whitened 1", "whitened 2"]
    assert [b.name for b in blocks] == names + [n.replace("whitened", "plain") for n in names]
    assert [b.joint for b in blocks] == 2 * [True, False, False, False]
    own = own_blocks(blocks, np.array([True, False, True]))
    assert [b.name for b in own] == ["whitened 0", "whitened 2", "plain 0", "plain 2"]
    torch.testing.assert_close(blocks[2].x, x[1][:, :1])
    torch.testing.assert_close(blocks[7].x, x[2][:, 2:])


def test_levels_of_equal_weight(generator):
    blocks = blocks_of(block_views(generator), WIDTHS, SPREADS, recipe(level_weight="equal"))
    assert [b.weight for b in blocks] == pytest.approx(2 * [1, 1 / 3, 1 / 3, 1 / 3])


@pytest.mark.parametrize("of_views", [None, [1.0, 0.5, 0.25]])
def test_views_have_their_shares_in_distances_weights_and_the_mean_of_the_spreads(
    of_views, generator
):
    x, shares = block_views(generator), np.array(of_views or [1, 1, 1])
    shares = shares / shares.sum()
    blocks = blocks_of(x, WIDTHS, SPREADS, recipe(plain_scale="rows"), of_views)
    assert [b.weight for b in blocks[1:4]] == pytest.approx(shares)
    assert [b.weight for b in blocks[5:]] == pytest.approx(shares * SPREADS)
    assert [blocks[0].weight, blocks[4].weight] == pytest.approx([1, shares @ SPREADS])
    for joint, own in ((blocks[0], blocks[1:4]), (blocks[4], blocks[5:])):
        d2 = torch.cdist(joint.x, joint.x) ** 2
        mean = sum(s * torch.cdist(b.x, b.x) ** 2 for s, b in zip(shares, own))
        torch.testing.assert_close(d2, mean)


def test_plain_levels_side_by_side_are_in_units_of_their_spread(generator):
    x = block_views(generator)
    rows, scaled = (
        blocks_of(x, WIDTHS, SPREADS, recipe(plain_scale=s)) for s in ("rows", "spread")
    )
    for b in (0, 1, 5, 6, 7):  # nothing else changes
        torch.testing.assert_close(scaled[b].x, rows[b].x, rtol=0, atol=0)
    d2 = torch.cdist(scaled[4].x, scaled[4].x) ** 2
    mean = sum(torch.cdist(b.x, b.x) ** 2 / s for s, b in zip(SPREADS, rows[5:])) / 3
    torch.testing.assert_close(d2, mean)
    alike = blocks_of(x, WIDTHS, [0.0] * 3, recipe(plain_scale="spread"))
    assert alike[4].x.isfinite().all()


def test_kinds_can_be_left_out(generator):
    x = block_views(generator)
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
    x = block_views(generator)[:1]
    for blocks in ("joint", "views", "both"):
        found = blocks_of(x, WIDTHS[:1], SPREADS[:1], recipe(blocks=blocks))
        assert [(b.name, b.joint) for b in found] == [("whitened", True), ("plain", True)]
        torch.testing.assert_close(found[0].x, x[0][:, :2])


def test_numbers_of_sets():
    class Joint:
        joint = True

    class One:
        joint = False

    recipe = dataclasses.replace(CLOSED_FORM, anchor_sets=12)
    assert [n_sets(Joint, 3, recipe, voting) for voting in (False, True)] == [12, 6]
    assert [n_sets(One, 3, recipe, voting) for voting in (False, True)] == [4, 2]
    assert [n_sets(One, 12, recipe, voting) for voting in (False, True)] == [2, 1]
    recipe = dataclasses.replace(CLOSED_FORM, anchor_sets=1)
    for block in (Joint, One):
        assert [n_sets(block, 3, recipe, voting) for voting in (False, True)] == [1, 1]


def test_blocks_side_by_side_are_those_one_after_the_other():
    blocks = blocks_of([torch.randn(60, sum(w)) for w in WIDTHS], WIDTHS, SPREADS, recipe())
    every = draw_graphs(blocks, 3, recipe(), 20, torch.Generator().manual_seed(2))
    generator, k = torch.Generator().manual_seed(2), recipe().n_neighbors
    for block, sets, rows in zip(blocks, *every):
        t, steps = n_sets(block, 3, recipe(), False), recipe().anchor_iterations
        one, factor = draw_sets(block.x, t, 20, steps, k, generator, block.widths)
        torch.testing.assert_close(sets.u, one.u, rtol=0, atol=0)
        np.testing.assert_array_equal(rows.toarray(), factor.toarray())
