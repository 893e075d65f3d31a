"""Names of samples and features: views are lined up by the first, and held against a fit's second.

Data frames and files are lined up here by the same rules; :mod:`dmac.data.readers` finds the names
in files. Chapter 14 of the book uses the estimator on a reader's own data frames.
"""

from __future__ import annotations

import itertools
import numbers
import re
import zlib
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse

from dmac._warn import warn
from dmac.data.named_views import as_named, is_frame, number_of, title

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dmac._types import Array, Views
    from dmac.data.named_views import NamedView

# So many names stand in a message.
_EXAMPLES = 3
# What missing values of pandas are called; a nan is not even itself.
_NO_NAMES = ("", "nan", "NaT", "<NA>", "None")
_MISMATCH = "The feature names should match those that were passed during fit."


def first_frame(views: Views) -> Any:
    """The first data frame among some views, by whose index they are lined up; None without one."""
    return next((x.values for x in as_named(views) if is_frame(x.values)), None)


def index_of(views: Views) -> Any:
    """The index of what comes out of some views: that of the first data frame, then new names.

    None without a data frame.
    """
    frames = [x.values for x in as_named(views) if is_frame(x.values)]
    index: Any = frames[0].index if frames else None
    for x in frames[1:]:
        index = index if x.index.isin(index).all() else index.union(x.index, sort=False)
    return index


def as_views(x: Any, views: Views) -> Any:
    """A Series in the order of the samples of some data frames; all else is returned unchanged."""
    return in_order(x, index_of(views))


def in_order(x: Any, index: Any) -> Any:
    """A Series in the order of an index.

    One whose index does not hold exactly these names is returned unchanged, as all else is.
    """
    if index is None or not hasattr(x, "index") or not hasattr(x, "iloc"):
        return x
    if not (x.index.is_unique and index.is_unique) or len(x.index) != len(index):
        return x
    places = x.index.get_indexer(index)
    return x if (places < 0).any() else x.iloc[places]


def lined_up(views: Sequence[NamedView], incomplete: bool = False) -> list[NamedView]:
    """Put the rows of views into one order, by the names of their samples.

    It is the order of the first view that has names; those that the next ones add come after. A
    sample that a view does not name lacks that view. Views without names are taken by position, and
    a ``UserWarning`` says so where others have some. The names 0, 1, ..., which data frames have by
    default, are none where no view has others.

    Parameters
    ----------
    views : sequence of v views
    incomplete : bool
        Whether samples may lack views.

    Returns
    -------
    list of v NamedView
        All with the same ``samples``.

    Raises
    ------
    ValueError
        If names have to be compared, and a view has one twice, or none for a sample; or views name
        other samples, and they share none, a view without names is beside them, or no sample may
        lack a view.
    """
    named = {a: x.samples for a, x in enumerate(views) if x.samples is not None}
    if all(names == list(range(len(names))) for names in named.values()):
        return [replace(x, samples=None) for x in views]
    first, every = next(iter(named.items()))
    if all(names == every for names in named.values()):
        if unnamed := _unnamed(views):
            warn(
                f"{title(first, views[first])} has names of samples, and {unnamed} has none: rows "
                "are taken by position, as if all were in its order. To have them lined up by "
                "name, name the samples in every view"
            )
        return [replace(x, samples=every) for x in views]
    places = {a: _places(views[a], a) for a in named}
    if any(own.keys() != places[first].keys() for own in places.values()):
        _check_union(views, places, incomplete)
        every = list(dict.fromkeys(name for own in places.values() for name in own))
    if unnamed := _unnamed(views):
        raise ValueError(
            f"{unnamed} has no names of samples, and the other views have them in different "
            "orders: it cannot be told which row is which sample. Name them in every view"
        )
    return [_placed(x, every, places[a]) for a, x in enumerate(views)]


def _placed(view: NamedView, every: list[Any], places: dict[Any, int]) -> NamedView:
    """A view with a row for every sample, given the rows by their names."""
    if view.samples == every:
        return view
    rows = np.array([places.get(name, -1) for name in every])
    there, x, lacking = rows >= 0, view.values, rows < 0
    if view.lacking is not None:
        lacking |= view.lacking[rows]
    if is_frame(x):
        x = x.iloc[rows.clip(0)]
    elif scipy.sparse.issparse(x):
        x = scipy.sparse.diags_array(there.astype(x.dtype)) @ scipy.sparse.csr_matrix(x)[rows]
        x = scipy.sparse.csr_matrix(x)
    else:
        x = np.asarray(x)[rows]
        x[~there] = 0
    return replace(view, values=x, samples=every, lacking=lacking)


def _unnamed(views: Sequence[NamedView]) -> str:
    """The views without names of samples, in words."""
    return " and ".join(title(a, x) for a, x in enumerate(views) if x.samples is None)


def _places(view: NamedView, a: int) -> dict[Any, int]:
    """The rows of a view by their names, which have to be there and different."""
    names: list[Any] = view.samples or []
    where, advice = title(a, view), "give each sample its own"
    if is_frame(view.values):
        advice += ", or pass frame.to_numpy() to take rows by position"
    try:
        places = {name: i for i, name in enumerate(names)}
    except TypeError as error:  # a list, an array
        raise ValueError(
            f"{where}: names of samples cannot be compared ({error}): {advice}"
        ) from error
    for i, name in enumerate(names):
        if any(str(level) in _NO_NAMES for level in (name if isinstance(name, tuple) else [name])):
            raise ValueError(
                f"{where}: sample {i + 1} has no name (it is {name!r}), and views are lined up by "
                f"name: {advice}"
            )
    if len(places) < len(names):
        twice = [name for name, count in Counter(names).items() if count > 1]
        raise ValueError(
            f"{where} has {len(places)} names for {len(names)} samples (more than once: "
            f"{_some(twice)}), and views are lined up by name: {advice}"
        )
    return places


def _check_union(
    views: Sequence[NamedView], places: dict[int, dict[Any, int]], incomplete: bool
) -> None:
    """Refuse views of other samples that cannot be lined up, and doubt names that look alike."""
    first, *others = places
    reached, rest = set(places[first]), others
    while near := [a for a in rest if not reached.isdisjoint(places[a])]:
        reached.update(*(places[a] for a in near))
        rest = [a for a in rest if a not in near]
    pairs = alike([list(x) for x in places.values()])
    examples = ", ".join(f"{x!r:.40} and {y!r:.40}" for x, y in pairs[:2])
    if rest:
        same = f" ({examples} differ in writing alone)" if pairs else ""
        raise ValueError(
            f"{_difference(views, places, first, rest[0])}: they share no sample, nor through "
            f"another view; call a sample by one name in all of them{same}"
        )
    other = next(a for a in others if places[a].keys() != places[first].keys())
    if not incomplete:
        raise ValueError(
            f"{_difference(views, places, first, other)}; keep those of both (frame.loc[names]): "
            "only the recipe closed_form of dmac.DMAC takes samples that lack a view"
        )
    if pairs:
        warn(
            f"{number_of(len(pairs), 'sample')} may have two names, which differ in writing alone: "
            f"{examples}. They are taken for two samples, each without views that the other has: "
            "if they are one, call it by one name"
        )
    _warn_of_default_names(views, places)


def _warn_of_default_names(views: Sequence[NamedView], places: dict[int, dict[Any, int]]) -> None:
    """Doubt names that frames have by default, where others have more."""
    for a, names in places.items():
        default = list(names) == list(range(len(names)))
        if default and any(other.keys() - names.keys() for other in places.values()):
            warn(
                f"{title(a, views[a])} is a data frame with the index 0, 1, ..., as frames have it "
                "by default, and others have more names: these numbers are taken for names of "
                "samples. If they are none, give all frames the names of their samples as index"
            )


def alike(named: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
    """Names that only one list has and that another list has in another writing.

    They differ in case, type, spaces and other signs, zeros in front, an X before a digit, or in
    parts at the end that the other does not have.
    """
    count = Counter(name for names in named for name in names)
    single = [{_writing(x): x for x in names if count[x] == 1} for names in named]
    pairs: dict[tuple[Any, Any], None] = {}
    for a, b in itertools.permutations(range(len(single)), 2):
        for key, name in single[a].items():
            parts = key.split("-")
            starts = ["-".join(parts[:size]) for size in range(len(parts), 0, -1)]
            other = next((single[b][x] for x in starts if x in single[b]), None)
            if other is not None:
                pairs[(name, other) if a < b else (other, name)] = None
    return list(pairs)


def _writing(name: Any) -> str:
    """What is left of a name where its writing is taken away."""
    text = re.sub(r"^(\d+)\.0+$", r"\1", str(name).strip().casefold())
    text = re.sub(r"[\W_]+", "-", text)
    return re.sub(r"(?<!\d)0+(?=\d)", "", re.sub(r"^x(?=\d)", "", text))


def _difference(
    views: Sequence[NamedView], places: dict[int, dict[Any, int]], a: int, b: int
) -> str:
    """What is said of two views with other samples."""
    both = places[a].keys() & places[b].keys()
    only = [
        f"{len(some)} only in {title(c, views[c])} ({_some(some)})"
        for c in (a, b)
        if (some := [name for name in places[c] if name not in both])
    ]
    return (
        f"{title(a, views[a])} and {title(b, views[b])} have other samples: {len(both)} names are "
        f"in both, {', '.join(only)}"
    )


def _some(names: Iterable[Any]) -> str:
    """A few names, and dots where there are more."""
    names = list(names)
    shown = [f"{name!s:.40}" for name in names[:_EXAMPLES]]
    return ", ".join([*shown, "..."] if len(names) > _EXAMPLES else shown)


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


def feature_names(views: Views) -> Array | None:
    """Names of the columns of all views, side by side: (sum of the d_a,), object.

    None unless every view has some, and all of them are strings.
    """
    names: list[Any] = []
    for x in as_named(views):
        if x.features is None or not all(isinstance(name, str) for name in x.features):
            return None
        names.extend(x.features)
    return np.array(names, dtype=object) if names else None


def column_names(views: Views, n_features: Sequence[int]) -> Array:
    """Like `feature_names`, but with None for unnamed columns and with names that are not text.

    ``n_features`` are the widths of the views.
    """
    named = [_comparable(x.features) or [None] * d for x, d in zip(as_named(views), n_features)]
    return np.array([name for names in named for name in names], dtype=object)


def _comparable(names: list[Any] | None) -> list[Any] | None:
    """Names of columns as a saved model can hold them: all text, or whole numbers, maybe codes."""
    if not names or all(isinstance(name, str) for name in names):
        return names or None
    whole = all(isinstance(name, numbers.Integral) for name in names)
    # Dates, or names of several levels: their order is compared, as that of numbers is.
    return [int(x) if whole else zlib.crc32(str(x).encode()) for x in names]


def check_feature_names(views: Views, fitted: Array | None, n_features: Sequence[int]) -> None:
    """Compare the columns of new views with those that a model was ``fitted`` on.

    ``ValueError`` if a view has other columns than the fitted one, or the same in another order; of
    columns whose names are no text only the order counts. Views without names pass where the model
    has some, and tables of files whose names are all others, with a ``UserWarning``.
    """
    views = as_named(views)
    if fitted is None or len(views) != len(n_features):
        return  # check_views counts the views
    unnamed = []
    for a, (x, names) in enumerate(zip(views, np.split(fitted, np.cumsum(n_features)[:-1]))):
        new, old = _comparable(x.features), list(names)
        if isinstance(old[0], str) and (new is None or not isinstance(new[0], str)):
            unnamed.append(title(a, x))
        elif new is not None and new != old and type(new[0]) is type(old[0]):
            _refuse_others(x, new, old, f"{title(a, x)}: " if len(views) > 1 else "")
    if unnamed:
        warn(
            f"the model was fitted with feature names, and {' and '.join(unnamed)} has none: "
            "columns are taken in the order of the fit"
        )


def _refuse_others(view: NamedView, new: list[Any], old: list[Any], where: str) -> None:
    """Refuse columns of other names, or in another order; of a table with all others warn."""
    if view.source and len(new) == len(old) and set(new).isdisjoint(old):
        warn(
            f"{where}the columns have other names (the first is {new[0]:.40}, and was {old[0]:.40} "
            "in the fit): they are taken in the order of the fit"
        )
    elif isinstance(old[0], str) or sorted(new) == sorted(old):
        raise ValueError(f"{where}{_MISMATCH}\n{_mismatch(set(new), set(old))}")


def _mismatch(new: set[Any], old: set[Any]) -> str:
    """Which columns are new, and which are missing, and what to do, in scikit-learn's words."""
    text = ""
    for what, some in (
        ("Feature names unseen at fit time", sorted(new - old)),
        ("Feature names seen at fit time, yet now missing", sorted(old - new)),
    ):
        shown = [*some[:5], "..."] if len(some) > 5 else some
        text += f"{what}:\n" + "".join(f"- {name}\n" for name in shown) if some else ""
    if not text:
        return (
            "Feature names must be in the same order as they were in fit.\nPut the columns into "
            "that order, as by frame[names]."
        )
    if old - new:
        text += (
            "Fit again without the columns that were not measured, or add each, filled with its "
            "mean in the fit. "
        )
    return text + ("Take out those that the fit has not seen." if new - old else "")
