"""The one command: its plan, its budget, its file, and what becomes of what fails."""

import json
import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from toy_jobs import ToyJob

from experiments import device_times, gpu
from experiments.gpu_processes import ROOT, Worker, run_tests

# What `make gpu` has to do without: all that is installed here and not on its list.
BLOCKED = {
    *("pandas", "matplotlib", "umap", "IPython", "pooch", "tqdm", "click", "zarr", "hypothesis"),
    *("papermill", "nbformat", "yaml", "distributed", "anndata", "mudata", "numpydoc"),
}


@pytest.fixture
def worker():
    made = Worker("cpu")
    yield made
    made.stop()


def test_a_measurement_that_fails_leaves_the_others(worker):
    first = worker.run(ToyJob("well"), 300)
    assert first["device"] == "cpu" and first["process"] != os.getpid()
    assert worker.run(ToyJob("well"), 300) == first  # one process for all
    failed = worker.run(ToyJob("fail"), 300)
    assert failed == {"missing": "ValueError: it broke", "failed": True}
    died = worker.run(ToyJob("die"), 300)
    assert died == {"missing": "its process ended with code 7", "failed": True}
    assert worker.run(ToyJob("well"), 300)["process"] != first["process"]
    start = time.monotonic()
    late = worker.run(ToyJob("wait"), 3)
    assert late["half"] == 1 and late["missing"].startswith("stopped after 3 s")
    assert time.monotonic() - start < 60


def test_what_does_not_fit_the_memory_is_reported(monkeypatch):
    def full(*given, **options):
        raise MemoryError

    monkeypatch.setitem(gpu._MEASURES, "epochs", full)
    found = gpu.Job("epochs", "RELEASED", 100).run("cpu", None)
    assert found["missing"] == "it does not fit the memory" and "failed" not in found


def test_the_file_names_the_card_and_its_driver(monkeypatch, tmp_path):
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 580.1\necho 580.1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(gpu.torch.cuda, "get_device_name", lambda device: "A card")
    card = SimpleNamespace(total_memory=80 * 10**9)
    monkeypatch.setattr(gpu.torch.cuda, "get_device_properties", lambda device: card)
    found = gpu.about("cuda")
    assert (found["card"], found["card_memory_gb"], found["driver"]) == ("A card", 80, "580.1")
    assert found["versions"]["torch"] == gpu.torch.__version__
    program.write_text("#!/bin/sh\nexit 9\n")
    assert gpu.about("cuda")["driver"] is None
    assert gpu.about("cpu")["card"] is gpu.about("cpu")["driver"] is None


def test_the_full_plan_has_every_shape_and_target(monkeypatch):
    monkeypatch.delenv("DMAC_DATA", raising=False)
    jobs = gpu.jobs_of("full")
    epochs = {(job.system, job.on) for job in jobs if job.part == "epochs"}
    sizes = {1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000}
    assert epochs == {
        (s, on)
        for s in device_times.SYSTEMS
        for on in device_times.SHAPES | {size: None for size in sizes}
    }
    assert all(j.options["n_anchors"] == 512 for j in jobs if j.part == "epochs" and j.on in sizes)
    targets = {(j.system, j.on): j.options["target_s"] for j in jobs if j.part == "fits"}
    assert targets == {("RELEASED", "ALOI"): 30, ("REVISED", 1_000_000): 60}
    assert {(j.system, j.on) for j in jobs if j.part == "scores"} == {
        ("CLOSED_FORM", "mfeat"),
        ("REVISED", "mfeat"),
    }
    assert sum(gpu.BUDGETS["full"].values()) == 520 and sum(gpu.BUDGETS["quick"].values()) < 180


def test_every_part_has_its_time():
    ends = gpu.deadlines({"tests": 100, "epochs": 200, "fits": 100}, 40)
    assert ends == pytest.approx({"tests": 10, "epochs": 30, "fits": 40})


def test_the_file_is_whole_at_every_moment(tmp_path):
    report = gpu.Report(tmp_path / "deep" / gpu.NAME, {"epochs": []})
    report.add("epochs", {"epoch_s": 1 / 3, "most_s": float("nan")})
    assert json.loads(report.path.read_text()) == {
        "epochs": [{"epoch_s": 0.333333, "most_s": None}]
    }
    report.content["lost"] = object()
    with pytest.raises(TypeError):
        report.write()
    assert "lost" not in report.path.read_text()
    assert list(report.path.parent.iterdir()) == [report.path]


def test_tests_are_counted_and_their_failures_told(tmp_path):
    file = tmp_path / "test_made_up.py"
    file.write_text(
        "import warnings, pytest\n"
        "def test_well():\n    warnings.warn('as a driver does')\n"
        "def test_not():\n    assert 1 == 2, 'one is not two'\n"
        "@pytest.mark.parametrize('x', ['a b'])\n"
        "def test_later(x):\n    pytest.skip('no such thing here')\n"
    )
    found = run_tests([file], tmp_path / "log", 300)
    assert (found["passed"], found["failed"], found["skipped"]) == (1, 1, 1)
    assert "missing" not in found and found["tests_s"] > 0
    assert any("one is not two" in reason for reason in found["reasons"])
    assert any("no such thing here" in reason for reason in found["reasons"])
    broken = run_tests([tmp_path / "lost.py"], tmp_path / "log", 300)
    assert broken["failed"] == 1 and "pytest ended with code 4" in broken["missing"]
    file.write_text("import time\ndef test_slow():\n    time.sleep(600)\n")
    slow = run_tests([file], tmp_path / "log", 1)
    assert slow["missing"].startswith("stopped after 1 s") and slow["failed"] == 0


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
    command = [sys.executable, ROOT / "scripts" / "gpu.py", "--out", out, "--budget", "25"]
    command += ["--parts", "epochs", "scores"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "There is no GPU here" in done.stdout
    found = json.loads((out / gpu.NAME).read_text())
    assert found["card"] is None and found["profile"] == "quick" and found["processor"]
    assert found["took_s"] < 40
    expected = [job for job in gpu.jobs_of("quick") if job.part in ("epochs", "scores")]
    entries = found["epochs"] + found["scores"]
    assert [(e["system"], e["on"]) for e in entries] == [(j.system, j.on) for j in expected]
    for entry in entries:  # a number, or why there is none
        assert {"epoch_s", "acc"} & entry.keys() or "part's time was up" in entry["missing"]
    assert found["tests"] == found["fits"] == []


def test_the_bare_environment_is_bare():
    code = BARE + "try:\n    import pandas\nexcept ModuleNotFoundError as error:\n    print(error)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "pandas\n", done.stderr


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
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert line.split() == [
        "env",
        "-u",
        "OMP_NUM_THREADS",
        "some-python",
        "scripts/gpu.py",
        "--out",
        '"here"',
    ]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment | {"OMP_NUM_THREADS": "4"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split()[0] == "some-python"  # what the user has set stands
