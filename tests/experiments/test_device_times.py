"""What is measured on one device, on small views."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from dmac.data.datasets import DATASETS
from dmac.recipes import RELEASED, REVISED
from experiments import bench, device_times


@pytest.mark.parametrize("system", device_times.SYSTEMS)
def test_epochs_are_timed(system):
    found = device_times.epoch_times(system, 120, device="cpu", n_anchors=16, epochs=2)
    assert (found["n"], found["m"], found["c"], found["dims"]) == (120, 16, 10, [64, 64, 64])
    assert found["epochs"] == 2
    assert 0 < found["least_s"] <= found["epoch_s"] <= found["most_s"]
    assert found["warm_up_s"] > 0 and found["set_up_s"] > 0 and 0.05 < found["peak_gb"] < 20


def test_first_epochs_do_not_count_and_time_is_kept():
    def records():
        yield from (SimpleNamespace(seconds=s) for s in (9.0, 1.0, 2.0, 3.0, 4.0))
        raise AssertionError("too many epochs")

    assert device_times._timed(records(), 1, 3, 100) == ([1, 2, 3], [9])
    assert device_times._timed(records(), 1, 3, 5) == ([1], [9])
    assert device_times._timed(records(), 2, 3, 11) == ([2], [9, 1])


def test_shapes_are_those_of_the_data():
    for name, shape in device_times.SHAPES.items():
        known = DATASETS.get(name)
        held = known and (known.n_samples, known.dims, known.n_clusters)
        expected = bench.SHAPES.get(name) or held
        assert (expected is None and name == "mfeat") or shape == expected
    data = device_times.load("mfeat")
    assert device_times.shape_of("mfeat") == (data.n_samples, data.dims, data.n_clusters)
    assert device_times.shape_of(70) == (70, (64, 64, 64), 10)


def test_a_whole_fit_is_timed_in_parts():
    told = []
    changes = {"pretrain_epochs": 3, "epochs": 2}
    found = device_times.fit_times(
        "RELEASED",
        200,
        device="cpu",
        target_s=30,
        changes=changes,
        progress=lambda **facts: told.append(facts),
    )
    assert (found["pretrain_epochs"], found["epochs"]) == (3, 2)
    assert found["changes"] == changes and found["target_s"] == 30
    assert found["m"] == int((200 * 10) ** 0.5)
    parts = sum(found[name] for name in ("prepare_s", "pretrain_s", "train_s", "last_s"))
    assert 0.5 * found["fit_s"] < parts <= 1.001 * found["fit_s"]
    assert all(facts["so_far_s"] < found["fit_s"] for facts in told)


def test_progress_is_told_while_a_fit_runs(monkeypatch):
    told = []
    clock = device_times._Phases(lambda **facts: told.append(facts))
    clock.told -= 1
    clock(SimpleNamespace(seconds=0.1), None)
    clock(SimpleNamespace(seconds=0.1), None)  # too soon after the first
    assert len(told) == 1 and told[0]["pretrain_epochs"] == 1 and told[0]["epochs"] == 0


def test_scores_are_means_over_seeds(monkeypatch):
    few = dataclasses.replace(REVISED, epochs=2, anchor_sets=2)
    monkeypatch.setattr(device_times, "get_recipe", lambda name: few)
    told = []
    found = device_times.score_means(
        "REVISED",
        "mfeat",
        device="cpu",
        seeds=2,
        every=20,
        progress=lambda **facts: told.append(facts),
    )
    assert found["n"] == 100 and found["seeds"] == 2 and len(told) == 2
    assert found == told[1] and told[0]["seeds"] == 1
    data = device_times.load("mfeat")
    views, labels = [x[::20] for x in data.views], data.labels[::20]
    accs = [
        device_times.scores(labels, device_times.DMAC(10, few, seed, "cpu").fit_predict(views))
        for seed in range(2)
    ]
    assert found["acc"] == pytest.approx(np.mean([one["acc"] for one in accs]))
    assert found["fit_s"] > 0 and found["first_fit_s"] > 0


def test_data_sets_at_hand_need_no_network(monkeypatch, tmp_path):
    monkeypatch.delenv("DMAC_DATA", raising=False)
    assert device_times.datasets_at_hand() == ["mfeat"]
    for name in ("BBC", "PIE"):
        (tmp_path / name).mkdir()
        (tmp_path / name / DATASETS[name].filename).touch()
    monkeypatch.setenv("DMAC_DATA", str(tmp_path))
    assert device_times.datasets_at_hand() == ["mfeat", "PIE", "BBC"]


def test_systems_are_the_recipes_with_their_own_fields():
    assert device_times.SYSTEMS["RELEASED"] is RELEASED
    assert device_times.SYSTEMS["REVISED"] is REVISED


def test_memory_of_a_gpu_is_that_of_its_tensors(monkeypatch):
    called = []
    monkeypatch.setattr(device_times.torch, "empty", lambda n, device: called.append(device))
    for name in ("empty_cache", "reset_peak_memory_stats"):
        monkeypatch.setattr(device_times.torch.cuda, name, lambda name=name: called.append(name))
    monkeypatch.setattr(device_times.torch.cuda, "max_memory_allocated", lambda: 2_345_678_901)
    assert device_times._Memory("cuda").gb() == 2.346
    assert called == ["cuda", "empty_cache", "reset_peak_memory_stats"]
