"""A measured fit: its clock, the scores on the way, and what is said of an embedding."""

import numpy as np
import pytest
from toy_runs import SHORT, load

import dmac
from dmac.peers._training import EpochRecord as PeerEpoch
from dmac.training import EpochRecord
from experiments import measure
from experiments.pretraining import Kept


@pytest.fixture
def now(monkeypatch):
    """The time in seconds, which only moves when it is told to."""
    clock = [0.0]
    monkeypatch.setattr(measure.time, "perf_counter", lambda: clock[0])
    return clock


def test_seconds_are_without_scores_and_without_a_pretraining_that_was_read(now):
    def embed():
        now[0] += 100
        return load("toy").views[0]

    follower = measure._Follower(load("toy"), 1, pretrain_epochs=7)
    now[0] += 3
    assert follower.seconds() == 3
    follower(Kept(7, 0.5, 40.0), embed)
    assert follower.loaded == 7 and follower.seconds() == 0 and follower.start["acc"] > 0.9
    now[0] += 2
    follower(EpochRecord(1, *np.zeros(6), empty_anchors=0, n_neighbors=5, seconds=2), embed)
    assert follower.seconds() == 2 and len(follower.epochs) == 1


def test_seconds_of_a_fit_are_those_of_its_epochs_and_what_is_between(now, monkeypatch):
    def slowly(*arguments):
        now[0] += 100
        return dmac.scores(*arguments)

    monkeypatch.setattr(measure, "scores", slowly)
    record = measure.measure(load("toy"), SHORT, 1)
    assert record["seconds"] == {"fit": 0, "pretraining": 0, "training": 0}


def test_epochs_are_scored_as_k_means_with_the_seed_finds_them():
    data, z = load("toy"), {}
    model = dmac.DMAC(3, SHORT, random_state=2)
    model.fit(data.views, callback=lambda r, embed: z.update({(type(r), r.epoch): embed()}))
    record = measure.measure(data, SHORT, 2)
    fits = [dmac.compute.kmeans.kmeans(z[EpochRecord, i].astype(float), 3, 2) for i in (1, 2, 3)]
    for name in ("acc", "nmi"):
        expected = [dmac.scores(data.labels, fit.labels_)[name] for fit in fits]
        assert record["epochs"][name] == pytest.approx(expected, abs=1e-5)
    assert "arrays" not in record and record["n_anchors"] == model.n_anchors_


def test_agreement_of_separated_and_of_mixed_labels():
    z = np.repeat(np.eye(2), 10, axis=0) + 1e-3 * np.random.default_rng(0).normal(size=(20, 2))
    apart, mixed = (measure._agreement(z, y) for y in (np.arange(20) // 10, np.arange(20) % 2))
    assert apart["neighbors"] == 1 and apart["silhouette"] > 0.99
    assert mixed["neighbors"] < 0.7 and mixed["silhouette"] < 0


def test_anchors_have_the_class_of_their_samples_or_of_the_nearest(monkeypatch):
    model = dmac.DMAC(3, SHORT, random_state=0)
    model.embedding_ = np.array([[0, 0], [0.1, 0], [0.2, 0], [5, 0]], dtype=np.float32)
    # The first has three samples, two of class 1; the third has none and is near the last sample.
    model.anchors_ = np.array([[0.1, 0], [5, 0], [9, 0]], dtype=np.float32)
    monkeypatch.setattr(measure, "plane", lambda z: z)  # UMAP compiles for half a minute
    arrays = measure._arrays(model, np.array([1, 0, 1, 2]))
    assert list(arrays["anchor_classes"]) == [1, 2, 2] and list(arrays["classes"]) == [1, 0, 1, 2]


def test_curves_keep_the_first_and_the_last_epoch_of_every_stage():
    history = [PeerEpoch("view 1", i, 1 / i, 0.0) for i in range(1, 1001)]
    curves = measure.curves_of([*history, PeerEpoch("tuning", 1, 5.0, 0.0)])
    assert list(curves) == ["view 1", "tuning"]
    assert curves["tuning"] == {"epochs": 1, "epoch": [1], "loss": [5.0]}
    epochs, losses = curves["view 1"]["epoch"], curves["view 1"]["loss"]
    assert epochs[0] == 1 and epochs[-1] == curves["view 1"]["epochs"] == 1000
    assert len(epochs) <= measure.CURVE and epochs == sorted(set(epochs))
    np.testing.assert_allclose(losses, 1 / np.array(epochs), rtol=1e-5)
    assert measure.curves_of(["a record without a stage"]) == {}


def test_ties_are_seen():
    views = [np.repeat(np.eye(12), 10, 0)] * 2  # an anchor is equal, or all are as far
    model = dmac.AnchorGraphClustering(3, random_state=0, device="cpu").fit(views)
    assert measure.ties(model, views) > 0.9


def test_labels_that_differ_between_threads_are_counted(monkeypatch, small_views):
    data = dmac.MultiViewData("small", *small_views, 3)
    seeds, fit = iter((0, 1)), dmac.AnchorGraphClustering.fit_predict

    def other_each_time(self, given):
        labels = fit(self, given)
        labels[: 9 * next(seeds)] = 0  # the first time as they are
        return labels

    monkeypatch.setattr(dmac.AnchorGraphClustering, "fit_predict", other_each_time)
    record = measure.compare_threads(data, "closed_form", 0, (1, 2))
    assert record["other_labels"] > 0 and record["ari"] < 1


def test_sure_numbers_are_judged_by_what_is_right():
    true, predicted = np.repeat([0, 1], 10), np.repeat([1, 0], 10)
    predicted[:4] = 0  # four are wrong
    right = (predicted != true) + 0.0
    found = measure.sureness(true, predicted, right)
    assert found["auc"] == 1 and found["curve"][7] == 1 and found["curve"][-1] == 0.8
    for given, sure, area in ((predicted, 1 - right, 0), (1 - true, right, None)):
        assert measure.sureness(true, given, sure)["auc"] == area
    assert measure.stays([true, 1 - true, predicted]).tolist() == [0.5] * 4 + [1] * 16
