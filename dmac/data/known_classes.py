"""Known classes among what files hold: they only score a clustering, and are never a view.

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
from dmac.data.tables import parsed, typed, without
from dmac.data.vocabulary import bare, says_classes, says_known, says_labels

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    from dmac._types import Array
    from dmac.data.named_views import NamedView

# So many rows are looked at.
_ROWS = 10_000
# How many values are few, and how many columns a table of what is known of samples has at most.
_FEW = 20


class _Candidate(NamedTuple):
    """Classes that may be the known ones, where they are from, and whether that says "labels"."""

    classes: NamedView
    item: NamedView
    column: int | None
    first: bool
    codes: Any = None


def repeats(column: Array) -> bool:
    """Whether values (n,) repeat as classes do: whole numbers or words, or at most 20 fractions."""
    column = column[:_ROWS]
    distinct = len(np.unique(column))
    whole = column.dtype.kind not in "fc" or bool((column % 1 == 0).all())
    return 2 <= distinct <= len(column) / 2 and (whole or distinct <= _FEW)


def vector(view: NamedView) -> NamedView | None:
    """A lone column or row as a vector (n,), as are rows with a single 1; None for all else."""
    x: Any = view.values
    shape: tuple[int, ...] = getattr(x, "shape", ())
    if is_frame(x):
        if 1 not in shape:
            return None
        if shape[1] > 1:
            view, x = replace(view, samples=view.features), x.T
        return replace(view, values=typed(x.iloc[:, 0]), features=None)
    if len(shape) not in (1, 2) or 0 in shape or x.dtype.kind not in "biufSU":
        return None
    lone = len(shape) == 1 or 1 in shape
    if not lone and 2 * shape[1] > shape[0]:
        return None
    x = x.toarray() if scipy.sparse.issparse(x) else np.asarray(x)
    codes = x.ravel() if lone else _of_one_hot(x)
    return None if codes is None else replace(view, values=codes, features=None)


def _of_one_hot(x: Array) -> Array | None:
    """Where the 1 of each row is, in a matrix of zeros with one each: (n, d) -> (n,)."""
    if x.dtype.kind in "SU" or not (((x == 0) | (x == 1)).all() and (x.sum(1) == 1).all()):
        return None
    return x.argmax(1)


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
    keyed, alone = _keyed(items, key), len(items) == 1
    found: list[_Candidate] = []
    left_out: dict[str, str] = {}
    for item in items:
        if item in keyed or item not in named:
            own, reason = _look_at(item, key, item in keyed, alone)
            found += own
            if reason:
                left_out[called(item)] = reason
    if isinstance(key, str) and not found:
        listed = ", ".join(dict.fromkeys(map(called, items)))
        raise ValueError(f"{key} is no variable, file or column. There are {listed}")
    usable = _usable(found, key, left_out)
    chosen = _one_of(usable, key)
    rest = [x for x in items if called(x) not in left_out]
    if chosen is None:
        return None, rest, left_out
    same = [one.classes.name for one in usable if np.array_equal(one.codes, chosen.codes)]
    left_out = {name: reason for name, reason in left_out.items() if name not in same}
    return chosen.classes, [_without(x, chosen) for x in rest], left_out


def _keyed(items: Sequence[NamedView], key: Any) -> list[NamedView]:
    """The items of this name, or else those whose name is this within a group or structure."""
    own = [x for x in items if key in (x.name, x.source)]
    return own or [x for x in items if key == bare(x.name)]


def _without(item: NamedView, chosen: _Candidate) -> NamedView:
    """An item without the column of the classes, where they are from it."""
    if item is not chosen.item or chosen.column is None:
        return item
    return without(item, chosen.column)


def _look_at(
    item: NamedView, key: str | Literal[False] | None, is_key: bool, alone: bool
) -> tuple[list[_Candidate], str | None]:
    """The candidates in an item, and why it is not taken as a view."""
    lone = vector(item) if is_key or (says_known(item.name) and not alone) else None
    if lone is not None:
        own = _Candidate(replace(lone, name=called(item)), item, None, says_labels(item.name))
        return [own] if is_key or key is None else [], "its name is that of known classes"
    columns = _columns(item, key) if key is not False and is_frame(item.values) else []
    if is_key and not columns:
        listed = ", ".join(map(str, item.features or [])) or "no names"
        raise ValueError(
            f"{key} has several columns ({listed}), and which has the known classes is not clear: "
            "name the column"
        )
    return columns, None if alone else _no_view(item, bool(key and columns))


def _columns(item: NamedView, key: str | None) -> list[_Candidate]:
    """The column of this name or, without one, the only column that may be classes."""
    columns = []
    for j, header in enumerate(item.features or []):
        if header == key or (key is None and len(header) > 2 and says_classes(header)):
            name, values = f"{called(item)}, column {header}", typed(item.values.iloc[:, j])
            classes = replace(item, values=values, name=name, features=None)
            if key or repeats(values):
                columns.append(_Candidate(classes, item, j, says_labels(header)))
    return columns if key or len(columns) == 1 else []


def _no_view(item: NamedView, has_key: bool) -> str | None:
    """Why a table is not taken as a view; None where it may be one."""
    x: Any = item.values
    shape: tuple[int, ...] = getattr(x, "shape", ())
    few = len(shape) == 2 and shape[1] <= _FEW and not scipy.sparse.issparse(x)
    known, words = few and says_known(item.name), 0
    if (has_key or known) and is_frame(x):
        numbers, of_words = parsed(x)
        words = (of_words.sum(0) > np.isfinite(numbers).sum(0)).sum()
        x = numbers
    if has_key and words > 1:
        return "it has the known classes, and further columns of words"
    if known and (words or (x.dtype.kind in "biuf" and any(map(repeats, np.asarray(x).T)))):
        return "its name is that of what is known of samples, and it has words or codes"
    return None


def _usable(
    found: list[_Candidate], key: str | Literal[False] | None, left_out: dict[str, str]
) -> list[_Candidate]:
    """The candidates that hold classes; without a key others are left out, with the reason."""
    usable = []
    for one in found:
        if key or one.first or repeats(one.classes.values):
            try:
                usable.append(one._replace(codes=check_labels(_complete(one.classes))))
            except ValueError as error:
                if key:
                    raise ValueError(f"{one.classes.name}: {error}") from error
                left_out[one.classes.name] = str(error)
    return usable


def _one_of(usable: list[_Candidate], key: str | Literal[False] | None) -> _Candidate | None:
    """The one whose name says "labels", or else any; None where others differ."""
    best = [one for one in usable if one.first] or usable
    if not best or all(np.array_equal(one.codes, best[0].codes) for one in best):
        return best[0] if best else None
    if key is None and not best[0].first:
        return None
    listed = ", ".join(one.classes.name for one in best)
    raise ValueError(f"several may be the known classes ({listed}): name one of them")


def _complete(classes: NamedView) -> Array:
    """The classes, of which none may be missing: a ``ValueError`` says the first sample without."""
    x, words = parsed(classes.values)
    if len(rows := np.flatnonzero(np.isnan(x) & ~words)):
        who = classes.samples[rows[0]] if classes.samples else f"row {rows[0] + 1}"
        raise ValueError(f"{len(rows)} samples have no class, the first is {who}")
    return classes.values
