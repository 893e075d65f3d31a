"""What `make gpu` measures, its plan, its file, and what becomes of what fails."""

import dataclasses
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dmac.data.datasets import DATASETS
from dmac.recipes import REVISED
from experiments import bench, gpu, provenance
from experiments.gpu import ROOT

# What `make gpu` has to do without: all that is installed here and not on its list.
BLOCKED = {
    *("pandas", "matplotlib", "umap", "IPython", "pooch", "tqdm", "click", "zarr", "hypothesis"),
    *("papermill", "nbformat", "yaml", "distributed", "anndata", "mudata", "numpydoc"),
}


@pytest.mark.parametrize("system", gpu.SYSTEMS)
def test_epochs_are_timed(system):
    found = gpu.epoch_times(system, 120, device="cpu", n_anchors=16, epochs=2)
    assert (found["n"], found["m"], found["c"], found["epochs"]) == (120, 16, 10, 2)
    assert 0 < found["least_s"] <= found["epoch_s"] <= found["most_s"]
    assert found["warm_up_s"] > 0 and found["set_up_s"] > 0 and 0.05 < found["peak_gb"] < 20


def test_shapes_are_those_of_the_data():
    for name, shape in gpu.SHAPES.items():
        known = DATASETS.get(name)
        held = known and (known.n_samples, known.dims, known.n_clusters)
        expected = bench.SHAPES.get(name) or held
        assert (expected is None and name == "mfeat") or shape == expected
    data = gpu.load("mfeat")
    assert gpu.shape_of("mfeat") == (data.n_samples, data.dims, data.n_clusters)


def test_a_whole_fit_is_timed_in_parts():
    changes = {"pretrain_epochs": 3, "epochs": 2}
    found = gpu.fit_times("RELEASED", 200, device="cpu", changes=changes)
    assert (found["pretrain_epochs"], found["epochs"], found["m"]) == (3, 2, int(2000**0.5))
    parts = sum(found[name] for name in ("prepare_s", "pretrain_s", "train_s", "last_s"))
    assert 0 < parts <= 1.001 * found["fit_s"]


def test_scores_are_means_over_seeds(monkeypatch):
    few = dataclasses.replace(REVISED, epochs=2, anchor_sets=2)
    monkeypatch.setattr(gpu, "get_recipe", lambda name: few)
    found = gpu.score_means("REVISED", "mfeat", device="cpu", seeds=2, every=20)
    assert found["n"] == 100 and found["seeds"] == 2
    data = gpu.load("mfeat")
    views, labels = [x[::20] for x in data.views], data.labels[::20]
    models = (gpu.DMAC(10, few, seed, "cpu") for seed in range(2))
    accs = [gpu.scores(labels, model.fit_predict(views))["acc"] for model in models]
    assert found["acc"] == pytest.approx(np.mean(accs))


@pytest.mark.parametrize(
    "error, found",
    [
        (None, {"found": 4}),
        (TimeoutError(), {"half": 1, "missing": "stopped after 9 s, when the part's time was up"}),
        (MemoryError(), {"missing": "it does not fit the memory"}),
        (RuntimeError("it broke"), {"half": 1, "missing": "it broke", "failed": True}),
    ],
)
def test_a_measurement_that_fails_says_why(error, found):
    def call(function, *given, limit):
        if error:
            raise error
        return {"found": function(*given)}

    child = SimpleNamespace(call=call, said={"half": 1})
    assert gpu.attempt(child, 9, abs, -4) == found
    assert "not reached" in gpu.attempt(child, 0, abs, -4)["missing"]


def test_the_file_names_the_card_its_driver_and_the_memory_of_its_tensors(monkeypatch, tmp_path):
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 580.1\necho 580.1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    card = SimpleNamespace(total_memory=80 * 10**9)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "A card")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: card)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 2_345_678_901)
    found = provenance.about("cuda")
    assert (found["card"], found["card_memory_gb"], found["driver"]) == ("A card", 80, "580.1")
    assert provenance.peak_gb("cuda") == 2.346
    program.write_text("#!/bin/sh\nexit 9\n")
    assert provenance.about("cuda")["driver"] is None
    assert provenance.about("cpu")["card"] is None


def test_the_full_plan_has_every_system_on_every_shape(monkeypatch, tmp_path):
    monkeypatch.setenv("DMAC_DATA", str(tmp_path))
    assert gpu.datasets_at_hand() == ["mfeat"]  # without the network
    found = {(system, on) for system, on, _ in gpu.jobs_of("full")["epochs"]}
    assert {(s, on) for s in gpu.SYSTEMS for on in [*gpu.SHAPES, 1_000_000]} < found
    assert sum(gpu.BUDGETS["full"].values()) == 520 and sum(gpu.BUDGETS["quick"].values()) < 180
    ends = gpu.deadlines({"tests": 100, "epochs": 200, "fits": 100}, 40)
    assert ends == pytest.approx({"tests": 10, "epochs": 30, "fits": 40})


def test_a_second_run_makes_what_the_first_lacks(tmp_path, monkeypatch):
    jobs = {"epochs": [], "scores": [], "fits": [("REVISED", 200, {}), ("CLOSED_FORM", 200, {})]}
    monkeypatch.setattr(gpu, "jobs_of", lambda profile: jobs)
    options = dict(device="cpu", profile="quick", parts=["fits"], total=100)
    path, lost = tmp_path / "gpu.json", {"system": "REVISED", "on": 200, "missing": "no time"}

    def run_after(**changes):
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))
        return gpu.measure(tmp_path, **options)["fits"]

    revised, closed = gpu.measure(tmp_path, **options)["fits"]
    epoch = {"system": "RELEASED", "on": "PIE", "epoch_s": 3}
    made, kept = run_after(fits=[lost, closed | {"fit_s": 99}], epochs=[epoch])
    assert kept["fit_s"] == 99 and made["fit_s"] > 0 and made["m"] == revised["m"]
    assert json.loads(path.read_text())["epochs"] == [epoch]  # of a part that was not asked for
    for changed in ("processor", "commit"):  # of another machine, or other code
        fits = [revised, closed | {"fit_s": 99}]
        assert run_after(fits=fits, **{changed: "another"})[1]["fit_s"] != 99


def test_tests_are_counted_and_their_failures_told(tmp_path):
    file = tmp_path / "test_made_up.py"
    file.write_text(
        "import warnings, pytest\n"
        "def test_well():\n    warnings.warn('as a driver does')\n"
        "def test_not():\n    assert 1 == 2, 'one is not two'\n"
        "@pytest.mark.parametrize('x', ['a b'])\n"
        "def test_later(x):\n    pytest.skip('no such thing here')\n"
    )
    options = dict(device="cpu", profile="quick", parts=["tests"], total=600)
    (found,) = gpu.measure(tmp_path, files=[file], **options)["tests"]
    assert (found["passed"], found["failed"], found["skipped"]) == (1, 1, 1)
    assert any("one is not two" in reason for reason in found["reasons"])
    (broken,) = gpu.measure(tmp_path, files=[tmp_path / "lost.py"], **options)["tests"]
    assert broken["failed"] == 1 and "pytest ended with code 4" in broken["missing"]


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


def test_the_script_runs_in_a_bare_environment_and_keeps_its_time(tmp_path):
    # In the process of the measurements too, which starts anew.
    (tmp_path / "sitecustomize.py").write_text(BARE)
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""}
    environment.pop("DMAC_DATA", None)
    out = tmp_path / "out"
    command = [sys.executable, ROOT / "scripts" / "gpu.py", "--out", out, "--budget", "60"]
    command += ["--parts", "epochs", "scores"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads((out / "gpu.json").read_text())
    assert found["card"] is None and found["profile"] == "quick"
    jobs, entries = gpu.jobs_of("quick"), found["epochs"] + found["scores"]
    expected = [job[:2] for job in jobs["epochs"] + jobs["scores"]]
    assert [(e["system"], e["on"]) for e in entries] == expected
    for entry in entries:  # a number, or why there is none
        assert {"epoch_s", "acc"} & entry.keys() or "time was up" in entry["missing"]
