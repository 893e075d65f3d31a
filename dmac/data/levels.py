"""Two levels of every view for the spectral recipe: its whitened directions and its plain ones.

Chapter 12 of the book says why both are there: each errs where the other does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse
from scipy.linalg import eigh

from dmac.data.checks import filled
from dmac.data.pipeline import ViewPipeline, row_normalizer
from dmac.data.whitening import RowNormalizer, Whitening

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Protocol, Self, TypeAlias

    from dmac._types import Array, Floats, Matrix

    #: What `moments` gives: a number, (d,) and (d, d).
    Moments: TypeAlias = tuple[Any, Array, Array]

    class EverySample(Protocol):
        """A view of which a part is fitted."""

        #: n and d.
        shape: tuple[int, int]
        #: The view, where it is a sparse matrix in memory.
        sparse: Matrix | None

        def moments(self, transform: Callable[[Matrix], Matrix]) -> Moments:
            """`moments` of all samples, after a function of their rows."""


# Up to this many columns or rows the directions come from one product with all of them.
_GRAM = 2000
# Passes of the subspace iteration, and columns beyond those that are asked for.
_PASSES = 5
_MORE = 10
# Arrays with a smaller share of entries that are not 0 are stored as sparse matrices on the way.
_SPARSE = 0.1
#: Directions whose singular value is below this share of the largest are left out.
TOLERANCE = 1e-6


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

    def __init__(self, n_components: int) -> None:
        self.n_components = n_components

    def fit(self, x: Matrix) -> Self:
        """Find the directions of rows (n, d), of entries of at most about 1. Returns self."""
        n, d = x.shape
        if d <= self.n_components:
            return self.fit_gram(None)
        if d <= min(n, _GRAM):
            return self.fit_gram(_dense(x.T @ x))
        if n <= _GRAM:
            s, left = _leading(_dense(x @ x.T), self.n_components)
            r = int((s > TOLERANCE * s[0]).sum())
            return self._keep(s[:r], _dense(x.T @ left[:, :r]).T / s[:r, None])
        return self._keep(*self._subspace(x))

    def fit_gram(self, gram: Array | None) -> Self:
        """The same from X^T X, (d, d); from None for a view that stays as it is. Returns self."""
        self.components_ = None
        if gram is None or len(gram) <= self.n_components:
            return self
        s, vectors = _leading(gram, self.n_components)
        return self._keep(s, vectors.T)

    def _subspace(self, x: Matrix) -> tuple[Array, Array]:
        """By subspace iteration from a random start: few passes over a view that is wide and long.

        Close to the leading directions where the spectrum falls; where it is flat any of them does.
        """
        q = np.random.default_rng(0).standard_normal((x.shape[1], self.n_components + _MORE))
        for _ in range(_PASSES):
            q = np.linalg.qr(x.T @ (x @ q))[0]
        _, s, wt = np.linalg.svd(x @ q, full_matrices=False)
        return s, wt @ q.T

    def _keep(self, s: Array, vt: Array) -> Self:
        keep = np.flatnonzero(s[: self.n_components] > TOLERANCE * s.max(initial=0))
        vt = vt[keep]
        largest = np.abs(vt).argmax(1)[:, None]
        self.components_ = vt * np.sign(np.take_along_axis(vt, largest, 1))
        return self

    def transform(self, x: Matrix) -> Floats:
        """(n, d), dense or CSR -> an array of shape (n, r)."""
        return _dense(x) if self.components_ is None else _dense(x @ self.components_.T)


def _leading(gram: Array, count: int) -> tuple[Array, Array]:
    """Roots of the largest eigenvalues, largest first, and the eigenvectors as columns."""
    n = len(gram)
    values, vectors = eigh(gram, subset_by_index=[max(0, n - count), n - 1])
    return np.sqrt(values[::-1].clip(0)), vectors[:, ::-1]


def moments(blocks: Iterable[Matrix], products: bool = True) -> Moments:
    """Rows that are not zero, the sum of the rows, and X^T X if it is asked for, in one pass."""
    n, total, gram = 0, np.zeros(()), np.zeros(())
    for x in blocks:
        n += int(filled(x).sum())
        total = total + np.asarray(x.sum(0)).ravel()
        gram = gram + _dense(x.T @ x) if products else gram
    return n, total, gram


def _dense(x: Matrix) -> Array:
    return x.toarray() if scipy.sparse.issparse(x) else np.asarray(x)


class LevelPipeline:
    r"""One view's way into the spectral recipe: square root, unit rows, then one level or two.

    The first two steps are those of :class:`dmac.data.pipeline.ViewPipeline`. The whitened level is
    its third step; the plain level is a `Projection` instead. Rows of both are scaled to unit
    length, and the levels stand side by side in the result.

    Parameters
    ----------
    root : bool
    levels : {"whitened", "plain", "both"}
    n_components : int
        r of the whitened level.
    ridge : float
    plain_components : int
        r of the plain level.

    Attributes
    ----------
    widths_ : tuple of int
        Columns of each level, the whitened one first.
    n_features_out_ : int
        Their sum.
    spread_ : float
        :math:`1 - \|\bar x\|^2` of the unit rows, from 0 (all rows are the same) to 1: the mean
        squared distance of two rows is twice that.
    """

    #: What messages call the view.
    title = "a view"

    def __init__(
        self, root: bool, levels: str, n_components: int | None, ridge: float, plain_components: int
    ) -> None:
        self.root, self.levels = root, levels
        self.n_components, self.ridge = n_components, ridge
        self.plain_components = plain_components

    def _heads(self) -> dict[str, Whitening | Projection]:
        heads: dict[str, Whitening | Projection] = {}
        if self.levels in ("whitened", "both"):
            heads["whitened"] = Whitening(self.n_components, self.ridge)
        if self.levels in ("plain", "both"):
            heads["plain"] = Projection(self.plain_components)
        return heads

    def fit_transform(self, x: Matrix, every: EverySample | None = None) -> Floats:
        """Learn the steps from a checked view (n, d_a), dense or CSR, and apply them to it.

        Parameters
        ----------
        x : numpy.ndarray or scipy.sparse.csr_matrix of shape (n, d_a)
        every : EverySample, optional
            Where x is a part of a view. Root and floors are learned from the part, the directions
            of at most 2000 columns, or of a sparse view, from all samples.

        Returns
        -------
        numpy.ndarray of shape (n, sum of ``widths_``)
        """
        self.base_ = ViewPipeline(self.root)
        self.base_.title = self.title
        rows = self.base_.fit_transform(x)
        if not scipy.sparse.issparse(rows) and np.count_nonzero(rows) < _SPARSE * rows.size:
            rows = scipy.sparse.csr_matrix(rows)
        if every is not None and every.sparse is not None and rows.shape[1] > _GRAM:
            self._learn(self.base_.transform(every.sparse))
        else:
            self._learn(rows, every)
        levels = {name: _pad(_transform(head, rows)) for name, head in self.heads_.items()}
        self.widths_ = tuple(level.shape[1] for level in levels.values())
        self.n_features_out_ = sum(self.widths_)
        self.rows_ = {name: row_normalizer([x], x.shape[1]) for name, x in levels.items()}
        return np.hstack([self.rows_[name].transform(x) for name, x in levels.items()])

    def _learn(self, x: Matrix, every: EverySample | None = None) -> None:
        """The directions of both levels, from unit rows (n, d)."""
        there, (n, d) = filled(x), x.shape
        if 0 < there.sum() < n:  # rows of zeros say nothing, least of all that they are alike
            x = x[there]
        # One product serves both levels. It halves the digits of small directions, which only a
        # ridge keeps from being blown up.
        most = x.shape[0] if every is None else every.shape[0]
        products = d <= min(most, _GRAM) and self.ridge > 0
        if products and every is not None:
            n, total, gram = every.moments(self.base_.transform)
        else:
            n, total, gram = moments([x], products)
        n = n or x.shape[0]
        mean = total / n
        self.spread_ = max(0.0, float(1 - mean @ mean))
        self.heads_ = self._heads()
        for head in self.heads_.values():
            if not products:
                head.fit(x)
            elif isinstance(head, Whitening):
                head.fit_gram(gram, mean, n)
            else:
                head.fit_gram(gram)

    def transform(self, x: Matrix) -> Floats:
        """Apply the stored steps to checked new samples of shape (n_new, d_a)."""
        rows = self.base_.transform(x)
        return np.hstack(
            [
                self.rows_[name].transform(_pad(_transform(head, rows)))
                for name, head in self.heads_.items()
            ]
        )

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """What `restore` needs: a dict of numbers and a dict of arrays."""
        base, _ = self.base_.state()
        names = ("root", "levels", "n_components", "ridge", "plain_components")
        numbers = {name: getattr(self, name) for name in names}
        numbers |= {"base": base, "spread": self.spread_, "widths": list(self.widths_)}
        numbers["floors"] = {name: rows.floor_ for name, rows in self.rows_.items()}
        arrays = {}
        if "whitened" in self.heads_:
            for name in ("mean_", "components_", "scale_"):
                arrays[f"whitened.{name}"] = getattr(self.heads_["whitened"], name)
        if "plain" in self.heads_ and self.heads_["plain"].components_ is not None:
            arrays["plain.components_"] = self.heads_["plain"].components_
        return numbers, arrays

    @classmethod
    def restore(cls, numbers: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Rebuild a fitted pipeline from its `state`."""
        names = ("root", "levels", "n_components", "ridge", "plain_components")
        pipeline = cls(*(numbers[name] for name in names))
        pipeline.base_ = ViewPipeline.restore(numbers["base"], {})
        pipeline.spread_, pipeline.widths_ = numbers["spread"], tuple(numbers["widths"])
        pipeline.n_features_out_ = sum(pipeline.widths_)
        pipeline.heads_ = pipeline._heads()
        pipeline.rows_ = {
            name: RowNormalizer.with_floor(floor) for name, floor in numbers["floors"].items()
        }
        if "plain" in pipeline.heads_:
            pipeline.heads_["plain"].components_ = None
        for key, value in arrays.items():
            head, name = key.split(".")
            setattr(pipeline.heads_[head], name, value)
        return pipeline


def _transform(head: Whitening | Projection, x: Matrix) -> Array:
    """A level of rows (n, d); a row of zeros stays one."""
    return np.where(filled(x)[:, None], head.transform(x), 0.0)


def _pad(x: Array) -> Array:
    """At least one column: a view in which all samples are equal has no directions."""
    return x if x.shape[1] else np.zeros((len(x), 1))
