"""Kill fits at random moments, and see that none is lost: ``make faults``.

    python scripts/faults.py --kills 50

The kills (``kill -9``) go in turn to fits with a checkpoint, trained in both ways; to processes
that fill one store of runs; and to fits whose samples are spread over two processes, of which one
dies. After each kill the same call is made again. At the end of every piece of work its
outcome must be that of work that was not killed, to the last bit.

Processes are forked from one that has imported everything, so that a fit takes a second.
"""

import argparse
import collections
import contextlib
import dataclasses
import datetime
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # forked processes have no threads

import numpy as np
import torch
import torch.distributed as dist

sys.path.append(str(Path(__file__).resolve().parents[1] / "notebooks"))

import dmac
from dmac.distributed import fit_sharded
from experiments.store import Store, fill

RECIPES = {
    "revised": dataclasses.replace(dmac.recipes.REVISED, epochs=10),
    "released": dataclasses.replace(dmac.recipes.RELEASED, pretrain_epochs=5, epochs=5),
}
N_RUNS = 40
PATIENCE = 180  # seconds until a process that should end counts as hung


class Failure(Exception):
    """Something was lost."""


def views():
    """Two views of 90 samples in three classes."""
    rng = np.random.default_rng(0)
    classes = np.arange(90) % 3
    return [3 * rng.normal(size=(3, d))[classes] + rng.normal(size=(90, d)) for d in (7, 12)]


def forked(work, *arguments):
    """Run a function in a process of its own; its id."""
    sys.stdout.flush()
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        sys.stderr = open(os.devnull, "w") if os.environ.get("DMAC_QUIET") else sys.stderr
        work(*arguments)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def ended(process, seconds=PATIENCE):
    """The exit code of a process, minus the signal that ended it."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    raise Failure(f"a process has not ended in {seconds} s")


def write(folder, model):
    """What a fit found, under its name only when it is whole."""
    path = folder / "new.npz"
    np.savez(path, labels=model.labels_, embedding=model.embedding_, centers=model.cluster_centers_)
    path.rename(folder / "out.npz")


def fit(folder, recipe):
    """One fit with a checkpoint."""
    model = dmac.DMAC(3, RECIPES[recipe], random_state=0, device="cpu", dtype="float64")
    write(folder, model.fit(views(), checkpoint=folder / "run", checkpoint_every=1))


def fit_part(folder, rank, meeting):
    """One of two processes of a fit."""
    dist.init_process_group(
        "gloo",
        init_method=f"file://{meeting}",
        rank=rank,
        world_size=2,
        timeout=datetime.timedelta(seconds=60),
    )
    model = dmac.DMAC(3, RECIPES["revised"], random_state=0, device="cpu", dtype="float64")
    fit_sharded(model, views(), checkpoint=folder / "run", checkpoint_every=1)
    if rank == 0:
        write(folder, model)


def fill_store(folder):
    """Make all runs of a store that it lacks."""
    log = os.open(folder / "made", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def make(seed):
        os.write(log, b"%d\n" % seed)
        time.sleep(0.01)
        return {"filling": "x" * (10, 100_000)[seed % 2]}

    run = {"dataset": "toy", "data": "0f", "method": "DMAC", "settings": {"lr": 0.1}}
    listed = [(run | {"seed": seed}, f"group{seed % 3}", seed) for seed in range(N_RUNS)]
    for _ in fill(Store(folder / "runs"), listed, make, patience=0.01):
        pass


class Fits:
    """Fits of one process under one recipe."""

    def __init__(self, recipe):
        self.name, self.recipe, self.whole = f"fit, {recipe}", recipe, None

    def start(self, folder):
        """Begin the work, or go on with it; the processes."""
        return [forked(fit, folder, self.recipe)]

    def check(self, folder, kills):
        """That the outcome is that of work that was not killed, which came first."""
        with np.load(folder / "out.npz", allow_pickle=False) as file:
            found = dict(file)
        if self.whole is None:
            self.whole = found
        for name, values in self.whole.items():
            if not np.array_equal(found[name], values):
                raise Failure(f"{self.name}: {name} differ after {kills} kills")


class Stores:
    """Processes that fill a store."""

    name = "store"

    def start(self, folder):
        """As `Fits.start`; two processes share the work."""
        return [forked(fill_store, folder), forked(fill_store, folder)]

    def check(self, folder, kills):
        """That no run is missing, twice there, or was made again without need."""
        records = Store(folder / "runs").refresh().records()
        if sorted(record["seed"] for record in records) != list(range(N_RUNS)):
            raise Failure(f"the store has {len(records)} of {N_RUNS} runs after {kills} kills")
        lines = sum(len(p.read_text().splitlines()) for p in (folder / "runs").rglob("*.jsonl"))
        made = len((folder / "made").read_text().split())
        if lines != N_RUNS or made > N_RUNS + kills:
            raise Failure(f"{lines} lines, {made} runs made for {N_RUNS} after {kills} kills")


class Shards(Fits):
    """Fits in two processes."""

    def __init__(self):
        super().__init__("revised")
        self.name = "fit_sharded"

    def start(self, folder):
        """As `Fits.start`."""
        meeting = folder / f"meeting {time.monotonic_ns()}"
        return [forked(fit_part, folder, rank, meeting) for rank in (0, 1)]


#: What can be killed, by the names that ``--kinds`` takes.
KINDS = {
    "revised": lambda: Fits("revised"),
    "released": lambda: Fits("released"),
    "store": Stores,
    "sharded": Shards,
}


def once(work, folder, moment, rng):
    """Start the processes of a piece of work, kill one after so many seconds: how they ended."""
    processes = work.start(folder)
    if moment is not None:
        time.sleep(moment)
        with contextlib.suppress(ProcessLookupError):
            os.kill(rng.choice(processes), signal.SIGKILL)
    return [ended(process) for process in processes]


def inject(kills, seed=0, kinds=tuple(KINDS), say=print):
    """Kill so many processes at random moments.

    Parameters
    ----------
    kills : int
    seed : int
    kinds : sequence of str
        Keys of `KINDS`.
    say : callable

    Returns
    -------
    dict of str to int
        Kills by the kind of work.

    Raises
    ------
    Failure
        If something was lost.
    """
    rng = random.Random(seed)
    counts, finished = collections.Counter(), collections.Counter()
    for number, work in enumerate(KINDS[name]() for name in kinds):
        share = kills // len(kinds) + (number < kills % len(kinds))
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            if any(once(work, Path(folder), None, rng)):
                raise Failure(f"{work.name} fails without a kill")
            seconds = time.monotonic() - start
            work.check(Path(folder), 0)
        while counts[work.name] < share:
            with tempfile.TemporaryDirectory() as folder:
                here, tries = 0, 0
                while True:  # to the end of this piece, with at most a few kills
                    last = counts[work.name] == share or tries == 6
                    codes = once(work, Path(folder), None if last else rng.uniform(0, seconds), rng)
                    tries += 1
                    if -signal.SIGKILL in codes:
                        here, counts[work.name] = here + 1, counts[work.name] + 1
                    elif any(codes):
                        raise Failure(f"{work.name} cannot go on after {here} kills: {codes}")
                    if not any(codes):
                        break
                work.check(Path(folder), here)
                finished[work.name] += 1
        say(f"{work.name}: {counts[work.name]} kills, {finished[work.name]} pieces of work whole")
    say(f"{sum(counts.values())} kills, nothing lost")
    return dict(counts)


def main(arguments=None):
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    try:
        inject(given.kills, given.seed, given.kinds)
    except Failure as failure:
        sys.exit(f"lost: {failure}")


if __name__ == "__main__":
    main()
