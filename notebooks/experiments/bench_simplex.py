r"""How long LMVSC's quadratic programmes take: all at once, and one sample at a time.

    python -m experiments.bench_simplex --save notebooks/results/simplex.json

times ``solve_rows`` of ``dmac.peers`` on every view of data of the shape of ALOI, and two solvers
of SciPy in a loop over some of the same programmes. ``notebooks/05_runtime.ipynb`` shows what is
stored.
"""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
from scipy.optimize import minimize, nnls
from threadpoolctl import threadpool_limits

from dmac.compute.kmeans import kmeans
from dmac.peers._simplex import solve_rows
from experiments import provenance
from experiments.bench import SHAPES, synthetic_views
from experiments.store import round_floats

#: To which relative duality gap every programme is solved at once.
TOLERANCE = 1e-6
#: Of the equation that stands for the sum of a sample's weights, beside unit rows.
_HEAVY = 1e4


def programmes(x, n_anchors, alpha=1.0, seed=0):
    r"""The quadratic programmes of one view, as :class:`dmac.peers.lmvsc.LMVSC` states them.

    Parameters
    ----------
    x : numpy.ndarray of shape (n, d)
    n_anchors : int
        m, the centres of k-means with one start.
    alpha : float
    seed : int

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
    return minimize(
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

    Parameters
    ----------
    factor : numpy.ndarray of shape (r, m)
        Whose product :math:`B^T B` is half the Hessian.
    target : numpy.ndarray of shape (r,)
        With :math:`-2 B^T y` the linear term.

    Returns
    -------
    numpy.ndarray of shape (m,)
    """
    row = np.full((1, factor.shape[1]), _HEAVY)
    return nnls(np.vstack([factor, row]), np.append(target, _HEAVY))[0]


def relative_gaps(hessian, linear, z):
    """Duality gaps at some points of the simplex, relative as in ``solve_rows``: (n,)."""
    slope = z @ hessian + linear
    gaps = (slope * z).sum(1) - slope.min(1)
    m = len(hessian)
    means = hessian.mean(0)
    inner = hessian - means - means[:, None] + means.mean()
    slopes = means + linear
    return gaps / (slopes.mean(1) - slopes.min(1) + np.trace(inner) / m)


class _Timer:
    """Seconds on the clock, and of the processor by all threads of this process."""

    def __enter__(self):
        self._start = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *error):
        self.wall = time.perf_counter() - self._start[0]
        self.processor = time.process_time() - self._start[1]


def measure_view(x, n_anchors, n_samples=125, alpha=1.0):
    """Time one view's programmes at once, and the first ones one by one.

    Parameters
    ----------
    x : numpy.ndarray of shape (n, d)
    n_anchors : int
    n_samples : int
        How many are solved one by one.
    alpha : float

    Returns
    -------
    dict
        ``d``; ``seconds`` on the clock and ``processor_seconds`` of all at once, ``gap`` and
        ``iterations`` of the worst of them; under ``one_by_one``, by solver, ``seconds`` and
        ``processor_seconds`` of one sample and the worst ``gap``, relative as in ``solve_rows``.
    """
    x = np.asarray(x, dtype=float)
    anchors, hessian, linear = programmes(x, n_anchors, alpha)
    with _Timer() as at_once:
        found = solve_rows(hessian, linear, tol=TOLERANCE)
    # Half the Hessian as a product of this matrix with itself.
    factor = np.vstack([anchors.T, np.sqrt(alpha) * np.eye(n_anchors)])
    solvers = {
        "SLSQP": lambda i: solve_by_slsqp(hessian, linear[i]),
        "active set": lambda i: solve_by_active_set(factor, np.append(x[i], np.zeros(n_anchors))),
    }
    one_by_one = {}
    for name, solve in solvers.items():
        # Matrices as small as these gain nothing from a second thread, and lose by it under load.
        with threadpool_limits(1), _Timer() as timer:
            z = np.array([solve(i) for i in range(n_samples)])
        z = np.maximum(z, 0)
        z /= z.sum(1, keepdims=True)
        one_by_one[name] = {
            "seconds": timer.wall / n_samples,
            "processor_seconds": timer.processor / n_samples,
            "gap": float(relative_gaps(hessian, linear[:n_samples], z).max()),
        }
    return {
        "d": x.shape[1],
        "seconds": at_once.wall,
        "processor_seconds": at_once.processor,
        "gap": float(found.gap.max()),
        "iterations": found.iterations,
        "one_by_one": one_by_one,
    }


def measure(shape="ALOI", n_anchors=100, n_samples=500, threads=2):
    """`measure_view` on every view of data of a shape of :data:`experiments.bench.SHAPES`.

    Parameters
    ----------
    shape : str
    n_anchors : int
    n_samples : int
        How many are solved one by one, of all views together.
    threads : int

    Returns
    -------
    dict
        ``n``, ``m``, ``n_samples``, ``threads``, ``views`` (a list), and what machine it was:
        ``processor``, ``cores``, ``load`` (the mean number of busy processes in the minute before,
        and in the last one), ``date``.
    """
    n, dims, c = SHAPES[shape]
    before = os.getloadavg()[0]
    with threadpool_limits(threads):
        views = [
            measure_view(x, n_anchors, n_samples // len(dims)) for x in synthetic_views(n, dims, c)
        ]
    return {
        "shape": shape,
        "n": n,
        "m": n_anchors,
        "n_samples": n_samples,
        "threads": threads,
        "views": views,
        "load": [round(before, 2), round(os.getloadavg()[0], 2)],
    } | provenance.machine()


def main():
    """Entry point of ``python -m experiments.bench_simplex``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--samples", type=int, default=500, help="solved one by one")
    parser.add_argument("--save", type=Path, help="a .json file for the measurement")
    given = parser.parse_args()
    result = round_floats(measure(n_samples=given.samples, threads=given.threads))
    text = json.dumps(result, indent=1)
    if given.save:
        given.save.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
