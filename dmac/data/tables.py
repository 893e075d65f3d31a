"""Tables of text and spreadsheets: their cells, their header, and the names of their samples.

pandas reads the cells. :mod:`dmac.data.readers` says in which order these steps are taken.
"""

from __future__ import annotations

import csv
import gzip
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, takewhile, tee
from pathlib import Path
from typing import Any

import numpy as np

from dmac._types import Flags, Floats
from dmac._warn import warn
from dmac.data.named_views import NamedView, called, counts, is_frame, stem
from dmac.data.vocabulary import (
    KNOWN,
    Column,
    as_text,
    marks,
    mending,
    parsed,
    says_samples,
    whole,
)

Frame = Any  # pandas is imported where a table is read

#: Endings of tables of text, and of those that pandas reads where another package is installed.
TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
BINARY = (".parquet", ".xlsx")
# What separates cells, a number behind it, and numbers as most of Europe writes them where
# semicolons do: with a decimal comma, and with points between thousands, which may be none.
_SEPARATORS = "\t;,|"
_NUMBER = r"[\t;,|][\s\"]*[+-]?\.?\d"
_DECIMAL_COMMA = r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*"
_POINTS = r"\s*[+-]?\d{1,3}(?:\.\d{3})+(?:,\d+)?\s*"
# So many lines are looked at for what a table is, and so many cells of a header are shown.
_HEAD, _SHOWN = 30, 4
# Numbers of a header go up by steps that differ by less than this share, or are such years.
_ONE_STEP, _YEARS = 0.2, (1800, 2101)
# Words above the ends of edges.
_OF_EDGES = set("source target from to node edge".split())


def read_table(file: Path) -> list[NamedView]:
    """The cells of a table, or of every sheet of a workbook: numbers, words, and nan for none.

    Tabs separate the cells of a text, or semicolons, or commas, or bars, or in a ``.txt`` file
    spaces: the first of these that its first line has. Between semicolons a number may have a
    decimal comma, as spreadsheets of many countries write it.

    Parameters
    ----------
    file : path

    Returns
    -------
    list of NamedView

    Raises
    ------
    ValueError
        If it is no such table, or empty.
    ImportError
        If pandas needs another package for it.
    """
    import pandas as pd

    if file.suffix.lower() == ".xlsx":
        sheets = pd.read_excel(
            file,
            sheet_name=None,
            header=None,
            dtype=str,
            engine="openpyxl",
            keep_default_na=False,
            na_values=[""],
        )
    elif file.suffix.lower() == ".parquet":
        frame = pd.read_parquet(file)
        if frame.index.names != [None] or not frame.index.equals(pd.RangeIndex(len(frame))):
            frame = frame.reset_index()
        cells = frame.astype(object).where(frame.notna(), np.nan)
        lists = cells.map(lambda x: isinstance(x, (list, tuple, dict, np.ndarray))).any()
        if lists.any():
            named = lists.index[lists].tolist()
            raise ValueError(f"it has lists in its cells: frame.drop(columns={named})")
        sheets = {"": pd.DataFrame(np.vstack([[str(x) for x in frame.columns], cells]))}
    else:
        sheets = {"": _read_text(file)}
    frames = {
        str(name): x.astype(object).rename_axis(index="line", columns="column")
        for name, x in sheets.items()
        if x.size
    }
    if not frames:
        raise ValueError("it is empty")
    return [NamedView(x, name if len(frames) > 1 else stem(file)) for name, x in frames.items()]


def _read_text(file: Path) -> Frame:
    """The cells of a table of text; the first line, and columns that may have ids, are text."""
    import pandas as pd

    above, head, encoding = _head(file)
    if not head:
        return pd.DataFrame()
    signs = f"{_SEPARATORS} " if ".txt" in file.name.lower() else _SEPARATORS
    cut = {
        x: list(csv.reader(head.values(), delimiter=x, skipinitialspace=x == " ")) for x in signs
    }
    # What parts most lines into as many cells, the first of equals.
    widths = {x: Counter(len(row) for row in cut[x] if len(row) > 1).values() for x in signs}
    sign = max(signs, key=lambda x: max(widths[x], default=0))
    rows = cut[sign]
    _check_title(rows, [*head], sign)
    first, width = _first_line(rows)
    commas = _columns(rows, _DECIMAL_COMMA) if sign == ";" else set()
    # Columns that may have ids are text: of such a header, with zeros in front, and the first.
    text = {j for j, x in enumerate(first) if says_samples(x, j)} | _columns(rows, r"\s*0\d+\s*")
    rest = pd.read_csv(
        file,
        sep=r"\s+" if sign == " " else sign,
        skiprows=above,
        header=0,
        names=range(width),
        index_col=False,
        dtype=dict.fromkeys(text | ({0} - commas), str),
        keep_default_na=False,
        na_values=["", "\x1a"],  # the second is where a file of DOS ends
        skipinitialspace=True,
        low_memory=False,
        decimal="," if commas else ".",
        encoding=encoding,
        compression="gzip" if file.suffix.lower() == ".gz" else None,
    )
    if commas:
        _check_points(rest.drop(columns=list(text)), above)
        first = [x.replace(",", ".") if re.fullmatch(_DECIMAL_COMMA, x) else x for x in first]
    cells = np.full((len(rest) + 1, width), np.nan, object)
    cells[0, : len(first)], cells[1:] = [x or np.nan for x in first], rest.to_numpy(object)
    return pd.DataFrame(cells, range(above, above + len(cells)))


def _check_title(rows: list[list[str]], places: list[int], sign: str) -> None:
    """Refuse lines above the header that have fewer cells, as titles have."""
    filled = [sum(map(bool, map(str.strip, row))) for row in rows]
    usual = max(sorted(filled, reverse=True), key=filled.count)
    above = takewhile(
        lambda i: filled[i] < usual and not np.isfinite(parsed(rows[i + 1])[0]).any(),
        range(len(rows) - 1),
    )
    titles = 0 if has_gaps(rows[0]) else len(list(above))
    if titles:
        raise ValueError(
            f"expected {usual} fields in line {places[0] + 1}, saw {filled[0]}; lines above the "
            f"table have to go, as by pandas.read_csv(file, sep={sign!r}, "
            f"skiprows={places[titles]})"
        )


def has_gaps(first: list[str]) -> bool:
    """Whether a line has empty cells between others, as where a cell stands for several columns."""
    return "\t\t" in "\t".join(first[1:]).strip("\t")


def _first_line(rows: list[list[str]]) -> tuple[list[str], int]:
    """The first line, and how many columns there are."""
    first, second = ([x.strip() for x in row] for row in [*rows, []][:2])
    first[0] = first[0].removeprefix("#").strip()
    width = max(len(first), len(second))
    if second and second[-1] and len(first) == width - 1 and parsed(first)[1].any():
        return ["", *first], width  # as R writes it
    return first, width


def _check_points(cells: Frame, above: int) -> None:
    """Refuse what may be points between thousands, in a table with decimal commas."""
    for j, column in cells.select_dtypes(exclude="number").items():
        for i in np.flatnonzero(column.astype(str).str.fullmatch(_POINTS))[:1]:
            raise ValueError(
                f"line {above + i + 2}, column {j + 1} holds {column[i]!r} among numbers with a "
                "decimal comma: pandas.read_csv(file, sep=';', decimal=',', thousands='.')"
            )


def _columns(rows: list[list[str]], pattern: str) -> set[int]:
    """The columns in which some cell is of this form."""
    return {j for row in rows for j, x in enumerate(row) if re.fullmatch(pattern, x)}


def _head(file: Path) -> tuple[int, dict[int, str], str]:
    """How many lines stand above a table, its first lines by their places, and their encoding.

    Above are blank lines and those that begin with #, which a ``UserWarning`` says.
    """
    unpacked = gzip.open if file.suffix.lower() == ".gz" else open
    with unpacked(file, "rb") as opened:
        encoding = "utf-16" if opened.read(2) in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    with unpacked(file, "rt", encoding=encoding, newline="") as lines:
        first, every = tee(lines)
        above = sum(1 for _ in takewhile(lambda x: not x.strip() or x.startswith("#"), first))
        head = list(islice(every, above + _HEAD))
    # A header may begin with #, as that of BIOM tables: numbers stand below it, in as many cells.
    signs = [[line.count(x) for x in _SEPARATORS] for line in head[above - 1 : above + 1]]
    if len(signs) == 2 and signs[0] == signs[1] and re.search(_NUMBER, head[above]):
        above -= 1
    if any(line.startswith("#") for line in head[:above]):
        warn(f"{file.name}: the lines above the table that begin with # are left out")
    return (
        above,
        {i: x for i, x in enumerate(head) if i >= above and x.strip().strip("\x1a")},
        encoding,
    )


def with_header(view: NamedView, transposed: bool, key: object = None) -> NamedView:
    """A table with a row for each sample, whose first line may have the names of its features.

    The first line is a header if it has a word where a number stands below, or the name of classes,
    or ``key``, or, first, a name of names; or if its numbers are those of a header, which a
    ``UserWarning`` says. A line that counts above a line of words is none, and one
    that names groups of columns is refused.

    Parameters
    ----------
    view : NamedView
        As :func:`read_table` gives it.
    transposed : bool
        Whether the samples are its columns; they are not, where one of these is called ``key``.
    key : str, False or None
        What the known classes are called.
    """
    turned = transposed and key not in as_text(view.values.iloc[0])
    cells = (view.values.T if turned else view.values).dropna(axis=1, how="all")
    if not cells.size:
        raise ValueError(f"{view.source} is empty")
    cells = cells.loc[: cells.last_valid_index()]
    first, above = as_text(cells.iloc[0]), parsed(cells.iloc[:2])[1]
    if (counts(first) or counts(first[1:])) and above[1:].any() and above[-1].all():
        cells = cells.iloc[1:]
        first, above = as_text(cells.iloc[0]), above[1:]
    x = parsed(cells.iloc[1:_HEAD])[0]
    below = np.isfinite(x).any(0)
    second = as_text(cells.iloc[min(1, len(cells) - 1)])
    if cells.index.name == "line" and _names_groups(first, second, x, above):
        raise ValueError(
            f"{view.source}: its first line has gaps or repeats above another one, "
            "as names of groups of columns do: write one line of names, as by "
            "pandas.read_csv(file, header=[0, 1], index_col=0).pipe(lambda frame: frame.set_axis("
            "[' '.join(map(str, x)) for x in frame], axis=1))"
        )
    named = key in first or any(whole(cell) in KNOWN for cell in first)
    named |= (above[0] & below).any() or (len(first) > 1 and says_samples(first[0], 0))
    why = "" if named else _counting(first, as_text(cells.iloc[1:_HEAD, 0]), x)
    if why:
        warn(
            f"{view.source}: the first {cells.index.name} {why}, and is no sample; if it is one, "
            "write a line of names above it"
        )
    if not (named or why):
        return replace(view, values=cells)
    return replace(view, values=cells.iloc[1:], features=first)


def _names_groups(first: list[str], second: list[str], below: Floats, words: Flags) -> bool:
    """Whether a first line names groups of columns, and the second one the columns."""
    if has_gaps(first) and (words[0, 1:].any() or not first[0]):
        return "" not in second[1:]
    pairs, inner = list(zip(first[1:], second[1:])), first[1:]
    if len(set(inner)) == len(inner) or len(set(pairs)) < len(pairs) or not words[0, 1:].all():
        return False
    over_numbers = (words[-1] & np.isfinite(below[1:]).any(0))[1:].any()
    is_whole = (parsed(second[1:])[0] % 1 == 0).all() and (below[1:, 1:] % 1 > 0).any(0).all()
    one = not re.search(r"\d", second[0]) and (says_samples(second[0], 0) or is_whole)
    return bool(over_numbers or one)


def _counting(first: list[str], names: list[str], below: Floats) -> str:
    """What makes the numbers of a first line a header's, as they can only be told; else "".

    They count 0, 1, 2, ...; or behind a word they go up by about one step, are years, or are whole
    above fractions, or the word has no digit where the names below have; without a word there has
    to be a step as well as fractions.
    """
    if len(first) > 2 and first == [str(j) for j in range(len(first))]:
        return "counts 0, 1, 2, ..., as tables without names of columns are written"
    behind = int(parsed(first)[1][0])
    x, below = parsed(first[behind:])[0], below[:, behind:]
    steps = np.diff(x)
    if len(x) < 2 or len(set(x)) < len(x) or not (np.isfinite(x).all() and len(below)):
        return ""

    def rises(steps: Floats) -> bool:
        return len(steps) > 1 and steps.min() > 0 and np.ptp(steps) <= _ONE_STEP * steps.mean()

    is_whole = (x % 1 == 0).all()
    fractions = is_whole and len(x) > 2 and (below % 1 > 0).any(0).all()
    step = rises(steps) and not rises(np.diff(below[0]))
    years = is_whole and ((x >= _YEARS[0]) & (x < _YEARS[1])).all()
    years = years and not ((below >= _YEARS[0]) & (below < _YEARS[1])).all()
    digits = [bool(re.search(r"\d", name)) for name in (first[0], *names)]
    alone = is_whole and len(names) > 1 and not digits[0] and all(digits[1:])
    if (behind and (step or years or fractions or alone)) or (step and fractions and len(x) > 3):
        return f"({', '.join(first[:_SHOWN])}, ...) has numbers as those of a header"
    return ""


def name_samples(items: list[NamedView], left_out: dict[str, str]) -> list[NamedView]:
    """Take the column that names the samples out of each table.

    It is one of ids by its header, or a first column of words, most of them distinct, where the
    tables share half of these names. Else it is a column that every table has under the same
    header, with distinct words or whole numbers of which the tables share more than half, wherever
    it stands; or a first column whose values name the samples of another table. A column that
    counts the rows names them only where no other does, and is left out.

    Parameters
    ----------
    items : list of NamedView
        Tables with a header, as :func:`with_header` gives them; what is no table is returned as it
        is.
    left_out : dict of str to str
        Columns that are no features go there by their names, with the reason.

    Returns
    -------
    list of NamedView
    """
    tables = [x for x in items if is_frame(x.values) and x.values.shape[1] > 1]
    columns = [columns_of(x) for x in tables]
    running = [[j for j, x in enumerate(row) if x.runs(j)] for row in columns]
    own = [_own_names(x, places) for x, places in zip(columns, running)]
    cells = [[] if j is None else x[j].text for x, j in zip(columns, own)]
    if len(tables) > 1 and _share(cells) < 0.5:
        own = _everywhere(columns) or own
    names = next((x[j].text for x, j in zip(columns, own) if j is not None), [])
    alike = [_share([names, x[0].names]) > 0.5 for x in columns]
    own = [0 if j is None and same else j for j, same in zip(own, alike)]
    named = {}
    for x, row, j, places in zip(tables, columns, own, running):
        j = places[0] if j is None and places else j
        rest = [k for k in places if k != j]
        headers = (row[k].header or "column 1" for k in rest)
        left_out |= {f"{called(x)}, {header}": "it only numbers the rows" for header in headers}
        named[id(x)] = _named(x, j, rest)
    return [named.get(id(x), x) for x in items]


def columns_of(view: NamedView) -> list[Column]:
    """The columns of a table, by their number where they have no name."""
    cells, places = view.values.to_numpy(), view.values.columns
    headers = view.features or [f"{places.name} {j + 1}" for j in places]
    return [Column(x, header) for x, header in zip(cells.T, headers)]


def _share(named: list[list[str]]) -> float:
    """The share of names that every list has with the first, at least."""
    first, *rest = map(set, named)
    return min(len(x & first) / max(min(len(x), len(first)), 1) for x in rest)


def _everywhere(tables: list[list[Column]]) -> list[int] | None:
    """The columns of the same header in all tables whose values are the same in most rows."""
    every = []
    for columns in tables:
        count = Counter(x.header for x in columns)
        every.append({x.header: j for j, x in enumerate(columns) if count[x.header] == 1})
    first, *rest = every
    ids = {
        header: [columns[places[header]] for columns, places in zip(tables, every)]
        for header in first
        if all(header in places for places in rest)
    }
    shares = {header: _share([x.names for x in ids[header]]) for header in ids}
    shared = [header for header in shares if shares[header] > 0.5]
    if not shared:
        return None
    best = max(shared, key=lambda x: (not any(counts(y.names) for y in ids[x]), shares[x]))
    return [places[best] for places in every]


def _own_names(columns: list[Column], running: list[int]) -> int | None:
    """The column that names the samples, as far as the table itself says it, and not by counts."""
    rest = [j for j in range(len(columns)) if j not in running]
    for place, j in enumerate(rest):
        sure = place == 0 and not running
        if says_samples(columns[j].header, place) and (sure or columns[j].names):
            return j
    if rest and columns[rest[0]].has_words():
        return rest[0]
    return next((j for j in running if not counts(columns[j].plain)), None)


def _named(view: NamedView, j: int | None, others: list[int]) -> NamedView:
    """A table without column j, which has the names of its samples, and without others."""
    if j is None:
        return view
    cells = view.values.dropna(how="all")  # a row without any cell is no sample, if it has no name
    view = replace(view, values=cells)
    names = columns_of(view)[j]
    samples = names.plain if names.numbered else names.text
    return without(replace(view, samples=samples, numbered=names.numbered), j, *others)


def without(view: NamedView, *places: int) -> NamedView:
    """A table, or an array whose columns have names, without some columns."""
    kept = [k for k in range(view.values.shape[1]) if k not in set(places)]
    features = None if view.features is None else [view.features[k] for k in kept]
    x = view.values.iloc if is_frame(view.values) else view.values[:]
    return replace(view, values=x[:, kept], features=features)


def completed(x: Floats, missing: Sequence[Any], fill: str | float | None) -> Floats:
    """Numbers (n, d): codes become nan, and nan becomes ``fill`` where a row has other numbers.

    It is "median" or "mean", those of the columns, or a number.
    """
    if len(missing):
        codes = parsed(list(missing))[0]
        x = np.where(np.isin(x, [*codes.tolist(), *codes.astype(np.float32)]), np.nan, x)
    if fill is None:
        return x
    by: Any = {"median": np.nanmedian, "mean": np.nanmean}.get(str(fill))
    with warnings.catch_warnings(action="ignore"):  # of columns without any number
        value = by(x, axis=0) if by else parsed([fill])[0]
    if not by and np.isnan(value[0]):
        raise ValueError(f"fill={fill!r} is neither 'median' nor 'mean', nor a number")
    return np.where(_gaps(x), value, x)


def _gaps(x: Floats, words: Sequence[int] = ()) -> Flags:
    """Which cells are nan in rows that have numbers, beside columns of words."""
    others = np.delete(np.arange(x.shape[1]), np.asarray(words, int))
    gaps = np.zeros(x.shape, bool)
    filled: Any = np.isfinite(x[:, others]).any(1)
    gaps[:, others] = np.isnan(x[:, others]) & filled[:, None]
    return gaps


def numbers(
    view: NamedView, missing: Sequence[Any] = (), fill: str | float | None = None
) -> NamedView:
    """A table as one view: float64, with zeros for samples that have no value, and so lack it.

    It is a ``ValueError`` if a cell is no number; the message has the line and the column, or all
    columns of words, what they look like and the line that mends them. See `completed` for
    ``missing`` and ``fill``.
    """
    cells, columns = view.values, view.values.columns
    cells = cells.mask(cells.isin(list(map(str, missing))))
    x, words = parsed(cells)
    turned = columns.name == "line"
    text = np.flatnonzero(words.sum(int(turned)) > np.isfinite(x).sum(int(turned)))
    x = np.where(words, np.inf, completed(np.where(words, np.nan, x), missing, None))
    gaps = _gaps(x, () if turned else text.tolist())
    names = (view.samples if turned else view.features) or [
        f"column {j + 1}" for j in range(cells.shape[1 - turned])
    ]
    if len(text):
        table = cells.T if turned else cells
        named = [names[j] for j in text]
        way = f"they describe features: frame.drop(columns={named})"
        if not turned:
            every = {name: as_text(table.iloc[:, j]) for j, name in enumerate(names)}
            way = mending(every, named, view.samples)
        listed = ", ".join(f"{names[j]} ({table.iloc[0, j]!s:.20}, ...)" for j in text)
        also = f", and {_gaps_in(gaps, names)}" if gaps.any() and not turned else ""
        raise ValueError(
            f"{view.source} has columns of words, not numbers: {listed}{also}; {way}; drop="
            f"{', '.join(named)!r} leaves them out; if it is no view, views_key= names the views"
        )
    x = completed(x, (), fill)
    lacking: Any = np.isnan(x).all(1)
    x[lacking] = 0
    bad = np.argwhere(~np.isfinite(x))
    for i, j in bad[:1]:
        place = {cells.index.name: cells.index[i] + 1, columns.name: columns[j] + 1}
        cell = view.values.iloc[i, j]
        holds = "is empty" if cell != cell else f"holds {str(cell)!r}, not a number"
        others = f", the first of {len(bad)} such cells" if len(bad) > 1 else ""
        way = (
            "fill='median' fills gaps, as frame.fillna(frame.select_dtypes('number').median()) does"
        )
        found = sorted({str(cells.iloc[i, j]) for i, j in bad if words[i, j]})[:_SHOWN]
        if found and set(bad[:, 0]) == {0} and view.features and not turned:
            skipped = f"pandas.read_csv(file, skiprows=[{place['line'] - 1}])"
            way = f"the line seems to have units: {skipped}"
        elif found:
            way = (
                f"if it stands for what is missing, missing={found[0]!r} says so, as "
                f"pandas.read_csv(file, na_values={found}) does, and {way}"
            )
        raise ValueError(
            f"{view.source}, line {place['line']}, column {place['column']} {holds}{others}; "
            f"{way}, and drop=name leaves a column out; a sample that lacks the view has an empty "
            "row"
        )
    return replace(view, values=x, lacking=lacking)


def _gaps_in(gaps: Flags, names: list[str]) -> str:
    """How many cells are empty, and in which columns."""
    columns = ", ".join(names[j] for j in np.flatnonzero(gaps.any(0))[:_SHOWN])
    return f"{gaps.sum()} empty cells in {columns}, which fill='median' fills"


def check_edges(view: NamedView) -> None:
    """Refuse a list of edges, or warn of one of numbers, whose header does not say that it is one.

    Its first two columns are words or whole numbers of which they share more than half, nearly all
    lines differ, and there is at most a third column.
    """
    a, b, *more = columns_of(view)[:4] if view.values.shape[1] > 1 else (Column([]), Column([]))
    pairs, ids = set(zip(a.text, b.text)), [(x.parsed[1] | (x.parsed[0] % 1 == 0)) for x in (a, b)]
    both, alone = {*a.text} & {*b.text}, min(len({*a.text}), len({*b.text}))
    if len(more) > 1 or 2 * len(both) <= max(alone, 4) or not (ids[0] & ids[1]).all():
        return
    are_words = a.parsed[1].any()
    if 2 * len(pairs) <= len(a.text) or not (are_words or all(x != y for x, y in pairs)):
        return
    headed = view.features is not None or not {a.text[0], b.text[0]} & {*a.text[1:], *b.text[1:]}
    names = view.features or ([a.text[0], b.text[0]] if headed else [0, 1])
    weight = f", weight={names[2]!r}" if more else ""
    text = (
        f"{view.source} looks like a list of edges; a table with a row and a column for each node "
        "is a view: networkx.to_pandas_adjacency(networkx.from_pandas_edgelist("
        f"pandas.read_csv(file{'' if headed else ', header=None'}), {names[0]!r}, {names[1]!r}"
        f"{', ' + repr(names[2]) if more else ''}){weight}).to_csv(name)"
    )
    if are_words or any(marks(str(x)) & _OF_EDGES for x in names[:2]):
        raise ValueError(text)
    warn(f"{text}; else all is well")
