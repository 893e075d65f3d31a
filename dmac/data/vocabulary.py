"""Word lists and patterns that recognise class columns, sample names and formats of cells."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import product, takewhile
from typing import Any

import numpy as np

from dmac._types import Array, Flags, Floats

#: Names of classes that are taken before others.
LABELS = set("y gt gnd truth truelabel truelabels label labels gtruth groundtruth ytrue".split())
#: All names of classes, without the signs between their words.
CLASSES = LABELS | set(
    "class classes target targets category categories group groups cluster clusters celltype "
    "celltypes subtype subtypes diagnosis diagnoses species leiden louvain pam pam50 ident "
    "classlabel classlabels celltypelabel seuratclusters".split()
)
# What a table of all that is known of samples is called, by its last word.
_ABOUT_SAMPLES = set(
    "annotation annotations annot clinical clinicaldata phenotype phenotypes pheno phenodata meta "
    "outcome outcomes survival metadata coldata sampleinfo samplesheet covariates".split()
)
#: Those, and names of tables of what else is known of samples.
KNOWN = (
    CLASSES
    | _ABOUT_SAMPLES
    | set(
        "type types condition conditions disease diseases tissue stage status cohort batch "
        "histology response dx".split()
    )
)
# The last word of a header above numbers that only count rows; above names of samples where they
# stand first; and wherever they stand.
_COUNTING = set("index row item unnamed nr no number".split())
_FIRST = set(
    "sample patient subject participant donor individual name index row item unnamed gene feature "
    "probe protein marker variable symbol peak".split()
)
_FEATURES = set("gene feature probe protein marker variable var symbol peak column".split())
_OF_NAMES = set("name names id ids".split())
_ANYWHERE = set("id ids barcode barcodes identifier identifiers geneid".split())
# The last word of a row that describes features, or adds samples up.
_NO_SAMPLES = _ANYWHERE | set(
    "start end stop length size chr chrom chromosome strand position locus symbol accession "
    "description annotation biotype gene genes transcript transcripts total totals subtotal sum "
    "mean average avg median std sd variance min max count counts padj pvalue value fdr gesamt "
    "summe somme".split()
)
_MISSING = {"", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "nat", "null", "none"}
_TRUTH = {"true": 1.0, "false": 0.0}
# What cells look like: a pattern that all of a column have, and what makes numbers of its text x.
_UNIT = r"( ?[^\w\s]+| [^\W\d]+|[kmcµ]?[glmsh]|min|yrs?|d)"
_TAKEN = ".str.extract('([-+.0-9]+)', expand=False)"
_WITH_UNIT = r"[^\w+-]+{0}" + rf"{_UNIT}?|{{0}}{_UNIT}"
_DATED = ".map(pandas.Timestamp.toordinal, na_action='ignore')"
_KINDS = {
    "numbers with commas between thousands": (
        r"[+-]?\d{1,3}(,\d{3})*(\.\d+)?",
        "x.str.replace(',', '')",
    ),
    "numbers with decimal commas": (
        r"[+-]?(\d{1,3}(\.\d{3})*|\d+)(,\d+)?",
        "x.str.replace('.', '').str.replace(',', '.')",
    ),
    "numbers with signs between thousands": (
        r"[+-]?\d{1,3}([ '’]\d{3})*([.,]\d+)?",
        "x.str.replace(\"[ '’]\", '', regex=True).str.replace(',', '.')",
    ),
    "dates with the day first": (
        r"([0-2]?\d|3[01])[-/.](0?\d|1[0-2])[-/.]\d{2,4}( .*)?",
        f"pandas.to_datetime(x, format='mixed', dayfirst=True){_DATED}",
    ),
    "dates": (
        r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*|\d{1,2}[- ]?[^\W\d]{3,}[- ]?\d{2,4}.*",
        f"pandas.to_datetime(x, format='mixed'){_DATED}",
    ),
    "times": (
        r"\d{1,3}:\d{2}(:\d{2}([.]\d+)?)?",
        "pandas.to_timedelta(x.where(x.str.count(':') > 1, x + ':00')).dt.total_seconds()",
    ),
    "numbers with units and commas between thousands": (
        _WITH_UNIT.format(r"[+-]?\d{1,3}(,\d{3})*(\.\d+)?"),
        f"x.str.replace(',', ''){_TAKEN}",
    ),
    "numbers with units": (
        _WITH_UNIT.format(r"[+-]?\d+([.,]\d+)?"),
        f"x.str.replace(',', '.'){_TAKEN}",
    ),
    "numbers with units and points between thousands": (
        _WITH_UNIT.format(r"[+-]?\d{1,3}(\.\d{3})*,\d+"),
        f"x.str.replace('.', '').str.replace(',', '.'){_TAKEN}",
    ),
}
# The line of pandas that mends other columns, by what they look like.
_LINES = {
    **{
        kind: f"frame[{{1}}] = frame[{{1}}].astype(str).apply(lambda x: {line}.astype(float))"
        for kind, (_, line) in _KINDS.items()
    },
    "names": "frame.set_index({0!r})",
    "categories": "pandas.get_dummies(frame, columns={1}, dtype=int), or labels_key= takes known "
    "classes out",
    "free text": "frame.drop(columns={1})",
}
# Signs that may part the cells of a text, beside those that are tried.
_SIGNS = ":^~/ "
# Placeholder for the column taken as sample names.
_FIRST_COLUMN = "frame.columns[0]"
# Columns tried as the second half of a key, at most.
_MAX_HALVES = 20


def words(name: str) -> list[str]:
    """The words of a name, in lower case: CellTypes and cell_types have two."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def bare(name: str) -> str:
    """A name without the group, structure or modality that it stands in."""
    return re.split(r"[/.:]", name)[-1]


def whole(name: str) -> str:
    """A name without its case and signs: cell_type and CellType are one."""
    return re.sub(r"[\W_]+", "", name.lower())


def marks(name: str) -> set[str]:
    """The words of a name without a plural's s, and its numbers."""
    return {word.removesuffix("s") for word in words(name)} | set(re.findall(r"\d+", name))


def says_features(name: str) -> bool:
    """Whether a vector has the name of names of features: genes, gene_names."""
    last = [word for word in words(bare(name)) if word not in _OF_NAMES][-1:]
    return bool(last) and last[0].removesuffix("s") in _FEATURES


def last_words(name: str) -> set[str]:
    """The last word of a name, and the last two in one; none of one or two letters."""
    parts = words(bare(name))
    return {word for word in (*parts[-1:], "".join(parts[-2:])) if len(word) > 2}


def says_classes(name: str, among: set[str] = CLASSES) -> bool:
    """Whether a lone vector has such a name, or one that ends with it: BRCA_subtype."""
    says = whole(bare(name)) in among or last_words(name) & among
    return bool(says) or "labels" in words(bare(name))[:1]


def says_known(name: str) -> bool:
    """Whether a table has the name of what is known of samples: target, but not target_genes."""
    return whole(bare(name)) in KNOWN or bool(last_words(name) & _ABOUT_SAMPLES)


def says_samples(header: str, j: int = 1) -> bool:
    """Whether a header stands above names of samples, in column j, counted from 0."""
    last = words(header)[-1:]
    if not last:
        return j == 0 and not header
    first = last[0].removesuffix("s") in _FIRST or re.sub("ids?$", "", last[0]) in _FIRST
    return last[0] in _ANYWHERE or (j == 0 and first)


def only_counts(header: str) -> bool:
    """Whether a header says no more of numbers than that they count rows: Unnamed: 0, Nr."""
    return not header or bool(_COUNTING & set(words(header)[-1:]))


def counts(names: Sequence[Any]) -> bool:
    """Whether names only count rows: 0, 1, 2, ... or 1, 2, 3, ..., as numbers or as text."""
    start = str(names[0]) if len(names) else ""
    return start in ("0", "1") and all(
        str(name) == str(i) for i, name in enumerate(names, int(start))
    )


def no_samples(names: Sequence[Any]) -> list[str]:
    """Names of the first and last rows that describe features, or add samples up."""

    def is_none(name: Any) -> bool:
        text = isinstance(name, str) and not re.search(r"\d", name)
        return text and bool(_NO_SAMPLES & set(words(name)[-1:]))

    return [*dict.fromkeys((*takewhile(is_none, names), *takewhile(is_none, reversed(names))))]


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
    read = (x.decode(errors="replace") if isinstance(x, bytes) else x for x in cells)
    return [
        f"{x:.0f}" if isinstance(x, float) and x.is_integer() else "" if x != x else str(x).strip()
        for x in read
    ]


class Column:
    """A column of a table, whose cells are looked at once.

    ``header`` is what it is called; of a table without a header its place.
    """

    def __init__(self, cells: Any, header: str = "") -> None:
        self.cells = np.asarray(cells).ravel()
        self.header = header

    @cached_property
    def parsed(self) -> tuple[Floats, Flags]:
        """Its cells as floats, and which of these are words."""
        return parsed(self.cells)

    @cached_property
    def text(self) -> list[str]:
        """Its cells as text; whole numbers that are written with a point without it."""
        text = as_text(self.cells)
        x = self.parsed[0]
        return as_text(x) if "." in "".join(text[:1]) and (x % 1 == 0).all() else text

    @property
    def is_whole(self) -> bool:
        """Whether its cells are words or whole numbers, and none is missing."""
        x, words = self.parsed
        return bool((words | (x % 1 == 0)).all())

    @cached_property
    def names(self) -> list[str]:
        """Its cells, if they may name samples, as distinct words or whole numbers; else none."""
        return self.text if len(set(self.text)) == len(self.text) > 1 and self.is_whole else []

    @property
    def numbered(self) -> bool:
        """Whether it only counts rows, and its header does not say that they are ids."""
        return counts(self.text) and (only_counts(self.header) or not says_samples(self.header, 0))

    @property
    def typed(self) -> Array:
        """Its cells as floats where all are numbers or missing, as strings otherwise."""
        x, words = self.parsed
        return np.array(self.text) if words.any() or np.isnan(x).all() else x

    def runs(self, place: int) -> bool:
        """Whether it seems to number the rows: it counts, first, or is an index of pandas."""
        if only_counts(self.header):
            return len(set(self.text)) == len(self.text) and all(map(str.isdecimal, self.text))
        return place == 0 and len(self.text) > 2 and counts(self.text)

    def has_words(self) -> bool:
        """Whether most of its cells are distinct words, in no writing of numbers."""
        filled = [x for x in self.text if x]
        numbers = sum(bool(re.fullmatch(r"[+-]?[\d.,]+", x)) for x in filled)
        words = not np.isfinite(self.parsed[0]).any()
        return words and 2 * len(set(filled)) > len(filled) > numbers


def share(named: Sequence[Collection[str]]) -> float:
    """The share of names that every list has with the first, at least."""
    first, *rest = map(set, named)
    return min(len(x & first) / max(min(len(x), len(first)), 1) for x in rest)


def everywhere(tables: Sequence[Sequence[Column]]) -> list[int] | None:
    """The columns of the same header in all tables whose values are the same in most rows."""
    every = [{x.header: j for j, x in enumerate(columns)} for columns in tables]
    names = {
        header: [columns[at[header]].names for columns, at in zip(tables, every)]
        for header in every[0]
        if all(header in at for at in every)
    }
    found = [header for header in names if share(names[header]) > 0.5]
    found.sort(key=lambda header: (any(map(counts, names[header])), -share(names[header])))
    return [at[found[0]] for at in every] if found else None


def has_numbers(cells: Sequence[str]) -> bool:
    """Whether a sign that is not tried parts cells into numbers, the first of which is a header."""
    parts = [x for cell in cells[1:] for x in re.split(f"[{_SIGNS}]", cell)]
    return len(parts) > len(cells) and 2 * np.isfinite(parsed(parts)[0]).sum() > len(parts)


def mending(columns: Sequence[Column], text: Sequence[Column], samples: list[str] | None) -> str:
    """What columns of words look like, and the line of pandas that mends it.

    Parameters
    ----------
    columns : sequence of Column
        All columns of a table.
    text : sequence of Column
        Those of them that hold words.
    samples : list of n str, or None
        What was taken out of the table as names.
    """
    sign = next((x for x in _SIGNS if all(x in cell for cell in text[0].text)), None)
    if sign and len(columns) == 1:
        return f"its cells may be parted by {sign!r}: pandas.read_csv(file, sep={sign!r})"
    kinds: dict[str, list[str]] = {}
    for x in text:
        kinds.setdefault(_kind(list(filter(None, x.text)), samples is not None), []).append(
            x.header
        )
    table = {x.header: x.text for x in columns}
    words = kinds.get("categories", [])
    if samples and len(set(samples)) < len(samples):  # which are no names then
        table = {_FIRST_COLUMN: samples} | table
        words = [_FIRST_COLUMN, *words]
    return _of_keys(table, words) or "; ".join(
        line_for(kind, names) for kind, names in kinds.items()
    )


def _of_keys(table: dict[str, list[str]], words: list[str]) -> str:
    """What to do where two columns, one of words, name a row together; "" where none do."""
    repeats = {name: len(set(cells)) < len(cells) for name, cells in table.items()}
    varying = [name for name, cells in table.items() if len(set(cells)) > 1]
    counted = [name for name in varying if all(map(str.isdecimal, table[name]))]
    keys = [name for name in (*words, *counted) if name in varying and repeats[name]]
    for a, b in product([name for name in words if name in varying], keys[:_MAX_HALVES]):
        if len(set(zip(table[a], table[b]))) < len(table[a]):
            continue
        (value, *more) = [name for name in varying if name not in keys] or keys[-1:]
        index = a if a == _FIRST_COLUMN else repr(a)
        if more:
            join = f"frame[{index}].astype(str) + ' ' + frame[{b!r}].astype(str)"
            return (
                f"{a} and {b} look like two halves of a name: "
                f"frame.set_index({join}).drop(columns=[{index}, {b!r}])"
            )
        what = [name for name in keys if name not in (a, value)]
        both = " + ' ' + ".join(f"frame[{name!r}].astype(str)" for name in what)
        return (
            "it looks like a long table, a line a value: "
            f"frame.assign(_={both}).pivot(index={index}, columns='_', values={value!r})"
        )
    return ""


def kind_of_numbers(cells: list[str]) -> str:
    """In what form all cells are numbers, though none that is read; else ""."""
    return next((x for x, (y, _) in _KINDS.items() if all(re.fullmatch(y, z) for z in cells)), "")


def line_for(kind: str, names: list[str]) -> str:
    """What some columns may be, and the line of pandas that mends them."""
    return f"{', '.join(names)} may be {kind}: {_LINES[kind].format(names[0], names)}"


def _kind(cells: list[str], named: bool) -> str:
    """What the cells of a column of words look like, of which the first may be its header."""
    n_distinct = len(set(cells))
    text = "free text" if named or n_distinct < len(cells) else "names"
    return kind_of_numbers(cells[1:] or cells) or (
        "categories" if 2 * n_distinct <= len(cells) else text
    )
