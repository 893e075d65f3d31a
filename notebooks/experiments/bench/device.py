"""A device: its tests, epochs, whole fits and scores."""

import itertools
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

import dmac
from dmac.data.datasets import DATASETS
from dmac.estimators import CollapseWarning, estimator_of
from dmac.views import load
from experiments import provenance, studies
from experiments.bench.epochs import EPOCHS_OF, epoch_seconds
from experiments.bench.growth import fit_growing
from experiments.bench.measuring import OURS, Job
from experiments.bench.shapes import ANCHORS

ROOT = Path(__file__).parents[3]

#: What is timed by the epoch, by its name in the file.
ON_A_DEVICE = {
    "PUBLISHED": "published",
    "RELEASED": "released",
    "RELEASED, pre-training": "pretraining",
    "REVISED": "revised",
}


#: The recipes that are scored.
SCORED = ("CLOSED_FORM", "REVISED")


def run_tests(files=(ROOT / "tests" / "test_gpu.py",), limit=None):
    """Run test files with pytest alone: no plug-in, no conftest, no installation.

    Returns
    -------
    dict
        How many ``passed`` and were ``skipped``, and the ``reasons`` of the latter.

    Raises
    ------
    RuntimeError
        If a test fails, or pytest cannot run the files: that is no evidence.
    """
    options = ["-v", "--noconftest", "-p", "no:cacheprovider", "-o", "addopts=", "-W", "default"]
    paths = os.pathsep.join(filter(None, [str(ROOT), *sys.path]))
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": paths}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", *map(str, files), *options]
        try:
            done = subprocess.run(
                [*command, f"--junitxml={report}"], timeout=limit, env=environment, cwd=ROOT
            )
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"more than {limit:.0f} s") from None
        cases = list(ElementTree.parse(report).iter("testcase")) if report.exists() else []
    outcomes = {case.get("name"): next(iter(case), None) for case in cases}
    skipped = {name: one.get("message") for name, one in outcomes.items() if one is not None}
    if done.returncode:
        raise RuntimeError(f"pytest ended with code {done.returncode}: {skipped}")
    counts = {"passed": len(cases) - len(skipped), "failed": 0, "skipped": len(skipped)}
    return counts | {"reasons": [f"{name}: {why}"[:500] for name, why in skipped.items()]}


def epoch_on(system, on, *, device, **options):
    """The median epoch of one of `ON_A_DEVICE`, on random views of a shape or of so many samples.

    Returns
    -------
    dict
        ``n``, ``m``, ``epoch_s`` and ``peak_gb`` of the device, or the process on a processor.
    """
    many = dict(name="growth", n_samples=on, n_anchors=ANCHORS)
    shape = many if isinstance(on, int) else {"name": on}
    warm = 3 if device.startswith("cuda") else 1
    options |= {"epochs": options["epochs"] + warm, "warm": warm}
    timed = epoch_seconds(ON_A_DEVICE[system], **shape, device=device, drawn=True, **options)
    peak = timed["peak_gb"]
    return {"n": timed["n"], "m": timed["m"], "epoch_s": timed["median"], "peak_gb": peak}


def fit_on(system, on, *, device):
    """A whole fit on random views, as `epoch_on`, with ``fit_s``; `ANCHORS` of many samples."""
    many = isinstance(on, int)
    n, shape = (on, "growth") if many else (None, on)
    fit = fit_growing(system, n, many, shape=shape, device=device)
    return {"n": fit["n"], "m": fit["m"], "fit_s": fit["seconds"], "peak_gb": fit["peak_gb"]}


def score_means(recipe, dataset, *, device, seeds=3, every=1):
    """Scores and seconds of whole fits on a data set, or every so many samples of it.

    Means over seeds, and ``first_fit_s`` of the first alone.
    """
    data = load(dataset)
    views, labels = [x[::every] for x in data.views], data.labels[::every]
    chosen, fits = OURS[recipe], []
    for seed in range(seeds):
        start = time.perf_counter()
        model = estimator_of(chosen)(data.n_clusters, chosen, random_state=seed, device=device)
        with warnings.catch_warnings(action="ignore", category=CollapseWarning):
            predicted = model.fit_predict(views)
        fits.append(dmac.scores(labels, predicted) | {"fit_s": time.perf_counter() - start})
    means = {name: float(np.mean([fit[name] for fit in fits])) for name in fits[0]}
    about = {"n": len(labels), "seeds": seeds, "every": every, "first_fit_s": fits[0]["fit_s"]}
    return means | about


def datasets_at_hand():
    """Those of the sixteen data sets that are in DMAC_DATA, small ones first, after mfeat."""
    folder = os.environ.get("DMAC_DATA")
    files = {path.name for path in Path(folder).rglob("*") if path.is_file()} if folder else set()
    there = [DATASETS[name] for name in studies.SIXTEEN if DATASETS[name].filename in files]
    return ["mfeat", *(one.name for one in sorted(there, key=lambda one: one.n_samples))]


def device_plan(small):
    """What is measured on a device: function, kind, system, on, options.

    Epochs, fits and scores in turn, of each the most wanted first, for the time may end.
    """
    if small:
        shapes, few = ["PIE", 1000], dict(epochs=3, most=3)
        fits = [("CLOSED_FORM", 1000), ("REVISED", 1000)]
        data, options = ["mfeat"], dict(every=4)
    else:
        # Powers of ten first, and the widest shape late: its views take long to prepare.
        shapes = [name for name in EPOCHS_OF if name not in ("CCV", "ALOI, 1 of 4 views")]
        shapes += [1000, 10_000, 100_000, 1_000_000, "CCV", 3000, 30_000, 300_000]
        few = dict(epochs=12, most=6)
        fits = [("CLOSED_FORM", 100_000), ("CLOSED_FORM", 1_000_000)]
        fits += [("RELEASED", "ALOI"), ("REVISED", 1_000_000)]
        data, options = datasets_at_hand(), {}
    in_turn = itertools.zip_longest(
        [[(epoch_on, "epochs", system, on, few) for system in ON_A_DEVICE] for on in shapes],
        [[(fit_on, "fits", system, on, {})] for system, on in fits],
        [[(score_means, "scores", s, name, options) for s in SCORED] for name in data],
        fillvalue=(),
    )
    yield from itertools.chain.from_iterable(itertools.chain.from_iterable(in_turn))


def jobs(child, folder, device):
    """Named by the card, or the processor in its place, and the commit, too."""
    here = provenance.about(device)
    here = {"card": here["card"], "commit": here["code"]["commit"]}
    yield Job("tests", {"on": "tests/test_gpu.py"} | here, run_tests)
    for function, of, system, on, options in device_plan(not device.startswith("cuda")):
        about = {"system": system, "on": on} | here
        yield Job(of, about, child.call, function, system, on, device=device, **options)
