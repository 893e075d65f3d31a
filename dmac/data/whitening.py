"""Rows of unit length and whitened principal directions: what is done to a view by itself.

The classes take checked views (:func:`dmac.data.checks.check_views`), as the estimator passes them
on; :func:`normalize_rows` checks what it is given.

Chapter 1 of the book shows what they change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np
import scipy.sparse
from sklearn.exceptions import NotFittedError

from dmac._types import Array, Floats, Matrix
from dmac.data.checks import check_views
from dmac.data.linalg import (
    as_dense,
    centred_product,
    leading_directions,
    scale_rows,
    signed,
    stored,
)


class RowNormalizer:
    r"""Scale every row (sample) of one view to unit length, without promoting noise.

    .. math:: x_i \leftarrow x_i / \max(\|x_i\|_2, \varepsilon),

    after which squared distances are two minus twice the cosine :eq:`eq:unit-distance`.
    The floor :math:`\varepsilon` is :math:`10^{-6}` times the median norm of the non-zero
    training rows. A zero row stays zero (plain division gives 0/0), and a row that is numerically
    zero stays near zero instead of becoming a unit vector of rounding noise. Both occur: in the
    20-dimensional CCV features, where the median norm is 0.94 in view 1 and 0.96 in view 3, 11 rows
    of view 1 and 46 of view 3 lie below the floor (7 and 9 of them below 1e-14, none exactly zero;
    the smallest is 4e-17), and none of view 2. In the other registered sets the only rows below it
    are exactly zero (in Cora and WebKB).

    Parameters
    ----------
    floor : float, optional
        With it nothing has to be fitted: rows that are shorter are divided by it.

    Attributes
    ----------
    floor_ : float
        :math:`\varepsilon`; 1.0 if all training rows are zero. New samples are scaled with it.
    """

    def __init__(self, floor: float | None = None) -> None:
        if floor is not None:
            self.floor_ = float(floor)

    def fit(self, x: Matrix) -> Self:
        """Set the floor from a checked view of shape (n, d); dense or CSR. Returns self."""
        return self.fit_blocks([x])

    def fit_blocks(self, blocks: Iterable[Matrix]) -> Self:
        """Set the floor from the blocks of rows of a view. Returns self."""
        parts = zip(*(scale_rows(x)[1:] for x in blocks))
        exponent, norms = map(np.concatenate, parts)
        # 1e-6 first: the norm itself may be beyond the range of float64
        floors = np.ldexp(1e-6 * norms[norms > 0], exponent[norms > 0])
        self.floor_ = max(float(np.median(floors)), np.finfo(float).tiny) if floors.size else 1.0
        return self

    @np.errstate(over="ignore", invalid="ignore")  # norms beyond float64, and rows of zeros
    def transform(self, x: Matrix) -> Matrix:
        """Scale a view of shape (n, d), dense or CSR, to a new one of the same kind and shape."""
        if not hasattr(self, "floor_"):
            raise NotFittedError("this RowNormalizer is not fitted: call fit first")
        scaled, exponent, norms = scale_rows(x)
        below = np.ldexp(norms, exponent) <= self.floor_
        sparse = scipy.sparse.issparse(x)
        if sparse:
            rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
            below, norms = below[rows], norms[rows]
        scaled /= norms if sparse else norms[:, None]  # but rows of zeros, which come next
        scaled[below] = stored(x)[below] / self.floor_
        if not sparse:
            return scaled
        return scipy.sparse.csr_matrix((scaled, x.indices, x.indptr), x.shape, copy=True)

    def fit_transform(self, x: Matrix) -> Matrix:
        """Set the floor from ``x`` and scale ``x``."""
        return self.fit(x).transform(x)


class LiftedRows:
    r"""Rows of a view to unit length, with a constant column first, which keeps their length.

    A unit row is an angle. Of two columns that is one number, and what lies on one ray from the
    origin becomes one point. So the columns are standardised,
    :math:`z_{ij} = (x_{ij} - \bar x_j) / s_j`, and

    .. math:: x_i \leftarrow (z_i, 1) / \sqrt{\|z_i\|^2 + 1}

    is a point of the sphere in one more dimension :eq:`eq:lifted-rows`: no two rows become one,
    and distances far from the middle shrink. A constant column becomes 0.

    Attributes
    ----------
    mean_, inverse_ : numpy.ndarray of shape (d,)
        :math:`\bar x` and 1 / s, which is 0 of a constant column; of the columns divided by 2 to
        the ``exponent_``.
    exponent_ : numpy.ndarray of shape (d,), int
        Brings the largest entry of each column to [1/2, 1).
    """

    #: What stands in the constant column; more in models of 0.2.0 that kept the lengths of rows.
    height: float = 1.0

    def fit_blocks(self, blocks: Iterable[Matrix]) -> Self:
        """Learn from the blocks of rows of a view, dense or CSR, which is made dense."""
        x = np.concatenate([as_dense(block) for block in blocks])
        self.exponent_ = np.frexp(np.abs(x).max(0))[1]
        x = np.ldexp(x, -self.exponent_)
        self.mean_, s = x.mean(0), x.std(0)
        varies = s > 1e-14  # rounding errors of a constant are no values
        self.inverse_ = np.divide(1, s, out=np.zeros_like(s), where=varies)
        return self

    @np.errstate(over="ignore", invalid="ignore")  # a new entry may be far beyond all
    def transform(self, x: Matrix) -> Floats:
        """(n, d), dense or CSR -> an array of shape (n, d + 1)."""
        x = as_dense(x)
        z = (np.ldexp(x, -self.exponent_) - self.mean_) * self.inverse_
        z = np.where(self.inverse_ > 0, z, 0.0).clip(-1e100, 1e100)
        z = np.column_stack([z, np.full(len(z), self.height)])
        return z / np.linalg.norm(z, axis=1, keepdims=True)


def normalize_rows(x: Matrix) -> Matrix:
    """Scale the rows of one view to unit length (:class:`RowNormalizer`).

    Parameters
    ----------
    x : array or sparse matrix of shape (n, d)

    Returns
    -------
    numpy.ndarray or scipy.sparse.csr_matrix of shape (n, d)

    Raises
    ------
    ValueError
        If the view is not usable (:func:`dmac.data.checks.check_views`).
    """
    (x,) = check_views([x])
    return RowNormalizer().fit_transform(x)


class Whitening:
    r"""Centre one view and scale its leading principal directions to unit variance.

    With the singular value decomposition of the centred training rows,
    :math:`X - 1 \bar x^T = U \Sigma V^T`, and its r leading components, a row x becomes

    .. math:: h = \sqrt n \, \Sigma_r^{-1} V_r^T (x - \bar x),

    so that the training rows become :math:`H = \sqrt n \, U_r`, with mean 0 and
    :math:`H^T H / n = I` :eq:`eq:whitening`; with all components, distances between the rows
    of H are Mahalanobis distances :eq:`eq:mahalanobis`.

    With a ridge :math:`\rho` the divisor :math:`\sigma_j`, the standard
    deviation along direction j, becomes :math:`\sqrt{\sigma_j^2 + \rho \bar{\sigma^2}}` (the mean
    over the r directions): directions far below the average, mostly noise, are not blown up to
    full size. Components with a singular value at rounding level are dropped: at most
    :math:`\max(n, d) \, \epsilon \, s_1` or :math:`\sqrt n \, \epsilon \, \|\bar x\|`, with
    :math:`\epsilon` the machine precision. So constant and repeated columns do no harm, and r may
    be smaller than asked for; it is 0 if all rows are equal. A view whose largest entry is not
    between :math:`10^{-100}` and :math:`10^{100}` is refused, since entries are squared.

    Parameters
    ----------
    n_components : int, optional
        The largest r; all components by default. A sparse view is centred implicitly and never
        stored densely as long as r is below half of min(n, d).
    ridge : float
        :math:`\rho`, at least 0. A very large one leaves the scale of the directions as it is.

    Attributes
    ----------
    mean_ : numpy.ndarray of shape (d,)
    components_ : numpy.ndarray of shape (r, d)
        Rows of :math:`V_r^T`; the entry of largest magnitude in each is positive.
    scale_ : numpy.ndarray of shape (r,)
        What each component is divided by: without a ridge :math:`\Sigma_r / \sqrt n`, the standard
        deviations along the components; largest first.
    """

    mean_: Array
    components_: Array
    scale_: Array

    def __init__(self, n_components: int | None = None, ridge: float = 0.0) -> None:
        self.n_components = n_components
        self.ridge = ridge

    def fit(self, x: Matrix) -> Self:
        """Find the components of a checked view of shape (n, d), dense or CSR. Returns self."""
        return self.fit_blocks([x])

    def fit_blocks(self, blocks: Iterable[Matrix]) -> Self:
        """Find the components of a view in blocks of rows.

        Two passes over the blocks, or hundreds where more than 2000 columns would make a large
        triangular factor. Returns self.
        """
        rank = self.n_components
        if rank is not None and (not isinstance(rank, (int, np.integer)) or rank < 1):
            raise ValueError(f"n_components must be None or an integer of at least 1, got {rank!r}")
        if not 0 <= self.ridge < np.inf:
            raise ValueError(f"ridge must be a number of at least 0, got {self.ridge!r}")
        largest = max(np.abs(stored(x)).max(initial=0) for x in blocks)
        if largest and not 1e-100 <= largest <= 1e100:
            raise ValueError(
                f"the largest entry of the view has the size {largest:g}, and whitening squares "
                "entries: divide the view by it first"
            )
        means = [(x.shape[0], np.asarray(x.mean(0)).ravel()) for x in blocks]
        n = sum(size for size, _ in means)
        mean = sum(size / n * of_block for size, of_block in means)
        return self._keep(*leading_directions(blocks, (n, len(mean)), rank, mean), mean, n)

    def fit_gram(self, gram: Array, mean: Array, n: int) -> Self:
        r"""Find the components by :math:`X^T X` and the mean row, to half the digits. Returns self.

        Directions below :math:`10^{-7}` of the leading one are lost in it and are left out.

        Parameters
        ----------
        gram : numpy.ndarray of shape (d, d)
            Of entries of at most about 1.
        mean : numpy.ndarray of shape (d,)
        n : int
            Samples.
        """
        values, vectors = np.linalg.eigh(gram - n * np.outer(mean, mean))
        s = np.sqrt(values[::-1].clip(0))
        exact = s > 1e-7 * np.sqrt(np.trace(gram))
        return self._keep(s[exact], vectors[:, ::-1].T[exact], mean, n)

    def _keep(self, s: Array, vt: Array, mean: Array, n: int) -> Self:
        eps = np.finfo(float).eps
        rounding = max(n, len(mean)) * s.max(initial=0), np.sqrt(n) * np.linalg.norm(mean)
        keep = np.flatnonzero(s > eps * max(rounding))[: self.n_components]
        self.components_, s = signed(vt[keep]), s[keep]
        if self.ridge and len(s):
            s = np.sqrt(s**2 + self.ridge * np.mean(s**2))
        self.mean_, self.scale_ = mean, s / np.sqrt(n)
        return self

    def transform(self, x: Matrix) -> Floats:
        """Whiten a view of shape (n, d), dense or CSR, to an array of shape (n, r)."""
        if not hasattr(self, "components_"):
            raise NotFittedError("this Whitening is not fitted: call fit first")
        return centred_product(x, self.mean_, self.components_.T) / self.scale_

    def fit_transform(self, x: Matrix) -> Floats:
        """Find the components of ``x`` and whiten ``x``."""
        return self.fit(x).transform(x)
