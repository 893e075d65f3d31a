"""Known classes beside views: found by their name and their values, so that none becomes a view.

The command line reads its data by these rules, through :mod:`dmac.data.readers`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from dmac._types import Array

#: Names under which labels are looked for, in any case.
LABEL_NAMES = (
    *("y", "gt", "gnd", "truth", "truelabel", "truelabels", "label", "labels"),
    *("gtruth", "groundtruth", "ground_truth", "true_label", "true_labels"),
)
#: More names of tables and columns that hold classes, or what is known of the samples otherwise:
#: lower case, without the signs between their words.
MORE_NAMES = (
    *("class", "classes", "target", "targets", "category", "categories", "group", "groups"),
    *("cluster", "clusters", "celltype", "celltypes", "subtype", "subtypes"),
    *("annotation", "annotations", "clinical", "diagnosis", "phenotype", "phenotypes"),
    *("outcome", "outcomes", "survival", "meta", "metadata", "type", "types", "species"),
    *("condition", "conditions", "disease", "diseases", "diagnoses", "tissue", "ident"),
    *("ytrue", "pheno", "phenodata", "clinicaldata", "coldata", "sampleinfo", "samplesheet"),
    *("annot", "covariates", "stage", "status", "cohort", "batch", "histology", "response"),
    *("leiden", "louvain", "pam", "dx"),
)
_SHORT = {re.sub("[^a-z]", "", name) for name in LABEL_NAMES}
_ALL = {*_SHORT, *MORE_NAMES}
#: So many rows are looked at.
MOST_ROWS = 10_000
# How many values are few.
_FEW = 20
_MISSING = ("", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "nat", "null", "none")


@dataclass(frozen=True, eq=False)
class Suspect:
    """A table whose name is one of known classes.

    Attributes
    ----------
    columns : list of arrays of shape (n,)
        Numbers, or strings.
    headers : list of str, or None
    samples : list of n str, or None
        Their names.
    """

    columns: list[Array]
    headers: list[str] | None = None
    samples: list[str] | None = None


@dataclass(frozen=True, eq=False)
class Known:
    """What was decided of the suspects.

    Attributes
    ----------
    source : str or None
        The suspect, by its name, that has the known classes.
    values : numpy.ndarray of shape (n,), or None
        The classes as they are stored.
    samples : list of n str, or None
        Whose they are.
    left_out : dict of str to str
        The other suspects by their names, with the reason.
    """

    source: str | None = None
    values: Array | None = None
    samples: list[str] | None = None
    left_out: dict[str, str] = field(default_factory=dict)


def first_choice(name: str) -> bool:
    """Whether a name says "labels", or is one of `LABEL_NAMES`; others are taken after those.

    Parameters
    ----------
    name : str
    """
    words = re.findall("[a-z]+", name.lower())
    return "".join(words) in _SHORT or not {"label", "labels"}.isdisjoint(words[:1] + words[-1:])


def named_like_classes(name: str) -> bool:
    """Whether a table or column of this name may hold known classes: ``class``, ``BRCA subtype``.

    Parameters
    ----------
    name : str
        Without the ending of a file. A name counts as a whole, or by the word or two it ends with.
    """
    words = re.findall("[a-z]+", name.lower())
    ends = {word for word in (*words[-1:], "".join(words[-2:])) if len(word) > 2}
    return first_choice(name) or "".join(words) in _ALL or bool(ends & _ALL)


def is_class_header(cell: str) -> bool:
    """Whether the first cell of a column is a name of classes, and not one of its values.

    Parameters
    ----------
    cell : str
    """
    return re.sub(r"[\W_]+", "", cell.lower()) in _ALL


def is_missing(cell: str) -> bool:
    """Whether a cell of text says that there is no value.

    Parameters
    ----------
    cell : str
    """
    return cell.strip().lower() in _MISSING


def few_values(column: Array) -> bool:
    """Whether values repeat as classes do: whole numbers or words, or at most 20 fractions.

    Parameters
    ----------
    column : numpy.ndarray of shape (n,)
    """
    column = column[:MOST_ROWS]
    distinct = len(np.unique(column))
    if not 2 <= distinct <= len(column) / 2:
        return False
    return distinct <= _FEW or column.dtype.kind not in "fc" or bool((column % 1 == 0).all())


def no_view(suspect: Suspect) -> str | None:
    """Why a table of such a name is not taken as a view; None where its values are those of one.

    Parameters
    ----------
    suspect : Suspect
    """
    if any(column.dtype.kind not in "biufc" for column in suspect.columns):
        return "it holds text"
    if len(suspect.columns) == 1:
        return "it has one column"
    if any(few_values(column) for column in suspect.columns):
        return "a column has few distinct values"
    return None


def _column(name: str, suspect: Suspect) -> int | None:
    """Which column has the classes, if that is clear."""
    if len(suspect.columns) == 1:
        return 0
    named = [j for j, header in enumerate(suspect.headers or []) if named_like_classes(header)]
    repeated = [j for j, column in enumerate(suspect.columns) if few_values(column)]
    for found in (named, repeated):
        if len(found) == 1:
            return found[0]
    return len(suspect.columns) - 1 if first_choice(name) else None


def choose(
    suspects: dict[str, Suspect], labels_key: str | Literal[False] | None, views: Sequence[str] = ()
) -> Known:
    """Decide which of the suspects has the known classes; the others are left out.

    Parameters
    ----------
    suspects : dict of str to Suspect
        By the names of tables, as people see them, without those that are views.
    labels_key : str, False or None
        The name of a table, or of a column in one; False: none has them. None: the one table that
        says "labels", or else the one whose values repeat.
    views : sequence of str
        Names of the other tables, for the error.

    Returns
    -------
    Known

    Raises
    ------
    ValueError
        If several tables say "labels", or none has the name ``labels_key``.
    """
    reasons = {
        name: f"its name is that of known classes, and {no_view(suspect)}"
        for name, suspect in suspects.items()
    }
    if labels_key is False:
        return Known(left_out=reasons)
    first = [name for name in suspects if first_choice(_bare(name))]
    usable = {name: _column(_bare(name), suspect) for name, suspect in suspects.items()}
    if labels_key is not None:
        return _by_key(suspects, labels_key, usable, reasons, views)
    if len(first) > 1:
        raise ValueError(
            f"several may be the known classes ({', '.join(first)}): pass labels_key= with the "
            "name of one, or labels_key=False to read none"
        )
    clear = [n for n, j in usable.items() if j is not None and _is_classes(suspects[n].columns[j])]
    single = [name for name in clear if len(suspects[name].columns) == 1]
    best = first or single or clear
    source = best[0] if len(best) == 1 else None
    return _known(suspects, source, usable.get(source or ""), reasons)


def _bare(name: str) -> str:
    """A name without folders, groups and endings."""
    return re.split(r"[\\/]", name)[-1].split(".")[0]


def _is_classes(column: Array) -> bool:
    text = column.dtype.kind in "OSU"
    return few_values(column) and not (text and any(is_missing(str(cell)) for cell in column))


def _by_key(
    suspects: dict[str, Suspect],
    key: str,
    usable: dict[str, int | None],
    reasons: dict[str, str],
    views: Sequence[str],
) -> Known:
    """The table of that name, or the column of that name in the one table that has it."""
    for name in sorted(suspects, key=lambda name: name != key):
        if key in (name, _bare(name)):
            j = usable[name]
            if j is None:
                headers = ", ".join(suspects[name].headers or []) or "without names"
                raise ValueError(
                    f"labels_key={key!r}: which of its columns ({headers}) has the classes is not "
                    "clear; pass labels_key= with the name of one"
                )
            return _known(suspects, name, j, reasons)
    found = [
        (name, suspect.headers.index(key))
        for name, suspect in suspects.items()
        if suspect.headers and key in suspect.headers
    ]
    if len(found) != 1:
        listed = ", ".join([*suspects, *views])
        what = "several tables have such a column" if found else "there is no such table or column"
        beside = "" if found else " beside the views"  # a column of a view is a feature
        raise ValueError(f"labels_key={key!r}: {what}{beside}. There are {listed}")
    return _known(suspects, *found[0], reasons)


def _known(
    suspects: dict[str, Suspect], source: str | None, j: int | None, reasons: dict[str, str]
) -> Known:
    left_out = {name: reason for name, reason in reasons.items() if name != source}
    if source is None:
        return Known(left_out=left_out)
    suspect = suspects[source]
    header = suspect.headers[j or 0] if suspect.headers and len(suspect.columns) > 1 else None
    told = source if header is None else f"{source}, column {header}"
    return Known(told, suspect.columns[j or 0], suspect.samples, left_out)
