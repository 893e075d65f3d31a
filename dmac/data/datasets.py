"""Where the public data sets come from: the table in ``datasets.toml``.

Of few of these files a licence is known, so none is part of the package: each is named by its
public repository, commit, path and SHA-256. :mod:`dmac.data.registry` finds or downloads them.

Chapter 1 of the book loads them through :func:`dmac.load`.
"""

from __future__ import annotations

import tomllib
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: The host that :meth:`Dataset.url` names.
BASE_URL = "https://raw.githubusercontent.com"
#: What readers are shown for a name of :func:`dmac.load` that is a copy of another registered set.
TITLES = {"mfeat": "HandWritten"}


def title_of(name: str) -> str:
    """The name of a data set in tables and figures: one for both copies of the same samples."""
    return TITLES.get(name, name)


@dataclass(frozen=True)
class Dataset:
    """One registered file.

    Attributes
    ----------
    name : str
        As :func:`dmac.load` takes it.
    repository, commit, path : str
        GitHub repository (owner/name), commit and path of the public copy.
    sha256 : str
        Of the file's bytes.
    layout : str
        The variables in the file, sizes and quirks.
    description : str
        What the samples and views are, and how the set relates to the paper's Table 1.
    n_samples, dims, n_clusters : int, tuple of int, int
        n, the widths of the v views, and c, the classes.
    kind : str
        One of `KINDS`.
    views_key, labels_key : tuple of str, str or None
        The variables to read, where their names do not tell.
    licence : str
        As its source states it; empty where none is known.
    made : str
        How the file was made, where it is no copy of a public one. Such a file cannot be
        downloaded: it has to be in the reader's own folder, and ``path`` is its name alone.
    """

    name: str
    repository: str
    commit: str
    path: str
    sha256: str
    layout: str
    description: str
    n_samples: int = 0
    dims: tuple[int, ...] = ()
    n_clusters: int = 0
    kind: str = ""
    views_key: tuple[str, ...] = ()
    labels_key: str | None = None
    licence: str = ""
    made: str = ""

    @property
    def filename(self) -> str:
        """The file's name, as it is looked for and cached."""
        return self.path.rsplit("/", 1)[-1]

    def url(self, base_url: str = BASE_URL) -> str:
        """The address of the file at its commit, with another host if ``base_url`` names one."""
        path = urllib.parse.quote(f"{self.repository}/{self.commit}/{self.path}")
        return f"{base_url.rstrip('/')}/{path}"


#: What the samples are, and the views: the groups of :func:`dmac.available`.
KINDS = {
    "images": "faces, numerals, objects, scenes and video: several descriptors of one picture",
    "text": "news, stories, films and articles: counts of words, or of words and something else",
    "links": "papers and web pages: who cites or links to whom, and their words",
    "omics": "the same patients or species measured in several assays",
    "cells": "the same cells in several assays",
    "patients": "findings and measures of patients, in groups",
    "sensors": "series and tracks over time",
    "synthetic": "drawn by a program",
}


def _read(name: str, entry: dict[str, Any]) -> Dataset:
    """An entry of the table; what was made from others has no commit, and arrays become tuples."""
    arrays = {key: tuple(x) for key, x in entry.items() if isinstance(x, list)}
    return Dataset(name, **({"commit": ""} | entry | arrays))


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
#: The registered files by name.
DATASETS = {name: _read(name, entry) for name, entry in _TABLE.items()}
