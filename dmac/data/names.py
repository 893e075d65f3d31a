"""The names of views, of their samples and of their features, by which views are lined up.

Files and data frames become views with names. They are lined up here by the same rules, and their
features compared with those of a fit; :mod:`dmac.data.readers` finds the names in files. "Your own
data" in the book uses the estimator on a reader's own data frames.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from dmac._types import Array, Flags, Views
from dmac._warn import warn
from dmac.data.vocabulary import Column, counts, everywhere, no_samples, says_samples

#: What to do with what is no matrix.
HOW = (
    "pass 2-D arrays, as adata.X or mdata[name].X of cells, x.compute(), x.collect() or "
    "x.toPandas() of a lazy table, list(x.values()) of a dictionary, dmac.load(file).views of "
    "a file"
)
# Number of names in a message.
_EXAMPLES = 3
# Of fewer rows none adds the others up.
_MIN_ROWS = 5
# A row adds the others up if it does in more than this share of the columns that vary.
_ADDED_SHARE = 0.9
# A column varies if its deviation is above this share of its largest magnitude.
_MIN_DEVIATION = 1e-6
# What missing values of pandas are called; a nan is not even itself.
_NO_NAMES = ("", "nan", "NaT", "<NA>", "None")


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
            what = f"a {type(views).__name__}"
            way = HOW
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


def index_of(views: Views) -> Any:
    """The index of what comes out of some views: that of the first data frame, then new names.

    None without a data frame.
    """
    frames = [x for x in as_named(views) if is_frame(x.values)]
    index: Any = frames[0].values.index if frames else None
    for x in frames[1:]:
        other = x.values.index
        if not (x.numbered and len(other) == len(index)):
            index = index if other.isin(index).all() else index.union(other, sort=False)
    return index


def in_order(x: Any, names: Any, what: str, others: str) -> Any:
    """A Series or data frame in the order of the names, an index or a list, that others have.

    One with other names stays as it is, and a ``UserWarning`` says so unless names only count; all
    else stays, too. ``what`` and ``others`` are what the message calls the two.
    """
    if names is None or not hasattr(x, "iloc") or len(x) != len(names):
        return x  # what has another length is refused where it is counted
    if x.index.is_unique and x.index.isin(names).all():
        return x.reindex(names)
    own = x.index.tolist()
    other = list(names)
    if own != other and not counts(own) and not counts(other):
        name, its = next(pair for pair in zip(own, other) if pair[0] != pair[1])
        warn(
            f"{what} and {others} name the samples differently (the first difference is {name!r} "
            f"and {its!r}): rows are taken by position. Give both the same names; or, if row i is "
            "the same sample in both, take the names away, as by .to_numpy()"
        )
    return x


def lined_up(views: list[NamedView], incomplete: bool = False) -> list[NamedView]:
    """Put the rows of views into one order, by the names of their samples.

    It is the order of the first view that has names; those that the next ones add come after. A
    sample that a view does not name lacks that view. Views without names are taken by position, and
    a ``UserWarning`` says so where others have some. The names 0, 1, ..., which data frames have by
    default, are none where no view has others.

    Parameters
    ----------
    views : list of v NamedView
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
    for x in views:
        _check_rows(x)
    _doubt_places(views)
    named = [x for x in views if x.samples is not None]
    if not named:
        return views
    unnamed = [x.where for x in views if x.samples is None]
    has = f"{' and '.join(unnamed)} {'has' if len(unnamed) == 1 else 'have'}"
    if _of_same_rows(named):
        if unnamed and not named[0].numbered:
            warn(
                f"{named[0].where} has names of samples, and {has} "
                "none: rows are taken by position, as if all were in its order. To have them lined "
                "up by name, name the samples in every view"
            )
        return [replace(x, samples=named[0].samples) for x in views]
    if unnamed:
        raise ValueError(
            f"{has} no names of samples, and the other views have them in different "
            "orders: it cannot be told which row is which sample. Name them in every view"
        )
    _doubt_counts(views)
    places = [_places(x) for x in views]
    _check_union(views, places, incomplete)
    union = list(dict.fromkeys(itertools.chain.from_iterable(places)))
    return [_placed(x, union, rows_of_view) for x, rows_of_view in zip(views, places)]


def _check_rows(view: NamedView) -> None:
    """Refuse first and last rows that are no samples, and doubt columns that name them."""
    x: Any = view.values
    if is_frame(x) and x.columns.is_unique:
        ids = [
            name
            for name in x.columns
            if isinstance(name, str)
            and (says_samples(name) or name.startswith("Unnamed: "))
            and x[name].is_unique
        ]
        if ids:
            warn(
                f"{view.where} has the features {_some(map(repr, ids))}, which seem to name or "
                "count the samples: take them out, as by frame.set_index(name)"
            )
    if what := _adds_up(x) if is_frame(x) or view.source else "":
        name = "" if view.samples is None else f" ({view.samples[-1]!s:.40})"
        raise ValueError(
            f"the last row of {view.where}{name} is the {what} of the others, and no sample. Take "
            f"it out of {view.source or 'the view, as by frame.iloc[:-1]'}"
        )
    if wrong := no_samples(view.samples or []):
        raise ValueError(
            f"{view.where} has {_some(map(repr, wrong))} where samples are named: what "
            "describes features or adds samples up is none. Take that line or column out of "
            f"{view.source or f'the view, as by frame.drop(index={wrong[:_EXAMPLES]})'}"
        )


def _adds_up(x: Any) -> str:
    """Whether a last row is the sum or the mean of the others in nearly all columns that vary."""
    x = x.to_numpy() if is_frame(x) else x
    if not isinstance(x, np.ndarray) or x.dtype.kind not in "iuf" or len(x) < _MIN_ROWS:
        return ""
    others = x[:-1].astype(float)
    last = x[-1].astype(float)
    spread = others.std(0)
    varies = spread > _MIN_DEVIATION * abs(others).max(0)
    for what, wanted, reach, columns in (
        ("sum", others.sum(0), abs(others.sum(0)) / 1000, 2),
        ("mean", others.mean(0), spread / 20, 3),
    ):
        near = (abs(last - wanted) <= reach) & ((others == last).mean(0) < 0.5)
        if varies.sum() >= columns and near[varies].mean() > _ADDED_SHARE:
            return what
    return ""


def _of_same_rows(named: Sequence[NamedView]) -> bool:
    """Whether views have the same names in one order, or none that say more than their places."""
    places = all(x.numbered for x in named) and (
        len({len(x.samples or []) for x in named}) == 1
        or len({str((x.samples or [""])[0]) for x in named}) == 1
    )
    return places or all(x.samples == named[0].samples for x in named)


def _doubt_places(views: Sequence[NamedView]) -> None:
    """Warn where frames go by places, and a column of all has the same names in other orders."""
    frames: list[Any] = [x.values for x in views]
    tables = all(hasattr(x, "columns") and hasattr(x, "to_numpy") for x in frames)  # or polars'
    if not tables or len(views) < 2 or len({tuple(x.samples or ()) for x in views}) > 1:
        return
    shared = [x for x in frames[0].columns if all(x in of.columns for of in frames)]
    columns_of = [[Column(x[name].to_numpy(), name) for name in shared] for x in frames]
    found = [columns[j] for columns, j in zip(columns_of, everywhere(columns_of) or ())]
    if any(x.names != found[0].names for x in found):
        name = found[0].header
        warn(
            f"all views have the column {name!r}, with the same distinct values in other "
            "orders, and row i is taken for the same sample: to have them lined up by it, name "
            f"them by frame.set_index({name!r}); if it names no samples, all is well"
        )


def _doubt_counts(views: Sequence[NamedView]) -> None:
    """Refuse names that only count rows beside other whole numbers.

    Where one view has all numbers of the other, or a header says that they are ids, it is told.
    """
    every = [set(map(str, x.samples or [])) for x in views]
    for a, b in itertools.permutations(range(len(views)), 2):
        if (
            every[a] != every[b]
            and counts(views[a].samples or [])
            and all(map(str.isdecimal, every[b]))
        ):
            others = [x for i, x in enumerate(views[b].samples or []) if str(x) != str(i)]
            text = (
                f"{views[a].where} only counts its samples ({_some(views[a].samples)}), and "
                f"{views[b].where} has other whole numbers ({_some(others)}): one "
                "number may be two samples. Name them by ids, as by frame.set_index(id); or, if "
                "row i is the same sample in both, take the numbers out of both, as by "
                "frame.reset_index(drop=True)"
            )
            if views[a].numbered and not (every[a] < every[b] or every[b] < every[a]):
                raise ValueError(text)
            return warn(text)


def _placed(view: NamedView, every: list[Any], places: dict[Any, int]) -> NamedView:
    """A view with a row for every sample, given the rows by their names."""
    if view.samples == every:
        return view
    rows = np.array([places.get(name, -1) for name in every])
    as_rows = scipy.sparse.csr_matrix if scipy.sparse.issparse(view.values) else np.asarray
    x = view.values.iloc if hasattr(view.values, "iloc") else as_rows(view.values)
    present = (rows >= 0) & (True if view.present is None else view.present[rows])
    return replace(view, values=x[rows], samples=every, present=present)


def _places(view: NamedView) -> dict[Any, int]:
    """The rows of a view by their names, which have to be there and different."""
    count = Counter(view.samples or [])
    # A part of a name of several levels may be missing, too.
    bad = [
        name
        for name in count
        if count[name] > 1
        or any(str(x) in _NO_NAMES for x in (name if isinstance(name, tuple) else (name,)))
    ]
    if bad:
        way = ", or pass frame.to_numpy() to take rows by position" if is_frame(view.values) else ""
        raise ValueError(
            f"{view.where} names samples twice, or not at all ({_some(map(repr, bad))}), and "
            f"views are lined up by name: give each its own, of two columns if need be{way}"
        )
    return {name: i for i, name in enumerate(count)}


def _check_union(
    views: Sequence[NamedView], places: list[dict[Any, int]], incomplete: bool
) -> None:
    """Refuse views of other samples that cannot be lined up, and doubt names that look alike."""
    reached = set(places[0])
    rest = list(range(1, len(places)))
    while near := [a for a in rest if not reached.isdisjoint(places[a])]:
        reached.update(*(places[a] for a in near))
        rest = [a for a in rest if a not in near]
    pairs = alike(places)
    # Two forms of Unicode look the same.
    forms = [len({unicodedata.normalize("NFC", str(x)) for x in pair}) == 1 for pair in pairs[:2]]
    shown = [[*map(ascii if form else repr, pair)] for form, pair in zip(forms, pairs)]
    examples = ", ".join(f"{x:.40} and {y:.40}" for x, y in shown)
    other = [a for a, rows_of_view in enumerate(places) if rows_of_view.keys() != places[0].keys()]
    for a in rest[:1] or ([] if incomplete else other[:1]):
        both = places[0].keys() & places[a].keys()
        only = [
            f"{len(own)} only in {views[c].where} ({_some(own)})"
            for c in (0, a)
            if (own := [name for name in places[c] if name not in both])
        ]
        what = (
            f"{views[0].where} and {views[a].where} have other samples: {len(both)} names are "
            f"in both, {', '.join(only)}"
        )
        if rest:
            same = f" ({examples} differ in writing alone)" if pairs else ""
            raise ValueError(
                f"{what}: they share no sample, nor through another view; call a sample by one "
                f"name in all of them{same}"
            )
        raise ValueError(
            f"{what}; keep those of both (frame.loc[names]): only dmac.AnchorGraphClustering takes "
            "samples that lack a view"
        )
    if pairs:
        warn(
            f"{number_of(len(pairs), 'sample')} may have two names, which differ in writing alone: "
            f"{examples}. They are taken for two samples, each without views that the other has: "
            "if they are one, call it by one name"
        )


def alike(named: Sequence[Collection[Any]]) -> list[tuple[Any, Any]]:
    """Names that only one list has and that another list has in another writing.

    They differ in case, type, Unicode form, spaces and other signs, zeros in front, an X before a
    digit, in parts at the end that the other does not have (TCGA-A1-01 and TCGA-A1-01A-11R), or in
    the last word (P1_rna and P1_prot), where no other name of either list is the same but for that.
    """
    count = Counter(name for names in named for name in names)
    forms = [{name: _writing(name) for name in names} for names in named]
    stems = [Counter(_stem(text) for text in of_list.values()) for of_list in forms]
    pairs: dict[tuple[Any, Any], None] = {}
    for a, b in itertools.permutations(range(len(named)), 2):
        others = {text: name for name, text in forms[b].items() if count[name] == 1}
        by_stem = {_stem(text): name for text, name in others.items()}
        for name, text in forms[a].items():
            starts = itertools.accumulate(text.split("-"), "{}-{}".format)
            found = [others[start] for start in starts if start in others]
            stem = _stem(text)
            if stem in by_stem and stems[a][stem] == stems[b][stem] == 1:
                found.append(by_stem[stem])
            if count[name] == 1 and found:
                pairs[(name, found[-1]) if a < b else (found[-1], name)] = None
    return list(pairs)


def _writing(name: Any) -> str:
    """What is left of a name where its writing is taken away, in parts with - between."""
    text = unicodedata.normalize("NFKC", str(name)).strip().casefold()
    text = re.sub(r"^(\d+)\.0+$", r"\1", text)
    text = re.sub(r"(?<=\d)t(?=\d)|[\W_]+|(?<=\d)(?=[^\W\d])", "-", text)
    return re.sub(r"(?<!\d)0+(?=\d)", "", re.sub(r"^x(?=\d)", "", text))


def _stem(text: str) -> str:
    """A name without a last word, if what stands before has a digit."""
    stem, _, last = text.rpartition("-")
    return stem if last.isalpha() and len(last) > 1 and re.search(r"\d", stem) else text


def _some(names: Iterable[Any] | None) -> str:
    """A few names, and dots where there are more."""
    names = list(names or [])
    shown = [f"{name!s:.40}" for name in names[:_EXAMPLES]]
    return ", ".join([*shown, "..."] if len(names) > _EXAMPLES else shown)


def column_names(views: Iterable[NamedView]) -> Array:
    """Names of the columns of all matrices, side by side: (sum of the d_a,), object.

    They are None for the columns of a view whose names are not all text.
    """
    named = [_texts(x) or [None] * x.values.shape[1] for x in views]
    return np.array([name for names in named for name in names], dtype=object)


def _texts(view: NamedView) -> list[Any]:
    """Names of columns, where all of them are text."""
    names = view.features or []
    return names if all(isinstance(name, str) for name in names) else []


def check_feature_names(
    views: Sequence[NamedView], fitted: Array, n_features: Sequence[int]
) -> None:
    """Compare the columns of new views with those that a model was ``fitted`` on.

    ``ValueError`` if a view has other columns than the fitted one, or the same in another order.
    Names that are no text are not compared, and views without names pass with a ``UserWarning``
    where the model has some.
    """
    if len(views) != len(n_features):
        return  # they are counted by themselves
    unnamed = []
    for x, names in zip(views, np.split(fitted, np.cumsum(n_features)[:-1])):
        new = _texts(x)
        old = [name for name in names if isinstance(name, str)]
        if old and not new:
            unnamed.append(x.where)
        elif old and new != old:
            where = f"{x.where}: " if len(views) > 1 else ""
            raise ValueError(f"{where}{_mismatch(new, old)}")
    if unnamed:
        warn(
            f"the model was fitted with feature names, and {' and '.join(unnamed)} has none: "
            "columns are taken in the order of the fit"
        )


def _mismatch(new: list[str], old: list[str]) -> str:
    """Which columns are new, and which are missing, and what to do, in scikit-learn's words."""
    lists = ""
    advice = "Put the columns into that order, as by frame[names]."
    for what, names, to_do in (
        ("unseen at fit time", set(new) - set(old), "Take out those that the fit has not seen."),
        (
            "seen at fit time, yet now missing",
            set(old) - set(new),
            "Fit again without the columns that were not measured, or add each, filled with its "
            "mean in the fit. Take out those that the fit has not seen.",
        ),
    ):
        if names:
            shown = [*sorted(names)[:5], "..."] if len(names) > 5 else sorted(names)
            lists += f"Feature names {what}:\n" + "".join(f"- {name}\n" for name in shown)
            advice = to_do
    lists = lists or "Feature names must be in the same order as they were in fit.\n"
    return f"The feature names should match those that were passed during fit.\n{lists}{advice}"
