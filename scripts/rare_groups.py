"""From which share of the samples on CLOSED_FORM finds a small group, by how far off it is.

    python scripts/rare_groups.py            # writes notebooks/results/rare_groups.csv

Two views, of 10 and 20 columns, hold 2,000 samples of two Gaussian groups of standard deviation 1:
a large one around the origin, and a small one whose centre lies at some distance from there in
each view. A row has the number of samples in the small group, the distance, the seed, and the
adjusted Rand index of the two clusters with the two groups.
"""

import itertools
import os
import warnings
from pathlib import Path

os.environ["DMAC_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd

import dmac

FILE = Path(__file__).resolve().parents[1] / "notebooks" / "results" / "rare_groups.csv"
SAMPLES, WIDTHS = 2000, (10, 20)
SMALL, DISTANCES, SEEDS = (10, 20, 40, 60, 100, 200), (5, 7, 10, 20), range(3)


def two_groups(small, distance, seed):
    """The views, and which samples are in the small group."""
    rng = np.random.default_rng(seed)
    inside = (rng.permutation(SAMPLES) < small).astype(int)
    centres = [z / np.linalg.norm(z) for z in (rng.normal(size=d) for d in WIDTHS)]
    noise = [rng.normal(size=(SAMPLES, d)) for d in WIDTHS]
    return [distance * np.outer(inside, z) + x for z, x in zip(centres, noise)], inside


def ari(small, distance, seed):
    """How well the two clusters are the two groups."""
    views, inside = two_groups(small, distance, seed)
    with warnings.catch_warnings(action="ignore"):
        labels = dmac.AnchorGraphClustering(2, random_state=seed, device="cpu").fit_predict(views)
    return dmac.scores(inside, labels)["ari"]


if __name__ == "__main__":
    rows = [(*case, ari(*case)) for case in itertools.product(SMALL, DISTANCES, SEEDS)]
    table = pd.DataFrame(rows, columns=["small", "distance", "seed", "ari"])
    table.to_csv(FILE, index=False, float_format="%.3f", lineterminator="\n")
