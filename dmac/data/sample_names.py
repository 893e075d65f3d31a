"""Names of samples: data frames are lined up by their index before anything is computed.

Chapter 19 of the book uses the estimator on a reader's own data frames.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dmac._types import Views

# So many names stand in a message.
_EXAMPLES = 3
_BY_POSITION = "pass frame.to_numpy() to take rows by position"


def is_frame(x: object) -> bool:
    """Whether a view is a data frame with an index."""
    return all(hasattr(x, name) for name in ("columns", "index", "iloc"))


def first_frame(views: Views) -> Any:
    """The first data frame among some views, by whose index they are lined up; None without one."""
    views = views if isinstance(views, (list, tuple)) else [views]
    return next((x for x in views if is_frame(x)), None)


def lined_up(views: Sequence[Any]) -> list[Any]:
    """Put the rows of data frames into the order of the first one, by the names in their index.

    Views without an index are taken by position, in the order of the first frame; a ``UserWarning``
    says so where that has other names than 0, 1, ...

    Parameters
    ----------
    views : list of v views of any kind

    Returns
    -------
    list
        The views themselves but for frames in another order.

    Raises
    ------
    ValueError
        If two frames have other names, or one of several has a name twice.
    """
    frames = [a for a, x in enumerate(views) if is_frame(x)]
    if not frames or len(views) == 1:
        return list(views)
    names = {a: views[a].index.tolist() for a in frames}
    named = [a for a in frames if names[a] != list(range(len(names[a])))]
    if not named:
        return list(views)
    first, out = frames[0], list(views)
    if len(frames) > 1:
        places = {a: _places(names[a], a) for a in frames}
        for a in frames[1:]:
            if names[a] == names[first]:
                continue
            if places[a].keys() != places[first].keys():
                raise ValueError(_other_names(names, places, first, a))
            out[a] = views[a].iloc[[places[a][name] for name in names[first]]]
    if len(frames) < len(views):
        without = " and ".join(str(a + 1) for a in range(len(views)) if a not in frames)
        warnings.warn(
            f"view {first + 1} is a data frame with names of samples, and view {without} has none: "
            "rows are taken by position, as if all were in the order of that frame. To have them "
            "lined up by name, pass frames with the same index",
            stacklevel=4,
        )
    return out


def _places(names: list[Any], a: int) -> dict[Any, int]:
    """Rows by the names of a view; they have to be different."""
    places = {name: i for i, name in enumerate(names)}
    if len(places) < len(names):
        twice = [name for i, name in enumerate(names) if places[name] != i]
        raise ValueError(
            f"view {a + 1} is a data frame of {len(names)} samples with {len(places)} names (more "
            f"than once: {_some(dict.fromkeys(twice))}), and frames are lined up by name: give "
            f"each sample its own, or {_BY_POSITION}"
        )
    return places


def _other_names(
    names: dict[int, list[Any]], places: dict[int, dict[Any, int]], first: int, a: int
) -> str:
    """What is said of two frames with other samples."""
    lacks = [name for name in names[first] if name not in places[a]]
    extra = [name for name in names[a] if name not in places[first]]
    only = [
        f"{len(some)} only in view {b + 1} ({_some(some)})"
        for b, some in ((first, lacks), (a, extra))
        if some
    ]
    return (
        f"views {first + 1} and {a + 1} are data frames of other samples: "
        f"{len(names[a]) - len(extra)} names are in both, {', '.join(only)}; keep those "
        f"of both (frame.loc[names]), or {_BY_POSITION}"
    )


def _some(names: Any) -> str:
    """A few names, and dots where there are more."""
    names = list(names)
    shown = ", ".join(f"{name!s:.40}" for name in names[:_EXAMPLES])
    return shown + ", ..." * (len(names) > _EXAMPLES)
