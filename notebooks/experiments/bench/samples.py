"""What a fit of a part of the samples loses, beside a fit of all."""

import dataclasses
import itertools
import warnings

import dmac
from dmac.data.datasets import DATASETS
from dmac.recipes import CLOSED_FORM
from dmac.views import load
from experiments.bench.measuring import Job, alone, timed
from experiments.large_views import KINDS

#: Samples of each kind of :mod:`experiments.large_views`, and how many of them are fitted; of fifty
#: clusters also as many as by default.
KIND_SAMPLES, FITTED = 60_000, (20_000, 10_000, None)

#: The real sets of 2000 samples and more, of which a quarter is fitted; those that were never
#: touched are not among them.
QUARTERED = (
    *("HW2sources", "HandWritten", "MNIST-4", "Wiki", "BDGP-1000-500", "Cora", "CiteSeer"),
    *("CCV-20d", "LandUse-21", "Scene-15", "Hdigit"),
)


def part_accuracy(name, fitted, seed):
    """ACC of a fit of some samples, of all that there are: a record with its processor seconds."""
    if name in KINDS:
        views, labels = KINDS[name](KIND_SAMPLES, seed)
        n_clusters = int(labels.max()) + 1
    else:
        data = load(name)
        views, labels, n_clusters = data.views, data.labels, data.n_clusters
        fitted = len(labels) // 4 if fitted else None
    recipe = dataclasses.replace(CLOSED_FORM, fit_samples=fitted, fit_of_cluster=0)
    with warnings.catch_warnings(action="ignore"):
        model = dmac.AnchorGraphClustering(n_clusters, recipe, random_state=seed, device="cpu")
        found, seconds = timed(lambda: model.fit_predict(views))
    acc = round(dmac.scores(labels, found)["acc"], 4)
    return {"name": name, "fitted": fitted, "seed": seed, "n": len(labels), "acc": acc} | {
        key: round(value, 2) for key, value in seconds.items()
    }


def jobs(*_, names=(*QUARTERED, *KINDS), seeds=(0, 1, 2)):
    for name in names:
        numbers = FITTED if name in KINDS else (DATASETS[name].n_samples // 4, None)
        numbers = (40_000, *numbers) if name == "many" else numbers
        for fitted, seed in itertools.product(numbers, seeds):
            about = {"name": name, "fitted": fitted, "seed": seed}
            yield Job("fits", about, alone, part_accuracy, **about, threads=1)
