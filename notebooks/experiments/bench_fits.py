r"""Whole fits: seconds from arrays to labels, every system on every data set.

    python -m experiments.bench_fits --save notebooks/results/fits.json

Each data set and number of threads has a process of its own, which fits one system after the other.
A fit that takes longer than the limit is stopped, and that system is not begun on data sets that
have no fewer samples and no fewer views. What is in the file is not timed again, so an interrupted
run goes on. ``notebooks/05_runtime.ipynb`` shows what is stored.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

import dmac
from dmac.data.datasets import DATASETS
from experiments import libraries, plan, provenance
from experiments.bench import synthetic_views
from experiments.run import LIBRARIES, METHODS, Spec, make_run

#: By name in tables: method and settings. RELEASED and the systems that train a network are not
#: among them: with their published schedules a fit takes minutes to hours.
SYSTEMS = {
    **{name: (name, settings) for name, (_, settings) in METHODS.items()},
    **{name: plan.COMPARISON[name] for name in ("CLOSED_FORM", "REVISED", "PUBLISHED")},
    **plan.SHALLOW_PEERS,
    **{name: plan.LIBRARIES[name] for name in libraries.ESTIMATORS},
}
#: Seconds after which a fit is stopped.
LIMIT = 40


class Toy:
    """Three well separated clusters, fitted before anything is timed: it loads what is loaded late.

    Attributes
    ----------
    name, views, labels, n_clusters
        As a :class:`dmac.data.datasets.Dataset` has them.
    """

    name, n_clusters = "toy", 3

    def __init__(self):
        self.views = [abs(x) for x in synthetic_views(90, (8, 8, 8), 3)]
        self.labels = np.arange(90) % 3


def fit_all(dataset, names, threads, limit, emit):
    """Fit some systems on a data set, in this process, which the limit kills.

    Parameters
    ----------
    dataset : str
    names : sequence of str
        Keys of `SYSTEMS`.
    threads : int
    limit : float
        Seconds of each.
    emit : callable
        Called with the record of every fit: ``system``, ``dataset``, ``threads``, and either
        ``seconds``, ``acc`` and ``nmi`` or ``error``.
    """
    dmac.load(dataset)  # an unknown one is no error of a system
    for name in names:
        method, settings = SYSTEMS[name]
        record = {"system": name, "dataset": dataset, "threads": threads}
        # The settings of a timed run of DMAC let a fit choose its threads as a user's does.
        own = settings | {"threads": threads} if method == "DMAC" else settings
        signal.setitimer(signal.ITIMER_REAL, limit)
        try:
            make_run(Spec("toy", method, own, 0, ""), threads=threads, load=lambda _: Toy())
        except Exception:  # what it cannot do with a toy is no matter
            pass
        signal.setitimer(signal.ITIMER_REAL, limit)
        try:
            outcome = make_run(Spec(dataset, method, own, 0, ""), threads=threads)
        except Exception as error:  # a system's own refusal is its result
            outcome = {"error": f"{type(error).__name__}: {error}"}
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if "error" in outcome:
            emit(record | {"error": outcome["error"]})
            continue
        seconds = outcome["seconds"]
        seconds = seconds["fit"] if isinstance(seconds, dict) else seconds
        scores = {name: round(outcome["scores"][name], 4) for name in ("acc", "nmi")}
        emit(record | {"seconds": round(seconds, 3)} | scores)


def run_child(dataset, names, threads, limit):
    """`fit_all` in a process of its own; if the limit kills it, another goes on after that system.

    Parameters
    ----------
    dataset, names, threads, limit
        As of `fit_all`.

    Yields
    ------
    dict
        The records.

    Raises
    ------
    RuntimeError
        If the process fails in another way.
    """
    left = list(names)
    while left:
        command = [sys.executable, "-m", "experiments.bench_fits", "--child", dataset]
        command += ["--threads", str(threads), "--limit", str(limit), "--systems", *left]
        done = subprocess.run(command, capture_output=True, text=True)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        yield from lines
        left = left[len(lines) :]
        if done.returncode == -signal.SIGALRM and left:
            stopped = {"system": left.pop(0), "dataset": dataset, "threads": threads}
            yield stopped | {"error": f"more than {limit:g} s"}
        elif done.returncode:
            raise RuntimeError(f"{' '.join(command[1:])} failed: {done.stderr[-2000:]}")


def installed(names):
    """The systems among some that can be run here: those of libraries need their library."""
    return [
        name
        for name in names
        if name not in LIBRARIES
        or libraries.installed_version(libraries.ESTIMATORS[name].library) is not None
    ]


def stopped_on(system, dataset, fits):
    """A data set with at most as many samples and views on which a system was stopped, or None.

    Parameters
    ----------
    system, dataset : str
    fits : list of dict
        Records, as of `fit_all`.

    Returns
    -------
    str or None
    """
    here = DATASETS.get(dataset)
    for one in fits:
        other = DATASETS.get(one["dataset"])
        stopped = one["system"] == system and one.get("error", "").startswith("more than")
        if stopped and here and other and other.n_samples <= here.n_samples:
            if len(other.dims) <= len(here.dims):
                return one["dataset"]
    return None


def measure(path, datasets, names, threads=(1, 2), limit=LIMIT, report=print):
    """Time what a file lacks, and store each record as soon as it is there.

    A system that was stopped with one thread is not begun with two, and see `stopped_on`.

    Parameters
    ----------
    path : path
        A .json file, made if it is missing.
    datasets, names : sequences of str
    threads : sequence of int
    limit : float
    report : callable
        Called with a line for each record.

    Returns
    -------
    dict
        What the file holds: ``fits``, a list of records, and ``machine``.
    """
    path = Path(path)
    stored = json.loads(path.read_text()) if path.exists() else {"fits": []}

    def keep(record):
        stored["fits"].append(record | {"load": round(os.getloadavg()[0], 2)})
        stored["machine"] = provenance.machine()
        path.write_text(json.dumps(stored, indent=1) + "\n")
        report(stored["fits"][-1])

    for dataset in datasets:
        for number in threads:
            have = {
                record["system"]
                for record in stored["fits"]
                if record["dataset"] == dataset
                and (record["threads"] == number or "error" in record)
            }
            lacking = [name for name in installed(names) if name not in have]
            before = {name: stopped_on(name, dataset, stored["fits"]) for name in lacking}
            for name, other in before.items():
                if other is not None:
                    record = {"system": name, "dataset": dataset, "threads": number}
                    keep(record | {"error": f"more than {limit:g} s on {other}, not begun here"})
            begun = [name for name in lacking if before[name] is None]
            for record in run_child(dataset, begun, number, limit):
                keep(record)
    return stored


def main():
    """Entry point of ``python -m experiments.bench_fits``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", type=Path, default=Path("fits.json"), help="the .json file")
    parser.add_argument("--datasets", nargs="+", help="by default all at hand")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of a fit")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:

        def emit(record):
            print(json.dumps(record), flush=True)

        fit_all(given.child, given.systems, given.threads[0], given.limit, emit)
        return
    datasets = given.datasets or [name for name in dmac.available() if name != "mfeat"]
    # Small ones first, since what was stopped there is not begun on larger ones.
    datasets.sort(key=lambda name: DATASETS[name].n_samples if name in DATASETS else 0)
    measure(given.save, datasets, given.systems, given.threads, given.limit)


if __name__ == "__main__":
    main()
