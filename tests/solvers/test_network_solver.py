"""The network's solver: another pre-training than its own, and a checkpoint of that."""

import dataclasses

import numpy as np
import pytest
import torch
from helpers import Stopped, positive_views, stop_at

import dmac
from dmac.compute.checkpoint import NAME
from dmac.compute.files import read_tensors
from dmac.embedding import PretrainRecord
from dmac.recipes import RELEASED
from dmac.solvers.network_solver import NetworkSolver

SHORT = dataclasses.replace(RELEASED, hidden_dim=16, pretrain_epochs=3, epochs=2)


def views():
    return positive_views(60, (7, 4))


def model():
    return dmac.DMAC(3, SHORT, random_state=0, device="cpu")


def copied(solver, network, views, progress, log):
    """A pre-training that takes weights from elsewhere: one record, and no optimiser."""
    with torch.no_grad():
        for parameter in network.encoders.parameters():
            parameter.fill_(0.01)
    progress.epoch = solver.recipe.pretrain_epochs
    yield PretrainRecord(solver.recipe.pretrain_epochs, 0.5, 0.0)


def test_a_pre_training_without_an_optimiser_is_kept_and_not_repeated(tmp_path, monkeypatch):
    stop = stop_at("PretrainRecord", 3)
    with monkeypatch.context() as patch:
        patch.setattr(NetworkSolver, "pretrain", copied)
        whole = model().fit(views())
        with pytest.raises(Stopped):
            model().fit(views(), checkpoint=tmp_path, checkpoint_every=1, callback=stop)
    assert "groups" not in read_tensors(tmp_path / NAME)[1]
    resumed = model().fit(views(), checkpoint=tmp_path)
    np.testing.assert_array_equal(resumed.embedding_, whole.embedding_)
    assert [r.loss for r in resumed.pretrain_history_] == [0.5]
