"""What is timed, stopped, refused and stored."""

import dataclasses
import json
import os
import subprocess
import sys
from types import SimpleNamespace

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
from experiments import bench, provenance, times

RUNS = bench.ROOT / "notebooks" / "results" / "runs"
# What `make gpu` has to do without: all that is installed here and not on its list.
BLOCKED = {
    *("pandas", "matplotlib", "umap", "IPython", "pooch", "tqdm", "click", "zarr", "hypothesis"),
    *("papermill", "nbformat", "yaml", "distributed", "anndata", "mudata", "numpydoc"),
}


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
    assert all(shown[:4] == list(bench.SYSTEMS[:4]) for shown in systems)
    for part in bench.ON_A_PROCESSOR:
        stored = times.read(RUNS / "times" / f"{part}.jsonl")
        names = {(record["system"], record["on"]) for record in stored}
        wanted = {(system, on) for system, on, _ in bench.jobs_of(part)}
        assert names >= wanted, part


def test_what_fails_otherwise_is_an_error(monkeypatch):
    with pytest.raises(RuntimeError, match="mfeet"):
        bench.measure_epochs("released", "mfeet", epochs=1)
    with pytest.raises(RuntimeError, match="KeyError"):
        bench.time_sharded("no recipe", 100)

    def refuse(spec, **_):
        raise ValueError("too large")

    monkeypatch.setattr(bench, "make_run", refuse)  # a system's own error is its record
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


def test_a_fit_beyond_the_limit_is_stopped_and_the_next_one_goes_on():
    """The first waits for ever, the second returns at once: no clock decides."""

    class Child(bench.Child):
        def call(self, function, *given, limit=None):
            if function is bench.warm_up:
                return None
            if given[0] == FEW[0]:
                return super().call(toy_jobs.wait_silently, *given, limit=0.1)
            return super().call(toy_jobs.seconds)

    with Child() as child:
        first, second = (bench.measure_fit(name, "mfeat", 1, [], child, 3) for name in FEW)
    assert first == {"error": "more than 0.1 s"} and second[15] == 0.123456789


def test_what_was_stopped_is_not_begun_on_what_is_no_smaller():
    stopped = {"system": "GMC", "on": "HW2sources", "threads": 1, "error": "more than 9 s"}
    of = bench.stopped_on
    assert of("GMC", "HandWritten", [stopped]) == "HW2sources"  # as many samples, more views
    assert of("GMC", "MNIST-4", [stopped]) == "HW2sources"
    assert of("GMC", "BBC", [stopped]) is None and of("MSGL", "MNIST-4", [stopped]) is None
    assert of("GMC", "MNIST-4", [stopped | {"on": "HandWritten"}]) is None  # six views
    assert of("GMC", "MNIST-4", [stopped | {"error": "ValueError: no"}]) is None
    record = bench.measure_fit("GMC", "MNIST-4", 1, [stopped], None, 9)
    assert record["error"] == "more than 9 s on HW2sources, not begun here"
    assert bench.measure_fit("GMC", "HW2sources", 2, [stopped], None) is None
    table = times.systems_table([stopped, stopped | record | {"on": "MNIST-4"}], {"MNIST-4": 4000})
    assert table.loc["GMC"].tolist() == ["> 9"]


# --- growth


def test_the_fixed_number_of_anchors_is_the_same_for_every_size():
    for n in (3_000, 10_000, 1_000_000):
        recipe = bench.recipe_with("CLOSED_FORM", n, True)
        m = bench.n_anchors_for(n, 10, recipe.anchor_factor, recipe.anchor_share)
        assert m == bench.ANCHORS
    assert bench.recipe_with("REVISED", 3_000, False) is REVISED


def test_fits_alone_and_by_two_processes_are_stored_once(monkeypatch, tmp_path):
    jobs = [
        ("CLOSED_FORM", "growth", {"n": 500, "fixed": True}),
        ("CLOSED_FORM", "growth", {"n": 500, "processes": 2}),
    ]
    for _ in range(2):
        bench.Bench(tmp_path).measure("growth", jobs)
        alone, both = times.read(tmp_path / "times" / "growth.jsonl")
        monkeypatch.setattr(bench, "time_alone", None)  # none is needed again
    assert (alone["n"], alone["m"], alone["threads"]) == (500, 250, 2)
    assert (both["n"], both["m"], both["processes"]) == (500, 250, 2)
    assert len(both["peak_gb"]) == 2 and min(both["peak_gb"]) > 0.1
    assert alone["seconds"] > 0 and both["seconds"] > 0


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_cost_of_filling_in_is_measured():
    assert bench.fit_lacking("closed_form", 0.5, 1000)["filled"]
    assert not bench.fit_lacking("unfilled", 0.5, 1000)["filled"]


# --- what a GPU measures, which a processor can too


def test_whole_fits_and_scores(monkeypatch):
    changes = {"pretrain_epochs": 3, "epochs": 2}
    fit = bench.fit_times("RELEASED", "growth", n_samples=200, device="cpu", changes=changes)
    assert fit["m"] == int(2000**0.5) and fit["fit_s"] > 0
    few = dataclasses.replace(REVISED, epochs=2, anchor_sets=2)
    monkeypatch.setattr(bench, "get_recipe", lambda name: few)
    means = bench.score_means("REVISED", "mfeat", device="cpu", seeds=2, every=20)
    data = bench.load("mfeat")
    views, labels = [x[::20] for x in data.views], data.labels[::20]
    models = (bench.dmac.DMAC(10, few, seed, "cpu") for seed in range(2))
    accs = [bench.dmac.scores(labels, model.fit_predict(views))["acc"] for model in models]
    assert means["n"] == 100 and means["acc"] == pytest.approx(np.mean(accs))


@pytest.mark.parametrize(
    "error, kept, why",
    [
        (None, {"found": 4}, None),
        (TimeoutError("more than 9 s"), None, "stopped: more than 9 s"),
        (MemoryError(), {"error": "more memory than there is"}, None),
        (RuntimeError("it broke"), None, "failed: it broke"),
    ],
)
def test_a_measurement_that_fails_says_why_and_is_made_again(
    error, kept, why, tmp_path, monkeypatch
):
    def found(*given):
        if error:
            raise error
        return {"found": 4}

    bencher = bench.Bench(tmp_path)
    monkeypatch.setattr(bencher, "_run", found)
    record, reason = bencher.attempt("epochs", "released", "growth", {}, None, [])
    assert record == kept and (kept or reason == why)
    assert bencher.failed == isinstance(error, RuntimeError)
    bencher.measure("epochs", [("released", "growth", {})])
    assert len(bencher.store.refresh()) == (kept is not None)
    assert "not reached" in bencher.attempt("epochs", "released", "growth", {}, 0, [])[1]


def test_another_machine_or_other_code_measures_again(tmp_path, monkeypatch):
    jobs = [("released", "growth", {})]
    monkeypatch.setattr(bench.Bench, "_run", lambda *given: {"median": 1.0})
    for changes in ({}, {}, {"processor": "another"}, {"processor": "another", "commit": "abc"}):
        bencher = bench.Bench(tmp_path)
        bencher.about |= changes
        bencher.measure("epochs", jobs)
    assert len(bencher.store) == 3
    (last,) = times.read(tmp_path / "times" / "epochs.jsonl")
    assert last["commit"] == "abc" and last["processor"] == "another"


def test_a_record_names_the_card_its_driver_and_the_memory_of_its_tensors(monkeypatch, tmp_path):
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 580.1\necho 580.1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    card = SimpleNamespace(total_memory=80 * 10**9)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "A card")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: card)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 2_345_678_901)
    about = provenance.about("cuda")
    assert (about["card"], about["card_memory_gb"], about["driver"]) == ("A card", 80, "580.1")
    assert provenance.peak_gb("cuda") == 2.346
    program.write_text("#!/bin/sh\nexit 9\n")
    assert provenance.about("cuda")["driver"] is None
    assert provenance.about("cpu")["card"] is None


def test_a_gpu_measures_every_system_on_every_shape(monkeypatch, tmp_path):
    monkeypatch.setenv("DMAC_DATA", str(tmp_path))
    assert [on for _, on, _ in bench.jobs_of("scores", "cuda")] == 2 * ["mfeat"]  # no network
    jobs = bench.jobs_of("epochs", "cuda")
    assert {(s, on) for s, on, _ in jobs} >= {(s, "CCV") for s in bench.GPU_SYSTEMS}
    assert {o["n_samples"] for _, on, o in jobs if on == "growth"} >= {1000, 1_000_000}
    assert sum(full for full, _ in bench.ON_A_GPU.values()) == 520
    views, c = bench._problem("PIE", None)  # random ones, where the file is not there
    assert (len(views), len(views[0]), c) == (3, 680, 68)


def test_tests_are_counted_and_their_failures_told(tmp_path):
    file = tmp_path / "test_made_up.py"
    file.write_text(
        "import warnings, pytest\n"
        "def test_well():\n    warnings.warn('as a driver does')\n"
        "def test_not():\n    assert 1 == 2, 'one is not two'\n"
        "@pytest.mark.parametrize('x', ['a b'])\n"
        "def test_later(x):\n    pytest.skip('no such thing here')\n"
    )
    counts = bench.run_tests([file])
    assert (counts["passed"], counts["failed"], counts["skipped"]) == (1, 1, 1)
    assert any("one is not two" in reason for reason in counts["reasons"])
    assert bench.run_tests([tmp_path / "lost.py"])["failed"] == 1


BARE = f"""
import importlib.machinery, sys
class Missing:  # some look for others without importing them
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {BLOCKED}:
            return importlib.machinery.ModuleSpec(name, Missing)
    def create_module(spec):
        raise ModuleNotFoundError(spec.name)
    exec_module = create_module
sys.meta_path.insert(0, Missing)
"""


def test_it_runs_in_a_bare_environment_and_keeps_its_time(tmp_path):
    # In the process of the measurements too, which starts anew.
    (tmp_path / "sitecustomize.py").write_text(BARE)
    paths = [tmp_path, bench.ROOT, bench.ROOT / "notebooks"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    environment |= {"CUDA_VISIBLE_DEVICES": ""}
    environment.pop("DMAC_DATA", None)
    command = [sys.executable, "-m", "experiments.bench", "epochs", "scores", "--device", "auto"]
    command += ["--out", tmp_path / "out", "--budget", "60"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "There is no GPU here" in done.stdout
    jobs = [job for part in ("epochs", "scores") for job in bench.jobs_of(part, small=True)]
    told = [line for line in done.stdout.splitlines() if line.startswith(("epochs:", "scores:"))]
    assert len(told) == len(jobs)  # a number, or why there is none
    files = sorted((tmp_path / "out" / "times").glob("*.jsonl"))
    stored = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert all(one["settings"]["small"] and one["card"] is None for one in stored)
    assert len(stored) + sum("time was up" in line or "stopped" in line for line in told) == len(
        jobs
    )
