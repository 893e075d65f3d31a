"""What tells one data set from another: a hash of the numbers in its views.

A checkpoint (chapter 17 of the book) and a stored run are found again by it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import scipy.sparse

from dmac._types import Array, Matrix
from dmac.data.disk import StreamedArray


def digest(matrices: Iterable[Matrix]) -> str:
    """SHA-256 (64 hexadecimal digits) of arrays, CSR matrices and arrays on disk.

    Equal numbers give an equal hash, whatever their width and order in memory, on disk or not.
    Integers differ from floats, and sparse matrices from dense ones.
    """
    total = hashlib.sha256()
    for x in matrices:
        sparse = scipy.sparse.issparse(x)
        total.update(f"{x.shape} {3 if sparse else 1}".encode())
        for part in _parts(x, sparse):
            kind = "<f8" if part.dtype.kind == "f" else "<i8"
            total.update(np.ascontiguousarray(part, dtype=kind).data)
    return total.hexdigest()


def _parts(x: Matrix, sparse: bool) -> Iterable[Array]:
    """The arrays that say what a matrix is."""
    if sparse:
        x = x.tocsr().sorted_indices()
        return x.data, x.indices.astype("<i8"), x.indptr.astype("<i8")
    return x.blocks() if isinstance(x, StreamedArray) else (np.asarray(x),)
