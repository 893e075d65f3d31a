r"""What an epoch costs: operations, seconds and memory, each system in a process of its own.

    python -m experiments.bench released mfeat --epochs 5 --threads 2

prints one JSON line. ``notebooks/05_runtime.ipynb`` calls it for every system and shape, and
chapter 10 of the book discusses what it found.
"""

import argparse
import dataclasses
import json
import statistics
import subprocess
import sys
import time

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
from dmac.recipes import RELEASED, REVISED
from dmac.training import anchor_source, train
from dmac.views import load

try:
    import resource
except ModuleNotFoundError:  # where timings cannot be made, their tables can still be drawn
    resource = None

#: Shapes of data sets that are not at hand: samples, widths of the views, clusters.
SHAPES = {
    "NUS": (2400, (64, 144, 73, 128, 225, 500), 10),
    "CCV": (6773, (4000, 5000, 5000), 20),
    "half ALOI": (5400, (77, 13, 64, 125), 50),
    "ALOI": (10800, (77, 13, 64, 125), 100),
    "ALOI, 1 of 4 views": (10800, (77,), 100),
}
#: The systems that can be timed.
SYSTEMS = (
    *("dense", "released", "fresh k-means", "revised"),
    *("pretraining", "pretraining, dense first layer"),
    *("first layer", "first layer, dense"),
)


def synthetic_views(n_samples, dims, n_clusters, seed=0):
    """Unit rows around random centres.

    Parameters
    ----------
    n_samples : int
    dims : sequence of int
        Widths of the views.
    n_clusters : int
        How many centres.
    seed : int

    Returns
    -------
    list of v numpy.ndarray of shape (n, d_a), float32
    """
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


def matrix_rate(size=2048, repeats=7, device="cpu"):
    """Measured rate of a float32 matrix product.

    Parameters
    ----------
    size : int
        Of the square matrices.
    repeats : int
        The best of so many counts.
    device : str

    Returns
    -------
    float
        Operations a second.
    """
    x = torch.randn(size, size, device=device)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        x @ x
        if device != "cpu":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return 2 * size**3 / min(seconds)


def growth_exponent(sizes, seconds):
    """The exponent of n in the seconds: the slope of their logarithms by least squares.

    Parameters
    ----------
    sizes, seconds : sequences of float
        At least three.

    Returns
    -------
    slope, half : float
        The exponent, and the half width of its 95 % interval.
    """
    from scipy import stats

    fit = stats.linregress(np.log(sizes), np.log(seconds))
    return fit.slope, stats.t.ppf(0.975, len(sizes) - 2) * fit.stderr


def _problem(name, n_samples):
    if name == "growth":
        dims, c = (64, 64, 64), 10
        return synthetic_views(n_samples, dims, c), c
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
        u = network.anchors(u_hat, noise, z, normalize=recipe.normalize_anchors)
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


def epoch_seconds(system, name, *, epochs, n_samples=None, n_anchors=None, device="cpu"):
    """Run some epochs of a system on a data set or shape.

    Parameters
    ----------
    system : str
        One of `SYSTEMS`.
    name : str
        A data set, one of `SHAPES`, or "growth": three views of 64 features, ``n_samples`` of them.
    epochs : int
    n_samples, n_anchors : int, optional
    device : str

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
        views.append(view_tensor(x, torch.float32, device))
    del x
    dims, n = [x.shape[1] for x in views], views[0].shape[0]
    m = n_anchors or n_anchors_for(n, c, recipe.anchor_factor, recipe.anchor_share)
    network = Network(dims, c, recipe, generator=generator).to_device(device, torch.float32)
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


def measure(system, name, *, epochs, threads=2, n_samples=None, n_anchors=None, memory_gb=20):
    """The same in a process of its own, with its peak memory.

    Parameters
    ----------
    system, name, epochs, n_samples, n_anchors
        As for `epoch_seconds`.
    threads : int
    memory_gb : float
        Where to give up.

    Returns
    -------
    dict
        As `epoch_seconds`, with ``median`` (of all epochs but the first), ``peak_gb`` of the whole
        process and ``threads``; or with ``error`` if it ran out of memory.

    Raises
    ------
    RuntimeError
        If the process fails in another way.
    """
    command = [sys.executable, "-m", "experiments.bench", system, name]
    command += ["--epochs", str(epochs), "--threads", str(threads), "--memory-gb", str(memory_gb)]
    for option, value in (("--samples", n_samples), ("--anchors", n_anchors)):
        command += [option, str(value)] if value else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _peak_gb():
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 3)


def main():
    """Entry point of ``python -m experiments.bench``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("name", help='a data set, one of SHAPES, or "growth" with --samples')
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--samples", type=int)
    parser.add_argument("--anchors", type=int)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--memory-gb", type=float, default=20, help="give up above this much")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    limit = int(given.memory_gb * 1e9)
    if given.device == "cpu":  # a GPU's driver reserves more addresses than it uses memory
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    result = {"system": given.system, "name": given.name, "threads": given.threads}
    try:
        result |= epoch_seconds(
            given.system,
            given.name,
            epochs=given.epochs,
            n_samples=given.samples,
            n_anchors=given.anchors,
            device=given.device,
        )
        # The first epoch warms caches and seeds k-means; with others after it, it is left out.
        seconds = result["seconds"][1:] or result["seconds"]
        result["median"] = round(statistics.median(seconds), 5)
    except (MemoryError, RuntimeError) as error:
        if "memory" not in str(error) and not isinstance(error, MemoryError):
            raise
        result["error"] = f"more than {given.memory_gb:g} GB"
    result["peak_gb"] = _peak_gb()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
