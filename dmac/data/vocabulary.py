"""What names say of classes and samples, what cells of tables say, and columns of words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import product, takewhile
from typing import Any

import numpy as np

from dmac._types import Array, Flags, Floats
from dmac.data.named_views import counts

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
    "numbers with units and commas between thousands": (
        rf"[^\w+-]*[+-]?\d{{1,3}}(,\d{{3}})*(\.\d+)?{_UNIT}",
        f"x.str.replace(',', ''){_TAKEN}",
    ),
    "numbers with units": (
        rf"[^\w+-]*[+-]?\d+([.,]\d+)?{_UNIT}",
        f"x.str.replace(',', '.'){_TAKEN}",
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
# The column that was taken for names, and so many are tried for the other half of a name.
_FIRST_COLUMN = "frame.columns[0]"
_TRIED = 20


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


def ends(name: str) -> set[str]:
    """The last word of a name, and the last two in one; none of one or two letters."""
    parts = words(bare(name))
    return {word for word in (*parts[-1:], "".join(parts[-2:])) if len(word) > 2}


def says_classes(name: str, among: set[str] = CLASSES) -> bool:
    """Whether a lone vector has such a name, or one that ends with it: BRCA_subtype."""
    return (
        whole(bare(name)) in among or bool(ends(name) & among) or "labels" in words(bare(name))[:1]
    )


def says_known(name: str) -> bool:
    """Whether a table has the name of what is known of samples: target, but not target_genes."""
    return whole(bare(name)) in KNOWN or bool(ends(name) & _ABOUT_SAMPLES)


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


def no_samples(names: Sequence[Any]) -> list[str]:
    """Names of the first and last rows that describe features, or add samples up."""

    def is_none(name: Any) -> bool:
        text = isinstance(name, str) and not re.search(r"\d", name)
        return text and bool(_NO_SAMPLES & set(words(name)[-1:]))

    found = *takewhile(is_none, names), *takewhile(is_none, reversed(names))
    return list(dict.fromkeys(found))


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


class Column:
    """A column of a table, whose cells are looked at once.

    ``header`` is what it is called; of a table without a header its place.
    """

    def __init__(self, cells: Any, header: str = "") -> None:
        self.cells, self.header = np.asarray(cells).ravel(), header

    @cached_property
    def parsed(self) -> tuple[Floats, Flags]:
        """Its cells as floats, and which of these are words."""
        return parsed(self.cells)

    @cached_property
    def text(self) -> list[str]:
        """Its cells as text."""
        return as_text(self.cells)

    @cached_property
    def plain(self) -> list[str]:
        """The same, whole numbers that are written with a point without it."""
        return as_text(self.parsed[0]) if "." in "".join(self.text[:1]) else self.text

    @cached_property
    def names(self) -> list[str]:
        """Its cells, if they may name samples, as distinct words or whole numbers; else none."""
        x, words = self.parsed
        whole = len(x) > 1 and bool((words | (np.floor(x) == x)).all())
        return self.text if whole and len(set(self.text)) == len(x) else []

    @property
    def numbered(self) -> bool:
        """Whether it only counts rows, and its header does not say that they are ids."""
        ids = says_samples(self.header, 0) and not only_counts(self.header)
        return counts(self.plain) and not ids

    @property
    def typed(self) -> Array:
        """Its cells as floats where all are numbers or missing, as strings otherwise."""
        x, words = self.parsed
        return np.array(self.text) if words.any() or np.isnan(x).all() else x

    def runs(self, place: int) -> bool:
        """Whether it seems to number the rows: it counts, first, or is an index of pandas."""
        index = only_counts(self.header)
        if not (index or place == 0):
            return False
        distinct = index and len(set(self.plain)) == len(self.plain)
        whole = distinct and all(map(str.isdecimal, self.plain))
        return whole or (len(self.plain) > 2 and counts(self.plain))

    def has_words(self) -> bool:
        """Whether most of its cells are distinct words, in no writing of numbers."""
        filled = [x for x in self.text if x]
        numbers = sum(bool(re.fullmatch(r"[+-]?[\d.,]+", x)) for x in filled)
        words = not np.isfinite(self.parsed[0]).any()
        return words and 2 * len(set(filled)) > len(filled) > numbers


def has_numbers(cells: Sequence[str]) -> bool:
    """Whether a sign that is not tried parts cells into numbers, the first of which is a header."""
    parts = [x for cell in cells[1:] for x in re.split(f"[{_SIGNS}]", cell)]
    return len(parts) > len(cells) and 2 * np.isfinite(parsed(parts)[0]).sum() > len(parts)


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
    sign = next((x for x in _SIGNS if all(x in cell for cell in columns[text[0]])), None)
    if sign and len(columns) == 1:
        return f"its cells may be parted by {sign!r}: pandas.read_csv(file, sep={sign!r})"
    kinds = {name: _kind([x for x in columns[name] if x], samples is not None) for name in text}
    words = [name for name in text if kinds[name] == "categories"]
    if samples and len(set(samples)) < len(samples):  # which are no names then
        columns, words = {_FIRST_COLUMN: samples} | columns, [_FIRST_COLUMN, *words]
    return _of_keys(columns, words) or "; ".join(
        f"{', '.join(names)} may be {kind}: {_LINES[kind].format(names[0], names)}"
        for kind in dict.fromkeys(kinds.values())
        for names in [[name for name in text if kinds[name] == kind]]
    )


def _of_keys(columns: dict[str, list[str]], words: list[str]) -> str:
    """What to do where two columns, one of words, name a row together; "" where none do."""
    varying = {name: cells for name, cells in columns.items() if len(set(cells)) > 1}
    counted = (x for x in varying if all(map(str.isdecimal, varying[x])))
    keys = [
        x for x in (*words, *counted) if x in varying and len(set(varying[x])) < len(varying[x])
    ]
    for a, b in product(filter(varying.get, words), keys[:_TRIED]):
        if len(set(zip(columns[a], columns[b]))) < len(columns[a]):
            continue
        (value, *more) = [x for x in varying if x not in keys] or keys[-1:]
        index = a if a == _FIRST_COLUMN else repr(a)
        if more:
            join = f"frame[{index}].astype(str) + ' ' + frame[{b!r}].astype(str)"
            line = f"frame.set_index({join}).drop(columns=[{index}, {b!r}])"
            return f"{a} and {b} look like two halves of a name: {line}"
        what = [x for x in keys if x not in (a, value)]
        both = " + ' ' + ".join(f"frame[{x!r}].astype(str)" for x in what)
        line = f"frame.assign(_={both}).pivot(index={index}, columns='_', values={value!r})"
        return f"it looks like a long table, a line a value: {line}"
    return ""


def _kind(cells: list[str], named: bool) -> str:
    """What the cells of a column of words look like, of which the first may be its header."""
    for kind, (pattern, _) in _KINDS.items():
        if all(re.fullmatch(pattern, cell) for cell in cells[1:] or cells):
            return kind
    if 2 * len(set(cells)) <= len(cells):
        return "categories"
    return "free text" if named or len(set(cells)) < len(cells) else "names"
