"""Epochs and their records, their steps, and draws that a seed decides."""

import math

import numpy as np
import pytest
import torch
from helpers import as_set
from systems import easy_views, quick

from dmac.compute.layers import dense_layer, store_by_columns
from dmac.peers._autoencoder import even_batches
from dmac.peers._training import adam, dropout, train


def parameter(lr=0.0):
    """A parameter and its optimizer, which never moves it if the rate is 0."""
    x = torch.zeros(1, requires_grad=True)
    return x, torch.optim.SGD([x], lr=lr)


def test_epochs_are_counted_from_one_and_timed():
    (x, optimizer), records = parameter(), []
    train(lambda epoch: x.sum() + epoch / 2, optimizer, 3, "fusion", records)
    assert [(r.epoch, r.loss) for r in records] == [(1, 0.0), (2, 0.5), (3, 1.0)]
    assert all(record.seconds > 0 and record.stage == "fusion" for record in records)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_says_where(value):
    (x, optimizer), records = parameter(), []
    with pytest.raises(FloatingPointError, match="fusion loss is .* at epoch 2: lower"):
        train(lambda epoch: x.sum() + (value if epoch else 1), optimizer, 3, "fusion", records)
    assert [record.loss for record in records] == [1]


def test_training_stops_before_an_epoch_without_a_loss():
    (x, optimizer), history = parameter(lr=0.25), []
    train(lambda epoch: None if epoch == 4 else (x - 1).square().sum(), optimizer, 9, "s", history)
    assert [record.loss for record in history] == [1, 0.25, 0.0625, 0.015625]
    train(lambda epoch: (x - 1).square().sum(), optimizer, 9, "t", history, stop=lambda loss: True)
    assert [record.stage for record in history[4:]] == ["t"]


def test_a_full_batch_step_is_that_of_all_samples_at_once():
    x = torch.randn(11, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    results = []
    for size in (4, 11):
        weight, records = torch.ones(5, dtype=torch.float64, requires_grad=True), []
        train(
            lambda rows: (x[rows] @ weight).square().mean(),
            torch.optim.SGD([weight], lr=0.1),
            3,
            "stage",
            records,
            lambda: even_batches(11, size),
            full_batch=True,
        )
        results.append((weight.detach(), torch.tensor([r.loss for r in records])))
    torch.testing.assert_close(results[0], results[1])
    assert not torch.equal(results[0][0], torch.ones(5, dtype=torch.float64))


def test_adam_is_fused_and_steps_as_the_plain_one_also_on_weights_stored_by_columns():
    ends = []
    for optimizer in (adam, torch.optim.Adam):
        generator = torch.Generator().manual_seed(0)
        layer = dense_layer(6, 4, generator)
        store_by_columns(layer)
        made = optimizer(layer.parameters(), 0.1)
        for _ in range(3):
            made.zero_grad()
            layer(torch.randn(9, 6, generator=generator)).square().sum().backward()
            made.step()
        ends.append((made.defaults["fused"], layer.weight.detach()))
    assert ends[0][0] and not ends[1][0]
    torch.testing.assert_close(ends[0][1], ends[1][1])


def test_dropout_keeps_the_mean_and_needs_a_generator():
    x = torch.ones(100, 100)
    y = dropout(x, 0.25, torch.Generator().manual_seed(0))
    torch.testing.assert_close(y.unique(), torch.tensor([0, 4 / 3]))
    assert y.mean().item() == pytest.approx(1, abs=0.03)
    assert dropout(x, 0.25, None) is x


def test_a_seed_holds_whatever_pytorch_is_set_to():
    (views, _), model = easy_views(), quick("SURER")
    expected = model.fit(views).embedding_
    with as_set("default_dtype", torch.float64), torch.inference_mode():
        np.testing.assert_array_equal(model.fit(views).embedding_, expected)
