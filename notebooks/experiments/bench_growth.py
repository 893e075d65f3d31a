r"""How whole fits grow with the number of samples, and what several processes need.

    python -m experiments.bench_growth --save notebooks/results/growth.json

fits three views of 64 features and ten clusters, ever more samples, each fit in a process of its
own with two threads; then a sharded fit by two processes of one thread.
``notebooks/05_runtime.ipynb`` shows what is stored.
"""

import argparse
import contextlib
import dataclasses
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

import dmac
from dmac.anchors import n_anchors_for
from dmac.recipes import CLOSED_FORM, REVISED
from experiments import provenance
from experiments.bench import synthetic_views

#: By name in tables.
RECIPES = {"CLOSED_FORM": CLOSED_FORM, "REVISED": REVISED}
#: Samples of each fit, by recipe and by whether the number of anchors is fixed.
SIZES = {
    ("CLOSED_FORM", True): (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    ("CLOSED_FORM", False): (1_000, 3_000, 10_000, 30_000, 100_000),
    ("REVISED", True): (1_000, 3_000, 10_000, 30_000, 100_000),
    ("REVISED", False): (1_000, 3_000, 10_000, 30_000),
}
#: The fixed number of anchors, and the clusters of the data.
ANCHORS, CLUSTERS = 512, 10
#: Widths of the views.
DIMS = (64, 64, 64)


def recipe_with(name, n_samples, fixed):
    """A recipe, with `ANCHORS` anchors if their number is fixed, and with its own rule otherwise.

    Parameters
    ----------
    name : str
        A key of `RECIPES`.
    n_samples : int
    fixed : bool

    Returns
    -------
    dmac.recipes.Recipe
    """
    recipe = RECIPES[name]
    if not fixed:
        return recipe
    # A little more, since the product is rounded down.
    factor = (ANCHORS + 0.5) / math.sqrt(n_samples * CLUSTERS)
    return dataclasses.replace(recipe, anchor_factor=factor)


def fit_once(name, n_samples, fixed, folder=None):
    """Fit in this process, or with the other processes of a torchrun.

    Parameters
    ----------
    name, n_samples, fixed
        As of `recipe_with`.
    folder : path, optional
        Where the views lie as ``0.npy`` and so on: they are sharded over the processes.

    Returns
    -------
    dict
        ``n``, ``m``, ``seconds`` of the fit, and ``peak_gb`` of this process.
    """
    recipe = recipe_with(name, n_samples, fixed)
    model = dmac.DMAC(CLUSTERS, recipe, random_state=0, device="cpu")
    if folder is None:
        views, fit = synthetic_views(n_samples, DIMS, CLUSTERS), model.fit
    else:
        from dmac.distributed import fit_sharded, open_view

        views = [open_view(path) for path in sorted(Path(folder).glob("*.npy"))]

        def fit(views):
            return fit_sharded(model, views)

    start = time.perf_counter()
    fit(views)
    seconds = time.perf_counter() - start
    m = n_anchors_for(n_samples, CLUSTERS, recipe.anchor_factor, recipe.anchor_share)
    peak = round(provenance.peak_memory() / 1e3, 3)
    return {"n": n_samples, "m": m, "seconds": round(seconds, 3), "peak_gb": peak}


def _command(name, n_samples, fixed, folder=None):
    command = ["-m", "experiments.bench_growth", "--child", name, str(n_samples)]
    command += ["--fixed"] if fixed else []
    return command + (["--folder", str(folder)] if folder else [])


def measure_alone(name, n_samples, fixed, threads=2):
    """`fit_once` in a process of its own.

    Parameters
    ----------
    name, n_samples, fixed
        As of `recipe_with`.
    threads : int

    Returns
    -------
    dict
        As of `fit_once`, with ``recipe``, ``fixed`` and ``threads``.
    """
    command = [sys.executable, *_command(name, n_samples, fixed), "--threads", str(threads)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed: {done.stderr[-2000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    return {"recipe": name, "fixed": fixed, "threads": threads} | found


def measure_sharded(name, n_samples, processes=2):
    """A fit on a fixed number of anchors by several processes of one thread, on this machine.

    Parameters
    ----------
    name : str
        A key of `RECIPES`.
    n_samples : int
    processes : int

    Returns
    -------
    dict
        ``recipe``, ``processes``, ``n``, ``m``, ``seconds``, and ``peak_gb`` of each process.
    """
    with tempfile.TemporaryDirectory() as folder:
        for a, view in enumerate(synthetic_views(n_samples, DIMS, CLUSTERS)):
            np.save(Path(folder) / f"{a}.npy", view)
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        command += ["--nproc-per-node", str(processes)]
        command += _command(name, n_samples, True, folder)
        done = subprocess.run([*command, "--threads", "1"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed: {done.stderr[-6000:]}")
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    slowest = max(found, key=lambda one: one["seconds"])
    peaks = [one["peak_gb"] for one in found]
    return {"recipe": name, "processes": processes} | slowest | {"peak_gb": peaks}


def measure(path, sizes, sharded, report=print):
    """Time what a file lacks, and store each record as soon as it is there.

    Parameters
    ----------
    path : path
        A .json file, made if it is missing.
    sizes : dict
        As `SIZES`.
    sharded : sequence of int
        Numbers of samples for two processes, CLOSED_FORM.
    report : callable

    Returns
    -------
    dict
        What the file holds: ``fits``, ``sharded`` and ``machine``.
    """
    path = Path(path)
    stored = {"fits": [], "sharded": []}
    if path.exists():
        stored = json.loads(path.read_text())

    def keep(record, where):
        stored[where].append(record | {"load": round(os.getloadavg()[0], 2)})
        stored["machine"] = provenance.machine()
        path.write_text(json.dumps(stored, indent=1) + "\n")
        report(stored[where][-1])

    have = {(one["recipe"], one["fixed"], one["n"]) for one in stored["fits"]}
    for (name, fixed), numbers in sizes.items():
        for n in numbers:
            if (name, fixed, n) not in have:
                keep(measure_alone(name, n, fixed), "fits")
    for n in sharded:
        if n not in [one["n"] for one in stored["sharded"]]:
            keep(measure_sharded("CLOSED_FORM", n), "sharded")
    return stored


def _child(given):
    name, n = given.child[0], int(given.child[1])
    torch.set_num_threads(given.threads)
    group = contextlib.nullcontext()
    if given.folder:
        import torch.distributed as dist

        dist.init_process_group("gloo")
        group = contextlib.closing(type("Group", (), {"close": dist.destroy_process_group}))
    with group:
        # One write for each line: the processes of a torchrun share their output.
        sys.stdout.write(json.dumps(fit_once(name, n, given.fixed, given.folder)) + "\n")
        sys.stdout.flush()


def main():
    """Entry point of ``python -m experiments.bench_growth``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", type=Path, default=Path("growth.json"), help="the .json file")
    parser.add_argument("--most", type=int, default=1_000_000, help="samples, at most so many")
    parser.add_argument("--sharded", nargs="*", type=int, default=[300_000], help="samples")
    parser.add_argument("--threads", type=int, default=2, help=argparse.SUPPRESS)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--fixed", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        _child(given)
        return
    sizes = {key: [n for n in numbers if n <= given.most] for key, numbers in SIZES.items()}
    measure(given.save, sizes, given.sharded)


if __name__ == "__main__":
    main()
