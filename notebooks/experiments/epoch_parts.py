r"""Where an epoch's time goes: seconds of its parts, beside the floor of its matrix products.

    python -m experiments.epoch_parts --save notebooks/results/parts.json

times RELEASED on data sets and shapes, one after the other in processes of their own;
``notebooks/05_runtime.ipynb`` draws what is stored.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import torch

from dmac import sampling, training
from dmac.compute import distances
from dmac.compute.kmeans import WarmAnchors
from dmac.network import Network
from dmac.scaling import assign
from experiments import bench, provenance

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
#: Anchors of "growth".
ANCHORS = 512


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
    """Run RELEASED in this process.

    Parameters
    ----------
    name : str
        A data set, one of :data:`experiments.bench.SHAPES`, or "growth".
    epochs : int
    n_samples : int, optional
        For "growth".

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
        found = bench.epoch_seconds(
            "released", name, epochs=epochs, n_samples=n_samples, n_anchors=m
        )
    rate = bench.matrix_rate()
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
    """Seconds of the pass over the anchors by the size of its blocks, the best of some repeats.

    Parameters
    ----------
    n_samples : int
        Unit rows of 64 features, with `ANCHORS` anchors.
    powers : iterable of int
        Blocks have so many powers of two distances.
    repeats : int

    Returns
    -------
    dict
        Seconds by power.
    """
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


def _smallest_by_groups(d2, k, group=8):
    """As `dmac.compute.distances.smallest`, in the k groups of columns with the smallest minima."""
    groups = d2.view(len(d2), -1, group)
    chosen = groups.amin(2).topk(k, dim=1, largest=False, sorted=False).indices
    among = groups.gather(1, chosen[..., None].expand(-1, -1, group)).flatten(1)
    least = among.topk(k, dim=1, largest=False, sorted=True)
    at = chosen.gather(1, least.indices // group) * group + least.indices % group
    return least.values, at


def search_seconds(rows=256, k=6, blocks=400, repeats=4):
    """Seconds of the search for the nearest anchors, as it is and by minima of groups of anchors.

    Parameters
    ----------
    rows : int
        Of a block of distances to `ANCHORS` anchors.
    k, blocks, repeats : int
        The best of some repeats counts.

    Returns
    -------
    dict
        ``as it is`` and ``by groups``.
    """
    d2 = torch.rand(rows, ANCHORS, generator=torch.Generator().manual_seed(0))
    ways = {"as it is": distances.smallest, "by groups": _smallest_by_groups}
    assert torch.equal(*(search(d2, k)[1] for search in ways.values()))
    best = {}
    for name in [name for _ in range(repeats) for name in ways]:
        start = time.perf_counter()
        for _ in range(blocks):
            ways[name](d2, k)
        best[name] = min(best.get(name, float("inf")), time.perf_counter() - start)
    return best


def measure_alone(name, n_samples, epochs, threads, **environment):
    """`epoch_parts` in a process of its own, with more in its environment.

    Raises
    ------
    RuntimeError
        If the process fails.
    """
    command = [sys.executable, "-m", "experiments.epoch_parts", "--child", name]
    command += ["--epochs", str(epochs), "--threads", str(threads)]
    command += ["--samples", str(n_samples)] if n_samples else []
    given = os.environ | environment
    done = subprocess.run(command, capture_output=True, text=True, env=given)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def busy_seconds(n_samples=100_000, epochs=6, threads=2):
    """Seconds of an epoch alone and beside a process that takes a core, by what its threads do.

    Parameters
    ----------
    n_samples : int
        Of "growth".
    epochs, threads : int

    Returns
    -------
    dict
        ``alone`` and ``busy``; the same with "passive" after a comma, where ``OMP_WAIT_POLICY`` is
        PASSIVE and waiting threads sleep, and with "one thread".
    """
    ways = {
        "": (threads, {}),
        ", passive": (threads, {"OMP_WAIT_POLICY": "PASSIVE"}),
        ", one thread": (1, {"OMP_NUM_THREADS": "1"}),
    }

    def seconds(when):
        return {
            when + way: measure_alone("growth", n_samples, epochs, number, **environment)["seconds"]
            for way, (number, environment) in ways.items()
        }

    found = seconds("alone")
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        return found | seconds("busy")
    finally:
        other.kill()
        other.wait()


def measure(path, jobs=JOBS, threads=2, report=print):
    """Every job in a process of its own, one after the other; the file is written anew.

    Parameters
    ----------
    path : path
    jobs : sequence of tuples
        As `JOBS`.
    threads : int
    report : callable

    Returns
    -------
    dict
        ``epochs``, a list of what `epoch_parts` returns, ``blocks`` of `block_seconds`, ``search``
        of `search_seconds`, ``beside`` of `busy_seconds`, ``threads`` and ``machine``.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    stored = {"epochs": [], "threads": threads, "blocks": _rounded(block_seconds())}
    stored["search"] = _rounded(search_seconds())
    torch.set_num_threads(before)
    for job in jobs:
        record = measure_alone(*job, threads)
        stored["epochs"].append(record | {"load": round(os.getloadavg()[0], 2)})
        stored["machine"] = provenance.machine()
        Path(path).write_text(json.dumps(stored, indent=1) + "\n")
        report(record)
    stored["beside"] = busy_seconds(threads=threads)
    Path(path).write_text(json.dumps(stored, indent=1) + "\n")
    return stored


def main():
    """Entry point of ``python -m experiments.epoch_parts``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", type=Path, default=Path("parts.json"), help="the .json file")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--epochs", type=int, default=20, help=argparse.SUPPRESS)
    parser.add_argument("--samples", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        torch.set_num_threads(given.threads)
        found = epoch_parts(given.child, given.epochs, given.samples)
        print(json.dumps({k: _rounded(v) for k, v in found.items()}))
        return
    measure(given.save, threads=given.threads)


def _rounded(value):
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    return round(value, 5) if isinstance(value, float) else value


if __name__ == "__main__":
    main()
