"""Tables of text and spreadsheets: their cells, their header, and the names of their samples.

pandas reads the cells. :mod:`dmac.data.readers` says in which order these steps are taken.
"""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dmac._warn import warn
from dmac.data.named_views import NamedView
from dmac.data.vocabulary import is_known_header, says_features, says_samples

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from dmac._types import Array, Flags, Floats

    Frame = Any  # pandas is imported where a table is read

#: Endings of tables of text, and of those that pandas reads where another package is installed.
TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
BINARY = (".parquet", ".xlsx")
_MISSING = {"", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "nat", "null", "none"}
# Numbers as most of Europe writes them, in tables whose cells semicolons separate.
_THOUSANDS = r"[+-]?\d{1,3}(?:\.\d{3})+(?:,\d+)?"
_DECIMAL_COMMA = r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?"
# So many lines that count are no chance; so many lines are looked at for what a table is.
_MANY, _HEAD = 10, 100
# Whole numbers of more features than that are no chance among fractions.
_FEW = 4
# Errors of a file that is no table.
_DAMAGED = (csv.Error, gzip.BadGzipFile, EOFError, zlib.error, ValueError)


def read_table(file: Path, name: str) -> list[NamedView]:
    """The cells of a table, or of every sheet of a workbook, as text.

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

    ending = file.suffix.lower()
    try:
        if ending == ".parquet":
            frame = pd.read_parquet(file)
            if frame.index.names != [None] or frame.index.dtype.kind not in "iu":
                frame = frame.reset_index()
            cells = np.vstack([list(map(str, frame.columns)), frame.astype(str).to_numpy(object)])
            sheets = {name: pd.DataFrame(cells)}
        elif ending == ".xlsx":
            read: Any = pd.read_excel
            sheets = read(
                file,
                sheet_name=None,
                header=None,
                dtype=str,
                keep_default_na=False,
                engine="openpyxl",
            )
            sheets = {s: x for s, x in sheets.items() if x.size}
            sheets = sheets if len(sheets) > 1 else dict.fromkeys([name], *sheets.values())
        else:
            sheets = {name: _read_text(file)}
    except ImportError as error:
        raise ImportError(f"{file} needs another package, or save it as .csv: {error}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not a table of text in UTF-8 ({error}): save it so") from error
    except _DAMAGED as error:
        raise ValueError(f"{file} is not a table of text: {str(error).strip()}") from error
    if not any(x.size for x in sheets.values()):
        raise ValueError(f"{file} is empty")
    views = []
    for name, frame in sheets.items():
        cells = pd.DataFrame(
            np.vectorize(str.strip, otypes=[object])(frame.to_numpy(object)),
            index=pd.RangeIndex(1, len(frame) + 1, name="line"),
            columns=pd.RangeIndex(1, frame.shape[1] + 1, name="column"),
        )
        views.append(NamedView(cells, str(name), source=file.name))
    return views


def _read_text(file: Path) -> Frame:
    """The cells of a table of text."""
    import pandas as pd

    packed = file.suffix.lower() == ".gz"
    with (gzip.open if packed else open)(file, "rt", encoding="utf-8-sig", newline="") as lines:
        head = lines.readline()
        rows = [head, next((line for line in lines if line.strip()), "")]
    delimiter = max(",;\t", key=head.count)
    if ".tsv" in file.name.lower():
        delimiter = "\t"
    elif re.search(rf";\s*{_DECIMAL_COMMA}\s*(;|$)", head):
        delimiter = ";"
    elif not head.count(delimiter) and ".txt" in file.name.lower():
        delimiter = " "
    first, second = csv.reader(rows, delimiter=delimiter, skipinitialspace=delimiter == " ")
    width = max(len(first), len(second), 1)
    cells = pd.read_csv(
        file,
        sep=r"\s+" if delimiter == " " else delimiter,
        header=None,
        names=range(width),
        dtype=str,
        keep_default_na=False,
        encoding="utf-8-sig",
        compression="gzip" if packed else None,
    )
    if (
        second
        and len(first) == width - 1
        and second[-1].strip()
        and any(map(np.isnan, map(_number, first)))
    ):
        cells.iloc[0] = ["", *cells.iloc[0, :-1]]  # as R writes it: nothing stands above the names
    return _with_points(cells) if delimiter == ";" else cells


def _with_points(cells: Frame) -> Frame:
    """Decimal commas as points; points between thousands are refused beside them."""
    matches = np.vectorize(lambda cell, of: re.fullmatch(of, cell.strip()) is not None)
    commas, thousands = matches(cells, _DECIMAL_COMMA), matches(cells, _THOUSANDS)
    thousands[:, 0] &= not says_samples(cells.iloc[0, 0], 0)
    if commas.any() and thousands.any():
        i, j = np.argwhere(thousands)[0]
        raise ValueError(
            f"line {i + 1}, column {j + 1} holds {cells.iloc[i, j]!r} among numbers with a decimal "
            "comma: write thousands without a point"
        )
    return cells.where(~commas, cells.replace(",", ".", regex=True)) if commas.any() else cells


def _number(cell: str) -> float:
    """A cell as a float, nan where it is none."""
    try:
        return float(cell)
    except ValueError:
        return np.nan


def numeric(cells: Frame) -> Floats:
    """Cells as floats, nan where they are none."""
    values = cells.to_numpy(object)
    try:
        return values.astype(float)
    except ValueError:
        return np.vectorize(_number, otypes=[float])(values)


def missing(cells: Frame) -> Flags:
    """Which cells say that there is no value."""
    values = np.asarray(cells, object)
    out = np.isnan(np.vectorize(_number, otypes=[float])(values))
    out[out] = [cell.lower() in _MISSING for cell in values[out]]
    return out


def typed(column: Frame) -> Array:
    """A column as floats where all its cells are numbers or missing, as strings otherwise."""
    values = numeric(column)
    words = np.isnan(values) & ~missing(column)
    return column.to_numpy(str) if words.any() or np.isnan(values).all() else values


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
    cells = view.values.T if transposed else view.values
    filled = cells.to_numpy(object) != ""
    cells, rows = cells.loc[:, filled.any(0)], np.flatnonzero(filled.any(1))
    cells = cells.iloc[: rows[-1] + 1] if len(rows) else cells
    if not cells.size:
        raise ValueError(f"{view.source} is empty")
    features = None
    if _has_header(view, cells):
        features, cells = list(cells.iloc[0]), cells.iloc[1:]
        if not len(cells):
            raise ValueError(f"{view.source} has a header and no samples")
    about = _describing(cells)
    told = [
        f"{view.source}: {cells.iloc[i, 0]:.40} describes the features, and is no sample"
        for i in range(about)
    ]
    return replace(view, values=cells.iloc[about:], features=features), told


def _has_header(view: NamedView, cells: Frame) -> bool:
    first, rest = cells.iloc[0], cells.iloc[1:]
    text = np.isnan(numeric(first)) & ~missing(first)
    if not text.any():
        counted = list(first[:-1] if len(first) > 5 and not _counts(first) else first)
        if _counts(counted) and not (len(rest) and _counts([*first, *rest.iloc[0]])):
            warn(
                f"{view.source}: the first {cells.index.name} counts {', '.join(first[:3])}, ..., "
                "as tables without names of columns are written, and is no sample; if it is one, "
                "write a line of names above it"
            )
            return True
        return len(first) > 1 and first.iloc[0] == ""
    if not len(rest):
        return bool(text.all())
    below = np.isfinite(numeric(rest.iloc[:_HEAD]))
    named = len(first) > 1 and (first.iloc[0] == "" or says_samples(first.iloc[0], 0))
    if named or (text & below.any(0)).any() or any(map(is_known_header, first)):
        return True
    return _first_word_is_no_value(first.iloc[-1], rest.iloc[:, -1].value_counts())


def _first_word_is_no_value(word: str, counts: Frame) -> bool:
    """Whether all words of a column repeat, but for the first."""
    return len(counts) > 1 and counts.min() > 1 and word not in counts


def _counts(cells: Any) -> bool:
    """Whether cells count from 0 or 1, three or more of them."""
    cells = list(cells)
    start = int(cells[0] == "1") if cells else 0
    return len(cells) > 2 and cells == [str(start + j) for j in range(len(cells))]


def _describing(cells: Frame) -> int:
    """How many lines below the header describe the features."""
    head = numeric(cells.iloc[:_HEAD, 1:])
    has, whole = np.isfinite(head), (np.floor(head) == head).all(1)
    for i, row in enumerate(head):
        text = not has[i].any() and (cells.iloc[i, 1:] != "").sum() > 1
        codes = whole[i] and len(set(row)) == len(row) > _FEW and not whole[i + 1 :].any()
        if (
            not (text or says_features(cells.iloc[i, 0]) or (codes and i + 2 < len(head)))
            or not has[i + 1 :].any()
        ):
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
    own = {id(x): _own_names(x) for x in tables}
    columns = [own[id(x)] for x in wide]
    if len(wide) > 1 and (None in columns or _shared(wide, columns) < 0.5):
        candidates = [_everywhere(wide, header) for header in _headers(wide[0])]
        best = max(filter(None, candidates), key=lambda x: _shared(wide, x), default=None)
        if best is not None and _shared(wide, best) > 0.5:
            own |= {id(x): j for x, j in zip(wide, best)}
    for x in wide:
        _warn_of_counts(x, own[id(x)])
    return [_named(x, own[id(x)]) for x in tables]


def _headers(view: NamedView) -> list[str]:
    """What columns are called, by their number where they have no name."""
    cells = view.values
    return view.features or [f"{cells.columns.name} {j}" for j in cells.columns]


def _warn_of_counts(view: NamedView, names: int | None) -> None:
    """Say it where a first column counts the samples, and is not taken for their names."""
    first = view.values.iloc[:, 0]
    if names is None and len(first) >= _MANY and _counts(first):
        warn(
            f"{view.source}: the first {view.values.columns.name} ({first.iloc[0]}, "
            f"{first.iloc[-1]}, ...) numbers the samples, and counts as a feature: call it id if "
            "it is none"
        )


def _everywhere(tables: list[NamedView], header: str) -> list[int] | None:
    """Where every table has a column of this header that may name its samples."""
    places = []
    for x in tables:
        headers = _headers(x)
        if headers.count(header) != 1 or not _may_name(x.values.iloc[:, headers.index(header)]):
            return None
        places.append(headers.index(header))
    return places


def _may_name(column: Frame) -> bool:
    """Whether cells are different from each other, and words or whole numbers."""
    values = typed(column)
    whole = values.dtype.kind != "f" or bool((np.floor(values) == values).all())
    return column.is_unique and whole


def _shared(tables: list[NamedView], columns: list[Any]) -> float:
    """The share of names that every table has with the first, at least."""
    sets = [set(x.values.iloc[:, j]) for x, j in zip(tables, columns) if j is not None]
    return min((len(s & sets[0]) / min(len(s), len(sets[0])) for s in sets[1:]), default=1.0)


def _own_names(view: NamedView) -> int | None:
    """The column that names the samples, as far as the table itself says it."""
    cells, headers = view.values, view.features or []
    first, width = cells.iloc[:, 0], cells.shape[1]
    if width == 1:
        return None
    filled = first[first != ""]
    is_text = not np.isfinite(numeric(first)).any()
    if headers and says_samples(headers[0], 0) and (is_text or not headers[0] or filled.is_unique):
        return 0
    if is_text and 2 * filled.nunique() > len(filled):
        return 0
    for j, header in enumerate(headers):
        if j and says_samples(header, j) and _may_name(cells.iloc[:, j]):
            return j
    return None


def _named(view: NamedView, j: int | None) -> NamedView:
    """A table without column j, which has the names of its samples."""
    if j is None:
        return view
    cells = view.values[
        (view.values.to_numpy(object) != "").any(1)
    ]  # a row without any cell is no sample
    view = replace(view, values=cells, samples=cells.iloc[:, j].tolist())
    return without(view, j)


def without(view: NamedView, j: int) -> NamedView:
    """A table without column j."""
    features = None if view.features is None else view.features[:j] + view.features[j + 1 :]
    cells = view.values
    return replace(view, values=cells.drop(columns=cells.columns[j]), features=features)


def columns_of_words(cells: Frame) -> Array:
    """The places of columns that have more words than numbers."""
    x = numeric(cells)
    return np.flatnonzero((np.isnan(x) & ~missing(cells)).sum(0) > np.isfinite(x).sum(0))


def numbers(view: NamedView) -> NamedView:
    """A table as one view: float64, with zeros for samples that have no value, and so lack it.

    It is a ``ValueError`` if a cell is no number; the message has the line and the column, or all
    columns of words.
    """
    cells = view.values
    x, gaps = numeric(cells), missing(cells)
    if not x.shape[1]:
        raise ValueError(
            f"{view.source} has no {cells.columns.name} of numbers (commas, semicolons or tabs "
            "separate the cells)"
        )
    if len(text := columns_of_words(cells)):
        headers = _headers(view)
        listed = ", ".join(f"{headers[j]} ({cells.iloc[0, j]:.20}, ...)" for j in text)
        raise ValueError(
            f"{view.source} has {cells.columns.name}s of words, not numbers: {listed}; take them "
            "out of the file, or write them as numbers"
        )
    lacking: Any = gaps.all(1)
    x[lacking] = 0
    bad = np.argwhere(~np.isfinite(x))
    if len(bad):
        i, j = bad[0]
        place = {cells.index.name: cells.index[i], cells.columns.name: cells.columns[j]}
        cell = cells.iloc[i, j]
        what = f"holds {cell!r}, not a number" if cell else "is empty"
        advice = "write one, or take the feature out"
        if gaps[i, j]:
            advice = "fill it in, or empty the whole row where the sample lacks this view"
        raise ValueError(
            f"{view.source}, line {place['line']}, column {place['column']} {what}; {advice}"
        )
    return replace(view, values=x, lacking=lacking)
