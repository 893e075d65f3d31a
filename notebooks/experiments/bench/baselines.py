"""Whole fits of k-means and of what the field runs, beside ours, by the number of samples."""

import functools

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans

import dmac
from dmac.recipes import CLOSED_FORM_0_2
from experiments import field, libraries, provenance
from experiments.bench.measuring import Job, alone, stopped_after, timed
from experiments.bench.shapes import CLUSTERS, DIMS, synthetic_views

#: Samples of each fit.
SIZES = (2_000, 10_000, 100_000, 1_000_000)
#: Seconds after which a fit is stopped.
LIMIT = 1200
#: The pipeline of the field that is timed.
TOOL = "PCA + Leiden"


def agc(recipe, views):
    """Anchor-graph clustering by a recipe."""
    return dmac.AnchorGraphClustering(CLUSTERS, recipe, 0, "cpu").fit_predict(views)


def labels_of_concatenated(estimator, views):
    """An estimator of scikit-learn on the views side by side."""
    return estimator.fit_predict(np.hstack(views))


SYSTEMS = {
    "CLOSED_FORM": functools.partial(agc, CLOSED_FORM_0_2),
    "k-means, one start": functools.partial(
        labels_of_concatenated, KMeans(CLUSTERS, n_init=1, random_state=0)
    ),
    "k-means, ten starts": functools.partial(
        labels_of_concatenated, KMeans(CLUSTERS, n_init=10, random_state=0)
    ),
    "MiniBatchKMeans": functools.partial(
        labels_of_concatenated, MiniBatchKMeans(CLUSTERS, random_state=0)
    ),
    TOOL: functools.partial(field.EVERY[TOOL].fit, n_clusters=CLUSTERS, seed=0),
}


def fit_generated(fit, n_samples):
    """A function's labels of generated views, in this process: seconds, ``acc``, ``peak_gb``."""
    fit(synthetic_views(300, DIMS, CLUSTERS))  # loads what is loaded late
    views = synthetic_views(n_samples, DIMS, CLUSTERS)
    classes = np.random.default_rng(0).integers(CLUSTERS, size=n_samples)  # as drawn there
    provenance.reset_peak_memory()
    labels, seconds = timed(lambda: fit(views))
    return {
        **{key: round(value, 3) for key, value in seconds.items()},
        "acc": dmac.scores(classes, labels)["acc"],
        "peak_gb": provenance.peak_gb("cpu"),
    }


def jobs(*_, sizes=SIZES):
    for system in SYSTEMS:
        if system == TOOL and not libraries.is_runnable(TOOL, field.field_settings(TOOL)):
            print(f"{TOOL} is not measured: it needs the extra field", flush=True)
            continue
        for n in sizes:
            fit = functools.partial(alone, fit_generated, SYSTEMS[system], n)
            yield Job("fits", {"system": system, "n": n}, stopped_after, LIMIT, fit)
