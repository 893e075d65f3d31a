"""Views that stay on disk: read and checked a block of samples at a time.

A view given as ``numpy.memmap``, ``h5py.Dataset`` or ``zarr.Array`` is never in memory as a whole.

Chapter 17 of the book says what that costs.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np

from dmac._types import Array, Flags, Floats, Integers, Matrix
from dmac.data.linalg import on_entries, stored

#: What is said where no sample may lack a view.
ROWS_ARE_FOR = (
    "only dmac.AnchorGraphClustering takes samples that lack a view; all else would count "
    "what stands there"
)
#: What to do about features that a fit had, and new samples have not.
WIDTH = (
    "fit again without the features that were not measured, or fill each with its mean in the fit"
)
#: What tells a row of zeros that was measured from one that is missing, in units of the largest
#: entry: below every floor, and more than the smallest number of 32 bits after a square root.
MEASURED = 1e-36
# How a system is told so, where it can be.
_FORGET = getattr(mmap, "MADV_DONTNEED", None)
# Numbers in one block of a view on disk.
_NUMBERS = 2**22


def block_rows(n_features: int) -> int:
    """How many samples of so many features a block holds."""
    return max(1, _NUMBERS // n_features)


def is_streamed(x: object) -> bool:
    """Whether a view is an array on disk: a memory map, an HDF5 data set or a Zarr array."""
    if isinstance(x, np.memmap):
        return True
    return type(x).__module__.split(".")[0] in ("h5py", "zarr") and hasattr(type(x), "shape")


def is_dask(x: object) -> bool:
    """Whether a view is a Dask array, which is told without Dask."""
    return type(x).__module__.startswith("dask.array")


def check_kind(x: Any, where: str, kinds: str = "biuf") -> None:
    """Refuse what is no matrix of real numbers with samples and features, by its type and shape."""
    if np.dtype(x.dtype).kind not in kinds:
        raise ValueError(
            f"{where} holds {x.dtype} values, not real numbers: pass codes of words, magnitudes of "
            "complex numbers, pandas.DataFrame(x) of records"
        )
    if len(x.shape) != 2:
        raise ValueError(
            f"{where} has {len(x.shape)} dimension(s), shape {tuple(x.shape)}; a view has two: "
            "samples, features. A nested list is a list of views: pass [x] for one view"
        )
    if 0 in x.shape:
        what = "samples" if x.shape[0] == 0 else "features"
        raise ValueError(f"{where} has no {what}: its shape is {tuple(x.shape)}")


def check_finite(x: Matrix, where: str, rows: Integers | None = None) -> None:
    """Refuse NaN and infinity, and say where the first is and what to do.

    ``rows`` has the numbers of the rows of a block.
    """
    if np.isfinite(stored(x)).all():
        return
    bad = on_entries(lambda entries: ~np.isfinite(entries), x)
    places = np.transpose(bad.nonzero())
    row, column = places[0]
    raise ValueError(
        f"{where} has NaN or infinite (or missing) entries, {len(places)} "
        f"{'of them' if rows is None else 'in one block'}, the first ({x[row, column]}) at row "
        f"{row if rows is None else rows[row]}, column {column} (views are counted from 1, rows "
        "and columns from 0); fill them in, or drop the sample or the feature; if a sample lacks "
        "the view, the whole row is NaN, and only dmac.AnchorGraphClustering takes it"
    )


def with_measured(x: Array, measured: Flags) -> Array:
    """Rows (n, d) of which those of zeros that were measured (n,) are no zeros to the last bit."""
    zero = measured & ~x.any(1)
    if zero.any():
        x = x.astype(np.float64)
        x[zero, 0] = MEASURED * (np.abs(x).max() or 1.0)
    return x


def checked_rows(
    x: Floats,
    where: str,
    numbers: Integers,
    incomplete: bool,
    missing: Flags | None = None,
    measured: Flags | None = None,
) -> Floats:
    """Rows (b, d) of a view that were read, checked, with zeros where a sample lacks it.

    ``numbers`` (b,) are theirs in the view, ``missing`` (n,) marks further rows that are lacking,
    ``measured`` (n,) rows whose zeros are values.
    """
    if incomplete:
        lacking = np.asarray(np.isnan(x).all(1))
        if missing is not None:
            lacking |= missing[numbers]
        x = np.where(lacking[:, None], 0.0, x) if lacking.any() else x
        if measured is not None:
            x = with_measured(x, measured[numbers] & ~lacking)
    check_finite(x, where, numbers)
    return x


class StreamedArray:
    """A memory map, HDF5 data set or Zarr array (n, d), read in blocks of rows as float64.

    It is a ``ValueError`` if it is not a two-dimensional array of real numbers with samples and
    features; when read, if an entry is NaN or infinite. ``where`` is what it is called then. With
    ``incomplete`` a row of NaN is read as zeros, and so are the rows of a mask ``missing`` (n,),
    whatever is there; of a mask ``measured`` (n,) rows of zeros are values (`with_measured`).
    """

    def __init__(
        self,
        source: Any,
        where: str = "view",
        incomplete: bool = False,
        missing: Flags | None = None,
        measured: Flags | None = None,
    ) -> None:
        if not getattr(getattr(source, "id", None), "valid", True):
            raise ValueError(f"{where} is in an HDF5 file that was closed: open it again")
        check_kind(source, where)
        self.source, self.where, self.shape = source, where, tuple(source.shape)
        self.incomplete, self.missing, self.measured = incomplete, missing, measured

    def slices(self) -> list[slice]:
        """Slices of rows, a block each."""
        from sklearn.utils import gen_batches

        return list(gen_batches(self.shape[0], block_rows(self.shape[1])))

    def rows(self, numbers: Integers) -> Floats:
        """Some rows, in the order of their numbers (b,), in one walk along the disk: (b, d)."""
        out, order = np.empty((len(numbers), self.shape[1])), np.argsort(numbers)
        ends = [rows.stop for rows in self.slices()]
        places = np.split(order, np.searchsorted(numbers[order], ends[:-1]))
        for rows, place in zip(self.slices(), places):
            if len(place):
                out[place] = self.read(rows, numbers[place] - rows.start)
        return out

    def read(self, rows: slice, among: Integers | None = None) -> Floats:
        """The rows of a slice, or those among them: (b, d), float64."""
        x, among = self.source[rows], slice(None) if among is None else among
        x = np.asarray(x[among], dtype=np.float64)
        if isinstance(self.source, np.memmap) and self.source.mode == "r" and _FORGET is not None:
            self.source._mmap.madvise(_FORGET)  # type: ignore[attr-defined] # what was read need not stay in this process
        numbers = np.arange(rows.start, rows.stop)[among]
        flags = self.missing, self.measured
        return checked_rows(x, self.where, numbers, self.incomplete, *flags)

    def blocks(self) -> Iterator[Floats]:
        """All blocks in order."""
        return map(self.read, self.slices())
