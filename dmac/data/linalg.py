"""Linear algebra that :mod:`dmac.data.whitening` rests on: safe scaling and leading directions.

Chapter 1 of the book uses it through :class:`dmac.data.whitening.Whitening`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from dmac._types import Array, Matrix

#: Up to this many columns or rows of a matrix all of them go into one product.
GRAM = 2000
# Up to this many the exact decomposition of an array takes less time than a part of it.
_SMALL = 500
# Passes of the subspace iteration, and columns beyond those that are asked for.
_PASSES, _MORE = 5, 10
# Directions whose singular value is below this share of the largest are left out of a product.
_TOLERANCE = 1e-6


def stored(x: Matrix) -> Array:
    """The entries of an array, or those that a CSR matrix stores."""
    return x.data if scipy.sparse.issparse(x) else x


def on_entries(function: Callable[[Array], Array], x: Matrix) -> Matrix:
    """Apply a function to the entries of an array, or to those a CSR matrix stores."""
    if not scipy.sparse.issparse(x):
        return function(x)
    out = x.copy()
    out.data = function(x.data)
    return out


def scale_rows(x: Matrix) -> tuple[Array, Array, Array]:
    """Rows divided by a power of two near their largest entry, its exponent, and their norms.

    The division is exact, and the norm of a scaled row lies in [1/2, sqrt(d)], so that neither
    1e300 nor 1e-300 overflows or vanishes when it is squared.
    """
    exponent = np.frexp(as_dense(abs(x).max(1)).ravel())[1]
    if scipy.sparse.issparse(x):
        rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
        scaled = np.ldexp(x.data, -exponent[rows])
        return scaled, exponent, np.sqrt(np.bincount(rows, scaled * scaled, x.shape[0]))
    scaled = np.ldexp(x, -exponent[:, None])
    return scaled, exponent, np.sqrt(np.einsum("ij,ij->i", scaled, scaled))


def as_dense(x: Matrix) -> Array:
    """A CSR matrix as an array; an array as it is."""
    return x.toarray() if scipy.sparse.issparse(x) else np.asarray(x)


def centred_product(x: Matrix, mean: Array, directions: Array) -> Array:
    """(x - mean) @ directions, (n, r); a sparse x (n, d) is not made dense."""
    if scipy.sparse.issparse(x):
        return x @ directions - mean @ directions
    return (x - mean) @ directions


def leading_directions(
    blocks: Iterable[Matrix], shape: tuple[int, int], rank: int | None, mean: Array
) -> tuple[Array, Array]:
    r"""The largest singular values of :math:`X - 1 \bar x^T` and their right vectors.

    The decomposition is exact, and a sparse view is never made dense while ``rank`` is below half
    of min(n, d).

    Parameters
    ----------
    blocks : iterable of array or CSR matrix
        The rows of X, from the start with every pass. Entries are at most about 1.
    shape : tuple of int
        n and d.
    rank : int or None
        How many to find; all by default. There may be more of them.
    mean : numpy.ndarray of shape (d,)

    Returns
    -------
    s, vt : numpy.ndarray of shape (r,) and (r, d)
        Largest first, the same bits for the same input.
    """
    (n, d), first = shape, next(iter(blocks))
    # Blocks are read again in every of hundreds of passes, which a small factor saves.
    large = n > _SMALL and d > (_SMALL if first.shape[0] == n else GRAM)
    if rank is not None and 2 * rank < min(n, d) and (large or scipy.sparse.issparse(first)):
        return lanczos(blocks, mean, rank)
    centred = (as_dense(x) - mean for x in blocks)
    return np.linalg.svd(functools.reduce(_factor_of_both, centred), full_matrices=False)[1:]


def _factor_of_both(x: Array, y: Array) -> Array:
    """A (d, d) factor with the singular values and right vectors of two blocks of rows."""
    factor: Any = np.linalg.qr(np.concatenate([x, y]), mode="r")
    return factor


def leading_by_products(x: Matrix, rank: int, mean: Array | float = 0.0) -> tuple[Array, Array]:
    """The largest singular values of X - 1 m^T, and their right vectors, to half of the digits.

    A mean m (d,) is subtracted on the way, so that a sparse X stays sparse.

    A product with all columns or all rows gives them, or, of a view that is wide and long, few
    passes of an iteration, which come close where the spectrum falls; where it is flat any
    directions do. There may be fewer than ``rank``.
    """
    n, d = x.shape
    mean = np.broadcast_to(mean, (d,))
    if d <= min(n, GRAM):
        total = np.asarray(x.sum(0)).ravel()
        shift = np.outer(mean, total - n * mean / 2)
        return leading_of_gram(as_dense(x.T @ x) - shift - shift.T, rank)
    if n <= GRAM:
        shift = (x @ mean - mean @ mean / 2)[:, None]
        s, left = leading_of_gram(as_dense(x @ x.T) - shift - shift.T, rank)
        return s, (as_dense(x.T @ left.T) - np.outer(mean, left.sum(1))).T / s[:, None]
    q = np.random.default_rng(0).standard_normal((d, rank + _MORE))
    for _ in range(_PASSES):
        image = x @ q - mean @ q
        q = np.linalg.qr(x.T @ image - np.outer(mean, image.sum(0)))[0]
    _, s, wt = np.linalg.svd(x @ q - mean @ q, full_matrices=False)
    kept = np.flatnonzero(s > _TOLERANCE * s[0])[:rank]
    return s[kept], (wt @ q.T)[kept]


def leading_of_gram(gram: Array, rank: int) -> tuple[Array, Array]:
    """`leading_by_products` from X^T X of shape (d, d)."""
    d = len(gram)
    values, vectors = eigh(gram, subset_by_index=[max(0, d - rank), d - 1])
    if not len(values):  # LAPACK may find none of some that are nearly equal
        values, vectors = (part[..., -rank:] for part in eigh(gram))
    s = np.sqrt(values[::-1].clip(0))
    kept = s > _TOLERANCE * s[0]
    return s[kept], vectors.T[::-1][kept]


def lanczos(blocks: Iterable[Matrix], mean: Array, rank: int) -> tuple[Array, Array]:
    """`leading_directions` by ARPACK, of ``rank`` below d: x - mean, which is dense, is not formed.

    One vector at a time can miss copies of a repeated singular value: views of classes of equal
    size have those. So the complement of what was found is searched, until that gains nothing.
    There are none if all rows are the mean; beyond the rank of X they are at rounding level.
    """

    def gram(q: Array) -> Array:
        images = ((x, x @ q - mean @ q) for x in blocks)
        return sum(x.T @ image - mean * image.sum() for x, image in images)

    d = len(mean)
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
        image = np.concatenate([x @ basis - mean @ basis for x in blocks])
        size, (_, s, wt) = np.sum(s**2), np.linalg.svd(image, full_matrices=False)
        s, vt = s[:rank], (wt @ basis.T)[:rank]
        if np.sum(s**2) <= (1 + 1e-12) * size:
            return s, vt
        wanted = 1


def signed(vt: Array) -> Array:
    """Directions as rows, the entry of largest magnitude in each positive."""
    largest = np.abs(vt).argmax(1)[:, None]
    return vt * np.sign(np.take_along_axis(vt, largest, 1))
