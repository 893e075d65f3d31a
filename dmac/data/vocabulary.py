"""What names say of classes and samples, and what is said of what can be asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextvars import ContextVar

#: What the command line calls the ways to ask for something, by what Python calls them.
OPTIONS: ContextVar[Mapping[str, str]] = ContextVar("options", default={})  # noqa: B039

#: Names of classes that are taken before others.
LABELS = set("y gt gnd truth truelabel truelabels label labels gtruth groundtruth ytrue".split())
#: All names of classes, without the signs between their words.
CLASSES = LABELS | set(
    "class classes target targets category categories group groups cluster clusters celltype "
    "celltypes subtype subtypes diagnosis diagnoses species leiden louvain pam ident".split()
)
#: Those, and names of tables of what else is known of samples.
KNOWN = CLASSES | set(
    "annotation annotations annot clinical clinicaldata phenotype phenotypes pheno phenodata meta "
    "outcome outcomes survival metadata type types condition conditions disease diseases tissue "
    "coldata sampleinfo samplesheet covariates stage status cohort batch histology response "
    "dx".split()
)
# The last word of a header above names of samples where they stand first; and wherever they stand.
_FIRST = set(
    "sample patient subject participant donor individual name index row item unnamed gene feature "
    "probe protein marker variable symbol peak".split()
)
_ANYWHERE = set("id ids barcode barcodes identifier identifiers geneid".split())


def spelled(asked: str) -> str:
    """A way to ask for something, as "labels_key=", or the option that stands for it."""
    return OPTIONS.get().get(asked, asked)


def words(name: str) -> list[str]:
    """The words of a name, in lower case: CellTypes and cell_types have two."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def bare(name: str) -> str:
    """A name without the group, structure or modality that it stands in."""
    return re.split(r"[/.:]", name)[-1]


def says(name: str, among: set[str]) -> bool:
    """Whether a name is one of these as a whole, or by the word or two that it ends with."""
    parts = words(bare(name))
    ends = {word for word in (*parts[-1:], "".join(parts[-2:])) if len(word) > 2}
    return "".join(parts) in among or bool(ends & among) or "labels" in parts[:1]


def says_samples(header: str, j: int = 1) -> bool:
    """Whether a header stands above names of samples, in column j, counted from 0."""
    last = words(header)[-1:]
    if not last:
        return j == 0 and not header
    first = last[0].removesuffix("s") in _FIRST or re.sub("ids?$", "", last[0]) in _FIRST
    return last[0] in _ANYWHERE or (j == 0 and first)
