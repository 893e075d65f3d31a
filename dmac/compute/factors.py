"""Sparse factors with as many entries in each row: side by side, and their products.

A graph of a million samples has hundreds of millions of entries. So nothing here needs a second
copy of a factor: those of many samples are not joined in memory, and large ones are not transposed
either, :math:`B^T x` adds up the rows of B.

The book's chapter on cost shows what large fits take.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse
import torch
import torch.nn.functional as F

from dmac.compute import parallel
from dmac.compute.threads import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from dmac._types import Array, Matrix

#: Entries up to which a transposed copy is kept, of at most 0.2 GB: products with many columns at a
#: time are faster with it.
COPIED = 2**24
#: Entries of which such a copy is kept where rows are many and in single precision, 0.5 GB: those
#: of the first rows. Of factors of more than twice as many none is, which need the memory.
TURNED = 2**26
# Rows of a block, whose part of a product stays near the processor.
_ROWS = 2**14
# Columns of a product, from which on it is made a few columns at a time, for the same reason.
_WIDE, _COLUMNS = 64, 16


class Joined:
    """CSR factors (n, M_b) side by side, each times a number, without a copy: (n, sum of M_b).

    Attributes
    ----------
    parts : list of (scipy.sparse.csr_matrix, float)
    shape : (int, int)
    dtype : numpy.dtype
    """

    def __init__(self, factors: Sequence[Matrix], scales: Sequence[float]) -> None:
        self.parts: list[tuple[Matrix, float]] = []
        for factor, scale in zip(factors, scales):
            self.parts += [(part, scale * own) for part, own in parts_of(factor)]
        self.shape = factors[0].shape[0], sum(part.shape[1] for part, _ in self.parts)
        self.dtype = np.result_type(*[part for part, _ in self.parts])

    def __matmul__(self, y: Array) -> Array:
        """(M, d) -> (n, d)."""
        out = np.zeros((self.shape[0], y.shape[1]))
        for (part, scale), columns in zip(self.parts, columns_of(self)):
            out += part @ (scale * y[columns])
        return out


def parts_of(factor: Matrix) -> list[tuple[Matrix, float]]:
    """The CSR factors that one is made of, and by what each is multiplied."""
    return factor.parts if isinstance(factor, Joined) else [(factor, 1.0)]


def columns_of(factor: Matrix) -> list[slice]:
    """The columns of each of its parts."""
    ends = np.cumsum([part.shape[1] for part, _ in parts_of(factor)])
    return [slice(int(start), int(end)) for start, end in zip(np.r_[0, ends], ends)]


def side_by_side_factors(factors: Sequence[Matrix], scales: Sequence[float]) -> Matrix:
    """CSR factors (n, M_b) side by side, each times a number: (n, sum of M_b).

    Each has the same number of stored entries in all its rows. Of many samples it is `Joined`.
    """
    n, width = factors[0].shape[0], sum(factor.shape[1] for factor in factors)
    if parallel.many(n):
        return Joined(factors, scales)
    counts = [factor.nnz // n if n else 0 for factor in factors]
    total = sum(counts)
    kind = np.int32 if max(n * total, width) < 2**31 else np.int64
    data = np.empty((n, total), np.result_type(*factors) if n else float)
    indices = np.empty((n, total), kind)
    entry = column = 0
    for factor, scale, count in zip(factors, scales, counts):
        here = slice(entry, entry + count)
        np.multiply(factor.data.reshape(n, count), data.dtype.type(scale), out=data[:, here])
        np.add(factor.indices.reshape(n, count), kind(column), out=indices[:, here])
        entry, column = entry + count, column + factor.shape[1]
    start = np.arange(0, n * total + 1, total or 1, dtype=kind)[: n + 1]
    return scipy.sparse.csr_matrix((data.ravel(), indices.ravel(), start), (n, width))


def csr_tensor(matrix: Matrix) -> Tensor:
    """A sparse matrix as a tensor that shares its memory: PyTorch takes all threads, SciPy one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that sparse tensors are young
        rows, columns = torch.as_tensor(matrix.indptr), torch.as_tensor(matrix.indices)
        return torch.sparse_csr_tensor(rows, columns, torch.as_tensor(matrix.data), matrix.shape)


def row_block(matrix: Matrix, rows: slice) -> Matrix:
    """Rows of a CSR matrix, which share its memory."""
    start, end = matrix.indptr[rows.start], matrix.indptr[rows.stop]
    block = scipy.sparse.csr_matrix((rows.stop - rows.start, matrix.shape[1]), dtype=matrix.dtype)
    block.data, block.indices = matrix.data[start:end], matrix.indices[start:end]
    block.indptr = matrix.indptr[rows.start : rows.stop + 1] - start
    return block


class Products:
    """Products with a CSR factor B (n, M) and with its transpose, by all threads.

    A factor of many rows or entries is walked through block by block: in single precision where
    both the factor and what it is multiplied with are float32. Then a copy by columns is kept, too,
    of as many rows as make it no larger than `TURNED`.
    """

    def __init__(self, matrix: Matrix) -> None:
        self._shape, n = matrix.shape, matrix.shape[0]
        parts, columns = parts_of(matrix), columns_of(matrix)
        self._factors = [(part, own) for (part, _), own in zip(parts, columns)]
        self._scales = np.concatenate([[[x]] * part.shape[1] for part, x in parts])  # of columns
        entries = sum(part.nnz for part, _ in parts)
        self._whole = entries <= COPIED and not parallel.many(n)
        if self._whole:
            self._rows, self._columns = csr_tensor(matrix), csr_tensor(matrix.T.tocsr())
        self._slices = [slice(start, min(start + _ROWS, n)) for start in range(0, n, _ROWS)]
        copied = 0 if self._whole or entries > 2 * TURNED else min(entries, TURNED)
        self._turned_rows = n * copied // max(entries, 1)
        # One piece of memory, which is given back when it is done with; many would not be.
        room = sum(int(factor.indptr[self._turned_rows]) for factor, _ in self._factors)
        self._room = np.empty(room, np.int32), np.empty(room, np.float32)
        self._blocks: dict[int, list[Matrix]] = {}
        self._turned: dict[tuple[int, int], tuple[Tensor, Tensor, Tensor]] = {}

    def _block(self, rows: slice) -> list[Matrix]:
        """A block of rows of every part; SciPy takes its time to make one."""
        if rows.start not in self._blocks:
            self._blocks[rows.start] = [row_block(factor, rows) for factor, _ in self._factors]
        return self._blocks[rows.start]

    def _forward(self, rows: slice, y: Array) -> Array:
        """A block of rows of B times y, (M, d), whose rows are scaled: (b, d)."""
        first, *others = self._block(rows)
        out = _forward(first, y[self._factors[0][1]])
        for block, (_, columns) in zip(others, self._factors[1:]):
            out += _forward(block, y[columns])
        return out

    def _add_back(self, rows: slice, x: Array, out: Array) -> None:
        """Add to B^T x, (M, d), what a block of rows makes of its own x, (b, d); not yet scaled."""
        for i, (block, (_, columns)) in enumerate(zip(self._block(rows), self._factors)):
            out[columns] += self._back(block, i, rows, x)

    def _back(self, block: Matrix, part: int, rows: slice, x: Array) -> Array:
        """B^T x of a block of rows of one part."""
        single = block.dtype == x.dtype == np.float32
        if not single or x.shape[1] == 1 or rows.stop > self._turned_rows:
            return block.T @ x
        if (part, rows.start) not in self._turned:
            self._turned[part, rows.start] = self._turn(block, part, rows)
        return _bags(*self._turned[part, rows.start], x)

    def _turn(self, block: Matrix, part: int, rows: slice) -> tuple[Tensor, Tensor, Tensor]:
        """A block by columns, in its place in the copy."""
        ends = [rows.stop] * part + [rows.start] * (len(self._factors) - part)
        start = sum(int(factor.indptr[end]) for (factor, _), end in zip(self._factors, ends))
        numbers, weights = (room[start : start + block.nnz] for room in self._room)
        turned = block.tocsc()
        numbers[:], weights[:] = turned.indices, turned.data
        starts = turned.indptr[:-1].astype(np.int32, copy=False)
        return torch.as_tensor(numbers), torch.as_tensor(weights), torch.as_tensor(starts)

    def forward(self, y: Array) -> Array:
        """B y: (M, d) -> (n, d)."""
        if self._whole:
            return _times(self._rows, y)
        out = np.empty((self._shape[0], y.shape[1]), y.dtype)
        y = (y * self._scales).astype(y.dtype, copy=False)

        def of_part(part: Sequence[slice]) -> None:
            for rows in part:
                out[rows] = self._forward(rows, y)

        walk(self._slices, of_part)
        return out

    def back(self, x: Array, rows: slice | None = None) -> Array:
        """B^T x: (n, d) -> (M, d), or of some rows of B alone. The same for any threads."""
        if rows is not None:
            found = [_turned_times(row_block(factor, rows), x) for factor, _ in self._factors]
            return np.concatenate(found) * self._scales
        if self._whole:
            return _times(self._columns, x)
        return self._sums(x.shape[1], lambda rows, out: self._add_back(rows, x[rows], out))

    def square(self, y: Array, scale: Array) -> Array:
        """B^T diag(scale) B y: (M, d) -> (M, d), float64, in one walk through B."""

        y = (y * self._scales).astype(y.dtype, copy=False)

        def of_block(rows: slice, out: Array) -> None:
            part = self._forward(rows, y)
            part *= scale[rows, None]
            self._add_back(rows, part, out)

        return self._sums(y.shape[1], of_block)

    def _sums(self, width: int, add: Callable[[slice, Array], None]) -> Array:
        """Sums of what blocks of rows add (M, d), float64. The same for any threads."""

        def of_part(part: Sequence[slice]) -> Array:
            out = np.zeros((self._shape[1], width))
            for rows in part:
                add(rows, out)
            return out

        first, *others = walk(self._slices, of_part)
        for other in others:
            first += other
        first *= self._scales
        return first


def _times(matrix: Tensor, x: Array) -> Array:
    """A sparse tensor (n, m) times x (m, d): (n, d)."""
    x = torch.as_tensor(x)
    if x.shape[1] < _WIDE:
        return (matrix @ x).numpy()
    out = x.new_empty(len(matrix), x.shape[1])
    for part, found in zip(x.split(_COLUMNS, 1), out.split(_COLUMNS, 1)):
        found.copy_(matrix @ part.contiguous())
    return out.numpy()


def _turned_times(block: Matrix, x: Array) -> Array:
    """B^T x of some rows of B: of many columns it is worth to put B in order by columns first."""
    if not block.dtype == x.dtype == np.float32 or x.shape[1] < _WIDE:
        return block.T @ x
    turned = block.tocsc()
    numbers, weights, starts = turned.indices, turned.data, turned.indptr[:-1]
    return _bags(torch.as_tensor(numbers), torch.as_tensor(weights), torch.as_tensor(starts), x)


def _bags(numbers: Tensor, weights: Tensor, starts: Tensor, x: Array) -> Array:
    """Weighed sums of some rows of x: the j-th begins with the number at ``starts[j]``."""
    table = torch.as_tensor(x)
    return F.embedding_bag(numbers, table, starts, per_sample_weights=weights, mode="sum").numpy()


def _forward(block: Matrix, y: Array) -> Array:
    """Rows of B, of as many entries each, times y (M, d): (b, d)."""
    if block.dtype == y.dtype == np.float32 and y.shape[1] > 1:  # several times faster than SciPy
        indices, data = (
            torch.as_tensor(x.reshape(block.shape[0], -1)) for x in (block.indices, block.data)
        )
        table = torch.as_tensor(y)
        return F.embedding_bag(indices, table, per_sample_weights=data, mode="sum").numpy()
    return block @ y
