"""One command for a machine with a GPU: tests, run times and scores into one file, gpu.json.

    python scripts/gpu.py

is what ``make gpu`` runs. It takes less than nine minutes, and needs no installation and no
network.
The measurements of :mod:`experiments.device_times` are made one after the other in a process
of their own, so that one that fails or takes too long leaves the others and the file as they are.
Without a GPU it does the same on the processor with small sizes. ``notebooks/05_runtime.ipynb``
shows what is stored.
"""

import argparse
import dataclasses
import datetime
import json
import os
import platform
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from experiments import device_times, provenance
from experiments.gpu_processes import ROOT, Worker, run_tests
from experiments.store import round_floats

#: The name of the file.
NAME = "gpu.json"
#: Seconds for every part, in the order in which they run; what one leaves the next ones have.
BUDGETS = {
    "full": {"tests": 100, "epochs": 180, "fits": 150, "scores": 90},
    "quick": {"tests": 75, "epochs": 35, "fits": 30, "scores": 35},
}
#: What the numbers of the file are in, by the end of their names.
UNITS = {
    "_s": "seconds of the clock on the wall",
    "_gb": "10^9 bytes at the peak: of the GPU's tensors, or of the whole process on a processor",
    "acc, nmi, ari, purity, f1": "fractions of 1, means over the seeds",
}
_MEASURES = {
    "epochs": device_times.epoch_times,
    "fits": device_times.fit_times,
    "scores": device_times.score_means,
}


@dataclass(frozen=True)
class Job:
    """One measurement: its part, what is measured on what, and further options.

    Attributes
    ----------
    part : {"epochs", "fits", "scores"}
    system : str
        A system or a recipe.
    on : str or int
        A shape, or a data set.
    options : dict
        Of the function in :mod:`experiments.device_times`.
    """

    part: str
    system: str
    on: str | int
    options: dict = dataclasses.field(default_factory=dict)

    def run(self, device, progress):
        """Measure, in this process.

        Parameters
        ----------
        device : str
        progress : callable
            Told what is known so far.

        Returns
        -------
        dict
            What was measured, or why not: ``missing``.
        """
        measure = _MEASURES[self.part]
        try:
            return measure(self.system, self.on, device=device, progress=progress, **self.options)
        except (torch.cuda.OutOfMemoryError, MemoryError):
            return {"missing": "it does not fit the memory", "peak_gb": _memory_gb(device)}

    def facts(self):
        """What names the measurement in the file."""
        return {"system": self.system, "on": self.on}


def jobs_of(profile):
    """The measurements of a profile, the most wanted of every part first.

    Parameters
    ----------
    profile : {"full", "quick"}
        Of the whole table, or of small sizes.

    Returns
    -------
    list of Job
    """
    if profile == "quick":
        shapes, sizes, few = ["PIE"], [1000], dict(epochs=3, seconds=3)
        fits = [
            ("RELEASED", 1000, dict(changes=dict(pretrain_epochs=20, epochs=5))),
            ("REVISED", 2000, dict(changes=dict(n_anchors=64, epochs=10))),
        ]
        data, options = ["mfeat"], dict(every=4)
    else:
        # Powers of ten first, and the widest shape late: its views take long to prepare.
        shapes, few = [name for name in device_times.SHAPES if name != "CCV"], {}
        sizes = [1000, 10_000, 100_000, 1_000_000, "CCV", 3000, 30_000, 300_000]
        fits = [
            ("RELEASED", "ALOI", dict(target_s=30)),
            ("REVISED", 1_000_000, dict(target_s=60, changes=dict(n_anchors=512))),
            ("REVISED", 1_000_000, dict(target_s=60)),
        ]
        data, options = device_times.datasets_at_hand(), {}
    grown = [(n, few | ({"n_anchors": 512} if isinstance(n, int) else {})) for n in sizes]
    named = [(name, few) for name in shapes]
    return [
        *(Job("epochs", s, on, o) for on, o in named + grown for s in device_times.SYSTEMS),
        *(Job("fits", *fit) for fit in fits),
        *(Job("scores", r, name, options) for name in data for r in ("CLOSED_FORM", "REVISED")),
    ]


def _memory_gb(device):
    if not device.startswith("cuda"):
        return None
    return round(torch.cuda.get_device_properties(device).total_memory / 1e9, 1)


def _driver():
    """The version of NVIDIA's driver, or None where its program is not there or does not answer."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.split("\n")[0].strip() or None if done.returncode == 0 else None


def about(device):
    """The machine: its card or its processor, and the versions of what runs on it.

    Parameters
    ----------
    device : str
        "cpu", or one that starts with "cuda".

    Returns
    -------
    dict
    """
    gpu = device.startswith("cuda")
    return {
        "device": device,
        "card": torch.cuda.get_device_name(device) if gpu else None,
        "card_memory_gb": _memory_gb(device),
        "driver": _driver() if gpu else None,
        "cuda": torch.version.cuda if gpu else None,
        "processor": provenance.processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "versions": provenance.versions() | {"torch": torch.__version__},
        "commit": provenance.commit(),
    }


class Report:
    """The file: written whole or not at all, after every measurement.

    Parameters
    ----------
    path : path
        Its folder is made if it is missing.
    content : dict
        With what it begins.
    """

    def __init__(self, path, content):
        self.path, self.content = Path(path), content
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.write()

    def add(self, part, facts):
        """Put a measurement into its part, and write."""
        self.content[part].append(facts)
        self.write()

    def write(self):
        """Write what is there so far."""
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            with open(temporary, "w", encoding="utf-8") as file:
                json.dump(round_floats(self.content), file, indent=1)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())  # it is on the disk before it takes the name
            os.replace(temporary, self.path)
        finally:
            temporary.unlink(missing_ok=True)


def deadlines(budgets, total):
    """By when every part has to end, in seconds from the start: its own time and what was left.

    Parameters
    ----------
    budgets : dict of str to float
    total : float
        What the budgets are scaled to.

    Returns
    -------
    dict of str to float
    """
    scale, ends, end = total / sum(budgets.values()), {}, 0.0
    for part, seconds in budgets.items():
        end += scale * seconds
        ends[part] = end
    return ends


def _line(facts):
    """A measurement as a line for the terminal."""
    names = ("epoch_s", "fit_s", "acc", "peak_gb")
    numbers = [f"{name} {facts[name]:.4g}" for name in names if facts.get(name) is not None]
    return "; ".join(numbers + ([facts["missing"]] if "missing" in facts else []))


def measure(out, *, device="auto", profile=None, total=None, parts=None, files=None):
    """Run all parts within their time, and write the file after every measurement.

    Parameters
    ----------
    out : path
        The folder for the file and the log of the tests.
    device : str
        "auto" is a GPU where there is one.
    profile : {"full", "quick"}, optional
        By default full on a GPU and quick on a processor.
    total : float, optional
        Seconds for everything; by default those of `BUDGETS`.
    parts : list of str, optional
        Some of the parts; all by default.
    files : list of path, optional
        The tests; ``tests/test_gpu.py`` by default.

    Returns
    -------
    dict
        The content of the file.
    """
    start = time.monotonic()
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    profile = profile or ("full" if device.startswith("cuda") else "quick")
    budgets = {k: v for k, v in BUDGETS[profile].items() if parts is None or k in parts}
    ends = deadlines(budgets, total or sum(budgets.values()))
    content = {
        "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "profile": profile,
        **about(device),
        "units": UNITS,
        "parts": list(ends),
        "budget_s": max(ends.values()),
        "took_s": None,  # of everything; it stays None if this process is killed
        **{part: [] for part in BUDGETS[profile]},
    }
    report = Report(Path(out) / NAME, content)
    if device == "cpu":
        print("There is no GPU here: the processor does the same on small sizes.", flush=True)
    jobs, worker = jobs_of(profile), Worker(device)
    if set(ends) - {"tests"}:
        worker.start()  # it imports while the tests run
    try:
        for part, end in ends.items():
            end += start
            if part == "tests":
                log = Path(out) / "tests.txt"
                tests = files or [ROOT / "tests" / "test_gpu.py"]
                found = run_tests(tests, log, end - time.monotonic())
                report.add(part, found)
                counts = (f"{found[name]} {name}" for name in ("passed", "failed", "skipped"))
                print(f"tests: {', '.join(counts)}; {_line(found)}", flush=True)
            for job in (job for job in jobs if job.part == part):
                found = {"missing": "not reached: the part's time was up"}
                if end > time.monotonic():
                    found = worker.run(job, end - time.monotonic())
                report.add(part, job.facts() | found)
                print(f"{part}: {job.system} on {job.on}: {_line(found)}", flush=True)
    finally:
        worker.stop()
    report.content["took_s"] = time.monotonic() - start
    report.write()
    return report.content


def main(arguments=None):
    """Entry point of ``scripts/gpu.py``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="_build/gpu", help="folder for gpu.json and tests.txt")
    parser.add_argument("--budget", type=float, help="seconds for everything")
    parser.add_argument("--profile", choices=tuple(BUDGETS), help="full on a GPU, else quick")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--parts", nargs="+", choices=tuple(BUDGETS["full"]))
    given = parser.parse_args(arguments)
    if given.budget is not None and given.budget <= 0:
        parser.error(f"--budget is {given.budget:g}, it must be above 0")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    options = dict(device=given.device, profile=given.profile, parts=given.parts)
    content = measure(given.out, total=given.budget, **options)
    print(f"{Path(given.out) / NAME}, {content['took_s']:.0f} s")
    found = [one for part in BUDGETS["full"] for one in content[part]]
    sys.exit(any(one.get("failed") for one in found))
