"""Known classes among what files hold: they only score a clustering, and are never a view.

A candidate is a lone column or vector whose name is one of classes, or such a column of a table.
:mod:`dmac.data.vocabulary` has the names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import scipy.sparse

from dmac._types import Array, Integers
from dmac.data.checks import check_labels
from dmac.data.named_views import NamedView, called, is_frame
from dmac.data.tables import parsed, typed, without
from dmac.data.vocabulary import CLASSES, KNOWN, LABELS, bare, says, spelled

# How many columns a table of what is known of samples has at most; an array may lie either way.
_FEW = 20


def _way() -> str:
    return f" ({spelled('labels_key=')} names them, {spelled('labels_key=False')} reads none)"


def _others() -> str:
    return (
        f"its name is that of known classes: {spelled('labels_key=')} names them, and "
        f"{spelled('labels_key=False')} leaves columns where they are"
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
    x = x.toarray() if scipy.sparse.issparse(x) else np.asarray(x)
    return replace(view, values=x.ravel(), features=None)


def known_classes(
    items: Sequence[NamedView], key: str | Literal[False] | None, left_out: dict[str, str]
) -> tuple[NamedView | None, list[NamedView]]:
    """Take the known classes, and leave out what else is known of the samples.

    Parameters
    ----------
    items : sequence of NamedView
        What files hold.
    key : str, False or None
        The name of a vector or table, or of a column in one; False: no classes are read.
    left_out : dict of str to str
        What is no view goes there by its name, with the reason, which is empty for the known
        classes.

    Returns
    -------
    known : NamedView or None
        The classes as they are stored, (n,); its source says where they were.
    rest : list of NamedView
        All items, without columns of classes.

    Raises
    ------
    ValueError
        If nothing has the name ``key``, or what has it holds no classes.
    """
    candidates = _vectors(items, left_out) if len(items) > 1 else []
    if key is False:
        return None, list(items)
    rest = [_without_classes(item, key, candidates, left_out) for item in items]
    if key:
        candidates = _keyed(items, key) or [x for x in candidates if x.name == key]
        if not candidates:
            listed = ", ".join(dict.fromkeys(map(called, items)))
            raise ValueError(
                f"known classes: {key} is no variable, file or column. There are {listed}{_way()}"
            )
    return _agreed(candidates, key, left_out), rest


# A candidate is a vector (n,), whose name may be one of classes, and whose source is where it was.


def _vectors(items: Sequence[NamedView], left_out: dict[str, str]) -> list[NamedView]:
    """The vectors whose names are those of classes; narrow tables of such names are left out."""
    candidates = []
    for item in items:
        shape = np.shape(item.values)
        columns = shape[1:] if is_frame(item.values) else shape
        if says(item.name, KNOWN) and len(shape) == 2 and min(columns) <= _FEW:
            left_out[called(item)] = "its name is that of what is known of samples"
        lone = vector(item) if says(item.name, CLASSES) else None
        if lone is not None and (says(item.name, LABELS) or _repeat(lone.values)):
            candidates.append(replace(lone, source=called(item)))
            left_out[called(item)] = _others()
    return candidates


def _without_classes(
    item: NamedView, key: str | None, candidates: list[NamedView], left_out: dict[str, str]
) -> NamedView:
    """A table without its columns of classes, which are added to the candidates."""
    headers = item.features if is_frame(item.values) else None
    for j, header in reversed(list(enumerate(headers or []))):
        if header == key or (len(header) > 2 and says(header, CLASSES)):
            values, place = typed(item.values.iloc[:, j]), f"{called(item)}, column {header}"
            if header == key or _repeat(values):
                candidates.append(NamedView(values, header, item.samples, source=place))
                item = without(item, j)
                left_out |= {} if called(item) in left_out else {place: _others()}
    return item


def _keyed(items: Sequence[NamedView], key: str) -> list[NamedView]:
    """The vectors of this name; of a matrix with a single 1 in each row the columns of these."""
    candidates = []
    for item in having_name(items, key):
        lone, x = vector(item), item.values
        if lone is None:
            x = x.toarray() if scipy.sparse.issparse(x) else np.asarray(x)
            if not np.isin(x, (0, 1)).all() or not (x.sum(1) == 1).all():
                listed = ", ".join(item.features or []) or "no names"
                raise ValueError(
                    f"known classes: {key} has several columns ({listed}), and which has them is "
                    f"not clear: name the column{_way()}"
                )
            lone = replace(item, values=x.argmax(1), features=None)
        candidates.append(replace(lone, name=key, source=called(item)))
    return candidates


def _agreed(
    candidates: list[NamedView], key: str | None, left_out: dict[str, str]
) -> NamedView | None:
    """The one whose name says "labels", or else any; None where others differ."""
    codes = {}
    for x in candidates:
        try:
            codes[x.source] = _codes(x).tobytes()
        except ValueError as error:
            if key:
                raise ValueError(f"known classes: {x.source}: {error}{_way()}") from error
            left_out[x.source] = str(error)
    usable = [x for x in candidates if x.source in codes]
    usable = [x for x in usable if says(x.name, LABELS)] or usable
    if len({codes[x.source] for x in usable}) != 1:
        return None
    classes = usable[0]
    left_out |= {source: "" for source in codes if codes[source] == codes[classes.source]}
    return classes


def _repeat(values: Array) -> bool:
    """Whether values (n,) are words or whole numbers that repeat, as classes do."""
    values = values[values == values]
    whole = values.dtype.kind not in "fc" or bool((values % 1 == 0).all())
    return whole and 2 <= len(np.unique(values)) <= len(values) / 2


def _codes(classes: NamedView) -> Integers:
    """The classes from 0, of which none may be missing: an error says the first sample without."""
    x, words = parsed(classes.values)
    if len(rows := np.flatnonzero(np.isnan(x) & ~words)):
        who = classes.samples[rows[0]] if classes.samples else f"row {rows[0] + 1}"
        raise ValueError(f"{len(rows)} samples have no class, the first is {who}")
    return check_labels(classes.values)
