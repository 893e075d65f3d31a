"""What the cells of tables say: numbers, words or nothing; and what columns of words look like."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from dmac._types import Array, Flags, Floats

_MISSING = {"", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "nat", "null", "none"}
_TRUTH = {"true": 1.0, "false": 0.0}
# What cells look like, by the first pattern that all of a column have, and the line that mends it.
_PATTERNS = {
    "numbers with commas between thousands": r"[+-]?\d{1,3}(,\d{3})*(\.\d+)?",
    "numbers with decimal commas": r"[+-]?(\d{1,3}(\.\d{3})*|\d+)(,\d+)?",
    "dates": r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*",
}
_LINES = {
    "numbers with commas between thousands": 'pandas.read_csv(file, thousands=",")',
    "numbers with decimal commas": 'pandas.read_csv(file, sep=..., decimal=",", thousands=".")',
    "dates": "frame[{0!r}] = pandas.to_datetime(frame[{0!r}]).map(pandas.Timestamp.toordinal)",
    "numbers with units": "frame[{0!r}] = frame[{0!r}].str.extract(r'([-+.0-9]+)').astype(float)",
    "names": "frame.set_index({0!r})",
    "categories": "pandas.get_dummies(frame, columns={1}, dtype=int)",
    "free text": "frame.drop(columns={1})",
}
# Signs that may part the cells of a text, beside those that are tried.
_SIGNS = ":^~/ "
# So many columns are tried for the other half of a name.
_TRIED = 20


def parsed(cells: Any) -> tuple[Floats, Flags]:
    """Cells as floats, TRUE 1, FALSE 0, nan where they are none, and which of these are words."""
    values = np.asarray(cells, object)
    try:
        x = values.astype(float)  # ten times as fast, where there are no words
    except (TypeError, ValueError):
        import pandas as pd

        x = pd.to_numeric(values.ravel(), errors="coerce").astype(float).reshape(values.shape)
    words = np.isnan(x) & (values == values)
    said = [str(cell).strip().lower() for cell in values[words]]
    x[words] = [_TRUTH.get(text, np.nan) for text in said]
    words[words] = [text not in _MISSING and text not in _TRUTH for text in said]
    return x, words


def as_text(cells: Any) -> list[str]:
    """Cells as text, whole numbers without a point; "" for none."""
    whole = (f"{x:.0f}" if isinstance(x, float) and x.is_integer() else x for x in cells)
    return ["" if x != x else str(x).strip() for x in whole]


def typed(column: Any) -> Array:
    """A column as floats where all its cells are numbers or missing, as strings otherwise."""
    values, words = parsed(column)
    return np.array(as_text(column)) if words.any() or np.isnan(values).all() else values


def mending(columns: dict[str, list[str]], text: Sequence[str], samples: list[str] | None) -> str:
    """What columns of words look like, and the line of pandas that mends it.

    Parameters
    ----------
    columns : dict of str to n str
        The cells of all columns.
    text : sequence of str
        Which of them hold words.
    samples : list of n str, or None
        What was taken out of the table as names.
    """
    for sign in _SIGNS if len(columns) == 1 else "":
        if all(sign in cell for cell in columns[text[0]]):
            return f"its cells may be parted by {sign!r}: pandas.read_csv(file, sep={sign!r})"
    kinds = {name: _kind([cell for cell in columns[name] if cell]) for name in text}
    sizes = {name: len(set(cells)) for name, cells in columns.items()}
    n = max(map(len, columns.values()))
    keys = [
        name
        for name, cells in columns.items()
        if 1 < sizes[name] < n
        and (kinds[name] == "categories" if name in text else all(map(str.isdecimal, cells)))
    ]
    value = [x for x in columns if sizes[x] > 1 and x not in keys] or keys[-1:]
    index = ["frame.columns[0]"] if samples and len(set(samples)) < n else []
    index += [repr(x) for x in keys if x not in value]
    if len(value) == 1 and len(index) > 1 and set(value).isdisjoint(text):
        what = f"[{', '.join(index[1:])}]" if len(index) > 2 else index[1]
        line = f"frame.pivot(index={index[0]}, columns={what}, values={value[0]!r})"
        return f"it looks like a long table, a line a value: {line}"
    for a, b in product([x for x in keys if x in text], keys[:_TRIED]):
        if len(set(zip(columns[a], columns[b]))) == n:
            line = f"frame.index = frame[{a!r}].astype(str) + ' ' + frame[{b!r}].astype(str)"
            return f"{a} and {b} look like two halves of a name: {line}"
    alike = {kind: [x for x in text if kinds[x] == kind] for kind in dict.fromkeys(kinds.values())}
    return "; ".join(
        f"{', '.join(names)} may be {kind}: {_LINES[kind].format(names[0], names)}"
        for kind, names in alike.items()
    )


def _kind(cells: list[str]) -> str:
    """What the cells of a column of words look like, of which the first may be its header."""
    for kind, pattern in _PATTERNS.items():
        if all(re.fullmatch(pattern, cell) for cell in cells[1:] or cells):
            return kind
    units = {re.sub(r"[-+.,\d]", "", cell) for cell in cells}
    if len(units) == 1 and all(re.match(r"[^\w]*\d", cell) for cell in cells):
        return "numbers with units"
    distinct = len(set(cells))
    several = "categories" if 2 * distinct <= len(cells) else "free text"
    return "names" if distinct == len(cells) else several
