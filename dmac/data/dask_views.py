"""Views as Dask arrays: read, added up and placed in tasks, wherever the user's client is.

Dask is imported only where a view is a Dask array. "The costs of a fit" in the book places
samples so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from dmac._types import Array, Floats, Integers, Views
from dmac.data.checks import check_shapes, is_dask, warn_of_single_columns
from dmac.data.named_views import NamedView, as_named
from dmac.data.source import Source, block_rows, check_kind, checked_rows

# So many partial sums are added in one task.
_ADDED = 8


class DaskSource(Source):
    """A Dask array (n, d) whose chunks are blocks of rows with all columns.

    A row of NaN is a row of zeros.

    Parameters
    ----------
    values : dask.array.Array of shape (n, d)
    view : NamedView
    rows : sequence of int
        Samples of each block; the array is chunked again where it has others.
    """

    def __init__(self, values: Any, view: NamedView, rows: Sequence[int]) -> None:
        super().__init__(values.rechunk((tuple(rows), -1)), view)
        self.starts = np.cumsum((0, *rows))

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
        blocks = zip(self.starts, self.values.to_delayed().ravel())
        of_block, added = delayed(_of_block), delayed(_added)
        parts = [of_block(function, self.where, start, block) for start, block in blocks]
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


def has_dask(views: Views) -> bool:
    """Whether a view is a Dask array."""
    return any(is_dask(x.values) for x in as_named(views))


def dask_views(
    views: Views, present: object, n_features: Sequence[int] | None = None
) -> list[Source]:
    """Checked Dask arrays in common blocks, of which nothing is computed.

    Blocks are the chunks of the first view; those of more than 2**22 numbers in all views together
    (32 MiB) are cut into equal ones.

    Parameters
    ----------
    views : list of v dask.array.Array of shape (n, d_a)
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

    named = as_named(views)
    if present is not None:
        raise ValueError(
            "present= is not for Dask arrays: where a sample lacks a view, make its row NaN, as by "
            "dask.array.where(has[:, None], x, numpy.nan)"
        )
    for x in named:
        _check_array(x.values, x.where)
    sources = [Source(x.values, x) for x in named]
    check_shapes(sources, n_features)
    most = block_rows(sum(x.shape[1] for x in sources))
    rows = [
        part.stop - part.start
        for size in sources[0].values.chunks[0]
        if size
        for part in gen_even_slices(size, -(-size // most))
    ]
    checked: list[Source] = [DaskSource(x.values, x, rows) for x in named]
    if n_features is None:
        warn_of_single_columns(checked)
    return checked


def _check_array(x: Any, where: str) -> None:
    """Refuse what is no Dask array of NumPy arrays with known sizes."""
    if not is_dask(x):
        raise ValueError(
            f"{where} is no Dask array ({type(x).__name__}), and other views are: pass all of them "
            "as Dask arrays, as by dask.array.from_array(x), or none"
        )
    if type(x._meta) is not np.ndarray:
        raise ValueError(
            f"{where} has chunks of the type {type(x._meta).__name__}: make them NumPy arrays by "
            "x.map_blocks, as with lambda block: block.toarray() of sparse ones, or numpy.ma.filled"
        )
    if np.isnan(x.shape).any():
        raise ValueError(f"{where} has an unknown size: call x.compute_chunk_sizes() first")
    check_kind(x, where)
