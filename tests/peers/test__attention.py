"""Attention over heads, views and samples against PyTorch's own."""

import pytest
import torch
from torch import nn

from dmac.peers._autoencoder import attention_layer
from dmac.peers.dealmvc import ViewWeights
from dmac.peers.gcfagg import AttentionOverSamples


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_attention_weights_have_the_spread_of_torch():
    ours = attention_layer(32, 4, seeded())
    theirs = nn.MultiheadAttention(32, 4)
    for (name, a), (_, b) in zip(ours.named_parameters(), theirs.named_parameters()):
        assert a.shape == b.shape, name
        torch.testing.assert_close(a.abs().max(), b.abs().max(), rtol=0.02, atol=1e-9)
    x = torch.randn(1, 5, 32, generator=seeded())
    weights = ours(x, x, x)[1][0]
    torch.testing.assert_close(weights.sum(1), torch.ones(5))


def test_view_weights_are_a_share_and_follow_the_views():
    weights = ViewWeights(3, 8, 2, 5, 0.5, seeded(0)).double()
    means = torch.randn(3, 8, generator=seeded(), dtype=torch.float64)
    w = weights(means)
    assert w.sum().item() == pytest.approx(1 / 3) and (w > 0).all()
    assert not torch.allclose(w, weights(2 * means))
    noisy = weights(means, seeded(1))
    assert not torch.allclose(w, noisy)


def test_layer_is_that_of_torch():
    ours = AttentionOverSamples(6, 10, 0.1, seeded(0))
    theirs = nn.TransformerEncoderLayer(6, 1, 10, 0.1, batch_first=True).eval()
    theirs.self_attn.load_state_dict(ours.attention.state_dict())
    theirs.linear1.load_state_dict(ours.first.state_dict())
    theirs.linear2.load_state_dict(ours.second.state_dict())
    z = torch.randn(7, 6, generator=seeded(1))
    y, s = ours(z)
    torch.testing.assert_close(y, theirs(z[None])[0])
    torch.testing.assert_close(s.sum(1), torch.ones(7))
    noisy, same = ours(z, seeded(2))
    assert not torch.allclose(y, noisy) and torch.equal(s, same)


def test_layer_knows_samples_not_their_order():
    layer = AttentionOverSamples(6, 10, 0.1, seeded(0))
    z = torch.randn(7, 6, generator=seeded(1))
    order = torch.randperm(7, generator=seeded(2))
    y, s = layer(z)
    y_permuted, s_permuted = layer(z[order])
    torch.testing.assert_close(y_permuted, y[order])
    torch.testing.assert_close(s_permuted, s[order][:, order])
