"""The joint loss against the dense reference, the schedule of k, and the records of the loop."""

import dataclasses
import math

import pytest
import torch
from helpers import Shapes
from scipy.stats import kstest
from test_gpu import DIMS, JOINT, N_CLUSTERS, small, unit_views

from dmac import reference
from dmac.anchors import anchor_learning_loss
from dmac.compute.distances import squared_distances
from dmac.compute.kmeans import kmeans_anchors
from dmac.network import Network
from dmac.recipes import PUBLISHED, RELEASED, REVISED
from dmac.sampling import anchor_means
from dmac.structure import closed_form_projection, structure_preservation_loss
from dmac.training import anchor_source, draw_anchors, joint_loss, losses_on, neighbors_at, train

N_ANCHORS = 11


def views(n=40):
    return unit_views("cpu", torch.float64, n)


def network(recipe, generator):
    return Network(DIMS, N_CLUSTERS, recipe, generator=generator).double()


def training(model, views, n_anchors, recipe, generator):
    source = anchor_source(model, views, n_anchors, recipe, generator)
    return train(model, views, N_CLUSTERS, source, recipe)


@pytest.mark.parametrize("recipe", [PUBLISHED, RELEASED, JOINT, REVISED], ids=lambda r: r.name)
def test_an_epoch_forms_no_large_product(recipe, generator):
    n, m, d, v = 97, 23, 12, len(DIMS)
    recipe = dataclasses.replace(small(recipe, epochs=1), embedding_dim=d)
    with Shapes() as shapes:
        list(training(network(recipe, generator), views(n), m, recipe, generator))
    assert (n, m) in shapes.seen  # the distances: the largest there should be
    assert not shapes.seen & {(n, n), (m, m), (n, m, d), (n, d, m), (m, n, d)}
    assert max(math.prod(shape) for shape in shapes.seen) <= max(n * m, v * n * d)


@pytest.mark.parametrize("detach", [False, True])
def test_detached_graph_takes_the_structure_gradient_from_the_anchors(detach, generator):
    recipe = small(RELEASED, detach_graph=detach, al_weight=0.0, cm_weight=0.0)
    model = network(recipe, generator)
    zs, z = model.embed(views())
    u = draw_anchors(model, z, N_ANCHORS, recipe, torch.Generator().manual_seed(1))
    total = joint_loss(model, zs, z, u, 4, recipe).total
    (gradient,) = torch.autograd.grad(
        total, model.perturbation.mu.weight, allow_unused=True, materialize_grads=True
    )
    assert gradient.any() != detach


@pytest.mark.parametrize(
    "m, c, expected",
    [
        (215, 68, {1: 5, 21: 5, 22: 3, 50: 3}),  # PIE: floor(m / c) = 3 is below the first k
        (58, 5, {1: 5, 21: 5, 22: 10, 41: 10, 42: 11, 45: 11}),  # BBC: floor(m / c) = 11
        (141, 10, {21: 5, 22: 10, 42: 14, 50: 14}),  # mfeat
    ],
)
def test_schedule_of_neighbours(m, c, expected):
    assert {epoch: neighbors_at(epoch, RELEASED, m, c) for epoch in expected} == expected
    assert neighbors_at(99, PUBLISHED, m, c) == neighbors_at(99, REVISED, m, c) == 5


def test_without_perturbation_the_anchors_are_the_kmeans_centres(generator):
    recipe = small(PUBLISHED, perturbation=False)
    model = network(recipe, generator)
    _, z = model.embed(views())
    drawn = draw_anchors(model, z, N_ANCHORS, recipe, torch.Generator().manual_seed(4))
    centres = kmeans_anchors(z, N_ANCHORS, torch.Generator().manual_seed(4))
    torch.testing.assert_close(drawn, centres)


@pytest.mark.parametrize("recipe", [PUBLISHED, RELEASED, JOINT], ids=lambda r: r.name)
def test_loop_yields_one_record_an_epoch(recipe, generator):
    recipe = small(recipe, epochs=25, lr=1e-3)
    records = [*training(network(recipe, generator), views(), N_ANCHORS, recipe, generator)]
    assert [r.epoch for r in records] == list(range(1, 26))
    for r in records:
        assert 0 <= r.empty_anchors < N_ANCHORS
        assert 1 <= r.effective_rank <= 6
        assert r.n_neighbors == (5 if recipe.name == "published" or r.epoch <= 21 else 3)
        terms = r.anchor_learning + 1e3 * (r.consistency + r.structure_preservation)
        assert r.loss == pytest.approx(len(DIMS) * terms)
        if recipe.mutual_information == "per_row":
            assert abs(r.consistency) < 1e-12
    assert records[-1].loss < records[0].loss


@pytest.mark.parametrize("recipe", [PUBLISHED, RELEASED, JOINT], ids=lambda r: r.name)
def test_loop_is_full_batch_rmsprop_on_the_reference_loss(recipe):
    weights = dict(cm_weight=3.0, sp_weight=2.0)
    recipe = small(recipe, epochs=3, lr=1e-3, **weights)
    forms = dict(reading=recipe.mutual_information, sp_form=recipe.sp_form, al_weight=1.0)
    generators = [torch.Generator().manual_seed(0) for _ in range(2)]
    fitted, by_hand = (network(recipe, generator) for generator in generators)
    start = {name: p.detach().clone() for name, p in fitted.named_parameters()}
    list(training(fitted, views(), N_ANCHORS, recipe, generators[0]))
    parameters = [p for name, p in by_hand.named_parameters() if not name.startswith("decoders")]
    optimiser = torch.optim.RMSprop(parameters, lr=1e-3, alpha=0.99, eps=1e-8)
    source = anchor_source(by_hand, views(), N_ANCHORS, recipe, generators[1])
    for _ in range(3):
        zs, z = by_hand.embed(views())
        layers = [[layer.weight.T for layer in f.layers] for f in by_hand.convolutions]
        optimiser.zero_grad()
        reference.joint_loss(zs, z, source.anchors(z), 5, layers, **forms, **weights).backward()
        optimiser.step()
    for name, p in fitted.named_parameters():
        part = name.partition(".")[0]
        assert torch.equal(p, start[name]) == (part == "decoders"), name
        # Else their gradient is 0 up to rounding, and RMSprop scales the rounding up.
        if part != "convolutions" or recipe.mutual_information != "per_row":
            torch.testing.assert_close(p, by_hand.get_parameter(name), rtol=1e-6, atol=1e-8)


@torch.no_grad()
def test_noise_is_standard_normal_and_fresh_for_every_draw(generator, monkeypatch):
    m, d = 60, 50
    recipe = dataclasses.replace(PUBLISHED, embedding_dim=d, anchor_start="kmeans")
    model = network(recipe, generator)
    for p in model.perturbation.parameters():
        p.zero_()
    model.perturbation.sigma.bias.fill_(1)  # then U is U_hat plus the noise itself
    monkeypatch.setattr(
        "dmac.sampling.kmeans_anchors", lambda z, m, generator: torch.zeros(m, d).double()
    )
    draws = [draw_anchors(model, None, m, recipe, generator).flatten() for _ in range(2)]
    assert abs(float(torch.corrcoef(torch.stack(draws))[0, 1])) < 0.1
    assert kstest(draws[0].numpy(), "norm").pvalue > 1e-3


# --- the revised recipe


def revised_run(dtype=torch.float64, **changes):
    """Records of a run, the network, its source and the parameters after each epoch."""
    recipe = dataclasses.replace(
        REVISED, **{"hidden_dim": 16, "agcn_dim": 4, "anchor_sets": 3} | changes
    )
    generator = torch.Generator().manual_seed(0)
    model = Network(DIMS, N_CLUSTERS, recipe, generator=generator).to_device("cpu", dtype)
    source = anchor_source(model, unit_views("cpu", dtype), 20, recipe, generator)
    records, states = [], []
    for record in train(model, unit_views("cpu", dtype), N_CLUSTERS, source, recipe):
        records.append(record)
        states.append(torch.cat([p.detach().flatten() for p in model.encoders.parameters()]))
    return records, states, model, source


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_revised_loop_lowers_its_loss_and_keeps_the_constraint(dtype):
    records, _, model, _ = revised_run(dtype, epochs=40)
    assert [(r.epoch, r.n_neighbors) for r in records] == [(e, 5) for e in range(1, 41)]
    for r in records:
        assert r.effective_rank == pytest.approx(N_CLUSTERS, abs=1e-3)
        assert r.loss == pytest.approx(r.structure_preservation)
        assert 0 <= r.loss <= N_CLUSTERS  # G is between 0 and I, and Z^T Z / n is I
    losses = [r.loss for r in records]
    assert sum(losses[-6:]) < sum(losses[:6])
    assert min(float(e.second.weight.detach().abs().max()) for e in model.encoders) > 0


@pytest.mark.parametrize("encoder", ["residual", "linear"])
def test_closed_form_starts_the_fusion_itself_and_not_only_its_space(encoder):
    records, _, model, source = revised_run(lr=1e-12, epochs=1, encoder=encoder, vote_share=0.0)
    h = torch.cat(views(90), 1)
    weight, bias = closed_form_projection(h, source.graphs(), N_CLUSTERS)
    torch.testing.assert_close(torch.stack(model.embed_views(views(90))).mean(0), h @ weight + bias)
    worse, *_ = revised_run(epochs=1, encoder=encoder, closed_form_start=False, vote_share=0.0)
    assert worse[0].loss > 1.1 * records[0].loss


def test_mlp_has_no_linear_part_to_start_in_closed_form():
    starts = [
        revised_run(epochs=1, encoder="mlp", closed_form_start=start)[0][0].loss
        for start in (True, False)
    ]
    assert starts[0] == starts[1]


@pytest.mark.parametrize(
    "schedule, least, most",
    [("constant", 2e-5, 1), ("cosine", 0, 2e-5)],  # (1 + cos(19 pi / 20)) / 2 = 0.006
)
def test_cosine_schedule_ends_near_zero(schedule, least, most):
    start = revised_run(epochs=0)[2].encoders.parameters()
    before = torch.cat([p.detach().flatten() for p in start])
    states = revised_run(epochs=20, lr=1e-3, schedule=schedule)[1]
    # Adam's first step moves every parameter that has a gradient by the step size.
    assert float((states[0] - before).abs().max()) == pytest.approx(1e-3, rel=1e-3)
    assert least < float((states[-1] - states[-2]).abs().max()) < most


@pytest.mark.parametrize("cm_weight", [0.0, 0.1])
def test_a_term_of_weight_zero_is_nan_and_gets_no_gradient(cm_weight):
    records, _, model, _ = revised_run(epochs=1, cm_weight=cm_weight)
    assert math.isnan(records[0].anchor_learning) and math.isfinite(records[0].loss)
    assert math.isnan(records[0].consistency) == (cm_weight == 0)
    gradients = [p.grad for p in model.convolutions.parameters()]
    assert all((g is None) == (cm_weight == 0) for g in gradients)


def test_shares_weigh_the_structure_losses_and_the_last_draw_gives_the_other_terms(generator):
    changes = dict(vote_share=0.3, sp_weight=2.0, al_weight=0.7)
    recipe = dataclasses.replace(REVISED, hidden_dim=16, **changes)
    model = network(recipe, generator)
    zs, z = model.embed(views(90))
    draws = anchor_source(model, views(90), 20, recipe, generator).draws(zs, z, 5)
    losses = losses_on(model, zs, z, draws, recipe)
    in_views, with_z = (structure_preservation_loss(z, d.graphs[0]) / 90 for d in draws)
    torch.testing.assert_close(losses.structure_preservation, 0.7 * in_views + 0.3 * with_z)
    means = anchor_means(draws[1].graphs[0], z.detach())
    rows, means = (torch.nn.functional.normalize(x, dim=1) for x in (z, means))
    al = anchor_learning_loss(squared_distances(rows, means))
    torch.testing.assert_close(losses.anchor_learning, al)
    torch.testing.assert_close(losses.total, 2 * losses.structure_preservation + 0.7 * al)
