"""What the auto-encoder systems share: scaling, networks, batches."""

import numpy as np
import pytest
import scipy.sparse
import torch
from systems import QUICK
from torch import nn

from dmac.peers import ALL
from dmac.peers._autoencoder import (
    AutoEncoder,
    AutoencoderPeer,
    attention_layer,
    autoencoder_bytes,
    even_batches,
    scaled_views,
    shuffled_batches,
)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_features_span_zero_to_one_and_constant_ones_are_zero():
    x = np.random.default_rng(0).normal(size=(20, 5)) * [1, 1e300, 1e-300, 0, 1] + [5, 0, 0, 7, 0]
    x[:2, 4] = -1.7e308, 1.7e308  # the widest range of floats
    y, other = scaled_views([x, scipy.sparse.csr_matrix(x)], "cpu")
    assert y.dtype == torch.float32 and torch.equal(y, other)
    np.testing.assert_array_equal([y.amin(0), y.amax(0)], [[0] * 5, [1, 1, 1, 0, 1]])


def test_standardised_features_have_mean_0_and_variance_1_and_constant_ones_are_zero():
    x = np.random.default_rng(0).normal(size=(30, 5)) * [1, 1e300, 1e-300, 0, 1] + [5, 0, 0, 7, 1e4]
    one, other = scaled_views([x, scipy.sparse.csr_matrix(x)], "cpu", "standard")
    assert one.dtype == torch.float32 and torch.equal(one, other)
    np.testing.assert_allclose(one.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(one.std(0, correction=0), [1, 1, 1, 0, 1], rtol=1e-3)
    expected = (x[:, 0] - x[:, 0].mean()) / x[:, 0].std()
    np.testing.assert_allclose(one[:, 0], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["DealMVC", "GCFAggMVC"])
def test_systems_scale_features_as_they_are_asked_to(name):
    x = np.random.default_rng(0).normal(size=(60, 3)) * [1, 5, 20]

    def fit(y, scale):
        model = ALL[name](2, scale=scale, random_state=0, device="cpu", **QUICK[name])
        return model.fit([y, y]).embedding_

    for scale in ("range", "standard"):  # The unit of a feature does not matter.
        np.testing.assert_allclose(fit(x, scale), fit(3 * x + 1, scale), atol=1e-3)
    assert not np.allclose(fit(x, "range"), fit(x, "standard"), atol=1e-2)


def test_the_decoder_mirrors_the_encoder():
    net = AutoEncoder(9, (7, 5, 3), seeded())
    shapes = [tuple(layer.weight.shape) for layer in net.modules() if isinstance(layer, nn.Linear)]
    assert shapes == [(7, 9), (5, 7), (3, 5), (5, 3), (7, 5), (9, 7)]
    assert sum(isinstance(layer, nn.ReLU) for layer in net.modules()) == 4
    z, y = net(torch.randn(40, 9, generator=seeded()))
    assert z.shape == (40, 3) and y.shape == (40, 9)
    assert (z < 0).any() and (y < 0).any()  # linear ends


def test_attention_weights_have_the_spread_of_torch():
    ours, theirs = attention_layer(32, 4, seeded()), nn.MultiheadAttention(32, 4)
    for (name, a), (_, b) in zip(ours.named_parameters(), theirs.named_parameters()):
        assert a.shape == b.shape, name
        torch.testing.assert_close(a.abs().max(), b.abs().max(), rtol=0.02, atol=1e-9)


@pytest.mark.parametrize("n, size, lengths", [(10, 4, [4, 4]), (8, 4, [4, 4]), (3, 4, [3])])
def test_an_incomplete_batch_is_dropped_unless_it_is_the_only_one(n, size, lengths):
    batches = shuffled_batches(n, size, seeded())
    assert [len(b) for b in batches] == lengths
    assert len(set(torch.cat(batches).tolist()) & set(range(n))) == sum(lengths)


@pytest.mark.parametrize("n", [2, 7, 8, 9, 25])
def test_even_batches_hold_every_row_once_and_none_is_small(n):
    batches = even_batches(n, 8)
    lengths = [len(b) for b in batches]
    assert torch.cat(batches).tolist() == list(range(n))
    assert min(lengths) <= max(lengths) <= min(8, 1 + min(lengths))


def test_the_estimates_count_the_weights_of_the_network():
    widths, n_features = (50, 20, 10), (30, 7)
    nets = [AutoEncoder(d, widths, seeded()) for d in n_features]
    weights = 16 * sum(p.numel() for net in nets for p in net.parameters())
    views = 4 * 100 * 37 + 24 * 100 * 30
    outputs = 12 * 32 * sum(2 * (50 + 20) + 10 + d for d in n_features)
    assert autoencoder_bytes(100, n_features, widths, 32) == weights + views + outputs
    matrices = sum(p.numel() for net in nets for p in net.parameters() if p.ndim == 2)
    assert AutoencoderPeer(2, widths=widths)._work(100, n_features) == 100 * matrices
