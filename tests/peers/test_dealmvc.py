"""DealMVC: the weights that must learn, its records and its memory."""

import numpy as np
import pytest
import torch
from systems import easy_views

from dmac.peers.dealmvc import DealMVC, _Network

SMALL = dict(
    widths=(32, 16),
    n_heads=2,
    pretrain_epochs=20,
    calibration_epochs=20,
    finetune_epochs=20,
    batch_size=40,
    lr=3e-3,
    n_init=5,
    device="cpu",
    random_state=0,
)


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
