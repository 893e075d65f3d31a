"""Least squares over the probability simplex, for many rows at once.

The book's chapter on the field shows how much faster that is than one row at a time.
"""

from dataclasses import dataclass

import numpy as np

# Rows solved together: with a hundred columns the half dozen arrays of a block stay in the cache.
_BLOCK = 512


def project_rows(x, support=None):
    r"""The nearest point of the simplex to every row, by sorting.

    .. math:: \min_{z \ge 0,\ z^T 1 = 1} \|z - x_i\|^2

    has the solution :math:`z_j = \max(x_{ij} - \tau_i, 0)`, and the sorted row gives the threshold
    :math:`\tau_i`. Adding a number to a row changes nothing. Takes O(n m log m) time. Source: Held,
    Wolfe and Crowder (1974).

    Parameters
    ----------
    x : numpy.ndarray of shape (n, m)
    support : numpy.ndarray of shape (n, m), bool, optional
        Where the solution may differ from 0, somewhere in every row. Everywhere by default.

    Returns
    -------
    numpy.ndarray of shape (n, m)
    """
    x = np.asarray(x, dtype=float)
    if support is not None:
        x = np.where(support, x, -np.inf)
    # What lies 1 below the largest entry gets 0 in any case, so the range can be cut there: no sum
    # overflows or loses the digits of the small gaps.
    x = np.maximum(x - x.max(1, keepdims=True), -1)
    ordered = np.sort(x, axis=1)[:, ::-1]
    excess = np.cumsum(ordered, axis=1) - 1
    counts = np.arange(1, x.shape[1] + 1)
    size = (ordered * counts > excess).sum(1)
    threshold = excess[np.arange(len(x)), size - 1] / size
    return np.maximum(x - threshold[:, None], 0, out=x)


@dataclass(frozen=True)
class Solution:
    """What :func:`solve_rows` found, and how far it came.

    Attributes
    ----------
    z : numpy.ndarray of shape (n, m)
        Rows in the simplex.
    gap : numpy.ndarray of shape (n,)
        A bound, relative to the scale of the row, on how far its objective is above the minimum.
    iterations : int
        The most that any row took.
    """

    z: np.ndarray
    gap: np.ndarray
    iterations: int


def solve_rows(hessian, linear, start=None, tol=1e-6, max_iter=5000):
    r"""Solve n quadratic programmes over the simplex that share one Hessian.

    For every row :math:`g_i` of ``linear``,

    .. math:: \min_{z \ge 0,\ z^T 1 = 1} \tfrac12 z^T H z + g_i^T z,

    by accelerated projected gradients, all rows of a block in one matrix product. A row begins
    again without momentum where its momentum points uphill (O'Donoghue and Candes 2015), and drops
    out when its duality gap

    .. math:: (H z + g_i)^T z - \min_j (H z + g_i)_j \ge f(z) - \min f

    is at most ``tol`` times a scale: the gap at the centre of the simplex plus the mean diagonal of
    :math:`P H P`, with :math:`P = I - 1 1^T / m`. Steps stay in the plane :math:`z^T 1 = 1`, where
    only that part of H matters; its largest eigenvalue, often far below that of H, sets the step.
    Takes O(n m^2) time an iteration, and O(m^2) memory beside input and result.

    Parameters
    ----------
    hessian : numpy.ndarray of shape (m, m)
        Symmetric, positive semidefinite.
    linear : numpy.ndarray of shape (n, m)
    start : numpy.ndarray of shape (n, m), optional
        Where to begin; rows in the simplex. The centre by default.
    tol : float
    max_iter : int

    Returns
    -------
    Solution
    """
    n, m = linear.shape
    hessian = (hessian + hessian.T) / 2
    means = hessian.mean(0)
    inner = hessian - means - means[:, None] + means.mean()
    slopes = means + linear
    scale = slopes.mean(1) - slopes.min(1) + max(np.trace(inner) / m, 0.0)
    # A Hessian of rounding errors must not set the step, nor a linear term of them the tolerance.
    rounding = 8 * np.finfo(float).eps * (np.abs(hessian).max() + np.abs(linear).max(1))
    scale = np.maximum(scale, np.maximum(rounding / tol, np.finfo(float).tiny))
    lipschitz = max(np.linalg.eigvalsh(inner)[-1], rounding.max(), np.finfo(float).tiny)
    z = np.empty((n, m))
    gap = np.empty(n)
    iterations = 0
    for first in range(0, n, _BLOCK):
        rows = slice(first, first + _BLOCK)
        begin = np.full(linear[rows].shape, 1 / m) if start is None else start[rows]
        z[rows], gap[rows], used = _solve_block(
            hessian, linear[rows], begin, lipschitz, tol * scale[rows], max_iter
        )
        iterations = max(iterations, used)
    return Solution(z, gap / scale, iterations)


def _solve_block(hessian, linear, start, lipschitz, target, max_iter):
    """The rows of one block: their solutions, their gaps, and the iterations taken."""
    out = start.copy()
    gaps = np.empty(len(start))
    left = np.arange(len(start))
    z = start
    slope = start @ hessian + linear
    # The point that the next step is taken from, the slope there, and t, which sets the momentum.
    ahead = z
    ahead_slope = slope
    t = np.ones((len(z), 1))
    for iteration in range(max_iter + 1):
        gap = (slope * z).sum(1) - slope.min(1)
        done = gap <= target[left]
        if done.all() or iteration == max_iter:
            break
        if done.mean() > 0.1:
            out[left[done]] = z[done]
            gaps[left[done]] = gap[done]
            left, linear, z, slope, ahead, ahead_slope, t = (
                rows[~done] for rows in (left, linear, z, slope, ahead, ahead_slope, t)
            )
        new = project_rows(ahead - ahead_slope / lipschitz)
        new_slope = new @ hessian + linear
        step = new - z
        uphill = ((ahead - new) * step).sum(1, keepdims=True) > 0
        t = np.where(uphill, 1.0, t)
        new_t = (1 + np.sqrt(1 + 4 * t**2)) / 2
        momentum = np.where(uphill, 0.0, (t - 1) / new_t)
        # The slope is affine: that of the extrapolated point needs no product of its own.
        ahead = new + momentum * step
        ahead_slope = new_slope + momentum * (new_slope - slope)
        z = new
        slope = new_slope
        t = new_t
    out[left] = z
    gaps[left] = gap
    return out, np.maximum(gaps, 0), iteration
