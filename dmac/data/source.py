"""A checked view as solvers read it: some rows, a slice of them, or block by block.

Each kind of view is a class: arrays and sparse matrices in memory, arrays on disk, and Dask arrays,
for which Dask is imported. :func:`dmac.data.checks.as_views` makes them of what users pass.

What tells one data set from another, a hash of the numbers in its views, is here, too: by it a
checkpoint and a stored run are found again.

A view given as ``numpy.memmap``, ``h5py.Dataset`` or ``zarr.Array`` is never in memory as a whole.
"The costs of a fit" in the book says what that costs.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse

from dmac._types import Array, Flags, Floats, Integers, Matrix
from dmac.data.linalg import on_entries, stored
from dmac.data.named_views import NamedView

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


def spread(rows: Matrix, present: Flags) -> Matrix:
    """Rows of the samples that have a view, and rows of zeros for those that lack it: (n, r)."""
    if present.all():
        return rows
    if scipy.sparse.issparse(rows):
        sizes = np.zeros(len(present) + 1, rows.indptr.dtype)
        sizes[1:][present] = np.diff(rows.indptr)
        shape = len(present), rows.shape[1]
        return scipy.sparse.csr_matrix((rows.data, rows.indices, sizes.cumsum()), shape)
    out = np.zeros((len(present), rows.shape[1]), rows.dtype)
    out[present] = rows
    return out


@dataclass(frozen=True, eq=False)
class View(NamedView):
    """A checked view (n, d), of which rows are read when they are needed; its names stay with it.

    ``present`` is final in memory. Elsewhere rows are checked as they are read, and may turn out to
    be missing.

    Attributes
    ----------
    incomplete : bool
        Whether a row of NaN that is read is a sample that lacks the view.
    in_memory : bool
        Whether all rows were checked; else each is when it is read.
    """

    incomplete: bool = False
    in_memory: ClassVar[bool] = False
    part: ClassVar[Callable[..., ArrayView]]  # a slice, or some in the order of their numbers (b,)

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

    def read(self, rows: slice | Integers) -> Matrix:
        """The rows of a ``part``, with zeros for samples that lack the view: (b, d)."""
        return self.part(rows).values

    def slices(self) -> list[slice]:
        """Slices of rows, a block each."""
        n, size = self.shape[0], self.shape[0] if self.sparse else block_rows(self.shape[1])
        return [slice(start, min(start + size, n)) for start in range(0, n, size)]

    def __iter__(self) -> Iterator[Matrix]:
        """All blocks in order."""
        return map(self.read, self.slices())

    def presence(self) -> Flags:
        """Which samples have the view: (n,)."""
        return np.concatenate([self.part(rows).present for rows in self.slices()])


class ArrayView(View):
    """An array or a CSR matrix in memory. Other numbers than float64 become that when read."""

    in_memory = True
    present: Flags

    @property
    def there(self) -> Matrix:
        """The rows of the samples that have the view: (b, d)."""
        return self.values if self.present.all() else self.values[self.present]

    def part(self, rows: slice | Integers) -> ArrayView:
        """Some rows."""
        x = self.values[rows].astype(np.float64, copy=False)
        return ArrayView.of(self, values=x, present=self.present[rows])

    def presence(self) -> Flags:
        """Which samples have the view: (n,)."""
        return self.present


def checked_view(
    view: NamedView, x: Matrix, there: Flags, rows: Integers | None = None
) -> ArrayView:
    """Rows (b, d) of a view, checked, of the samples that are ``there`` (b,): others become zeros.

    This is where a row of zeros becomes a sample that lacks the view, unless zeros were measured.
    ``rows`` has the numbers of the rows of a block.
    """
    if not there.all():
        x = spread(x[there], there)
    check_finite(x, view.where, rows)
    present = there if view.measured else there & filled(x)
    return ArrayView.of(view, values=x, present=present)


def not_nan(x: Matrix) -> Flags:
    """Which rows (n, d) are not all NaN, as those of samples that lack a view are: (n,)."""
    return np.asarray((x != x).sum(1)).ravel() < x.shape[1]


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


def _checked_block(view: View, x: Array, rows: Integers) -> ArrayView:
    """Rows (b, d) with these numbers, as they were read, as float64."""
    x = np.asarray(x, dtype=np.float64)
    there = np.ones(len(x), bool) if view.present is None else view.present[rows]
    return checked_view(view, x, there & not_nan(x) if view.incomplete else there, rows)


class DiskView(View):
    """A memory map, HDF5 data set or Zarr array (n, d), read in blocks of rows as float64.

    When it is read, it is a ``ValueError`` if an entry is NaN or infinite.
    """

    def _read(self, rows: slice, among: Any = slice(None)) -> ArrayView:
        """The rows of a slice, or those among them."""
        x = np.asarray(self.values[rows][among], dtype=np.float64)
        if isinstance(self.values, np.memmap) and self.values.mode == "r" and _FORGET is not None:
            self.values._mmap.madvise(_FORGET)  # type: ignore[attr-defined] # what was read need not stay in this process
        return _checked_block(self, x, np.arange(rows.start, rows.stop)[among])

    def part(self, rows: slice | Integers) -> ArrayView:
        """Some rows, in one walk along the disk."""
        if isinstance(rows, slice):
            return self._read(rows)
        out, order = np.empty((len(rows), self.shape[1])), np.argsort(rows)
        present = np.empty(len(rows), bool)
        ends = [block.stop for block in self.slices()]
        places = np.split(order, np.searchsorted(rows[order], ends[:-1]))
        for block, place in zip(self.slices(), places):
            if len(place):
                found = self._read(block, rows[place] - block.start)
                out[place], present[place] = found.values, found.present
        return ArrayView.of(self, values=out, present=present)


class DaskView(View):
    """A Dask array (n, d) whose chunks are blocks of rows with all columns."""

    @property
    def starts(self) -> Integers:
        """The number of the first row of each block, and n."""
        return np.cumsum((0, *self.values.chunks[0]))

    def part(self, rows: slice | Integers) -> ArrayView:
        """Some rows, in one computation."""
        if isinstance(rows, slice):
            return self.block(self.values[rows], rows.start)
        order = np.argsort(rows)
        found = _checked_block(self, self.values[rows[order]], rows[order])
        return found.part(np.argsort(order))

    def without_rows(self) -> Self:
        """What a task holds of it, beside a block."""
        return self.of(self, values=None)

    def block(self, block: Array, start: int) -> ArrayView:
        """A block (b, d) whose first row has that number, as a task gets it."""
        return _checked_block(self, block, np.arange(start, start + len(block)))

    def summed(self, function: Callable[[Floats], tuple[Any, ...]]) -> list[Any]:
        """Sums over all blocks of the arrays that a function of rows that are there returns."""
        from dask.delayed import delayed

        blocks = zip(self.starts, self.values.to_delayed().ravel())
        of_block = functools.partial(_of_block, function, self.without_rows())
        of_block, added = delayed(of_block, traverse=False), delayed(_added)
        parts = [of_block(start, block) for start, block in blocks]
        while len(parts) > 1:
            parts = [added(parts[i : i + _ADDED]) for i in range(0, len(parts), _ADDED)]
        return list(parts[0].compute())


def _of_block(function: Callable[[Floats], Any], view: DaskView, start: int, block: Array) -> Any:
    return function(view.block(block, start).there)


def _added(parts: Iterable[Sequence[Any]]) -> list[Any]:
    return [sum(values) for values in zip(*parts)]


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
