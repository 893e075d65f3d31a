"""How small, and how near, a group may be that CLOSED_FORM finds among 2,000 samples."""

import itertools
import warnings

import numpy as np

import dmac
from experiments.bench.measuring import Job

#: Samples, and widths of the views; samples of the small group, its distances, and seeds.
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
    """How well the two clusters are the two groups: their ``ari``."""
    views, inside = two_groups(small, distance, seed)
    with warnings.catch_warnings(action="ignore"):
        labels = dmac.AnchorGraphClustering(2, random_state=seed, device="cpu").fit_predict(views)
    return {"ari": dmac.scores(inside, labels)["ari"]}


def jobs(child, *_):
    for case in itertools.product(SMALL, DISTANCES, SEEDS):
        about = dict(zip(("small", "distance", "seed"), case))
        yield Job("fits", about, child.call, ari, *case)
