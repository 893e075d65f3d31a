r"""The largest eigenpairs of a symmetric operator whose products pay for many columns at a time.

A sparse factor is read once for every product, so a product with sixteen vectors costs little more
than one with two. Block Lanczos takes its directions sixteen at a time, in single precision and
each orthogonal to all before. What that finds is right to five or six digits. The rest is
refinement: one product in double precision says what is left of every pair, and corrections that
small need only single precision again.

Chapter 22 of the book says what that saves.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from dmac.compute.threads import row_slices, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dmac._types import Array

# Columns of a product: with fewer the factor is read too often, with more the directions of a
# basis of the same size see lower powers of the operator.
_BLOCK = 16
# Columns of a basis before it is cut to its best: so many times those that are wanted, at least so
# many blocks.
_TIMES, _BLOCKS = 3, 36
# Residual, in units of the eigenvalue (or of a hundredth of the largest), at which single precision
# has done its part, and most blocks in which it tries.
_ROUGH, _FLOOR, _MOST = 1e-6, 1e-2, 300
# Blocks of a correction, and corrections.
_STEPS, _CORRECTIONS = 4, 30
# Share of a correction up to which the digits of single precision are enough for it.
_SMALL = 1e-2
# A residual that no correction makes smaller.
_ROUNDING = 1e-14
# Columns of a block that depend on each other, if one has so little of its own.
_DEPENDENT = 1e-6
# Rows of long vectors of which threads take some at a time.
_ROWS = 2**10


def largest_eigenpairs(
    product: Callable[[Array], Array], known: Array, count: int, tolerance: float = 5e-8
) -> tuple[Array, Array]:
    r"""The largest eigenvalues beyond some known pairs, and their eigenvectors.

    Parameters
    ----------
    product : callable
        A x for x of shape (M, b), with A symmetric and positive semi-definite: to the digits of
        the type of x, which is float32 or float64.
    known : numpy.ndarray of shape (M, p)
        Orthonormal eigenvectors that are not sought. Copies of an eigenvalue are found without
        help as long as they are not more than the columns of a block, 16.
    count : int
        q.
    tolerance : float
        The largest residual :math:`\|A x - \lambda x\| / \lambda`.

    Returns
    -------
    values : numpy.ndarray of shape (q,)
        Largest first; 0 for pairs beyond M.
    vectors : numpy.ndarray of shape (M, q)
        Orthonormal, but for columns of zeros beyond M. The same bits for the same input.
    """
    size = len(known)
    most = max(_TIMES * count, _BLOCKS * _BLOCK)
    if size <= most + known.shape[1] + 2 * _BLOCK:
        return _dense(product, known, count)
    return _corrected(product, known, _rough(product, known, count, most), count, tolerance)


def _dense(product: Callable[[Array], Array], known: Array, count: int) -> tuple[Array, Array]:
    """By LAPACK, from the whole operator: a basis would be as large."""
    size = len(known)
    free = np.linalg.qr(np.column_stack([known, np.eye(size)]))[0][:, known.shape[1] :]
    values, y = np.linalg.eigh(free.T @ product(free))
    vectors = (free @ y)[:, ::-1][:, :count]
    missing = count - vectors.shape[1]
    return np.pad(values[::-1][:count], (0, missing)), np.pad(vectors, ((0, 0), (0, missing)))


def _rough(product: Callable[[Array], Array], known: Array, count: int, most: int) -> Array:
    """The eigenvectors to single precision, by block Lanczos: (M, count), float32."""
    size, p = known.shape
    room = np.empty((size, p + most + _BLOCK), np.float32)  # the basis beside what is known
    room[:, :p], basis = known, room[:, p:]
    projected = np.zeros((most + _BLOCK, most + _BLOCK))
    w = np.random.default_rng(0).standard_normal((size, _BLOCK), np.float32)
    w, *_ = _orthogonal(w, room[:, :p])
    used = 0
    for step in range(1, _MOST + 1):
        new = slice(used, used + _BLOCK)
        basis[:, new], used = w, used + _BLOCK
        w, rest, parts = _orthogonal(product(w).astype(np.float32), room[:, : p + used])
        projected[:used, new] = parts[p:]
        full = used + _BLOCK > most
        if not full and (used < 2 * count or step % 2):
            continue
        values, y = np.linalg.eigh(projected[:used, :used].T)  # it reads below the diagonal alone
        values, y = values[::-1], y[:, ::-1]
        left = np.linalg.norm(rest @ y[-_BLOCK:, :count], axis=0)
        enough = _ROUGH * np.maximum(values[:count], _FLOOR * values[0])
        if (left <= enough).all() or step == _MOST:
            break
        if full:
            used = min(count + _BLOCK, most - _BLOCK)
            basis[:, :used] = _times(basis[:, : len(y)], y[:, :used].astype(np.float32))
            projected[:used, :used] = np.diag(values[:used])
    return _times(basis[:, : len(y)], y[:, : count + _BLOCK].astype(np.float32))


def _corrected(
    product: Callable[[Array], Array], known: Array, vectors: Array, count: int, tolerance: float
) -> tuple[Array, Array]:
    """``count`` eigenpairs to double precision, from those and more that are nearly right."""
    p, guards = known.shape[1], vectors[:, count:]
    v, *_ = _orthogonal(vectors[:, :count].astype(float), known)
    values, image = np.empty(0), None
    for _ in range(_CORRECTIONS):
        if image is None:
            image = product(v)
            values, y = np.linalg.eigh(_inner(v, image))
            values, v, image = values[::-1], _times(v, y[:, ::-1]), _times(image, y[:, ::-1])
        residual = _without(image, known, _inner(known, image)) - v * values
        # An eigenvalue of 0 has only rounding left.
        left = np.linalg.norm(residual, axis=0) / np.maximum(tolerance * values, _ROUNDING)
        if (left <= 1).all():
            break
        # A product with fewer columns takes as long: the next largest residuals fill the block.
        worst = np.argsort(-left, kind="stable")[: max(_BLOCK, (left > 1).sum())]
        most = count + guards.shape[1] + _STEPS * len(worst)
        room, images = np.empty((len(v), p + most)), np.empty((len(v), most))
        room[:, :p], basis = known, room[:, p:]
        basis[:, :count], images[:, :count] = v, image
        used, w = count, guards
        for step in range(1 + _STEPS):
            w, *_ = _orthogonal(w.astype(float), room[:, : p + used])
            new = slice(used, used + w.shape[1])
            basis[:, new], used = w, new.stop
            images[:, new] = w = product(w.astype(np.float32))
            if step == 0:
                w = residual[:, worst]
        # Below the diagonal, which alone is read: what corrections share with the pairs is exact.
        values, y = np.linalg.eigh(_inner(basis, images))
        values, y = values[::-1][:count], y[:, ::-1]
        guards, y = _times(basis, y[:, count : count + guards.shape[1]]), y[:, :count]
        v, image = _times(basis, y), _times(images, y)
        if np.abs(y[count:]).max() > _SMALL:
            v, image = _qr(v)[0], None
    return values, v


def _orthogonal(w: Array, basis: Array) -> tuple[Array, Array, Array]:
    """q, r, t of w = q r + basis t (M, b), with q orthonormal and orthogonal to the basis."""
    r, t = np.eye(w.shape[1]), np.zeros((basis.shape[1], w.shape[1]))
    for _ in range(2):
        along = _inner(basis, w)
        t += along @ r
        w, own = _qr(_without(w, basis, along))
        r = own @ r
    return w, r, t


def _inner(a: Array, b: Array) -> Array:
    """a^T b of long vectors, the same for any threads."""
    return sum(_by_rows(len(a), lambda rows: a[rows].T @ b[rows]))


def _times(a: Array, y: Array) -> Array:
    """Combinations of long vectors: a y."""
    return np.concatenate(_by_rows(len(a), lambda rows: a[rows] @ y))


def _without(w: Array, a: Array, y: Array) -> Array:
    """w - a y."""
    return np.concatenate(_by_rows(len(a), lambda rows: w[rows] - a[rows] @ y))


def _qr(w: Array) -> tuple[Array, Array]:
    """Orthonormal columns, and the triangle that makes w (M, b) of them.

    The triangle is that of w^T w, whose digits are half of those of w; a second time mends that.
    """
    x = w.astype(float, copy=False)
    with contextlib.suppress(np.linalg.LinAlgError):
        r = np.linalg.cholesky(_inner(x, x)).T
        if r.diagonal().min() > _DEPENDENT * r.diagonal().max():
            return _times(w, np.linalg.inv(r).astype(w.dtype)), r
    return np.linalg.qr(w)


def _by_rows(n: int, function: Callable[[slice], Any]) -> list[Any]:
    """What a function of some consecutive rows returns, of all n of them."""

    def of_part(part: Sequence[slice]) -> Any:
        return function(slice(part[0].start, part[-1].stop))

    return walk(row_slices(n, _ROWS), of_part)
