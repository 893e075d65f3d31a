"""Interrupted fits: they go on where they were, and end where they would have."""

import dataclasses
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from helpers import Stopped, positive_views, stop_at

import dmac
from dmac.compute.checkpoint import (
    NAME,
    Progress,
)
from dmac.compute.files import read_tensors, write_tensors
from dmac.embedding import PretrainRecord
from dmac.recipes import RELEASED, REVISED
from dmac.solvers.network_solver import NetworkSolver

# The steps of RELEASED collapse an embedding in a few epochs, which is not the question here.
pytestmark = pytest.mark.filterwarnings("ignore::dmac.estimators.CollapseWarning")


VIEWS = positive_views(90, (7, 12))


def model(base, dtype="float64", **changes):
    short = {"pretrain_epochs": 0 if base is REVISED else 5, "epochs": 6}
    recipe = dataclasses.replace(base, **(short | changes))
    return dmac.DMAC(3, recipe, random_state=0, device="cpu", dtype=dtype)


@pytest.mark.parametrize(
    "base, kind, epoch, left",
    [
        (RELEASED, "PretrainRecord", 3, 9),
        (RELEASED, "PretrainRecord", 5, 6),
        (RELEASED, "EpochRecord", 1, 6),
        (RELEASED, "EpochRecord", 4, 2),
        (REVISED, "EpochRecord", 3, 4),
        (REVISED, "EpochRecord", 6, 0),  # what a finished fit leaves
    ],
)
def test_interrupted_fit_ends_like_one_that_was_not(base, kind, epoch, left, tmp_path):
    whole, stop, seen = model(base).fit(VIEWS), stop_at(kind, epoch), Mock()
    with pytest.raises(Stopped):
        model(base).fit(VIEWS, checkpoint=tmp_path, checkpoint_every=2, callback=stop)
    resumed = model(base).fit(VIEWS, checkpoint=tmp_path, callback=seen)
    assert seen.call_count == left
    for name in ("embedding_", "labels_"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name), name)
    for name in ("history_", "pretrain_history_"):
        one, other = (
            [dataclasses.replace(record, seconds=0.0) for record in getattr(fit, name)]
            for fit in (resumed, whole)
        )
        assert repr(one) == repr(other)  # terms of weight 0 are NaN


def test_checkpoint_of_another_fit_is_refused(tmp_path):
    model(RELEASED).fit(VIEWS, checkpoint=tmp_path)
    for other, given, what in (
        (model(RELEASED, lr=0.1), VIEWS, "recipe"),
        (model(RELEASED), [x[:-1] for x in VIEWS], "shapes"),
        (model(RELEASED).set_params(random_state=1), VIEWS, "seed"),
    ):
        with pytest.raises(ValueError, match=f"belongs to another fit: its .*{what}"):
            other.fit(given, checkpoint=tmp_path)


def test_checkpoint_of_other_data_of_the_same_shape_is_refused(tmp_path, on_disk):
    first, second = VIEWS[0], VIEWS[1].copy()
    model(RELEASED).fit(on_disk("h5", [first, second]), checkpoint=tmp_path / "fit")
    assert len(model(RELEASED).fit([first, second], checkpoint=tmp_path / "fit").history_) == 6
    second[89, 11] += 1e-9
    with pytest.raises(ValueError, match="belongs to another fit: its data"):
        model(RELEASED).fit([first, second], checkpoint=tmp_path / "fit")


def test_damaged_checkpoint_is_refused(tmp_path):
    (tmp_path / NAME).write_bytes(b"nothing")
    with pytest.raises(ValueError, match="is damaged.*remove it to start anew"):
        model(RELEASED).fit(VIEWS, checkpoint=tmp_path)
    write_tensors(tmp_path / NAME, {"a": torch.zeros(1)}, {"format": 3})
    with pytest.raises(ValueError, match="belongs to another fit"):
        model(RELEASED).fit(VIEWS, checkpoint=tmp_path)


@pytest.mark.parametrize(
    "seed, options, message",
    [
        (None, {}, "needs an integer"),
        (np.random.RandomState(0), {}, "needs an integer"),
        (0, {"checkpoint_every": 0}, "checkpoint_every is 0"),
    ],
)
def test_checkpoint_needs_a_seed_and_epochs_between_writes(seed, options, message, tmp_path):
    fresh = model(RELEASED).set_params(random_state=seed)
    with pytest.raises(ValueError, match=message):
        fresh.fit(VIEWS, checkpoint=tmp_path, **options)


def test_the_state_of_an_optimiser_is_kept_before_its_loop_begins_and_goes_on_in_it():
    assert Progress().optimiser_state() is None
    weight = torch.nn.Parameter(torch.ones(3))
    state = torch.optim.RMSprop([weight], lr=0.1).state_dict()
    progress = Progress(7, state)
    assert progress.epoch == 7 and progress.optimiser_state() == state
    other = torch.optim.RMSprop([weight], lr=3.0)
    progress.begin(other)
    assert other.param_groups[0]["lr"] == 0.1


def copied(solver, network, views, progress):
    """A pre-training that takes weights from elsewhere: one record, and no optimiser."""
    with torch.no_grad():
        for parameter in network.encoders.parameters():
            parameter.fill_(0.01)
    progress.epoch = solver.recipe.pretrain_epochs
    yield PretrainRecord(solver.recipe.pretrain_epochs, 0.5, 0.0)


def test_a_pre_training_without_an_optimiser_is_kept_and_not_repeated(tmp_path, monkeypatch):
    stop = stop_at("PretrainRecord", 5)
    with monkeypatch.context() as patch:
        patch.setattr(NetworkSolver, "pretrain", copied)
        whole = model(RELEASED).fit(VIEWS)
        with pytest.raises(Stopped):
            model(RELEASED).fit(VIEWS, checkpoint=tmp_path, checkpoint_every=1, callback=stop)
    assert "groups" not in read_tensors(tmp_path / NAME)[1]
    resumed = model(RELEASED).fit(VIEWS, checkpoint=tmp_path)
    np.testing.assert_array_equal(resumed.embedding_, whole.embedding_)
    assert [r.loss for r in resumed.pretrain_history_] == [0.5]
