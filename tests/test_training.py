"""The joint loss against the dense reference, the schedule of k, and the records of the loop."""

import dataclasses
import math

import pytest
import torch
from scipy.stats import kstest
from torch.utils._python_dispatch import TorchDispatchMode

from dmac import reference
from dmac.recipes import PUBLISHED, RELEASED, REVISED
from dmac.training import (
    Network,
    draw_anchors,
    joint_loss,
    neighbors_at,
    resolve_device,
    resolve_dtype,
    train,
)

DIMS, N_CLUSTERS, N_ANCHORS = (7, 5, 9), 3, 11


def small(recipe, **changes):
    return dataclasses.replace(recipe, embedding_dim=6, hidden_dim=10, agcn_dim=4, **changes)


def views(n=40, dtype=torch.float64):
    generator = torch.Generator().manual_seed(1)
    draws = [torch.randn(n, d, generator=generator, dtype=torch.float64) for d in DIMS]
    return [torch.nn.functional.normalize(x, dim=1).to(dtype) for x in draws]


def network(recipe, generator):
    return Network(DIMS, N_CLUSTERS, recipe, generator=generator).double()


@pytest.mark.parametrize("recipe", [PUBLISHED, RELEASED, REVISED], ids=lambda r: r.name)
@pytest.mark.parametrize("sp_form", ["pairs", "trace", "mean"])
def test_joint_loss_matches_the_reference(recipe, sp_form, generator):
    recipe = small(recipe, sp_form=sp_form, cm_weight=3.0, sp_weight=2.0, al_weight=0.7)
    model = network(recipe, generator)
    zs, z = model.embed(views())
    u = draw_anchors(model, z, N_ANCHORS, recipe, generator)
    fast = joint_loss(model, zs, z, u, 4, recipe)
    weights = [[layer.weight.T for layer in agcn.layers] for agcn in model.convolutions]
    dense = reference.joint_loss(
        zs,
        z,
        u,
        4,
        weights,
        reading=recipe.mutual_information,
        sp_form=sp_form,
        al_weight=0.7,
        cm_weight=3.0,
        sp_weight=2.0,
    )
    torch.testing.assert_close(fast.total, dense, rtol=1e-6, atol=0)
    parts = [
        0.7 * fast.anchor_learning,
        3.0 * fast.consistency,
        2.0 * fast.structure_preservation,
    ]
    torch.testing.assert_close(fast.total, len(DIMS) * sum(parts))
    parameters = [
        p
        for module in (model.encoders, model.perturbation, model.convolutions)
        for p in module.parameters()
    ]
    gradients = [
        torch.autograd.grad(value, parameters, retain_graph=True) for value in (fast.total, dense)
    ]
    for of_fast, of_dense in zip(*gradients):
        torch.testing.assert_close(of_fast, of_dense, rtol=1e-6, atol=1e-9)


class Shapes(TorchDispatchMode):
    """Records the shape of every tensor that any operation returns, forward and backward."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for item in out if isinstance(out, (tuple, list)) else [out]:
            if isinstance(item, torch.Tensor):
                self.seen.add(tuple(item.shape))
        return out


@pytest.mark.parametrize("recipe", [PUBLISHED, RELEASED, REVISED], ids=lambda r: r.name)
def test_an_epoch_forms_no_large_product(recipe, generator):
    n, m, d, v = 97, 23, 12, len(DIMS)
    recipe = dataclasses.replace(small(recipe, epochs=1), embedding_dim=d)
    model = network(recipe, generator)
    with Shapes() as shapes:
        list(train(model, views(n), N_CLUSTERS, m, recipe, generator))
    assert (n, m) in shapes.seen  # the distances: the largest there should be
    assert not shapes.seen & {(n, n), (m, m), (n, m, d), (n, d, m), (m, n, d)}
    assert max(math.prod(shape) for shape in shapes.seen) <= max(n * m, v * n * d)


def test_detached_graph_takes_the_structure_gradient_from_the_anchors(generator):
    gradients = {}
    for detach in (False, True):
        recipe = small(RELEASED, detach_graph=detach, al_weight=0.0, cm_weight=0.0)
        model = network(recipe, torch.Generator().manual_seed(0))
        zs, z = model.embed(views())
        u = draw_anchors(model, z, N_ANCHORS, recipe, torch.Generator().manual_seed(1))
        joint_loss(model, zs, z, u, 4, recipe).total.backward()
        gradients[detach] = float(model.perturbation.mu.weight.grad.abs().sum())
    assert gradients[False] > 0
    assert gradients[True] == 0


@pytest.mark.parametrize(
    "m, c, expected",
    [
        (215, 68, {1: 5, 20: 5, 21: 3, 50: 3}),  # PIE: floor(m / c) = 3 is below the first k
        (58, 5, {1: 5, 20: 5, 21: 10, 40: 10, 41: 11, 45: 11}),  # BBC: floor(m / c) = 11
        (141, 10, {20: 5, 21: 10, 41: 14, 50: 14}),  # mfeat
    ],
)
def test_schedule_of_neighbours(m, c, expected):
    assert {epoch: neighbors_at(epoch, RELEASED, m, c) for epoch in expected} == expected
    assert neighbors_at(99, PUBLISHED, m, c) == 5


def test_without_perturbation_the_anchors_are_the_kmeans_centres(generator):
    recipe = small(PUBLISHED, perturbation=False)
    model = network(recipe, generator)
    _, z = model.embed(views())
    u = draw_anchors(model, z, N_ANCHORS, recipe, torch.Generator().manual_seed(4))
    moved = draw_anchors(
        network(small(PUBLISHED), generator), z, N_ANCHORS, recipe, torch.Generator().manual_seed(4)
    )
    assert model.perturbation is None
    assert not torch.allclose(u, moved)
    # Every centre is a mean of rows, so it lies within their bounds.
    assert (u >= z.min(0).values).all() and (u <= z.max(0).values).all()


@pytest.mark.parametrize("recipe", [PUBLISHED, RELEASED, REVISED], ids=lambda r: r.name)
def test_loop_yields_one_record_an_epoch(recipe, generator):
    recipe = small(recipe, epochs=25, lr=1e-3)
    model = network(recipe, generator)
    records = list(train(model, views(), N_CLUSTERS, N_ANCHORS, recipe, generator))
    assert [r.epoch for r in records] == list(range(1, 26))
    for r in records:
        assert 0 <= r.anchor_learning <= math.log(N_ANCHORS)
        assert r.structure_preservation >= 0
        assert 0 <= r.empty_anchors < N_ANCHORS
        assert 1 <= r.effective_rank <= 6
        assert r.n_neighbors == (5 if recipe.name == "published" or r.epoch <= 20 else 3)
        terms = r.anchor_learning + 1e3 * (r.consistency + r.structure_preservation)
        assert r.loss == pytest.approx(len(DIMS) * terms)
        if recipe.mutual_information == "per_row":
            assert abs(r.consistency) < 1e-12
    assert records[-1].loss < records[0].loss


@pytest.mark.parametrize("recipe", [PUBLISHED, RELEASED, REVISED], ids=lambda r: r.name)
def test_loop_is_full_batch_rmsprop_on_the_reference_loss(recipe):
    recipe = small(recipe, epochs=3, lr=1e-3, cm_weight=3.0, sp_weight=2.0)
    results = []
    for by_hand in (False, True):
        generator = torch.Generator().manual_seed(0)
        model = network(recipe, generator)
        start = [p.detach().clone() for p in model.parameters()]
        if by_hand:
            trained = [model.encoders, model.perturbation, model.convolutions]
            parameters = [p for module in trained for p in module.parameters()]
            optimiser = torch.optim.RMSprop(parameters, lr=1e-3, alpha=0.99, eps=1e-8)
            for _ in range(3):
                zs, z = model.embed(views())
                u = draw_anchors(model, z, N_ANCHORS, recipe, generator)
                weights = [[layer.weight.T for layer in f.layers] for f in model.convolutions]
                loss = reference.joint_loss(
                    zs,
                    z,
                    u,
                    5,
                    weights,
                    reading=recipe.mutual_information,
                    sp_form=recipe.sp_form,
                    al_weight=1.0,
                    cm_weight=3.0,
                    sp_weight=2.0,
                )
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
        else:
            list(train(model, views(), N_CLUSTERS, N_ANCHORS, recipe, generator))
        results.append((model, start))
    (fitted, start), (expected, _) = results
    for part in ("encoders", "perturbation", "convolutions"):
        if part == "convolutions" and recipe.mutual_information == "per_row":
            continue  # their gradient is 0 up to rounding, and RMSprop scales the rounding up
        pairs = zip(getattr(fitted, part).parameters(), getattr(expected, part).parameters())
        for of_loop, by_hand in pairs:
            torch.testing.assert_close(of_loop, by_hand, rtol=1e-6, atol=1e-8)
    before = dict(zip((name for name, _ in fitted.named_parameters()), start))
    for name, p in fitted.named_parameters():
        moved = not torch.equal(p, before[name])
        assert moved != name.startswith("decoders"), name


def test_fused_embedding_has_unit_rows_when_the_recipe_says_so(generator):
    for recipe in (RELEASED, PUBLISHED):
        zs, z = network(small(recipe), generator).embed(views())
        mean = reference.fuse(zs)
        unit = mean / mean.norm(dim=1, keepdim=True)
        torch.testing.assert_close(z, unit if recipe.normalize_embedding else mean)


def test_noise_is_standard_normal_and_fresh_for_every_draw(generator, monkeypatch):
    m, d = 60, 50
    recipe = dataclasses.replace(PUBLISHED, embedding_dim=d)
    model = network(recipe, generator)
    with torch.no_grad():
        for p in model.perturbation.parameters():
            p.zero_()
        model.perturbation.sigma.bias.fill_(1)  # then U is U_hat plus the noise itself
    monkeypatch.setattr(
        "dmac.training.kmeans_anchors", lambda z, m, generator: torch.zeros(m, d).double()
    )
    with torch.no_grad():
        draws = [draw_anchors(model, None, m, recipe, generator).flatten() for _ in range(2)]
    assert abs(float(torch.corrcoef(torch.stack(draws))[0, 1])) < 0.1
    assert kstest(draws[0].numpy(), "norm").pvalue > 1e-3


def test_loop_leaves_the_decoders_alone(generator):
    recipe = small(RELEASED, epochs=2)
    model = network(recipe, generator)
    before = [p.clone() for p in model.decoders.parameters()]
    list(train(model, views(), N_CLUSTERS, N_ANCHORS, recipe, generator))
    assert all(torch.equal(a, b) for a, b in zip(before, model.decoders.parameters()))


def test_loop_in_single_precision_follows_the_double_one():
    losses = {}
    for dtype in (torch.float32, torch.float64):
        generator = torch.Generator().manual_seed(0)
        recipe = small(RELEASED, epochs=3, lr=1e-4)
        model = Network(DIMS, N_CLUSTERS, recipe, generator=generator).to(dtype)
        records = train(model, views(dtype=dtype), N_CLUSTERS, N_ANCHORS, recipe, generator)
        losses[dtype] = [r.loss for r in records]
    assert losses[torch.float32] == pytest.approx(losses[torch.float64], rel=1e-3)


def test_loss_that_is_not_finite_is_an_error(generator):
    recipe = small(RELEASED, sp_weight=1e300, epochs=3)
    model = Network(DIMS, N_CLUSTERS, recipe, generator=generator)
    with pytest.raises(FloatingPointError, match="epoch 1"):
        list(train(model, views(dtype=torch.float32), N_CLUSTERS, N_ANCHORS, recipe, generator))


def test_device_and_type_by_name():
    assert resolve_device("cpu") == torch.device("cpu")
    assert resolve_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert resolve_dtype("float64") is torch.float64
    with pytest.raises(ValueError, match="'abacus'"):
        resolve_device("abacus")
    with pytest.raises(ValueError, match="float16"):
        resolve_dtype("float16")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_gpu_gives_the_losses_of_the_cpu():
    losses = {}
    for device in ("cpu", "cuda"):
        generator = torch.Generator().manual_seed(0)
        recipe = small(RELEASED, epochs=3, lr=1e-4)
        model = network(recipe, generator).to(device)
        tensors = [x.to(device) for x in views()]
        records = train(model, tensors, N_CLUSTERS, N_ANCHORS, recipe, generator)
        losses[device] = [r.loss for r in records]
    assert losses["cuda"] == pytest.approx(losses["cpu"], rel=1e-6)
