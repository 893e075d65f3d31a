"""What the chapter on cost times: epochs, their parts, whole fits, growth, LMVSC's programmes.

    python -m experiments.bench PART --save FILE

where PART is epochs, parts, fits, growth, samples, simplex or lacking; ``make bench`` does all but
the last. What is timed has a process of its own (:mod:`experiments.harness`), one after the other,
so the machine should do nothing else.
"""

import argparse
import contextlib
import dataclasses
import functools
import json
import math
import os
import statistics
import tempfile
import time
import warnings
from pathlib import Path
from unittest import mock

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
from dmac.recipes import CLOSED_FORM, RELEASED, REVISED
from dmac.scaling import assign
from dmac.training import anchor_source, train
from dmac.views import load
from experiments import incomplete, provenance
from experiments.harness import Child, write_json
from experiments.large_views import KINDS
from experiments.store import round_floats

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
#: The systems whose epochs can be timed; the last four are about sparse views.
SYSTEMS = (
    *("dense", "released", "fresh k-means", "revised"),
    *("pretraining", "pretraining, dense first layer"),
    *("first layer", "first layer, dense"),
)
#: Whose epochs are timed, and for how many samples of "growth".
EPOCHS_OF = ("mfeat", "PIE", "BBC", "100Leaves", *SHAPES)
EPOCHS_TO = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)


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


def _keep(path, stored, where, record):
    """Add a record to what a file holds, with the load and the machine, write and print it."""
    stored[where].append(record | {"load": round(os.getloadavg()[0], 2)})
    stored["machine"] = provenance.machine()
    write_json(path, stored)
    print(json.dumps(stored[where][-1]), flush=True)


def _stored(path, empty):
    """What a file holds, to go on with."""
    path = Path(path)
    return json.loads(path.read_text()) if path.exists() else empty


# --- epochs


def _problem(name, n_samples):
    if name == "growth":
        return synthetic_views(n_samples, DIMS, CLUSTERS), CLUSTERS
    if name in SHAPES:
        n, dims, c = SHAPES[name]
        return synthetic_views(n, dims, c), c
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


def _pretrain_epochs(network, views, recipe, epochs):
    records = pretrain(
        network.encoders,
        network.decoders,
        views,
        epochs=epochs,
        lr=recipe.pretrain_lr,
        normalize=recipe.normalize_embedding,
    )
    return [record.seconds for record in records]


def _first_layer_epochs(network, views, epochs):
    """The encoders' first layers alone: products forward, and the gradients of the weights."""
    for _ in range(epochs):
        start = time.perf_counter()
        for encoder, x in zip(network.encoders, views):
            h = linear(encoder.first, x)
            torch.autograd.grad(h.sum(), encoder.first.weight)
        yield time.perf_counter() - start


def epoch_seconds(system, name, *, epochs, n_samples=None, n_anchors=None):
    """Run some epochs of a system on a data set or shape, in this process.

    Parameters
    ----------
    system : str
        One of `SYSTEMS`.
    name : str
        A data set, one of `SHAPES`, or "growth": three views of 64 features, ``n_samples`` of them.
    epochs : int
    n_samples, n_anchors : int, optional

    Returns
    -------
    dict
        ``n``, ``m``, ``v``, ``seconds`` (a list), and ``operations`` for RELEASED.
    """
    views, c = _problem(name, n_samples)
    recipe = REVISED if system == "revised" else RELEASED
    if system == "fresh k-means":
        recipe = dataclasses.replace(recipe, anchor_start="kmeans")
    recipe = dataclasses.replace(recipe, epochs=epochs)
    generator = torch.Generator().manual_seed(0)
    width = round(recipe.components * c) or None
    given, views = check_views(views), []
    while given:  # each in turn, as a fit does: float64 takes twice the memory
        x = ViewPipeline(recipe.root, width, recipe.whitening_ridge).fit_transform(given.pop(0))
        if system.endswith("dense first layer") or system == "first layer, dense":
            x = x if isinstance(x, np.ndarray) else x.toarray()
        views.append(view_tensor(x, torch.float32, "cpu"))
    del x
    dims, n = [x.shape[1] for x in views], views[0].shape[0]
    m = n_anchors or n_anchors_for(n, c, recipe.anchor_factor, recipe.anchor_share)
    network = Network(dims, c, recipe, generator=generator).to_device("cpu", torch.float32)
    network.store_for(views)
    if system == "dense":
        seconds = list(_dense_epochs(network, views, m, recipe, generator, epochs))
    elif system.startswith("pretraining"):
        seconds = _pretrain_epochs(network, views, recipe, epochs)
    elif system.startswith("first layer"):
        seconds = list(_first_layer_epochs(network, views, epochs))
    else:
        source = anchor_source(network, views, m, recipe, generator)
        seconds = [r.seconds for r in train(network, views, c, source, recipe)]
    result = {"n": n, "m": m, "v": len(views), "seconds": [round(s, 5) for s in seconds]}
    if system == "released":
        stored = [len(x.values) / n if isinstance(x, SparseView) else x.shape[1] for x in views]
        result["operations"] = operations(n, stored, m, recipe)
    return result


def measure_epochs(system, name, *, threads=2, memory_gb=20, **options):
    """`epoch_seconds` in a process of its own, with its peak memory.

    Returns
    -------
    dict
        As `epoch_seconds`, with ``median`` (of all epochs but the first), ``peak_gb`` of the whole
        process and ``threads``; or with ``error`` if it takes more than ``memory_gb``.
    """
    result = {"system": system, "name": name, "threads": threads}
    with Child(threads=threads, memory_gb=memory_gb, imports=[__name__]) as child:
        try:
            result |= child.call(epoch_seconds, system, name, **options)
            # The first epoch warms caches and seeds k-means; with others after it, it is left out.
            seconds = result["seconds"][1:] or result["seconds"]
            result["median"] = round(statistics.median(seconds), 5)
        except MemoryError:
            result["error"] = f"more than {memory_gb:g} GB"
    return result | {"peak_gb": round(child.peak_gb, 3)}


def epoch_jobs(datasets=EPOCHS_OF, growth=EPOCHS_TO, epochs=6):
    """Yield what `measure_epochs` is called with: a system, a name, and options.

    The dense reading has two epochs, which take long; sparse views are timed on BBC, which is so.
    """
    for name in datasets:
        timed = {"dense": 2} | dict.fromkeys(SYSTEMS[1:4], epochs)
        if name == "BBC":
            timed |= dict.fromkeys(SYSTEMS[4:], 3 * epochs)
        for system, number in timed.items():
            yield system, name, {"epochs": number}
    for n in growth:
        for m in (ANCHORS, math.isqrt(CLUSTERS * n)):
            if m < n and n * m < 10**9:  # more would take ten minutes
                number = 2 if n * m > 10**8 else 4 if n * m > 10**7 else 12
                yield "released", "growth", dict(epochs=number, n_samples=n, n_anchors=m)


def measure_all_epochs(path, threads=2):
    """Time the epochs of `epoch_jobs`, and store each record as soon as it is there.

    The file is written anew: ``runs``, a list of what `measure_epochs` returns, ``matrix_rate``,
    ``threads`` and ``machine``.
    """
    with Child(threads=threads) as child:
        stored = {"matrix_rate": child.call(matrix_rate), "threads": threads, "runs": []}
    for system, name, options in epoch_jobs():
        _keep(path, stored, "runs", measure_epochs(system, name, threads=threads, **options))
    return stored


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

    def one(*args, **more):
        before = dict(total)
        record = step(*args, **more)
        parts = {part: total.get(part, 0.0) - before.get(part, 0.0) for part in PARTS}
        epochs_seen.append(parts | {"the rest": record.seconds - sum(parts.values())})
        return record

    m = ANCHORS if name == "growth" else None
    with timed(total), mock.patch.object(training, "_epoch", one):
        found = epoch_seconds("released", name, epochs=epochs, n_samples=n_samples, n_anchors=m)
    rate = matrix_rate()
    kept = slice(max(1, epochs // 10), None)
    return {
        "name": name,
        "n": found["n"],
        "m": found["m"],
        "parts": {
            part: statistics.median(parts[part] for parts in epochs_seen[kept])
            for part in [*PARTS, "the rest"]
        },
        "seconds": statistics.median(found["seconds"][kept]),
        "seconds_early": statistics.median(found["seconds"][1:6]),
        "seconds_of_all": sum(found["seconds"]),
        "epochs": epochs,
        "floor": found["operations"] / rate,
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
        found = {
            when + way: _parts_alone("growth", n_samples, epochs, *given)["seconds"]
            for way, given in ways.items()
        }
        fit = time_alone("CLOSED_FORM", n_samples, True, threads)
        return found | {f"{when}, closed form": fit["seconds"]}

    found = seconds("alone")
    with Child() as other:
        other.send(_spin)
        return found | seconds("busy")


def measure_parts(path, threads=2):
    """Time every job, the blocks, and an epoch beside another process.

    The file is written anew: ``epochs``, a list of what `epoch_parts` returns, ``blocks``,
    ``beside`` of `busy_seconds`, ``threads`` and ``machine``.
    """
    stored = {"epochs": [], "threads": threads}
    with Child(threads=threads) as child:
        stored["blocks"] = round_floats(child.call(block_seconds))
    for job in JOBS:
        _keep(path, stored, "epochs", _parts_alone(*job, threads))
    stored["beside"] = busy_seconds(threads=threads)
    write_json(path, stored)
    return stored


# --- whole fits

#: Seconds after which a fit is stopped.
LIMIT = 40


@functools.cache
def fitted_systems():
    """By name in tables: method and settings of the systems whose whole fits are timed.

    RELEASED and the systems that train a network are not among them: with their published
    schedules a fit takes minutes to hours.
    """
    from experiments import libraries, studies
    from experiments.run import METHODS

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
    from experiments.run import Spec, make_run

    method, settings = fitted_systems()[system]
    # The settings of a timed run of DMAC let a fit choose its threads as a user's does.
    own = settings | {"threads": threads} if method == "DMAC" else settings
    return make_run(Spec(dataset, method, own, 0, ""), threads=threads, **options)


def time_fits(dataset, systems, threads, limit):
    """Yield the record of one system after the other, in one process unless one is stopped."""
    with Child(imports=[__name__, "experiments.run"]) as child:
        for system in systems:
            record = {"system": system, "dataset": dataset, "threads": threads}
            try:
                child.call(warm_up, system, threads, limit=limit)
                yield record | child.call(fit_seconds, system, dataset, threads, limit=limit)
            except TimeoutError as error:
                yield record | {"error": str(error)}


def installed(names):
    """The systems among some that can be run here: those of libraries need their library."""
    from experiments import libraries

    needed = {name: one.library for name, one in libraries.ESTIMATORS.items()}
    return [
        name
        for name in names
        if name not in needed or libraries.installed_version(needed[name]) is not None
    ]


def stopped_on(system, dataset, fits):
    """A data set with at most as many samples and views on which a system was stopped, or None."""
    here = DATASETS.get(dataset)
    for one in fits:
        other = DATASETS.get(one["dataset"])
        stopped = one["system"] == system and one.get("error", "").startswith("more than")
        if stopped and here and other and other.n_samples <= here.n_samples:
            if len(other.dims) <= len(here.dims):
                return one["dataset"]
    return None


def measure_fits(path, datasets=None, systems=None, threads=(1, 2), limit=LIMIT):
    """Time the fits that a file lacks, and store each record as soon as it is there.

    A system that was stopped with one thread is not begun with two, and see `stopped_on`. The file
    holds ``fits``, a list of records, and ``machine``.
    """
    from experiments.studies import SIXTEEN

    datasets = datasets or SIXTEEN
    # Small ones first, since what was stopped there is not begun on larger ones.
    datasets = sorted(datasets, key=lambda name: getattr(DATASETS.get(name), "n_samples", 0))
    stored, systems = _stored(path, {"fits": []}), installed(systems or fitted_systems())
    for dataset in datasets:
        for number in threads:
            have = {
                one["system"]
                for one in stored["fits"]
                if one["dataset"] == dataset and (one["threads"] == number or "error" in one)
            }
            begun = []
            for name in (name for name in systems if name not in have):
                other = stopped_on(name, dataset, stored["fits"])
                if other is None:
                    begun.append(name)
                    continue
                record = {"system": name, "dataset": dataset, "threads": number}
                error = f"more than {limit:g} s on {other}, not begun here"
                _keep(path, stored, "fits", record | {"error": error})
            for record in time_fits(dataset, begun, number, limit):
                _keep(path, stored, "fits", record)
    return stored


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
    recipe = {"CLOSED_FORM": CLOSED_FORM, "REVISED": REVISED}[name]
    most = int(recipe.anchor_share * n_samples)
    return dataclasses.replace(recipe, n_anchors=min(ANCHORS, most)) if fixed else recipe


def fit_growing(name, n_samples, fixed, folder=None, rank=0, processes=1):
    """Fit in this process, or as one of several that find each other and the views in a folder.

    One process with a folder fits views that stay there, and writes the labels beside them.

    Returns
    -------
    dict
        ``n``, ``m``, ``seconds`` of the fit, ``processor_seconds`` of all its threads,
        ``views_gb`` of views in memory and ``peak_gb`` of this process.
    """
    recipe = recipe_with(name, n_samples, fixed)
    model = dmac.DMAC(CLUSTERS, recipe, random_state=0, device="cpu")
    views_gb, of_process = 0.0, time.process_time()
    if folder is None:
        views = synthetic_views(n_samples, DIMS, CLUSTERS)
        views_gb, of_process = sum(x.nbytes for x in views) / 1e9, time.process_time()
        start = time.perf_counter()
        model.fit(views)
        seconds = time.perf_counter() - start
    elif processes == 1:
        views = [np.load(path, mmap_mode="r") for path in sorted(Path(folder).glob("?.npy"))]
        into = np.lib.format.open_memmap(f"{folder}/labels.npy", "w+", np.int64, (n_samples,))
        start = time.perf_counter()
        model._fit(views, into=into)
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
    return {
        "n": n_samples,
        "m": model.n_anchors_,
        "seconds": round(seconds, 3),
        "processor_seconds": round(time.process_time() - of_process, 3),
        "views_gb": round(views_gb, 6),
        "peak_gb": round(provenance.peak_memory() / 1e3, 3),
    }


def time_alone(name, n_samples, fixed, threads=2):
    """`fit_growing` in a process of its own."""
    with Child(threads=threads, imports=[__name__]) as child:
        found = child.call(fit_growing, name, n_samples, fixed)
    return {"recipe": name, "fixed": fixed, "threads": threads} | found


def time_sharded(name, n_samples, processes=2):
    """A fit on a fixed number of anchors by several processes of one thread, on this machine."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        for a, view in enumerate(synthetic_views(n_samples, DIMS, CLUSTERS)):
            np.save(Path(folder) / f"{a}.npy", view)
        children = [stack.enter_context(Child(threads=1)) for _ in range(processes)]
        for rank, child in enumerate(children):
            child.send(fit_growing, name, n_samples, True, folder, rank, processes)
        found = [child.result() for child in children]
    slowest = max(found, key=lambda one: one["seconds"])
    peaks = [one["peak_gb"] for one in found]
    return {"recipe": name, "processes": processes} | slowest | {"peak_gb": peaks}


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


def time_on_disk(name, n_samples, threads=2):
    """`fit_growing` of views that are written to disk before, and stay there."""
    with tempfile.TemporaryDirectory() as folder:
        write_views(folder, n_samples)
        with Child(threads=threads, imports=[__name__]) as child:
            found = child.call(fit_growing, name, n_samples, True, folder)
    return {"recipe": name, "threads": threads} | found


def fit_profile(n_samples=1_000_000):
    """Where the seconds of a fit of CLOSED_FORM go: ``n``, and ``parts`` by stage of its bar."""
    from dmac.compute import progress_bar

    stages, model = [], dmac.DMAC(CLUSTERS, recipe_with("CLOSED_FORM", n_samples, True), 0, "cpu")

    class Clock:
        def stage(self, text):
            stages.append((text, time.perf_counter()))

    views = synthetic_views(n_samples, DIMS, CLUSTERS)
    with mock.patch.object(progress_bar, "_active", Clock()):
        model.fit(views)
    ends = [start for _, start in stages[1:]] + [time.perf_counter()]
    parts = {text: round(end - start, 3) for (text, start), end in zip(stages, ends)}
    return {"n": n_samples, "parts": parts}


def measure_growth(path, most=10_000_000, sharded=(300_000,), on_disk=(10_000_000,)):
    """Time the fits of `SIZES`, up to ``most`` samples, and others that a file lacks.

    The file holds ``fits``, ``sharded``, those ``on_disk``, the ``profile`` of a million samples
    and ``machine``.
    """
    stored = _stored(path, {"fits": [], "sharded": [], "on_disk": []})
    have = {(one["recipe"], one["fixed"], one["n"]) for one in stored["fits"]}
    for (name, fixed), numbers in SIZES.items():
        for n in numbers:
            if n <= most and (name, fixed, n) not in have:
                _keep(path, stored, "fits", time_alone(name, n, fixed))
    for n in sharded:
        if n not in [one["n"] for one in stored["sharded"]]:
            _keep(path, stored, "sharded", time_sharded("CLOSED_FORM", n))
    for n in on_disk:
        if n <= most and n not in [one["n"] for one in stored["on_disk"]]:
            _keep(path, stored, "on_disk", time_on_disk("CLOSED_FORM", n))
    if most >= 1_000_000 and "profile" not in stored:
        with Child(threads=2, imports=[__name__]) as child:
            stored["profile"] = child.call(fit_profile)
        write_json(path, stored)
    return stored


# --- a part of the samples, beside all

#: Samples of each kind of :mod:`experiments.large_views`, and how many of them are fitted.
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
        model = dmac.DMAC(n_clusters, recipe, random_state=seed, device="cpu")
        found, seconds = _timed(lambda: model.fit_predict(views))
    acc = round(dmac.scores(labels, found)["acc"], 4)
    return {"name": name, "fitted": fitted, "seed": seed, "n": len(labels), "acc": acc} | {
        key: round(value, 2) for key, value in seconds.items()
    }


def measure_samples(path, names=(*QUARTERED, *KINDS), seeds=(0, 1, 2), fitted=FITTED):
    """ACC with a part fitted, and with all, where a file lacks it: ``fits`` and ``machine``."""
    stored = _stored(path, {"fits": []})
    have = {(one["name"], one["fitted"], one["seed"]) for one in stored["fits"]}
    for name in names:
        numbers = fitted if name in KINDS else (DATASETS[name].n_samples // 4, None)
        jobs = [(name, number, seed) for number in numbers for seed in seeds]
        with Child(threads=1, imports=[__name__]) as child:
            for job in [job for job in jobs if job not in have]:
                _keep(path, stored, "fits", child.call(part_accuracy, *job))
    return stored


# --- samples that lack views

#: Samples and columns of the views where their cost is measured; a recipe, and the share missing.
MANY, LACKING_DIMS = 100_000, (30, 30, 30, 30)
LACKING = (("closed_form", 0.0), ("unfilled", 0.5), ("closed_form", 0.5))


def fit_lacking(recipe, rate, n=MANY):
    """Seconds of the processor of a fit of generated views in this process, and its peak memory."""
    views = synthetic_views(n, LACKING_DIMS, CLUSTERS)
    views = incomplete.without(views, incomplete.random_pattern(n, len(views), rate, 0))
    before, start = provenance.peak_memory() / 1e3, time.process_time()
    model = dmac.DMAC(CLUSTERS, incomplete.OURS[recipe], random_state=0, device="cpu").fit(views)
    seconds = round(time.process_time() - start, 1)
    peak = provenance.peak_memory() / 1e3
    filled = model.network_.completion is not None
    return {"seconds": seconds, "peak_gb": peak, "before_gb": before, "filled": filled}


def measure_lacking(path, n=MANY):
    """`fit_lacking` with nothing missing and a half, each in a process of one thread."""
    about = {"n": n, "dims": LACKING_DIMS, "clusters": CLUSTERS, "threads": 1, "fits": []}
    for recipe, rate in LACKING:
        environment = {"DMAC_NUM_THREADS": "1"}
        with Child(threads=1, environment=environment, imports=[__name__]) as child:
            record = child.call(fit_lacking, recipe, rate, n)
        _keep(path, about, "fits", {"recipe": recipe, "rate": rate} | record)
    return about


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
    found = function()
    seconds = {"seconds": time.perf_counter() - wall}
    return found, seconds | {"processor_seconds": time.process_time() - processor}


def measure_view(x, n_anchors, n_samples=125, alpha=1.0):
    """Time one view's programmes at once, and the first ones one by one.

    Returns
    -------
    dict
        ``d``; of all at once ``seconds`` on the clock, ``processor_seconds`` of all threads, and
        the worst ``gap``; under ``one_by_one``, by solver, the same of one sample.
    """
    x = np.asarray(x, dtype=float)
    anchors, hessian, linear = programmes(x, n_anchors, alpha)
    found, seconds = _timed(lambda: solve_rows(hessian, linear, tol=TOLERANCE))
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
    gap = float(found.gap.max())
    return {"d": x.shape[1]} | seconds | {"gap": gap, "one_by_one": one_by_one}


def measure_simplex(path, shape="ALOI", n_anchors=100, n_samples=500, threads=2):
    """`measure_view` on every view of data of a shape, with the machine and its load.

    Of all views together ``n_samples`` programmes are solved one by one.
    """
    n, dims, c = SHAPES[shape]
    before = os.getloadavg()[0]
    with threadpool_limits(threads):
        views = [
            measure_view(x, n_anchors, n_samples // len(dims)) for x in synthetic_views(n, dims, c)
        ]
    found = {
        "shape": shape,
        "n": n,
        "m": n_anchors,
        "n_samples": n_samples,
        "threads": threads,
        "views": views,
        "load": [round(before, 2), round(os.getloadavg()[0], 2)],
    } | provenance.machine()
    write_json(path, round_floats(found))


def main(arguments=None):
    """Entry point of ``python -m experiments.bench``."""
    measure = {
        "epochs": measure_all_epochs,
        "parts": measure_parts,
        "fits": measure_fits,
        "growth": measure_growth,
        "samples": measure_samples,
        "simplex": measure_simplex,
        "lacking": measure_lacking,
    }
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=measure)
    parser.add_argument("--save", type=Path, required=True, metavar="FILE")
    given = parser.parse_args(arguments)
    measure[given.part](given.save)


if __name__ == "__main__":
    from experiments import bench

    bench.main()  # by its name, which processes of their own import
