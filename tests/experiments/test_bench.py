"""What is timed, stopped, refused and stored."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import toy_jobs
from torch.utils.flop_counter import FlopCounterMode

from dmac.anchor_graph import anchor_graph
from dmac.anchors import anchor_learning_loss
from dmac.compute.distances import squared_distances
from dmac.network import Network
from dmac.recipes import RELEASED, REVISED
from experiments import bench, run, times

RESULTS = Path(__file__).parents[2] / "notebooks" / "results"


def test_operations_are_those_that_a_counter_sees():
    n, m, dims = 300, 40, (7, 30)
    network = Network(dims, 4, RELEASED, generator=torch.Generator().manual_seed(0))
    views = [torch.randn(n, d) for d in dims]
    u = torch.randn(m, 64, requires_grad=True)
    with FlopCounterMode(display=False) as counter:
        zs = network.embed_views(views)
        d2s = [squared_distances(z, u) for z in zs]
        loss = sum(anchor_learning_loss(d2) + anchor_graph(d2, 3).weights.max() for d2 in d2s)
        loss.backward()
        zs[0].detach() @ u.detach().T  # a pass of k-means
    # the gradient of the distances by the samples and by the anchors, from autograd's n x m tensors
    assert counter.get_total_flops() == bench.operations(n, dims, m)


def test_an_epoch_is_timed_within_its_memory():
    options = dict(epochs=3, n_samples=500, n_anchors=20)
    found = bench.measure_epochs("released", "growth", threads=1, **options)
    assert (found["n"], found["m"], found["v"], found["threads"]) == (500, 20, 3, 1)
    assert found["median"] == pytest.approx(np.median(found["seconds"][1:]), abs=1e-4)
    assert 0.1 < found["peak_gb"] < 5
    found = bench.measure_epochs("dense", "half ALOI", epochs=1, memory_gb=4)
    assert found["error"] == "more than 4 GB" and "median" not in found


@pytest.mark.parametrize("system", bench.SYSTEMS)
def test_every_system_runs_in_this_process(system):
    found = bench.epoch_seconds(system, "growth", epochs=2, n_samples=80, n_anchors=15)
    assert len(found["seconds"]) == 2 and min(found["seconds"]) > 0
    assert ("operations" in found) == (system == "released")


def test_the_book_shows_every_system_on_every_shape_and_ever_more_samples():
    jobs = list(bench.epoch_jobs())
    systems = [[s for s, name, _ in jobs if name == shape] for shape in bench.EPOCHS_OF]
    assert all(found[:4] == list(bench.SYSTEMS[:4]) for found in systems)
    stored = json.loads((RESULTS / "runtime.json").read_text())["runs"]
    assert [(one["system"], one["name"]) for one in stored] == [job[:2] for job in jobs]
    grown = [(o["n_samples"], o["n_anchors"]) for _, name, o in jobs if name == "growth"]
    assert grown == [(one["n"], one["m"]) for one in stored if one["name"] == "growth"]


def test_what_fails_otherwise_is_an_error(monkeypatch):
    with pytest.raises(RuntimeError, match="mfeet"):
        bench.measure_epochs("released", "mfeet", epochs=1)
    with pytest.raises(RuntimeError, match="KeyError"):
        bench.time_sharded("no recipe", 100)

    def refuse(spec, **_):
        raise ValueError("too large")

    monkeypatch.setattr(run, "make_run", refuse)  # a system's own error is its record
    assert bench.fit_seconds("GMC", "mfeat", 1) == {"error": "ValueError: too large"}


# --- the parts of an epoch


def test_the_parts_make_up_the_epoch():
    found = bench.epoch_parts("mfeat", 6)
    assert set(found["parts"]) == {*bench.PARTS, "the rest"}
    assert min(found["parts"].values()) > 0 and found["seconds"] > 0
    work = bench.operations(2000, bench.load("mfeat").dims, found["m"])
    assert found["floor"] == pytest.approx(work / found["matrix_rate"])
    for where, name in bench.PARTS.values():
        assert getattr(where, name).__name__ == name  # nothing stays wrapped


def test_every_size_of_blocks_is_timed():
    seconds = bench.block_seconds(2000, powers=(15, 16), repeats=2)
    assert set(seconds) == {15, 16} and min(seconds.values()) > 0


# --- whole fits

FEW = ["k-means, whitened", "CLOSED_FORM"]


def test_a_fit_beyond_the_limit_is_stopped_and_the_next_one_goes_on(monkeypatch):
    """The first waits for ever, the second returns at once: no clock decides."""

    class Child(bench.Child):
        def call(self, function, *given, limit=None):
            if function is bench.warm_up:
                return None
            if function is bench.fit_seconds and given[0] == FEW[0]:
                return super().call(toy_jobs.wait_silently, *given, limit=0.1)
            return super().call(toy_jobs.seconds)

    monkeypatch.setattr(bench, "Child", Child)
    first, second = bench.time_fits("mfeat", FEW, 1, limit=3)
    assert first == {"system": FEW[0], "dataset": "mfeat", "threads": 1, "error": "more than 0.1 s"}
    assert second["system"] == FEW[1] and second["15"] == 0.123456789


def test_what_was_stopped_is_not_begun_on_what_is_no_smaller(monkeypatch, tmp_path):
    stopped = {"system": "GMC", "dataset": "HW2sources", "threads": 1, "error": "more than 9 s"}
    of = bench.stopped_on
    assert of("GMC", "HandWritten", [stopped]) == "HW2sources"  # as many samples, more views
    assert of("GMC", "MNIST-4", [stopped]) == "HW2sources"
    assert of("GMC", "BBC", [stopped]) is None and of("MSGL", "MNIST-4", [stopped]) is None
    assert of("GMC", "MNIST-4", [stopped | {"dataset": "HandWritten"}]) is None  # six views
    assert of("GMC", "MNIST-4", [stopped | {"error": "ValueError: no"}]) is None

    monkeypatch.setattr(bench, "time_fits", lambda *given: iter(()))
    path = tmp_path / "fits.json"
    path.write_text(json.dumps({"fits": [stopped]}))
    found = bench.measure_fits(path, ["MNIST-4"], ["GMC"], limit=9)["fits"]
    assert found[1]["error"] == "more than 9 s on HW2sources, not begun here"
    table = times.systems_table({"fits": found}, {"MNIST-4": 4000, "HW2sources": 2000})
    assert table.loc["GMC"].tolist() == ["> 9", "> 9"]


# --- growth


def test_the_fixed_number_of_anchors_is_the_same_for_every_size():
    for n in (3_000, 10_000, 1_000_000):
        assert bench.recipe_with("CLOSED_FORM", n, True).n_anchors == bench.ANCHORS
    assert bench.recipe_with("CLOSED_FORM", 800, True).n_anchors == 400
    assert bench.recipe_with("REVISED", 3_000, False) is REVISED


def test_fits_alone_and_by_two_processes_are_stored_once(monkeypatch, tmp_path):
    monkeypatch.setattr(bench, "SIZES", {("CLOSED_FORM", True): (500, 1000)})
    path = tmp_path / "growth.json"
    for _ in range(2):
        bench.measure_growth(path, most=500, sharded=[500], on_disk=[500])
        stored = json.loads(path.read_text())
        (alone,), (both,), (disk,) = (stored[key] for key in ("fits", "sharded", "on_disk"))
        monkeypatch.setattr(bench, "Child", None)  # none is needed again
    assert (alone["n"], alone["m"], alone["threads"]) == (500, 250, 2)
    assert (both["n"], both["m"], both["processes"]) == (500, 250, 2)
    assert len(both["peak_gb"]) == 2 and min(both["peak_gb"]) > 0.1
    assert (disk["n"], disk["m"], disk["views_gb"]) == (500, 250, 0)
    assert alone["views_gb"] > 0 and min(alone["processor_seconds"], disk["seconds"]) > 0
    assert alone["seconds"] > 0 and both["seconds"] > 0


def test_the_parts_of_a_fit_add_up():
    profile = bench.fit_profile(600)
    assert list(profile["parts"]) == [
        *(f"view {a}" for a in (1, 2, 3)),
        *("graphs", "eigenvectors", "votes 1"),
    ]
    assert profile["n"] == 600 and sum(profile["parts"].values()) > 0


def test_a_part_stands_beside_all(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "KIND_SAMPLES", 300)
    records = [bench.part_accuracy("gaussian", fitted, 1) for fitted in (100, None)]
    records.append(bench.part_accuracy("HandWritten", 500, 0))
    assert [one["fitted"] for one in records] == [100, None, 500]
    table = times.samples_table({"fits": records})
    assert table.columns.tolist() == ["all", "0.33 n", "0.25 n"]
    lost = 100 * (records[0]["acc"] - records[1]["acc"])
    np.testing.assert_allclose(table.loc["gaussian", "0.33 n"], lost)
    path = tmp_path / "samples.json"
    for _ in range(2):
        bench.measure_samples(path, ["HandWritten"], seeds=[0], fitted=[])
        stored = json.loads(path.read_text())["fits"]
        monkeypatch.setattr(bench, "part_accuracy", None)
    assert [one["fitted"] for one in stored] == [500, None] and stored[0]["acc"] > 0.9


def test_half_of_the_views_are_filled_in_by_the_closed_form_alone(tmp_path):
    path = tmp_path / "lacking.json"
    bench.measure_lacking(path, n=400)
    fits = json.loads(path.read_text())["fits"]
    assert [(fit["recipe"], fit["rate"], fit["filled"]) for fit in fits] == [
        ("closed_form", 0, False),
        ("unfilled", 0.5, False),
        ("closed_form", 0.5, True),
    ]
    assert all(fit["seconds"] > 0 and fit["peak_gb"] >= fit["before_gb"] > 0 for fit in fits)
