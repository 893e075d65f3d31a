"""What users pass as views and as labels, checked; a checked view is read as solvers need it.

Each kind of view is a class: arrays and sparse matrices in memory, arrays on disk, and Dask arrays,
for which Dask is imported. A view given as ``numpy.memmap``, ``h5py.Dataset`` or ``zarr.Array`` is
never in memory as a whole. "The costs of a fit" in the book says what that costs, and "Your own
data" shows what the checks say.

What tells one data set from another, a hash of the numbers in its views, is here, too: by it a
checkpoint and a stored run are found again.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import mmap
import numbers
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse

from dmac._types import Array, Flags, Floats, Integers, Matrix, Views
from dmac._warn import ViewWarning, warn
from dmac.data.linalg import as_dense, on_entries, stored
from dmac.data.names import (
    HOW,
    NamedView,
    as_named,
    check_feature_names,
    in_order,
    lined_up,
    number_of,
)

#: Views with 2 to this many columns are narrow; from six columns on, unit rows work well.
NARROW = 5
# Samples that are compared at a time.
_N_COMPARED = 64
# Samples on which columns are compared, and the share of the variance from which one column
# dominates a view. In simulated views the classes are lost once one noisy column holds 97 % of the
# variance or more; after a square root, 99.7 % is harmless in the numerals.
_SAMPLES = 2000
_DOMINANT = 0.97
_DOMINANT_ROOTED = 0.998
# Numbers that often stand for what is missing, from which others are farther than from each other;
# any other number is so many times as far.
_NINES = [10.0**k - 1 for k in range(1, 9)]
_FAR = 3
_CODES = [
    *(-x for x in _NINES),
    *_NINES[2:],
    *(s * 10.0**k for s in (-1, 1) for k in range(20, 39)),
]
# Attributes of lazy tables and of AnnData objects, which are not plain arrays.
_NO_ARRAYS = ("compute", "collect", "toPandas", "obs_names")
# Numbers in one block of a view.
_NUMBERS = 2**22
# Partial sums of Dask arrays that one task adds.
_ADDED = 8
# The flag of madvise that frees pages after reading, where the platform has it.
_FORGET = getattr(mmap, "MADV_DONTNEED", None)


def block_rows(n_features: int) -> int:
    """How many samples of so many features a block holds."""
    return max(1, _NUMBERS // n_features)


def nonzero_rows(x: Matrix) -> Flags:
    """Which rows of an array or a CSR matrix have an entry that is not 0: (n, d) -> (n,), bool."""
    return np.asarray(abs(x).sum(1)).ravel() > 0 if scipy.sparse.issparse(x) else x.any(1)


def with_zero_rows(rows: Matrix, present: Flags) -> Matrix:
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
        n = self.shape[0]
        size = self.shape[0] if self.sparse else block_rows(self.shape[1])
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
        x = with_zero_rows(x[there], there)
    check_finite(x, view.where, rows)
    present = there if view.measured else there & nonzero_rows(x)
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
        out = np.empty((len(rows), self.shape[1]))
        order = np.argsort(rows)
        present = np.empty(len(rows), bool)
        ends = [block.stop for block in self.slices()]
        places = np.split(order, np.searchsorted(rows[order], ends[:-1]))
        for block, place in zip(self.slices(), places):
            if len(place):
                found = self._read(block, rows[place] - block.start)
                out[place] = found.values
                present[place] = found.present
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
        of_block = delayed(
            functools.partial(_of_block, function, self.without_rows()), traverse=False
        )
        added = delayed(_added)
        parts = [of_block(start, block) for start, block in blocks]
        while len(parts) > 1:
            parts = [added(parts[i : i + _ADDED]) for i in range(0, len(parts), _ADDED)]
        return list(parts[0].compute())


def _of_block(function: Callable[[Floats], Any], view: DaskView, start: int, block: Array) -> Any:
    return function(view.block(block, start).there)


def _added(parts: Iterable[Sequence[Any]]) -> list[Any]:
    return [sum(values) for values in zip(*parts)]


def is_dask(x: object) -> bool:
    """Whether a view is a Dask array, which is told without Dask."""
    return type(x).__module__.startswith("dask.array")


def has_dask(views: Views) -> bool:
    """Whether a view is a Dask array."""
    return any(is_dask(x.values) for x in as_named(views))


def is_on_disk(x: object) -> bool:
    """Whether a view is an array on disk: a memory map, an HDF5 data set or a Zarr array."""
    if isinstance(x, np.memmap):
        return True
    return type(x).__module__.split(".")[0] in ("h5py", "zarr") and hasattr(type(x), "shape")


def _check_kind(x: Any, where: str, kinds: str = "biuf") -> None:
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
        raise ValueError(
            f"{where} has no {'features' if x.shape[0] else 'samples'}: its shape is "
            f"{tuple(x.shape)}"
        )


def _as_array(x: Any, where: str) -> Any:
    """One view as a NumPy array or a sparse matrix of SciPy, of any shape and type."""
    if is_dask(x):
        raise ValueError(
            f"{where} is a Dask array, which only dmac.AnchorGraphClustering takes: pass "
            "numpy.asarray(x), or, where it is larger than memory, a memory map of it "
            "(numpy.lib.format.open_memmap)"
        )
    if hasattr(x, "detach") and hasattr(x, "is_complex"):  # a torch tensor, without importing torch
        return _from_tensor(x, where)
    if hasattr(x, "to_numpy"):  # pandas, likewise
        return x.to_numpy()
    other = any(hasattr(x, name) for name in _NO_ARRAYS)
    try:
        array = x if other or scipy.sparse.issparse(x) else np.asanyarray(x)
    except ValueError as error:
        raise ValueError(f"{where} has rows of different lengths ({error})") from error
    if other or array.ndim == 0:
        raise ValueError(
            f"{where} is a {type(x).__name__}: {HOW}; where samples lack the view its rows are NaN"
        )
    return array


def _from_tensor(x: Any, where: str) -> Any:
    if x.is_meta:
        raise ValueError(f"{where} is on the device meta, and has no numbers: load them first")
    x = x.detach().cpu()
    x = x if x.is_complex() else x.double()
    if "sparse" not in str(x.layout) or x.ndim != 2:
        return x.to_dense().numpy()
    x = x.to_sparse_coo().coalesce()
    return scipy.sparse.coo_matrix((x.values().numpy(), x.indices().numpy()), tuple(x.shape))


def _as_matrix(given: Any, where: str) -> Matrix:
    """One view as a float64 C-contiguous array or CSR matrix, not yet checked for NaN."""
    x = _as_array(given, where)
    if scipy.sparse.issparse(x):
        _check_kind(x, where)
        try:  # a copy, which adds what is stored twice
            return scipy.sparse.csr_matrix(x.tocoo().astype(np.float64))
        except ValueError as fault:
            raise ValueError(f"{where} is a sparse matrix that is damaged: {fault}") from fault
    _check_kind(x, where, "biufO")
    x = _of_objects(x, where) if x.dtype == object else x
    try:
        with np.errstate(over="ignore"):  # a long double out of range becomes inf, and is reported
            x = x.astype(np.float64, copy=False)
    except OverflowError as error:
        raise ValueError(f"{where} holds an integer beyond the range of float64") from error
    return np.ascontiguousarray(np.ma.filled(x, np.nan))


def _of_objects(x: Array, where: str) -> Array:
    """Real numbers among objects, with nan for what is missing; others are refused."""
    import pandas as pd

    x = np.array(np.ma.filled(x, np.nan))
    x[pd.isna(x)] = np.nan
    for (i, j), value in np.ndenumerate(x):
        if not isinstance(value, (numbers.Real, np.bool_)):
            raise ValueError(
                f"{where} holds {value!r:.60} at row {i}, column {j}, not a real number (views are "
                "counted from 1, rows and columns from 0)"
            )
    return x


def _rows_or_nan(x: Any) -> Any:
    """A list of rows with NaN in place of rows that are None; anything else as it is."""
    if not isinstance(x, (list, tuple)) or not any(row is None for row in x):
        return x
    widths = [len(row) for row in x if row is not None and hasattr(row, "__len__")]
    return [[np.nan] * max(widths, default=0) if row is None else row for row in x]


def _of_kind(x: NamedView, streamed: bool, incomplete: bool, most: int | None) -> View:
    """A view that stays on disk, or is in memory: as float64, if it is not long."""
    if not getattr(getattr(x.values, "id", None), "valid", True):
        raise ValueError(f"{x.where} is in an HDF5 file that was closed: open it again")
    if streamed and is_on_disk(x.values):
        _check_kind(x.values, x.where)
        return DiskView.of(x, incomplete=incomplete)
    given = x.values
    plain = type(given) is np.ndarray and given.ndim == 2 and given.dtype.kind in "biuf"
    # What is longer than eight bytes may be beyond float64.
    if most is None or not (plain and given.itemsize <= 8 and given.size and len(given) > most):
        given = _as_matrix(_rows_or_nan(given), x.where)
    return ArrayView.of(x, values=given)


def _present(
    present: npt.ArrayLike | None, views: Sequence[NamedView], shape: tuple[int, int]
) -> Flags:
    """The mask of a user, (n, v), checked; False where a name is lacking, True without a mask."""
    names = views[0].samples
    present = np.ones(shape) if present is None else in_order(present, names, "present", "views")
    must = f"present must hold True where a sample has a view, and False elsewhere, as {shape}"
    try:
        mask = np.asarray(present.cpu() if hasattr(present, "cpu") else present, float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{must}: {error}") from error
    if mask.shape != shape or not np.isin(mask, (0, 1)).all():
        raise ValueError(f"{must}: it has the shape {mask.shape}")
    by_name = [np.ones(shape[0], bool) if x.present is None else x.present for x in views]
    return (mask == 1) & np.transpose(by_name)


def check_views(views: Views, **options: Any) -> list[Matrix]:
    """Like `as_views`, but return the arrays and CSR matrices themselves."""
    return [x.values for x in as_views(views, **options)]


def as_views(
    views: Views,
    *,
    n_features: Sequence[int] | None = None,
    streamed: bool = False,
    incomplete: bool = False,
    present: npt.ArrayLike | None = None,
    warns: bool = False,
    most: int | None = None,
    lazy: bool = False,
    columns: Array | None = None,
) -> list[View]:
    """Turn what a user passes as views into what can be computed with.

    Parameters
    ----------
    views : list or tuple of v matrices of shape (n, d_a), or one such matrix
        NumPy arrays, SciPy sparse matrices, torch tensors, pandas data frames or nested lists of
        real numbers (booleans count as 0 and 1). One 2-D array, tensor, sparse matrix or data frame
        is one view; a nested list is always a list of views. Several data frames are lined up by
        their index, in the order of the first (:func:`dmac.data.names.lined_up`). What was checked
        before is returned as it is.
    n_features : tuple of int, optional
        The widths ``(d_1, ..., d_v)`` a model was fitted on, which the views must then have.
    streamed : bool
        Leave arrays on disk where they are: a memory map, an HDF5 data set or a Zarr array becomes
        a :class:`dmac.data.checks.DiskView`, whose blocks are checked as they are read.
    incomplete : bool
        Let samples lack views: a row of NaN, None for a row of a nested list, or a name that a
        data frame does not have and others do, becomes a row of zeros.
    present : array_like of shape (n, v), bool, optional
        With ``incomplete``, which views each sample has; what stands elsewhere is not looked at,
        and a row of zeros that it has was measured, and is a value. A data frame with names of
        samples is lined up, too.
    warns : bool
        Warn where one column is nearly all of a view, and, with ``incomplete``, where rows of zeros
        count as missing and may well be values: in views of up to `NARROW` columns.
    most : int, optional
        Arrays of more samples are not copied as float64: their rows become that when read.
    lazy : bool
        Take Dask arrays, of which nothing is computed.
    columns : numpy.ndarray of shape (sum of ``n_features``,), object, optional
        Names of the columns of a fit, with which those of these views are compared.

    Returns
    -------
    list of v dmac.data.checks.View
        Sparse stays sparse. The input is never modified, but an array or a CSR matrix that is
        float64 and, if dense, C-contiguous, is not copied.

    Raises
    ------
    ValueError
        If there is no view; a view is not two-dimensional, has no samples or features, or holds
        complex values, text, other objects, NaN or infinity; views differ in their number of
        samples; data frames have the same name of a sample twice, share none, or, without
        ``incomplete``, have others; or the views do not match ``n_features``. With ``incomplete``,
        if some entries of a row are NaN and others not, a sample lacks all views, or ``present``
        has another shape.
    """
    if isinstance(views, list) and views and all(isinstance(x, View) for x in views):
        return list(views)
    named = as_named(views)
    if columns is not None and n_features is not None:
        check_feature_names(named, columns, n_features)
    if lazy and any(is_dask(x.values) for x in named):
        return _dask_views(named, present, n_features)
    named = lined_up(named, incomplete)
    if not named:
        raise ValueError("no views: the list is empty; pass at least one 2-D array")
    given = [_of_kind(x, streamed, incomplete, most) for x in named]
    check_shapes(given, n_features)
    there = _present(present, named, (given[0].shape[0], len(given)))
    if not (incomplete or there.all()):
        raise ValueError(
            "samples lack views: only dmac.AnchorGraphClustering takes samples that lack a view; "
            "all else would count what stands there"
        )
    if warns:
        warn_of_single_columns(given)
    checked: list[View] = []
    for a, x in enumerate(given):
        x = replace(x, present=there[:, a], measured=x.measured or present is not None)
        if x.in_memory and incomplete:
            there[:, a] &= not_nan(x.values)
        checked.append(checked_view(x, x.values, there[:, a]) if x.in_memory else x)
    if incomplete:
        _check_samples(checked, there)
    for a, x in enumerate(checked):
        if warns and incomplete:
            _warn_of_missing_rows(x, there[:, a], len(checked))
        if warns and x.in_memory:
            _warn_of_one_column(x.values, x.where)
        if warns and not x.sparse:
            _warn_of_codes(x.read(x.slices()[0]), x.where)
    return checked


def check_shapes(views: Sequence[View], n_features: Sequence[int] | None) -> None:
    """Refuse views of other numbers of samples, or of other numbers or widths than in a fit."""
    if n_features is not None and len(views) != len(n_features):
        raise ValueError(
            f"got {number_of(len(views), 'view')}, but the model was fitted on {len(n_features)}"
        )
    first = views[0]
    for a, x in enumerate(views):
        if x.shape[0] != first.shape[0]:
            raise ValueError(
                f"{x.where} has {number_of(x.shape[0], 'sample')}, {first.where} has "
                f"{first.shape[0]}; row i must be the same sample in every view"
            )
        if n_features is not None and x.shape[1] != n_features[a]:
            raise ValueError(
                f"{x.where} has {number_of(x.shape[1], 'feature')}, but the model was fitted on "
                f"{n_features[a]} there: fit again without the features that were not measured, "
                "or fill each with its mean in the fit"
            )


def _dask_views(
    named: Sequence[NamedView], present: object, n_features: Sequence[int] | None
) -> list[View]:
    """Checked Dask arrays in common blocks, of which nothing is computed.

    Blocks are the chunks of the first view; those of more than 2**22 numbers in all views together
    (32 MiB) are cut into equal ones.

    Parameters
    ----------
    named : list of v NamedView of dask.array.Array of shape (n, d_a)
    present : None
        Anything else is refused: it would be of size n in memory.
    n_features : tuple of int, optional
        The widths that a model was fitted on; in a fit a view of one feature is told.

    Raises
    ------
    ValueError
        If some views are no Dask arrays, their chunks no NumPy arrays, their sizes unknown, or
        their shapes and types none of views.
    """
    from sklearn.utils import gen_even_slices

    if present is not None:
        raise ValueError(
            "present= is not for Dask arrays: where a sample lacks a view, make its row NaN, as by "
            "dask.array.where(has[:, None], x, numpy.nan)"
        )
    for x in named:
        if not is_dask(x.values):
            raise ValueError(
                f"{x.where} is no Dask array ({type(x.values).__name__}), and other views are: "
                "pass all of them as Dask arrays, as by dask.array.from_array(x), or none"
            )
        if type(x.values._meta) is not np.ndarray:
            raise ValueError(
                f"{x.where} has chunks of the type {type(x.values._meta).__name__}: make them "
                "NumPy arrays by x.map_blocks, as with lambda block: block.toarray() of sparse "
                "ones, or numpy.ma.filled"
            )
        if np.isnan(x.values.shape).any():
            raise ValueError(f"{x.where} has an unknown size: call x.compute_chunk_sizes() first")
        _check_kind(x.values, x.where)
    views = [DaskView.of(x, incomplete=True) for x in named]
    check_shapes(views, n_features)
    most = block_rows(sum(x.shape[1] for x in views))
    rows = tuple(
        part.stop - part.start
        for size in views[0].values.chunks[0]
        if size
        for part in gen_even_slices(size, -(-size // most))
    )
    checked: list[View] = [replace(x, values=x.values.rechunk((rows, -1))) for x in views]
    if n_features is None:
        warn_of_single_columns(checked)
    return checked


def warn_of_zero_samples(views: Sequence[View]) -> None:
    """Say how many samples of checked views are zero in every view, if there are some."""
    zero = np.ones(views[0].shape[0], bool)
    for x in views:
        if zero.any():  # what is on disk is read for it
            zero &= ~x.presence()
    say_which_are_zero(zero)


def say_which_are_zero(zero: Flags) -> None:
    """The warning itself, of a mask (n,) of the samples that are zero in every view."""
    if zero.any():
        warn(
            f"{zero.sum()} of {number_of(len(zero), 'sample')} are zero in every view (the first "
            f"is row {zero.argmax()}), and a row of zeros says nothing: they come out as a cluster "
            "of their own or as a part of any. Leave them out; or present= says where 0 is a value"
        )


def warn_of_single_columns(views: Sequence[View]) -> None:
    """Say which views have one column, which is only scaled."""
    single = [x.where for x in views if x.shape[1] == 1]
    if single:
        warn(
            f"{' and '.join(single)} {'have one feature each' if single[1:] else 'has one feature'}"
            ": its entries are divided by the largest magnitude, "
            "since rows of unit length would keep nothing but their signs",
            ViewWarning,
        )


def _warn_of_missing_rows(x: View, there: Flags, n_views: int) -> None:
    """Say where a view has no values, or rows of zeros in few columns count as missing.

    These may well be values. ``there`` (n,) marks the rows that were given.
    """
    if n_views == 1:
        return
    if not there.any():
        warn(f"{x.where} has no values: all samples lack it. Leave it out")
    elif x.in_memory and x.shape[1] <= NARROW and x.presence().any():
        if count := int((there & ~x.presence()).sum()):
            warn(
                f"{x.where} has {number_of(count, 'row')} of zeros in its "
                f"{number_of(x.shape[1], 'column')}, which count as samples that lack the view: "
                "present= says where 0 is a value; else make these rows NaN",
                ViewWarning,
            )


def _warn_of_one_column(x: Matrix, where: str) -> None:
    """Warn if one column dominates the variance of a checked view.

    A square root evens a view without negative entries out, as recipes do; narrow views are
    standardised. A column that is large in a few rows alone is none in rows of unit length.
    """
    from sklearn.preprocessing import StandardScaler
    from sklearn.utils.extmath import row_norms

    rows: Any = x[:: max(1, x.shape[0] // _SAMPLES)]
    largest = abs(rows).max()
    if x.shape[1] <= NARROW or not largest:
        return
    rows = rows / largest
    most = _DOMINANT
    if rows.min() >= 0:
        rows = on_entries(np.sqrt, rows)
        most = _DOMINANT_ROOTED
    variances = StandardScaler(with_mean=False).fit(rows).var_
    j = int(variances.argmax())
    squares = row_norms(rows, squared=True)
    nonzero = squares > 0
    of_column = np.asarray(rows[:, [j]].sum(1)).ravel()[nonzero] ** 2 / squares[nonzero]
    if variances[j] > most * variances.sum() and of_column.mean() > 0.5:
        warn(
            f"{where} has {100 * variances[j] / variances.sum():.4g} % of its variance in column "
            f"{j} (counted from 0), which hides the others: divide columns of different units by "
            "their standard deviations, or leave it out",
            ViewWarning,
        )


def _warn_of_codes(x: Floats, where: str) -> None:
    """Say which number far from all others is repeated, as codes for missing values are.

    It is the smallest or the largest of several columns, or of one if it is a usual code.
    """
    for ends, end in ((x.min(0), x.min()), (x.max(0), x.max())):
        for value in {end, *ends[np.isin(ends, _CODES)].tolist()} - {0}:
            inside = x[:, ends == value]
            coded = inside == value
            rest = np.where(coded, np.nan, inside)
            with warnings.catch_warnings(action="ignore"):  # of columns with nothing else
                low = np.nanmin(rest, 0)
                high = np.nanmax(rest, 0)
            apart = np.maximum(low - value, value - high)
            usual = value in _CODES
            far = (apart > (1 if usual else _FAR) * (high - low)) & (high > low)
            if (far & (coded.sum(0) > 1)).sum() > (not usual):
                warn(
                    f"{where} has the number {value:.15g} in {coded.sum()} cells of "
                    f"{number_of(coded.any(0).sum(), 'column')}, far from all others: if it stands "
                    f"for what is missing, say missing={value:.15g} as the files are read, or pass "
                    f"numpy.where(x == {value:.15g}, numpy.nan, x); now it is a value",
                    ViewWarning,
                )


def n_distinct(views: Sequence[View], most: int) -> int:
    """How many different samples checked views have, counted up to ``most``."""
    distinct: set[bytes] = set()
    n = views[0].shape[0]
    size = min(_N_COMPARED, block_rows(sum(x.shape[1] for x in views)))
    for rows in (slice(start, min(start + size, n)) for start in range(0, n, size)):
        blocks = [as_dense(x.read(rows)) for x in views]
        # Digests, as rows may be long; -0 becomes 0.
        distinct.update(hashlib.sha256(row).digest() for row in np.hstack(blocks) + 0.0)
        if len(distinct) >= most:
            return most
    return len(distinct)


def _check_samples(views: Sequence[View], there: Flags) -> None:
    """Refuse a sample that lacks all views, by its name, if not all of it is ``there`` (n, v).

    Of an array on disk the rows of NaN, and of zeros, are seen only when its blocks are read.
    """
    present = np.asarray([x.present for x in views])
    nothing = np.flatnonzero(~there.all(1) & ~np.any(present, 0))
    if len(nothing):
        others = f", and so do {len(nothing) - 1} others" if len(nothing) > 1 else ""
        who = f"sample {nothing[0]} lacks all views (samples are counted from 0)"
        if (names := views[0].samples) is not None:
            who = f"sample {names[nothing[0]]!s:.40} lacks all views"
        raise ValueError(f"{who}{others}: remove it, it has no data to cluster by")


def _is_no_whole_number(value: object) -> bool:
    """Whether a label is a fraction, NaN, infinite, complex or missing."""
    if isinstance(value, numbers.Number) and not isinstance(value, numbers.Integral):
        return not (isinstance(value, numbers.Real) and float(value).is_integer())
    return value is None or (not isinstance(value, str) and str(value) in ("NaT", "<NA>"))


def check_seed(random_state: Any) -> np.random.RandomState:
    """The source of random numbers that a parameter ``random_state`` stands for.

    Parameters
    ----------
    random_state : int, numpy.random.RandomState or None
        Anything else is a ``ValueError``.
    """
    from sklearn.utils import check_random_state

    try:
        return check_random_state(random_state)
    except ValueError as error:
        raise ValueError(
            f"random_state is {random_state!r}: it must be an integer from 0 to 2**32 - 1, a "
            "numpy.random.RandomState, or None"
        ) from error


def check_no_views(y: Any, name: str = "y") -> None:
    """Refuse what is passed where labels may stand, and are ignored, if it is another view.

    Parameters
    ----------
    y : object
        None, or labels: one dimension, or one column. A ``ValueError`` if it has several columns
        or is a list of arrays.
    name : str
        What the argument is called in the error.
    """
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, (list, tuple)) and y:
        shape = (len(y), *(getattr(y[0], "shape", None) or np.shape(y[0])))
    if shape is not None and len(shape) > 1 and (len(shape) > 2 or shape[1] != 1):
        raise ValueError(
            f"{name} has the shape {tuple(shape)}, as a view has: several views are one list, "
            "fit([rna, protein])"
        )


def check_labels(
    labels: npt.ArrayLike, n_samples: int | None = None, *, name: str = "labels"
) -> Integers:
    """Number class labels from 0, in the sorted order of the distinct labels: (n,), int64.

    Parameters
    ----------
    labels : array_like of shape (n_samples,)
        Integers, whole-number floats, booleans or strings; also one row or one column.
    n_samples : int, optional
        How many there must be; any positive number by default. It is a ``ValueError`` if there are
        others, or if some are missing, fractional or of mixed kinds.
    name : str
        What the argument is called in an error.
    """
    if hasattr(labels, "detach"):
        labels = labels.detach().cpu()
    # A list as objects: NumPy would turn [1, "1"] into two equal strings and a NaN into "nan".
    labels = np.array(labels, object) if isinstance(labels, (list, tuple)) else np.asarray(labels)
    if labels.ndim == 2 and 1 in labels.shape:
        labels = labels.ravel()
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(
            f"{name} must be one-dimensional and not empty: the shape is {labels.shape}"
        )
    if n_samples is not None and len(labels) != n_samples:
        raise ValueError(
            f"{name}: {len(labels)} of them, but there are {n_samples} samples; pass one a sample"
        )
    if labels.dtype.kind not in "biufOSU":
        raise ValueError(f"{name} holds {labels.dtype} values: pass whole numbers or strings")
    # Integers, booleans and strings are classes by their type; n of them need no look each.
    for i, value in enumerate(labels.tolist() if labels.dtype.kind in "fO" else ()):
        if _is_no_whole_number(value):
            raise ValueError(
                f"{name}: entry {i} (counted from 0) is {value}, which is not a class: pass whole "
                "numbers or strings"
            )
    try:
        return np.unique(labels, return_inverse=True)[1].astype(np.int64)
    except TypeError as error:
        raise ValueError(
            f"{name}: some are missing or mix kinds that have no common order ({error})"
        ) from error


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
