"""The page that shows DMAC whole computes what the module computes."""

import ast
from pathlib import Path

import nbformat
import pytest
import torch

from dmac.network import Network
from dmac.recipes import RELEASED
from dmac.training import joint_loss

PAGE = Path(__file__).resolve().parent.parent / "book" / "one_page.ipynb"


@pytest.fixture(scope="module")
def listing():
    """The functions of the cell, without its run."""
    cells = nbformat.read(PAGE, 4).cells
    (source,) = (c.source for c in cells if c.cell_type == "code" and "def losses" in c.source)
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef)
    tree = ast.parse(source)
    tree.body = [node for node in tree.body if isinstance(node, kinds)]
    names = {}
    exec(compile(tree, str(PAGE), "exec"), names)
    return names


@pytest.fixture(scope="module")
def network():
    generator = torch.Generator().manual_seed(0)
    return Network((7, 5, 9), 4, RELEASED, generator=generator).double()


def test_listing_has_the_embedding_of_the_module(listing, network):
    views = [torch.randn(40, width, dtype=torch.float64) for width in (7, 5, 9)]
    zs, z = listing["embed"](views, network.encoders)
    expected, fused = network.embed(views)
    torch.testing.assert_close(zs, expected)
    torch.testing.assert_close(z, fused)


@pytest.mark.parametrize("k", [2, 5])
def test_listing_has_the_losses_of_the_module_and_their_gradients(listing, network, k):
    views = [torch.randn(40, width, dtype=torch.float64) for width in (7, 5, 9)]
    zs, z = network.embed(views)
    u = network.anchors(z[:12].detach(), torch.randn(12, 64).double(), normalize=True)
    weights = [[layer.weight for layer in part.layers] for part in network.convolutions]
    al, cm, sp = listing["losses"](zs, z, u, k, weights)
    found = joint_loss(network, zs, z, u, k, RELEASED)
    assert al.item() / 3 == pytest.approx(found.anchor_learning.item(), rel=1e-5)
    assert sp.item() / 3 == pytest.approx(found.structure_preservation.item(), rel=1e-5)
    assert cm.item() == pytest.approx(3 * found.consistency.item(), abs=1e-9)
    total = al + RELEASED.cm_weight * cm + RELEASED.sp_weight * sp
    parameters = [*network.encoders.parameters(), *network.perturbation.parameters()]
    ours, theirs = (
        torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True)
        for loss in (total, found.total)
    )
    for mine, other in zip(ours, theirs):
        torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-6)
