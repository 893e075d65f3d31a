"""Tables of text: CSV and its kin, with the names of samples and features that they have.

The command line reads them, through :mod:`dmac.data.readers`.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import re
import warnings
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dmac.data.known_classes import is_class_header, is_missing

if TYPE_CHECKING:
    from dmac._types import Array, Flags, Floats, PathLike

# Headers of a column that names the samples.
_SAMPLES = re.compile(
    r"|samples?|patients?|subjects?|names?|ids?|index|barcodes?|unnamed: 0"
    r"|(sample|patient|subject|cell|case|row|item)[ _.-]*(ids?|names?|barcodes?|index)",
    re.IGNORECASE,
)
# The same above the names of features, where the samples are columns.
_FEATURES = re.compile(
    rf"{_SAMPLES.pattern}|(gene|feature|probe|protein|marker|variable|symbol|peak)s?"
    "([ _.-]*(ids?|names?|symbols?))?",
    re.IGNORECASE,
)

# As most of Europe writes numbers, in tables whose cells semicolons separate, and thousands there.
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d+)?")
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+(?:e[+-]?\d+)?\s*", re.IGNORECASE)

# Signs that people write with numbers and a computer does not read.
_ODD = re.compile(r"[\s%'’,]|\.(?=\d{3}\b)")
# So many lines that count are no chance, and so many columns, whatever the last one is called.
_MANY, _COLUMNS = 10, 5
# A warning is about the line that called `read_views`.
_LEVEL = 5


@dataclass(frozen=True, eq=False)
class Table:
    """A table of text, cut into names and cells.

    Attributes
    ----------
    file : path
    cells : list of n lists of d str
        One list a sample.
    samples : list of n str, or None
        Their names.
    headers : list of d str, or None
        Names of the columns.
    places : two lists of int
        Where rows and columns of cells are in the file, counted from 1.
    transposed : bool
        Whether the samples are columns of the file.
    """

    file: Path
    cells: list[list[str]]
    samples: list[str] | None
    headers: list[str] | None
    places: tuple[list[int], list[int]]
    transposed: bool = False

    def columns(self) -> list[Array]:
        """The columns: floats where all cells are numbers, or strings."""
        return [_column(list(cells)) for cells in zip(*self.cells)]

    def empty(self) -> Flags:
        """Which samples have no value at all, and so lack this view: (n,), bool."""
        return np.array([all(map(is_missing, row)) for row in self.cells])

    def numbers(self) -> Floats:
        """The table as one view: (n, d), float64, with zeros for samples that lack it.

        It is a ``ValueError`` if a cell is no number; the message has the line and the column.
        """
        x = np.zeros((len(self.cells), len(self.cells[0])))
        for i in np.flatnonzero(~self.empty()).tolist():
            with contextlib.suppress(ValueError):
                x[i] = [float(cell) for cell in self.cells[i]]
                if np.isfinite(x[i]).all():
                    continue
            raise ValueError(self._fault(i))
        return x

    def _fault(self, i: int) -> str:
        """What is wrong with the first cell of a row that is no number, and what to do."""
        values = map(_number, self.cells[i])
        (j, *_) = (j for j, x in enumerate(values) if x is None or not np.isfinite(x))
        cell, place = self.cells[i][j], (self.places[0][i], self.places[1][j])
        line, column = place[::-1] if self.transposed else place
        what = f"holds {cell!r}, not a number" if cell else "is empty"
        advice = "write one, or take it out"
        if all(_number(row[j]) is None for row in self.cells):
            advice += "; if the file has known classes, pass labels_key= with its name"
        if is_missing(cell):
            advice = "fill it in, or empty the whole row where the sample lacks this view"
        return f"{self.file}, line {line}, column {column} {what}; {advice}"


def read_csv(file: PathLike, *, transposed: bool = False) -> tuple[Floats, list[str] | None]:
    """One view from a table of text: one row per sample, one column per feature.

    A first line is a header if it has a cell that is no number, beyond its first. A first column
    that holds no numbers, or whose header is empty, or says that it has names (``id``, ``name``,
    ``sample``, ``index``, ``patient_id``, ...), has the names of the samples. Commas, semicolons or
    tabs separate the cells: whichever the first line has most of. Between semicolons a number may
    have a decimal comma, as spreadsheets of many countries write it. A row whose cells are all
    empty or NA is that of a sample that lacks this view, and becomes zeros.

    Parameters
    ----------
    file : path
    transposed : bool
        One column per sample and one row per feature; lines and columns change their parts.

    Returns
    -------
    x : numpy.ndarray of shape (n, d), float64
    samples : list of n str, or None

    Raises
    ------
    ValueError
        If rows differ in length or a cell is no number; the message has the line and the column.
    """
    table = read_table(file, transposed=transposed)
    return table.numbers(), table.samples


def read_table(file: PathLike, *, transposed: bool = False, classes: bool = False) -> Table:
    """Cut a table of text into names and cells, by the rules of :func:`read_csv`.

    Parameters
    ----------
    file : path
    transposed : bool
        Whether the samples are columns.
    classes : bool
        Whether it has words as values. A first line is then a header if it says so, if numbers are
        below its last cell, or if every value of the last column repeats but the first. A table of
        one or two long lines is read with its samples as columns.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        If it is no table of text, or has no samples or columns, or rows of different lengths.
    """
    file = Path(file)
    lines, rows = _rows(file)
    places = lines, list(range(1, len(rows[0]) + 1))
    if classes:
        transposed = len(rows) <= 2 < len(rows[0])
    if transposed:
        rows, places = [list(column) for column in zip(*rows)], places[::-1]
    first = rows[0]
    counted = first[:-1] if len(first) > _COLUMNS and not _counts(first) else first
    if not classes and _counts(counted) and not (len(rows) > 1 and _counts(first + rows[1])):
        warnings.warn(
            f"{file}: the first {'column' if transposed else 'line'} counts "
            f"{', '.join(first[:3])}, ..., as tables without names of columns are written, and is "
            "no sample; if it is one, write a line of names above it",
            stacklevel=_LEVEL,
        )
        first = rows[0] = [f"column {cell}" for cell in first]
    named = (_FEATURES if transposed else _SAMPLES).fullmatch(first[0]) is not None
    header = (_has_header_of_classes if classes else _has_header)(rows, named)
    headers = first if header else None
    body = list(zip(places[0], rows))[int(header) :]
    if not body:
        raise ValueError(f"{file} has a header and no samples")
    width = len(first)
    names = [row[0] for _, row in body if any(row)]
    words = all(name != "" and _number(name) is None for name in names)
    if classes:  # words may be classes as well, but not if they are all there is
        named = width > 1 and ((header and named) or (words and len(set(names)) == len(names)))
    else:
        doubted = "" if named or width == 1 else _doubt(names, words)
        if doubted:
            warnings.warn(
                f"{file}: the first {'line' if transposed else 'column'} ({names[0]:.40}, "
                f"{names[-1]:.40}, ...) {doubted}",
                stacklevel=_LEVEL,
            )
        named |= words
    if named:  # a row without any cell is no sample
        body = [(place, row) for place, row in body if any(row)]
    left = int(named)
    if width == left:
        raise ValueError(
            f"{file} has no {'row' if transposed else 'column'} of numbers (commas, semicolons or "
            "tabs separate the cells)"
        )
    return Table(
        file,
        [row[left:] for _, row in body],
        names if named else None,
        headers[left:] if headers else None,
        ([place for place, _ in body], places[1][left:]),
        transposed,
    )


def _counts(cells: list[str]) -> bool:
    """Whether cells count from 0 or 1, three or more of them."""
    start = 1 if cells[0] == "1" else 0
    return len(cells) > 2 and cells == [str(start + j) for j in range(len(cells))]


def _doubt(names: list[str], words: bool) -> str:
    """What speaks against a first column as names of samples, or against it as a feature."""
    if words and len(names) > 1 and 2 * len(set(names)) <= len(names):
        return "has words that repeat, taken for names of samples: if it is a feature, code it"
    if words and all(_number(_ODD.sub("", name).replace("−", "-")) is not None for name in names):
        return "may be numbers, taken for names of samples: write them with digits and a point"
    if len(names) >= _MANY and _counts(names):
        return "numbers the samples, and counts as a feature: call it id if it is none"
    return ""


def _has_header(rows: list[list[str]], named: bool) -> bool:
    is_name = [_number(cell) is None for cell in rows[0]]
    return named or any(is_name[1:]) or (len(rows) > 1 and is_name[0] and len(is_name) == 1)


def _has_header_of_classes(rows: list[list[str]], named: bool) -> bool:
    first = rows[0]
    if any(map(is_class_header, first)) or (named and len(first) > 1):
        return True
    last = [row[-1] for row in rows]
    if _number(last[0]) is None and _number(last[-1]) is not None:
        return True
    counts = Counter(last)
    return counts.pop(last[0]) == 1 and len(counts) > 1 and min(counts.values()) > 1


def _rows(file: Path) -> tuple[list[int], list[list[str]]]:
    """The rows of a table of text, equally long, with their line numbers; without empty lines."""
    try:
        opened = gzip.open if file.suffix.lower() == ".gz" else open
        with opened(file, "rt", newline="", encoding="utf-8-sig") as lines:
            head = lines.readline()
            lines.seek(0)
            if ".tsv" in file.name.lower()[-7:]:
                delimiter = "\t"
            elif any(map(_DECIMAL_COMMA.fullmatch, head.split(";")[1:])):
                delimiter = ";"
            else:
                delimiter = max(",;\t", key=head.count)
            reader = csv.reader(lines, delimiter=delimiter)
            found = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
        if delimiter == ";":
            _check_points(file, found)
            found = [(line, [_with_point(cell) for cell in row]) for line, row in found]
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{file} is not a table of text in UTF-8 ({error}): save it as CSV in UTF-8"
        ) from error
    except (csv.Error, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{file} is not a table of text: {error}") from error
    while found and not any(found[-1][1]):  # spreadsheets end with lines of commas alone
        found.pop()
    # Between others a line of commas alone is a sample; an empty line is none.
    found = [(line, row) for line, row in found if len(row) > 1 or any(row)]
    if not found:
        raise ValueError(f"{file} is empty")
    numbers, rows = [line for line, _ in found], [row for _, row in found]
    if len(rows) > 1 and len(rows[0]) == len(rows[1]) - 1 and None in map(_number, rows[0]):
        rows[0].insert(0, "")  # as R writes it: nothing stands above the names
    for line, row in found:
        if len(row) != len(rows[0]):
            raise ValueError(
                f"{file}, line {line} has {len(row)} cells, the lines before it have {len(rows[0])}"
            )
    return numbers, rows


def _column(cells: list[str]) -> Array:
    """Cells as floats where all are numbers, or as strings."""
    numbers = [_number(cell) for cell in cells]
    return np.array(cells if None in numbers else numbers)


def _check_points(file: Path, rows: list[tuple[int, list[str]]]) -> None:
    """Refuse points between thousands, beside decimal commas: 1.234 is not 1,234."""
    if not any(_DECIMAL_COMMA.fullmatch(cell) for _, row in rows for cell in row):
        return
    named = _SAMPLES.fullmatch(rows[0][1][0]) is not None
    for line, row in rows:
        for j, cell in enumerate(row, 1):
            if j > named and _THOUSANDS.fullmatch(cell):
                raise ValueError(
                    f"{file}, line {line}, column {j} holds {cell!r} among numbers with a decimal "
                    "comma: write thousands without a point"
                )


def _with_point(cell: str) -> str:
    return cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell) else cell


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
