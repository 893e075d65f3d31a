"""Tables of text and spreadsheets: their cells, their header, and the names of their samples.

pandas reads the cells. :mod:`dmac.data.readers` says in which order these steps are taken.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, takewhile, tee
from pathlib import Path
from typing import Any

import numpy as np

from dmac._types import Array, Flags, Floats
from dmac._warn import warn
from dmac.data.checks import not_nan
from dmac.data.names import NamedView, called, ending_of, is_frame, stem
from dmac.data.vocabulary import (
    KNOWN,
    Column,
    as_text,
    counts,
    everywhere,
    kind_of_numbers,
    line_for,
    marks,
    mending,
    parsed,
    says_samples,
    share,
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
_DECIMAL_COMMA = r"^(\s*[+-]?\d*),(\d+(?:[eE][+-]?\d+)?\s*)$"
_POINTS = r"\s*[+-]?\d{1,3}(?:\.\d{3})+(?:,\d+)?\s*"
# Leading lines inspected to detect the format.
_N_LINES = 30
# Cells or columns that a message shows.
_SHOWN = 4
# Numbers of a header go up by steps that differ by less than this share, or are such years.
_STEP_DIFFERENCE = 0.2
_YEARS = (1800, 2100)
# Words above the ends of edges.
_OF_EDGES = set("source target from to node edge".split())
# Columns of a list of edges that are looked at.
_N_EDGE_COLUMNS = 8


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
    import pandas as pd  # here and below, since arrays need none

    if ending_of(file) == ".xlsx":
        sheets = pd.read_excel(
            file,
            sheet_name=None,
            header=None,
            dtype=str,
            engine="openpyxl",
            keep_default_na=False,
            na_values=[""],
        )
    else:
        sheets = {"": _read_parquet(file) if ending_of(file) == ".parquet" else _read_text(file)}
    frames = {
        str(name): x.astype(object).rename_axis(index="line", columns="column")
        for name, x in sheets.items()
        if x.size
    }
    if not frames:
        raise ValueError("it is empty")
    return [NamedView(x, name if len(frames) > 1 else stem(file)) for name, x in frames.items()]


def _read_parquet(file: Path) -> Frame:
    """The names of the columns of a table of pandas, and its cells below them."""
    import pandas as pd

    frame = pd.read_parquet(file)
    if frame.index.names != [None] or not frame.index.equals(pd.RangeIndex(len(frame))):
        frame = frame.reset_index()
    cells = frame.astype(object).where(frame.notna(), np.nan)
    lists = cells.map(lambda x: isinstance(x, (list, tuple, dict, np.ndarray))).any()
    if named := lists.index[lists].tolist():
        raise ValueError(f"it has lists in its cells: frame.drop(columns={named})")
    return pd.DataFrame(np.vstack([[str(x) for x in frame.columns], cells]))


def _read_text(file: Path) -> Frame:
    """The cells of a table of text, as text; numbers with a decimal comma have a point."""
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
    first, second = [*rows, []][:2]
    cells = pd.read_csv(
        file,
        sep=r"\s+" if sign == " " else sign,
        skiprows=above,
        header=None,
        names=range(max(len(first), len(second))),
        index_col=False,
        dtype=str,
        keep_default_na=False,
        na_values=["", "\x1a"],  # the second is where a file of DOS ends
        skipinitialspace=True,
        encoding=encoding,
    ).astype(object)
    first[0] = first[0].strip().removeprefix("#").strip()
    if len(first) < len(second) and second[-1] and parsed(first)[1].any():
        first = ["", *first]  # as R writes it
    cells.iloc[0, : len(first)] = [x.strip() or np.nan for x in first]
    options = {",": "", " ": r", sep='\s+'"}.get(sign, f", sep={sign!r}")
    if sign == ";" and any(re.match(_DECIMAL_COMMA, x) for row in rows for x in row):
        cells = _with_points(cells, [j for j, x in enumerate(first) if says_samples(x, j)], above)
        options += ", decimal=','"
    cells.attrs["read"] = f"read_csv(file{options}"
    return cells.set_axis(range(above, above + len(cells)))


def _check_title(rows: list[list[str]], places: list[int], sign: str) -> None:
    """Refuse lines above the header that have fewer cells, as titles have."""
    filled = [sum(map(bool, map(str.strip, row))) for row in rows]
    usual = max(sorted(filled, reverse=True), key=filled.count)
    named = [not np.isfinite(parsed(row)[0]).any() for row in rows[1:]]
    titles = len(list(takewhile(all, zip((x < usual for x in filled), named))))
    if titles and not has_gaps(rows[0]):
        raise ValueError(
            f"expected {usual} fields in line {places[0] + 1}, saw {filled[0]}; lines above the "
            f"table have to go, as by pandas.read_csv(file, sep={sign!r}, "
            f"skiprows={places[titles]})"
        )


def has_gaps(first: list[str]) -> bool:
    """Whether a line has empty cells between others, as where a cell stands for several columns."""
    return "\t\t" in "\t".join(first[1:]).strip("\t")


def _with_points(cells: Frame, ids: list[int], above: int) -> Frame:
    """Cells with a point for a decimal comma; points that may part thousands are refused."""
    thousands = cells.iloc[1:].drop(columns=ids).stack().astype(str)
    for (i, j), x in thousands[thousands.str.fullmatch(_POINTS)].head(1).items():
        raise ValueError(
            f"line {above + i + 1}, column {j + 1} holds {x!r} among numbers with a "
            "decimal comma: pandas.read_csv(file, sep=';', decimal=',', thousands='.')"
        )
    return cells.replace(_DECIMAL_COMMA, r"\1.\2", regex=True)


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
        head = list(islice(every, above + _N_LINES))
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
    cells = view.values.T if turned else view.values
    filled = cells.notna().to_numpy()
    if not filled.any():
        raise ValueError(f"{view.source} is empty")
    cells = cells.iloc[: np.flatnonzero(filled.any(1))[-1] + 1, filled.any(0)]
    counted = as_text(cells.iloc[0])
    above = parsed(cells.iloc[:2])[1]
    if (counts(counted) or counts(counted[1:])) and above[1:].any() and above[-1].all():
        cells = cells.iloc[1:]
    text = [as_text(line) for line in cells.iloc[:_N_LINES].to_numpy()]
    x, words = parsed(cells.iloc[:_N_LINES])
    if cells.index.name == "line" and _names_groups(text, x, words):
        raise ValueError(
            f"{view.source}: its first line has gaps or repeats above another one, "
            "as names of groups of columns do: write one line of names, as by "
            f"{_read_again(view, ', header=[0, 1], index_col=0')}.pipe(lambda frame: "
            "frame.set_axis([' '.join(map(str, x)) for x in frame], axis=1))"
        )
    first = text[0]
    named = key in first or any(whole(cell) in KNOWN for cell in first)
    above_numbers = (words[0] & np.isfinite(x[1:]).any(0)).any()
    if not (named or above_numbers or (len(first) > 1 and says_samples(first[0], 0))):
        if not (why := _counting(text, x, bool(words[0, 0]))):
            return replace(view, values=cells)
        warn(
            f"{view.source}: the first {cells.index.name} {why}, and is no sample; if it is one, "
            "write a line of names above it"
        )
    return replace(view, values=cells.iloc[1:], features=first)


def _names_groups(text: list[list[str]], x: Floats, words: Flags) -> bool:
    """Whether a first line names groups of columns, and the second one the columns."""
    if len(text) < 2:
        return False
    first, second = text[:2]
    if has_gaps(first) and (words[0, 1:].any() or not first[0]):
        return "" not in second[1:]
    n_pairs = len({*zip(first[1:], second[1:])})
    repeats = len({*first[1:]}) < len(first) - 1 == n_pairs and words[0, 1:].all()
    over_numbers = (words[1] & np.isfinite(x[2:]).any(0))[1:].any()
    is_whole = (x[1, 1:] % 1 == 0).all() and (x[2:, 1:] % 1 > 0).any(0).all()
    one = not re.search(r"\d", second[0]) and (says_samples(second[0], 0) or is_whole)
    return bool(repeats and (over_numbers or one))


def _counting(text: list[list[str]], x: Floats, behind: bool) -> str:
    """What makes the numbers of a first line a header's, as they can only be told; else "".

    They count 0, 1, 2, ...; or behind a word they go up by about one step, are years, or are whole
    above fractions, or the word has no digit where the names below have; without a word there has
    to be a step as well as fractions.
    """
    first = text[0]
    numbers = x[0, behind:]
    below = x[1:, behind:]
    if len(first) > 2 and first == [str(j) for j in range(len(first))]:
        return "counts 0, 1, 2, ..., as tables without names of columns are written"
    if not (len({*numbers}) == len(numbers) > 1 and np.isfinite(numbers).all() and len(below)):
        return ""

    def rises(steps: Floats) -> bool:
        return (
            len(steps) > 1 and steps.min() > 0 and np.ptp(steps) <= _STEP_DIFFERENCE * steps.mean()
        )

    with np.errstate(all="ignore"):  # doses go up by about one ratio
        scales = [(numbers, below[0]), (np.log(numbers), np.log(below[0]))]
    step = any(rises(np.diff(y)) and not rises(np.diff(z)) for y, z in scales)
    fractions = len(numbers) > 2 and (below % 1 > 0).any(0).all()
    are_years = [bool((np.clip(part, *_YEARS) == part).all()) for part in (numbers, below)]
    digits = [bool(re.search(r"\d", line[0])) for line in text]
    alone = len(text) > 2 and digits == [False, *[True] * (len(text) - 1)]
    is_whole = (numbers % 1 == 0).all()
    as_header = behind and (fractions or alone or are_years == [True, False])
    as_header |= step and fractions and len(numbers) > 3
    if (behind and step) or (is_whole and as_header):
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
    for x in tables:
        check_edges(x)
    columns = [columns_of(x) for x in tables]
    running = [[j for j, x in enumerate(row) if x.runs(j)] for row in columns]
    own = [_own_names(x, places) for x, places in zip(columns, running)]
    cells = [[] if j is None else x[j].text for x, j in zip(columns, own)]
    if len(tables) > 1 and share(cells) < 0.5:
        own = everywhere(columns) or own
    names = next((x[j].text for x, j in zip(columns, own) if j is not None), [])
    named = {}
    for x, row, j, places in zip(tables, columns, own, running):
        if j is None and share([names, row[0].names]) > 0.5:
            j = 0
        elif j is None and places:
            j = places[0]
        others = [k for k in places if k != j]
        headers = (row[k].header or "column 1" for k in others)
        left_out |= {f"{called(x)}, {header}": "it only numbers the rows" for header in headers}
        if j is not None:
            # A row without any cell is no sample, if it has no name.
            filled = replace(x, values=x.values.dropna(how="all"))
            names_of = columns_of(filled)[j]
            filled = replace(filled, samples=names_of.text, numbered=names_of.numbered)
            named[id(x)] = without(filled, j, *others)
    return [named.get(id(x), x) for x in items]


def columns_of(view: NamedView) -> list[Column]:
    """The columns of a table, by their number where they have no name."""
    places = view.values.columns
    headers = view.features or [f"{places.name} {j + 1}" for j in places]
    return [Column(x, header) for x, header in zip(view.values.to_numpy().T, headers)]


def _own_names(columns: list[Column], running: list[int]) -> int | None:
    """The column that names the samples, as far as the table itself says it, and not by counts."""
    rest = [j for j in range(len(columns)) if j not in running]
    for place, j in enumerate(rest):
        sure = place == 0 and not running
        if says_samples(columns[j].header, place) and (sure or columns[j].names):
            return j
    if rest and columns[rest[0]].has_words():
        return rest[0]
    return next((j for j in running if not counts(columns[j].text)), None)


def without(view: NamedView, *places: int) -> NamedView:
    """A table, or an array whose columns have names, without some columns."""
    kept = [k for k in range(view.values.shape[1]) if k not in set(places)]
    features = None if view.features is None else [view.features[k] for k in kept]
    x = view.values.iloc if is_frame(view.values) else view.values[:]
    return replace(view, values=x[:, kept], features=features)


def completed(x: Floats, missing: Sequence[Any] = (), fill: str | float | None = None) -> Floats:
    """Numbers (n, d): codes become nan, and nan becomes ``fill`` where a row has other numbers.

    It is "median" or "mean", those of the columns, or a number.
    """
    codes = parsed(list(missing))[0]
    x = np.where(np.isin(x, [*codes.tolist(), *codes.astype(np.float32)]), np.nan, x)
    if fill is None:
        return x
    import pandas as pd

    value = pd.DataFrame(x).agg(fill) if fill in ("median", "mean") else parsed([fill])[0]
    if len(value) == 1 and np.isnan(value[0]) and fill not in ("median", "mean"):
        raise ValueError(f"fill={fill!r} is neither 'median' nor 'mean', nor a number")
    return np.where(_gaps(x), value, x)


def _gaps(x: Floats) -> Flags:
    """Which cells are nan in rows that have numbers."""
    return np.isnan(x) & np.isfinite(x).any(1, keepdims=True)


def numbers(
    view: NamedView, missing: Sequence[Any] = (), fill: str | float | None = None
) -> NamedView:
    """A table as one view: float64, with zeros for samples that have no value, and so lack it.

    It is a ``ValueError`` if a cell is no number; the message has the line and the column, or all
    columns of words, what they look like and the line that mends them. See `completed` for
    ``missing`` and ``fill``.
    """
    codes = list(map(str, missing))
    cells = view.values.mask(view.values.isin(codes)) if codes else view.values
    x, words = parsed(cells)
    x = np.where(words, np.inf, completed(x, missing))
    _check_words(replace(view, values=cells), x, words)
    x = completed(x, fill=fill)
    present = not_nan(x)
    x[~present] = 0
    bad = np.argwhere(~np.isfinite(x))
    if len(bad):
        found = sorted({str(cells.iloc[i, j]) for i, j in bad if words[i, j]})[:_SHOWN]
        raise ValueError(_no_number(view, bad, found))
    return replace(view, values=x, present=present)


def _no_number(view: NamedView, bad: Array, found: list[str]) -> str:
    """Where the first cell stands that is no number, what it holds, and what to do about words."""
    i, j = bad[0]
    row = view.values.index
    column = view.values.columns
    place = {row.name: row[i] + 1, column.name: column[j] + 1}
    cell = view.values.iloc[i, j]
    holds = "is empty" if cell != cell else f"holds {str(cell)!r}, not a number"
    others = f", the first of {len(bad)} such cells" if len(bad) > 1 else ""
    way = "fill='median' fills gaps, as frame.fillna(frame.select_dtypes('number').median()) does"
    names = view.features if found and row.name == "line" else None
    if names and kind_of_numbers(found):
        way = line_for(kind_of_numbers(found), [names[j]])
    elif names and not bad[:, 0].any():
        skipped = _read_again(view, f", skiprows=[{place['line'] - 1}]")
        way = f"the line seems to have units: {skipped}"
    elif found:
        way = (
            f"if it stands for what is missing, missing={found[0]!r} says so, as "
            f"{_read_again(view, f', na_values={found}')} does, and {way}"
        )
    return (
        f"{view.source}, line {place['line']}, column {place['column']} {holds}{others}; {way}, "
        "and drop=name leaves a column out; a sample that lacks the view has an empty row"
    )


def _check_words(view: NamedView, x: Floats, words: Flags) -> None:
    """Refuse columns of words, in which more cells are words than numbers, and say what to do."""
    turned = view.values.columns.name == "line"  # the samples were columns
    are_text = words.sum(int(turned)) > np.isfinite(x).sum(int(turned))
    if not are_text.any():
        return
    whole = replace(view, values=view.values.T, features=view.samples) if turned else view
    every = columns_of(whole)
    text = [every[j] for j in np.flatnonzero(are_text)]
    named = [y.header for y in text]
    way = f"they describe features: frame.drop(columns={named})"
    also = ""
    if not turned:
        way = mending(every, text, view.samples)
        rest = np.flatnonzero(~are_text)
        gaps = _gaps(x[:, rest])
        among = ", ".join(every[rest[j]].header for j in np.flatnonzero(gaps.any(0))[:_SHOWN])
        if among:
            also = f", and {gaps.sum()} empty cells in {among}, which fill='median' fills"
    listed = ", ".join(f"{y.header} ({y.cells[0]!s:.20}, ...)" for y in text)
    raise ValueError(
        f"{view.source} has columns of words, not numbers: {listed}{also}; {way}; drop="
        f"{', '.join(named)!r} leaves them out; if it is no view, views_key= names the views"
    )


def check_edges(view: NamedView) -> None:
    """Refuse a list of edges, or warn of one of numbers, whose header does not say that it is one.

    Its first two columns are words or whole numbers of which they share more than half, nearly all
    lines differ, and there is at most a third column, or these two are called source and target.
    """
    columns = columns_of(view)[:_N_EDGE_COLUMNS]
    # Gephi writes more columns, and calls these two as they are.
    few = len(columns) < 4 or all(whole(x.header) in _OF_EDGES for x in columns[:2])
    if not (few and columns[0].is_whole and columns[1].is_whole):
        return
    a, b = (x.text for x in columns[:2])
    are_words = columns[0].parsed[1].any()
    if (
        2 * len({*a} & {*b}) <= max(min(len({*a}), len({*b})), 4)
        or 2 * len({*zip(a, b)}) <= len(a)
        or (not are_words and any(x == y for x, y in zip(a, b)))
    ):
        return
    headed = view.features is not None or not {a[0], b[0]} & {*a[1:], *b[1:]}
    names = view.features or ([a[0], b[0]] if headed else [*range(len(columns))])
    weights = [
        name
        for x, name in zip(columns[2:], names[2:])
        if np.isfinite(x.parsed[0]).all() and (len(columns) == 3 or "weight" in marks(x.header))
    ]
    given = ", ".join(map(repr, [*names[:2], *weights[:1]]))
    weight = f", weight={weights[0]!r}" if weights else ""
    text = (
        f"{view.source} looks like a list of edges; a table with a row and a column for each node "
        "is a view: networkx.to_pandas_adjacency(networkx.from_pandas_edgelist("
        f"{_read_again(view, '' if headed else ', header=None')}, {given}){weight}).to_csv(name)"
    )
    if are_words or any(marks(x.header) & _OF_EDGES for x in columns[:2]):
        raise ValueError(text)
    warn(f"{text}; else all is well")


def _read_again(view: NamedView, options: str = "") -> str:
    """The line of pandas that reads a table, with the sign between its cells where it needs it."""
    return f"pandas.{view.values.attrs.get('read', 'read_excel(file')}{options})"
