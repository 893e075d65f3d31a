"""The parts a recipe asks for, and the two ways to embed: all samples at once, and one by one."""

import dataclasses

import pytest
import torch

from dmac.embedding import ResidualEncoder, ViewEncoder, fuse
from dmac.network import Network
from dmac.recipes import PUBLISHED, RELEASED, REVISED

DIMS, N_CLUSTERS = (7, 5, 9), 3
SMALL = dataclasses.replace(REVISED, hidden_dim=10)


def views(n=40):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(n, d, generator=generator, dtype=torch.float64) for d in DIMS]


def network(recipe=SMALL, seed=0):
    """A network whose corrections have left zero, in float64."""
    generator = torch.Generator().manual_seed(seed)
    made = Network(DIMS, N_CLUSTERS, recipe, generator=generator).to_device("cpu", torch.float64)
    with torch.no_grad():
        for p in made.encoders.parameters():
            p.add_(0.3 * torch.randn(p.shape, generator=generator, dtype=p.dtype))
    return made


@pytest.mark.parametrize("recipe", [PUBLISHED, RELEASED], ids=lambda r: r.name)
def test_without_the_constraint_both_ways_are_the_same(recipe):
    made = network(dataclasses.replace(recipe, hidden_dim=10, embedding_dim=6))
    made.store_factor(views())
    assert "factor" not in made.state_dict()
    zs, z = made.embed(views())
    torch.testing.assert_close(made.embed_new(views())[0], z)
    torch.testing.assert_close(z, fuse(zs, normalize=recipe is RELEASED))


def test_factor_stays_in_double_precision():
    made = network()
    made.store_factor(views())
    made.to_device("cpu", torch.float32)
    assert made.factor.dtype == torch.float64
    assert {p.dtype for p in made.parameters()} == {torch.float32}
    assert made.embed_new([x.float() for x in views()])[0].dtype == torch.float32
    assert "factor" in made.state_dict()  # so that it is saved


@pytest.mark.parametrize(
    "encoder, kind, layers",
    [
        ("mlp", ViewEncoder, {"first", "second"}),
        ("residual", ResidualEncoder, {"linear", "first", "second"}),
        ("linear", ResidualEncoder, {"linear"}),
    ],
)
def test_encoder_of_the_recipe(encoder, kind, layers):
    made = network(dataclasses.replace(SMALL, encoder=encoder, negative_slope=0.2))
    for module, width in zip(made.encoders, DIMS):
        assert type(module) is kind and module.negative_slope == 0.2
        assert {name.split(".")[0] for name, _ in module.named_parameters()} == layers
        assert (module.first if encoder == "mlp" else module.linear).in_features == width


def test_perturbation_of_the_recipe():
    u = torch.ones(4, 2, dtype=torch.float64)
    still = network(dataclasses.replace(SMALL, perturbation=False))
    assert still.perturbation is None and still.perturb(u, u) is u
    moving = dataclasses.replace(SMALL, perturbation=True)
    assert network(moving).perturbation.slope.shape == (sum(DIMS),)
    space = dict(anchor_space="embedding", closed_form_start=False, embedding_dim=6)
    assert network(dataclasses.replace(moving, **space)).perturbation.slope.shape == (6,)
