"""Known classes among what files hold: they only score a clustering, and are never a view.

A candidate is a lone column or vector whose name is one of classes, or such a column of a table.
:mod:`dmac.data.vocabulary` has the names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from dmac._types import Array, Integers
from dmac.data.checks import check_labels
from dmac.data.linalg import as_dense
from dmac.data.names import NamedView, called, is_frame
from dmac.data.tables import without
from dmac.data.vocabulary import (
    CLASSES,
    LABELS,
    Column,
    bare,
    has_numbers,
    says_classes,
    says_known,
    whole,
)

# Maximum number of columns of a metadata table; an array may lie either way.
_MAX_COLUMNS = 20
_WAY = " (labels_key= names them, labels_key=False reads none)"


def having_name(items: Sequence[NamedView], key: str) -> list[NamedView]:
    """The items of this name, or else those in it, or else those of this name in another one."""
    return (
        [x for x in items if key in (x.name, x.source)]
        or [x for x in items if re.fullmatch(rf"{re.escape(key)}( \d+|\..+)", x.name)]
        or [x for x in items if key == bare(x.name)]
    )


def vector(view: NamedView) -> NamedView | None:
    """A lone column or row as a vector (n,); None for all else, as for a modality."""
    x: Any = view.values
    shape = np.shape(x)
    if len(shape) not in (1, 2) or 0 in shape or (len(shape) == 2 and 1 not in shape):
        return None
    if is_frame(x):
        names = view.features if shape[1] > 1 else view.samples
        return replace(view, values=Column(x.to_numpy()).typed, samples=names, features=None)
    if x.dtype.kind not in "biufSU" or view.features:
        return None
    return replace(view, values=as_dense(x).ravel(), features=None)


def known_classes(
    items: Sequence[NamedView], key: str | Literal[False] | None, left_out: dict[str, str]
) -> tuple[list[NamedView], list[NamedView]]:
    """Find what may be the known classes, and leave out what else is known of the samples.

    Parameters
    ----------
    items : sequence of NamedView
        What files hold.
    key : str, False or None
        The name of a vector or table, or of a column in one; False: no classes are read.
    left_out : dict of str to str
        What is no view goes there by its name, with the reason.

    Returns
    -------
    candidates : list of NamedView
        Vectors (n,) as they are stored, among which `agreed` decides; their sources say where they
        were.
    rest : list of NamedView
        All items, without columns of classes.

    Raises
    ------
    ValueError
        If nothing has the name ``key``.
    """
    parts = [(item, []) if key is False else _apart(item, key) for item in items]
    rest = [item for item, _ in parts if 0 not in np.shape(item.values)[1:]]
    columns = [column for _, found in parts for column in found]
    candidates = []
    for item in [*rest, *columns] if len(items) + len(columns) > 1 else ():
        lone = vector(item)
        if lone is not None and (
            says_classes(item.name, LABELS) or (says_classes(item.name) and _repeat(lone.values))
        ):
            candidates.append(replace(lone, source=called(item)))
        elif says_known(item.name) and _is_narrow(item):
            left_out[called(item)] = "its name is that of what is known of samples"
        elif (
            lone is not None
            and is_frame(item.values)
            and lone.values.dtype.kind == "U"
            and not has_numbers(lone.values.tolist())
        ):
            left_out[called(item)] = "one column of words is no view; labels_key= names classes"
    chosen = (_keyed(rest, key) or _keyed(columns, key)) if key else candidates
    if key and not chosen:
        raise ValueError(
            f"known classes: {key} is no variable, file or column. There are "
            f"{', '.join(dict.fromkeys(map(called, items)))}{_WAY}"
        )
    # Of a table that is left out its columns are not told as well.
    left_out |= {
        x.source: "its name is that of known classes: labels_key= names them, and "
        "labels_key=False leaves columns where they are"
        for x in (*candidates, *chosen)
        if x.source.partition(", column ")[0] not in left_out
    }
    return ([] if key is False else chosen), rest


def _apart(item: NamedView, key: str | None) -> tuple[NamedView, list[NamedView]]:
    """A table without its columns of classes, and these."""
    headers = (item.features or []) if is_frame(item.values) else []
    classes = {
        j: Column(item.values.iloc[:, j]).typed
        for j, x in enumerate(headers)
        if x == key or (len(x) > 2 and whole(x) in CLASSES)  # a feature may be called y
    }
    places = [j for j, x in classes.items() if headers[j] == key or _repeat(x)]
    columns = [
        NamedView(
            classes[j], headers[j], item.samples, source=f"{called(item)}, column {headers[j]}"
        )
        for j in places
    ]
    return without(item, *places) if places else item, columns


def _is_narrow(item: NamedView) -> bool:
    """Whether a table has few columns, and an array, which may lie either way, few of either kind.

    An array whose features have names, as that of a modality, is a view whatever its name is.
    """
    shape = np.shape(item.values)
    if is_frame(item.values):
        return shape[1] <= _MAX_COLUMNS
    return len(shape) == 2 and min(shape) <= _MAX_COLUMNS and item.features is None


def _keyed(items: Sequence[NamedView], key: str) -> list[NamedView]:
    """The vectors of this name; of a matrix with a single 1 in each row the columns of these."""
    candidates = []
    for item in having_name(items, key):
        lone = vector(item)
        if lone is None:
            if np.shape(item.values) == (0,):
                raise ValueError(
                    f"known classes: {called(item)} has a header and no entries: write a row for "
                    "each sample, as by frame.T where samples are columns"
                )
            x = as_dense(item.values)
            if not np.isin(x, (0, 1)).all() or not (x.sum(1) == 1).all():
                raise ValueError(
                    f"known classes: {key} has several columns "
                    f"({', '.join(item.features or ['no names'])}), and which has them is not "
                    f"clear: name the column{_WAY}"
                )
            lone = replace(item, values=x.argmax(1), features=None)
        candidates.append(replace(lone, name=key, source=called(item)))
    return candidates


def agreed(
    candidates: list[NamedView],
    view: NamedView,
    key: str | Literal[False] | None,
    left_out: dict[str, str],
    mixed: bool,
) -> tuple[Array | None, Integers | None, str | None]:
    """The classes of a view's samples in their order, as they are stored, their numbers, and where.

    They are those whose name says "labels", or else any; None where others differ. With ``key`` it
    is a ``ValueError`` if one has no class for a sample, or no names where those of the views are
    ``mixed``; else that goes to what is left out.
    """
    codes: dict[str, Integers] = {}
    usable = []
    for x in candidates:
        try:
            if mixed and not x.samples:
                raise ValueError("it names no samples, and the views have them in other orders")
            x = replace(x, values=_in_order(x, view.samples, view.values.shape[0]))
            codes[x.source] = check_labels(x.values)
            usable.append(x)
        except ValueError as error:
            if key:
                raise ValueError(f"known classes: {x.source}: {error}{_WAY}") from error
            left_out[x.source] = str(error)
    usable = [x for x in usable if says_classes(x.name, LABELS)] or usable
    if len({codes[x.source].tobytes() for x in usable}) != 1:
        return None, None, None
    first = usable[0]
    for source in codes:
        if (codes[source] == codes[first.source]).all():
            left_out.pop(source, None)
    return first.values, codes[first.source], first.source


def _in_order(classes: NamedView, samples: list[Any] | None, n: int) -> Array:
    """The class of each of n samples, by name where both have names."""
    names = classes.samples
    values = classes.values
    # A word above the words of a column without names, which nothing else told from them.
    if not names and len(values) == n + 1 and not (values[1:] == values[0]).any():
        values = values[1:]
    if not samples or not names or samples == names:
        samples = [*range(max(n, len(values)))]
        names = [*range(min(n, len(values)))]
    count = Counter(names)
    for name in (name for name in samples if count[name] != 1):
        raise ValueError(
            f"it has {len(values)} entries, and there are {n} samples: not one for each (the first "
            f"with none or several is {name})"
        )
    places = {name: i for i, name in enumerate(names)}
    rows = np.array([places[name] for name in samples])
    x, words = Column(values[rows]).parsed
    lacking = rows[np.isnan(x) & ~words]
    if len(lacking):
        who = classes.samples[lacking[0]] if classes.samples else f"row {lacking[0] + 1}"
        raise ValueError(f"{len(lacking)} samples have no class, the first is {who}")
    return values[rows]


def _repeat(values: Array) -> bool:
    """Whether values (n,) are words or whole numbers that repeat, as classes do."""
    values = values[values == values]
    whole = values.dtype.kind not in "fc" or bool((values % 1 == 0).all())
    return whole and 2 <= len(np.unique(values)) <= len(values) / 2
