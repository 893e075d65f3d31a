"""Known classes beside views: one rule takes them, so that they score and never become a view.

A candidate is a lone column or vector whose name is one of classes, or the only such column of a
table. :mod:`dmac.data.vocabulary` has the names.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse

from dmac.data.checks import check_labels
from dmac.data.named_views import called, is_frame
from dmac.data.tables import columns_of_words, missing, typed, without
from dmac.data.vocabulary import bare, says_classes, says_known, says_labels

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from dmac._types import Array
    from dmac.data.named_views import NamedView

# So many rows are looked at.
_ROWS = 10_000
# How many values are few, and how many columns a table of what is known of samples has at most.
_FEW = 20


def few_values(column: Array) -> bool:
    """Whether values (n,) repeat as classes do: whole numbers or words, or at most 20 fractions."""
    column = column[:_ROWS]
    distinct = len(np.unique(column))
    if not 2 <= distinct <= len(column) / 2:
        return False
    return distinct <= _FEW or column.dtype.kind not in "fc" or bool((column % 1 == 0).all())


def vector(view: NamedView) -> NamedView | None:
    """A lone column or row as a vector (n,), as are rows with a single 1; None for all else."""
    x, samples = view.values, view.samples
    if is_frame(x):
        if 1 not in x.shape:
            return None
        if x.shape[1] > 1:
            x, samples = x.T, view.features
        return replace(view, values=typed(x.iloc[:, 0]), samples=samples, features=None)
    shape = getattr(x, "shape", ())
    if len(shape) not in (1, 2) or 0 in shape:
        return None
    lone = len(shape) == 1 or 1 in shape
    if not lone and 2 * shape[1] > shape[0]:
        return None
    x = x.toarray() if scipy.sparse.issparse(x) else np.asarray(x)
    if x.dtype.kind not in "biufSU":
        return None
    if not lone:
        if x.dtype.kind in "SU" or not (((x == 0) | (x == 1)).all() and (x.sum(1) == 1).all()):
            return None
        x = x.argmax(1)
    return replace(view, values=x.ravel(), features=None)


def known_classes(
    items: Sequence[NamedView], key: str | Literal[False] | None, named: Sequence[NamedView] = ()
) -> tuple[NamedView | None, list[NamedView], dict[str, str]]:
    """Take the known classes, and leave out what else is known of the samples.

    Parameters
    ----------
    items : sequence of NamedView
        What files hold.
    key : str, False or None
        The name of a vector or table, or of a column in one; False: no classes are read.
    named : sequence of NamedView
        The items that the user names as views.

    Returns
    -------
    known : NamedView or None
        The classes as they are stored, (n,); its name says where they were.
    rest : list of NamedView
        What may be views.
    left_out : dict of str to str
        What is neither, with the reason.

    Raises
    ------
    ValueError
        If nothing has the name ``key``, or what has it holds no classes; or several things say
        "labels" and differ.
    """
    candidates: list[_Candidate] = []
    left_out = {}
    exact = any(key in (x.name, x.source) for x in items)
    for a, item in enumerate(items):
        is_key = key in ((item.name, item.source) if exact else (bare(item.name),))
        if len(items) == 1 and not is_key:
            candidates += _columns(item, a, key)
        elif is_key or item not in named:
            lone = vector(item) if is_key or says_known(item.name) else None
            columns = _columns(item, a, key) if lone is None else []
            if lone is not None and (is_key or not isinstance(key, str)):
                lone = replace(lone, name=called(item))
                columns = [_Candidate(lone, a, None, says_labels(item.name))]
            candidates += columns
            if is_key and not columns:
                listed = ", ".join(map(str, item.features or [])) or "no names"
                raise ValueError(
                    f"{key} has several columns ({listed}), and which has the known classes is not "
                    "clear: name the column"
                )
            if reason := _no_view(item, lone, bool(key and columns)):
                left_out[called(item)] = reason
    lone = {one.item for one in candidates if one.column is None}
    chosen = _choose(candidates, key, [called(x) for x in items], left_out)
    rest = []
    for a, item in enumerate(items):
        name = called(item)
        if chosen is not None and chosen.item == a:
            item = item if a in lone else without(item, chosen.column)
        if a not in lone and name not in left_out and getattr(item.values, "shape", ())[1:] != (0,):
            rest.append(item)
    return (None if chosen is None else chosen.classes), rest, left_out


class _Candidate(NamedTuple):
    """Classes that may be the known ones, where they are from, and whether that says "labels"."""

    classes: NamedView
    item: int
    column: int | None
    first: bool


def _columns(item: NamedView, a: int, key: str | Literal[False] | None) -> list[_Candidate]:
    """The column of this name or, without one, the only column that may be classes."""
    if not is_frame(item.values) or item.features is None:
        return []
    columns = []
    for j, header in enumerate(item.features):
        if header == key or (not key and len(header) > 2 and says_classes(header)):
            values = typed(item.values.iloc[:, j])
            if header == key or few_values(values):
                name = f"{called(item)}, column {header}"
                classes = replace(item, values=values, name=name, features=None)
                columns.append(_Candidate(classes, a, j, says_labels(header)))
    return columns if key or len(columns) == 1 else []


def _no_view(item: NamedView, lone: NamedView | None, has_key: bool) -> str | None:
    """Why an item is not taken as a view; None where it may be one."""
    if lone is not None:
        return "its name is that of known classes"
    x, frame = item.values, is_frame(item.values)
    if has_key and len(columns_of_words(x)) > 1:
        return "it has the known classes, and further columns of words"
    if not says_known(item.name) or len(getattr(x, "shape", ())) != 2 or x.shape[1] > _FEW:
        return None
    if frame and len(columns_of_words(x)):
        return "its name is that of what is known of samples, and it has words"
    if scipy.sparse.issparse(x) or (not frame and x.dtype.kind not in "biuf"):
        return None
    columns = [typed(x.iloc[:, j]) if frame else np.asarray(x[:, j]) for j in range(x.shape[1])]
    if any(map(few_values, columns)):
        return "its name is that of what is known of samples, and a column has few distinct values"
    return None


def _choose(
    candidates: list[_Candidate],
    key: str | Literal[False] | None,
    names: list[str],
    left_out: dict[str, str],
) -> _Candidate | None:
    """The one candidate, or the one whose name says "labels", where no other one says otherwise.

    Without a key, classes that cannot be used are left out.
    """
    if key is False:
        return None
    usable, codes = [], []
    for one in candidates:
        try:
            if key is None and not few_values(one.classes.values) and not one.first:
                continue
            codes.append(check_labels(_complete(one.classes)))
            usable.append(one)
        except ValueError as error:
            if key is not None:
                raise ValueError(f"{one.classes.name}: {error}") from error
            left_out[one.classes.name] = f"{error}"
    if key is not None and not usable:
        listed = ", ".join(dict.fromkeys(names))
        raise ValueError(f"{key} is no variable, file or column. There are {listed}")
    best = [a for a, one in enumerate(usable) if one.first] or list(range(len(usable)))
    if any(not np.array_equal(codes[a], codes[best[0]]) for a in best):
        if key is None and not usable[best[0]].first:
            return None
        listed = ", ".join(usable[a].classes.name for a in best)
        raise ValueError(f"several may be the known classes ({listed}): name one of them")
    for one, of_one in zip(usable, codes):
        if np.array_equal(of_one, codes[best[0]]):
            left_out.pop(one.classes.name, None)  # which says the same
    return usable[best[0]] if best else None


def _complete(classes: NamedView) -> Array:
    """The classes, of which none may be missing: a ``ValueError`` says the first sample without."""
    values = classes.values
    lost = missing(values) if values.dtype.kind == "U" else np.flatnonzero(values != values)
    rows = np.flatnonzero(lost) if values.dtype.kind == "U" else lost
    if len(rows):
        who = classes.samples[rows[0]] if classes.samples else f"row {rows[0] + 1}"
        raise ValueError(f"{len(rows)} samples have no class, the first is {who}")
    return values
