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
from dmac.data.named_views import NamedView, called, is_frame
from dmac.data.tables import without
from dmac.data.vocabulary import (
    CLASSES,
    LABELS,
    bare,
    parsed,
    says_classes,
    says_known,
    typed,
    whole,
)

# How many columns a table of what is known of samples has at most; an array may lie either way.
_FEW = 20


_WAY = " (labels_key= names them, labels_key=False reads none)"
_OTHERS = (
    "its name is that of known classes: labels_key= names them, and labels_key=False leaves "
    "columns where they are"
)


def having_name(items: Sequence[NamedView], key: str) -> list[NamedView]:
    """The items of this name, or else those in it, or else those of this name in another one."""
    return (
        [x for x in items if key in (x.name, x.source)]
        or [x for x in items if re.fullmatch(rf"{re.escape(key)}( \d+|\..+)", x.name)]
        or [x for x in items if key == bare(x.name)]
    )


def vector(view: NamedView) -> NamedView | None:
    """A lone column or row as a vector (n,); None for all else."""
    x: Any = view.values
    shape: tuple[int, ...] = getattr(x, "shape", ())
    if len(shape) not in (1, 2) or 0 in shape or (len(shape) == 2 and 1 not in shape):
        return None
    if is_frame(x):
        if shape[1] > 1:
            view, x = replace(view, samples=view.features), x.T
        return replace(view, values=typed(x.iloc[:, 0]), features=None)
    if x.dtype.kind not in "biufSU":
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
    candidates: list[NamedView] = []
    for item in items if len(items) > 1 else ():
        lone, named = vector(item), says_classes(item.name)
        sure = says_classes(item.name, LABELS)
        if lone is not None and named and (sure or _repeat(lone.values)):
            candidates.append(replace(lone, source=called(item)))
        elif says_known(item.name) and _is_narrow(item):
            left_out[called(item)] = "its name is that of what is known of samples"
        elif lone is not None and _is_text(item, lone, key):
            left_out[called(item)] = "one column of words is no view; labels_key= names classes"
    rest = list(items)
    if key is not False:
        rest = [_without_classes(item, key, candidates) for item in items]
        rest = [x for x in rest if 0 not in np.shape(x.values)[1:]]
    chosen = candidates
    if key:
        chosen = _keyed(items, key) or [x for x in candidates if x.name == key]
        if not chosen:
            listed = ", ".join(dict.fromkeys(map(called, items)))
            raise ValueError(
                f"known classes: {key} is no variable, file or column. There are {listed}{_WAY}"
            )
    # Of a table that is left out, or is the classes, its columns are not told as well.
    taken, told = [x.source for x in chosen], [x.source for x in candidates]
    tables = {*taken, *left_out}
    left_out |= {x: _OTHERS for x in told if x.partition(", column ")[0] not in tables}
    left_out |= dict.fromkeys(taken, _OTHERS)
    return ([] if key is False else chosen), rest


def _is_text(item: NamedView, lone: NamedView, key: object) -> bool:
    """Whether a table is a lone column of words, and not the one that is asked for."""
    words = is_frame(item.values) and lone.values.dtype.kind == "U"
    return words and key not in (item.features or [])


def _is_narrow(item: NamedView) -> bool:
    """Whether a table has few columns; an array, which may lie either way, few of either kind."""
    shape = np.shape(item.values)
    if is_frame(item.values):
        return shape[1] <= _FEW
    return len(shape) == 2 and min(shape) <= _FEW and item.features is None


def _without_classes(item: NamedView, key: str | None, candidates: list[NamedView]) -> NamedView:
    """A table without its columns of classes, which are added to the candidates."""
    headers = item.features if is_frame(item.values) else None
    for j, header in reversed(list(enumerate(headers or []))):
        lone = len(headers or []) == 1 and says_classes(item.name)  # which is a candidate itself
        if header == key or (len(header) > 2 and whole(header) in CLASSES and not lone):
            values, place = typed(item.values.iloc[:, j]), f"{called(item)}, column {header}"
            if header == key or _repeat(values):
                candidates.append(NamedView(values, header, item.samples, source=place))
                item = without(item, j)
    return item


def _keyed(items: Sequence[NamedView], key: str) -> list[NamedView]:
    """The vectors of this name; of a matrix with a single 1 in each row the columns of these."""
    candidates = []
    for item in having_name(items, key):
        lone, x = vector(item), item.values
        if lone is None:
            x = as_dense(x)
            if not np.isin(x, (0, 1)).all() or not (x.sum(1) == 1).all():
                listed = ", ".join(item.features or []) or "no names"
                raise ValueError(
                    f"known classes: {key} has several columns ({listed}), and which has them is "
                    f"not clear: name the column{_WAY}"
                )
            lone = replace(item, values=x.argmax(1), features=None)
        candidates.append(replace(lone, name=key, source=called(item)))
    return candidates


def agreed(
    candidates: list[NamedView],
    samples: list[Any] | None,
    n: int,
    key: str | Literal[False] | None,
    left_out: dict[str, str],
) -> tuple[Integers | None, str | None]:
    """The classes of the samples in their order, from 0, and where they were.

    They are those whose name says "labels", or else any; None where others differ. With ``key`` it
    is a ``ValueError`` if one has no class for a sample; else that goes to what is left out.
    """
    codes = {}
    for x in candidates:
        try:
            codes[x.source] = _codes(x, samples, n)
        except ValueError as error:
            if key:
                raise ValueError(f"known classes: {x.source}: {error}{_WAY}") from error
            left_out[x.source] = str(error)
    usable = [x for x in candidates if x.source in codes]
    usable = [x for x in usable if says_classes(x.name, LABELS)] or usable
    if len({codes[x.source].tobytes() for x in usable}) != 1:
        return None, None
    known = usable[0].source
    for source in codes:
        if (codes[source] == codes[known]).all():
            left_out.pop(source, None)
    return codes[known], known


def _codes(classes: NamedView, samples: list[Any] | None, n: int) -> Integers:
    """The class of each of n samples, by name where both have names."""
    names, values = classes.samples, classes.values
    # A word above the words of a column without names, which nothing else told from them.
    if not names and len(values) == n + 1 and not (values[1:] == values[0]).any():
        values = values[1:]
    size = len(values)
    if not samples or not names or samples == names:
        samples, names = [*range(max(n, size))], [*range(min(n, size))]
    count = Counter(names)
    for name in (name for name in samples if count[name] != 1):
        raise ValueError(
            f"it has {size} entries, and there are {n} samples: not one for each (the first with "
            f"none or several is {name})"
        )
    rows = {name: i for i, name in enumerate(names)}
    values = values[[rows[name] for name in samples]]
    x, words = parsed(values)
    if len(lacking := np.flatnonzero(np.isnan(x) & ~words)):
        row = rows[samples[lacking[0]]]
        who = classes.samples[row] if classes.samples else f"row {row + 1}"
        raise ValueError(f"{len(lacking)} samples have no class, the first is {who}")
    return check_labels(values)


def _repeat(values: Array) -> bool:
    """Whether values (n,) are words or whole numbers that repeat, as classes do."""
    values = values[values == values]
    whole = values.dtype.kind not in "fc" or bool((values % 1 == 0).all())
    return whole and 2 <= len(np.unique(values)) <= len(values) / 2
