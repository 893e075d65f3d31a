"""What tells one data set from another: a hash of the numbers in its views.

A checkpoint ("The costs of a fit" in the book) and a stored run are found again by it.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import scipy.sparse

from dmac._types import Array, Matrix
from dmac.data.source import View


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
