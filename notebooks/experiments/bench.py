"""What things cost: epochs, their parts, whole fits, growth; and a device.

    python -m experiments.bench PART [--device DEVICE] [--budget SECONDS] --save FILE

``make bench`` measures all parts of `PARTS` but "lacking" and "device", on a machine that does
nothing else: what is timed has a process of its own (:mod:`experiments.harness`), one after the
other. ``make gpu`` measures "device" within nine minutes: the tests of a GPU, epochs, whole fits
and scores; it needs no installation and no network, neither pandas nor matplotlib, and without a
GPU it does the same on small sizes. Every epoch there ends with numbers that are read from the
device, so nothing is left in its queue.

The file is written after every measurement. A command that was stopped, or whose budget was spent,
goes on where it was; what was measured on another device, or there by other code, is made again.
"""

import argparse
import contextlib
import dataclasses
import functools
import itertools
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from unittest import mock
from xml.etree import ElementTree

import numpy as np
import torch

import dmac
from dmac import reference, scaling, training
from dmac.anchors import n_anchors_for
from dmac.compute import distances
from dmac.compute.files import replacing
from dmac.compute.kmeans import WarmAnchors, kmeans_anchors
from dmac.compute.layers import SparseView, linear, view_tensor
from dmac.data.checks import check_views
from dmac.data.datasets import DATASETS
from dmac.data.pipeline import ViewPipeline
from dmac.embedding import pretrain
from dmac.estimators import CollapseWarning, estimator_of
from dmac.network import Network
from dmac.recipes import CLOSED_FORM, PUBLISHED, RELEASED, REVISED, get_recipe
from dmac.scaling import assign
from dmac.training import anchor_source, train
from dmac.views import load
from experiments import incomplete, libraries, provenance, studies
from experiments.harness import Child
from experiments.large_views import KINDS
from experiments.run import BASELINES, Spec, make_run
from experiments.store import round_floats

ROOT = Path(__file__).parents[2]
#: Shapes of data sets that are not at hand: samples, widths of the views, clusters.
SHAPES = {
    "NUS": (2400, (64, 144, 73, 128, 225, 500), 10),
    "CCV": (6773, (4000, 5000, 5000), 20),
    "half ALOI": (5400, (77, 13, 64, 125), 50),
    "ALOI": (10800, (77, 13, 64, 125), 100),
    "ALOI, 1 of 4 views": (10800, (77,), 100),
}
#: Of "growth": the fixed number of anchors, the clusters, and the widths of the views.
ANCHORS, CLUSTERS, DIMS = 512, 10, (64, 64, 64)
#: The systems whose epochs are timed; the last four are about sparse views.
SYSTEMS = (
    *("dense", "released", "fresh k-means", "revised"),
    *("pretraining", "pretraining, dense first layer"),
    *("first layer", "first layer, dense"),
)
#: Whose epochs are timed, and for how many samples of "growth".
EPOCHS_OF = ("mfeat", "PIE", "BBC", "100Leaves", *SHAPES)
EPOCHS_TO = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)


class Job(NamedTuple):
    """A measurement: where it goes in the file, what names it there, and what makes it.

    Without a name it is the only one there. ``run(limit=seconds)`` returns what was found.
    """

    where: str
    about: dict
    run: Callable


class Results:
    """A file of measurements, which is written whole after each.

    Parameters
    ----------
    path : path
    **about
        What the file says of all of them; one that says something else begins anew.
    """

    def __init__(self, path, **about):
        self.path, about = Path(path), json.loads(json.dumps(round_floats(about)))
        stored = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.content = about | (stored if _within(about, stored) else {})

    def has(self, job):
        """Whether a measurement is there."""
        if not job.about:
            return job.where in self.content
        return any(_within(job.about, one) for one in self.content.get(job.where, ()))

    def keep(self, job, found):
        """Put a measurement into the file, with the machine and its load."""
        found = round_floats(found)
        if job.about:
            found = job.about | found | {"load": round(os.getloadavg()[0], 2)}
            self.content.setdefault(job.where, []).append(found)
        else:
            self.content[job.where] = found
        self.content["machine"] = provenance.machine()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.path) as temporary:
            temporary.write_text(json.dumps(self.content, indent=1) + "\n", encoding="utf-8")
        print(f"{job.where}: {json.dumps(found)}", flush=True)


def _within(some, record):
    return all(record.get(key) == value for key, value in some.items())


def measure(results, jobs, end=math.inf, ends=None):
    """Make the measurements that a file lacks, and return how many failed.

    ``end`` is a moment of the monotonic clock, ``ends`` are others for some of `Job.where`: what is
    not done by then is left to the next time. What does not fit the memory is a result.
    """
    failed = 0
    for job in jobs:
        if results.has(job):
            continue
        left = (ends or {}).get(job.where, end) - time.monotonic()
        try:
            if left <= 0:
                raise TimeoutError("the time was up before")
            results.keep(job, job.run(limit=left if left < math.inf else None))
        except MemoryError as error:
            results.keep(job, {"error": f"MemoryError: {error}"})
        except TimeoutError as error:
            print(f"{job.where}: {job.about} not measured: {error}", flush=True)
        except RuntimeError as error:
            failed += 1
            print(f"{job.where}: {job.about} failed: {error}", flush=True)
    return failed


def alone(function, *arguments, limit=None, threads=2, memory_gb=None, environment=None, **options):
    """What a function returns in a process of its own."""
    about = dict(threads=threads, memory_gb=memory_gb, environment=environment)
    with Child(**about, imports=[__name__]) as child:
        return child.call(function, *arguments, limit=limit, **options)


def synthetic_views(n_samples, dims, n_clusters, seed=0, centres=None):
    """Unit rows around random centres: v arrays (n, d_a), float32.

    ``centres`` is a seed of these alone, for views that are drawn some samples at a time.
    """
    rng = np.random.default_rng(seed)
    classes = rng.integers(n_clusters, size=n_samples)
    own = rng if centres is None else np.random.default_rng(centres)
    views = []
    for d in dims:
        centres = 0.7 * own.standard_normal((n_clusters, d), dtype=np.float32)
        x = rng.standard_normal((n_samples, d), dtype=np.float32)
        x += centres[classes]
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        views.append(x)
    return views


def operations(n_samples, dims, n_anchors, recipe=RELEASED):
    r"""Floating-point operations that an epoch of RELEASED cannot avoid, :eq:`eq:epoch-operations`.

    A product of (a, b) and (b, c) counts :math:`2abc`. For every view: the encoder's two layers
    forward, their weights' gradients, and the gradient between them; the n x m distances, and from
    them the gradients of samples and of anchors. Once: one pass of k-means. The anchor graph's
    products, O(n k d), are not counted.

    Parameters
    ----------
    n_samples : int
    dims : sequence of float
        Widths of the views; of a sparse view, the mean number of its stored entries a row.
    n_anchors : int
    recipe : dmac.recipes.Recipe
        Of which the widths of the network are taken.

    Returns
    -------
    float
    """
    n, m, d, h = n_samples, n_anchors, recipe.embedding_dim, recipe.hidden_dim
    encoders = sum(2 * (2 * n * width * h) + 3 * (2 * n * h * d) for width in dims)
    distances = 3 * len(dims) * 2 * n * m * d
    return float(encoders + distances + 2 * n * m * d)


def matrix_rate(size=2048, repeats=7):
    """Operations a second of a product of float32 matrices, the best of some repeats."""
    x = torch.randn(size, size)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        x @ x
        seconds.append(time.perf_counter() - start)
    return 2 * size**3 / min(seconds)


# --- epochs


def _problem(name, n_samples, drawn=False):
    """Views and the number of clusters: of a data set, or random ones, also of its shape."""
    if name == "growth":
        return synthetic_views(n_samples, DIMS, CLUSTERS), CLUSTERS
    if name in SHAPES:
        n, dims, c = SHAPES[name]
        return synthetic_views(n, dims, c), c
    if drawn and name in DATASETS:
        known = DATASETS[name]
        return synthetic_views(known.n_samples, known.dims, known.n_clusters), known.n_clusters
    data = load(name)
    return data.views, data.n_clusters


def _dense_epochs(network, views, m, recipe, generator, epochs):
    """The equations of `dmac.reference` in float32, differentiated by autograd."""
    used = [network.encoders, network.convolutions, network.perturbation]
    optimiser = torch.optim.RMSprop([p for x in used for p in x.parameters()], lr=recipe.lr)
    for _ in range(epochs):
        start = time.perf_counter()
        zs, z = network.embed(views)
        u_hat = kmeans_anchors(z, m, generator)
        noise = torch.randn(u_hat.shape, generator=generator)
        u = network.anchors(u_hat, noise, normalize=recipe.normalize_anchors)
        loss = reference.joint_loss(
            zs,
            z,
            u,
            recipe.n_neighbors,
            [[layer.weight.T for layer in f.layers] for f in network.convolutions],
            reading=recipe.mutual_information,
            sp_form=recipe.sp_form,
            al_weight=recipe.al_weight,
            cm_weight=recipe.cm_weight,
            sp_weight=recipe.sp_weight,
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        yield time.perf_counter() - start


def _first_layer_epochs(network, views, epochs):
    """The encoders' first layers alone: products forward, and the gradients of the weights."""
    for _ in range(epochs):
        start = time.perf_counter()
        for encoder, x in zip(network.encoders, views):
            h = linear(encoder.first, x)
            torch.autograd.grad(h.sum(), encoder.first.weight)
        yield time.perf_counter() - start


def _prepared(views, recipe, c, device, dense=False):
    """The views as a recipe prepares them, on a device."""
    width = round(recipe.components * c) or None
    given, prepared = check_views(views), []
    while given:  # each in turn, as a fit does: float64 takes twice the memory
        x = ViewPipeline(recipe.root, width, recipe.whitening_ridge).fit_transform(given.pop(0))
        x = x if isinstance(x, np.ndarray) or not dense else x.toarray()
        prepared.append(view_tensor(x, torch.float32, device))
    return prepared


def _epochs_of(system, network, views, c, m, recipe, generator):
    """The seconds of one epoch of a system after the other."""
    if system == "dense":
        return _dense_epochs(network, views, m, recipe, generator, recipe.epochs)
    if system.startswith("first layer"):
        return _first_layer_epochs(network, views, recipe.epochs)
    if system.startswith("pretraining"):
        records = pretrain(
            network.encoders,
            network.decoders,
            views,
            epochs=recipe.epochs,
            lr=recipe.pretrain_lr,
            normalize=recipe.normalize_embedding,
        )
    else:
        source = anchor_source(network, views, m, recipe, generator)
        records = train(network, views, c, source, recipe)
    return (record.seconds for record in records)


def epoch_seconds(
    system,
    name,
    *,
    epochs,
    n_samples=None,
    n_anchors=None,
    device="cpu",
    warm=1,
    most=math.inf,
    drawn=False,
):
    """Run some epochs of a system on a data set or shape, in this process.

    Parameters
    ----------
    system : str
        One of `SYSTEMS`, or "published".
    name : str
        A data set, one of `SHAPES`, or "growth": three views of 64 features, ``n_samples`` of them.
    epochs : int
    n_samples, n_anchors : int, optional
    device : str
    warm : int
        The first epochs do not count: k-means is seeded, and a GPU compiles.
    most : float
        Seconds after which no further epoch begins.
    drawn : bool
        Take random, dense views of the shape of a data set.

    Returns
    -------
    dict
        ``n``, ``m``, ``v``, ``seconds`` (a list), the ``median`` of those that count, ``peak_gb``
        of the device or of the whole process, and ``operations`` for RELEASED.
    """
    provenance.reset_peak_gb(device)
    views, c = _problem(name, n_samples, drawn)
    recipe = {"revised": REVISED, "published": PUBLISHED}.get(system, RELEASED)
    if system == "fresh k-means":
        recipe = dataclasses.replace(recipe, anchor_start="kmeans")
    recipe = dataclasses.replace(recipe, epochs=epochs)
    dense = system in ("pretraining, dense first layer", "first layer, dense")
    views = _prepared(views, recipe, c, device, dense)
    generator = torch.Generator().manual_seed(0)
    dims, n = [x.shape[1] for x in views], views[0].shape[0]
    m = n_anchors or n_anchors_for(n, c, recipe.anchor_factor, recipe.anchor_share)
    network = Network(dims, c, recipe, generator=generator).to_device(device, torch.float32)
    network.store_for(views)
    seconds = []
    for epoch in _epochs_of(system, network, views, c, m, recipe, generator):
        seconds.append(epoch)
        if len(seconds) > warm and sum(seconds) > most:
            break
    result = {
        "n": n,
        "m": m,
        "v": len(views),
        "seconds": [round(s, 5) for s in seconds],
        "median": round(statistics.median(seconds[warm:] or seconds), 5),
        "peak_gb": provenance.peak_gb(device),
    }
    if system == "released":
        stored = [len(x.values) / n if isinstance(x, SparseView) else x.shape[1] for x in views]
        result["operations"] = operations(n, stored, m, recipe)
    return result


def measure_epochs(system, name, *, threads=2, memory_gb=20, **options):
    """`epoch_seconds` in a process of its own; an ``error`` if it takes more than ``memory_gb``."""
    result = {"system": system, "name": name, "threads": threads}
    limits = dict(threads=threads, memory_gb=memory_gb)
    try:
        return result | alone(epoch_seconds, system, name, **limits, **options)
    except MemoryError:
        return result | {"error": f"more than {memory_gb:g} GB"}


def _epochs(results, child):
    yield Job("matrix_rate", {}, functools.partial(alone, matrix_rate))
    for name in EPOCHS_OF:
        timed = {"dense": 2} | dict.fromkeys(SYSTEMS[1:4], 6)  # the dense reading takes long
        if name == "BBC":  # whose views are sparse
            timed |= dict.fromkeys(SYSTEMS[4:], 18)
        for system, number in timed.items():
            run = functools.partial(measure_epochs, system, name, epochs=number)
            yield Job("runs", {"system": system, "name": name}, run)
    for n in EPOCHS_TO:
        for m in (ANCHORS, math.isqrt(CLUSTERS * n)):
            if m < n and n * m < 10**9:  # more would take ten minutes
                number = 2 if n * m > 10**8 else 4 if n * m > 10**7 else 12
                about = {"system": "released", "name": "growth"}
                sizes = dict(epochs=number, n_samples=n, n_anchors=m)
                run = functools.partial(measure_epochs, **about, **sizes)
                yield Job("runs", about | {"n": n, "m": m}, run)


# --- the parts of an epoch

#: The parts of an epoch, none within another, and what computes each.
OF_AN_EPOCH = {
    "encoders": (Network, "embed"),
    "k-means": (WarmAnchors, "__call__"),
    "anchors compared": (scaling, "assign"),
    "losses": (training, "losses_on"),
    "gradients": (torch.Tensor, "backward"),
}
#: What is timed: a name, a number of samples for "growth", and epochs, of which the first tenth
#: is left out.
JOBS = (
    *(("PIE", None, 50), ("HandWritten", None, 50), ("100Leaves", None, 50)),
    *(("half ALOI", None, 50), ("ALOI", None, 100), ("growth", 1_000_000, 4)),
)


@contextlib.contextmanager
def timed(seconds):
    """Within it every part adds its seconds to a dict."""
    with contextlib.ExitStack() as stack:
        for part, (where, name) in OF_AN_EPOCH.items():
            function = getattr(where, name)

            def clocked(*args, _part=part, _function=function, **more):
                start = time.perf_counter()
                try:
                    return _function(*args, **more)
                finally:
                    seconds[_part] = seconds.get(_part, 0.0) + time.perf_counter() - start

            stack.enter_context(mock.patch.object(where, name, clocked))
        yield


def epoch_parts(name, epochs, n_samples=None):
    """Where the seconds of an epoch of RELEASED go, in this process; as for `epoch_seconds`.

    Returns
    -------
    dict
        ``name``, ``n``, ``m``, ``parts`` (medians, with "the rest"), ``seconds`` (of an epoch, the
        median), ``seconds_early`` (of the second to the sixth), ``seconds_of_all`` epochs together,
        ``floor`` and ``matrix_rate``.
    """
    total, epochs_seen = {}, []
    step = training._epoch

    def clocked_epoch(*args, **more):
        before = dict(total)
        record = step(*args, **more)
        parts = {part: total.get(part, 0.0) - before.get(part, 0.0) for part in OF_AN_EPOCH}
        epochs_seen.append(parts | {"the rest": record.seconds - sum(parts.values())})
        return record

    m = ANCHORS if name == "growth" else None
    with timed(total), mock.patch.object(training, "_epoch", clocked_epoch):
        timing = epoch_seconds("released", name, epochs=epochs, n_samples=n_samples, n_anchors=m)
    rate = matrix_rate()
    kept = slice(max(1, epochs // 10), None)
    return {
        "name": name,
        "n": timing["n"],
        "m": timing["m"],
        "parts": {
            part: statistics.median(parts[part] for parts in epochs_seen[kept])
            for part in [*OF_AN_EPOCH, "the rest"]
        },
        "seconds": statistics.median(timing["seconds"][kept]),
        "seconds_early": statistics.median(timing["seconds"][1:6]),
        "seconds_of_all": sum(timing["seconds"]),
        "epochs": epochs,
        "floor": timing["operations"] / rate,
        "matrix_rate": rate,
    }


def block_seconds(n_samples=300_000, powers=range(15, 22), repeats=4):
    """Seconds of the pass over the anchors by the size of its blocks, the best of some repeats."""
    generator = torch.Generator().manual_seed(0)
    z = torch.nn.functional.normalize(torch.randn(n_samples, 64, generator=generator), dim=1)
    u = z[:ANCHORS].clone().requires_grad_()
    z.requires_grad_()
    best = {}
    for power in [power for _ in range(repeats) for power in powers]:
        with mock.patch.dict(distances._BLOCK, cpu=2**power):
            start = time.perf_counter()
            assign(z, u, 6, entropy=True)
            best[power] = min(best.get(power, float("inf")), time.perf_counter() - start)
    return best


def _spin():
    """Take a core for ever."""
    while True:
        pass


def busy_seconds(n_samples=100_000, epochs=6, threads=2, limit=None):
    """Seconds of an epoch of "growth" alone and beside a process that takes a core.

    Returns
    -------
    dict
        ``alone`` and ``busy``; the same with "passive" after a comma, where ``OMP_WAIT_POLICY`` is
        PASSIVE and waiting threads sleep, with "one thread", and with "closed form" the median of
        three whole fits of CLOSED_FORM.
    """
    ways = {
        "": dict(threads=threads),
        ", passive": dict(threads=threads, environment={"OMP_WAIT_POLICY": "PASSIVE"}),
        ", one thread": dict(threads=1),
    }

    def seconds(when):
        took = {
            when + way: alone(epoch_parts, "growth", epochs, n_samples, **about)["seconds"]
            for way, about in ways.items()
        }
        fit = functools.partial(alone, fit_growing, "CLOSED_FORM", n_samples, True, threads=threads)
        of_fits = statistics.median(fit()["seconds"] for _ in range(3))
        return took | {f"{when}, closed form": of_fits}

    took = seconds("alone")
    with Child() as other:
        other.send(_spin)
        return took | seconds("busy")


def _parts(results, child):
    yield Job("blocks", {}, functools.partial(alone, block_seconds))
    for name, n_samples, epochs in JOBS:
        run = functools.partial(alone, epoch_parts, name, epochs, n_samples)
        yield Job("epochs", {"name": name}, run)
    yield Job("beside", {}, busy_seconds)


# --- whole fits

#: Seconds after which a fit is stopped.
LIMIT = 40


@functools.cache
def fitted_systems():
    """By name in tables: method and settings of the systems whose whole fits are timed.

    RELEASED and the systems that train a network are not among them: with their published
    schedules a fit takes minutes to hours.
    """
    ours = ("CLOSED_FORM", "REVISED", "PUBLISHED")
    return {
        **{name: studies.COMPARISON[name] for name in (*BASELINES, *ours)},
        **studies.SHALLOW_PEERS,
        # Its default when fits were timed.
        "MSGL": studies.PEER_DEFAULTS["MSGL, n / c"].variants["MSGL, n / c"],
        **{name: studies.LIBRARIES[name] for name in libraries.ESTIMATORS},
    }


class Toy:
    """Three clusters, fitted before anything is timed: it loads what is loaded late."""

    name, n_clusters = "toy", 3

    def __init__(self):
        self.views = [abs(x) for x in synthetic_views(90, (8, 8, 8), 3)]
        self.labels = np.arange(90) % 3


def warm_up(system, threads):
    """Fit a system to the toy; what it cannot do with a toy is no matter."""
    with contextlib.suppress(Exception):
        _outcome(system, "toy", threads, load=lambda _: Toy())


def fit_seconds(system, dataset, threads):
    """Fit a system in this process: ``seconds`` and ``acc``, or ``error``."""
    try:
        outcome = _outcome(system, dataset, threads)
    except Exception as error:  # a system's own refusal is its result
        outcome = {"error": f"{type(error).__name__}: {error}"}
    if "error" in outcome:
        return {"error": outcome["error"]}
    seconds = outcome["seconds"]
    seconds = seconds["fit"] if isinstance(seconds, dict) else seconds
    return {"seconds": round(seconds, 3), "acc": round(outcome["scores"]["acc"], 4)}


def _outcome(system, dataset, threads, **options):
    method, settings = fitted_systems()[system]
    # The settings of a timed run of DMAC let a fit choose its threads as a user's does.
    own = settings | {"threads": threads} if method == "DMAC" else settings
    return make_run(Spec(dataset, method, own, 0, ""), threads=threads, **options)


def is_installed(system):
    """Whether a system can be run here: those of libraries need their library."""
    estimator = libraries.ESTIMATORS.get(system)
    return estimator is None or libraries.installed_version(estimator.library) is not None


def stopped_on(system, dataset, fits):
    """A data set with at most as many samples and views on which a system was stopped, or None."""
    here = DATASETS.get(dataset)
    for fit in fits:
        other = DATASETS.get(fit["dataset"])
        stopped = fit["system"] == system and fit.get("error", "").startswith("more than")
        if stopped and here and other and other.n_samples <= here.n_samples:
            if len(other.dims) <= len(here.dims):
                return fit["dataset"]
    return None


def measure_fit(child, system, dataset, threads, most=LIMIT, limit=None):
    """`fit_seconds` in a process that others share; an ``error`` if it was stopped."""
    try:
        child.call(warm_up, system, threads, limit=most)
        return child.call(fit_seconds, system, dataset, threads, limit=most)
    except TimeoutError as error:
        return {"error": str(error)}


def _fits(results, child, datasets=studies.SIXTEEN, systems=None):
    """What was stopped with one thread is not begun with two, and see `stopped_on`."""
    systems = [system for system in systems or fitted_systems() if is_installed(system)]
    # Small ones first, since what was stopped there is not begun on larger ones.
    datasets = sorted(datasets, key=lambda name: getattr(DATASETS.get(name), "n_samples", 0))
    for dataset, threads, system in itertools.product(datasets, (1, 2), systems):
        about, fits = {"system": system, "dataset": dataset}, results.content.get("fits", [])
        if any(_within(about, fit) and "error" in fit for fit in fits):
            continue
        run = functools.partial(measure_fit, child, system, dataset, threads)
        job = Job("fits", about | {"threads": threads}, run)
        if not results.has(job) and (other := stopped_on(system, dataset, fits)):
            results.keep(job, {"error": f"more than {LIMIT:g} s on {other}, not begun here"})
        yield job


def _timed(function):
    """What a function returns, with ``seconds`` on the clock and ``processor_seconds``."""
    wall, processor = time.perf_counter(), time.process_time()
    result = function()
    seconds = {"seconds": time.perf_counter() - wall}
    return result, seconds | {"processor_seconds": time.process_time() - processor}


# --- growth of whole fits

#: Samples of each fit, by recipe and by whether the number of anchors is fixed.
SIZES = {
    ("CLOSED_FORM", True): (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    ("CLOSED_FORM", False): (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    ("REVISED", True): (1_000, 3_000, 10_000, 30_000, 100_000),
    ("REVISED", False): (1_000, 3_000, 10_000, 30_000),
}


def recipe_with(name, n_samples, fixed):
    """A recipe, with `ANCHORS` anchors if their number is fixed, else with its own rule."""
    recipe = get_recipe(name)
    if not fixed:
        return recipe
    return dataclasses.replace(recipe, n_anchors=min(ANCHORS, int(recipe.anchor_share * n_samples)))


def fit_growing(name, n_samples, fixed, folder=None, *, shape="growth", device="cpu"):
    """Fit views in memory, or those in a folder, which stay there; the labels go beside them.

    Returns
    -------
    dict
        ``n``, ``m``, ``threads``, ``seconds`` of the fit, ``processor_seconds`` of all threads,
        ``views_gb`` of views in memory and ``peak_gb`` of the device or of this process.
    """
    provenance.reset_peak_gb(device)
    views_gb, c = 0.0, CLUSTERS
    if folder is None:
        views, c = _problem(shape, n_samples)
        views_gb = sum(x.nbytes for x in views) / 1e9
    recipe = recipe_with(name, n_samples, fixed)
    model = estimator_of(recipe)(c, recipe, random_state=0, device=device)
    if folder is not None:
        views = [np.load(path, mmap_mode="r") for path in sorted(Path(folder).glob("?.npy"))]
        into = np.lib.format.open_memmap(f"{folder}/labels.npy", "w+", np.int64, (n_samples,))
        fit = functools.partial(model._fit, y=None, into=into)
    else:
        fit = model.fit
    _, seconds = _timed(lambda: fit(views))
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
    """Where the seconds of a fit of CLOSED_FORM go: ``n``, and ``parts`` by stage of its bar."""
    from dmac.compute import progress_bar

    stages, recipe = [], recipe_with("CLOSED_FORM", n_samples, True)
    model = dmac.AnchorGraphClustering(CLUSTERS, recipe, 0, "cpu", verbose=True)

    class Clock(mock.Mock):
        def set_description(self, text):
            stages.append((text, time.perf_counter()))

    views = synthetic_views(n_samples, DIMS, CLUSTERS)
    with mock.patch.object(progress_bar, "_bar", Clock):
        model.fit(views)
    ends = [start for _, start in stages[1:]] + [time.perf_counter()]
    parts = {text: round(end - start, 3) for (text, start), end in zip(stages, ends)}
    return {"n": n_samples, "parts": parts}


def _growth(results, child, on_disk=(10_000_000,), profiled=1_000_000):
    for (name, fixed), numbers in SIZES.items():
        for n in numbers:
            about = {"recipe": name, "fixed": fixed, "n": n}
            run = functools.partial(alone, fit_growing, name, n, fixed)
            yield Job("fits", about, run)
    for n in on_disk:
        run = functools.partial(time_on_disk, "CLOSED_FORM", n)
        yield Job("on_disk", {"recipe": "CLOSED_FORM", "n": n}, run)
    yield Job("profile", {}, functools.partial(alone, fit_profile, profiled))


# --- a part of the samples, beside all

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
        found, seconds = _timed(lambda: model.fit_predict(views))
    acc = round(dmac.scores(labels, found)["acc"], 4)
    return {"name": name, "fitted": fitted, "seed": seed, "n": len(labels), "acc": acc} | {
        key: round(value, 2) for key, value in seconds.items()
    }


def _samples(results, child, names=(*QUARTERED, *KINDS), seeds=(0, 1, 2)):
    for name in names:
        numbers = FITTED if name in KINDS else (DATASETS[name].n_samples // 4, None)
        numbers = (40_000, *numbers) if name == "many" else numbers
        for fitted, seed in itertools.product(numbers, seeds):
            about = {"name": name, "fitted": fitted, "seed": seed}
            yield Job("fits", about, functools.partial(alone, part_accuracy, **about, threads=1))


# --- samples that lack views

#: Samples and columns of the views where their cost is measured; a recipe, and the share missing.
MANY, LACKING_DIMS = 100_000, (30, 30, 30, 30)
LACKING = (("closed_form", 0.0), ("unfilled", 0.5), ("closed_form", 0.5))


def fit_lacking(recipe, rate, n=MANY):
    """Seconds of the processor of a fit of generated views in this process, and its peak memory."""
    views = synthetic_views(n, LACKING_DIMS, CLUSTERS)
    views = incomplete.without(views, incomplete.random_pattern(n, len(views), rate, 0))
    before, start = provenance.peak_memory() / 1e3, time.process_time()
    model = dmac.AnchorGraphClustering(CLUSTERS, incomplete.OURS[recipe], 0, "cpu").fit(views)
    seconds = round(time.process_time() - start, 1)
    peak = provenance.peak_memory() / 1e3
    filled = model.model_.completion is not None
    return {"seconds": seconds, "peak_gb": peak, "before_gb": before, "filled": filled}


def _lacking(results, child, n=MANY):
    for recipe, rate in LACKING:
        environment = {"DMAC_NUM_THREADS": "1"}
        about = dict(threads=1, environment=environment)
        run = functools.partial(alone, fit_lacking, recipe, rate, n, **about)
        yield Job("fits", {"recipe": recipe, "rate": rate}, run)


# --- a device: its tests, epochs, fits and scores

#: Seconds for each, in the order in which they run: on a GPU, and on a processor in its place.
BUDGETS = {"tests": (100, 75), "epochs": (180, 35), "fits": (150, 30), "scores": (90, 35)}
#: What is timed by the epoch, by its name in the file.
ON_A_DEVICE = {
    "PUBLISHED": "published",
    "RELEASED": "released",
    "RELEASED, pre-training": "pretraining",
    "REVISED": "revised",
}


def run_tests(files=(ROOT / "tests" / "test_gpu.py",), limit=None):
    """Run test files with pytest alone: no plug-in, no conftest, no installation.

    Returns
    -------
    dict
        How many ``passed`` and were ``skipped``, and the ``reasons`` of the latter.

    Raises
    ------
    RuntimeError
        If a test fails, or pytest cannot run the files: that is no evidence.
    """
    options = ["-v", "--noconftest", "-p", "no:cacheprovider", "-o", "addopts=", "-W", "default"]
    paths = os.pathsep.join(filter(None, [str(ROOT), *sys.path]))
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": paths}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", *map(str, files), *options]
        try:
            done = subprocess.run(
                [*command, f"--junitxml={report}"], timeout=limit, env=environment, cwd=ROOT
            )
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"more than {limit:.0f} s") from None
        cases = list(ElementTree.parse(report).iter("testcase")) if report.exists() else []
    outcomes = {case.get("name"): next(iter(case), None) for case in cases}
    skipped = {name: one.get("message") for name, one in outcomes.items() if one is not None}
    if done.returncode:
        raise RuntimeError(f"pytest ended with code {done.returncode}: {skipped}")
    counts = {"passed": len(cases) - len(skipped), "failed": 0, "skipped": len(skipped)}
    return counts | {"reasons": [f"{name}: {why}"[:500] for name, why in skipped.items()]}


def epoch_on(system, on, *, device, **options):
    """The median epoch of one of `ON_A_DEVICE`, on random views of a shape or of so many samples.

    Returns
    -------
    dict
        ``n``, ``m``, ``epoch_s`` and ``peak_gb`` of the device, or the process on a processor.
    """
    many = dict(name="growth", n_samples=on, n_anchors=ANCHORS)
    shape = many if isinstance(on, int) else {"name": on}
    warm = 3 if device.startswith("cuda") else 1
    options |= {"epochs": options["epochs"] + warm, "warm": warm}
    timed = epoch_seconds(ON_A_DEVICE[system], **shape, device=device, drawn=True, **options)
    peak = timed["peak_gb"]
    return {"n": timed["n"], "m": timed["m"], "epoch_s": timed["median"], "peak_gb": peak}


def fit_on(system, on, *, device):
    """A whole fit on random views, as `epoch_on`, with ``fit_s``; `ANCHORS` of many samples."""
    many = isinstance(on, int)
    n, shape = (on, "growth") if many else (None, on)
    fit = fit_growing(system, n, many, shape=shape, device=device)
    return {"n": fit["n"], "m": fit["m"], "fit_s": fit["seconds"], "peak_gb": fit["peak_gb"]}


def score_means(recipe, dataset, *, device, seeds=3, every=1):
    """Scores and seconds of whole fits on a data set, or every so many samples of it.

    Means over seeds, and ``first_fit_s`` of the first alone.
    """
    data = load(dataset)
    views, labels = [x[::every] for x in data.views], data.labels[::every]
    chosen, fits = get_recipe(recipe), []
    for seed in range(seeds):
        start = time.perf_counter()
        model = estimator_of(chosen)(data.n_clusters, chosen, random_state=seed, device=device)
        with warnings.catch_warnings(action="ignore", category=CollapseWarning):
            predicted = model.fit_predict(views)
        fits.append(dmac.scores(labels, predicted) | {"fit_s": time.perf_counter() - start})
    means = {name: float(np.mean([fit[name] for fit in fits])) for name in fits[0]}
    about = {"n": len(labels), "seeds": seeds, "every": every, "first_fit_s": fits[0]["fit_s"]}
    return means | about


def datasets_at_hand():
    """Those of the sixteen data sets that are in DMAC_DATA, small ones first, after mfeat."""
    folder = os.environ.get("DMAC_DATA")
    files = {path.name for path in Path(folder).rglob("*") if path.is_file()} if folder else set()
    there = [DATASETS[name] for name in studies.SIXTEEN if DATASETS[name].filename in files]
    return ["mfeat", *(one.name for one in sorted(there, key=lambda one: one.n_samples))]


def device_plan(small):
    """What is measured on a device, the most wanted first: function, where, system, on, options."""
    if small:
        shapes, few = ["PIE", 1000], dict(epochs=3, most=3)
        fits = [("CLOSED_FORM", 1000), ("REVISED", 1000)]
        data, options = ["mfeat"], dict(every=4)
    else:
        # Powers of ten first, and the widest shape late: its views take long to prepare.
        shapes = [name for name in EPOCHS_OF if name not in ("CCV", "ALOI, 1 of 4 views")]
        shapes += [1000, 10_000, 100_000, 1_000_000, "CCV", 3000, 30_000, 300_000]
        few = dict(epochs=12, most=6)
        fits = [("CLOSED_FORM", 100_000), ("CLOSED_FORM", 1_000_000)]
        fits += [("RELEASED", "ALOI"), ("REVISED", 1_000_000)]
        data, options = datasets_at_hand(), {}
    yield from ((epoch_on, "epochs", system, on, few) for on in shapes for system in ON_A_DEVICE)
    yield from ((fit_on, "fits", system, on, {}) for system, on in fits)
    for system in ("CLOSED_FORM", "REVISED"):
        yield from ((score_means, "scores", system, name, options) for name in data)


def _device(results, child):
    device, small = results.content["device"], results.content["profile"] != "full"
    yield Job("tests", {"on": "tests/test_gpu.py"}, run_tests)
    for function, where, system, on, options in device_plan(small):
        run = functools.partial(child.call, function, system, on, device=device, **options)
        yield Job(where, {"system": system, "on": on}, run)


# --- all of it

#: What can be measured: its jobs, and what its file says of all of them.
PARTS = {
    "epochs": (_epochs, {"threads": 2}),
    "parts": (_parts, {"threads": 2}),
    "fits": (_fits, {}),
    "growth": (_growth, {}),
    "samples": (_samples, {}),
    "lacking": (
        _lacking,
        {"n": MANY, "dims": LACKING_DIMS, "clusters": CLUSTERS, "threads": 1},
    ),
    "device": (_device, {}),
}


def deadlines(seconds, small):
    """By when each of `BUDGETS` has to end: its own time of all ``seconds``, and what was left."""
    shares = {where: share[small] for where, share in BUDGETS.items()}
    scale = (seconds or sum(shares.values())) / sum(shares.values())
    ends = itertools.accumulate(shares.values(), initial=time.monotonic())
    start = next(ends)
    return {where: start + scale * (end - start) for where, end in zip(shares, ends)}


def main(arguments=None):
    """Entry point of ``python -m experiments.bench``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--save", type=Path, required=True, metavar="FILE")
    parser.add_argument("--budget", type=float, help="seconds for everything")
    parser.add_argument("--device", default="auto", help="of the part device; auto takes a GPU")
    given = parser.parse_args(arguments)
    if given.budget is not None and given.budget <= 0:
        parser.error(f"--budget is {given.budget:g}, it must be above 0")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    (jobs, about), ends = PARTS[given.part], {}
    if given.part == "device":
        best = "cuda" if torch.cuda.is_available() else "cpu"
        device = best if given.device == "auto" else given.device
        small = not device.startswith("cuda")
        print("small sizes on the processor" if small else f"the GPU {device}", flush=True)
        about = {"profile": "quick" if small else "full"} | provenance.about(device)
        ends = deadlines(given.budget, small)
    end = time.monotonic() + (given.budget or math.inf)
    results = Results(given.save, **about)
    with Child(imports=[__name__]) as child:
        sys.exit(bool(measure(results, jobs(results, child), end, ends)))


if __name__ == "__main__":
    from experiments import bench

    bench.main()  # by its name, which processes of their own import
