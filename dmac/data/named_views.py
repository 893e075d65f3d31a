"""What files hold, with the names that they have for it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dmac._types import Flags, Integers, Matrix


@dataclass(frozen=True, eq=False)
class NamedViews:
    """What was read.

    Attributes
    ----------
    names : list of v str
        What the views are called in their file, or their files.
    views : list of v matrices of shape (n, d_a)
        As :meth:`dmac.DMAC.fit` takes them; those of ``.npy`` and HDF5 files are still on disk.
    labels : numpy.ndarray of shape (n,), int64, or None
        Known classes, from 0.
    samples : list of n str, or None
        Names of the samples, where the files have them.
    sources : list of v str
        The files of the views.
    known : str or None
        The file or variable of the known classes.
    left_out : dict of str to str
        Files and variables that are neither, with the reason.
    lacking : list of v boolean arrays of shape (n,)
        Which samples lack a view, where files say so: they do not name the sample, or its row is
        empty. It has a row of zeros there.
    columns : list of v lists of d_a str, or None each
        Names of the features, where a file has them.
    """

    names: list[str]
    views: list[Matrix]
    labels: Integers | None = None
    samples: list[str] | None = None
    sources: list[str] = field(default_factory=list)
    known: str | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    lacking: list[Flags] = field(default_factory=list)
    columns: list[list[str] | None] = field(default_factory=list)

    def column(self, a: int, j: int) -> str:
        """What column j of view a is called, both counted from 0."""
        names = self.columns[a] if self.columns else None
        return f"{self.names[a]} column {j + 1}" if names is None else f"{self.names[a]} {names[j]}"


def name_views(message: str, names: Sequence[str]) -> str:
    """A message about "view 2" with the name of that view behind it.

    Parameters
    ----------
    message : str
    names : sequence of str
    """

    def named(found: re.Match[str]) -> str:
        a = int(found[1]) - 1
        return f"{found[0]} ({names[a]})" if a < len(names) else found[0]

    return re.sub(r"\bview (\d+)\b(?! \()", named, message)


def unread(is_table: bool) -> str:
    """Why something with as many entries as there are samples is not read as a view.

    Parameters
    ----------
    is_table : bool
        Whether it is one of numbers.
    """
    if is_table:
        return "the names of other tables say that these are the views"
    return "it has an entry for each sample, and a view is a table of numbers, samples x features"


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts names with numbers in them: view2 before view10.

    Parameters
    ----------
    name : str
    """
    parts = re.split(r"(\d+)", name.lower())
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part]
