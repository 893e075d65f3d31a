"""One command for a machine with a GPU: tests, run times and scores into one file, gpu.json.

    python scripts/gpu.py

is what ``make gpu`` runs. It takes less than nine minutes, and needs no installation and no
network: neither pandas nor matplotlib. Run again with the same folder, card and commit, it
makes only the measurements that the file lacks, and the tests.
The measurements are made one after the other in a process of their own, so that one that fails or
takes too long leaves the others and the file as they are. Seconds are those of the clock on the
wall: every epoch ends with numbers that are read from the device, so nothing is left in its queue.
Without a GPU it does the same on the processor with small sizes. The book's chapter on cost shows
what is stored, by :mod:`experiments.times`.
"""

import argparse
import dataclasses
import datetime
import functools
import json
import os
import signal
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import torch

from dmac.anchors import n_anchors_for
from dmac.compute.threads import threads_for
from dmac.data.checks import check_views
from dmac.data.datasets import DATASETS
from dmac.estimator import DMAC
from dmac.metrics import scores
from dmac.recipes import PUBLISHED, RELEASED, REVISED, get_recipe
from dmac.solvers.contract import solver_of
from dmac.solvers.preparing import prepare, shuffled
from dmac.training import EpochRecord, train
from dmac.views import load
from experiments import bench, provenance
from experiments.harness import Child, say, write_json
from experiments.store import round_floats
from experiments.studies import SIXTEEN

ROOT = Path(__file__).parents[2]
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
#: What is timed by the epoch, and its name in the runs of ``make bench``.
SYSTEMS = {
    "PUBLISHED": (PUBLISHED, None),
    "RELEASED": (RELEASED, "released"),
    "RELEASED, pre-training": (RELEASED, None),
    "REVISED": (REVISED, "revised"),
}
#: Shapes with a name: samples, widths of the views, clusters.
SHAPES = {
    "mfeat": (2000, (76, 216, 64, 240, 47, 6), 10),
    **{
        name: (s.n_samples, s.dims, s.n_clusters)
        for name, s in DATASETS.items()
        if name in ("PIE", "BBC", "100Leaves")
    },
    **{name: bench.SHAPES[name] for name in ("NUS", "half ALOI", "ALOI", "CCV")},
}
# Of many samples.
_FEW = {"n_anchors": 512}
#: Epochs that are not counted: a GPU compiles in the first ones, k-means is seeded in the first.
_WARM = {"cuda": 3, "cpu": 1}


def shape_of(shape):
    """A shape by its name, or by n: three views of 64 features, 10 clusters."""
    return (shape, (64, 64, 64), 10) if isinstance(shape, int) else SHAPES[shape]


@functools.lru_cache(maxsize=1)  # one shape after the other, several systems on each
def _views(shape):
    return check_views(bench.synthetic_views(*shape_of(shape)))


def _counted(records, warm, epochs, seconds):
    """Seconds of the epochs that count, at least one while the time lasts, and those before."""
    taken = []
    for record in records:
        taken.append(record.seconds)
        if len(taken) >= warm + epochs or (len(taken) > warm and sum(taken) > seconds):
            break
    return taken[warm:], taken[:warm]


def epoch_times(system, shape, *, device, n_anchors=None, epochs=12, seconds=6.0):
    """The median epoch of a system on random, dense views of a shape, and its peak memory.

    In seconds ``epoch_s``, the shortest and longest epoch (``least_s``, ``most_s``), the epochs
    before those that count (``warm_up_s``) and all that comes before an epoch (``set_up_s``).
    """
    n, dims, c = shape_of(shape)
    views = _views(shape)
    provenance.reset_peak_gb(device)
    start = time.perf_counter()
    recipe = dataclasses.replace(SYSTEMS[system][0], epochs=1000, pretrain_epochs=1000)
    m = n_anchors or n_anchors_for(n, c, recipe.anchor_factor, recipe.anchor_share)
    solver = solver_of(recipe)
    warm = _WARM["cuda" if device.startswith("cuda") else "cpu"]
    with threads_for(solver.work(n, dims, m, c)):
        generator = torch.Generator().manual_seed(0)
        pipelines, order = solver.pipelines(len(views), c), shuffled(n, generator)
        tensors = prepare(views, pipelines, order, device, torch.float32).views
        widths = [pipeline.n_features_out_ for pipeline in pipelines]
        network = solver.network(widths, c, generator).to_device(device, torch.float32)
        if system.endswith("pre-training"):
            records = solver.pretrain(network, tensors, None, [])
        else:
            source = solver.source(network, tensors, m, generator)
            records = train(network, tensors, c, source, recipe)
        counted, before = _counted(records, warm, epochs, seconds)
    whole = time.perf_counter() - start
    return {
        "n": n,
        "dims": list(dims),
        "c": c,
        "m": m,
        "epoch_s": statistics.median(counted),
        "least_s": min(counted),
        "most_s": max(counted),
        "epochs": len(counted),
        "warm_up_s": sum(before),
        "set_up_s": whole - sum(counted) - sum(before),
        "peak_gb": provenance.peak_gb(device),
    }


def fit_times(recipe, shape, *, device, n_anchors=None, changes=None):
    """The seconds of a whole fit, from arrays to labels, on random views of a shape.

    ``changes`` are fields that are not the recipe's. The parts of ``fit_s`` are ``prepare_s`` to
    the first epoch, ``pretrain_s``, ``train_s``, and ``last_s`` of the last k-means with all that
    follows. A closed form has no epochs.
    """
    n, dims, c = shape_of(shape)
    views = _views(shape)
    provenance.reset_peak_gb(device)
    changes = (changes or {}) | ({"n_anchors": n_anchors} if n_anchors else {})
    made = dataclasses.replace(get_recipe(recipe), **changes)
    clock = _Phases()
    model = DMAC(c, made, random_state=0, device=device).fit(views, callback=clock)
    return {
        "n": n,
        "dims": list(dims),
        "c": c,
        "m": model.n_anchors_,
        "changes": changes,
        **clock.facts(),
        **clock.phases(),
        "peak_gb": provenance.peak_gb(device),
    }


class _Phases:
    """The callback of a fit that keeps when its phases begin and end, and says how far it is."""

    def __init__(self):
        self.start = self.told = time.perf_counter()
        self.counts, self.seconds, self.first, self.end = [0, 0], [0.0, 0.0], None, None

    def __call__(self, record, embed):
        self.end = time.perf_counter()
        phase = int(isinstance(record, EpochRecord))
        if self.first is None:
            self.first = self.end - record.seconds
        self.counts[phase] += 1
        self.seconds[phase] += record.seconds
        if self.end - self.told > 0.5:
            self.told = self.end
            say(**self.facts(), so_far_s=self.end - self.start)

    def facts(self):
        return dict(zip(("pretrain_epochs", "epochs"), self.counts))

    def phases(self):
        now = time.perf_counter()
        if self.first is None:
            return {"fit_s": now - self.start}
        return {
            "fit_s": now - self.start,
            "prepare_s": self.first - self.start,
            "pretrain_s": self.seconds[0],
            "train_s": self.seconds[1],
            "last_s": now - self.end,
        }


def score_means(recipe, dataset, *, device, seeds=3, every=1):
    """Scores and seconds of whole fits on a data set, or every so many samples of it.

    Means over seeds, and ``first_fit_s`` of the first alone.
    """
    data = load(dataset)
    views, labels = [x[::every] for x in data.views], data.labels[::every]
    shape = {"n": len(labels), "dims": list(data.dims), "c": data.n_clusters}
    found, facts = [], {}
    for seed in range(seeds):
        start = time.perf_counter()
        made = DMAC(data.n_clusters, get_recipe(recipe), random_state=seed, device=device)
        predicted = made.fit_predict(views)
        seconds = time.perf_counter() - start
        found.append(scores(labels, predicted) | {"fit_s": seconds})
        facts = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
        facts |= shape | {"seeds": seed + 1, "every": every, "first_fit_s": found[0]["fit_s"]}
        say(**facts)
    return facts


class _Outcomes:
    """A plug-in of pytest that counts tests, and says so after each."""

    def __init__(self):
        self.counts, self.reasons = dict.fromkeys(("passed", "failed", "skipped"), 0), []

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            self.counts[report.outcome] += 1
        if report.outcome != "passed":
            text = getattr(report.longrepr, "reprcrash", None) or report.longrepr
            text = text[2] if isinstance(text, tuple) else getattr(text, "message", str(text))
            self.reasons.append(f"{report.outcome.upper()} {report.nodeid}: {text}"[:500])
        say(**self.facts())

    def facts(self):
        return {**self.counts, "reasons": self.reasons}


def run_tests(files):
    """Run test files with pytest alone: no plug-in, no conftest, no installation."""
    import pytest

    os.chdir(ROOT)
    seen = _Outcomes()
    command = [*files, "-v", "-rfEs", "--tb=short", "--noconftest", "-p", "no:cacheprovider"]
    code = pytest.main([*command, "-o", "addopts=", "-W", "default"], plugins=[seen])
    found = seen.facts()
    if code not in (0, 1):
        found |= {"failed": seen.counts["failed"] or 1}
        found |= {"missing": f"pytest ended with code {int(code)}: see tests.txt"}
    return found


# --- the plan


def datasets_at_hand():
    """Those of the sixteen data sets that are in DMAC_DATA, small ones first, after mfeat."""
    folder = os.environ.get("DMAC_DATA")
    files = {path.name for path in Path(folder).rglob("*") if path.is_file()} if folder else set()
    found = [DATASETS[name] for name in SIXTEEN if DATASETS[name].filename in files]
    return ["mfeat", *(one.name for one in sorted(found, key=lambda one: one.n_samples))]


def jobs_of(profile):
    """The measurements of a profile, the most wanted first: by part, system, data and options."""
    if profile == "quick":
        shapes, sizes, few = ["PIE"], [1000], dict(epochs=3, seconds=3)
        fits = [
            ("RELEASED", 1000, dict(changes=dict(pretrain_epochs=20, epochs=5))),
            ("REVISED", 2000, dict(n_anchors=64, changes=dict(epochs=10))),
            ("CLOSED_FORM", 1000, {}),
        ]
        data, options = ["mfeat"], dict(every=4)
    else:
        # Powers of ten first, and the widest shape late: its views take long to prepare.
        shapes, few = [name for name in SHAPES if name != "CCV"], {}
        sizes = [1000, 10_000, 100_000, 1_000_000, "CCV", 3000, 30_000, 300_000]
        fits = [
            ("CLOSED_FORM", 100_000, _FEW),
            ("CLOSED_FORM", 1_000_000, _FEW),
            ("RELEASED", "ALOI", {}),
            ("REVISED", 1_000_000, _FEW),
        ]
        data, options = datasets_at_hand(), {}
    grown = [(n, few | (_FEW if isinstance(n, int) else {})) for n in sizes]
    named = [(name, few) for name in shapes]
    recipes = ("CLOSED_FORM", "REVISED")
    return {
        "epochs": [(s, on, o) for on, o in named + grown for s in SYSTEMS],
        "fits": fits,
        "scores": [(recipe, name, options) for recipe in recipes for name in data],
    }


def deadlines(budgets, total):
    """By when every part has to end, in seconds from the start: its own time and what was left."""
    scale, ends, end = total / sum(budgets.values()), {}, 0.0
    for part, seconds in budgets.items():
        end += scale * seconds
        ends[part] = end
    return ends


def attempt(child, limit, function, *arguments, **options):
    """What a function finds, or what is known of it and why no more: ``missing``.

    ``failed`` is True where that was neither the time nor the memory.
    """
    if limit <= 0:
        return {"missing": "not reached: the part's time was up"}
    try:
        return child.call(function, *arguments, limit=limit, **options)
    except TimeoutError:
        return child.said | {"missing": f"stopped after {limit:.0f} s, when the part's time was up"}
    except MemoryError:
        return {"missing": "it does not fit the memory"}
    except RuntimeError as error:
        return child.said | {"missing": str(error)[:500], "failed": True}


def _line(facts):
    """A measurement as a line for the terminal."""
    names = ("passed", "failed", "skipped", "epoch_s", "fit_s", "acc", "peak_gb")
    numbers = [f"{name} {facts[name]:.4g}" for name in names if facts.get(name) is not None]
    return "; ".join(numbers + ([facts["missing"]] if "missing" in facts else []))


def _measured(path, about):
    """The numbers that a file has of the same machine and code: by part, system and data."""
    try:
        found = dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        found = {}
    if any(found.get(k) != v for k, v in round_floats(about).items()):
        found = {}
    return {
        part: {
            (one.get("system"), one.get("on")): one
            for one in found.get(part, [])
            if "missing" not in one
        }
        for part in BUDGETS["full"]
    }


def measure(out, *, device="auto", profile=None, total=None, parts=None, files=None):
    """Run all parts within their time, and write gpu.json into a folder after every measurement.

    By default a GPU where there is one with the full profile, else the processor with the quick
    one; ``total`` are seconds for everything, ``parts`` some of the parts, ``files`` the tests.
    What an earlier run of this commit measured on this machine stays.
    """
    start, path = time.monotonic(), Path(out) / "gpu.json"
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    profile = profile or ("full" if device.startswith("cuda") else "quick")
    budgets = {k: v for k, v in BUDGETS[profile].items() if parts is None or k in parts}
    ends = deadlines(budgets, total or sum(budgets.values()))
    about = provenance.about(device)
    there = _measured(path, {"profile": profile, **about})
    content = {
        "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "profile": profile,
        **about,
        "units": UNITS,
        "parts": list(ends),
        "budget_s": max(ends.values()),
        "took_s": None,  # of everything; it stays None if this process is killed
        **{part: [] if part in ends else list(there[part].values()) for part in there},
    }

    def keep(part, found, name=""):
        content[part].append(found)
        write_json(path, round_floats(content))
        print(f"{part}:{name} {_line(found)}", flush=True)

    write_json(path, content)
    if device == "cpu":
        print("There is no GPU here: the processor does the same on small sizes.", flush=True)
    measures = {"epochs": epoch_times, "fits": fit_times, "scores": score_means}
    jobs = jobs_of(profile)
    plain = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "200"}
    with Child(imports=[__name__]) as child:
        if set(ends) - {"tests"}:
            child.start()  # it imports while the tests run
        for part, end in ends.items():
            end += start
            if part == "tests":
                given = [str(file) for file in files or [ROOT / "tests" / "test_gpu.py"]]
                began, none = time.monotonic(), {"passed": 0, "failed": 0, "skipped": 0}
                with Child(environment=plain, log=path.with_name("tests.txt")) as tests:
                    found = none | attempt(tests, end - began, run_tests, given)
                # A process that ended is a failure, like a test's.
                found["failed"] = int(found["failed"])
                keep(part, found | {"tests_s": time.monotonic() - began})
                continue
            for system, on, options in jobs[part]:
                if (system, on) in there[part]:
                    content[part].append(there[part][system, on])
                    continue
                given = (measures[part], system, on)
                found = attempt(child, end - time.monotonic(), *given, device=device, **options)
                if "memory" in found.get("missing", ""):
                    found["peak_gb"] = provenance.card_memory_gb(device)
                keep(part, {"system": system, "on": on} | found, f" {system} on {on}:")
    content["took_s"] = time.monotonic() - start
    write_json(path, round_floats(content))
    return content


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
    print(f"{Path(given.out) / 'gpu.json'}, {content['took_s']:.0f} s")
    found = [one for part in BUDGETS["full"] for one in content[part]]
    sys.exit(any(one.get("failed") for one in found))
