"""What chapter 9 says of a collapse: of its runs, and of what its propositions predict."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

import dmac
from dmac import diagnostics
from dmac.anchor_graph import anchor_graph
from dmac.anchors import anchor_learning_loss, neighbor_bandwidth
from dmac.compute import kmeans
from dmac.compute.distances import squared_distances
from dmac.network import Network
from dmac.recipes import RELEASED
from dmac.structure import structure_preservation_loss
from experiments import collapse


@pytest.fixture(scope="module")
def numerals():
    return collapse.Numerals(seeds=1, pretrain_epochs=30)


@pytest.fixture(scope="module")
def released(numerals):
    return numerals.runs(4)


def unit(n, d, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, d, generator=generator, dtype=torch.float64)
    return x / x.norm(dim=1, keepdim=True)


def test_runs_are_those_of_released_with_what_a_record_lacks(numerals, released):
    assert (len(numerals.truth), numerals.n_anchors) == (400, 63)
    assert list(released.index) == [(0, epoch) for epoch in (1, 2, 3, 4)]
    assert released.index.names == ["seed", "epoch"]
    for row in released.itertuples():
        assert row.spread == pytest.approx(1 - diagnostics.mean_cosine(row.z), abs=1e-6)
        assert 0.9 < row.entropy <= 1 + 1e-6 and row.empty == row.empty_anchors / 63
        assert 0.999 < row.f <= 1 + 1e-6
    assert released.spread.iloc[0] > 5 * released.spread.iloc[1]  # the leap


def test_a_change_of_the_recipe_is_a_run_from_the_same_start(numerals, released):
    other = numerals.runs(2, lr=1e-4)
    torch.testing.assert_close(other.z[0, 1], released.z[0, 1])
    assert other.spread[0, 2] > 10 * released.spread[0, 2]


def test_residuals_are_measured_without_the_mean(numerals, released):
    table = numerals.residuals(released.z.iloc[:1])
    (rank, share, acc), z = table.iloc[0], released.z.iloc[0]
    moved = released.z.iloc[:1].map(lambda z: 3 * z + 5.0)
    np.testing.assert_allclose(numerals.residuals(moved), table, rtol=1e-6)
    assert rank == pytest.approx(diagnostics.effective_rank(z - z.mean(0)))
    assert 80 < share <= 100 and acc > 50


def test_anchors_that_follow_collapse_below_the_threshold_and_resist_above_it(numerals):
    """Proposition prop-two-orders: shrinking pays while delta^2 < lambda B / A."""
    with torch.no_grad():
        zs, z = numerals.network(0).embed(numerals.views)
        generator = torch.Generator().manual_seed(0)
        u = kmeans.kmeans_anchors(z, numerals.n_anchors, generator)
        d2s = [squared_distances(x, u) for x in zs]
        a = sum(x.var(1, correction=0).mean() for x in d2s)
        b = sum(structure_preservation_loss(z, anchor_graph(x, 5)) for x in d2s)
    above = []
    for weight in (1e-4, 1e-6):
        runs = numerals.runs(5, sp_weight=weight, perturbation=False)
        spread = runs.spread.loc[0]
        above.append(spread[2] > weight * float(b / a) * spread[1])  # where the first step lands
        assert above[-1] == (spread[5] > 1e-3)
    assert above == [False, True]


def test_a_shape_that_is_constant_on_the_parts_of_its_graphs_is_exempt():
    r, t = unit(60, 8, 0), unit(20, 8, 1)
    parts = torch.arange(60) % 3  # three parts, no anchor shared between them
    apart = 100.0 * (parts[:, None] != torch.arange(20) % 3)
    graph = anchor_graph(squared_distances(r, t) + apart, 5)
    assert structure_preservation_loss(r[parts], graph) < 1e-12 < 1
    assert structure_preservation_loss(r, graph) > 1


def test_a_bandwidth_of_the_data_takes_the_scale_from_the_loss():
    r, t, pole = unit(60, 8, 0), unit(20, 8, 1), torch.eye(8, dtype=torch.float64)[0]
    values = []
    for delta in (1.0, 0.1, 0.001):
        d2 = squared_distances(pole + delta * r, pole + delta * t)
        values.append(anchor_learning_loss(d2, neighbor_bandwidth(d2, 5)).item())
    np.testing.assert_allclose(values, values[0], rtol=1e-6)
    assert values[0] < math.log(20) - 0.02


def test_what_the_parts_make_of_equal_rows():
    pole = torch.eye(8, dtype=torch.float64)[0]
    z, generator = pole.repeat(60, 1), torch.Generator().manual_seed(0)
    u = kmeans.kmeans_anchors(z, 20, generator)
    assert len(u.unique(dim=0)) == 1
    graph = anchor_graph(squared_distances(z, u), 5)
    used = graph.indices.unique()
    assert len(used) == 5 and (graph.weights == 0.2).all()
    assert diagnostics.empty_anchors(graph.degrees()) == 15
    s = graph.to_dense()
    g = s @ (graph.inverse_degrees()[:, None] * s.T)
    torch.testing.assert_close(g, torch.full_like(g, 1 / 60))
    small = replace(RELEASED, embedding_dim=8)
    network = Network((8,), 3, small, generator=generator).double()
    f = network.convolutions[0](graph, unit(20, 8, 1))
    f, rest = f[used], f[[j for j in range(20) if j not in used]]
    torch.testing.assert_close(rest, torch.full_like(rest, 1 / 3))
    torch.testing.assert_close(f, f[:1].expand(5, 3))
    assert set(kmeans.kmeans(z.numpy(), 10, 0).labels_) == {0}


def test_few_anchors_leave_the_plain_scatter():
    """Proposition prop-few-anchors, with four anchors that are not empty."""
    r, t = unit(60, 8, 0), unit(20, 8, 1)
    graph = anchor_graph(squared_distances(r, torch.cat([t[:4], t[4:] + 100])), 3)
    assert diagnostics.empty_anchors(graph.degrees()) == 16
    squares = diagnostics.singular_values(r).square()
    assert squares[4:].sum() < structure_preservation_loss(r, graph) < squares.sum()


def test_checkup_tells_a_collapse_from_an_embedding_that_is_spread(numerals):
    short = replace(RELEASED, pretrain_epochs=5, epochs=5)
    views = [x[::4] for x in numerals.rows]
    bad = collapse.checkup(dmac.DMAC(10, short, 0, "cpu").fit(views))
    wide = replace(dmac.recipes.REVISED, epochs=3)
    good = collapse.checkup(dmac.DMAC(10, wide, 0, "cpu").fit(views))
    assert bad["mean cosine"] > 0.99 > 0.5 > good["mean cosine"]
    assert bad["effective rank"] < 3 < 8 < good["effective rank"]
    assert bad["centred part"] < 0.1 < 0.5 < good["centred part"]
    assert bad["empty anchors"] > good["empty anchors"]
