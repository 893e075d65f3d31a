"""The networks and the loop of the auto-encoder systems: scaling, draws, batches, steps."""

import numpy as np
import pytest
import scipy.sparse
import torch
from systems import QUICK
from torch import nn

from dmac.peers import ALL
from dmac.peers._autoencoder import (
    AutoEncoder,
    MinMax,
    attention_layer,
    autoencoder_bytes,
    even_batches,
    reconstruct,
    scaled_views,
    shuffled_batches,
)
from dmac.peers._training import dropout, train


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_features_span_zero_to_one_and_constant_ones_are_zero():
    x = np.random.default_rng(0).normal(size=(20, 4)) * [1, 1e300, 1e-300, 0] + [5, 0, 0, 7]
    y = MinMax().fit(x).transform(x)
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y.min(0), 0)
    np.testing.assert_array_equal(y.max(0), [1, 1, 1, 0])


def test_the_range_is_that_of_the_fitted_samples():
    scaler = MinMax().fit(np.array([[0.0], [2.0]]))
    np.testing.assert_allclose(scaler.transform(np.array([[1.0], [4.0]])), [[0.5], [2.0]])


def test_the_widest_range_of_floats_does_not_overflow():
    x = np.array([[-1.7e308], [1.7e308], [0.0]])
    np.testing.assert_allclose(MinMax().fit(x).transform(x), [[0], [1], [0.5]])


def test_sparse_views_scale_as_dense_ones():
    x = scipy.sparse.random(15, 6, density=0.3, format="csr", random_state=0)
    dense = MinMax().fit(x.toarray()).transform(x.toarray())
    np.testing.assert_array_equal(MinMax().fit(x).transform(x), dense)


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
    with pytest.raises(ValueError, match="scale is 'rows', it must be 'range' or 'standard'"):
        fit(x, "rows")


def test_the_decoder_mirrors_the_encoder():
    net = AutoEncoder(9, (7, 5, 3), seeded())
    shapes = [tuple(layer.weight.shape) for layer in net.modules() if isinstance(layer, nn.Linear)]
    assert shapes == [(7, 9), (5, 7), (3, 5), (5, 3), (7, 5), (9, 7)]
    assert sum(isinstance(layer, nn.ReLU) for layer in net.modules()) == 4
    z, y = net(torch.randn(40, 9, generator=seeded()))
    assert z.shape == (40, 3) and y.shape == (40, 9)
    assert (z < 0).any() and (y < 0).any()  # linear ends


def test_nothing_touches_the_global_random_state():
    before = torch.get_rng_state()
    net = AutoEncoder(4, (3, 2), seeded())
    attention_layer(4, 2, seeded())
    dropout(torch.ones(3, 3), 0.5, seeded())
    optimizer = torch.optim.Adam(net.parameters())
    reconstruct([net], [torch.ones(6, 4)], 2, 3, optimizer, seeded(), [])
    assert torch.equal(before, torch.get_rng_state())


def test_a_seed_decides_the_weights():
    first, again, other = (AutoEncoder(5, (4, 2), seeded(s)) for s in (1, 1, 2))
    for a, b, c in zip(first.parameters(), again.parameters(), other.parameters()):
        assert torch.equal(a, b) and not torch.equal(a, c)


@pytest.mark.parametrize("n, size, lengths", [(10, 4, [4, 4]), (8, 4, [4, 4]), (3, 4, [3])])
def test_an_incomplete_batch_is_dropped_unless_it_is_the_only_one(n, size, lengths):
    batches = shuffled_batches(n, size, seeded())
    assert [len(b) for b in batches] == lengths
    rows = torch.cat(batches).tolist()
    assert len(set(rows)) == len(rows) and set(rows) <= set(range(n))


@pytest.mark.parametrize("n", [2, 7, 8, 9, 25])
def test_even_batches_hold_every_row_once_and_none_is_small(n):
    batches = even_batches(n, 8)
    assert torch.cat(batches).tolist() == list(range(n))
    lengths = [len(b) for b in batches]
    assert max(lengths) <= 8 and max(lengths) - min(lengths) <= 1


def test_a_full_batch_step_is_that_of_all_samples_at_once():
    x = torch.randn(11, 5, generator=seeded(), dtype=torch.float64)
    results = []
    for size in (4, 11):
        weight = torch.ones(5, dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.SGD([weight], lr=0.1)
        records = []

        def loss(rows):
            return (x[rows] @ weight).square().mean()

        train(loss, optimizer, 3, "stage", records, lambda: even_batches(11, size), full_batch=True)
        results.append((weight.detach(), torch.tensor([r.loss for r in records])))
    torch.testing.assert_close(results[0], results[1])
    assert not torch.equal(results[0][0], torch.ones(5, dtype=torch.float64))


def test_mini_batches_step_once_each():
    weight = torch.zeros((), requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    train(lambda rows: weight, optimizer, 2, "stage", [], lambda: even_batches(9, 3))
    assert weight.item() == -6


def test_pretraining_lowers_the_error_and_records_every_epoch():
    x = torch.rand(64, 6, generator=seeded())
    net = AutoEncoder(6, (16, 3), seeded())
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    records = []
    reconstruct([net], [x], 40, 16, optimizer, seeded(), records)
    assert [r.epoch for r in records] == list(range(1, 41))
    assert {r.stage for r in records} == {"reconstruction"}
    assert records[-1].loss < 0.5 * records[0].loss


def test_the_estimate_counts_the_weights_of_the_network():
    widths, n_features = (50, 20, 10), (30, 7)
    nets = [AutoEncoder(d, widths, seeded()) for d in n_features]
    weights = 16 * sum(p.numel() for net in nets for p in net.parameters())
    views = 4 * 100 * 37 + 24 * 100 * 30
    outputs = 12 * 32 * sum(2 * (50 + 20) + 10 + d for d in n_features)
    assert autoencoder_bytes(100, n_features, widths, 32) == weights + views + outputs
