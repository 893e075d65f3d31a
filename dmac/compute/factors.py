"""Products with sparse factors that have as many entries in each row, by all threads.

Chapter 12 of the book says what they are for.
"""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

from dmac._types import Array, Matrix

# Columns of a product, from which on it is made a few columns at a time, whose part of the product
# stays near the processor.
_WIDE, _COLUMNS = 64, 16


def csr_tensor(matrix: Matrix) -> Tensor:
    """A sparse matrix as a tensor that shares its memory: PyTorch takes all threads, SciPy one."""
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # sparse tensors are young
        rows, columns = torch.as_tensor(matrix.indptr), torch.as_tensor(matrix.indices)
        return torch.sparse_csr_tensor(rows, columns, torch.as_tensor(matrix.data), matrix.shape)


def times(matrix: Tensor, x: Array) -> Array:
    """A sparse tensor (n, m), as of `csr_tensor`, times x (m, d), by all threads: (n, d)."""
    x = torch.as_tensor(x)
    if x.shape[1] < _WIDE:
        return (matrix @ x).numpy()
    return torch.cat([matrix @ part.contiguous() for part in x.split(_COLUMNS, 1)], 1).numpy()
