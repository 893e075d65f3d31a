"""Linear algebra that :mod:`dmac.data.whitening` rests on: safe scaling and a truncated decomposition.

Chapter 1 of the book uses it through :class:`dmac.data.whitening.Whitening`.
"""

import numpy as np
import scipy.sparse


def shifted(x, exponent):
    """The array or CSR matrix x times 2 ** exponent, exactly; a new one of the same kind."""
    if scipy.sparse.issparse(x):
        out = x.copy()
        out.data = np.ldexp(x.data, exponent)
        return out
    return np.ldexp(x, exponent)


def largest_exponent(*arrays):
    """The e for which 2 ** (e - 1) <= largest magnitude < 2 ** e; 0 if there is only zero."""
    return int(np.frexp(max(abs(x).max() for x in arrays))[1])


def scaled_rows(x):
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


def streamed_transposed(blocks, q):
    """A^T q for a matrix that comes in blocks of rows: (n, r) -> (d, r)."""
    total, start = 0, 0
    for x in blocks:
        total = total + x.T @ q[start : start + len(x)]
        start += len(x)
    return total


def top_right_singular(product, transposed, shape, rank, seed=0):
    r"""Leading singular values and right vectors of a matrix known by its products only.

    Block Krylov iteration (Musco and Musco, 2015): an orthonormal basis of
    :math:`A^T G, (A^T A) A^T G, \dots` from a fixed random G grows until the singular triplets that
    A has on it satisfy :math:`\|A^T u - s v\| \le 10^{-6} s_1`. The same input gives the same
    result; basis vectors that carry nothing (A has low rank) come out with s at rounding level.
    """
    n, d = shape
    limit, check_at = min(n, d), 0
    block = transposed(np.random.default_rng(seed).standard_normal((n, min(rank + 2, limit))))
    basis, image = np.empty((d, 0)), np.empty((n, 0))
    while True:
        for _ in range(2):  # twice: once leaves a component along the basis when block is near it
            block = np.linalg.qr(block - basis @ (basis.T @ block))[0]
        block_image = product(block)
        basis, image = np.hstack([basis, block]), np.hstack([image, block_image])
        size = basis.shape[1]
        if size >= check_at or size >= limit:
            # squaring costs half the digits: good enough to decide when to stop, not for the result
            squares, w = np.linalg.eigh(image.T @ image)
            squares, w = squares[::-1][:rank], w[:, ::-1][:, :rank]
            residual = np.linalg.norm(transposed(image @ w) - basis @ (w * squares), axis=0)
            s = np.sqrt(squares.clip(1e-14 * squares[0]))
            if size >= limit or (residual <= 1e-6 * s[0] * s).all():
                _, s, wt = np.linalg.svd(image, full_matrices=False)
                return s[:rank], wt[:rank] @ basis.T
            check_at = 1.15 * size  # not at every step: the estimate costs more than the step
        block = transposed(block_image)[:, : d - size]
