"""Types that many signatures share."""

import os
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.floating[Any]]
Integers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

#: An array or a CSR matrix. SciPy has no types, so a checker has to believe what is done with it.
Matrix: TypeAlias = Any

PathLike: TypeAlias = str | os.PathLike[str]


class Shaped(Protocol):
    """An array, a tensor, a sparse matrix, a data frame, or an array on disk."""

    @property
    def shape(self) -> Any: ...


#: What a user passes as views: a list or tuple of them, or one.
Views: TypeAlias = list[Any] | tuple[Any, ...] | Shaped
