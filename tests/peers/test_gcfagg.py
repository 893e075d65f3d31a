"""GCFAggMVC: its loss and its attention against references, its records and its memory."""

import pytest
import torch
import torch.nn.functional as F
from helpers import assert_matches
from systems import random
from torch import nn

from dmac.peers.gcfagg import AttentionOverSamples, structure_guided_loss


def loss_by_definition(h, consensus, s, temperature=0.5):
    g = torch.cat([h, consensus])
    products = g @ g.T / temperature
    own = torch.eye(len(g))
    partner = own.roll(len(h), 1)
    positive = (partner * products.exp()).sum(1)
    negatives = ((1 - own - partner) * torch.exp((1 - s.repeat(2, 2)) * products)).sum(1)
    return -torch.log(positive / (positive + negatives)).mean()


@pytest.mark.parametrize("b", [2, 5])
@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_loss_and_gradients_are_those_of_the_formula(b, temperature):
    def on(function):
        return lambda h, c, a: function(
            F.normalize(h), F.normalize(c), torch.softmax(a, 1), temperature
        )

    inputs = random(b, 3), random(b, 3, seed=1), random(b, b, seed=2)
    assert_matches(on(structure_guided_loss), on(loss_by_definition), *inputs)


def test_attention_layer_is_that_of_torch_and_knows_samples_not_their_order(generator):
    ours = AttentionOverSamples(6, 10, 0.1, generator)
    theirs = nn.TransformerEncoderLayer(6, 1, 10, 0.1, batch_first=True).eval()
    for layer, of in (("self_attn", "attention"), ("linear1", "first"), ("linear2", "second")):
        getattr(theirs, layer).load_state_dict(getattr(ours, of).state_dict())
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
