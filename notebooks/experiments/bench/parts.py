"""Where the seconds of an epoch of RELEASED go, and what a busy machine adds to them."""

import contextlib
import functools
import statistics
import time
import timeit
from unittest import mock

import torch

from dmac import scaling, training
from dmac.compute import distances
from dmac.compute.kmeans import WarmAnchors
from dmac.network import Network
from experiments.bench.epochs import epoch_seconds, matrix_rate
from experiments.bench.growth import fit_growing
from experiments.bench.measuring import Job, alone
from experiments.bench.shapes import ANCHORS
from experiments.harness import Child

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
TIMED = (
    *(("PIE", None, 50), ("HandWritten", None, 50), ("100Leaves", None, 50)),
    *(("half ALOI", None, 50), ("ALOI", None, 100), ("growth", 1_000_000, 4)),
)


@contextlib.contextmanager
def clocked(seconds):
    """Within it every part adds its seconds to a dict."""
    with contextlib.ExitStack() as stack:
        for part, (where, name) in OF_AN_EPOCH.items():
            function = getattr(where, name)

            def timed_call(*args, _part=part, _function=function, **more):
                start = time.perf_counter()
                try:
                    return _function(*args, **more)
                finally:
                    seconds[_part] = seconds.get(_part, 0.0) + time.perf_counter() - start

            stack.enter_context(mock.patch.object(where, name, timed_call))
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

    def seen(seconds):
        parts = {part: total.pop(part, 0.0) for part in OF_AN_EPOCH}
        epochs_seen.append(parts | {"the rest": seconds - sum(parts.values())})

    sizes = dict(n_samples=n_samples, n_anchors=ANCHORS if name == "growth" else None)
    with clocked(total):
        timing = epoch_seconds("released", name, epochs=epochs, seen=seen, **sizes)
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
        with mock.patch.dict(distances.BLOCK, cpu=2**power):
            seconds = timeit.timeit(lambda: scaling.assign(z, u, 6, entropy=True), number=1)
            best[power] = min(best.get(power, seconds), seconds)
    return best


def _spin():
    """Take a core for ever."""
    while True:
        pass


def busy_seconds(limit=None):
    """Seconds of an epoch of "growth", of 100,000 samples, alone and beside one that takes a core.

    Returns
    -------
    dict
        ``alone`` and ``busy``; the same with "passive" after a comma, where ``OMP_WAIT_POLICY`` is
        PASSIVE and waiting threads sleep, with "one thread", and with "closed form" the median of
        three whole fits of CLOSED_FORM.
    """
    ways = {
        "": {},
        ", passive": dict(environment={"OMP_WAIT_POLICY": "PASSIVE"}),
        ", one thread": dict(threads=1),
    }

    in_time = functools.partial(alone, limit=limit)

    def seconds(when):
        took = {
            when + way: in_time(epoch_parts, "growth", 6, 100_000, **about)["seconds"]
            for way, about in ways.items()
        }
        fits = [in_time(fit_growing, "CLOSED_FORM", 100_000, True) for _ in range(3)]
        of_fits = statistics.median(fit["seconds"] for fit in fits)
        return took | {f"{when}, closed form": of_fits}

    took = seconds("alone")
    with Child() as other:
        other.send(_spin)
        return took | seconds("busy")


def jobs(*_):
    yield Job("blocks", {}, alone, block_seconds)
    for name, n_samples, epochs in TIMED:
        yield Job("epochs", {"name": name}, alone, epoch_parts, name, epochs, n_samples)
    yield Job("beside", {}, busy_seconds)
