"""What every view goes through before the network sees it, learned once and stored.

Chapter 12 of the book says why each step is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse

from dmac._warn import warn
from dmac.data.checks import NARROW
from dmac.data.whitening import LiftedRows, RowNormalizer, Whitening

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Self

    from dmac._types import Array, Blocks, Floats, Matrix
    from dmac.data.disk import StreamedArray

# In units of the geometric mean of the non-zero magnitudes, which few large entries do not move: a
# negative entry that is closer to 0 is a rounding error, and the root of its size at most 0.001.
_NEGLIGIBLE = 1e-6
# With one negative entry in so many, or one alone, a view misses its root by little: that is said.
_FEW = 200


class ViewPipeline:
    r"""One view's way to the network: square root, unit rows, whitened principal directions.

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

    Attributes
    ----------
    n_features_out_ : int
        Width of the result: d_a, one more of a narrow view, or r; at least 1 (a column of zeros if
        all samples are equal).
    """

    #: What messages call the view.
    title = "a view"

    def __init__(
        self, root: bool = False, n_components: int | None = None, ridge: float = 0.0
    ) -> None:
        self.root = root
        self.n_components = n_components
        self.ridge = ridge

    def fit_transform(self, x: Matrix) -> Matrix:
        """Learn the steps from a checked view (n, d_a), dense or CSR, and apply them to it.

        Returns
        -------
        numpy.ndarray of shape (n, ``n_features_out_``), or CSR where a sparse view is not whitened
        and not narrow
        """
        self._decide_on_root(lambda: [x], x.shape)
        x = self._take_root(x)
        self.rows_ = self._fit_rows([x], x.shape[1])
        x = self.rows_.transform(x)
        self.whitening_ = self.whitened_rows_ = None
        if self.n_components is not None:
            self.whitening_ = Whitening(self.n_components, self.ridge)
            x = self.whitening_.fit_transform(x)
            x = self._pad(x)
            self.whitened_rows_ = row_normalizer([x], x.shape[1])
            x = self.whitened_rows_.transform(x)
        self.n_features_out_ = x.shape[1]
        return x

    def fit_streamed(self, array: StreamedArray) -> Floats | None:
        """Learn the steps from a `dmac.data.disk.StreamedArray`, with a block in memory at a time.

        Parameters
        ----------
        array : dmac.data.disk.StreamedArray of shape (n, d_a)

        Returns
        -------
        numpy.ndarray of shape (n, r) or None
            The whitened view, which is small; without ``n_components`` it stays on disk, and
            `transform` gives its blocks.
        """
        self._decide_on_root(array.blocks, array.shape)
        self.rows_ = self._fit_rows((self._take_root(x) for x in array.blocks()), array.shape[1])
        self.whitening_ = self.whitened_rows_ = None
        self.n_features_out_ = array.shape[1] + isinstance(self.rows_, LiftedRows)
        if self.n_components is None:
            return None

        def blocks() -> Iterable[Matrix]:
            return (self.rows_.transform(self._take_root(x)) for x in array.blocks())

        shape = (array.shape[0], self.n_features_out_)
        self.whitening_ = Whitening(self.n_components, self.ridge).fit_blocks(blocks, shape)
        x = self._pad(np.concatenate([self.whitening_.transform(x) for x in blocks()]))
        self.n_features_out_ = x.shape[1]
        self.whitened_rows_ = row_normalizer([x], x.shape[1])
        return self.whitened_rows_.transform(x)

    def transform(self, x: Matrix) -> Matrix:
        """Apply the stored steps to checked new samples of shape (n_new, d_a)."""
        x = self.rows_.transform(self._take_root(x))
        if self.whitening_ is not None and self.whitened_rows_ is not None:
            x = self.whitened_rows_.transform(self._pad(self.whitening_.transform(x)))
        return x

    def _decide_on_root(self, blocks: Blocks, shape: tuple[int, int]) -> None:
        """Set whether the root is taken, and the size up to which a negative entry counts as 0."""
        self.root_, self.negligible_ = self.root, 0.0
        if not self.root:
            return
        logs, n_nonzero, lowest = 0.0, 0, 0.0
        for x in blocks():
            values = _stored(x)
            lowest = min(lowest, values.min(initial=0.0))
            values = np.abs(values[values != 0])
            logs, n_nonzero = logs + np.log(values).sum(), n_nonzero + values.size
        if n_nonzero:
            self.negligible_ = float(_NEGLIGIBLE * np.exp(logs / n_nonzero))
        if lowest >= -self.negligible_:
            return
        self.root_ = False
        size = shape[0] * shape[1]
        n_negative = sum(int((_stored(x) < -self.negligible_).sum()) for x in blocks())
        if n_negative <= max(1, size // _FEW):
            warn(
                f"{n_negative} of the {size} entries of {self.title} are negative, the lowest is "
                f"{lowest:g}: it is taken as signed, without the square root that counts and "
                "intensities get. The root evens out small and large counts, which gains some "
                "points of accuracy there; logarithms, as of expression, are evened out already"
            )

    def _take_root(self, x: Matrix) -> Matrix:
        """The root of the entries; a new sample's negative entries keep their sign."""
        if not self.root_:
            return x
        if scipy.sparse.issparse(x):
            x = x.copy()
            x.data = self._signed_roots(x.data)
            return x
        return self._signed_roots(x)

    def _signed_roots(self, values: Array) -> Array:
        if values.min(initial=0.0) >= 0:
            return np.sqrt(values)
        roots = np.sign(values) * np.sqrt(np.abs(values))
        roots[(values < 0) & (values >= -self.negligible_)] = 0
        return roots

    @staticmethod
    def _fit_rows(blocks: Iterable[Matrix], width: int) -> RowNormalizer | LiftedRows:
        if 1 < width <= NARROW:
            return LiftedRows().fit_blocks(blocks)
        return row_normalizer(blocks, width)

    @staticmethod
    def _pad(x: Array) -> Array:
        return x if x.shape[1] else np.zeros((len(x), 1))

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """What `restore` needs: a dict of numbers and a dict of arrays."""
        numbers = {
            "root": self.root,
            "rooted": self.root_,
            "negligible": self.negligible_,
            "n_components": self.n_components,
            "ridge": self.ridge,
            "width": self.n_features_out_,
        }
        if isinstance(self.rows_, LiftedRows):
            numbers["lifted"] = {key: value.tolist() for key, value in vars(self.rows_).items()}
        else:
            numbers["floor"] = self.rows_.floor_
        arrays = {}
        if self.whitening_ is not None and self.whitened_rows_ is not None:
            numbers["whitened_floor"] = self.whitened_rows_.floor_
            for name in ("mean_", "components_", "scale_"):
                arrays[name] = getattr(self.whitening_, name)
        return numbers, arrays

    @classmethod
    def restore(cls, numbers: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Rebuild a fitted pipeline from its `state`."""
        pipeline = cls(numbers["root"], numbers["n_components"], numbers["ridge"])
        pipeline.root_, pipeline.n_features_out_ = numbers["rooted"], numbers["width"]
        pipeline.negligible_ = numbers.get("negligible", 0.0)  # older saves took no entry for 0
        if "lifted" in numbers:
            pipeline.rows_ = LiftedRows()
            vars(pipeline.rows_).update({k: np.array(v) for k, v in numbers["lifted"].items()})
        else:  # also the narrow views of older saves, whose rows had unit length
            pipeline.rows_ = RowNormalizer.with_floor(numbers["floor"])
        pipeline.whitening_ = pipeline.whitened_rows_ = None
        if arrays:
            pipeline.whitening_ = Whitening(pipeline.n_components, pipeline.ridge)
            for name, value in arrays.items():
                setattr(pipeline.whitening_, name, value)
            pipeline.whitened_rows_ = RowNormalizer()
            pipeline.whitened_rows_.floor_ = numbers["whitened_floor"]
        return pipeline


def _stored(x: Matrix) -> Array:
    """The entries of a block, of a sparse one those that are stored."""
    return x.data if scipy.sparse.issparse(x) else x


def row_normalizer(blocks: Iterable[Matrix], width: int) -> RowNormalizer:
    """Fitted; for one column with the largest magnitude as the floor, by which all are divided."""
    rows = RowNormalizer()
    if width > 1:
        return rows.fit_blocks(blocks)
    rows.floor_ = max(float(abs(x).max()) for x in blocks) or 1.0
    return rows
