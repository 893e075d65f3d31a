"""Levels of every view for the spectral recipe: whitened, plain and scaled.

Each is a distance that leaves alone what may mean nothing in a view: a linear mixing of its columns
(whitened), the lengths of its rows (plain), the units of its columns (scaled). Chapter 12 of the
book derives them: each errs where another does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse

from dmac._types import Array, Floats, Matrix
from dmac.data.checks import ArrayView, with_zero_rows
from dmac.data.linalg import (
    GRAM,
    as_dense,
    centred_product,
    leading_by_products,
    leading_of_gram,
    on_entries,
    signed,
    stored,
)
from dmac.data.pipeline import ViewPipeline, fitted
from dmac.data.whitening import Whitening

# What `moments` gives: a number, (d,) and (d, d).
Moments: TypeAlias = tuple[Any, ...]

# Arrays with a smaller share of entries that are not 0 are stored as sparse matrices on the way.
_SPARSE = 0.1
#: What a recipe's word stands for, in the order of the columns.
LEVELS = {
    **{name: (name,) for name in ("whitened", "plain", "scaled")},
    "both": ("whitened", "plain"),
    "all": ("whitened", "plain", "scaled"),
}
#: Columns up to which the scaled level takes a view as it is.
SCALED_COLUMNS = 50
# Rows and random splits by which halves of the columns are compared, and columns that it takes.
_HALVES_ROWS, _SPLITS, _HALVES_COLUMNS = 1000, 2, 6
# A column whose deviation is smaller, in units of its largest entry, is constant: rounding errors
# are no values. They are larger in a sparse view, whose columns are not centred on the way.
_CONSTANT = {False: 1e-14, True: 1e-7}
# New samples lie no further off than this, so that their squares are numbers of 32 bits, too.
_MAX_DISTANCE = 1e15


class Projection:
    r"""A view in its r leading singular directions, neither centred nor scaled: :math:`X V_r`.

    Unlike :class:`dmac.data.whitening.Whitening` it keeps how much of a row lies in which
    direction: angles between rows change only by what lies outside of the r directions. A view of
    at most r columns stays as it is.

    Parameters
    ----------
    n_components : int
        The largest r.

    Attributes
    ----------
    components_ : numpy.ndarray of shape (r, d) or None
        Rows of :math:`V_r^T`, the entry of largest magnitude in each positive; None where the view
        stays as it is.
    """

    components_: Array | None = None

    def __init__(self, n_components: int) -> None:
        self.n_components = n_components

    def fit(self, x: Matrix) -> Self:
        """Find the directions of rows (n, d), of entries of at most about 1. Returns self."""
        if x.shape[1] > self.n_components:
            self.components_ = signed(leading_by_products(x, self.n_components)[1])
        return self

    def fit_gram(self, gram: Array, mean: Array, n: int) -> Self:
        """Find the directions by X^T X of shape (d, d) alone. Returns self."""
        if len(gram) > self.n_components:
            self.components_ = signed(leading_of_gram(gram, self.n_components)[1])
        return self

    def transform(self, x: Matrix) -> Floats:
        """(n, d), dense or CSR -> an array of shape (n, r)."""
        return as_dense(x if self.components_ is None else x @ self.components_.T)


def moments(blocks: Iterable[Matrix]) -> Moments:
    """How many rows there are, their sum, and X^T X, in one pass."""
    n, total, gram = 0, np.zeros(()), np.zeros(())
    for x in blocks:
        n += x.shape[0]
        total = total + np.asarray(x.sum(0)).ravel()
        gram = gram + as_dense(x.T @ x)
    return n, total, gram


def is_counts(x: Matrix) -> bool:
    """Whether a view (n, d) holds counts, by its values.

    They are integers from 0 on, and more than half of the view is 0 or it has more than
    `SCALED_COLUMNS` columns: a few columns of integers may be grades or measures.
    """
    values = stored(x)
    if values.size and (values.min() < 0 or values.max() > 2**53):  # up to which all are exact
        return False
    if not np.array_equal(values, np.round(values)):
        return False
    return np.count_nonzero(values) < 0.5 * np.prod(x.shape) or x.shape[1] > SCALED_COLUMNS


class ScaledColumns:
    r"""A view whose columns have one unit and whose rows keep their lengths.

    1. Counts (`is_counts`): every sample gets the median sum of all, then :math:`\log(1 + x)`.
    2. Columns are centred and divided by their standard deviations; constant ones are left out.
    3. Of more than `SCALED_COLUMNS` columns the leading principal directions are taken, not
       whitened.
    4. All is divided by one number, so that the mean squared length of a row is 1.

    Parameters
    ----------
    n_components : int
        How many directions of a wide view.

    Attributes
    ----------
    total_ : float
        The median sum of counts; 0 for other views.
    exponent_ : numpy.ndarray of shape (d,), int
        Brings the largest entry of each column to [1/2, 1), so that squares are in range.
    center_, units_ : numpy.ndarray of shape (d,)
        Means of the columns and 1 over their standard deviations, which is 0 of constant ones; of
        columns divided by 2 to the ``exponent_``.
    components_ : numpy.ndarray of shape (d, r)
        Steps 2 to 4 after the centring, r at least 1.
    """

    def __init__(self, n_components: int = 30) -> None:
        self.n_components = n_components

    def fit(
        self,
        x: Matrix,
        every: Matrix | None = None,
        moments_of: Callable[[Callable[[Matrix], Matrix]], Moments] | None = None,
    ) -> Self:
        """Learn the steps; parameters are those of `LevelPipeline.fit_transform`. Returns self."""
        sparse, d = scipy.sparse.issparse(x), x.shape[1]
        self.total_ = float(np.median(np.asarray(x.sum(1)))) if is_counts(x) else 0.0
        logged = self._logged(x)
        self.exponent_ = np.frexp(as_dense(abs(logged).max(0)).ravel())[1]
        self.center_ = np.zeros(d)
        if not sparse:  # so that columns far from 0 keep their digits
            self.center_ = self._in_range(logged).mean(0)
        if moments_of or d <= min(x.shape[0], GRAM):
            centred = self._centred
            n, total, gram = moments_of(centred) if moments_of else moments([centred(x)])
            mean = total / max(n, 1)
            covariance = gram / max(n, 1) - np.outer(mean, mean)
            units = self.units_ = _units(np.diagonal(covariance), sparse)
            kept = np.flatnonzero(units)
            correlation = (units[:, None] * covariance * units)[np.ix_(kept, kept)]
            variances, directions = self._principal(correlation)
        else:
            rows = self._centred(x if every is None else every)
            mean = np.asarray(rows.mean(0)).ravel()
            squares = np.asarray(on_entries(np.square, rows).mean(0)).ravel()
            units = self.units_ = _units(squares - mean**2, sparse)
            kept = np.flatnonzero(units)
            rows, shift = self._times_units(rows)[:, kept], (mean * units)[kept]
            if len(kept) <= SCALED_COLUMNS:
                rows = as_dense(rows) - shift
                variances, directions = self._principal(rows.T @ rows / len(rows))
            else:
                s, directions = leading_by_products(rows, self.n_components, shift)
                variances, directions = s**2 / rows.shape[0], signed(directions)
        whole = float(variances.sum())
        self.components_ = np.zeros((d, max(1, len(directions))))
        scale = np.sqrt(whole) if whole else 1.0
        self.components_[kept, : len(directions)] = units[kept, None] * directions.T / scale
        self.center_ = self.center_ + mean
        return self

    def transform(self, x: Matrix) -> Floats:
        """(n, d), dense or CSR -> an array of shape (n, r)."""
        x = self._in_range(self._logged(x))
        rows = centred_product(x, self.center_, self.components_)
        return rows.clip(-_MAX_DISTANCE, _MAX_DISTANCE)

    def in_units(self, x: Matrix) -> Matrix:
        """Columns (n, d) in units of their deviations; those of a sparse view are not centred."""
        return self._times_units(self._centred(x))

    def _times_units(self, x: Matrix) -> Matrix:
        return x.multiply(self.units_).tocsr() if scipy.sparse.issparse(x) else x * self.units_

    def _principal(self, correlation: Array) -> tuple[Array, Array]:
        """Variances, and the directions (r, d) that are kept: all of few columns, as they are."""
        if len(correlation) <= SCALED_COLUMNS:
            return np.linalg.eigvalsh(correlation).clip(0), np.eye(len(correlation))
        s, directions = leading_of_gram(correlation, self.n_components)
        return s**2, signed(directions)

    def _logged(self, x: Matrix) -> Matrix:
        """Counts of samples of one sum, after log(1 + x); other views as they are."""
        if not self.total_:
            return x
        sums = np.asarray(abs(x).sum(1)).ravel()
        ratios = np.divide(self.total_, sums, out=np.zeros_like(sums), where=sums > 0)
        x = scipy.sparse.diags(ratios) @ x if scipy.sparse.issparse(x) else ratios[:, None] * x
        return on_entries(lambda entries: np.sign(entries) * np.log1p(np.abs(entries)), x)

    def _in_range(self, x: Matrix) -> Matrix:
        """Columns in units of a power of two near their largest entry."""
        if not scipy.sparse.issparse(x):
            return np.ldexp(x, -self.exponent_).clip(-_MAX_DISTANCE, _MAX_DISTANCE)
        out = x.tocsr().astype(np.float64)
        out.data = np.ldexp(out.data, -self.exponent_[out.indices]).clip(
            -_MAX_DISTANCE, _MAX_DISTANCE
        )
        return out

    def _centred(self, x: Matrix) -> Matrix:
        """Near the middle of the columns, but for sparse views."""
        x = self._in_range(self._logged(x))
        return x if scipy.sparse.issparse(x) else x - self.center_


def agreement_of_halves(x: Matrix, rank: int) -> float:
    r"""How far the leading directions of one half of the columns tell those of the other.

    With U and V the ``rank`` leading left singular vectors of two random halves of the centred
    columns, :math:`\|U^T V\|_F^2 / p` is 1 if they span the same, and p / (n - 1) on average if
    one is random; it is given above that, in units of what is left, as the mean of two splits.

    Parameters
    ----------
    x : numpy.ndarray or scipy.sparse.csr_matrix of shape (n, d)
    rank : int

    Returns
    -------
    float
        From 0 to 1; 0 if a half does not vary, or there is one sample.
    """
    n, d = x.shape
    if n < 2:
        return 0.0
    rng, total = np.random.default_rng(0), 0.0
    for _ in range(_SPLITS):
        first, second = (_left(x[:, part], rank) for part in np.array_split(rng.permutation(d), 2))
        p = min(first.shape[1], second.shape[1])
        chance = max(first.shape[1], second.shape[1]) / (n - 1)
        if p and chance < 1:
            total += (((first.T @ second) ** 2).sum() / p - chance) / (1 - chance)
    return float(max(total / _SPLITS, 0.0))


def _left(x: Matrix, rank: int) -> Array:
    """Leading left singular vectors (n, r) of centred columns; none if all rows are the same."""
    mean = np.asarray(x.mean(0)).ravel()
    s, vt = leading_by_products(x, min(rank, *x.shape), mean)
    kept = s > _CONSTANT[True]
    return (x @ vt[kept].T - mean @ vt[kept].T) / s[kept]


def _units(variances: Array, sparse: bool) -> Array:
    """1 over the standard deviations of columns, 0 of constant ones."""
    deviations = np.sqrt(variances.clip(0))
    varies = deviations > _CONSTANT[sparse]
    return np.divide(1, deviations, out=np.zeros_like(deviations), where=varies)


class LevelPipeline(ViewPipeline):
    r"""One view's way into the spectral recipe: one level or several, side by side.

    The whitened and the plain level share the first two steps of
    :class:`dmac.data.pipeline.ViewPipeline`, square root and unit rows; the whitened one is its
    third step, the plain one a `Projection` instead, and rows of both are scaled to unit length.
    The scaled level is made of the view as it is given (`ScaledColumns`). All are learned from the
    samples that have the view; `fit_part` and `of_part` give the others rows of zeros.

    Parameters
    ----------
    root : bool
    levels : str
        A key of `LEVELS`.
    n_components : int
        r of the whitened level.
    ridge : float
    plain_components : int
        r of the plain level.
    columns : str
    n_clusters : int
        c.
    scaled_components : int
        Of `ScaledColumns`.
    halves : bool
        See ``weights_``.

    Attributes
    ----------
    widths_ : tuple of int
        Columns of each level.
    n_features_out_ : int
        Their sum.
    weights_ : dict of str to float
        Of the graphs of each level: 1 of the whitened one, the ``spread_`` of the plain one, and 1
        of the scaled one. With ``halves`` all are multiplied by how far halves of the columns tell
        each other (`agreement_of_halves`), in units of the better of unit rows and scaled columns,
        if one of them does and there are levels of both.
    scaled_ : ScaledColumns or None
    measured_ : bool
        Whether rows of zeros were measured, and are values.
    spread_ : float
        :math:`1 - \|\bar x\|^2` of the unit rows, from 0 (all rows are the same) to 1: the mean
        squared distance of two rows is twice that.
    """

    scaled_: ScaledColumns | None = None
    measured_: bool = False

    def __init__(
        self,
        root: bool,
        levels: str,
        n_components: int | None,
        ridge: float,
        plain_components: int,
        columns: str = "given",
        n_clusters: int = 2,
        scaled_components: int = 30,
        halves: bool = False,
    ) -> None:
        super().__init__(root, n_components, ridge, columns)
        self.levels, self.plain_components = LEVELS[levels], plain_components
        self.n_clusters, self.scaled_components = n_clusters, scaled_components
        self.halves = halves

    def _heads(self) -> dict[str, Any]:
        heads = {
            "whitened": Whitening(self.n_components, self.ridge),
            "plain": Projection(self.plain_components),
        }
        return {name: head for name, head in heads.items() if name in self.levels}

    def fit_transform(
        self,
        x: Matrix,
        label: str = "a view",
        every: Matrix | None = None,
        moments_of: Callable[[Callable[[Matrix], Matrix]], Moments] | None = None,
    ) -> Floats:
        """Learn the steps from a checked view (n, d_a), dense or CSR, and apply them to it.

        Parameters
        ----------
        x : numpy.ndarray or scipy.sparse.csr_matrix of shape (n, d_a)
            A view, or a part of one, from which root and floors are learned.
        label : str
            What messages call the view.
        every : scipy.sparse.csr_matrix, optional
            All samples, where x is a part: the directions are learned from them.
        moments_of : callable, optional
            Where x is a part, and there is a ridge, the directions are learned from this: the
            `moments` of all samples, after a function of their rows.

        Returns
        -------
        numpy.ndarray of shape (n, sum of ``widths_``)
        """
        (rows,) = self._fit_rows([x], x.shape, label)
        if not scipy.sparse.issparse(rows) and np.count_nonzero(rows) < _SPARSE * rows.size:
            rows = scipy.sparse.csr_matrix(rows)
        self._learn(rows if every is None else self._unit_rows(every), moments_of)
        self.weights_ = {"whitened": 1.0, "plain": self.spread_, "scaled": 1.0}
        levels, self.lengths_ = list[Floats](), {}
        if self.heads_:
            levels.append(self._fit_lengths([rows]))
        if "scaled" in self.levels:
            x = scipy.sparse.csr_matrix(x) if scipy.sparse.issparse(rows) else x
            scaled = ScaledColumns(self.scaled_components).fit(x, every, moments_of)
            levels.append(scaled.transform(x))
            of_heads = self.widths_ if self.heads_ else ()
            self.scaled_, self.widths_ = scaled, (*of_heads, levels[-1].shape[1])
            if self.halves and self.heads_ and x.shape[1] >= _HALVES_COLUMNS:
                self._weigh(scaled, rows, x)
        return np.hstack(levels)

    def transform(self, x: Matrix) -> Floats:
        """Apply the stored steps to checked new samples of shape (n_new, d_a)."""
        levels = [super().transform(x)] if self.heads_ else []
        return np.hstack([*levels, *([self.scaled_.transform(x)] if self.scaled_ else [])])

    def fit_part(self, part: ArrayView, **more: Any) -> Floats:
        """`fit_transform` of the samples that have a view; where none has, its zeros stay."""
        self.measured_ = part.measured
        if not part.present.any():
            return 0 * self.fit_transform(part.values, part.where, **more)
        return with_zero_rows(self.fit_transform(part.there, part.where, **more), part.present)

    def of_part(self, part: ArrayView) -> Floats:
        """`transform` of the samples that have a view; rows of the others are zeros."""
        return with_zero_rows(self.transform(part.there), part.present)

    def _weigh(self, scaled: ScaledColumns, rows: Matrix, x: Matrix) -> None:
        """Weigh the levels by what halves of unit rows, and of the view's own (n, d), say."""
        few = slice(_HALVES_ROWS)  # rows came in a random order
        of_rows, of_columns = (
            agreement_of_halves(one, self.n_clusters - 1)
            for one in (rows[few], scaled.in_units(x[few]))
        )
        if best := max(of_rows, of_columns):  # else neither says a thing
            for name in self.weights_:
                self.weights_[name] *= (of_columns if name == "scaled" else of_rows) / best

    def _learn(self, x: Matrix, moments_of: Callable[..., Moments] | None) -> None:
        """The directions of both levels, from unit rows (n, d)."""
        # One product serves both levels. It halves the digits of small directions, which only a
        # ridge keeps from being blown up.
        products = self.ridge > 0 and (moments_of or x.shape[1] <= min(x.shape[0], GRAM))
        if products:
            n, total, gram = moments_of(self._unit_rows) if moments_of else moments([x])
        else:
            n, total = x.shape[0], np.asarray(x.sum(0)).ravel()
        mean = total / max(n, 1)
        self.spread_ = max(0.0, float(1 - mean @ mean))
        self.heads_ = self._heads()
        for head in self.heads_.values():
            if products:
                head.fit_gram(gram, mean, n)
            else:
                head.fit(x)

    def restore(self, tree: dict[str, Any]) -> Self:
        """Take over the state of a pipeline with the same parameters. Returns self."""
        if "scaled_" in tree:
            tree = tree | {"scaled_": fitted(ScaledColumns(), tree["scaled_"])}
        return super().restore(tree)
