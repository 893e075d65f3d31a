"""A view's metadata: its name, and those of its samples and features.

Files and data frames become such views, and are lined up by :mod:`dmac.data.names`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dmac._types import Flags

#: What to do with what is no matrix.
HOW = (
    "pass 2-D arrays, as adata.X or mdata[name].X of cells, x.compute(), x.collect() or "
    "x.toPandas() of a lazy table, list(x.values()) of a dictionary, dmac.load(file).views of "
    "a file"
)


@dataclass(frozen=True, eq=False)
class NamedView:
    """One thing that a file holds, or one view that a user passes.

    Attributes
    ----------
    values : matrix of shape (n, d), vector of shape (n,), pandas.DataFrame, or Any
        What was read, as it is stored. A table of text is a frame of its cells, whose index and
        columns count the lines and columns of the file.
    name : str
        What its file calls it; empty for a view that was passed without a name.
    samples : list of n names, or None
    features : list of d names, or None
    present : boolean array of shape (n,), or None
        Which samples have this view, all if None: what stands in other rows is not looked at.
    source : str
        The file; empty for what comes from no file.
    numbered : bool
        Whether ``samples`` only count rows, as the index of a data frame does by default.
    measured : bool
        Whether rows of zeros are values, and do not stand for samples that lack the view.
    where : str
        What messages call it among other views, which `as_named` knows: "view 2 (protein)".
    """

    values: Any
    name: str = ""
    samples: list[Any] | None = None
    features: list[Any] | None = None
    present: Flags | None = None
    source: str = ""
    numbered: bool = False
    measured: bool = False
    where: str = ""


def is_frame(x: object) -> bool:
    """Whether a view is a data frame in memory, with an index."""
    return all(hasattr(x, name) for name in ("columns", "index", "iloc", "to_numpy"))


def as_named(views: Any) -> list[NamedView]:
    """Each of some views, or a single one, with its number and the names that it has.

    A data frame has those of its index and columns. What is neither a list of views nor a matrix is
    a ``ValueError``.
    """
    if isinstance(views, np.ndarray) and views.dtype == object and views.ndim == 1:
        views = list(views)
    if not isinstance(views, (list, tuple)):
        n_axes = getattr(views, "ndim", 2 if hasattr(views, "__array__") else None)
        if n_axes != 2 and not isinstance(views, NamedView):
            what, way = f"a {type(views).__name__}", HOW
            if n_axes:
                what = f"one of shape {views.shape}"
                way = (
                    "pass list(x) if its first axis counts views, x.reshape(len(x), -1) if samples"
                    if n_axes > 2
                    else "Reshape your data with x[:, None] if it is one feature"
                )
            raise ValueError(f"views must be 2-D arrays (samples x features), not {what}: {way}")
        views = [views]
    named = [x if isinstance(x, NamedView) else _named(x) for x in views]
    return [
        replace(x, where=f"view {a}{f' ({x.name})' if x.name else ''}")
        for a, x in enumerate(named, 1)
    ]


def _named(x: Any) -> NamedView:
    if all(hasattr(x, name) for name in ("dims", "coords", "values")):
        samples, features = ([_along(x, axis) for axis in x.dims] + [None, None])[:2]
        return NamedView(x.values, str(x.name or ""), samples, features)
    if not is_frame(x):
        return NamedView(x)
    samples = x.index.tolist()
    numbered = x.index.names == [None] and counts(samples)
    return NamedView(x, "", samples, list(x.columns), numbered=numbered)


def _along(x: Any, axis: Any) -> list[Any] | None:
    """The names along an axis of a DataArray: its own coordinate, or else one of distinct words."""
    names = [y.values.tolist() for y in x.coords.values() if y.dims == (axis,)]
    own = [x.coords[axis].values.tolist()] if axis in x.coords else []
    text = [y for y in names if len(set(y)) == len(y) and all(isinstance(one, str) for one in y)]
    return next(iter([*own, *text]), None)


def counts(names: Sequence[Any]) -> bool:
    """Whether names only count rows: 0, 1, 2, ... or 1, 2, 3, ..., as numbers or as text."""
    start = str(names[0]) if len(names) else ""
    return start in ("0", "1") and all(
        str(name) == str(i) for i, name in enumerate(names, int(start))
    )


def called(item: NamedView) -> str:
    """What to call a thing of a file: by the file, where it has its name or is a column of it."""
    whole = item.source.startswith(f"{item.name}.") or item.source.endswith(f", column {item.name}")
    return item.source if whole else item.name


def ending_of(file: Path) -> str:
    """The ending of a file in lower case, with what stands before .gz."""
    endings = file.suffixes[-2:] if file.suffix.lower() == ".gz" else file.suffixes[-1:]
    return "".join(endings).lower()


def stem(file: Path) -> str:
    """The name of a file without its ending, which may be ``.csv.gz``."""
    return file.name[: len(file.name) - len(ending_of(file))]


def number_of(count: int, what: str) -> str:
    """A number with its noun: "1 view", "2 views", "3 classes"."""
    plural = "es" if what.endswith("s") else "s"
    return f"{count} {what}{plural if count != 1 else ''}"


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts names with numbers in them: view2 before view10."""
    return [
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in re.split(r"(\d+)", name.lower())
        if part
    ]
