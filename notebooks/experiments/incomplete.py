"""Accuracy where samples lack views: CLOSED_FORM, and the same without filling anything in.

    python -m experiments.incomplete                  # seven sets, 30, 50 and 70 %, three seeds
    python -m experiments.incomplete BBC --rates 0.5 --seeds 0

(from ``notebooks``, or with it on the path). Pairs of sample and view are missing at random; a
sample that would lack all of them keeps one. Rows that the file has are not computed again.
"""

import argparse
import csv
import dataclasses
import time
from pathlib import Path
from typing import ClassVar

import numpy as np
import scipy.sparse

import dmac
from dmac.recipes import CLOSED_FORM, SpectralRecipe
from dmac.solvers.spectral import SpectralSolver

FILE = Path(__file__).resolve().parents[1] / "results" / "incomplete.csv"
SETS = ("HandWritten", "BBC", "PIE", "3Sources", "BBCSport", "100Leaves", "Yale-3view")
RATES, SEEDS = (0.3, 0.5, 0.7), (0, 1, 2)
FIELDS = ("recipe", "data", "rate", "seed", "acc", "nmi", "seconds")


class UnfilledSolver(SpectralSolver):
    """The closed form that takes rows of zeros as they are, whatever their share is."""

    def completes(self, blocks, present):
        return False


@dataclasses.dataclass(frozen=True)
class Unfilled(SpectralRecipe):
    """Its recipe."""

    solver: ClassVar[str] = "experiments.incomplete:UnfilledSolver"


def unfilled(recipe=CLOSED_FORM):
    """The recipe without completion."""
    return Unfilled(**vars(recipe) | {"name": "unfilled"})


def random_pattern(n, v, rate, seed):
    """Which views each sample has, (n, v): missing at random, but for one of each sample."""
    rng = np.random.default_rng(seed)
    present = rng.random((n, v)) >= rate
    none = np.flatnonzero(~present.any(1))
    present[none, rng.integers(v, size=len(none))] = True
    return present


def without(views, present):
    """The views with rows of zeros where they are missing."""
    return [scipy.sparse.diags_array(present[:, a].astype(float)) @ x for a, x in enumerate(views)]


def measure(recipe, data, rate, seed):
    """One fit: accuracy and NMI in per cent, and seconds of the processor."""
    present = random_pattern(data.n_samples, data.n_views, rate, seed)
    model = dmac.DMAC(data.n_clusters, recipe, random_state=seed, device="cpu")
    start = time.process_time()
    labels = model.fit_predict(without(data.views, present))
    seconds = time.process_time() - start
    scores = dmac.scores(data.labels, labels)
    return [round(100 * scores["acc"], 2), round(100 * scores["nmi"], 2), round(seconds, 2)]


def read(file=FILE):
    """What was measured: dictionaries by `FIELDS`, all but the first two numbers."""
    if not Path(file).exists():
        return []
    with open(file, newline="", encoding="utf-8") as lines:
        return [
            {k: x if k in FIELDS[:2] else float(x) for k, x in row.items()}
            for row in csv.DictReader(lines)
        ]


def means(rows, what="acc"):
    """Mean over the seeds by (recipe, data, rate)."""
    found = {}
    for row in rows:
        found.setdefault((row["recipe"], row["data"], row["rate"]), []).append(row[what])
    return {key: float(np.mean(values)) for key, values in found.items()}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", nargs="*", default=SETS)
    parser.add_argument("--rates", nargs="+", type=float, default=RATES)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--out", type=Path, default=FILE)
    given = parser.parse_args(arguments)
    done = {tuple(row[field] for field in FIELDS[:4]) for row in read(given.out)}
    if not done:
        with open(given.out, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow(FIELDS)
    for name in given.data:
        data = dmac.load(name)
        for recipe in (unfilled(), CLOSED_FORM):
            for rate in given.rates:
                for seed in given.seeds:
                    key = (recipe.name, name, rate, seed)
                    if key in done:
                        continue
                    with open(given.out, "a", newline="", encoding="utf-8") as file:
                        row = [*key, *measure(recipe, data, rate, seed)]
                        csv.writer(file, lineterminator="\n").writerow(row)
                    print(*row, flush=True)


if __name__ == "__main__":
    main()
