"""A checked view as solvers read it: some rows, a slice of them, or block by block.

Each kind of view is a class: arrays and sparse matrices in memory, arrays on disk, and Dask arrays,
for which Dask is imported. :func:`dmac.data.checks.as_views` makes them of what users pass.

What tells one data set from another, a hash of the numbers in its views, is here, too: by it a
checkpoint and a stored run are found again.

A view given as ``numpy.memmap``, ``h5py.Dataset`` or ``zarr.Array`` is never in memory as a whole.
"The costs of a fit" in the book says what that costs.
"""

from __future__ import annotations

import hashlib
import itertools
import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse

from dmac._types import Array, Flags, Floats, Integers, Matrix
from dmac.data.linalg import on_entries, stored
from dmac.data.named_views import NamedView

#: Marks a measured row of zeros, relative to the largest entry: below every floor, yet still
#: positive in float32 after a square root.
MEASURED = 1e-36
# Numbers in one block of a view.
_NUMBERS = 2**22
# So many partial sums of Dask arrays are added in one task.
_ADDED = 8
# The flag of madvise that frees pages after reading, where the platform has it.
_FORGET = getattr(mmap, "MADV_DONTNEED", None)


def block_rows(n_features: int) -> int:
    """How many samples of so many features a block holds."""
    return max(1, _NUMBERS // n_features)


def filled(x: Matrix) -> Flags:
    """Which rows of an array or a CSR matrix have an entry that is not 0: (n, d) -> (n,), bool."""
    return np.asarray(abs(x).sum(1)).ravel() > 0 if scipy.sparse.issparse(x) else x.any(1)


@dataclass(frozen=True, eq=False)
class View(NamedView):
    """A checked view (n, d), of which rows are read when they are needed; its names stay with it.

    Attributes
    ----------
    incomplete : bool
        Whether a row of NaN that is read is a sample that lacks the view, and becomes zeros.
    zeros : boolean array of shape (n,), or None
        Rows whose zeros are values, of a view that is not in memory.
    in_memory : bool
        Whether all rows were checked; else each is when it is read.
    """

    incomplete: bool = False
    zeros: Flags | None = None
    in_memory: ClassVar[bool] = False
    read: ClassVar[Callable[..., Matrix]]  # the rows of a slice: (b, d)
    rows: ClassVar[Callable[..., Matrix]]  # some, in the order of their numbers (b,): (b, d)
    # A copy in which missing rows (n,) are zero and measured rows of zeros are marked.
    with_rows: ClassVar[Callable[..., View]]

    @classmethod
    def of(cls, x: NamedView, **changes: Any) -> Self:
        """A named view as one of this kind."""
        return cls(**vars(x) | changes)

    @property
    def shape(self) -> tuple[int, int]:
        """n and d."""
        n, d = self.values.shape
        return n, d

    @property
    def sparse(self) -> bool:
        """Whether rows are CSR matrices; else they are arrays, float64."""
        return scipy.sparse.issparse(self.values)

    def some(self, numbers: Integers) -> View:
        """Some rows, as a view in memory."""
        return ArrayView.of(self, values=self.rows(numbers))

    def slices(self) -> list[slice]:
        """Slices of rows, a block each."""
        n, size = self.shape[0], self.shape[0] if self.sparse else block_rows(self.shape[1])
        return [slice(start, min(start + size, n)) for start in range(0, n, size)]

    def __iter__(self) -> Iterator[Matrix]:
        """All blocks in order."""
        return map(self.read, self.slices())

    def filled(self) -> Flags:
        """Which rows have an entry that is not 0: (n,)."""
        return np.concatenate([filled(x) for x in self])


class ArrayView(View):
    """An array or a CSR matrix in memory. Other numbers than float64 become that when read."""

    in_memory = True

    def read(self, rows: slice | Integers) -> Matrix:
        """The rows of a slice, or some in the order of their numbers (b,): (b, d)."""
        return self.values[rows].astype(np.float64, copy=False)

    rows = read

    def with_rows(self, missing: Flags, measured: Flags) -> Self:
        """A copy with zeros in missing rows (n,), and measured rows of zeros told from them."""
        x = self.values
        if not (missing.any() or measured.any()):
            return self
        if self.sparse:
            x = x.copy()
            x.data[np.repeat(missing, np.diff(x.indptr))] = 0
            x.eliminate_zeros()
            rows = np.flatnonzero(measured & ~filled(x))
            tiny = np.full(len(rows), MEASURED * (abs(x).max() or 1.0))
            x = x + scipy.sparse.csr_matrix((tiny, (rows, 0 * rows)), x.shape)
        else:
            x = np.where(missing[:, None], 0.0, x) if missing.any() else x
            x = with_measured(x, measured)
        return replace(self, values=x)


def with_measured(x: Array, measured: Flags) -> Array:
    """Rows (n, d) of which those of zeros that were measured (n,) are no zeros to the last bit."""
    zero = measured & ~x.any(1)
    if zero.any():
        x = x.astype(np.float64)
        x[zero, 0] = MEASURED * (np.abs(x).max() or 1.0)
    return x


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


class DiskView(View):
    """A memory map, HDF5 data set or Zarr array (n, d), read in blocks of rows as float64.

    When it is read, it is a ``ValueError`` if an entry is NaN or infinite. Rows that are
    ``lacking`` are read as zeros, whatever is there.
    """

    def read(self, rows: slice, among: Integers | None = None) -> Floats:
        """The rows of a slice, or those among them: (b, d), float64."""
        x, among = self.values[rows], slice(None) if among is None else among
        x = np.asarray(x[among], dtype=np.float64)
        if isinstance(self.values, np.memmap) and self.values.mode == "r" and _FORGET is not None:
            self.values._mmap.madvise(_FORGET)  # type: ignore[attr-defined] # what was read need not stay in this process
        numbers = np.arange(rows.start, rows.stop)[among]
        return checked_rows(x, self.where, numbers, self.incomplete, self.lacking, self.zeros)

    def rows(self, numbers: Integers) -> Floats:
        """Some rows, in the order of their numbers (b,), in one walk along the disk: (b, d)."""
        out, order = np.empty((len(numbers), self.shape[1])), np.argsort(numbers)
        ends = [rows.stop for rows in self.slices()]
        places = np.split(order, np.searchsorted(numbers[order], ends[:-1]))
        for rows, place in zip(self.slices(), places):
            if len(place):
                out[place] = self.read(rows, numbers[place] - rows.start)
        return out

    def with_rows(self, missing: Flags, measured: Flags) -> Self:
        """The view, with what is to be known of rows (n,) when they are read."""
        return replace(self, lacking=missing, zeros=measured)


class DaskView(View):
    """A Dask array (n, d) whose chunks are blocks of rows with all columns.

    A row of NaN is a row of zeros.
    """

    @property
    def starts(self) -> Integers:
        """The number of the first row of each block, and n."""
        return np.cumsum((0, *self.values.chunks[0]))

    def read(self, rows: slice) -> Floats:
        """The rows of a slice, in one computation: (b, d)."""
        return checked_block(self.values[rows], self.where, rows.start)

    def rows(self, numbers: Integers) -> Floats:
        """Some rows, in the order of their numbers (b,), in one computation: (b, d)."""
        order = np.argsort(numbers)
        found = np.asarray(self.values[numbers[order]], dtype=np.float64)
        found = checked_rows(found, self.where, numbers[order], incomplete=True)
        return found[np.argsort(order)]

    def summed(self, function: Callable[[Floats], tuple[Any, ...]]) -> list[Any]:
        """Sums over all blocks of the arrays that a function of one returns, in tasks."""
        from dask.delayed import delayed

        function = delayed(function, traverse=False)
        of_block, added = delayed(_of_block), delayed(_added)
        parts = [
            of_block(function, self.where, start, block)
            for start, block in zip(self.starts, self.values.to_delayed().ravel())
        ]
        while len(parts) > 1:
            parts = [added(parts[i : i + _ADDED]) for i in range(0, len(parts), _ADDED)]
        return list(parts[0].compute())


def _of_block(function: Callable[[Floats], Any], where: str, start: int, block: Array) -> Any:
    return function(checked_block(block, where, start))


def _added(parts: Iterable[Sequence[Any]]) -> list[Any]:
    return [sum(values) for values in zip(*parts)]


def checked_block(block: Array, where: str, start: int) -> Floats:
    """A block (b, d) whose first row has that number, as a task gets it: as float64."""
    numbers = np.arange(start, start + len(block))
    return checked_rows(np.asarray(block, dtype=np.float64), where, numbers, incomplete=True)


def digest(matrices: Iterable[Matrix | View]) -> str:
    """SHA-256 (64 hexadecimal digits) of arrays, CSR matrices and checked views.

    Equal numbers give an equal hash, whatever their width and order in memory, on disk or not.
    Integers differ from floats, and sparse matrices from dense ones.
    """
    total = hashlib.sha256()
    for x in matrices:
        sparse = scipy.sparse.issparse(x.values if isinstance(x, View) else x)
        total.update(f"{x.shape} {3 if sparse else 1}".encode())
        for part in itertools.chain(*map(_parts, x if isinstance(x, View) else [x])):
            kind = "<f8" if part.dtype.kind == "f" else "<i8"
            total.update(np.ascontiguousarray(part, dtype=kind).data)
    return total.hexdigest()


def _parts(x: Matrix) -> Sequence[Array]:
    """The arrays that say what a matrix is: three of a sparse one."""
    if scipy.sparse.issparse(x):
        x = x.tocsr().sorted_indices()
        return x.data, x.indices.astype("<i8"), x.indptr.astype("<i8")
    return (np.asarray(x),)
