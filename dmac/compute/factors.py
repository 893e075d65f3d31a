"""Sparse factors with as many entries in each row: side by side, and their products.

Chapter 12 of the book says what they are for.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse
import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from dmac._types import Array, Matrix

# Columns of a product, from which on it is made a few columns at a time, whose part of the product
# stays near the processor.
_WIDE, _COLUMNS = 64, 16


def side_by_side_factors(factors: Sequence[Matrix], scales: Sequence[float]) -> Matrix:
    """CSR factors (n, M_b) side by side, each times a number: (n, sum of M_b).

    Each has the same number of stored entries in all its rows.
    """
    n, width = factors[0].shape[0], sum(factor.shape[1] for factor in factors)
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


class Products:
    """Products with a CSR factor B (n, M) and, by a copy, with its transpose, by all threads."""

    def __init__(self, matrix: Matrix) -> None:
        self._rows, self._columns = csr_tensor(matrix), csr_tensor(matrix.T.tocsr())

    def forward(self, y: Array) -> Array:
        """B y: (M, d) -> (n, d)."""
        return _times(self._rows, y)

    def back(self, x: Array) -> Array:
        """B^T x: (n, d) -> (M, d)."""
        return _times(self._columns, x)


def _times(matrix: Tensor, x: Array) -> Array:
    """A sparse tensor (n, m) times x (m, d): (n, d)."""
    x = torch.as_tensor(x)
    if x.shape[1] < _WIDE:
        return (matrix @ x).numpy()
    out = x.new_empty(len(matrix), x.shape[1])
    for part, found in zip(x.split(_COLUMNS, 1), out.split(_COLUMNS, 1)):
        found.copy_(matrix @ part.contiguous())
    return out.numpy()
