"""The preparation of a view, learned once and stored: root, unit rows, whitened directions.

Chapter 12 of the book says why each step is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn.preprocessing import StandardScaler

from dmac._types import Array, Floats, Matrix
from dmac._warn import warn
from dmac.data.checks import NARROW, ArrayView
from dmac.data.linalg import as_dense, on_entries, stored
from dmac.data.whitening import LiftedRows, RowNormalizer, Whitening

# In units of the geometric mean of the non-zero magnitudes, which few large entries do not move: a
# negative entry that is closer to 0 is a rounding error, and the root of its size at most 0.001.
_NEGLIGIBLE = 1e-6
# If at most one entry in so many (or a single one) is negative, the view narrowly misses the square
# root: a warning says so.
_NARROW_MISS = 200


class ViewPipeline:
    r"""One view's way to the network: square root, unit rows, whitened principal directions.

    0. With ``columns="standardised"``, the means of the columns are subtracted, and they are
       divided by their standard deviations (a sparse view's columns are only divided). Both are
       computed over the samples that have the view.
    1. With ``root``, a view without negative entries (counts, histograms, intensities, magnitudes)
       is replaced by its entrywise square root, which evens out the variance of counts and turns
       Euclidean into Hellinger distance between histograms. A view with negative entries stays, and
       a ``UserWarning`` says so where one entry alone or at most one in 200 is negative. Entries
       below 0 by at most a millionth of the typical magnitude (the geometric mean of those that
       are not 0) are rounding errors and count as 0.
    2. Rows to unit length (:class:`dmac.data.whitening.RowNormalizer`). In a view of 2 to 5 columns
       that would leave one to four angles: its columns are standardised, and a column of ones goes
       beside them first (:class:`dmac.data.whitening.LiftedRows`). Of one column nothing but signs
       would be left: its entries are divided by the largest magnitude, which a ``UserWarning``
       says.
    3. With ``n_components``, the r leading principal directions, divided by
       :math:`\sqrt{\sigma_j^2 + \rho \bar{\sigma^2}}` (:eq:`eq:whitening` with a ridge,
       :class:`dmac.data.whitening.Whitening`), then rows to unit length again, or for r = 1
       entries divided by the largest magnitude.

    Parameters
    ----------
    root : bool
    n_components : int or None
        r; None stops after step 2.
    ridge : float
        :math:`\rho`.
    columns : {"given", "standardised"}

    Attributes
    ----------
    widths_ : tuple of int
        Columns of the result: d_a, one more of a narrow view, or r; at least 1 (a column of zeros
        if all samples are equal).
    n_features_out_ : int
        Their sum.
    """

    rows_: RowNormalizer | LiftedRows
    scaler_: Any
    lengths_: dict[str, RowNormalizer]

    def __init__(
        self,
        root: bool = False,
        n_components: int | None = None,
        ridge: float = 0.0,
        columns: str = "given",
    ) -> None:
        self.root, self.columns = root, columns
        self.n_components = n_components
        self.ridge = ridge

    def _heads(self) -> dict[str, Any]:
        """The projections of unit rows by level, not fitted."""
        if self.n_components is None:
            return {}
        return {"whitened": Whitening(self.n_components, self.ridge)}

    def fit_transform(self, x: Matrix, label: str = "a view") -> Matrix:
        """Learn the steps from a checked view (n, d_a), and apply them to it.

        Parameters
        ----------
        x : numpy.ndarray or scipy.sparse.csr_matrix
        label : str
            What messages call the view.

        Returns
        -------
        numpy.ndarray or scipy.sparse.csr_matrix of shape (n, ``n_features_out_``)
            CSR where a sparse view is not whitened and not narrow.
        """
        return self.fit_blocks([x], x.shape, label)

    def fit_blocks(
        self, blocks: Iterable[Matrix], shape: tuple[int, int], label: str = "a view"
    ) -> Matrix | None:
        """`fit_transform` of a view of that shape, in blocks of rows that are read several times.

        What is not whitened stays where it is, and `transform` gives its blocks: that is None.
        """
        rows, self.heads_ = self._fit_rows(blocks, shape, label), self._heads()
        if not self.heads_:
            self.lengths_, self.widths_ = {}, (shape[1] + isinstance(self.rows_, LiftedRows),)
            return rows[0] if isinstance(rows, list) else None
        for head in self.heads_.values():
            head.fit_blocks(rows)
        return self._fit_lengths(rows)

    def _fit_rows(
        self, blocks: Iterable[Matrix], shape: tuple[int, int], label: str
    ) -> Iterable[Matrix]:
        """Learn the root and the lengths of rows: the unit rows of a view, in blocks."""
        if self.columns != "given":
            self._learn_columns(blocks)
            blocks = _after(blocks, self._in_units)
        self._decide_on_root(blocks, shape, label)
        rooted, width = _after(blocks, self._take_root), shape[1]
        if 1 < width <= NARROW:
            self.rows_ = LiftedRows().fit_blocks(rooted)
        else:
            self.rows_ = row_normalizer(rooted, width)
        return _after(rooted, self.rows_.transform)

    def _unit_rows(self, x: Matrix) -> Matrix:
        return self.rows_.transform(self._take_root(self._in_units(x)))

    def _learn_columns(self, blocks: Iterable[Matrix]) -> None:
        """The means and standard deviations of columns."""
        dense = not any(scipy.sparse.issparse(x) for x in blocks)
        self.scaler_ = StandardScaler(with_mean=dense)
        for x in blocks:
            self.scaler_.partial_fit(x)

    def _in_units(self, x: Matrix) -> Matrix:
        """A view whose columns are standardised, if they are."""
        if self.columns == "given":
            return x
        return self.scaler_.transform(as_dense(x) if self.scaler_.with_mean else x)

    def _fit_lengths(self, rows: Iterable[Matrix]) -> Floats:
        """Project unit rows, in blocks, by every head; scale to unit rows again; side by side."""
        self.lengths_, levels = {}, []
        for name, head in self.heads_.items():
            level = np.concatenate([self._level(head, x) for x in rows])
            self.lengths_[name] = row_normalizer([level], level.shape[1])
            levels.append(self.lengths_[name].transform(level))
        self.widths_ = tuple(level.shape[1] for level in levels)
        return np.hstack(levels)

    def _level(self, head: Any, x: Matrix) -> Array:
        """A head on unit rows: at least one column, though equal samples have no directions."""
        level = head.transform(x)
        return level if level.shape[1] else np.zeros((len(level), 1))

    def transform(self, x: Matrix) -> Matrix:
        """Apply the stored steps to checked new samples of shape (n_new, d_a)."""
        x = self._unit_rows(x)
        if not self.heads_:
            return x
        levels = ((name, self._level(head, x)) for name, head in self.heads_.items())
        return np.hstack([self.lengths_[name].transform(level) for name, level in levels])

    def of_part(self, part: ArrayView) -> Matrix:
        """`transform` of a part of a view; rows of zeros are values."""
        return self.transform(part.values)

    @property
    def n_features_out_(self) -> int:
        """Width of the result."""
        return sum(self.widths_)

    def _decide_on_root(self, blocks: Iterable[Matrix], shape: tuple[int, int], label: str) -> None:
        """Set whether the root is taken, and the size up to which a negative entry counts as 0."""
        self.root_, self.negligible_ = self.root, 0.0
        if not self.root:
            return
        logs, n_nonzero, lowest = 0.0, 0, 0.0
        for x in blocks:
            values = stored(x)
            lowest = min(lowest, values.min(initial=0.0))
            values = np.abs(values[values != 0])
            logs, n_nonzero = logs + np.log(values).sum(), n_nonzero + values.size
        if n_nonzero:
            self.negligible_ = float(_NEGLIGIBLE * np.exp(logs / n_nonzero))
        if lowest >= -self.negligible_:
            return
        self.root_ = False
        size = shape[0] * shape[1]
        n_negative = sum(int((stored(x) < -self.negligible_).sum()) for x in blocks)
        if n_negative <= max(1, size // _NARROW_MISS):
            warn(
                f"{n_negative} of the {size} entries of {label} are negative, the lowest is "
                f"{lowest:g}: it is taken as signed, without the square root that counts and "
                "intensities get. The root evens out small and large counts, which gains some "
                "points of accuracy there; logarithms, as of expression, are evened out already"
            )

    def _take_root(self, x: Matrix) -> Matrix:
        """The root of the entries; a new sample's negative entries keep their sign."""
        return on_entries(self._signed_roots, x) if self.root_ else x

    def _signed_roots(self, values: Array) -> Array:
        if values.min(initial=0.0) >= 0:
            return np.sqrt(values)
        roots = np.sign(values) * np.sqrt(np.abs(values))
        roots[(values < 0) & (values >= -self.negligible_)] = 0
        return roots

    def state(self) -> dict[str, Any]:
        """The fitted attributes: a tree whose leaves are arrays and numbers."""
        return {name: x for name, x in vars(self).items() if name.endswith("_")}

    def restore(self, tree: dict[str, Any]) -> Self:
        """Take over the `state` of a pipeline with the same parameters. Returns self."""
        rows: Any = LiftedRows if "mean_" in tree["rows_"] else RowNormalizer
        lengths = tree.get("lengths_", {})
        made: dict[str, Any] = {
            "widths_": tuple(np.asarray(tree["widths_"]).tolist()),
            "rows_": fitted(rows(), tree["rows_"]),
            "lengths_": {name: fitted(RowNormalizer(), x) for name, x in lengths.items()},
            "heads_": {name: fitted(x, tree["heads_"][name]) for name, x in self._heads().items()},
        }
        if "scaler_" in tree:
            made["scaler_"] = fitted(StandardScaler(), tree["scaler_"])
        return fitted(self, tree | made)


def fitted(of: Any, attributes: dict[str, Any]) -> Any:
    """An object with the attributes that its fit left."""
    vars(of).update(attributes)
    return of


class _Lazy:
    """Blocks to which a function is applied anew in every pass."""

    def __init__(self, blocks: Iterable[Any], function: Callable[[Any], Matrix]) -> None:
        self._blocks, self._function = blocks, function

    def __iter__(self) -> Iterator[Matrix]:
        return map(self._function, self._blocks)


def _after(blocks: Iterable[Matrix], function: Callable[[Matrix], Matrix]) -> Iterable[Matrix]:
    """Apply a function to blocks: at once if they are in memory, else in every pass."""
    made = _Lazy(blocks, function)
    return list(made) if isinstance(blocks, list) else made


def row_normalizer(blocks: Iterable[Matrix], width: int) -> RowNormalizer:
    """Fitted; for one column with the largest magnitude as the floor, by which all are divided."""
    if width > 1:
        return RowNormalizer().fit_blocks(blocks)
    return RowNormalizer(max(float(abs(x).max()) for x in blocks) or 1.0)
