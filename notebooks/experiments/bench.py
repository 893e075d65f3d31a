"""What things cost: epochs and their parts, whole fits, their growth, LMVSC's programmes, a GPU.

    python -m experiments.bench PART ... [--device DEVICE] [--budget SECONDS] [--out FOLDER]

``make bench`` measures `ON_A_PROCESSOR`, on a machine that does nothing else: what is timed has a
process of its own (:mod:`experiments.harness`), one after the other. ``make gpu`` measures
`ON_A_GPU` within nine minutes, and needs no installation and no network, neither pandas nor
matplotlib; without a GPU it does the same on small sizes. Every epoch there ends with numbers that
are read from the device, so nothing is left in its queue.

A measurement is a line of ``times/PART.jsonl`` in the store, with its machine and its code. It is
made once for both, so a command that was stopped, or ran out of time, goes on where it was.
"""

import argparse
import contextlib
import dataclasses
import functools
import itertools
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

import numpy as np
import torch
from scipy import optimize
from threadpoolctl import threadpool_limits

import dmac
from dmac import reference, sampling, training
from dmac.anchors import n_anchors_for
from dmac.compute import distances
from dmac.compute.kmeans import WarmAnchors, kmeans, kmeans_anchors
from dmac.compute.layers import SparseView, linear, view_tensor
from dmac.data.checks import check_views
from dmac.data.datasets import DATASETS
from dmac.data.pipeline import ViewPipeline
from dmac.embedding import pretrain
from dmac.network import Network
from dmac.peers._simplex import solve_rows
from dmac.recipes import CLOSED_FORM, PUBLISHED, RELEASED, REVISED, get_recipe
from dmac.scaling import assign
from dmac.training import anchor_source, train
from dmac.views import load
from experiments import incomplete, libraries, provenance, studies
from experiments.harness import Child
from experiments.run import METHODS, Spec, make_run
from experiments.store import Store, round_floats

ROOT = Path(__file__).parents[2]
#: What ``make bench`` and ``make gpu`` measure, and the seconds that the latter gives to each, on a
#: GPU and without one; what one leaves the next ones have.
ON_A_PROCESSOR = ("simplex", "parts", "fits", "growth", "epochs", "lacking")
ON_A_GPU = {"tests": (100, 75), "epochs": (180, 35), "large fits": (150, 30), "scores": (90, 35)}
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
#: The systems whose epochs can be timed, four of them about sparse views; what a GPU times of them.
SYSTEMS = (
    *("dense", "released", "fresh k-means", "revised"),
    *("pretraining", "pretraining, dense first layer"),
    *("first layer", "first layer, dense"),
    "published",
)
GPU_SYSTEMS = ("published", "released", "pretraining", "revised")
#: Epochs that are not counted, since k-means is seeded in the first, and a GPU compiles.
_WARM = {"cuda": 3, "cpu": 1}
#: Whose epochs are timed, and for how many samples of "growth".
EPOCHS_OF = ("mfeat", "PIE", "BBC", "100Leaves", *SHAPES)
EPOCHS_TO = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)


def synthetic_views(n_samples, dims, n_clusters, seed=0):
    """Unit rows around random centres: v arrays (n, d_a), float32."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(n_clusters, size=n_samples)
    views = []
    for d in dims:
        centres = 0.7 * rng.standard_normal((n_clusters, d), dtype=np.float32)
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


def is_at_hand(name):
    """Whether a data set can be read without the network."""
    if name == "mfeat":
        return True
    folder = os.environ.get("DMAC_DATA")
    return bool(folder) and any(Path(folder).rglob(DATASETS[name].filename))


def _problem(name, n_samples):
    """Views and the number of clusters: of a data set, or random ones of its shape."""
    if name == "growth":
        return synthetic_views(n_samples, DIMS, CLUSTERS), CLUSTERS
    if name in SHAPES:
        n, dims, c = SHAPES[name]
        return synthetic_views(n, dims, c), c
    if name in DATASETS and not is_at_hand(name):
        shape = DATASETS[name]
        return synthetic_views(shape.n_samples, shape.dims, shape.n_clusters), shape.n_clusters
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


def epoch_seconds(
    system, name, *, epochs, n_samples=None, n_anchors=None, device="cpu", most=math.inf
):
    """Run some epochs of a system on a data set or shape, in this process.

    Parameters
    ----------
    system : str
        One of `SYSTEMS`.
    name : str
        A data set, one of `SHAPES`, or "growth": three views of 64 features, ``n_samples`` of them.
    epochs : int
        On a GPU those that compile come before them.
    n_samples, n_anchors : int, optional
    device : str
    most : float
        Seconds after which no further epoch begins.

    Returns
    -------
    dict
        ``n``, ``m``, ``v``, ``seconds`` (a list), their ``median`` without the first (on a GPU
        without three), ``peak_gb`` of the device or the process, and ``operations`` for RELEASED.
    """
    provenance.reset_peak_gb(device)
    views, c = _problem(name, n_samples)
    recipe = {"revised": REVISED, "published": PUBLISHED}.get(system, RELEASED)
    if system == "fresh k-means":
        recipe = dataclasses.replace(recipe, anchor_start="kmeans")
    warm = _WARM[torch.device(device).type]
    epochs = epochs + warm if warm > 1 else epochs
    recipe = dataclasses.replace(recipe, epochs=epochs)
    generator = torch.Generator().manual_seed(0)
    width = round(recipe.components * c) or None
    given, views = check_views(views), []
    while given:  # each in turn, as a fit does: float64 takes twice the memory
        x = ViewPipeline(recipe.root, width, recipe.whitening_ridge).fit_transform(given.pop(0))
        if system.endswith("dense first layer") or system == "first layer, dense":
            x = x if isinstance(x, np.ndarray) else x.toarray()
        views.append(view_tensor(x, torch.float32, device))
    del x
    dims, n = [x.shape[1] for x in views], views[0].shape[0]
    m = n_anchors or n_anchors_for(n, c, recipe.anchor_factor, recipe.anchor_share)
    network = Network(dims, c, recipe, generator=generator).to_device(device, torch.float32)
    network.store_for(views)
    if system == "dense":
        taken = _dense_epochs(network, views, m, recipe, generator, epochs)
    elif system.startswith("pretraining"):
        coders, normalize = (network.encoders, network.decoders), recipe.normalize_embedding
        records = pretrain(
            *coders, views, epochs=epochs, lr=recipe.pretrain_lr, normalize=normalize
        )
        taken = (record.seconds for record in records)
    elif system.startswith("first layer"):
        taken = _first_layer_epochs(network, views, epochs)
    else:
        source = anchor_source(network, views, m, recipe, generator)
        taken = (record.seconds for record in train(network, views, c, source, recipe))
    seconds = []
    for epoch in taken:
        seconds.append(epoch)
        if len(seconds) > warm and sum(seconds) > most:
            break
    result = {"n": n, "m": m, "v": len(views), "seconds": [round(s, 5) for s in seconds]}
    result["median"] = round(statistics.median(seconds[warm:] or seconds), 5)
    if system == "released":
        stored = [len(x.values) / n if isinstance(x, SparseView) else x.shape[1] for x in views]
        result["operations"] = operations(n, stored, m, recipe)
    return result | {"peak_gb": provenance.peak_gb(device)}


def measure_epochs(system, name, *, threads=2, memory_gb=20, **options):
    """`epoch_seconds` in a process of its own; an ``error`` if it takes more than ``memory_gb``."""
    with Child(threads=threads, memory_gb=memory_gb, imports=[__name__]) as child:
        try:
            timed = child.call(epoch_seconds, system, name, **options)
        except MemoryError:
            timed = {"error": f"more than {memory_gb:g} GB"}
    return {"system": system, "on": name, "threads": threads} | timed


def epoch_jobs(datasets=EPOCHS_OF, growth=EPOCHS_TO, epochs=6):
    """Yield what `measure_epochs` is called with: a system, a name, and options.

    The dense reading has two epochs, which take long; sparse views are timed on BBC, which is so.
    """
    for name in datasets:
        timed = {"dense": 2} | dict.fromkeys(SYSTEMS[1:4], epochs)
        if name == "BBC":
            timed |= dict.fromkeys(SYSTEMS[4:8], 3 * epochs)
        for system, number in timed.items():
            yield system, name, {"epochs": number}
    for n in growth:
        for m in (ANCHORS, math.isqrt(CLUSTERS * n)):
            if m < n and n * m < 10**9:  # more would take ten minutes
                number = 2 if n * m > 10**8 else 4 if n * m > 10**7 else 12
                yield "released", "growth", dict(epochs=number, n_samples=n, n_anchors=m)


# --- the parts of an epoch

#: The parts of an epoch, none within another, and what computes each.
PARTS = {
    "encoders": (Network, "embed"),
    "k-means": (WarmAnchors, "__call__"),
    "anchors compared": (sampling, "assign"),
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
        for part, (where, name) in PARTS.items():
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
        parts = {part: total.get(part, 0.0) - before.get(part, 0.0) for part in PARTS}
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
            for part in [*PARTS, "the rest"]
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


def _parts_alone(name, n_samples, epochs, threads, environment=None):
    """`epoch_parts` in a process of its own."""
    with Child(threads=threads, environment=environment, imports=[__name__]) as child:
        return round_floats(child.call(epoch_parts, name, epochs, n_samples))


def _spin():
    """Take a core for ever."""
    while True:
        pass


def busy_seconds(n_samples=100_000, epochs=6, threads=2):
    """Seconds of an epoch of "growth" alone and beside a process that takes a core.

    Returns
    -------
    dict
        ``alone`` and ``busy``; the same with "passive" after a comma, where ``OMP_WAIT_POLICY`` is
        PASSIVE and waiting threads sleep, with "one thread", and with "closed form" of a whole fit
        of CLOSED_FORM.
    """
    ways = {
        "": (threads, {}),
        ", passive": (threads, {"OMP_WAIT_POLICY": "PASSIVE"}),
        ", one thread": (1, {}),
    }

    def seconds(when):
        taken = {
            when + way: _parts_alone("growth", n_samples, epochs, *given)["seconds"]
            for way, given in ways.items()
        }
        fit = time_alone("CLOSED_FORM", n_samples, True, threads)
        return taken | {f"{when}, closed form": fit["seconds"]}

    alone = seconds("alone")
    with Child() as other:
        other.send(_spin)
        return alone | seconds("busy")


# --- whole fits

#: Seconds after which a fit is stopped.
LIMIT = 40


@functools.cache
def fitted_systems():
    """By name in tables: method and settings of the systems whose whole fits are timed.

    RELEASED and the systems that train a network are not among them: with their published
    schedules a fit takes minutes to hours.
    """
    return {
        **{name: (name, settings) for name, (_, settings) in METHODS.items()},
        **{name: studies.COMPARISON[name] for name in ("CLOSED_FORM", "REVISED", "PUBLISHED")},
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
        other = DATASETS.get(fit["on"])
        stopped = fit["system"] == system and fit.get("error", "").startswith("more than")
        if stopped and here and other and other.n_samples <= here.n_samples:
            if len(other.dims) <= len(here.dims):
                return fit["on"]
    return None


def measure_fit(system, dataset, threads, fits, child, limit=LIMIT):
    """Time one fit, in a process that is used again unless it is stopped.

    ``fits`` are those before: what failed with one thread is not begun with two (None), and what
    was stopped is not begun on what is no smaller (`stopped_on`).
    """
    if any((fit["system"], fit["on"]) == (system, dataset) and "error" in fit for fit in fits):
        return None
    if other := stopped_on(system, dataset, fits):
        return {"error": f"more than {limit:g} s on {other}, not begun here"}
    try:
        child.call(warm_up, system, threads, limit=limit)
        return child.call(fit_seconds, system, dataset, threads, limit=limit)
    except TimeoutError as error:
        return {"error": str(error)}


# --- growth of whole fits

#: Samples of each fit, by recipe and by whether the number of anchors is fixed.
SIZES = {
    ("CLOSED_FORM", True): (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    ("CLOSED_FORM", False): (1_000, 3_000, 10_000, 30_000, 100_000, 300_000),
    ("REVISED", True): (1_000, 3_000, 10_000, 30_000, 100_000),
    ("REVISED", False): (1_000, 3_000, 10_000, 30_000),
}


def recipe_with(name, n_samples, fixed):
    """A recipe, with `ANCHORS` anchors if their number is fixed, else with its own rule."""
    recipe = {"CLOSED_FORM": CLOSED_FORM, "REVISED": REVISED}[name]
    if not fixed:
        return recipe
    # A little more, since the product is rounded down.
    factor = (ANCHORS + 0.5) / math.sqrt(n_samples * CLUSTERS)
    return dataclasses.replace(recipe, anchor_factor=factor)


def fit_growing(name, n_samples, fixed, folder=None, rank=0, processes=1):
    """Fit in this process, or as one of several that find each other and the views in a folder.

    Returns
    -------
    dict
        ``n``, ``m``, ``seconds`` of the fit, and ``peak_gb`` of this process.
    """
    recipe = recipe_with(name, n_samples, fixed)
    model = dmac.DMAC(CLUSTERS, recipe, random_state=0, device="cpu")
    if folder is None:
        views = synthetic_views(n_samples, DIMS, CLUSTERS)
        start = time.perf_counter()
        model.fit(views)
        seconds = time.perf_counter() - start
    else:
        import torch.distributed as dist

        from dmac.distributed import fit_sharded, open_view

        place = f"file://{folder}/group"
        dist.init_process_group("gloo", init_method=place, rank=rank, world_size=processes)
        try:
            views = [open_view(path) for path in sorted(Path(folder).glob("*.npy"))]
            start = time.perf_counter()
            fit_sharded(model, views)
            seconds = time.perf_counter() - start
        finally:
            dist.destroy_process_group()
    m = n_anchors_for(n_samples, CLUSTERS, recipe.anchor_factor, recipe.anchor_share)
    peak = round(provenance.peak_memory() / 1e3, 3)
    return {"n": n_samples, "m": m, "seconds": round(seconds, 3), "peak_gb": peak}


def time_alone(name, n_samples, fixed, threads=2):
    """`fit_growing` in a process of its own."""
    with Child(threads=threads, imports=[__name__]) as child:
        fit = child.call(fit_growing, name, n_samples, fixed)
    return {"recipe": name, "fixed": fixed, "threads": threads} | fit


def time_sharded(name, n_samples, processes=2):
    """A fit on a fixed number of anchors by several processes of one thread, on this machine."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        for a, view in enumerate(synthetic_views(n_samples, DIMS, CLUSTERS)):
            np.save(Path(folder) / f"{a}.npy", view)
        children = [stack.enter_context(Child(threads=1)) for _ in range(processes)]
        for rank, child in enumerate(children):
            child.send(fit_growing, name, n_samples, True, folder, rank, processes)
        fits = [child.result() for child in children]
    slowest = max(fits, key=lambda fit: fit["seconds"])
    peaks = [fit["peak_gb"] for fit in fits]
    return {"recipe": name, "processes": processes} | slowest | {"peak_gb": peaks}


# --- LMVSC's quadratic programmes, all at once and one sample at a time

#: To which relative duality gap every programme is solved at once.
TOLERANCE = 1e-6
#: Of the equation that stands for the sum of a sample's weights, beside unit rows.
_HEAVY = 1e4


def programmes(x, n_anchors, alpha=1.0, seed=0):
    r"""The quadratic programmes of one view, as :class:`dmac.peers.lmvsc.LMVSC` states them.

    The anchors are the centres of k-means with one start.

    Returns
    -------
    anchors : numpy.ndarray of shape (m, d)
    hessian : numpy.ndarray of shape (m, m)
        :math:`2 (\alpha I + A A^T)`.
    linear : numpy.ndarray of shape (n, m)
        :math:`-2 A x_i` in row i.
    """
    x = np.asarray(x, dtype=float)
    anchors = kmeans(x, n_anchors, seed, 1).cluster_centers_
    hessian = 2 * (alpha * np.eye(n_anchors) + anchors @ anchors.T)
    return anchors, hessian, -2 * (x @ anchors.T)


def solve_by_slsqp(hessian, linear):
    """One programme by sequential least squares: (m, m), (m,) -> (m,)."""
    m = len(linear)
    return optimize.minimize(
        lambda z: 0.5 * z @ hessian @ z + linear @ z,
        np.full(m, 1 / m),
        jac=lambda z: hessian @ z + linear,
        bounds=[(0, 1)] * m,
        constraints={"type": "eq", "fun": lambda z: z.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-10, "maxiter": 500},
    ).x


def solve_by_active_set(factor, target):
    r"""One programme as non-negative least squares, by the active set of Lawson and Hanson.

    :math:`B^T B` of the factor (r, m) is half the Hessian, :math:`-2 B^T y` the linear term.
    """
    row = np.full((1, factor.shape[1]), _HEAVY)
    return optimize.nnls(np.vstack([factor, row]), np.append(target, _HEAVY))[0]


def relative_gaps(hessian, linear, z):
    """Duality gaps at some points of the simplex, relative as in ``solve_rows``: (n,)."""
    slope = z @ hessian + linear
    gaps = (slope * z).sum(1) - slope.min(1)
    m = len(hessian)
    means = hessian.mean(0)
    inner = hessian - means - means[:, None] + means.mean()
    slopes = means + linear
    return gaps / (slopes.mean(1) - slopes.min(1) + np.trace(inner) / m)


def _timed(function):
    """What a function returns, with ``seconds`` on the clock and ``processor_seconds``."""
    wall, processor = time.perf_counter(), time.process_time()
    result = function()
    seconds = {"seconds": time.perf_counter() - wall}
    return result, seconds | {"processor_seconds": time.process_time() - processor}


def measure_view(x, n_anchors, n_samples=125, alpha=1.0):
    """Time one view's programmes at once, and the first ones one by one.

    Returns
    -------
    dict
        ``d``; of all at once ``seconds`` on the clock, ``processor_seconds`` of all threads, and
        the worst ``gap``; under ``one_by_one``, by solver, those of one sample.
    """
    x = np.asarray(x, dtype=float)
    anchors, hessian, linear = programmes(x, n_anchors, alpha)
    solution, seconds = _timed(lambda: solve_rows(hessian, linear, tol=TOLERANCE))
    # Half the Hessian as a product of this matrix with itself.
    factor = np.vstack([anchors.T, np.sqrt(alpha) * np.eye(n_anchors)])
    solvers = {
        "SLSQP": lambda i: solve_by_slsqp(hessian, linear[i]),
        "active set": lambda i: solve_by_active_set(factor, np.append(x[i], np.zeros(n_anchors))),
    }
    one_by_one = {}
    for name, solve in solvers.items():
        # Matrices as small as these gain nothing from a second thread, and lose by it under load.
        with threadpool_limits(1):
            z, took = _timed(lambda f=solve: np.array([f(i) for i in range(n_samples)]))
        z = np.maximum(z, 0)
        z /= z.sum(1, keepdims=True)
        gap = float(relative_gaps(hessian, linear[:n_samples], z).max())
        one_by_one[name] = {kind: x / n_samples for kind, x in took.items()} | {"gap": gap}
    gap = float(solution.gap.max())
    return {"d": x.shape[1]} | seconds | {"gap": gap, "one_by_one": one_by_one}


def measure_simplex(shape="ALOI", n_anchors=100, n_samples=500, threads=2):
    """`measure_view` on every view of data of a shape, with the load before.

    Of all views together ``n_samples`` programmes are solved one by one.
    """
    n, dims, c = SHAPES[shape]
    before, each = os.getloadavg()[0], n_samples // len(dims)
    with threadpool_limits(threads):
        views = [measure_view(x, n_anchors, each) for x in synthetic_views(n, dims, c)]
    about = {"n": n, "m": n_anchors, "n_samples": n_samples, "load_before": round(before, 2)}
    return about | {"views": views}


# --- samples that lack views

#: Samples, columns of the views, and clusters where their cost is measured.
MANY, LACKING_DIMS = 100_000, (30, 30, 30, 30)


def fit_lacking(recipe, rate, n=MANY):
    """Seconds of the processor of a fit of generated views in this process, and its peak memory."""
    views = synthetic_views(n, LACKING_DIMS, CLUSTERS)
    views = incomplete.without(views, incomplete.random_pattern(n, len(views), rate, 0))
    before, start = provenance.peak_memory() / 1e3, time.process_time()
    recipe = incomplete.OURS[recipe]
    model = dmac.DMAC(CLUSTERS, recipe, random_state=0, device="cpu").fit(views)
    seconds = round(time.process_time() - start, 1)
    peak = provenance.peak_memory() / 1e3
    filled = model.network_.completion is not None
    return {"seconds": seconds, "peak_gb": peak, "before_gb": before, "filled": filled}


# --- on a GPU


def run_tests(files=(ROOT / "tests" / "test_gpu.py",), limit=None):
    """Run test files with pytest alone: no plug-in, no conftest, no installation.

    Returns
    -------
    dict
        How many ``passed``, ``failed`` and were ``skipped``, and the ``reasons`` of these; of files
        that pytest cannot run one has failed.
    """
    options = ["-q", "--noconftest", "-p", "no:cacheprovider", "-o", "addopts=", "-W", "default"]
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": paths}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", *map(str, files), *options]
        try:
            subprocess.run([*command, f"--junitxml={report}"], timeout=limit, env=environment)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"more than {limit:.0f} s") from None
        cases = list(ElementTree.parse(report).iter("testcase")) if report.exists() else []
    counts, reasons = {"passed": 0, "failed": int(not cases), "skipped": 0}, []
    for case in cases:
        outcome = next(iter(case), None)
        kind = "passed" if outcome is None else "failed"
        if outcome is not None:
            kind = "skipped" if outcome.tag == "skipped" else kind
            reasons.append(f"{kind.upper()} {case.get('name')}: {outcome.get('message')}"[:500])
        counts[kind] += 1
    return counts | {"reasons": reasons}


def fit_times(recipe, name, *, device, n_samples=None, n_anchors=None, changes=None):
    """The seconds of a whole fit, from arrays to labels, and its peak memory.

    ``changes`` are fields that are not the recipe's.
    """
    provenance.reset_peak_gb(device)
    views, c = _problem(name, n_samples)
    changes = (changes or {}) | ({"n_anchors": n_anchors} if n_anchors else {})
    made = dataclasses.replace(get_recipe(recipe), **changes)
    start = time.perf_counter()
    model = dmac.DMAC(c, made, random_state=0, device=device).fit(views)
    about = {"n": views[0].shape[0], "c": c, "m": model.n_anchors_}
    return about | {"fit_s": time.perf_counter() - start, "peak_gb": provenance.peak_gb(device)}


def score_means(recipe, dataset, *, device, seeds=3, every=1):
    """Scores and seconds of whole fits on a data set, or every so many samples of it.

    Means over seeds, and ``first_fit_s`` of the first alone.
    """
    data = load(dataset)
    views, labels = [x[::every] for x in data.views], data.labels[::every]
    fits = []
    for seed in range(seeds):
        start = time.perf_counter()
        model = dmac.DMAC(data.n_clusters, get_recipe(recipe), random_state=seed, device=device)
        predicted = model.fit_predict(views)
        fits.append(dmac.scores(labels, predicted) | {"fit_s": time.perf_counter() - start})
    means = {name: float(np.mean([fit[name] for fit in fits])) for name in fits[0]}
    about = {"n": len(labels), "c": data.n_clusters, "first_fit_s": fits[0]["fit_s"]}
    return about | means


# --- all of it


_LACKING = (("closed_form", 0.0), ("unfilled", 0.5), ("closed_form", 0.5))
#: The measurements of a part: system, what it runs on, and settings.
FIXED = {
    "simplex": [("LMVSC", "ALOI", {"threads": 2})],
    "parts": [
        ("blocks", "growth", {}),
        *(("released", name, {"n_samples": n, "epochs": epochs}) for name, n, epochs in JOBS),
        ("busy neighbour", "growth", {}),
    ],
    "growth": [
        *(
            (system, "growth", {"n": n, "fixed": fixed})
            for (system, fixed), sizes in SIZES.items()
            for n in sizes
        ),
        ("CLOSED_FORM", "growth", {"n": 300_000, "processes": 2}),
    ],
    "epochs": [("matrix product", "growth", {}), *epoch_jobs()],
    "lacking": [(recipe, "growth", {"rate": rate}) for recipe, rate in _LACKING],
    "tests": [("pytest", "tests/test_gpu.py", {})],
}
_FEW = dict(n_anchors=ANCHORS)
#: On a GPU, powers of ten first, and the widest shape late: its views take long to prepare.
ON_GPU = {
    "epochs": [
        (system, on, dict(epochs=12, most=6.0, **more))
        for on, more in (
            *((on, {}) for on in ("mfeat", "PIE", "BBC", "100Leaves", "NUS", "half ALOI", "ALOI")),
            *(("growth", dict(n_samples=10**power, **_FEW)) for power in range(3, 7)),
            ("CCV", {}),
            *(("growth", dict(n_samples=3 * 10**power, **_FEW)) for power in range(3, 6)),
        )
        for system in GPU_SYSTEMS
    ],
    "large fits": [
        ("CLOSED_FORM", "growth", dict(n_samples=100_000, **_FEW)),
        ("CLOSED_FORM", "growth", dict(n_samples=1_000_000, **_FEW)),
        ("RELEASED", "ALOI", {}),
        ("REVISED", "growth", dict(n_samples=1_000_000, **_FEW)),
    ],
}
#: Where there is no GPU.
SMALL = {
    "epochs": [
        (system, on, dict(epochs=3, most=3.0, **more))
        for on, more in (("PIE", {}), ("growth", dict(n_samples=1000, **_FEW)))
        for system in GPU_SYSTEMS
    ],
    "large fits": [
        ("RELEASED", "growth", dict(n_samples=1000, changes=dict(pretrain_epochs=20, epochs=5))),
        ("REVISED", "growth", dict(n_samples=2000, n_anchors=64, changes=dict(epochs=10))),
        ("CLOSED_FORM", "growth", dict(n_samples=1000)),
    ],
    "scores": [(recipe, "mfeat", {"every": 4}) for recipe in ("CLOSED_FORM", "REVISED")],
}


def jobs_of(part, device="cpu", small=False):
    """The measurements of a part, the most wanted first: system, what it runs on, and settings."""
    jobs = FIXED | (SMALL if small else {} if device == "cpu" else ON_GPU)
    # Small ones first, since what was stopped there is not begun on larger ones.
    names = sorted(studies.SIXTEEN, key=lambda name: DATASETS[name].n_samples)
    if part == "fits":
        systems = [system for system in fitted_systems() if is_installed(system)]
        every = itertools.product(names, (1, 2), systems)
        return [(system, name, {"threads": threads}) for name, threads, system in every]
    if part == "scores" and not small:
        there = ["mfeat", *filter(is_at_hand, names)]
        return [(recipe, name, {}) for recipe in ("CLOSED_FORM", "REVISED") for name in there]
    return jobs[part]


class Bench:
    """Measurements on one device, kept in a store.

    Parameters
    ----------
    folder : path
        Of the store.
    device : str
        "auto" is a GPU where there is one, else the processor on small sizes.
    """

    def __init__(self, folder, device="cpu"):
        gpu = torch.cuda.is_available()
        self.small = device == "auto" and not gpu
        self.device = ("cuda" if gpu else "cpu") if device == "auto" else device
        self.about = provenance.about(self.device)
        self.store, self.failed = Store(folder).refresh(), 0
        # One process, where processes of their own would take longer to start than to measure.
        self.child = Child(imports=[__name__])

    def identity(self, part, system, on, settings):
        """What names a measurement in the store, with its machine and its code."""
        where = {"machine": self.about["card"] or self.about["processor"]}
        where |= {"device": self.device, "small": self.small, "commit": self.about["commit"]}
        settings = {"timed": part} | settings | where
        return dict(dataset=on, data="", method=system, settings=settings, seed=0)

    def measure(self, part, jobs=None, end=math.inf):
        """Make the measurements of a part that the store lacks, until a time of the clock."""
        done = []
        for system, on, settings in jobs or jobs_of(part, self.device, self.small):
            identity = self.identity(part, system, on, settings)
            record = self.store.get(self.store.key(identity))
            left = None if end == math.inf else end - time.monotonic()
            if record is None:
                result, why = self.attempt(part, system, on, settings, left, done)
                print(f"{part}: {system} on {on} {settings}: {result or why}", flush=True)
                if not result:
                    continue
                record = identity | round_floats(result) | self._made()
                suffix = ", gpu" if self.device != "cpu" else ""
                self.store.append(record, f"times/{part}{suffix}")
            done.append(record | {"system": system, "on": on})
        return done

    def _made(self):
        code = provenance.code_hash(provenance.PACKAGE, provenance.HERE)
        about = self.about | {"code": {"sha256": code, "commit": self.about["commit"]}}
        del about["commit"]
        return provenance.machine() | about | {"load": round(os.getloadavg()[0], 2)}

    def attempt(self, part, system, on, settings, left, done):
        """What a measurement gave, or None and why it gave nothing."""
        if left is not None and left <= 0:
            return None, "not reached, the part's time was up"
        try:
            result = self._run(part, system, on, settings, left, done)
        except TimeoutError as error:
            return None, f"stopped: {error}"
        except MemoryError:
            return {"error": "more memory than there is"}, None
        except RuntimeError as error:
            self.failed += 1
            return None, f"failed: {error}"
        if part == "tests" and result["failed"]:  # no evidence
            self.failed += 1
            return None, f"failed: {result}"
        return result, "not begun, it failed before"

    def _run(self, part, system, on, settings, left, done):
        threads = settings.get("threads", 2)
        if part == "simplex":
            return measure_simplex(on, threads=threads)
        if part == "parts" and system == "busy neighbour":
            return {"seconds": busy_seconds()}
        if part == "fits":
            return measure_fit(system, on, threads, done, self.child)
        if part == "growth":
            sharded = "processes" in settings
            given = settings["n"], settings.get("processes" if sharded else "fixed")
            return (time_sharded if sharded else time_alone)(system, *given)
        if part == "tests":
            return run_tests(limit=left)
        if part == "large fits" or part == "scores":
            function = fit_times if part == "large fits" else score_means
            return self.child.call(function, system, on, device=self.device, limit=left, **settings)
        if part == "epochs" and (self.device != "cpu" or self.small):
            where = dict(device=self.device, limit=left)
            return self.child.call(epoch_seconds, system, on, **where, **settings)
        if part == "epochs" and system != "matrix product":
            return measure_epochs(system, on, **settings)
        environment = {"DMAC_NUM_THREADS": "1"} if part == "lacking" else {}
        alone = 1 if part == "lacking" else 2
        with Child(threads=alone, environment=environment, imports=[__name__]) as child:
            if part == "lacking":
                return child.call(fit_lacking, system, settings["rate"])
            if system == "matrix product":
                return {"rate": child.call(matrix_rate)}
            if system == "blocks":
                return {"seconds": child.call(block_seconds)}
            return child.call(epoch_parts, on, settings["epochs"], settings["n_samples"])


def main(arguments=None):
    """Entry point of ``python -m experiments.bench``."""
    parts = dict.fromkeys([*ON_A_PROCESSOR, *ON_A_GPU])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="+", choices=list(parts), metavar="PART")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, or auto: small without a GPU")
    parser.add_argument("--budget", type=float, help="seconds for everything")
    parser.add_argument("--out", type=Path, default=ROOT / "notebooks" / "results" / "runs")
    given = parser.parse_args(arguments)
    if given.budget is not None and given.budget <= 0:
        parser.error(f"--budget is {given.budget:g}, it must be above 0")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    bench, start = Bench(given.out, given.device), time.monotonic()
    if bench.small:
        print("There is no GPU here: the processor does the same on small sizes.", flush=True)
    shares = [ON_A_GPU.get(part, (180, 60))[bench.small] for part in given.parts]
    budget = sum(shares) if given.budget is None and given.device != "cpu" else given.budget
    end = start
    with bench.child:
        for part, share in zip(given.parts, shares):
            end = math.inf if budget is None else end + budget * share / sum(shares)
            bench.measure(part, end=end)
    print(f"{Path(given.out) / 'times'}, {time.monotonic() - start:.0f} s")
    sys.exit(bool(bench.failed))


if __name__ == "__main__":
    from experiments import bench

    bench.main()  # by its name, which processes of their own import
