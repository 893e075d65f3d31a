"""How whole fits grow with the number of samples, in memory and on disk."""

import dataclasses
import tempfile
import time
from pathlib import Path
from unittest import mock

import numpy as np
import torch

import dmac
from dmac.estimators import estimator_of
from experiments import provenance
from experiments.bench.measuring import OURS, Job, alone, timed
from experiments.bench.shapes import ANCHORS, CLUSTERS, DIMS, problem, synthetic_views

#: Samples of each fit, by recipe and by whether the number of anchors is fixed.
SIZES = {
    ("CLOSED_FORM", True): (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    ("CLOSED_FORM", False): (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    ("REVISED", True): (1_000, 3_000, 10_000, 30_000, 100_000),
    ("REVISED", False): (1_000, 3_000, 10_000, 30_000),
}


def recipe_with(name, n_samples, fixed):
    """A recipe, with `ANCHORS` anchors if their number is fixed, else with its own rule."""
    recipe = OURS[name]
    if not fixed:
        return recipe
    return dataclasses.replace(recipe, n_anchors=min(ANCHORS, int(recipe.anchor_share * n_samples)))


def fit_growing(name, n_samples, fixed, folder=None, *, shape="growth", device="cpu"):
    """Fit views in memory, or those in a folder, which stay there.

    Returns
    -------
    dict
        ``n``, ``m``, ``threads``, ``seconds`` of the fit, ``processor_seconds`` of all threads,
        ``views_gb`` of views in memory and ``peak_gb`` of the device or of this process.
    """
    provenance.reset_peak_gb(device)
    views_gb, c = 0.0, CLUSTERS
    if folder is None:
        views, c = problem(shape, n_samples)
        views_gb = sum(x.nbytes for x in views) / 1e9
    recipe = recipe_with(name, n_samples, fixed)
    model = estimator_of(recipe)(c, recipe, random_state=0, device=device)
    if folder is not None:
        views = [np.load(path, mmap_mode="r") for path in sorted(Path(folder).glob("?.npy"))]
    _, seconds = timed(lambda: model.fit(views))
    return {
        "n": n_samples or views[0].shape[0],
        "m": model.n_anchors_,
        "threads": torch.get_num_threads(),
        **{key: round(value, 3) for key, value in seconds.items()},
        "views_gb": round(views_gb, 6),
        "peak_gb": provenance.peak_gb(device),
    }


def write_views(folder, n_samples, rows=100_000):
    """Views of "growth" on disk, drawn some rows at a time."""
    shape = [(n_samples, d) for d in DIMS]
    files = [
        np.lib.format.open_memmap(f"{folder}/{a}.npy", "w+", np.float32, one)
        for a, one in enumerate(shape)
    ]
    for start in range(0, n_samples, rows):
        some = min(rows, n_samples - start)
        views = synthetic_views(some, DIMS, CLUSTERS, seed=start, centres=0)
        for file, x in zip(files, views):
            file[start : start + some] = x


def time_on_disk(name, n_samples, threads=2, limit=None):
    """`fit_growing` of views that are written to disk before, and stay there."""
    with tempfile.TemporaryDirectory() as folder:
        write_views(folder, n_samples)
        about = dict(threads=threads, limit=limit)
        return alone(fit_growing, name, n_samples, True, folder, **about)


def fit_profile(n_samples=1_000_000):
    """Where the seconds of a fit of AGC go: ``n``, and ``parts`` by stage of its bar."""
    stages, recipe = [], recipe_with("CLOSED_FORM", n_samples, True)
    model = dmac.AnchorGraphClustering(CLUSTERS, recipe, 0, "cpu", verbose=True)

    class Clock(mock.Mock):
        def set_description(self, text):
            stages.append((text, time.perf_counter()))

    views = synthetic_views(n_samples, DIMS, CLUSTERS)
    with mock.patch("tqdm.tqdm", Clock):
        model.fit(views)
    ends = [start for _, start in stages[1:]] + [time.perf_counter()]
    parts = {text: round(end - start, 3) for (text, start), end in zip(stages, ends)}
    return {"n": n_samples, "parts": parts}


def jobs(*_, on_disk=(10_000_000,), profiled=1_000_000):
    for (name, fixed), numbers in SIZES.items():
        for n in numbers:
            about = {"recipe": name, "fixed": fixed, "n": n}
            yield Job("fits", about, alone, fit_growing, name, n, fixed)
    for n in on_disk:
        yield Job("on_disk", {"recipe": "CLOSED_FORM", "n": n}, time_on_disk, "CLOSED_FORM", n)
    yield Job("profile", {}, alone, fit_profile, profiled)
