"""Tables of text and spreadsheets: their cells, their header, and the names of their samples.

pandas reads the cells. :mod:`dmac.data.readers` says in which order these steps are taken.
"""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from dmac._types import Array, Flags, Floats
from dmac._warn import warn
from dmac.data.named_views import NamedView, is_frame, stem
from dmac.data.vocabulary import KNOWN, says_samples, spelled

Frame = Any  # pandas is imported where a table is read

#: Endings of tables of text, and of those that pandas reads where another package is installed.
TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
BINARY = (".parquet", ".xlsx")
_MISSING = {"", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "nat", "null", "none"}
# Numbers as most of Europe writes them, in tables whose cells semicolons separate.
_THOUSANDS = re.compile(r"\s*[+-]?\d{1,3}(?:\.\d{3})+(?:,\d+)?\s*")
_DECIMAL_COMMA = r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*"
# So many lines are looked at for what a table is.
_HEAD = 30
# Errors of a file that is no table.
_DAMAGED = (csv.Error, gzip.BadGzipFile, EOFError, zlib.error, ValueError)


def read_table(file: Path) -> list[NamedView]:
    """The cells of a table, or of every sheet of a workbook: numbers, words, and nan for none.

    Tabs separate the cells of a text, or semicolons, or commas, or in a ``.txt`` file spaces: the
    first of these that its first line has. Between semicolons a number may have a decimal comma, as
    spreadsheets of many countries write it.

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

    try:
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
            if frame.index.names != [None] or frame.index.dtype.kind not in "iu":
                frame = frame.reset_index()
            cells = frame.astype(object).where(frame.notna(), np.nan)
            sheets = {"": np.vstack([[str(x) for x in frame.columns], cells])}
        else:
            sheets = {"": _read_text(file)}
    except ImportError as error:
        raise ImportError(f"{file} needs another package, or save it as .csv: {error}") from error
    except _DAMAGED as error:
        raise ValueError(f"{file} is not a table of text in UTF-8: {str(error).strip()}") from error
    frames = {
        str(name): pd.DataFrame(np.asarray(x, object)).rename_axis(index="line", columns="column")
        for name, x in sheets.items()
        if np.size(x)
    }
    if not frames:
        raise ValueError(f"{file} is empty")
    return [
        NamedView(x, name if len(frames) > 1 else stem(file), source=file.name)
        for name, x in frames.items()
    ]


def _read_text(file: Path) -> Array:
    """The cells of a table of text; the first line, and columns that may have ids, are text.

    The first line has a cell less where it names the columns of a table that R wrote.
    """
    import pandas as pd

    unpacked = gzip.open if file.suffix.lower() == ".gz" else open
    with unpacked(file, "rt", encoding="utf-8-sig", newline="") as lines:
        head = [line for line in islice(lines, _HEAD) if line.strip()]
    if not head:
        return np.empty(0)
    delimiter, commas = _signs(file, head)
    rows = list(csv.reader(head, delimiter=delimiter, skipinitialspace=delimiter == " "))
    first, second = ([x.strip() for x in row] for row in [*rows, []][:2])
    width = max(len(first), len(second))
    if second and second[-1] and len(first) == width - 1 and parsed(first)[1].any():
        first = ["", *first]
    # Columns that may have ids are text: the first, those of such a header, or with zeros in front.
    named = {j for j, x in enumerate(first) if says_samples(x, j)}
    padded = {j for row in rows for j, x in enumerate(row) if re.fullmatch(r"\s*0\d+\s*", x)}
    rest = pd.read_csv(
        file,
        sep=r"\s+" if delimiter == " " else delimiter,
        header=0,
        names=range(width),
        index_col=False,
        dtype=str if commas else dict.fromkeys({0} | named | padded, str),
        keep_default_na=False,
        na_values=[""],
        skipinitialspace=True,
        low_memory=False,
        encoding="utf-8-sig",
        compression="gzip" if file.suffix.lower() == ".gz" else None,
    )
    rest = rest.astype(dict.fromkeys(rest.select_dtypes(bool), str))
    cells = np.full((len(rest) + 1, width), np.nan, object)
    cells[0, : len(first)], cells[1:] = [x or np.nan for x in first], rest.to_numpy(object)
    return _with_points(cells) if commas else cells


def _signs(file: Path, head: list[str]) -> tuple[str, bool]:
    """What separates the cells of a table with these first lines; whether commas are decimal."""
    spaces = " " if ".txt" in file.name.lower() else ","
    delimiter = next((x for x in "\t;," if x in "".join(head[:1])), spaces)
    decimal = re.search(rf"(^|;){_DECIMAL_COMMA}(;|$)", "".join(head), re.M)
    return delimiter, delimiter == ";" and decimal is not None


def _with_points(cells: Array) -> Array:
    """Decimal commas as points; points between thousands are refused beside them."""
    ids = says_samples(as_text(cells[0])[0], 0)
    for (i, j), cell in np.ndenumerate(cells):
        if _THOUSANDS.fullmatch(str(cell)) and not (ids and j == 0):
            raise ValueError(
                f"line {i + 1}, column {j + 1} holds {cell!r} among numbers with a decimal "
                "comma: write thousands without a point"
            )
        if re.fullmatch(_DECIMAL_COMMA, str(cell)):
            cells[i, j] = cell.replace(",", ".")
    return cells


def parsed(cells: Any) -> tuple[Floats, Flags]:
    """Cells as floats, nan where they are none, and which of these hold a word."""
    values = np.asarray(cells, object)
    try:
        x = values.astype(float)  # ten times as fast, where there are no words
    except (TypeError, ValueError):
        import pandas as pd

        x = pd.to_numeric(values.ravel(), errors="coerce").astype(float).reshape(values.shape)
    words = np.isnan(x) & (values == values)
    words[words] = [str(cell).strip().lower() not in _MISSING for cell in values[words]]
    return x, words


def as_text(cells: Any) -> list[str]:
    """Cells as text, whole numbers without a point; "" for none."""
    whole = (f"{x:.0f}" if isinstance(x, float) and x.is_integer() else x for x in cells)
    return ["" if x != x else str(x).strip() for x in whole]


def typed(column: Frame) -> Array:
    """A column as floats where all its cells are numbers or missing, as strings otherwise."""
    values, words = parsed(column)
    return np.array(as_text(column)) if words.any() or np.isnan(values).all() else values


def with_header(view: NamedView, transposed: bool) -> NamedView:
    """A table with a row for each sample, whose first line may have the names of its features.

    The first line is a header if it has a word where a number stands below, or the name of classes
    or, first, of names; or if it counts 0, 1, 2, ..., which a ``UserWarning`` says.

    Parameters
    ----------
    view : NamedView
        As :func:`read_table` gives it.
    transposed : bool
        Whether the samples are its columns.
    """
    cells = (view.values.T if transposed else view.values).dropna(axis=1, how="all")
    if not cells.size:
        raise ValueError(f"{view.source} is empty")
    cells = cells.loc[: cells.last_valid_index()]
    if not _has_header(view, cells):
        return replace(view, values=cells)
    return replace(view, values=cells.iloc[1:], features=as_text(cells.iloc[0]))


def _has_header(view: NamedView, cells: Frame) -> bool:
    first, words = as_text(cells.iloc[0]), parsed(cells.iloc[0])[1]
    if len(first) > 2 and first == [str(j) for j in range(len(first))]:
        warn(
            f"{view.source}: the first {cells.index.name} counts 0, 1, 2, ..., as tables without "
            "names of columns are written, and is no sample; if it is one, write a line of names "
            "above it"
        )
        return True
    below = np.isfinite(parsed(cells.iloc[1:_HEAD])[0]).any(0)
    known = any(re.sub(r"[\W_]+", "", cell.lower()) in KNOWN for cell in first)
    return known or bool((words & below).any()) or (len(first) > 1 and says_samples(first[0], 0))


def name_samples(items: list[NamedView]) -> list[NamedView]:
    """Take the column that names the samples out of each table.

    It is one of ids by its header, or a first column of words, most of them distinct, where the
    tables share half of these names. Else it is a column that every table has under the same
    header, with distinct words or whole numbers of which the tables share more than half, wherever
    it stands.

    Parameters
    ----------
    items : list of NamedView
        Tables with a header, as :func:`with_header` gives them; what is no table is returned as it
        is.

    Returns
    -------
    list of NamedView
    """
    tables = [x for x in items if is_frame(x.values) and x.values.shape[1] > 1]
    columns = [_own_names(x) for x in tables]
    cells = [[] if j is None else as_text(x.values.iloc[:, j]) for x, j in zip(tables, columns)]
    if len(tables) > 1 and _share(cells) < 0.5:
        columns = _everywhere(tables) or columns
    named = {id(x): _named(x, j) for x, j in zip(tables, columns)}
    return [named.get(id(x), x) for x in items]


def _headers(view: NamedView) -> list[str]:
    """What columns are called, by their number where they have no name."""
    columns = view.values.columns
    return view.features or [f"{columns.name} {j + 1}" for j in columns]


def _names(column: Frame) -> list[str]:
    """The cells of a column that may name samples, distinct words or whole numbers; else none."""
    (x, words), names = parsed(column), as_text(column)
    distinct = len(names) > 1 and len(set(names)) == len(names)
    return names if distinct and (words | (np.floor(x) == x)).all() else []


def _ids(view: NamedView) -> dict[str, list[str]]:
    """The columns that may name samples, by their headers."""
    x, words = parsed(view.values.iloc[:_HEAD])
    headers, places = _headers(view), np.flatnonzero((words | (np.floor(x) == x)).all(0))
    count = Counter(headers)
    return {headers[j]: _names(view.values.iloc[:, j]) for j in places if count[headers[j]] == 1}


def _share(named: list[list[str]]) -> float:
    """The share of names that every list has with the first, at least."""
    first, *rest = map(set, named)
    return min((len(x & first) / max(min(len(x), len(first)), 1) for x in rest), default=1.0)


def _everywhere(tables: list[NamedView]) -> list[int] | None:
    """The columns of the same header in all tables whose values are the same in most rows."""
    ids = [_ids(x) for x in tables]
    shares = {header: _share([x.get(header, []) for x in ids]) for header in ids[0]}
    best = max(shares, key=lambda x: shares[x], default="")
    return [_headers(x).index(best) for x in tables] if shares.get(best, 0) > 0.5 else None


def _own_names(view: NamedView) -> int | None:
    """The column that names the samples, as far as the table itself says it."""
    cells, headers = view.values, view.features or []
    for j, header in enumerate(headers):
        if says_samples(header, j) and (j == 0 or _names(cells.iloc[:, j])):
            return j
    first = cells.iloc[:, 0].dropna()
    return 0 if np.isnan(parsed(first)[0]).all() and 2 * first.nunique() > len(first) else None


def _named(view: NamedView, j: int | None) -> NamedView:
    """A table without column j, which has the names of its samples."""
    cells = view.values.dropna(how="all")  # a row without any cell is no sample, if it has no name
    if j is None:
        return view
    names, turned = as_text(cells.iloc[:, j]), cells.index.name == "column"
    for name in filter(says_samples, names if turned else []):
        raise ValueError(
            f"{view.source}: {name!r:.40} stands where a sample is named, and says that its "
            "column has ids of the features: take that column out of the file"
        )
    return without(replace(view, values=cells, samples=names), j)


def without(view: NamedView, j: int) -> NamedView:
    """A table without column j."""
    features = None if view.features is None else view.features[:j] + view.features[j + 1 :]
    cells = view.values
    return replace(view, values=cells.drop(columns=cells.columns[j]), features=features)


def numbers(view: NamedView) -> NamedView:
    """A table as one view: float64, with zeros for samples that have no value, and so lack it.

    It is a ``ValueError`` if a cell is no number; the message has the line and the column, or all
    columns of words.
    """
    cells, columns = view.values, view.values.columns
    x, words = parsed(cells)
    turned = columns.name == "line"
    text = np.flatnonzero(words.sum(int(turned)) > np.isfinite(x).sum(int(turned)))
    if len(text):
        table = cells.T if turned else cells
        names = (view.samples if turned else view.features) or [f"column {j + 1}" for j in table]
        listed = ", ".join(f"{names[j]} ({table.iloc[0, j]!s:.20}, ...)" for j in text)
        raise ValueError(
            f"{view.source} has columns of words, not numbers: {listed}; take them out of the "
            f"file, or write them as numbers; if it is no view, {spelled('views_key=')} names the "
            "views"
        )
    lacking: Any = (np.isnan(x) & ~words).all(1)
    x[lacking] = 0
    for i, j in np.argwhere(~np.isfinite(x))[:1]:
        place = {cells.index.name: cells.index[i] + 1, columns.name: columns[j] + 1}
        cell = cells.iloc[i, j]
        holds = "is empty" if cell != cell else f"holds {str(cell)!r}, not a number"
        raise ValueError(
            f"{view.source}, line {place['line']}, column {place['column']} {holds}; write one, "
            "take the feature out, or empty the whole row where the sample lacks this view"
        )
    return replace(view, values=x, lacking=lacking)
