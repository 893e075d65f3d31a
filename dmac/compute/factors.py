"""Sparse factors with as many entries in each row: side by side, and their products.

Chapter 12 of the book says what they are for.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import scipy.sparse
import torch
from torch import Tensor

from dmac._types import Array, Matrix

# Columns of a product, from which on it is made a few columns at a time, whose part of the product
# stays near the processor.
_WIDE, _COLUMNS = 64, 16


def side_by_side_factors(factors: Sequence[Matrix], scales: Sequence[float]) -> Matrix:
    """CSR factors (n, M_b) side by side, each times a number: (n, sum of M_b)."""
    return scipy.sparse.hstack([f * scale for f, scale in zip(factors, scales)], "csr")


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
    return torch.cat([matrix @ part.contiguous() for part in x.split(_COLUMNS, 1)], 1).numpy()
