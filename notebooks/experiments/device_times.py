"""What one device takes: an epoch, a whole fit, and the scores on real data.

:mod:`experiments.gpu` calls these in a process of its own and keeps what they return. Nothing
here needs pandas or matplotlib. Seconds are those of the clock on the wall: every epoch ends with
numbers that are read from the device, so nothing is left in its queue.
"""

import dataclasses
import functools
import gc
import os
import statistics
import time
from pathlib import Path

import numpy as np
import torch
from dmac.fitting import prepare_views, pretrain_network

from dmac.anchors import n_anchors_for
from dmac.compute.threads import epoch_work, threads_for
from dmac.data.checks import check_views
from dmac.data.datasets import DATASETS
from dmac.estimator import DMAC
from dmac.metrics import scores
from dmac.network import Network
from dmac.recipes import PUBLISHED, RELEASED, REVISED, get_recipe
from dmac.training import EpochRecord, anchor_source, train
from dmac.views import load
from experiments import bench, provenance

#: What is timed by the epoch.
SYSTEMS = {
    "PUBLISHED": PUBLISHED,
    "RELEASED": RELEASED,
    "RELEASED, pre-training": RELEASED,
    "REVISED": REVISED,
}
_REGISTERED = ("PIE", "BBC", "100Leaves")
#: Shapes with a name: samples, widths of the views, clusters.
SHAPES = {
    "mfeat": (2000, (76, 216, 64, 240, 47, 6), 10),
    **{
        name: (s.n_samples, s.dims, s.n_clusters)
        for name, s in DATASETS.items()
        if name in _REGISTERED
    },
    **{name: bench.SHAPES[name] for name in ("NUS", "half ALOI", "ALOI", "CCV")},
}
#: Epochs that are not counted: a GPU compiles in the first ones, k-means is seeded in the first.
_WARM = {"cuda": 3, "cpu": 1}


def shape_of(shape):
    """A shape by its name, or by its number of samples: three views of 64 features, 10 clusters.

    Parameters
    ----------
    shape : str or int
        A key of `SHAPES`, or n.

    Returns
    -------
    n_samples : int
    dims : tuple of int
    n_clusters : int
    """
    return (shape, (64, 64, 64), 10) if isinstance(shape, int) else SHAPES[shape]


@functools.lru_cache(maxsize=1)  # one shape after the other, several systems on each
def _views(shape):
    return check_views(bench.synthetic_views(*shape_of(shape)))


class _Memory:
    """The most memory in use since it was made: of the device, or of the process on a processor."""

    def __init__(self, device):
        self.gpu = device.startswith("cuda")
        gc.collect()
        if self.gpu:
            torch.empty(1, device=device)  # before the first tensor there are no statistics
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        else:
            provenance.reset_peak_memory()

    def gb(self):
        """In units of 10^9 bytes."""
        mb = torch.cuda.max_memory_allocated() / 1e6 if self.gpu else provenance.peak_memory()
        return round(mb / 1e3, 3)


def _timed(records, warm, epochs, seconds):
    """Seconds of the epochs that count, and of those before them.

    ``epochs`` of them, fewer where all together take longer than ``seconds``, but at least one.
    """
    taken = []
    for record in records:
        taken.append(record.seconds)
        if len(taken) >= warm + epochs or (len(taken) > warm and sum(taken) > seconds):
            break
    return taken[warm:], taken[:warm]


def epoch_times(system, shape, *, device, n_anchors=None, epochs=12, seconds=6.0, progress=None):
    """The median epoch of a system on random views of a shape, and its peak memory.

    Parameters
    ----------
    system : str
        A key of `SYSTEMS`.
    shape : str or int
        See `shape_of`. The views are random, and dense.
    device : str
    n_anchors : int, optional
        m; by default that of the recipe.
    epochs : int
        That count, after one to warm up on a processor and three on a GPU.
    seconds : float
        After so many seconds of training it is enough.
    progress : callable, optional
        Not used: the measurement is one number.

    Returns
    -------
    dict
        ``n``, ``dims``, ``c``, ``m``; in seconds the median ``epoch_s``, the shortest and longest
        epoch (``least_s``, ``most_s``), the epochs before them (``warm_up_s``) and all that comes
        before an epoch (``set_up_s``); ``epochs`` and ``peak_gb``.
    """
    n, dims, c = shape_of(shape)
    views, memory = _views(shape), _Memory(device)
    start = time.perf_counter()
    recipe = dataclasses.replace(SYSTEMS[system], epochs=1000, pretrain_epochs=1000)
    m = n_anchors or n_anchors_for(n, c, recipe.anchor_factor, recipe.anchor_share)
    warm = _WARM["cuda" if device.startswith("cuda") else "cpu"]
    with threads_for(epoch_work(n, dims, m, recipe, c)):
        generator = torch.Generator().manual_seed(0)
        order = torch.randperm(n, generator=generator).numpy()
        pipelines, tensors = prepare_views(views, c, recipe, order, torch.float32, device)
        widths = [pipeline.n_features_out_ for pipeline in pipelines]
        network = Network(widths, c, recipe, generator=generator).to_device(device, torch.float32)
        if system.endswith("pre-training"):
            records = pretrain_network(network, tensors, recipe, None, [])
        else:
            source = anchor_source(network, tensors, m, recipe, generator)
            records = train(network, tensors, c, source, recipe)
        counted, before = _timed(records, warm, epochs, seconds)
    whole = time.perf_counter() - start
    return {
        "n": n,
        "dims": list(dims),
        "c": c,
        "m": m,
        "epoch_s": statistics.median(counted),
        "least_s": min(counted),
        "most_s": max(counted),
        "epochs": len(counted),
        "warm_up_s": sum(before),
        "set_up_s": whole - sum(counted) - sum(before),
        "peak_gb": memory.gb(),
    }


def fit_times(recipe, shape, *, device, target_s=None, changes=None, progress=None):
    """The seconds of a whole fit, from arrays to labels, on random views of a shape.

    Parameters
    ----------
    recipe : str
    shape : str or int
        See `shape_of`.
    device : str
    target_s : float, optional
        What it should take; it is kept beside what it took.
    changes : dict, optional
        Fields of the recipe that are not the recipe's.
    progress : callable, optional
        Told ``pretrain_epochs``, ``epochs`` and ``so_far_s`` of the fit while it runs.

    Returns
    -------
    dict
        ``n``, ``dims``, ``c``, ``m``, ``pretrain_epochs``, ``epochs``, ``changes``, ``target_s``;
        in seconds the fit, ``fit_s``, and its parts: to the first epoch (``prepare_s``),
        ``pretrain_s``, ``train_s``, and the last k-means with all that follows (``last_s``);
        ``peak_gb``.
    """
    n, dims, c = shape_of(shape)
    views, memory = _views(shape), _Memory(device)
    made = dataclasses.replace(get_recipe(recipe), **(changes or {}))
    clock = _Phases(progress)
    model = DMAC(c, made, random_state=0, device=device).fit(views, callback=clock)
    return {
        "n": n,
        "dims": list(dims),
        "c": c,
        "m": model.n_anchors_,
        "changes": changes or {},
        "target_s": target_s,
        **clock.facts(),
        **clock.phases(),
        "peak_gb": memory.gb(),
    }


class _Phases:
    """The callback of a fit that keeps when its phases begin and end."""

    def __init__(self, progress):
        self.start = self.told = time.perf_counter()
        self.counts, self.seconds, self.first, self.end = [0, 0], [0.0, 0.0], None, None
        self.progress = progress

    def __call__(self, record, embed):
        self.end = time.perf_counter()
        phase = int(isinstance(record, EpochRecord))
        if self.first is None:
            self.first = self.end - record.seconds
        self.counts[phase] += 1
        self.seconds[phase] += record.seconds
        if self.progress is not None and self.end - self.told > 0.5:
            self.told = self.end
            self.progress(**self.facts(), so_far_s=self.end - self.start)

    def facts(self):
        return dict(zip(("pretrain_epochs", "epochs"), self.counts))

    def phases(self):
        now = time.perf_counter()
        return {
            "fit_s": now - self.start,
            "prepare_s": (self.first or now) - self.start,
            "pretrain_s": self.seconds[0],
            "train_s": self.seconds[1],
            "last_s": now - (self.end or now),
        }


def datasets_at_hand():
    """The data sets that need no network: mfeat, and those in DMAC_DATA, small ones first."""
    folder = os.environ.get("DMAC_DATA")
    files = {path.name for path in Path(folder).rglob("*") if path.is_file()} if folder else set()
    found = [one for one in DATASETS.values() if one.filename in files]
    return ["mfeat", *(one.name for one in sorted(found, key=lambda one: one.n_samples))]


def score_means(recipe, dataset, *, device, seeds=3, every=1, progress=None):
    """Scores and seconds of whole fits on a data set, means over seeds.

    Parameters
    ----------
    recipe : str
    dataset : str
        As :func:`dmac.load` takes it.
    device : str
    seeds : int
        How many, from 0.
    every : int
        Of so many samples one is taken.
    progress : callable, optional
        Told the means so far after every seed.

    Returns
    -------
    dict
        ``n``, ``dims``, ``c``, ``seeds``, ``every``; ``acc``, ``nmi``, ``ari``, ``purity`` and
        ``f1`` as fractions; ``fit_s`` in seconds, ``first_fit_s`` of the first alone.
    """
    data = load(dataset)
    views, labels = [x[::every] for x in data.views], data.labels[::every]
    shape = {"n": len(labels), "dims": list(data.dims), "c": data.n_clusters}
    found, facts = [], {}
    for seed in range(seeds):
        start = time.perf_counter()
        made = DMAC(data.n_clusters, get_recipe(recipe), random_state=seed, device=device)
        predicted = made.fit_predict(views)
        seconds = time.perf_counter() - start
        found.append(scores(labels, predicted) | {"fit_s": seconds})
        facts = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
        facts |= shape | {"seeds": seed + 1, "every": every, "first_fit_s": found[0]["fit_s"]}
        if progress is not None:
            progress(**facts)
    return facts
