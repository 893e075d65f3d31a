r"""The largest eigenpairs of a symmetric operator whose products pay for many columns at a time.

A sparse factor is read once for every product, so a product with sixteen vectors costs little more
than one with two. Block Lanczos takes its directions sixteen at a time, in single precision and
each orthogonal to all before. What that finds is right to five or six digits. The rest is
refinement: one product in double precision says what is left of every pair, and corrections that
small need only single precision again.

Chapter 22 of the book says what that saves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

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


def largest_eigenpairs(
    product: Callable[[Array], Array], known: Array, count: int, tolerance: float = 1e-8
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
    size, known = len(known), known.astype(np.float32)
    basis = np.empty((size, most + _BLOCK), np.float32)
    projected = np.zeros((most + _BLOCK, most + _BLOCK))
    start = np.random.default_rng(0).standard_normal((size, _BLOCK), np.float32)
    w, _ = _orthogonal(start, known, basis[:, :0])
    used = 0
    for step in range(1, _MOST + 1):
        new = slice(used, used + _BLOCK)
        basis[:, new], used = w, used + _BLOCK
        image = product(w).astype(np.float32)
        parts = basis[:, :used].T @ image
        projected[:used, new] = parts
        w, rest = _orthogonal(image - basis[:, :used] @ parts, known, basis[:, :used])
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
            basis[:, :used] = basis[:, : len(y)] @ y[:, :used].astype(np.float32)
            projected[:used, :used] = np.diag(values[:used])
    return basis[:, : len(y)] @ y[:, : count + _BLOCK].astype(np.float32)


def _corrected(
    product: Callable[[Array], Array], known: Array, vectors: Array, count: int, tolerance: float
) -> tuple[Array, Array]:
    """``count`` eigenpairs to double precision, from those and more that are nearly right."""
    v, guards = vectors[:, :count].astype(float), vectors[:, count:]
    v, _ = _orthogonal(v, known, known[:, :0])
    values, image = np.empty(0), None
    for _ in range(_CORRECTIONS):
        if image is None:
            image = product(v)
            values, y = np.linalg.eigh(v.T @ image)
            values, v, image = values[::-1], v @ y[:, ::-1], image @ y[:, ::-1]
        residual = image - known @ (known.T @ image) - v * values
        # An eigenvalue of 0 has only rounding left.
        left = np.linalg.norm(residual, axis=0) / np.maximum(tolerance * values, _ROUNDING)
        if (left <= 1).all():
            break
        # A product with fewer columns takes as long: the next largest residuals fill the block.
        worst = np.argsort(-left, kind="stable")[: max(_BLOCK, (left > 1).sum())]
        basis, images, w = v, image, guards
        for step in range(1 + _STEPS):
            w, _ = _orthogonal(w.astype(float), known, basis)
            basis = np.hstack([basis, w])
            w = product(w.astype(np.float32))
            images = np.hstack([images, w])
            if step == 0:
                w = residual[:, worst]
        # Below the diagonal, which alone is read: what corrections share with the pairs is exact.
        values, y = np.linalg.eigh(basis.T @ images)
        values, y = values[::-1][:count], y[:, ::-1]
        guards, y = basis @ y[:, count : count + guards.shape[1]], y[:, :count]
        v, image = basis @ y, images @ y
        if np.abs(y[count:]).max() > _SMALL:
            v, image = np.linalg.qr(v)[0], None
    return values, v


def _orthogonal(w: Array, known: Array, basis: Array) -> tuple[Array, Array]:
    """An orthonormal block for the part of w (M, b) that is orthogonal to both, and its factor."""
    factor = np.eye(w.shape[1])
    for _ in range(2):
        w = w - known @ (known.T @ w)
        w = w - basis @ (basis.T @ w)
        w, r = np.linalg.qr(w)
        factor = r @ factor
    return w, factor
