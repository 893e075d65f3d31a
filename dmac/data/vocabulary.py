"""What names say of classes and samples, and what is said of what can be asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from itertools import takewhile
from typing import Any

#: What the command line calls the ways to ask for something, by what Python calls them.
OPTIONS: ContextVar[Mapping[str, str]] = ContextVar("options", default={})  # noqa: B039

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
_ANYWHERE = set("id ids barcode barcodes identifier identifiers geneid".split())
# The last word of a row that describes features, or adds samples up.
_NO_SAMPLES = _ANYWHERE | set(
    "start end stop length size chr chrom chromosome strand position locus symbol accession "
    "description annotation biotype gene genes transcript transcripts total totals subtotal sum "
    "mean average avg median std sd variance min max count counts padj pvalue value fdr gesamt "
    "summe somme".split()
)


def spelled(asked: str) -> str:
    """A way to ask for something, as "labels_key=", or the option that stands for it."""
    return OPTIONS.get().get(asked, asked)


def words(name: str) -> list[str]:
    """The words of a name, in lower case: CellTypes and cell_types have two."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def bare(name: str) -> str:
    """A name without the group, structure or modality that it stands in."""
    return re.split(r"[/.:]", name)[-1]


def whole(name: str) -> str:
    """A name without its case and signs: cell_type and CellType are one."""
    return re.sub(r"[\W_]+", "", name.lower())


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
    return not words(header) or words(header)[-1] in _COUNTING


def no_samples(names: Sequence[Any]) -> list[str]:
    """Names of the first and last rows that describe features, or add samples up."""

    def is_none(name: Any) -> bool:
        text = isinstance(name, str) and not re.search(r"\d", name)
        return text and bool(_NO_SAMPLES & set(words(name)[-1:]))

    found = *takewhile(is_none, names), *takewhile(is_none, reversed(names))
    return list(dict.fromkeys(found))
