"""The pages that show a method whole, DMAC and CLOSED_FORM, compute what the module computes."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from helpers import imported, sources
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits

import dmac
from dmac.agc.anchor_sets import Drawn
from dmac.agc.averaged_graph import AveragedGraph
from dmac.agc.blocks import Block
from dmac.agc.support import view_weights
from dmac.agc.votes import filtered, learned_map, markov_stability, unit_rows
from dmac.anchor_graph import anchor_graph
from dmac.compute.distances import squared_distances
from dmac.data.levels import LevelPipeline
from dmac.network import Network
from dmac.recipes import CLOSED_FORM, RELEASED
from dmac.training import joint_loss
from experiments import one_page


@pytest.fixture(scope="module")
def listing():
    return one_page.listing("one_page")


@pytest.fixture(scope="module")
def network():
    generator = torch.Generator().manual_seed(0)
    return Network((7, 5, 9), 4, RELEASED, generator=generator).double()


@pytest.mark.parametrize("k", [2, 5])
def test_listing_has_the_embedding_and_losses_of_the_module_and_their_gradients(
    listing, network, k
):
    views = [torch.randn(40, width, dtype=torch.float64) for width in (7, 5, 9)]
    zs, z = network.embed(views)
    torch.testing.assert_close(listing["embed"](views, network.encoders), (zs, z))
    u = network.anchors(z[:12].detach(), torch.randn(12, 64).double(), normalize=True)
    weights = [[layer.weight for layer in part.layers] for part in network.convolutions]
    al, cm, sp = listing["losses"](zs, z, u, k, weights)
    found = joint_loss(network, zs, z, u, k, RELEASED)
    terms = found.anchor_learning, found.consistency, found.structure_preservation
    torch.testing.assert_close([al, cm, sp], [3 * x for x in terms], rtol=1e-5, atol=1e-9)
    parameters = [*network.encoders.parameters(), *network.perturbation.parameters()]
    gradients = (
        torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True)
        for loss in (al + RELEASED.cm_weight * cm + RELEASED.sp_weight * sp, found.total)
    )
    torch.testing.assert_close(*gradients, rtol=1e-5, atol=1e-6)


@pytest.fixture(scope="module")
def cell():
    return one_page.listing()


@pytest.fixture(scope="module")
def numerals():
    data = dmac.load("mfeat")
    some = np.random.default_rng(0).permutation(2000)[:300]
    return [x[some] for x in data.views]


@pytest.fixture(scope="module")
def levels(numerals):
    pipelines = [
        LevelPipeline(True, "all", 20, 0.03, 128, n_clusters=10, scaled_components=15, halves=True)
        for _ in numerals
    ]
    return pipelines, [p.fit_transform(x) for p, x in zip(pipelines, numerals)]


def test_closed_form_is_one_cell_of_a_hundred_lines_without_the_module():
    cells = sources(one_page.BOOK / "closed_form_one_page.ipynb").values()
    (source,) = (text for text in cells if "def closed_form" in text)
    lines = [line for line in source.splitlines() if line.strip()]
    assert len(lines) <= 100 and max(map(len, lines)) <= 79
    assert set(imported(source)) == {"numpy", "scipy", "sklearn"}


def test_cell_has_the_levels_of_the_module(cell, numerals, levels):
    rng = np.random.default_rng(0)
    for x, pipeline, level in zip(numerals, *levels):
        rows, weights, spread = cell["three_levels"](x, 10, rng)
        assert spread == pytest.approx(pipeline.spread_, abs=1e-9)
        theirs = np.split(level, np.cumsum(pipeline.widths_)[:-1], 1)
        for mine, other in zip(rows, theirs):  # up to a rotation
            np.testing.assert_allclose(mine @ mine.T, other @ other.T, atol=1e-6)
        # Halves are drawn at random, in the cell once.
        np.testing.assert_allclose(weights, [*pipeline.weights_.values()], atol=0.25)


@pytest.fixture(scope="module")
def graphs(cell, levels):
    """Factors of the cell, of every view at both levels, in the cell's order."""
    pipelines, views = levels
    parts = [np.split(x, np.cumsum(p.widths_)[:-1], 1) for p, x in zip(pipelines, views)]
    rng = np.random.default_rng(0)
    rows = [part[level] for level in (0, 1, 2) for part in parts]
    return [cell["factor"](x, 60, 2, rng, steps=2) for x in rows]


def test_cell_has_the_graph_of_the_module(cell, levels):
    x = levels[1][0]
    rng = np.random.default_rng(0)
    b = cell["factor"](x, 40, 1, rng).toarray()
    u = x[np.random.default_rng(0).choice(300, 40, replace=False)]
    s = anchor_graph(squared_distances(torch.as_tensor(x), torch.as_tensor(u)), 5)
    np.testing.assert_allclose(b, s.to_dense() * s.inverse_degrees().sqrt(), atol=1e-6)
    values, vectors = cell["eigenpairs"](cell["csr_array"](b), 10, rng)
    np.testing.assert_allclose((b @ b.T) @ vectors, vectors * values, atol=1e-6)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(b @ b.T)[:-11:-1], atol=1e-6)


def test_cell_has_the_weights_of_the_module(cell, graphs):
    ours = cell["view_weights"](graphs, 10, np.random.default_rng(0))
    blocks = [Block("", a, None, 1.0, ()) for a in 3 * [*range(6)]]
    drawn = [Drawn(block, None, csr_matrix(b)) for block, b in zip(blocks, graphs)]
    np.testing.assert_allclose(ours / ours.max(), view_weights(drawn, 6, 10), rtol=1e-3)


def test_cell_has_filter_vote_and_guard_of_the_module(cell, numerals, graphs):
    b = graphs[0]
    graph = AveragedGraph(csr_matrix(b))
    values, lift = graph.eigenpairs(30)
    theirs = filtered(graph.rows @ lift, values, 10, CLOSED_FORM)
    ours = cell["filtered"](b, 10, np.random.default_rng(0))
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-6)
    x = np.hstack(numerals[:2]) / 100
    learned = unit_rows(np.column_stack([x, np.ones(300)]) @ learned_map(x, graph, 10, 0.1))
    ours = cell["learned"](x, b, 10)
    np.testing.assert_allclose(ours @ ours.T, learned @ learned.T, atol=1e-6)
    labels = np.arange(300) % 7
    expected = markov_stability(graph, labels, CLOSED_FORM.guard_time)
    assert cell["stability"](b, labels) == pytest.approx(expected, abs=1e-9)


def test_cell_agrees_with_the_module_as_two_seeds_do():
    half = load_digits().images[:600]
    views = [half.reshape(600, 64), abs(np.fft.fft2(half)).reshape(600, 64)]
    pair = SimpleNamespace(views=views, n_clusters=10)
    shares = one_page.agreement(one_page.listing()["closed_form"], pair)
    assert shares["cell and module"] > shares["two seeds"] - 3 and shares["two seeds"] > 80
