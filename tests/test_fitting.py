"""What joins the parts of a fit: another pre-training than its own, and a checkpoint of that."""

import dataclasses

import numpy as np
import pytest
import torch

import dmac
from dmac import fitting
from dmac.compute.checkpoint import NAME
from dmac.compute.files import read_tensors
from dmac.data import disk
from dmac.data.disk import StreamedArray
from dmac.data.pipeline import ViewPipeline
from dmac.embedding import PretrainRecord
from dmac.recipes import RELEASED

SHORT = dataclasses.replace(RELEASED, hidden_dim=16, pretrain_epochs=3, epochs=2)


def views():
    rng = np.random.default_rng(0)
    classes = np.arange(60) % 3
    return [np.abs(3 * rng.normal(size=(3, d))[classes] + rng.normal(size=(60, d))) for d in (7, 4)]


def model():
    return dmac.DMAC(3, SHORT, random_state=0, device="cpu")


def copied(network, views, recipe, progress, log):
    """A pre-training that takes weights from elsewhere: one record, and no optimiser."""
    with torch.no_grad():
        for parameter in network.encoders.parameters():
            parameter.fill_(0.01)
    progress.epoch = recipe.pretrain_epochs
    yield PretrainRecord(recipe.pretrain_epochs, 0.5, 0.0)


class Stop(Exception):
    pass


def test_another_pre_training_holds_within_its_block_only():
    alone = model().fit(views())
    with fitting.pretrain_with(copied):
        with fitting.pretrain_with(fitting.pretrain_network):
            inner = model().fit(views())
        other = model().fit(views())
    np.testing.assert_array_equal(inner.embedding_, alone.embedding_)
    assert [r.loss for r in other.pretrain_history_] == [0.5]
    assert len(other.history_) == 2 and not np.allclose(other.embedding_, alone.embedding_)
    with pytest.raises(Stop), fitting.pretrain_with(copied):
        raise Stop
    np.testing.assert_array_equal(model().fit(views()).embedding_, alone.embedding_)


def test_a_pre_training_without_an_optimiser_is_kept_and_not_repeated(tmp_path):
    def stop(record, embed):
        raise Stop

    with fitting.pretrain_with(copied):
        whole = model().fit(views())
        with pytest.raises(Stop):
            model().fit(views(), checkpoint=tmp_path, checkpoint_every=1, callback=stop)
    assert "groups" not in read_tensors(tmp_path / NAME)[1]
    resumed = model().fit(views(), checkpoint=tmp_path)
    np.testing.assert_array_equal(resumed.embedding_, whole.embedding_)
    assert [r.loss for r in resumed.pretrain_history_] == [0.5]


def test_views_of_which_one_is_on_disk_are_all_taken_in_blocks(on_disk):
    first, second = views()
    expected = model().fit([first, second])
    (streamed,) = on_disk("npy", [second])
    mixed = model().fit([first, streamed])
    np.testing.assert_allclose(mixed.embedding_, expected.embedding_, atol=1e-4)
    np.testing.assert_array_equal(mixed.labels_, expected.labels_)


def test_a_process_keeps_its_samples_of_a_view_on_disk(on_disk, monkeypatch):
    """Samples in random order, read in blocks of which some hold none of this process."""
    x = views()[0]
    order = np.random.default_rng(1).permutation(60)
    monkeypatch.setattr(disk, "_NUMBERS", 4 * x.shape[1])
    monkeypatch.setattr(fitting.parallel, "my_rows", lambda n: slice(20, 27))
    (source,) = on_disk("npy", [x])
    given = order, torch.float64, torch.device("cpu")
    mine = fitting._prepare_whole(ViewPipeline(), StreamedArray(source), *given)
    expected = ViewPipeline().fit_transform(x)[order[20:27]]
    np.testing.assert_allclose(mine.numpy(), expected, rtol=1e-12)
