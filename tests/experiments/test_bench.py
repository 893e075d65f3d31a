"""What is timed, stopped, refused and stored; what `make gpu` measures, and in which time."""

import dataclasses
import json
import os
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import torch
import toy_jobs
from helpers import python
from torch.utils.flop_counter import FlopCounterMode

import dmac
from dmac.anchor_graph import anchor_graph
from dmac.anchors import anchor_learning_loss
from dmac.compute.distances import squared_distances
from dmac.network import Network
from dmac.recipes import RELEASED, REVISED
from experiments import provenance, records, times
from experiments.bench import (
    baselines,
    device,
    epochs,
    fits,
    growth,
    lacking,
    levels,
    parts,
    rare_groups,
    samples,
)
from experiments.bench.__main__ import PARTS
from experiments.bench.measuring import Job, measure, measured
from experiments.harness import Child
from experiments.store import canonical, slug


def made(part, folder, jobs):
    """What a folder has when the measurements of a part were made."""
    assert measure(folder, part, jobs) == 0
    return measured(part, folder)


# --- the store, the time, and what fails


def test_a_measurement_is_made_once_and_kept_beside_others(tmp_path):
    calls = []
    jobs = [
        Job("runs", {"name": "a"}, lambda limit: calls.append(limit) or {"seconds": 1.23456789}),
        Job("runs", {"name": "b"}, lambda limit: toy_jobs.seconds()),
        Job("rate", {}, lambda limit: 5.0),
    ]
    for number, kept in ((1, 1), (3, 2), (3, 2)):
        stored = made("a part", tmp_path, jobs[:number])
        assert [one["name"] for one in stored["runs"]] == ["a", "b"][:kept]
    assert calls == [None] and stored["runs"][0]["seconds"] == 1.23457
    assert stored["rate"] == 5.0 and stored["machine"]["cores"] > 0
    assert stored["machine"]["code"]["sha256"] and stored["runs"][0]["load"] >= 0
    (file,) = tmp_path.glob("runs/*.jsonl")
    assert file.name == "bench-a-part.jsonl" and measured("other", tmp_path) == {}
    assert measured("a part", tmp_path) == stored


def test_what_fails_or_has_no_time_is_left_to_the_next_time(tmp_path, capsys):
    errors = RuntimeError("it broke"), MemoryError("no"), TimeoutError("more than 9 s")
    jobs = [Job("runs", {"name": type(e).__name__}, Mock(side_effect=e)) for e in errors]
    assert measure(tmp_path, "a", jobs) == 1
    (kept,) = measured("a", tmp_path)["runs"]
    assert (kept["name"], kept["error"]) == ("MemoryError", "MemoryError: no")
    assert {"it broke", "more than 9 s"} <= {
        x.split(": ")[-1] for x in capsys.readouterr().out.split("\n")
    }
    late = Job("late", {}, Mock(side_effect=AssertionError))
    assert measure(tmp_path, "a", [late], seconds=0) == 0
    assert "the time was up" in capsys.readouterr().out


@pytest.mark.parametrize("part", [part for part in PARTS if part != "device"])
def test_what_is_stored_is_what_is_measured(part, tmp_path, monkeypatch):
    monkeypatch.setattr(fits, "is_installed", lambda system: True)
    monkeypatch.setattr("experiments.libraries.is_runnable", lambda *_: True)
    named = {canonical([job.of, job.about]) for job in PARTS[part].jobs(Child(), tmp_path, "cpu")}
    path = records.RESULTS / "runs" / f"{slug(f'bench {part}')}.jsonl"
    for record in map(json.loads, path.read_text("utf-8").splitlines()):
        about = {k: v for k, v in record["settings"].items() if k not in ("part", "of")}
        assert canonical([record["settings"]["of"], about]) in named


# --- epochs


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
    assert counter.get_total_flops() == epochs.operations(n, dims, m)


def test_an_epoch_is_timed_within_its_memory():
    options = dict(epochs=3, n_samples=500, n_anchors=20)
    timed = epochs.measure_epochs("released", "growth", threads=1, **options)
    assert (timed["n"], timed["m"], timed["v"], timed["threads"]) == (500, 20, 3, 1)
    assert timed["median"] == pytest.approx(np.median(timed["seconds"][1:]), abs=1e-4)
    assert 0.1 < timed["peak_gb"] < 5
    timed = epochs.measure_epochs("dense", "half ALOI", epochs=1, memory_gb=4)
    assert timed["error"] == "more than 4 GB" and "median" not in timed


@pytest.mark.parametrize("system", epochs.SYSTEMS)
def test_every_system_runs_in_this_process(system):
    timed = epochs.epoch_seconds(system, "growth", epochs=2, n_samples=80, n_anchors=15)
    assert len(timed["seconds"]) == 2 and min(timed["seconds"]) > 0
    assert ("operations" in timed) == (system == "released")


def test_what_fails_otherwise_is_an_error(monkeypatch):
    with pytest.raises(RuntimeError, match="mfeet"):
        epochs.measure_epochs("released", "mfeet", epochs=1)
    # A system's own error is its record.
    monkeypatch.setattr(fits, "make_run", Mock(side_effect=ValueError("too large")))
    assert fits.fit_seconds("GMC", "mfeat", 1) == {"error": "ValueError: too large"}


# --- the parts of an epoch


def test_the_parts_make_up_the_epoch():
    timed = parts.epoch_parts("mfeat", 6)
    assert set(timed["parts"]) == {*parts.OF_AN_EPOCH, "the rest"}
    assert min(timed["parts"].values()) > 0 and timed["seconds"] > 0
    work = epochs.operations(2000, dmac.load("mfeat").dims, timed["m"])
    assert timed["floor"] == pytest.approx(work / timed["matrix_rate"])
    for where, name in parts.OF_AN_EPOCH.values():
        assert getattr(where, name).__name__ == name  # nothing stays wrapped


def test_every_size_of_blocks_is_timed():
    seconds = parts.block_seconds(2000, powers=(15, 16), repeats=2)
    assert set(seconds) == {15, 16} and min(seconds.values()) > 0


# --- whole fits


def test_a_fit_beyond_the_limit_is_a_record_and_the_next_one_goes_on():
    """That a process is stopped, and begins anew, is in the tests of `harness`."""
    # Of warming up and of the fit, twice.
    outcomes = (None, TimeoutError("more than 9 s"), None, {"seconds": 8})
    child = Mock(**{"call.side_effect": outcomes})
    found = [fits.measure_fit(child, name, "HandWritten", 1) for name in ("first", "second")]
    assert found == [{"error": "more than 9 s"}, {"seconds": 8}]
    assert child.call.call_args.kwargs == {"limit": fits.LIMIT}


def test_what_was_stopped_is_not_begun_on_what_is_no_smaller(monkeypatch, tmp_path):
    stopped = {"system": "GMC", "dataset": "HW2sources", "threads": 1, "error": "more than 9 s"}
    for system, dataset, change, expected in (
        ("GMC", "HandWritten", {}, "HW2sources"),  # as many samples, more views
        ("GMC", "MNIST-4", {}, "HW2sources"),
        ("GMC", "BBC", {}, None),
        ("MSGL", "MNIST-4", {}, None),
        ("GMC", "MNIST-4", {"dataset": "HandWritten"}, None),  # six views
        ("GMC", "MNIST-4", {"error": "ValueError: no"}, None),
    ):
        assert fits.stopped_on(system, dataset, [stopped | change]) == expected

    about = {key: stopped[key] for key in ("system", "dataset", "threads")}
    made("fits", tmp_path, [Job("fits", about, lambda limit: {"error": stopped["error"]})])
    jobs = fits.jobs(None, tmp_path, "cpu", datasets=["MNIST-4"], systems=["GMC"])
    first, second = made("fits", tmp_path, jobs)["fits"]  # nor with two threads
    assert (first["threads"], second["threads"]) == (1, 1)
    assert second["error"] == "more than 40 s on HW2sources, not begun here"


# --- growth


def test_fits_in_memory_and_from_disk_are_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(growth, "SIZES", {("CLOSED_FORM", True): (500,)})
    stored = made("growth", tmp_path, growth.jobs(on_disk=[500], profiled=600))
    (alone,), (disk,) = (stored[key] for key in ("fits", "on_disk"))
    assert (alone["n"], alone["m"], alone["fixed"], alone["threads"]) == (500, 250, True, 2)
    assert (disk["n"], disk["m"], disk["views_gb"]) == (500, 250, 0)
    positive = "views_gb", "processor_seconds", "seconds"
    assert min(disk["seconds"], *(alone[name] for name in positive)) > 0
    parts_of_all = ["view 1", "view 2", "view 3", "graphs", "eigenvectors", "votes 1"]
    profile = stored["profile"]
    assert (profile["n"], list(profile["parts"])) == (600, parts_of_all)


def test_a_part_stands_beside_all(tmp_path, monkeypatch, data_folder):
    monkeypatch.setattr(samples, "KIND_SAMPLES", 300)
    found = [samples.part_accuracy("gaussian", fitted, 1) for fitted in (100, None)]
    found.append(samples.part_accuracy("HandWritten", 500, 0))
    assert [one["fitted"] for one in found] == [100, None, 500]
    stored = made("samples", tmp_path, samples.jobs(names=["HandWritten"], seeds=[0]))["fits"]
    assert [one["fitted"] for one in stored] == [500, None] and stored[0]["acc"] > 0.9


def test_half_of_the_views_are_filled_in_by_the_closed_form_alone(tmp_path):
    found = made("lacking", tmp_path, lacking.jobs(n=400))["fits"]
    assert [(fit["recipe"], fit["rate"], fit["filled"]) for fit in found] == [
        ("closed_form", 0, False),
        ("unfilled", 0.5, False),
        ("closed_form", 0.5, True),
    ]
    assert all(fit["seconds"] > 0 and fit["peak_gb"] >= fit["before_gb"] > 0 for fit in found)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_fits_are_timed_beside_k_means(tmp_path, capsys):
    found = pd.DataFrame(made("baselines", tmp_path, baselines.jobs(sizes=[600]))["fits"])
    ours = ["AGC 0.2.0", "k-means, one start", "k-means, ten starts", "MiniBatchKMeans"]
    assert found.system.tolist()[:4] == ours and (found.acc > 0.5).all() and found.acc[0] == 1
    assert (found.seconds > 0).all() and (found.peak_gb > 0.1).all()
    assert ("PCA + Leiden is not measured" in capsys.readouterr().out) == (len(found) == 4)


def test_three_levels_are_timed_beside_two_in_turn(tmp_path):
    found = made("levels", tmp_path, levels.jobs(sizes=[600], turns=1))
    two, three = found["fits"]
    assert [one["recipe"] for one in (two, three)] == ["AGC 0.2.0", "AGC 0.3.0"]
    assert two["acc"] == three["acc"] == 1 and two["peak_gb"] > 0.1
    table = times.levels_table(found).loc[600]
    assert table["AGC 0.3.0, s"] == three["processor_seconds"]
    assert table.ratio == three["processor_seconds"] / two["processor_seconds"]


def test_a_stored_row_about_a_small_group_comes_out_again():
    (stored,) = (
        one
        for one in measured("rare groups")["fits"]
        if (one["small"], one["distance"], one["seed"]) == (40, 20, 0)
    )
    assert rare_groups.ari(40, 20, 0)["ari"] == pytest.approx(stored["ari"], abs=0.05)


# --- a device

# What `make gpu` has to do without: all that is installed here and not on its list.
BLOCKED = {
    *("pandas", "matplotlib", "umap", "IPython", "pooch", "tqdm", "click", "zarr", "hypothesis"),
    *("papermill", "nbformat", "yaml", "distributed", "anndata", "mudata", "numpydoc"),
}


def test_scores_are_means_over_seeds(monkeypatch):
    few = dataclasses.replace(REVISED, epochs=2, anchor_sets=2)
    monkeypatch.setitem(device.OURS, "REVISED", few)
    means = device.score_means("REVISED", "mfeat", device="cpu", seeds=2, every=20)
    assert means["n"] == 100 and means["seeds"] == 2
    data = dmac.load("mfeat")
    views, labels = [x[::20] for x in data.views], data.labels[::20]
    models = (dmac.DMAC(10, few, seed, "cpu") for seed in range(2))
    accs = [dmac.scores(labels, model.fit_predict(views))["acc"] for model in models]
    assert means["acc"] == pytest.approx(np.mean(accs))


def test_the_file_names_the_card_its_driver_and_the_memory_of_its_tensors(monkeypatch, tmp_path):
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 580.1\necho 580.1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    for name, value in (
        ("get_device_name", "A card"),
        ("get_device_properties", SimpleNamespace(total_memory=80 * 10**9)),
        ("max_memory_allocated", 2_345_678_901),
    ):
        monkeypatch.setattr(torch.cuda, name, Mock(return_value=value))
    about = provenance.about("cuda")
    assert (about["card"], about["card_memory_gb"], about["driver"]) == ("A card", 80, "580.1")
    assert provenance.peak_gb("cuda") == 2.346
    program.write_text("#!/bin/sh\nexit 9\n")
    assert provenance.about("cuda")["driver"] is None
    assert provenance.about("cpu")["card"] is None


def test_the_full_plan_is_what_the_page_shows_and_begins_with_some_of_each(monkeypatch, tmp_path):
    monkeypatch.setenv("DMAC_DATA", str(tmp_path))
    assert device.datasets_at_hand() == ["mfeat"]  # without the network
    stored = measured("device", titles={})
    plan = list(device.device_plan(small=False))
    for kind in ("epochs", "fits"):
        planned = {(system, on) for _, of, system, on, _ in plan if of == kind}
        assert {(one["system"], one["on"]) for one in stored[kind]} <= planned
    assert {of for _, of, *_ in plan[:7]} == {"epochs", "fits", "scores"}


def test_tests_are_counted_and_their_failures_told(tmp_path):
    file = tmp_path / "test_made_up.py"
    text = (
        "import warnings, pytest\n"
        "def test_well():\n    warnings.warn('as a driver does')\n"
        "@pytest.mark.parametrize('x', ['a b'])\n"
        "def test_later(x):\n    pytest.skip('no such thing here')\n"
    )
    file.write_text(text)
    counts = device.run_tests([file])
    assert (counts["passed"], counts["failed"], counts["skipped"]) == (1, 0, 1)
    assert counts["reasons"] == ["test_later[a b]: no such thing here"]
    file.write_text(text + "def test_not():\n    assert 1 == 2, 'one is not two'\n")
    for given, said in ((file, "(?s)code 1.*one is not two"), (tmp_path / "lost.py", "code 4")):
        with pytest.raises(RuntimeError, match=said):
            device.run_tests([given])


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


def test_the_command_runs_in_a_bare_environment_and_goes_on_where_it_was(tmp_path):
    # In the process of the measurements too, which starts anew.
    (tmp_path / "sitecustomize.py").write_text(BARE)
    paths = os.pathsep.join([str(tmp_path), str(device.ROOT / "notebooks")])
    environment = os.environ | {"PYTHONPATH": paths, "CUDA_VISIBLE_DEVICES": ""}
    environment.pop("DMAC_DATA", None)
    command = ("-m", "experiments.bench", "device", "--results", tmp_path, "--budget")
    for budget in ("0.001", "400"):
        said = python(*command, budget, cwd=device.ROOT, env=environment)
        if budget == "0.001":  # the tests are those of tests/test_gpu.py, and are there
            assert measured("device", tmp_path) == {} and "the time was up" in said
            first = next(device.jobs(Child(), tmp_path, "cpu"))
            made("device", tmp_path, [Job("tests", first.about, lambda limit: {"passed": 1})])
    stored = measured("device", tmp_path, titles={})
    assert stored["machine"]["card"] is None and stored["tests"][0]["passed"] == 1
    for kind in ("epochs", "fits", "scores"):
        plan = [(s, on) for _, of, s, on, _ in device.device_plan(small=True) if of == kind]
        assert [(one["system"], one["on"]) for one in stored[kind]] == plan
