"""Entry point of ``python -m experiments.bench``."""

import argparse
import math
import signal
import sys
from pathlib import Path

import torch

from experiments import bench
from experiments.bench import (
    baselines,
    cluster,
    device,
    epochs,
    fits,
    growth,
    lacking,
    levels,
    measuring,
    parts,
    rare_groups,
    samples,
)
from experiments.harness import Child
from experiments.records import RESULTS

#: What can be measured.
PARTS = {
    "epochs": epochs,
    "parts": parts,
    "fits": fits,
    "growth": growth,
    "baselines": baselines,
    "levels": levels,
    "samples": samples,
    "lacking": lacking,
    "rare groups": rare_groups,
    "cluster": cluster,
    "device": device,
}
#: Seconds of "device" unless others are given: of a GPU, and of a processor in its place.
BUDGET = {"cuda": 520, "cpu": 175}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=bench.__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder with the store")
    parser.add_argument("--budget", type=float, help="seconds for everything")
    parser.add_argument("--device", default="auto", help="of the part device; auto takes a GPU")
    given = parser.parse_args()
    if given.budget is not None and given.budget <= 0:
        parser.error(f"--budget is {given.budget:g}, it must be above 0")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    on, seconds = "cpu", math.inf
    if given.part == "device":
        best = "cuda" if torch.cuda.is_available() else "cpu"
        on = best if given.device == "auto" else given.device
        seconds = BUDGET[on.partition(":")[0]]
        print(f"the GPU {on}" if "cuda" in on else "small sizes on the processor", flush=True)
    with Child() as child:
        jobs = PARTS[given.part].jobs(child, given.results, on)
        about = dict(device=on, seconds=given.budget or seconds)
        sys.exit(bool(measuring.measure(given.results, given.part, jobs, **about)))
