"""Seconds of an epoch, by system, shape and number of samples."""

import dataclasses
import math
import statistics
import time
import timeit

import numpy as np
import torch

from dmac import reference
from dmac.anchors import n_anchors_for
from dmac.compute.kmeans import kmeans_anchors
from dmac.compute.layers import SparseView, linear, view_tensor
from dmac.data.checks import check_views
from dmac.data.pipeline import ViewPipeline
from dmac.embedding import pretrain
from dmac.network import Network
from dmac.recipes import PUBLISHED, RELEASED, REVISED
from dmac.training import anchor_source, train
from experiments import provenance
from experiments.bench.measuring import Job, alone
from experiments.bench.shapes import ANCHORS, CLUSTERS, SHAPES, problem

#: The systems whose epochs are timed; the last four are about sparse views.
SYSTEMS = (
    *("dense", "released", "fresh k-means", "revised"),
    *("pretraining", "pretraining, dense first layer"),
    *("first layer", "first layer, dense"),
)

#: Whose epochs are timed, and for how many samples of "growth".
EPOCHS_OF = ("mfeat", "PIE", "BBC", "100Leaves", *SHAPES)

EPOCHS_TO = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)


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
    recipe : dmac.recipes.NetworkRecipe
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
    return 2 * size**3 / min(timeit.repeat(lambda: x @ x, number=1, repeat=repeats))


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
    seen=None,
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
    seen : callable, optional
        Called with the seconds of every epoch when it is done.

    Returns
    -------
    dict
        ``n``, ``m``, ``v``, ``seconds`` (a list), the ``median`` of those that count, ``peak_gb``
        of the device or of the whole process, and ``operations`` for RELEASED.
    """
    provenance.reset_peak_gb(device)
    views, c = problem(name, n_samples, drawn)
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
        if seen:
            seen(epoch)
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


def jobs(*_):
    yield Job("matrix_rate", {}, alone, matrix_rate)
    for name in EPOCHS_OF:
        timed = {"dense": 2} | dict.fromkeys(SYSTEMS[1:4], 6)  # the dense reading takes long
        if name == "BBC":  # whose views are sparse
            timed |= dict.fromkeys(SYSTEMS[4:], 18)
        for system, number in timed.items():
            about = {"system": system, "name": name}
            yield Job("runs", about, measure_epochs, **about, epochs=number)
    for n in EPOCHS_TO:
        for m in (ANCHORS, math.isqrt(CLUSTERS * n)):
            if m < n and n * m < 10**9:  # more would take ten minutes
                number = 2 if n * m > 10**8 else 4 if n * m > 10**7 else 12
                about = {"system": "released", "name": "growth"}
                sizes = dict(epochs=number, n_samples=n, n_anchors=m)
                yield Job("runs", about | {"n": n, "m": m}, measure_epochs, **about, **sizes)
