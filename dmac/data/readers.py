"""Views from the files that people have: MATLAB, NumPy, CSV, HDF5 and single-cell files.

The command line reads its data here; its page in the book shows the formats. What a file holds is
never run: nothing is unpickled, and an HDF5 file cannot lead to another one.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import h5py
import numpy as np
import scipy.sparse

from dmac.data.checks import check_labels
from dmac.data.matfiles import LABEL_NAMES, read_mat
from dmac.data.safe_files import open_hdf5

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Literal

    from dmac._types import Floats, Integers, Matrix, PathLike

#: Endings that are read, and what they hold.
ENDINGS = {
    ".mat": "MATLAB file: a cell of views, or X1, X2, ...",
    ".npz": "NumPy archive: X1, X2, ...",
    ".npy": "NumPy array: one view; it stays on disk",
    ".csv": "table: one view, one row per sample",
    ".tsv": "the same with tabs",
    ".h5": "HDF5: every table of numbers is a view; it stays on disk",
    ".hdf5": "the same",
    ".h5ad": "AnnData: X, and the tables of obsm that were not made from it",
    ".h5mu": "MuData: one view per modality, of the cells that all have",
}
_NAMES_SAMPLES = ("", "id", "name", "sample", "samples", "index")  # headers of such a column
_MISSING = ("", "nan")  # cells of a row that is missing
_IN_FOLDERS = (".csv", ".tsv", ".npy")


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
    """

    names: list[str]
    views: list[Matrix]
    labels: Integers | None = None
    samples: list[str] | None = None


def read_views(
    paths: Iterable[PathLike],
    *,
    views_key: Sequence[str] | None = None,
    labels_key: str | Literal[False] | None = None,
    transposed: bool | None = None,
) -> NamedViews:
    """Read views from one file that holds them all, from a file each, or from a folder of those.

    Parameters
    ----------
    paths : list of str or path
        One file, or several; the endings are those of `ENDINGS`. A folder stands for its ``.csv``,
        ``.tsv`` and ``.npy`` files in the order of their names (``view2`` before ``view10``); one
        called ``labels`` holds the known classes.
    views_key : sequence of str, optional
        The variables or data sets that are the views, in a ``.mat``, ``.npz`` or HDF5 file; in
        a ``.h5ad`` file ``X`` and names of ``obsm``, in a ``.h5mu`` file the modalities.
    labels_key : str or False, optional
        The variable (a column of ``obs`` in single-cell files) of the known classes; False: none.
    transposed : bool, optional
        For ``.mat`` and ``.npz`` files: see :func:`dmac.data.matfiles.read_mat`.

    Returns
    -------
    NamedViews

    Raises
    ------
    FileNotFoundError
        If there is no such file or folder.
    ValueError
        If a file cannot be read or does not say what its views are; the message names it.
    ImportError
        If a single-cell file needs a package that is not installed.
    """
    files = [file for path in paths for file in _files(Path(path).expanduser())]
    if not files:
        raise ValueError("no files: name at least one")
    labels = [file for file in files if len(files) > 1 and file.stem.lower() in LABEL_NAMES]
    files = [file for file in files if file not in labels]
    if len(labels) > 1:
        raise ValueError(f"{labels[0]} and {labels[1]} both have the name of known classes")
    parts = [_read(file, views_key, labels_key, transposed) for file in files]
    known = [part.labels for part in parts if part.labels is not None]
    if labels and labels_key is not False:
        known = [_read_labels(labels[0])]
    return NamedViews(
        [name for part in parts for name in part.names],
        [x for part in parts for x in part.views],
        known[0] if known else None,
        _one_order(files, parts),
    )


def _files(path: Path) -> list[Path]:
    """The path itself, or the files of a folder."""
    if not path.exists():
        raise FileNotFoundError(f"no file or folder {path}")
    if not path.is_dir():
        if path.suffix.lower() not in ENDINGS:
            raise ValueError(f"{path} has none of the known endings: {', '.join(ENDINGS)}")
        return [path]
    found = [file for file in path.iterdir() if file.suffix.lower() in _IN_FOLDERS]
    if not found:
        raise ValueError(f"the folder {path} has no file that ends in {', '.join(_IN_FOLDERS)}")
    return sorted(found, key=lambda file: natural(file.name))


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts names with numbers in them: view2 before view10."""
    parts = re.split(r"(\d+)", name.lower())
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part]


def _read(
    file: Path,
    views_key: Sequence[str] | None,
    labels_key: str | Literal[False] | None,
    transposed: bool | None,
) -> NamedViews:
    ending = file.suffix.lower()
    if ending in (".mat", ".npz"):
        views, labels = read_mat(
            file,
            views_key=list(views_key) if views_key else None,
            labels_key=labels_key,
            transposed=transposed,
        )
        return NamedViews([f"{file.stem} {a}" for a in range(1, len(views) + 1)], views, labels)
    if ending in (".csv", ".tsv"):
        x, samples = read_csv(file)
        return NamedViews([file.stem], [x], None, samples)
    if ending == ".npy":
        return NamedViews([file.stem], [_read_npy(file)])
    if ending in (".h5", ".hdf5"):
        return _read_hdf5(file, views_key, labels_key)
    return _read_cells(file, views_key, labels_key)


def _one_order(files: list[Path], parts: list[NamedViews]) -> list[str] | None:
    """The names of the samples, the same in all files that have them; or None."""
    named = [(file, part.samples) for file, part in zip(files, parts) if part.samples is not None]
    for file, samples in named[1:]:
        first, expected = named[0]
        if samples != expected:
            wrong = next(
                (i for i, pair in enumerate(zip(samples, expected)) if len(set(pair)) > 1),
                min(len(samples), len(expected)),
            )
            raise ValueError(
                f"{first} and {file} do not name the same samples in the same order: they differ "
                f"at sample {wrong + 1}; put the rows of both into one order"
            )
    return named[0][1] if named else None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


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
            found = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{file} is not a table of text: {error}") from error
    if not found:
        raise ValueError(f"{file} is empty")
    return found


def read_csv(file: PathLike) -> tuple[Floats, list[str] | None]:
    """One view from a table of text: one row per sample, one column per feature.

    A first line is a header if it has a cell that is no number, beyond its first. A first column
    that holds no numbers, or whose header is empty, ``id``, ``name``, ``sample`` or ``index``, has
    the names of the samples. Commas, semicolons or tabs separate the cells: whichever the first
    line has most of.

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
    file = Path(file)
    rows = _rows(file)
    first = [cell.strip() for cell in rows[0][1]]
    is_name = [_number(cell) is None for cell in first]
    named = first[0].lower() in _NAMES_SAMPLES
    text = [cell != "" and name for cell, name in zip(first, is_name)]
    header = named or any(text[1:]) or (len(rows) > 1 and is_name[0] and len(first) == 1)
    rows = rows[1:] if header else rows
    if not rows:
        raise ValueError(f"{file} has a header and no samples")
    names = [row[0].strip() for _, row in rows]
    named |= all(name != "" and _number(name) is None for name in names)
    skip, width = int(named), len(rows[0][1])
    if width == skip:
        raise ValueError(f"{file} has no column of numbers")
    x = np.empty((len(rows), width - skip))
    for i, (line, row) in enumerate(rows):
        if len(row) != width:
            raise ValueError(
                f"{file}, line {line} has {len(row)} cells, the lines before it have {width}"
            )
        if all(cell.strip().lower() in _MISSING for cell in row[skip:]):
            x[i] = np.nan
            continue
        for j, cell in enumerate(row[skip:], skip):
            value = _number(cell)
            if value is None or not np.isfinite(value):
                what = "is empty" if not cell.strip() else f"holds {cell.strip()!r}, not a number"
                raise ValueError(
                    f"{file}, line {line}, column {j + 1} {what}; fill it or drop the sample, or "
                    "write NaN in the whole row if the sample lacks this view"
                )
            x[i, j - skip] = value
    return x, names if named else None


def _read_npy(file: Path) -> np.memmap[Any, Any]:
    try:
        return np.lib.format.open_memmap(file, mode="r")  # np.load would take an archive as well
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{file} cannot be read as an array of numbers: {error}") from error


def _read_labels(file: Path) -> Integers:
    """Known classes from their own file."""
    if file.suffix.lower() == ".npy":
        values = _read_npy(file)
    else:  # the last column; a first line that is no label of the others is a header
        cells = [row[-1].strip() for _, row in _rows(file)]
        header = _number(cells[0]) is None and _number(cells[-1]) is not None
        header |= cells[0].lower() in (*LABEL_NAMES, "class", "cluster")
        values = np.array(cells[header:])
    try:
        return check_labels(np.asarray(values))
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


def _read_hdf5(
    path: Path, views_key: Sequence[str] | None, labels_key: str | Literal[False] | None
) -> NamedViews:
    file, found = open_hdf5(path), {}
    file.visititems(lambda name, item: found.update({name: item}))
    tables = {name: x for name, x in found.items() if isinstance(x, h5py.Dataset)}
    try:
        views = {n: x for n, x in tables.items() if x.ndim == 2 and x.dtype.kind in "biuf"}
        known = [n for n, x in tables.items() if n.rpartition("/")[2].lower() in LABEL_NAMES]
        names = list(views_key or sorted((n for n in views if n not in known), key=natural))
        missing = [name for name in names if name not in views]
        if missing or not names:
            raise ValueError(f"no table of numbers {', '.join(missing) or 'in it'}")
        if labels_key and labels_key not in tables:
            raise ValueError(f"labels_key={labels_key!r}: there is no such data set")
        if labels_key is None and len(known) > 1:
            raise ValueError(f"several may be the known classes ({', '.join(known)}); name one")
        key = labels_key or (known[0] if known and labels_key is None else None)
        labels = None
        if key:
            stored = tables[key]
            text = h5py.check_string_dtype(stored.dtype) is not None
            labels = check_labels(stored.asstr()[()] if text else stored[()])
    except ValueError as error:
        listed = ", ".join(f"{n} {x.shape}" for n, x in tables.items()) or "nothing"
        file.close()
        raise ValueError(f"{path}: {error}. The file has {listed}") from error
    return NamedViews(names, [views[name] for name in names], labels)


def _read_cells(
    path: Path, views_key: Sequence[str] | None, labels_key: str | Literal[False] | None
) -> NamedViews:
    """AnnData and MuData files, through their own packages: the optional extra."""
    package = "anndata" if path.suffix.lower() == ".h5ad" else "mudata"
    try:
        import anndata

        if package == "mudata":
            import mudata
    except ImportError as error:
        raise ImportError(
            f"{path} needs the package {package}: install it with pip install 'dmac[cells]'"
        ) from error
    open_hdf5(path).close()  # they would follow a link out of the file
    try:
        if package == "anndata":
            found = anndata.read_h5ad(path)
            tables = {"X": found.X} if found.X is not None else {}
            tables |= {n: x for n, x in found.obsm.items() if views_key or not n.startswith("X_")}
        else:
            found = mudata.read_h5mu(path)
            shared = found.obs_names
            for part in found.mod.values():
                shared = shared[shared.isin(part.obs_names)]
            tables = {name: part[shared].X for name, part in found.mod.items()}
            found = found[shared]
    except Exception as error:  # they name no class of their own for damaged files
        raise ValueError(f"{path} cannot be read by {package}: {error}") from error
    names = list(views_key or tables)
    missing = [name for name in names if name not in tables]
    if missing or not names:
        raise ValueError(f"{path} has no view {', '.join(missing)}; it has {', '.join(tables)}")
    labels = None
    if labels_key:
        if labels_key not in found.obs:
            raise ValueError(f"{path}: obs has no column {labels_key}; {', '.join(found.obs)}")
        labels = check_labels(found.obs[labels_key].astype(str).to_numpy(object))
    views = [x.tocsr() if scipy.sparse.issparse(x) else x for x in (tables[n] for n in names)]
    return NamedViews(names, views, labels, [str(name) for name in found.obs_names])
