"""GCFAggMVC: its loss and its attention against references, its records and its memory."""

import pytest
import torch
import torch.nn.functional as F
from helpers import assert_matches
from systems import random
from torch import nn

from dmac.peers.gcfagg import AttentionOverSamples, structure_guided_loss


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
    def on(function):
        return lambda h, c, a: function(
            F.normalize(h), F.normalize(c), torch.softmax(a, 1), temperature
        )

    inputs = random(b, 3), random(b, 3, seed=1), random(b, b, seed=2)
    assert_matches(on(structure_guided_loss), on(loss_by_loops), *inputs)


def test_attention_layer_is_that_of_torch_and_knows_samples_not_their_order(generator):
    ours = AttentionOverSamples(6, 10, 0.1, generator)
    theirs = nn.TransformerEncoderLayer(6, 1, 10, 0.1, batch_first=True).eval()
    theirs.self_attn.load_state_dict(ours.attention.state_dict())
    theirs.linear1.load_state_dict(ours.first.state_dict())
    theirs.linear2.load_state_dict(ours.second.state_dict())
    z = torch.randn(7, 6, generator=generator)
    y, s = ours(z)
    torch.testing.assert_close(y, theirs(z[None])[0])
    torch.testing.assert_close(s.sum(1), torch.ones(7))
    noisy, same = ours(z, generator)
    assert not torch.allclose(y, noisy) and torch.equal(s, same)
    order = torch.randperm(7, generator=generator)
    moved, attention = ours(z[order])
    torch.testing.assert_close(moved, y[order])
    torch.testing.assert_close(attention, s[order][:, order])
