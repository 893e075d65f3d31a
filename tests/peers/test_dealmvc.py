"""DealMVC: its losses against references, the weights that must learn, and how it clusters."""

import itertools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from helpers import assert_matches
from systems import easy_views

from dmac.peers._attention import ViewWeights
from dmac.peers._calibration import (
    calibration_loss,
    calibration_target,
    label_consistency_loss,
    match_clusters,
)
from dmac.peers.dealmvc import DealMVC, _Network

SMALL = dict(
    widths=(32, 16), n_heads=2, pretrain_epochs=20, calibration_epochs=20,
    finetune_epochs=20, batch_size=40, lr=3e-3, n_init=5, device="cpu", random_state=0,
)  # fmt: skip


def random(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


def target_by_loops(p, q, threshold=0.8):
    rows = []
    for i in range(len(p)):
        row = []
        for j in range(len(q)):
            agreement = sum(p[i, k] * q[j, k] for k in range(p.shape[1]))
            if i == j:
                agreement = agreement * 0 + 1
            row.append(agreement if agreement >= threshold else agreement * 0)
        rows.append(torch.stack([value / sum(row) for value in row]))
    return torch.stack(rows)


def loss_by_loops(h, g, target):
    total = 0.0
    for i in range(len(h)):
        weights = [torch.exp(h[i] @ g[j]) for j in range(len(g))]
        for j in range(len(g)):
            total = total - target[i, j] * torch.log(weights[j] / sum(weights) + 1e-7)
    return total / len(h)


@pytest.mark.parametrize("threshold", [0.8, 0.3])
def test_targets_and_gradients_are_those_of_the_formula(threshold):
    # Logits large enough that some pairs agree and others do not.
    p, q = 4 * random(6, 3, seed=1).detach(), 4 * random(6, 3, seed=2).detach()
    inputs = p.requires_grad_(), q.requires_grad_()

    def on(function):
        return lambda p, q: function(torch.softmax(p, 1), torch.softmax(q, 1), threshold)

    target = on(calibration_target)(*inputs)
    assert (target == 0).any() and ((target > 0).sum() > 6)
    assert_matches(on(calibration_target), on(target_by_loops), *inputs)


def test_target_of_certain_labels_in_closed_form():
    q = torch.eye(2)[[0, 0, 1]]
    expected = torch.tensor([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]])
    torch.testing.assert_close(calibration_target(q, q), expected)


def test_target_of_uncertain_labels_is_the_identity():
    q = torch.full((4, 3), 1 / 3)
    assert torch.equal(calibration_target(q, q), torch.eye(4))


def test_calibration_and_its_gradients_are_those_of_the_formula():
    h, g, t = random(5, 3, seed=1), random(5, 3, seed=2), random(5, 5, seed=3)

    def on(function):
        return lambda h, g, t: function(F.normalize(h), F.normalize(g), torch.softmax(t, 1))

    assert_matches(on(calibration_loss), on(loss_by_loops), h, g, t)


def test_calibration_of_equal_features_is_log_b():
    h = torch.ones(6, 2)
    loss = calibration_loss(h, h, torch.eye(6))
    assert loss.item() == pytest.approx(math.log(6), rel=1e-5)


def test_label_consistency_takes_every_pair():
    overall, local = random(4, 4), [random(4, 4, seed=s) for s in range(1, 7)]

    def by_loops(overall, *local):
        entries = itertools.product(range(4), range(4))
        return sum((overall[i, j] - t[i, j]) ** 2 / 16 for i, j in entries for t in local)

    assert_matches(lambda o, *t: label_consistency_loss(o, list(t)), by_loops, overall, *local)
    assert label_consistency_loss(overall, []).item() == 0


def test_matching_is_the_best_of_all_renamings():
    rng = np.random.default_rng(0)
    clusters, labels = rng.integers(4, size=(2, 50))
    agreement = (match_clusters(clusters, labels, 4) == labels).sum()
    renamings = map(np.array, itertools.permutations(range(4)))
    assert agreement == max((names[clusters] == labels).sum() for names in renamings)


def test_view_weights_are_a_share_and_follow_the_views():
    weights = ViewWeights(3, 8, 2, 5, 0.5, torch.Generator().manual_seed(0)).double()
    means = random(3, 8).detach()
    w = weights(means)
    assert w.sum().item() == pytest.approx(1 / 3) and (w > 0).all()
    assert not torch.allclose(w, weights(2 * means))
    noisy = weights(means, torch.Generator().manual_seed(1))
    assert not torch.allclose(w, noisy)


def test_every_weight_of_the_fusion_gets_a_gradient_and_moves():
    views, _ = easy_views(110)
    model = DealMVC(3, **SMALL)
    network = _Network((7, 5, 9), model, torch.Generator().manual_seed(0))
    batch = [torch.as_tensor(x[:40], dtype=torch.float32) for x in views]
    model._loss(network, batch, None).backward()
    for name, parameter in network.weights.named_parameters():
        assert parameter.grad.abs().max() > 0, name
    untrained = model.set_params(calibration_epochs=0).fit(views).view_weights_
    trained = model.set_params(calibration_epochs=20).fit(views).view_weights_
    assert np.abs(trained - untrained).max() > 1e-3


def test_the_label_head_gets_a_gradient_where_labels_are_certain():
    model = DealMVC(3, **{**SMALL, "threshold": 0.1})
    network = _Network((7, 5, 9), model, torch.Generator().manual_seed(0))
    batch = [torch.as_tensor(x[:40], dtype=torch.float32) for x in easy_views(110)[0]]
    model._loss(network, batch, None).backward()
    assert network.label_head.weight.grad.abs().max() > 0


def test_records_of_the_three_stages():
    model = DealMVC(3, **{**SMALL, "finetune_epochs": 5}).fit(easy_views(110)[0])
    stages = [r.stage for r in model.history_]
    assert stages == ["reconstruction"] * 20 + ["calibration"] * 20 + ["fine-tuning"] * 5
    losses = [r.loss for r in model.history_]
    assert losses[39] < losses[20] and losses[44] < losses[40]
    assert model.embedding_.shape == (110, 16)


def test_memory_counts_the_weights_and_is_refused_before_anything_is_allocated(monkeypatch):
    model = DealMVC(3, **SMALL)
    network = _Network((7, 5, 9), model, torch.Generator().manual_seed(0))
    weights = 16 * sum(p.numel() for p in network.parameters())
    assert weights < model.memory(110, (7, 5, 9)) < weights + 2e6
    growth = model.memory(20_000, (7,)) - model.memory(10_000, (7,))
    assert growth == model.memory(30_000, (7,)) - model.memory(20_000, (7,))  # linear in n
    monkeypatch.setattr(model, "_solve", lambda *_: pytest.fail("started to fit"))
    with pytest.raises(MemoryError, match="DealMVC on 110 samples"):
        model.set_params(memory_budget=weights).fit(easy_views(110)[0])
