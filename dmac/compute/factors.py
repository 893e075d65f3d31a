"""Sparse factors with as many entries in each row: side by side, and their products.

A graph of a million samples has hundreds of millions of entries. So nothing here needs a second
copy of a factor: large ones are not transposed either, :math:`B^T x` adds up the rows of B.

``notebooks/05_runtime.ipynb`` shows what large fits take.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse
import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from dmac._types import Array, Matrix

# Parts of a transposed product. Their number must not depend on that of the threads, since it
# decides in which order numbers are added.
_PARTS = 4
#: Entries up to which a transposed copy is kept, of at most 0.2 GB: products with many columns at a
#: time are faster with it.
COPIED = 2**24


def side_by_side_factors(factors: Sequence[Matrix], scales: Sequence[float]) -> Matrix:
    """CSR factors (n, M_b) side by side, each times a number: (n, sum of M_b).

    Each has the same number of stored entries in all its rows.
    """
    n, width = factors[0].shape[0], sum(factor.shape[1] for factor in factors)
    counts = [factor.nnz // n if n else 0 for factor in factors]
    total = sum(counts)
    kind = np.int32 if max(n * total, width) < 2**31 else np.int64
    data, indices = np.empty((n, total)), np.empty((n, total), kind)
    entry = column = 0
    for factor, scale, count in zip(factors, scales, counts):
        here = slice(entry, entry + count)
        np.multiply(factor.data.reshape(n, count), scale, out=data[:, here])
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


def transposed_parts(matrix: Matrix, count: int) -> list[tuple[slice, Matrix]]:
    """Row slices of B and the transpose of each, which share the memory of the matrix."""
    cuts = np.linspace(0, matrix.shape[0], count + 1).astype(int)
    parts = []
    for first, last in zip(cuts[:-1], cuts[1:]):
        start, end = matrix.indptr[first], matrix.indptr[last]
        part = scipy.sparse.csc_matrix((matrix.shape[1], last - first))
        part.data, part.indices = matrix.data[start:end], matrix.indices[start:end]
        part.indptr = matrix.indptr[first : last + 1] - start
        parts.append((slice(first, last), part))
    return parts


class Products:
    """Products with a CSR factor B (n, M) and with its transpose, by all threads."""

    def __init__(self, matrix: Matrix) -> None:
        self._rows = csr_tensor(matrix)
        small = matrix.nnz <= COPIED
        self._columns = csr_tensor(matrix.T.tocsr()) if small else None
        self._parts = [] if small else transposed_parts(matrix, _PARTS)

    def forward(self, y: Array) -> Array:
        """B y: (M, d) -> (n, d)."""
        return (self._rows @ torch.as_tensor(y)).numpy()

    def back(self, x: Array) -> Array:
        """B^T x: (n, d) -> (M, d). The same for any number of threads."""
        if self._columns is not None:
            return (self._columns @ torch.as_tensor(x)).numpy()

        def of_part(part: tuple[slice, Matrix]) -> Array:
            rows, columns = part
            return columns @ x[rows]

        with ThreadPoolExecutor(min(_PARTS, torch.get_num_threads())) as pool:
            first, *others = pool.map(of_part, self._parts)
        for other in others:
            first += other
        return first
