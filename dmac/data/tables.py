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
from typing import TYPE_CHECKING

import numpy as np

from dmac._warn import warn
from dmac.data.named_views import NamedView
from dmac.data.vocabulary import is_known_header, says_features, says_samples

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from dmac._types import Array, Flags, Floats

    Frame = Any  # pandas is imported where a table is read

#: Endings of tables of text, and of those that pandas reads where another package is installed.
TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
BINARY = (".parquet", ".xlsx")
_MISSING = {"", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "nat", "null", "none"}
# Numbers as most of Europe writes them, in tables whose cells semicolons separate.
_THOUSANDS = r"\s*[+-]?\d{1,3}(?:\.\d{3})+(?:,\d+)?\s*"
_DECIMAL_COMMA = r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*"
# So many lines that count are no chance; so many lines are looked at for what a table is.
_MANY, _HEAD = 10, 30
# Whole numbers of more features than that are no chance among fractions.
_FEW = 4
# Errors of a file that is no table.
_DAMAGED = (csv.Error, gzip.BadGzipFile, EOFError, zlib.error, ValueError)


def read_table(file: Path, name: str) -> list[NamedView]:
    """The cells of a table, or of every sheet of a workbook: numbers, words, and nan for none.

    Commas, semicolons or tabs separate the cells of a text, whichever its first line has most of;
    without any of them in a ``.txt`` file it is spaces. Between semicolons a number may have a
    decimal comma, as spreadsheets of many countries write it.

    Parameters
    ----------
    file : path
    name : str
        What to call the table.

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

    read = {".parquet": _read_parquet, ".xlsx": _read_workbook}.get(file.suffix.lower(), _read_text)
    try:
        sheets = read(file)
    except ImportError as error:
        raise ImportError(f"{file} needs another package, or save it as .csv: {error}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not a table of text in UTF-8 ({error}): save it so") from error
    except _DAMAGED as error:
        raise ValueError(f"{file} is not a table of text: {str(error).strip()}") from error
    if not sheets:
        raise ValueError(f"{file} is empty")
    views = []
    for sheet, cells in sheets.items():
        lines = pd.RangeIndex(1, cells.shape[0] + 1, name="line")
        columns = pd.RangeIndex(1, cells.shape[1] + 1, name="column")
        frame = pd.DataFrame(np.asarray(cells, object), lines, columns, object)
        views.append(NamedView(frame, sheet if len(sheets) > 1 else name, source=file.name))
    return views


def _read_parquet(file: Path) -> dict[str, Array]:
    import pandas as pd

    frame = pd.read_parquet(file)
    if frame.index.names != [None] or frame.index.dtype.kind not in "iu":
        frame = frame.reset_index()
    return {
        "": np.vstack(
            [[str(x) for x in frame.columns], frame.astype(object).where(frame.notna(), np.nan)]
        )
    }


def _read_workbook(file: Path) -> dict[str, Array]:
    import pandas as pd

    how: Any = {"sheet_name": None, "header": None, "dtype": str, "engine": "openpyxl"}
    sheets = pd.read_excel(file, keep_default_na=False, na_values=[""], **how)
    return {str(name): x for name, x in sheets.items() if x.size}


def _read_text(file: Path) -> dict[str, Array]:
    """The cells of a table of text; the first line, and columns that may have ids, are text.

    The first line has a cell less where it names the columns of a table that R wrote.
    """
    import pandas as pd

    head, start = _head(file)
    delimiter = _delimiter(file, "".join(head[:1]))
    rows = list(csv.reader(head, delimiter=delimiter, skipinitialspace=delimiter == " "))
    first, second = ([x.strip() for x in row] for row in [*rows, [], []][:2])
    width = max(len(first), len(second), 1)
    if second and second[-1] and len(first) == width - 1 and parsed(first)[1].any():
        first = ["", *first]
    commas = delimiter == ";" and re.search(rf"(^|;){_DECIMAL_COMMA}(;|$)", "".join(head), re.M)
    rest = pd.read_csv(
        file,
        sep=r"\s+" if delimiter == " " else delimiter,
        skiprows=start + 1,
        header=None,
        names=range(width),
        index_col=False,
        dtype=str if commas else dict.fromkeys(_texts(rows), str),
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
    return {"": _with_points(cells) if commas else cells}


def _texts(rows: list[list[str]]) -> set[int]:
    """The columns that may have ids: the first, those of such a header, or with zeros in front."""
    named = {j for row in rows[:1] for j, x in enumerate(row) if says_samples(x.strip(), j)}
    return {0} | named | {j for row in rows for j, x in enumerate(row) if _is_padded(x.strip())}


def _is_padded(cell: str) -> bool:
    return cell[:1] == "0" and cell.isdigit() and len(cell) > 1


def _head(file: Path) -> tuple[list[str], int]:
    """The first lines of a text, and how many empty ones are above them."""
    unpacked = gzip.open if file.suffix.lower() == ".gz" else open
    with unpacked(file, "rt", encoding="utf-8-sig", newline="") as lines:
        head = list(islice(lines, _HEAD))
    start = next((i for i, line in enumerate(head) if line.strip()), 0)
    return head[start:], start


def _delimiter(file: Path, line: str) -> str:
    """What separates the cells of a table whose first line is this."""
    if ".tsv" in file.name.lower():
        return "\t"
    if re.search(rf";{_DECIMAL_COMMA}(;|$)", line):
        return ";"
    best = max(",;\t", key=line.count)
    return " " if best not in line and ".txt" in file.name.lower() else best


def _with_points(cells: Array) -> Array:
    """Decimal commas as points; points between thousands are refused beside them."""
    texts = np.vectorize(str, otypes=[object])(cells)
    commas, thousands = (
        np.vectorize(lambda cell, of=of: re.fullmatch(of, cell) is not None)(texts)
        for of in (_DECIMAL_COMMA, _THOUSANDS)
    )
    thousands[:, 0] &= not says_samples(texts[0, 0], 0)
    for i, j in np.argwhere(thousands)[:1]:
        raise ValueError(
            f"line {i + 1}, column {j + 1} holds {cells[i, j]!r} among numbers with a decimal "
            "comma: write thousands without a point"
        )
    cells[commas] = [cell.replace(",", ".") for cell in texts[commas]]
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


def with_header(view: NamedView, transposed: bool) -> tuple[NamedView, list[str]]:
    """A table with a row for each sample, whose first line may have the names of its features.

    The first line is a header if it has words where numbers stand below, a name of names or of
    classes, or the only word of a column whose others repeat; or if it counts 0, 1, 2, ..., which a
    ``UserWarning`` says. Lines below that describe the features are no samples: those without a
    number, of ids, and of whole numbers where all else has fractions.

    Parameters
    ----------
    view : NamedView
        As :func:`read_table` gives it.
    transposed : bool
        Whether the samples are its columns.

    Returns
    -------
    view : NamedView
    told : list of str
        The lines that describe features.
    """
    cells = (view.values.T if transposed else view.values).dropna(axis=1, how="all")
    if not cells.size:
        raise ValueError(f"{view.source} is empty")
    cells, features = cells.loc[: cells.last_valid_index()], None
    if _has_header(view, cells):
        features, cells = as_text(cells.iloc[0]), cells.iloc[1:]
        if not len(cells):
            raise ValueError(f"{view.source} has a header and no samples")
    about = _describing(cells)
    told = [
        f"{view.source}: {name:.40} describes the features, and is no sample"
        for name in as_text(cells.iloc[:about, 0])
    ]
    return replace(view, values=cells.iloc[about:], features=features), told


def _has_header(view: NamedView, cells: Frame) -> bool:
    first, rest, text = as_text(cells.iloc[0]), cells.iloc[1:], parsed(cells.iloc[0])[1]
    if not text.any():
        counted = first[:-1] if len(first) > 5 and not _counts(first) else first
        if _counts(counted) and not (len(rest) and _counts([*first, *as_text(rest.iloc[0])])):
            warn(
                f"{view.source}: the first {cells.index.name} counts {', '.join(first[:3])}, ..., "
                "as tables without names of columns are written, and is no sample; if it is one, "
                "write a line of names above it"
            )
            return True
        return len(first) > 1 and first[0] == ""
    if not len(rest):
        return bool(text.all())
    named = len(first) > 1 and says_samples(first[0], 0)
    below = np.isfinite(parsed(rest.iloc[:_HEAD])[0]).any(0)
    counts = rest.iloc[:, -1].value_counts()  # does every word of a column repeat, but the first?
    alone = text[-1] and len(counts) > 1 and counts.min() > 1 and first[-1] not in counts
    return bool(named or (text & below).any() or any(map(is_known_header, first)) or alone)


def _counts(cells: Sequence[str]) -> bool:
    """Whether cells count from 0 or 1, three or more of them."""
    start = int(cells[0] == "1")
    return len(cells) > 2 and list(cells) == [str(start + j) for j in range(len(cells))]


def _describing(cells: Frame) -> int:
    """How many lines below the header describe the features."""
    head = parsed(cells.iloc[:_HEAD, 1:])[0]
    has, whole = np.isfinite(head), (np.floor(head) == head).all(1)
    for i, (row, name) in enumerate(zip(head, as_text(cells.iloc[:_HEAD, 0]))):
        text = not has[i].any() and cells.iloc[i, 1:].notna().sum() > 1
        codes = whole[i] and len(set(row)) == len(row) > _FEW and not whole[i + 1 :].any()
        about = text or says_features(name) or (codes and i + 2 < len(head))
        if not about or not has[i + 1 :].any():
            return i
    return 0


def name_samples(tables: list[NamedView]) -> list[NamedView]:
    """Take the column that names the samples out of each table.

    It is a first column of words, or of ids by its header, where the tables share half of these
    names. Else it is a column that every table has under the same header, with distinct words or
    whole numbers of which the tables share more than half, wherever it stands.

    Parameters
    ----------
    tables : list of NamedView
        With a header, as :func:`with_header` gives them.

    Returns
    -------
    list of NamedView
    """
    wide = [x for x in tables if x.values.shape[1] > 1 and len(x.values) > 1]
    columns = [_own_names(x) for x in wide]
    if len(wide) > 1 and (None in columns or _shared(wide, columns) < 0.5):
        columns = _everywhere(wide) or columns
    places = {id(x): j for x, j in zip(wide, columns)}
    return [_named(x, places[id(x)] if x in wide else _own_names(x)) for x in tables]


def _headers(view: NamedView) -> list[str]:
    """What columns are called, by their number where they have no name."""
    columns = view.values.columns
    return view.features or [f"{columns.name} {j}" for j in columns]


def _everywhere(tables: list[NamedView]) -> list[int] | None:
    """The columns of the same header in all tables whose values are the same in most rows."""
    ids = [_ids(x) for x in tables]
    columns = [[x[header] for x in ids] for header in ids[0] if all(header in x for x in ids)]
    best = max(columns, key=lambda x: _shared(tables, x), default=None)
    return best if best is not None and _shared(tables, best) > 0.5 else None


def _ids(view: NamedView) -> dict[str, int]:
    """The columns that may name samples, by their headers: distinct words or whole numbers."""
    x, words = parsed(view.values)
    places = np.flatnonzero((words | (np.floor(x) == x)).all(0)).tolist()
    headers = _headers(view)
    counts = Counter(headers)
    named = {headers[j]: j for j in places if counts[headers[j]] == 1}
    return {header: j for header, j in named.items() if _differ(view.values.iloc[:, j])}


def _differ(column: Frame) -> bool:
    """Whether all cells of a column differ, also where some are text and some numbers."""
    return column.is_unique and len(set(as_text(column))) == len(column)


def _shared(tables: list[NamedView], columns: list[Any]) -> float:
    """The share of names that every table has with the first, at least."""
    names = [set(as_text(x.values.iloc[:, j])) for x, j in zip(tables, columns) if j is not None]
    return min((len(s & names[0]) / min(len(s), len(names[0])) for s in names[1:]), default=1.0)


def _own_names(view: NamedView) -> int | None:
    """The column that names the samples, as far as the table itself says it."""
    cells, headers = view.values, view.features or []
    if cells.shape[1] == 1:
        return None
    first = cells.iloc[:, 0].dropna()
    is_text = np.isnan(parsed(first)[0]).all()
    if headers and says_samples(headers[0], 0) and (is_text or not headers[0] or first.is_unique):
        return 0
    if is_text and 2 * first.nunique() > len(first):
        return 0
    named = (j for j, header in enumerate(headers) if j and says_samples(header, j))
    return next((j for j in named if j in _ids(view).values()), None)


def _named(view: NamedView, j: int | None) -> NamedView:
    """A table without column j, which has the names of its samples.

    A first column that counts them, and is not taken for their names, is told.
    """
    cells = view.values.dropna(how="all")  # a row without any cell is no sample, if it has no name
    if j is not None:
        return without(replace(view, values=cells, samples=as_text(cells.iloc[:, j])), j)
    first = as_text(view.values.iloc[:, 0])
    if view.values.shape[1] > 1 and len(first) >= _MANY and _counts(first):
        warn(
            f"{view.source}: the first {view.values.columns.name} ({first[0]}, {first[-1]}, ...) "
            "numbers the samples, and counts as a feature: call it id if it is none"
        )
    return view


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
    if not cells.shape[1]:
        raise ValueError(
            f"{view.source} has no {columns.name} of numbers (commas, semicolons or tabs "
            "separate the cells)"
        )
    x, words = parsed(cells)
    if len(text := np.flatnonzero(words.sum(0) > np.isfinite(x).sum(0))):
        listed = (f"{_headers(view)[j]} ({cells.iloc[0, j]!s:.20}, ...)" for j in text)
        raise ValueError(
            f"{view.source} has {columns.name}s of words, not numbers: {', '.join(listed)}; take "
            "them out of the file, or write them as numbers"
        )
    lacking: Any = (np.isnan(x) & ~words).all(1)
    x[lacking] = 0
    for i, j in np.argwhere(~np.isfinite(x))[:1]:
        place = {cells.index.name: cells.index[i], columns.name: columns[j]}
        cell, word = cells.iloc[i, j], words[i, j] or np.isinf(x[i, j])
        advice = "write one, or take the feature out"
        if not word:
            advice = "fill it in, or empty the whole row where the sample lacks this view"
        what = "is empty" if cell != cell else f"holds {str(cell)!r}, not a number"
        raise ValueError(
            f"{view.source}, line {place['line']}, column {place['column']} {what}; {advice}"
        )
    return replace(view, values=x, lacking=lacking)
