"""Linear algebra that :mod:`dmac.data.whitening` rests on: safe scaling and leading directions.

Chapter 1 of the book uses it through :class:`dmac.data.whitening.Whitening`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

if TYPE_CHECKING:
    from collections.abc import Callable

    from dmac._types import Array, Matrix


def scale_exactly(x: Matrix, exponent: int) -> Matrix:
    """The array or CSR matrix x times 2 ** exponent, exactly; a new one of the same kind."""
    if scipy.sparse.issparse(x):
        out = x.copy()
        out.data = np.ldexp(x.data, exponent)
        return out
    return np.ldexp(x, exponent)


def largest_exponent(*arrays: Matrix) -> int:
    """The e for which 2 ** (e - 1) <= largest magnitude < 2 ** e; 0 if there is only zero."""
    return int(np.frexp(max(abs(x).max() for x in arrays))[1])


def scale_rows(x: Matrix) -> tuple[Array, Array, Array]:
    """Rows divided by a power of two near their largest entry, its exponent, and their norms.

    The division is exact, and the norm of a scaled row lies in [1/2, sqrt(d)], so that neither
    1e300 nor 1e-300 overflows or vanishes when it is squared.
    """
    if scipy.sparse.issparse(x):
        rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
        largest = np.zeros(x.shape[0])
        np.maximum.at(largest, rows, np.abs(x.data))
        exponent = np.frexp(largest)[1]
        scaled = np.ldexp(x.data, -exponent[rows])
        return scaled, exponent, np.sqrt(np.bincount(rows, scaled * scaled, x.shape[0]))
    exponent = np.frexp(np.abs(x).max(1))[1]
    scaled = np.ldexp(x, -exponent[:, None])
    return scaled, exponent, np.sqrt(np.einsum("ij,ij->i", scaled, scaled))


def leading_directions(
    product: Callable[[Array], Array], gram: Callable[[Array], Array], d: int, rank: int
) -> tuple[Array, Array]:
    """The largest singular values of a matrix A and their right vectors, by ARPACK.

    One vector at a time can miss copies of a repeated singular value: views of classes of equal
    size have those. So the complement of what was found is searched, until that gains nothing.

    Parameters
    ----------
    product, gram : callable
        A q for q of shape (d,) or (d, r), and A^T A q for q of shape (d,).
    d : int
        Columns of A.
    rank : int
        How many to find, below d.

    Returns
    -------
    s, vt : numpy.ndarray of shape (r,) and (r, d)
        Largest first, the same bits for the same input. r is ``rank``, or 0 if A is zero; singular
        values beyond the rank of A are at rounding level.
    """
    start = np.random.default_rng(0).standard_normal(d)
    s, vt, wanted = np.empty(0), np.empty((0, d)), rank
    while True:

        def beyond(q: Array, vt: Array = vt) -> Array:
            image = gram(q - vt.T @ (vt @ q))
            return image - vt.T @ (vt @ image)

        if not beyond(start).any():
            return s, vt
        operator = LinearOperator((d, d), beyond, dtype=float)
        try:
            more = eigsh(operator, wanted, v0=start, tol=1e-12, rng=0)[1]
        except ArpackError:  # it does not converge
            if len(s):
                return s, vt
            more = np.eye(d)  # everything, by LAPACK
        basis = np.linalg.qr(np.hstack([vt.T, more]))[0]
        size, (_, s, wt) = np.sum(s**2), np.linalg.svd(product(basis), full_matrices=False)
        s, vt = s[:rank], (wt @ basis.T)[:rank]
        if np.sum(s**2) <= (1 + 1e-12) * size:
            return s, vt
        wanted = 1
