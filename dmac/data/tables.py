"""Tables of text: CSV and its kin, with the names of samples and features that they have.

The command line reads them, through :mod:`dmac.data.readers`.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dmac.data.known_classes import is_class_header

if TYPE_CHECKING:
    from dmac._types import Array, Floats, PathLike

# Headers of a column that names the samples.
_SAMPLES = re.compile(
    r"|samples?|patients?|subjects?|names?|ids?|index|barcodes?|unnamed: 0"
    r"|(sample|patient|subject|cell|case|row|item)[ _.-]*(ids?|names?|barcodes?|index)",
    re.IGNORECASE,
)


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
    lines : list of n int
        Where the samples are in the file, counted from 1.
    """

    file: Path
    cells: list[list[str]]
    samples: list[str] | None
    headers: list[str] | None
    lines: list[int]

    def columns(self) -> list[Array]:
        """The columns: floats where all cells are numbers, or strings."""
        return [_column(list(cells)) for cells in zip(*self.cells)]

    def numbers(self) -> Floats:
        """The table as one view: (n, d), float64.

        It is a ``ValueError`` if a cell is no number; the message has the line and the column.
        """
        x = np.empty((len(self.cells), len(self.cells[0])))
        for i, row in enumerate(self.cells):
            for j, cell in enumerate(row):
                value = _number(cell)
                if value is None or not np.isfinite(value):
                    what = "is empty" if not cell else f"holds {cell!r}, not a number"
                    raise ValueError(f"{self._where(i, j)} {what}; fill it or drop the sample")
                x[i, j] = value
        return x

    def _where(self, i: int, j: int) -> str:
        return f"{self.file}, line {self.lines[i]}, column {j + 1 + (self.samples is not None)}"


def read_csv(file: PathLike) -> tuple[Floats, list[str] | None]:
    """One view from a table of text: one row per sample, one column per feature.

    A first line is a header if it has a cell that is no number, beyond its first. A first column
    that holds no numbers, or whose header is empty, or says that it has names (``id``, ``name``,
    ``sample``, ``index``, ``patient_id``, ...), has the names of the samples. Commas, semicolons or
    tabs separate the cells: whichever the first line has most of.

    Parameters
    ----------
    file : path

    Returns
    -------
    x : numpy.ndarray of shape (n, d), float64
    samples : list of n str, or None

    Raises
    ------
    ValueError
        If rows differ in length or a cell is no number; the message has the line and the column.
    """
    table = read_table(file)
    return table.numbers(), table.samples


def read_table(file: PathLike, *, classes: bool = False) -> Table:
    """Cut a table of text into names and cells, by the rules of :func:`read_csv`.

    Parameters
    ----------
    file : path
    classes : bool
        Whether it has words as values. A first line is then a header if it says so, if numbers are
        below its last cell, or if every value of the last column repeats but the first.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        If it is no table of text, or has no samples or columns, or rows of different lengths.
    """
    file = Path(file)
    rows = _rows(file)
    first = rows[0][1]
    named = _SAMPLES.fullmatch(first[0]) is not None
    header = (_has_header_of_classes if classes else _has_header)([row for _, row in rows], named)
    headers = first if header else None
    rows = rows[1:] if header else rows
    if not rows:
        raise ValueError(f"{file} has a header and no samples")
    names, width = [row[0] for _, row in rows], len(rows[0][1])
    words = all(name != "" and _number(name) is None for name in names)
    if classes:  # words may be classes as well, but not if they are all there is
        named = width > 1 and ((header and named) or (words and len(set(names)) == len(names)))
    else:
        named |= words
    if headers and len(headers) == width - 1:  # as R writes it: nothing stands above the names
        named, headers = True, ["", *headers]
    skip = int(named)
    if width == skip:
        raise ValueError(f"{file} has no column of numbers")
    for line, row in rows:
        if len(row) != width:
            raise ValueError(
                f"{file}, line {line} has {len(row)} cells, the lines before it have {width}"
            )
    return Table(
        file,
        [row[skip:] for _, row in rows],
        names if named else None,
        headers[skip:] if headers else None,
        [line for line, _ in rows],
    )


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


def _rows(file: Path) -> list[tuple[int, list[str]]]:
    """The rows of a table of text, each with its line number; empty lines are left out."""
    try:
        with open(file, newline="", encoding="utf-8-sig") as lines:
            head = lines.readline()
            lines.seek(0)
            if file.suffix.lower() == ".tsv":
                delimiter = "\t"
            else:
                delimiter = max(",;\t", key=head.count)
            reader = csv.reader(lines, delimiter=delimiter)
            found = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{file} is not a table of text: {error}") from error
    found = [(line, row) for line, row in found if any(row)]
    if not found:
        raise ValueError(f"{file} is empty")
    return found


def _column(cells: list[str]) -> Array:
    """Cells as floats where all are numbers, or as strings."""
    numbers = [_number(cell) for cell in cells]
    return np.array(cells if None in numbers else numbers)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
