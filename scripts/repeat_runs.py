"""Make stored runs again, and say how far their last-epoch scores are from the stored ones.

    python scripts/repeat_runs.py --count 3
    python scripts/repeat_runs.py --datasets mfeat --seed 1

The runs are drawn at random. The exit status is 1 if a score differs by
more than --points, or a run is of other data. With the same versions, threads and processor the
difference is 0; another processor rounds differently.
"""

import argparse
import os
import random
import sys
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from dmac import experiments
from dmac.runs import Spec, make_run


def repeat(record, **options):
    """The largest difference of ACC and NMI in points, between a stored run and its repetition."""
    names = ("dataset", "method", "settings", "seed")
    spec = Spec(*(record[name] for name in names), file="repeated")
    found = spec.identity(**options)["data"]
    if found != record["data"]:
        raise ValueError(f"{record['dataset']} is not what the run was made on: its hash is {found}")
    scores = make_run(spec, threads=record["threads"], **options)["scores"]
    return max(100 * abs(scores[name] - record["scores"][name]) for name in ("acc", "nmi"))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--datasets", nargs="+", help="by default all that have stored runs")
    parser.add_argument("--seed", type=int, default=0, help="of the draw of runs")
    parser.add_argument("--points", type=float, default=0.5, help="the largest difference allowed")
    parser.add_argument("--results", type=Path, default=experiments.RESULTS)
    given = parser.parse_args(arguments)
    stored = [
        record
        for record in experiments.open_store(given.results).refresh().records()
        if "scores" in record and record["dataset"] in (given.datasets or [record["dataset"]])
    ]
    stored.sort(key=lambda record: record["key"])
    worst = 0.0
    for record in random.Random(given.seed).sample(stored, min(given.count, len(stored))):
        far = repeat(record)
        worst = max(worst, far)
        name = f"{record['dataset']}, {record['method']}, seed {record['seed']}"
        print(f"{name} ({record['key'][:12]}): {far:.2f} points apart", flush=True)
    return int(worst > given.points)


if __name__ == "__main__":
    sys.exit(main())
