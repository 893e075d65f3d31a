"""GCFAggMVC: its loss against a reference, its records and its memory."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from helpers import assert_matches
from systems import easy_views

from dmac.peers.gcfagg import GCFAggMVC, _Network, structure_guided_loss

SMALL = dict(
    widths=(32, 16),
    feature_dim=8,
    ff_dim=8,
    pretrain_epochs=20,
    contrastive_epochs=15,
    batch_size=40,
    lr=3e-3,
    n_init=5,
    device="cpu",
    random_state=0,
)


def loss_by_loops(h, consensus, s, temperature=0.5):
    b = len(h)
    g = torch.cat([h, consensus])
    total = 0.0
    for i in range(2 * b):
        partner = (i + b) % (2 * b)
        positive = torch.exp(g[i] @ g[partner] / temperature)
        negatives = 0.0
        for j in range(2 * b):
            if j not in (i, partner):
                weight = 1 - s[i % b, j % b]
                negatives = negatives + torch.exp(weight * (g[i] @ g[j]) / temperature)
        total = total - torch.log(positive / (positive + negatives))
    return total / (2 * b)


@pytest.mark.parametrize("b", [2, 5])
@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_loss_and_gradients_are_those_of_the_formula(b, temperature):
    generator = torch.Generator().manual_seed(b)
    raw = [torch.randn(b, 3, generator=generator, dtype=torch.float64) for _ in range(2)]
    scores_ = torch.randn(b, b, generator=generator, dtype=torch.float64)

    def on(function):
        return lambda h, c, a: function(
            F.normalize(h), F.normalize(c), torch.softmax(a, 1), temperature
        )

    inputs = [x.requires_grad_() for x in (*raw, scores_)]
    assert_matches(on(structure_guided_loss), on(loss_by_loops), *inputs)


def test_loss_of_two_orthogonal_samples_in_closed_form():
    # Partners have similarity 1, all others 0: log(1 + 2 exp(-1/tau)), whatever S says.
    h = torch.eye(2)
    for s in (torch.zeros(2, 2), torch.rand(2, 2, generator=torch.Generator().manual_seed(0))):
        loss = structure_guided_loss(h, h, s)
        assert loss.item() == pytest.approx(math.log(1 + 2 * math.exp(-2)))


def test_attention_between_alike_samples_spares_them():
    h = F.normalize(torch.tensor([[1.0, 0.1], [1.0, -0.1], [-1.0, 0.5]]))
    apart, together = torch.zeros(3, 3), torch.zeros(3, 3)
    together[0, 1] = together[1, 0] = 1.0
    assert structure_guided_loss(h, h, together) < structure_guided_loss(h, h, apart)


def test_records_and_embedding():
    views, _ = easy_views(110)
    model = GCFAggMVC(3, **SMALL).fit(views)
    stages = [r.stage for r in model.history_]
    assert stages == ["reconstruction"] * 20 + ["contrast"] * 15
    assert model.history_[-1].loss < model.history_[20].loss
    assert model.embedding_.shape == (110, 8)
    np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1, rtol=1e-5)


def test_memory_counts_the_weights_and_is_refused_before_anything_is_allocated(monkeypatch):
    model = GCFAggMVC(3, **SMALL)
    network = _Network((7, 5, 9), model, torch.Generator().manual_seed(0))
    weights = 16 * sum(p.numel() for p in network.parameters())
    assert weights < model.memory(110, (7, 5, 9)) < weights + 2e6
    growth = model.memory(20_000, (7,)) - model.memory(10_000, (7,))
    assert growth == model.memory(30_000, (7,)) - model.memory(20_000, (7,))  # linear in n
    monkeypatch.setattr(model, "_solve", lambda *_: pytest.fail("started to fit"))
    with pytest.raises(MemoryError, match="GCFAggMVC on 110 samples"):
        model.set_params(memory_budget=weights).fit(easy_views(110)[0])
