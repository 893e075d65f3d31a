"""Leading eigenpairs of a symmetric operator by block Lanczos.

A product with a block of vectors reads the operator once for all of them, where ARPACK's, with a
vector at a time, reads it for each. SciPy's LOBPCG takes blocks too, but without a preconditioner
it needs several times as many products.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh, qr

from dmac._types import Array

# Vectors of a block: of eight, a sparse product takes an eighth of the time for each.
_BLOCK = 8
# Blocks between two looks at the residuals.
_LOOK = 4
# An eigenvalue below this counts as this large, where its residual is compared with it.
_SMALL = np.finfo(float).eps ** (2 / 3)


def leading_eigenpairs(
    product: Callable[[Array], Array], n: int, count: int, tol: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    r"""The largest eigenvalues of a symmetric operator A, largest first, and their eigenvectors.

    Block Lanczos with full orthogonalisation: of an orthonormal basis V of the Krylov space, which
    a block joins at each step, the Ritz pairs are :math:`(\theta, V s)` with
    :math:`V^T A V s = \theta s`. Before V has more than :math:`4 k + 20 b` columns it is replaced
    by its leading Ritz vectors (thick restart), so memory is that of as many vectors.

    Parameters
    ----------
    product : callable
        A x for x of shape (n, b).
    n : int
    count : int
        k, below n.
    tol : float
        A pair has converged when :math:`\|A u - \theta u\|` is at most ``tol`` times
        :math:`|\theta|`, as in ARPACK.
    rng : numpy.random.Generator
        Draws the first block.

    Returns
    -------
    numpy.ndarray of shape (k,)
    numpy.ndarray of shape (n, k)
    """
    b = min(_BLOCK, n)
    most = min(n, 4 * count + 20 * b)
    v, t = np.empty((n, most + b), order="F"), np.zeros((most + b, most + b))
    v[:, :b] = qr(rng.standard_normal((n, b)), mode="economic")[0]
    before, size, steps = 0, b, 0  # columns of V whose products are in T, and all
    last = np.full(count, np.inf)  # what was found before in a space that A maps to itself
    while True:
        w = product(v[:, before:size])
        t[:size, before:size] = v[:, :size].T @ w
        t[before:size, :size] = t[:size, before:size].T
        w -= v[:, :size] @ t[:size, before:size]
        width, steps = min(b, n - size), steps + 1
        full = width == 0 or size + width > most
        if full or (steps % _LOOK == 0 and size >= count):
            theta, s = (x[..., ::-1] for x in eigh(t[:size, :size]))
            allowed = tol * np.maximum(np.abs(theta[:count]), _SMALL)
            r = np.linalg.norm(w @ s[before:size, :count], axis=0)
            if width == 0 or (r <= allowed).all():
                # Of an eigenvalue that comes more than b times such a space has b vectors.
                mapped = np.linalg.norm(w) <= allowed[0]
                if not (width and mapped and (abs(theta[:count] - last) > allowed).any()):
                    return theta[:count], v[:, :size] @ s[:, :count]
                last = theta[:count]
        if full:
            kept = min(count + 2 * b, size - b)
            v[:, :kept], t[:] = v[:, :size] @ s[:, :kept], 0
            np.fill_diagonal(t[:kept, :kept], theta)
            size = kept
        new = qr(w, mode="economic")[0][:, :width]
        new -= v[:, :size] @ (v[:, :size].T @ new)  # what rounding left of V in it
        if (noise := np.linalg.norm(new, axis=0) < 0.7).any():  # A gave nothing new
            new[:, noise] = rng.standard_normal((n, noise.sum()))
            new -= v[:, :size] @ (v[:, :size].T @ new)
        v[:, size : size + width] = qr(new, mode="economic")[0]
        before, size = size, size + width
