"""Two levels of every view for the spectral recipe: its whitened directions and its plain ones.

Chapter 12 of the book says why both are there: each errs where the other does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse

from dmac._types import Array, Floats, Matrix
from dmac.data.linalg import GRAM, as_dense, leading_by_products, leading_of_gram, signed
from dmac.data.pipeline import ViewPipeline
from dmac.data.source import filled
from dmac.data.whitening import Whitening

# What `moments` gives: a number, (d,) and (d, d).
Moments: TypeAlias = tuple[Any, Array, Array]

# Arrays with a smaller share of entries that are not 0 are stored as sparse matrices on the way.
_SPARSE = 0.1


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
    """Rows that are not zero, the sum of the rows, and X^T X, in one pass."""
    n, total, gram = 0, np.zeros(()), np.zeros(())
    for x in blocks:
        n += int(filled(x).sum())
        total = total + np.asarray(x.sum(0)).ravel()
        gram = gram + as_dense(x.T @ x)
    return n, total, gram


class LevelPipeline(ViewPipeline):
    r"""One view's way into the spectral recipe: square root, unit rows, then one level or two.

    The first two steps are those of :class:`dmac.data.pipeline.ViewPipeline`. The whitened level is
    its third step; the plain level is a `Projection` instead. Rows of both are scaled to unit
    length, and the levels stand side by side in the result. A row of zeros, which is a sample that
    lacks the view, teaches nothing and stays one. Where ``keeps_lengths`` is set, lengths are what
    the columns share, and the whitened level is one direction.

    Parameters
    ----------
    root : bool
    levels : {"whitened", "plain", "both"}
    n_components : int
        r of the whitened level.
    ridge : float
    plain_components : int
        r of the plain level.
    columns : str

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

    def __init__(
        self,
        root: bool,
        levels: str,
        n_components: int | None,
        ridge: float,
        plain_components: int,
        columns: str = "given",
    ) -> None:
        super().__init__(root, n_components, ridge, columns)
        self.levels, self.plain_components = levels, plain_components

    def _heads(self) -> dict[str, Any]:
        heads = {
            "whitened": Whitening(1 if self.keeps_lengths else self.n_components, self.ridge),
            "plain": Projection(self.plain_components),
        }
        return {name: head for name, head in heads.items() if self.levels in (name, "both")}

    def fit_transform(
        self,
        x: Matrix,
        every: Matrix | None = None,
        moments_of: Callable[[Callable[[Matrix], Matrix]], Moments] | None = None,
    ) -> Floats:
        """Learn the steps from a checked view (n, d_a), dense or CSR, and apply them to it.

        Parameters
        ----------
        x : numpy.ndarray or scipy.sparse.csr_matrix of shape (n, d_a)
            A view, or a part of one, from which root and floors are learned.
        every : scipy.sparse.csr_matrix, optional
            All samples, where x is a part: the directions are learned from them.
        moments_of : callable, optional
            Where x is a part, and there is a ridge, the directions are learned from this: the
            `moments` of all samples, after a function of their rows.

        Returns
        -------
        numpy.ndarray of shape (n, sum of ``widths_``)
        """
        (rows,) = self._fit_rows([x], x.shape)
        if not scipy.sparse.issparse(rows) and np.count_nonzero(rows) < _SPARSE * rows.size:
            rows = scipy.sparse.csr_matrix(rows)
        self._learn(rows if every is None else self._unit_rows(every), moments_of)
        return self._fit_lengths([rows])

    def _learn(self, x: Matrix, moments_of: Callable[..., Moments] | None) -> None:
        """The directions of both levels, from unit rows (n, d)."""
        nonzero = filled(x)
        if nonzero.any() and not nonzero.all():
            x = x[nonzero]  # rows of zeros say nothing, least of all that they are alike
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

    def _level(self, head: Any, x: Matrix) -> Array:
        return np.where(filled(x)[:, None], super()._level(head, x), 0.0)

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """What `restore` needs: a dict of numbers and a dict of arrays."""
        numbers, arrays = super().state()
        return numbers | {"spread": self.spread_}, arrays

    def restore(self, numbers: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Take over a `state` of a pipeline with the same parameters. Returns self."""
        self.spread_ = numbers["spread"]
        return super().restore(numbers, arrays)
