"""Epochs and their records, when training ends, and draws that a seed decides."""

import math

import numpy as np
import pytest
import torch

from dmac.peers._training import Patience, dropout, torch_generator, train


def still():
    """A parameter and its optimiser, which never moves it."""
    x = torch.zeros(1, requires_grad=True)
    return x, torch.optim.SGD([x], lr=0.0)


def test_epochs_are_counted_from_one_and_timed():
    (x, optimizer), records = still(), []
    train(lambda epoch: x.sum() + epoch / 2, optimizer, 3, "fusion", records)
    assert [(r.stage, r.epoch, r.loss) for r in records] == [
        ("fusion", 1, 0.0),
        ("fusion", 2, 0.5),
        ("fusion", 3, 1.0),
    ]
    assert all(record.seconds > 0 for record in records)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_says_where(value):
    (x, optimizer), records = still(), []
    with pytest.raises(FloatingPointError, match="fusion loss is .* at epoch 2: lower"):
        train(lambda epoch: x.sum() + (value if epoch else 1), optimizer, 3, "fusion", records)
    assert [record.loss for record in records] == [1]
    train(lambda rows: x.sum(), optimizer, 1, "batches", records, lambda: [torch.arange(2)])
    with pytest.raises(FloatingPointError, match="batches loss is .* at epoch 1"):
        train(lambda rows: x.sum() + value, optimizer, 1, "batches", [], lambda: [torch.arange(2)])


def test_training_stops_before_an_epoch_without_a_loss():
    x, history = torch.zeros(1, requires_grad=True), []
    optimizer = torch.optim.SGD([x], lr=0.25)
    train(lambda epoch: None if epoch == 4 else (x - 1).square().sum(), optimizer, 9, "s", history)
    assert [record.loss for record in history] == [1, 0.25, 0.0625, 0.015625]
    train(lambda epoch: (x - 1).square().sum(), optimizer, 9, "t", history, stop=lambda loss: True)
    assert [record.stage for record in history[4:]] == ["t"]


def test_patience_without_a_share_waits_for_no_better_loss():
    stop = Patience(3)
    assert [stop(loss) for loss in [5, 4, 3.9, 3.8, 3.7999]] == [False] * 5
    assert [stop(loss) for loss in [4, 4, 4]] == [False, False, True]


def test_patience_with_a_share_ends_where_the_curve_is_flat():
    losses = [2.0**-epoch + 1 for epoch in range(30)]
    stop = Patience(2, 0.01)
    ended = next(epoch for epoch, loss in enumerate(losses) if stop(loss))
    # Over two epochs the loss 1 + 2^-t falls by 3 * 2^-t, first below 1 % at t = 9.
    gains = [1 - losses[t] / losses[t - 2] for t in range(2, 30)]
    assert ended == 2 + next(t for t, gain in enumerate(gains) if gain <= 0.01) == 9
    assert not any(map(Patience(2), losses))


def test_dropout_keeps_the_mean_and_needs_a_generator():
    x = torch.ones(100, 100)
    y = dropout(x, 0.25, torch.Generator().manual_seed(0))
    torch.testing.assert_close(y.unique(), torch.tensor([0, 4 / 3]))
    assert y.mean().item() == pytest.approx(1, abs=0.03)
    assert dropout(x, 0.25, None) is x


def test_seeds_follow_the_generator():
    a, b, c = (torch_generator(np.random.default_rng(seed)) for seed in (0, 0, 1))
    draw = torch.rand(3, generator=a)
    assert torch.equal(torch.rand(3, generator=b), draw)
    assert not torch.equal(torch.rand(3, generator=c), draw)
