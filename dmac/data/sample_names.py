"""Names of samples: data frames are lined up by their index before anything is computed.

Files are lined up by :mod:`dmac.data.readers`, by the same rules.

Chapter 19 of the book uses the estimator on a reader's own data frames.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dmac._types import Flags, Views

# So many names stand in a message.
_EXAMPLES = 3
# What missing values of pandas are called; a nan is not even itself.
_NO_NAMES = ("nan", "NaT", "<NA>")
_BY_POSITION = "pass frame.to_numpy() to take rows by position"


def is_frame(x: object) -> bool:
    """Whether a view is a data frame with an index."""
    return all(hasattr(x, name) for name in ("columns", "index", "iloc"))


def first_frame(views: Views) -> Any:
    """The first data frame among some views, by whose index they are lined up; None without one."""
    views = views if isinstance(views, (list, tuple)) else [views]
    return next((x for x in views if is_frame(x)), None)


def index_of(views: Views) -> Any:
    """The index of what comes out of some views: that of the first data frame, then new names.

    None without a data frame.
    """
    views = views if isinstance(views, (list, tuple)) else [views]
    frames = [x for x in views if is_frame(x)]
    if not frames:
        return None
    index = frames[0].index
    for x in frames[1:]:
        new = ~x.index.isin(index)
        index = index.append(x.index[new]) if new.any() else index
    return index


def as_views(x: Any, views: Views) -> Any:
    """A series of pandas in the order of the samples of some data frames; all else as it is.

    So it is where its index has not their names, each once: it is taken by position.
    """
    return in_order(x, index_of(views))


def in_order(x: Any, index: Any) -> Any:
    """A series of pandas in the order of an index of the same names; all else as it is."""
    if index is None or not hasattr(x, "index") or not hasattr(x, "iloc"):
        return x
    names, places = index.tolist(), {name: i for i, name in enumerate(x.index)}
    if len(places) < len(x.index) or len(names) != len(places) or names == [*places]:
        return x
    return x.iloc[[places[name] for name in names]] if set(names) == places.keys() else x


def union(named: Iterable[Sequence[Any]]) -> list[Any]:
    """All names of several lists, each once, in the order in which they come."""
    return list(dict.fromkeys(name for names in named for name in names))


def unreached(named: Sequence[Sequence[Any]]) -> int | None:
    """The first list of names that shares none with the first list, nor by way of others.

    None if there is no such list.
    """
    reached, rest = set(named[0]), list(range(1, len(named)))
    while rest:
        near = [a for a in rest if not reached.isdisjoint(named[a])]
        if not near:
            return rest[0]
        reached.update(name for a in near for name in named[a])
        rest = [a for a in rest if a not in near]
    return None


def alike(names: Iterable[Any]) -> tuple[Any, Any] | None:
    """Two names that differ in case, spaces or type alone, as "s1" and "S1 "; None without them."""
    known: dict[str, Any] = {}
    for name in names:
        other = known.setdefault(str(name).strip().casefold(), name)
        if other != name:
            return other, name
    return None


def warn_of_alike(names: Iterable[Any], stacklevel: int) -> None:
    """Say so where names of one sample may be taken for two."""
    if (two := alike(names)) is not None:
        warnings.warn(
            f"{two[0]!r:.40} and {two[1]!r:.40} are taken for two samples, each without views that "
            "the other has, and differ in case, spaces or type alone: if they are one, call it by "
            "one name",
            stacklevel=stacklevel,
        )


def by_one_name(names: Iterable[Any]) -> str:
    """What to do about lists that share no name; two that only look the same are told."""
    two = alike(names)
    same = "" if two is None else f"{two[0]!r:.40} and {two[1]!r:.40} are two names: "
    return f"{same}call a sample by one name"


def names_twice(names: Sequence[Any]) -> list[Any]:
    """The names that come more than once, each once."""
    return [name for name, count in Counter(names).items() if count > 1]


@dataclass(frozen=True)
class LinedUp:
    """Views whose rows are the same samples.

    Attributes
    ----------
    views : list of v views
        Themselves but for frames in another order, or of fewer samples.
    names : list of n names, or None
        Of the samples, where a data frame has them.
    present : numpy.ndarray of shape (n, v), bool, or None
        Where frames have other samples, which views each sample has: what stands in the row of one
        that it lacks is that of another sample.
    """

    views: list[Any]
    names: list[Any] | None = None
    present: Flags | None = None


def lined_up(views: Sequence[Any], incomplete: bool = False) -> LinedUp:
    """Put the rows of data frames into one order, by the names in their index.

    It is that of the first frame. Where frames have other samples the samples are those of all: of
    the first frame, then those that the next ones add, in the order in which they come; a sample
    that a frame does not have lacks that view. Views without an index are taken by position, in the
    order of the first frame; a ``UserWarning`` says so where that has other names than 0, 1, ...

    Parameters
    ----------
    views : list of v views of any kind
    incomplete : bool
        Whether samples may lack views.

    Returns
    -------
    LinedUp

    Raises
    ------
    ValueError
        If one of several frames has a name twice; or frames have other names, and they share none,
        a view without an index is beside them, or no sample may lack a view.
    """
    frames = [a for a, x in enumerate(views) if is_frame(x)]
    names = {a: views[a].index.tolist() for a in frames}
    named = [a for a in frames if names[a] != list(range(len(names[a])))]
    if not named:
        return LinedUp(list(views))
    first, out, every, present = frames[0], list(views), names[frames[0]], None
    if len(views) == 1:
        return LinedUp(out, every)
    without = [a + 1 for a in range(len(views)) if a not in frames]
    if len(frames) > 1:
        places = {a: _places(names[a], a) for a in frames}
        others = [a for a in frames if places[a].keys() != places[first].keys()]
        if others:
            _check_union(names, others, named, without, incomplete)
            every = union(names.values())
            warn_of_alike(every, 5)
            present = np.ones((len(every), len(views)), bool)
        for a in frames:
            if names[a] != every and names[a]:
                rows = np.array([places[a].get(name, -1) for name in every])
                out[a] = views[a].iloc[rows.clip(0)]
                if present is not None:
                    present[:, a] = rows >= 0
    if without:
        warnings.warn(
            f"view {first + 1} is a data frame with names of samples, and view "
            f"{' and '.join(map(str, without))} has none: "
            "rows are taken by position, as if all were in the order of that frame. To have them "
            "lined up by name, pass frames with the same index",
            stacklevel=4,
        )
    return LinedUp(out, every, present)


def of_samples(x: Any, names: Sequence[Any] | None, what: str) -> Any:
    """Rows in the order of the samples, of a data frame with their names; all else as it is.

    ``what`` is what an error calls it, which says the first sample without a row.
    """
    if names is None or not is_frame(x) or x.index.tolist() in (names, list(range(len(x)))):
        return x
    places = {name: i for i, name in enumerate(x.index)}
    lost = [name for name in names if name not in places]
    if lost or len(x) != len(names):
        raise ValueError(
            f"{what} is a data frame of {len(x)} rows for {len(names)} samples, and has none for "
            f"{len(lost)} of them ({_some(lost)}): give it the index of the samples, or pass "
            f"{what}.to_numpy() to take rows by position"
        )
    return x.iloc[[places[name] for name in names]]


def _has_gap(name: Any) -> bool:
    """Whether a name is missing, or a part of one from several levels."""
    parts = name if isinstance(name, tuple) else [name]
    return any(part is None or str(part) in _NO_NAMES for part in parts)


def _places(names: list[Any], a: int) -> dict[Any, int]:
    """Rows by the names of a view; they have to be different."""
    try:
        places = {name: i for i, name in enumerate(names)}
    except TypeError as error:  # a list, an array
        raise ValueError(
            f"view {a + 1} is a data frame whose names of samples cannot be compared ({error}): "
            f"give each sample a text or a number as its name, or {_BY_POSITION}"
        ) from error
    missing = [i for i, name in enumerate(names) if _has_gap(name)]
    if missing:
        raise ValueError(
            f"view {a + 1} is a data frame in which row {missing[0]} has no name (it is "
            f"{names[missing[0]]}), and frames are lined up by name: give each sample its own, or "
            f"{_BY_POSITION}"
        )
    if len(places) < len(names):
        raise ValueError(
            f"view {a + 1} is a data frame of {len(names)} samples with {len(places)} names (more "
            f"than once: {_some(names_twice(names))}), and frames are lined up by name: give "
            f"each sample its own, or {_BY_POSITION}"
        )
    return places


def _check_union(
    names: dict[int, list[Any]],
    others: list[int],
    named: list[int],
    without: list[int],
    incomplete: bool,
) -> None:
    """Refuse frames of other samples that cannot be lined up, and doubt those with default names.

    ``others`` have other samples than the first frame, ``named`` other names than 0, 1, ..., and
    ``without``, counted from 1, are no frames.
    """
    first, frames = next(iter(names)), list(names)
    apart = unreached(list(names.values()))
    if apart is not None:
        told = _other_names(names, first, frames[apart])
        advice = by_one_name([*names[first], *names[frames[apart]]])
        raise ValueError(f"{told}; {advice} in all frames, or {_BY_POSITION}")
    told = _other_names(names, first, others[0])
    if not incomplete:
        raise ValueError(
            f"{told}; keep those of both (frame.loc[names]): only dmac.DMAC with "
            "recipe='closed_form' takes samples that lack a view"
        )
    if without:
        raise ValueError(
            f"{told}, and view {' and '.join(map(str, without))} has no names: it cannot be told "
            "which of the samples it has; pass a data frame with their names"
        )
    for a in frames:
        if a not in named and any(set(names[b]) - set(names[a]) for b in frames):
            warnings.warn(
                f"view {a + 1} is a data frame with the index 0, 1, ..., as frames have it by "
                "default, and others have more names: these numbers are taken for names of "
                "samples. If they are none, give all frames the names of their samples as index",
                stacklevel=5,
            )


def _other_names(names: dict[int, list[Any]], first: int, a: int) -> str:
    """What is said of two frames with other samples."""
    one, other = set(names[first]), set(names[a])
    lacks = [name for name in names[first] if name not in other]
    extra = [name for name in names[a] if name not in one]
    only = [
        f"{len(some)} only in view {b + 1} ({_some(some)})"
        for b, some in ((first, lacks), (a, extra))
        if some
    ]
    return (
        f"views {first + 1} and {a + 1} are data frames of other samples: "
        f"{len(names[a]) - len(extra)} names are in both, {', '.join(only)}"
    )


def _some(names: Any) -> str:
    """A few names, and dots where there are more."""
    names = list(names)
    shown = ", ".join(f"{name!s:.40}" for name in names[:_EXAMPLES])
    return shown + ", ..." * (len(names) > _EXAMPLES)
