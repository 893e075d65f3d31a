"""Kill fits at random moments, and see that none is lost: ``make faults``.

    python scripts/faults.py --kills 50

The kills (``kill -9``) go in turn to fits with a checkpoint, trained in both ways, and to processes
that fill one store of runs. After each kill the same call is made again. At the end of every piece
of work its outcome must be that of work that was not killed, to the last bit.

Processes are forked from one that has imported everything, so that a fit takes a second.
"""

import argparse
import dataclasses
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # forked processes have no threads

import numpy as np
import torch

sys.path.append(str(Path(__file__).resolve().parents[1] / "notebooks"))


import dmac
from dmac.compute.files import read_tensors, write_tensors
from experiments.store import Store, fill

RECIPES = {
    "revised": dataclasses.replace(dmac.recipes.REVISED, epochs=10),
    "released": dataclasses.replace(dmac.recipes.RELEASED, pretrain_epochs=5, epochs=5),
}
N_RUNS = 40
PATIENCE = 180  # seconds until a process that should end counts as hung


def forked(work, *arguments):
    """Run a function in a process of its own."""
    process = multiprocessing.get_context("fork").Process(target=work, args=arguments)
    process.start()
    return process


def fit(folder, recipe):
    """One fit with a checkpoint."""
    rng = np.random.default_rng(0)
    classes = np.arange(90) % 3
    views = [3 * rng.normal(size=(3, d))[classes] + rng.normal(size=(90, d)) for d in (7, 12)]
    model = dmac.DMAC(3, RECIPES[recipe], random_state=0, device="cpu", dtype="float64")
    model.fit(views, checkpoint=folder / "run", checkpoint_every=1)
    found = {name: getattr(model, f"{name}_") for name in ("labels", "embedding")}
    write_tensors(folder / "out", found | {"centers": model.cluster_centers_}, {})


def fit_outcome(folder, kills):
    """What a fit found."""
    return {name: x.tolist() for name, x in read_tensors(folder / "out")[0].items()}


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


def store_outcome(folder, kills):
    """What a store has: every run once, of which some were made again where a kill stopped them."""
    made = len((folder / "made").read_text().split())
    seeds = sorted(record["seed"] for record in Store(folder / "runs").refresh().records.values())
    lines = sum(p.read_bytes().count(b"\n") for p in (folder / "runs").rglob("*.jsonl"))
    if seeds != list(range(N_RUNS)) or lines != N_RUNS or made > N_RUNS + kills:
        sys.exit(f"lost: {len(seeds)} of {N_RUNS} runs, {lines} lines, {made} made, {kills} kills")
    return {"runs": seeds}


#: What can be killed: how it starts, and its outcome.
KINDS = {
    "revised": (lambda folder: [forked(fit, folder, "revised")], fit_outcome),
    "released": (lambda folder: [forked(fit, folder, "released")], fit_outcome),
    "store": (lambda folder: [forked(fill_store, folder) for _ in range(2)], store_outcome),
}


def once(start, folder, moment, rng):
    """Start the processes of a piece of work, kill one after so many seconds: how they ended."""
    processes = start(folder)
    if moment is not None:
        time.sleep(moment)
        rng.choice(processes).kill()
    for process in processes:
        process.join(PATIENCE)
        if process.is_alive():
            process.kill()
            sys.exit(f"lost: a process has not ended in {PATIENCE} s")
    return [process.exitcode for process in processes]


def work_on(name, kills, seconds, rng):
    """One piece of work to its end, with at most so many kills: how many, and its outcome."""
    start, outcome = KINDS[name]
    happened = 0
    with tempfile.TemporaryDirectory() as folder:
        for attempt in range(7):
            last = happened == kills or attempt == 6
            moment = None if last else rng.uniform(0, seconds)
            codes = once(start, Path(folder), moment, rng)
            if -signal.SIGKILL in codes:
                happened += 1
            elif any(codes):
                sys.exit(f"lost: {name} cannot go on after {happened} kills: {codes}")
            else:
                break
        return happened, outcome(Path(folder), happened)


def inject(kills, seed):
    """Kill so many processes at random moments, and stop if something was lost."""
    rng = random.Random(seed)
    for number, name in enumerate(KINDS):
        share = kills // len(KINDS) + (number < kills % len(KINDS))
        start = time.monotonic()
        _, whole = work_on(name, 0, 0, rng)
        seconds, done, finished = time.monotonic() - start, 0, 0
        while done < share:
            happened, found = work_on(name, share - done, seconds, rng)
            done, finished = done + happened, finished + 1
            if lost := [what for what in whole if found[what] != whole[what]]:
                sys.exit(f"lost: {name}: {', '.join(lost)} differ after {happened} kills")
        print(f"{name}: {done} kills, {finished} pieces of work whole")
    print(f"{kills} kills, nothing lost")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    inject(given.kills, given.seed)
