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
    assert (found["n"], found["m"], found["c"], found["dims"]) == (120, 16, 10, [64, 64, 64])
    assert found["epochs"] == 2
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
    assert gpu.shape_of(70) == (70, (64, 64, 64), 10)


def test_a_whole_fit_is_timed_in_parts():
    changes = {"pretrain_epochs": 3, "epochs": 2}
    found = gpu.fit_times("RELEASED", 200, device="cpu", target_s=30, changes=changes)
    assert (found["pretrain_epochs"], found["epochs"]) == (3, 2)
    assert found["changes"] == changes and found["target_s"] == 30
    assert found["m"] == int((200 * 10) ** 0.5)
    parts = sum(found[name] for name in ("prepare_s", "pretrain_s", "train_s", "last_s"))
    assert 0 < parts <= 1.001 * found["fit_s"]


def test_scores_are_means_over_seeds(monkeypatch):
    few = dataclasses.replace(REVISED, epochs=2, anchor_sets=2)
    monkeypatch.setattr(gpu, "get_recipe", lambda name: few)
    told = []
    monkeypatch.setattr(gpu, "say", lambda **facts: told.append(facts))
    found = gpu.score_means("REVISED", "mfeat", device="cpu", seeds=2, every=20)
    assert found["n"] == 100 and found["seeds"] == 2 and len(told) == 2
    assert found == told[1] and told[0]["seeds"] == 1
    data = gpu.load("mfeat")
    views, labels = [x[::20] for x in data.views], data.labels[::20]
    accs = [
        gpu.scores(labels, gpu.DMAC(10, few, seed, "cpu").fit_predict(views)) for seed in range(2)
    ]
    assert found["acc"] == pytest.approx(np.mean([one["acc"] for one in accs]))
    assert found["fit_s"] > 0 and found["first_fit_s"] > 0


def test_data_sets_at_hand_need_no_network(monkeypatch, tmp_path):
    monkeypatch.delenv("DMAC_DATA", raising=False)
    assert gpu.datasets_at_hand() == ["mfeat"]
    for name in ("BBC", "PIE"):
        (tmp_path / name).mkdir()
        (tmp_path / name / DATASETS[name].filename).touch()
    monkeypatch.setenv("DMAC_DATA", str(tmp_path))
    assert gpu.datasets_at_hand() == ["mfeat", "PIE", "BBC"]


def test_memory_of_a_gpu_is_that_of_its_tensors(monkeypatch):
    called = []
    monkeypatch.setattr(torch, "empty", lambda n, device: called.append(device))
    for name in ("empty_cache", "reset_peak_memory_stats"):
        monkeypatch.setattr(torch.cuda, name, lambda name=name: called.append(name))
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 2_345_678_901)
    provenance.reset_peak_gb("cuda")
    assert provenance.peak_gb("cuda") == 2.346
    assert called == ["cuda", "empty_cache", "reset_peak_memory_stats"]


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


def test_the_file_names_the_card_and_its_driver(monkeypatch, tmp_path):
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 580.1\necho 580.1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "A card")
    card = SimpleNamespace(total_memory=80 * 10**9)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: card)
    found = provenance.about("cuda")
    assert (found["card"], found["card_memory_gb"], found["driver"]) == ("A card", 80, "580.1")
    assert found["versions"]["torch"] == torch.__version__
    program.write_text("#!/bin/sh\nexit 9\n")
    assert provenance.about("cuda")["driver"] is None
    assert provenance.about("cpu")["card"] is provenance.about("cpu")["driver"] is None


def test_the_full_plan_has_every_system_on_every_shape(monkeypatch):
    monkeypatch.delenv("DMAC_DATA", raising=False)
    found = {(system, on) for system, on, _ in gpu.jobs_of("full")["epochs"]}
    assert {(s, on) for s in gpu.SYSTEMS for on in [*gpu.SHAPES, 1_000_000]} < found
    assert sum(gpu.BUDGETS["full"].values()) == 520 and sum(gpu.BUDGETS["quick"].values()) < 180


def test_every_part_has_its_time():
    ends = gpu.deadlines({"tests": 100, "epochs": 200, "fits": 100}, 40)
    assert ends == pytest.approx({"tests": 10, "epochs": 30, "fits": 40})


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
    assert "missing" not in found and found["tests_s"] > 0
    assert any("one is not two" in reason for reason in found["reasons"])
    assert any("no such thing here" in reason for reason in found["reasons"])
    assert "1 failed, 1 passed, 1 skipped" in (tmp_path / "tests.txt").read_text()
    assert json.loads((tmp_path / "gpu.json").read_text())["took_s"] > 0
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
    environment = {k: v for k, v in os.environ.items() if k not in ("DMAC_DATA", "PYTHONPATH")}
    environment |= {"PYTHONPATH": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""}
    out = tmp_path / "out"
    command = [sys.executable, ROOT / "scripts" / "gpu.py", "--out", out, "--budget", "60"]
    command += ["--parts", "epochs", "scores"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "There is no GPU here" in done.stdout
    found = json.loads((out / "gpu.json").read_text())
    assert found["card"] is None and found["profile"] == "quick" and found["processor"]
    jobs, entries = gpu.jobs_of("quick"), found["epochs"] + found["scores"]
    expected = [job[:2] for job in jobs["epochs"] + jobs["scores"]]
    assert [(e["system"], e["on"]) for e in entries] == expected
    for entry in entries:  # a number, or why there is none
        assert {"epoch_s", "acc"} & entry.keys() or "time was up" in entry["missing"]
    assert found["tests"] == found["fits"] == []


@pytest.mark.parametrize("wrong", [["--budget", "0"], ["--profile", "fast"], ["--parts", "all"]])
def test_wrong_options_are_refused(wrong, capsys):
    with pytest.raises(SystemExit) as raised:
        gpu.main(wrong)
    assert raised.value.code == 2 and wrong[0] in capsys.readouterr().err


def test_make_gpu_makes_no_environment():
    command = ["make", "--dry-run", "gpu", "PYTHON=some-python", "OUT=here"]
    # `make test` runs this too: a make inside of a make would say which folder it enters.
    inherited = ("OMP_NUM_THREADS", "MAKEFLAGS", "MAKELEVEL")
    environment = {k: v for k, v in os.environ.items() if k not in inherited}

    def planned(**more):
        options = dict(cwd=ROOT, env=environment | more, capture_output=True, text=True)
        return subprocess.run(command, check=True, **options).stdout.split()

    script = ["some-python", "scripts/gpu.py", "--out", '"here"']
    assert planned() == ["env", "-u", "OMP_NUM_THREADS", *script]
    assert planned(OMP_NUM_THREADS="4") == script  # what the user has set stands
