"""Views from the files that people have: MATLAB, NumPy, CSV, HDF5 and single-cell files.

The command line reads its data here; its page in the book shows the formats. What a file holds is
never run: nothing is unpickled, and an HDF5 file cannot lead to another one.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import h5py
import numpy as np
import scipy.sparse

from dmac.data.checks import check_labels
from dmac.data.known_classes import (
    MOST_ROWS,
    Known,
    Suspect,
    choose,
    few_values,
    is_class_header,
    is_missing,
    named_like_classes,
    no_view,
)
from dmac.data.matfiles import read_variables
from dmac.data.named_views import NamedViews, natural, unread
from dmac.data.safe_files import check_readable, open_hdf5
from dmac.data.sample_names import (
    by_one_name,
    names_twice,
    union,
    unreached,
    warn_of_alike,
)
from dmac.data.tables import read_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Literal

    from dmac._types import Array, Flags, Integers, Matrix, PathLike

# What mudata says of itself with every file, and nobody who reads one can change.
_LIBRARY_WARNINGS = (
    (r"From 0\.4 \.update\(\) will not pull obs/var columns", FutureWarning),
    (r"The inplace keyword in DataFrame\.(rename|drop) is deprecated", DeprecationWarning),
    (r"Cannot join columns with the same name because var_names", UserWarning),
)
#: Endings that are read, and what they hold.
ENDINGS = {
    ".mat": "MATLAB file: a cell of views, or X1, X2, ...",
    ".npz": "NumPy archive: X1, X2, ...",
    ".npy": "NumPy array: one view; it stays on disk",
    ".csv": "table: one view, one row per sample",
    ".tsv": "the same with tabs; either may be compressed: .csv.gz, .tsv.gz",
    ".h5": "HDF5: every table of numbers is a view; it stays on disk",
    ".hdf5": "the same",
    ".h5ad": "AnnData: X, and the tables of obsm that were not made from it",
    ".h5mu": "MuData: one view per modality; a cell may lack some",
}
_TEXT = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_IN_FOLDERS = (*_TEXT, ".npy")
# Other endings of tables and archives, which a folder may hold and which are not read there.
_ELSEWHERE = (
    *(".txt", ".dat", ".tab", ".xls", ".xlsx", ".ods", ".parquet", ".feather", ".rds", ".arff"),
    *(".bz2", ".xz", ".zip", ".zst", ".pkl"),
)
#: What the command line writes above samples and clusters: no view, where a folder holds it.
OUTPUT = ("sample", "cluster")


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
        ``.tsv`` and ``.npy`` files (also ``.csv.gz``, ``.tsv.gz``) in the order of their names
        (``view2`` before ``view10``).
    views_key : sequence of str, optional
        The variables or data sets that are the views, in a ``.mat``, ``.npz`` or HDF5 file; in
        a ``.h5ad`` file ``X`` and names of ``obsm``, in a ``.h5mu`` file the modalities; among
        files of one view each, the names of those files.
    labels_key : str or False, optional
        The variable of the known classes, a column of ``obs`` in single-cell files, or among files
        of one view each the name of a file or of a column in one; False: none.
    transposed : bool, optional
        True if samples are columns, False if they are rows. By default they are rows, but in a
        ``.mat`` file what its sizes say (:func:`dmac.data.matfiles.read_mat`). A table of an HDF5
        file has to be in memory to be turned; single-cell files are never turned.

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
    files: list[Path] = []
    unread: dict[str, str] = {}
    for path in paths:
        if not str(path):
            raise ValueError("the name of a file is empty")
        check_readable(Path(path).expanduser())
        some, others = _files(Path(path).expanduser())
        for file in some:
            check_readable(file)
        files += some
        unread |= others
    if not files:
        raise ValueError("no files: name at least one")
    names = [file.resolve() for file in files]
    if twice := [file.name for file in names_twice(names)] + names_twice(views_key or []):
        warnings.warn(f"{twice[0]} is there twice, as two views or more", stacklevel=3)
    single = all(_ending(file) in _IN_FOLDERS for file in files)  # one view each
    chosen = _chosen(files, views_key) if single and views_key else []
    key = labels_key if single or labels_key is False else None
    suspects = _suspects([file for file in files if file not in chosen], len(files), key)
    others = [file for file in files if file not in suspects]
    told = _told(files)
    known = choose(
        {told[file]: one for file, one in suspects.items()}, key, [told[file] for file in others]
    )
    left_out = unread | dict(known.left_out)
    if chosen:
        left_out |= {told[f]: "it is not named as a view" for f in others if f not in chosen}
        others = chosen
    if not others:
        raise ValueError(f"there are no views beside {', '.join(told.values())}")
    parts = [_read(file, views_key, labels_key, transposed) for file in others]
    if not transposed:
        _check_sizes(others, parts)
    parts, samples = _line_up(others, parts, transposed)
    labels, source = _known_classes(known, samples), known.source
    for part in parts:
        left_out |= part.left_out
        if part.labels is not None and (source is None or labels_key):
            labels, source = part.labels, part.known
    lacking = [_lacking(part, a) for part in parts for a in range(len(part.views))]
    _check_anything(lacking, samples)
    called = [name for part in parts for name in part.names]
    views = [x for part in parts for x in part.views]
    _warn_of_codes(called, views)
    return NamedViews(
        called,
        views,
        labels,
        samples,
        [told[file] for file, part in zip(others, parts) for _ in part.names],
        source,
        left_out,
        lacking,
        [names for part in parts for names in part.columns or [None] * len(part.views)],
    )


def _ending(file: Path) -> str:
    """The ending of a file in lower case, with what stands before .gz."""
    endings = file.suffixes[-2:] if file.suffix.lower() == ".gz" else file.suffixes[-1:]
    return "".join(endings).lower()


def stem(file: Path) -> str:
    """The name of a file without its ending, which may be ``.csv.gz``.

    Parameters
    ----------
    file : path
    """
    return file.name[: len(file.name) - len(_ending(file))]


def _told(files: list[Path]) -> dict[Path, str]:
    """What to call files: by their names, or by their paths where names are the same."""
    names = [file.name for file in files]
    return {file: file.name if names.count(file.name) == 1 else str(file) for file in files}


def _check_anything(lacking: list[Flags], samples: list[str] | None) -> None:
    """Refuse samples that lack every view, by their names."""
    if len({len(mask) for mask in lacking}) > 1:
        return  # there is another error for that
    nothing = np.flatnonzero(np.all(lacking, axis=0))
    if len(nothing):
        who = samples[nothing[0]] if samples else f"number {nothing[0] + 1}"
        raise ValueError(
            f"{len(nothing)} samples have no value in any view, the first is {who}; take them out"
        )


def _chosen(files: list[Path], names: Sequence[str]) -> list[Path]:
    """The files of these names, in their order."""
    found = []
    for name in names:
        these = [file for file in files if name in (file.name, stem(file))]
        if len(these) != 1:
            what = "several files have that name" if these else "there is no such file"
            listed = ", ".join(file.name for file in files)
            raise ValueError(f"views_key={name!r}: {what}. There are {listed}")
        found += these
    return found


def _suspects(files: list[Path], n_files: int, key: str | bool | None) -> dict[Path, Suspect]:
    """The files that may hold known classes: by their name and values, or since they are named."""
    found = {}
    for file in files:
        named = key in (file.name, stem(file))
        if not named and (n_files == 1 or not named_like_classes(stem(file))):
            continue
        if _ending(file) not in _IN_FOLDERS:
            continue
        one = _suspect(file)
        if named or no_view(one) is not None:
            found[file] = one
    return found


def _suspect(file: Path) -> Suspect:
    if _ending(file) == ".npy":
        x = _read_npy(file)
        return Suspect(list(x.reshape(len(x), -1).T) if x.ndim else [])
    table = read_table(file, classes=True)
    return Suspect(table.columns(), table.headers, table.samples)


def _known_classes(known: Known, samples: list[str] | None) -> Integers | None:
    """The classes of the samples in their order: by name where both have names."""
    values = known.values
    if values is None:
        return None
    if values.dtype.kind in "US":
        missing = [i for i, cell in enumerate(values) if is_missing(str(cell))]
        if missing:
            who = known.samples[missing[0]] if known.samples else f"row {missing[0] + 1}"
            raise ValueError(
                f"{known.source}: {len(missing)} samples have no class, the first is {who}; "
                "complete it, or pass labels_key=False to read none"
            )
    if samples is not None and known.samples is not None and samples != known.samples:
        place = {name: i for i, name in enumerate(known.samples)}
        lost = [name for name in samples if name not in place]
        if lost:
            raise ValueError(
                f"{known.source} has no class for {len(lost)} of {len(samples)} samples, the first "
                f"is {lost[0]}; complete it, or pass labels_key=False to read none"
            )
        if len(place) < len(known.samples):
            raise ValueError(
                f"{known.source} names a sample twice, and has another order than the views"
            )
        values = values[[place[name] for name in samples]]
    try:
        return check_labels(np.asarray(values))
    except ValueError as error:
        raise ValueError(f"{known.source}: {error}; labels_key=False reads none") from error


def is_data(file: Path) -> bool:
    """Whether a file is read with its folder: not if the command line has written it.

    Parameters
    ----------
    file : path
    """
    if _ending(file) not in _IN_FOLDERS or file.name.startswith("."):
        return False
    first = ",".join(OUTPUT).encode() + b"\n"
    with open(file, "rb") as opened:
        return opened.read(len(first)) != first


def _files(path: Path) -> tuple[list[Path], dict[str, str]]:
    """The path itself, or the files of a folder, and why others of it are not read."""
    if not path.exists():
        raise FileNotFoundError(f"no file or folder {path}")
    if not path.is_dir():
        if _ending(path) not in (*ENDINGS, *_TEXT):
            raise ValueError(f"{path} has none of the known endings: {', '.join(ENDINGS)}")
        return [path], {}
    found, left_out = [], {}
    for file in path.iterdir():
        if file.name.startswith(".") or file.is_dir():
            continue  # hidden, as those that macOS puts beside every file
        if is_data(file):
            found.append(file)
        elif _ending(file) in _IN_FOLDERS:
            left_out[file.name] = "fit or predict has written it"
        elif _ending(file) in ENDINGS or file.suffix.lower() in _ELSEWHERE:
            left_out[file.name] = f"of a folder only {', '.join(_IN_FOLDERS)} are read"
    if not found:
        raise ValueError(f"the folder {path} has no file that ends in {', '.join(_IN_FOLDERS)}")
    return sorted(found, key=lambda file: natural(file.name)), dict(sorted(left_out.items()))


def _read(
    file: Path,
    views_key: Sequence[str] | None,
    labels_key: str | Literal[False] | None,
    transposed: bool | None,
) -> NamedViews:
    ending = _ending(file)
    if ending in (".mat", ".npz"):
        return read_variables(file, views_key, labels_key, transposed)
    if ending in _TEXT:
        table = read_table(file, transposed=bool(transposed))
        x = table.numbers()
        _warn_of_classes(file, table.headers, x)
        return NamedViews(
            [stem(file)],
            [x],
            samples=table.samples,
            lacking=[table.empty()],
            columns=[table.headers],
        )
    if ending == ".npy":
        x = _read_npy(file)
        return NamedViews([stem(file)], [x.T if transposed else x])
    if ending in (".h5", ".hdf5"):
        return _read_hdf5(file, views_key, labels_key, bool(transposed))
    if transposed:
        raise ValueError(f"{file}: rows are the samples by its format; transposed= is not for it")
    return _read_cells(file, views_key, labels_key)


def _warn_of_classes(file: Path, headers: list[str] | None, x: Array) -> None:
    """Say it where a column of a view has the name and the values of known classes."""
    for header, column in zip(headers or [], x.T):
        if len(header) > 2 and is_class_header(header) and few_values(column):
            warnings.warn(
                f"{file}: the column {header} has name and values of known classes, and counts "
                "like any other; take it out if it has them",
                stacklevel=4,
            )


def _warn_of_codes(names: list[str], views: list[Matrix]) -> None:
    """Say it where a column beside several views may be known classes by its values.

    It is the only column of a view, or the first or the last of every view.
    """
    if len(views) < 2 or any(x.ndim != 2 or 0 in x.shape for x in views):
        return
    ends = [[_values(x, j) for j in (0, x.shape[1] - 1)] for x in views]
    for name, x, (only, _) in zip(names, views, ends):
        if x.shape[1] == 1 and few_values(only):
            warnings.warn(
                f"the view {name} is one column of few distinct values, as known classes are, and "
                "counts like any other: if it has them, name the views with views_key=",
                stacklevel=4,
            )
    for which, columns in zip(("first", "last"), zip(*ends)):
        same = all(np.array_equal(column, columns[0]) for column in columns)
        if same and few_values(columns[0]):
            warnings.warn(
                f"the {which} column of every view is the same and has few distinct values, as "
                "known classes are, and counts as a feature: if it has them, take it out",
                stacklevel=4,
            )


def _values(x: Matrix, j: int) -> Array:
    """The first rows of a column."""
    part = x[:MOST_ROWS, [j]]
    return (part.toarray() if scipy.sparse.issparse(part) else np.asarray(part)).ravel()


def _check_sizes(files: list[Path], parts: list[NamedViews]) -> None:
    """Refuse tables without names that have as many columns as each other, but not rows."""
    shapes = [x.shape for part in parts for x in part.views if part.samples is None]
    rows, columns = {shape[:1] for shape in shapes}, {shape[1:] for shape in shapes}
    if len(rows) > 1 and len(columns) == 1 and len(shapes[0]) == 2:
        sizes = ", ".join(f"{n} x {d}" for n, d in shapes)
        raise ValueError(
            f"views of {sizes}, from {files[0]} on: row i must be the same sample in every view; "
            "if the columns are the samples, pass transposed=True"
        )


def _line_up(
    files: list[Path], parts: list[NamedViews], transposed: bool | None
) -> tuple[list[NamedViews], list[str] | None]:
    """The same samples in the same order in all files that name them, and their names or None.

    Where names differ, the samples are those of all files, in the order in which they come, and
    have zeros in a view that lacks them.
    """
    named = [(file, part.samples) for file, part in zip(files, parts) if part.samples is not None]
    without = [file for file, part in zip(files, parts) if part.samples is None]
    if all(samples == named[0][1] for _, samples in named):
        if named and without:
            warnings.warn(
                f"{without[0]} does not name its samples, and {named[0][0]} does: rows are taken "
                "by position, as if they were in that order",
                stacklevel=4,
            )
        return parts, named[0][1] if named else None
    first = named[0][0]
    for file, samples in named:
        if "" in samples:
            raise ValueError(
                f"{file}: sample {samples.index('') + 1} has no name, and the files do not name "
                "the same samples in the same order; name each"
            )
        twice = names_twice(samples)
        if twice:
            raise ValueError(
                f"{file} names {len(twice)} samples more than once (the first is {twice[0]}), and "
                "the files do not name the same samples in the same order; name each once"
            )
    if without:
        raise ValueError(
            f"{without[0]} does not name its samples, and the other files name different ones, or "
            f"in another order than {first}; name them in a first column"
        )
    _check_shared(named, parts, transposed)
    every = union(samples for _, samples in named)
    if len(every) > len(named[0][1]):
        warn_of_alike(every, 4)
    place, n = {name: i for i, name in enumerate(every)}, len(every)
    lined = []
    for part, (_, samples) in zip(parts, named):
        rows = np.array([place[name] for name in samples])
        lacking = [_lacking(part, a) for a in range(len(part.views))]
        labels, known, left_out = part.labels, part.known, part.left_out
        if labels is not None and len(rows) == n:
            labels = labels[np.argsort(rows)]
        elif labels is not None:
            reason = f"it has no class for {n - len(rows)} of {n} samples"
            labels, known, left_out = None, None, left_out | {str(known): reason}
        lined.append(
            replace(
                part,
                labels=labels,
                known=known,
                left_out=left_out,
                views=[_placed(x, rows, n) for x in part.views],
                lacking=[~_placed(~mask[:, None], rows, n)[:, 0] for mask in lacking],
            )
        )
    return lined, every


def _lacking(part: NamedViews, a: int) -> Flags:
    return part.lacking[a] if part.lacking else np.zeros(part.views[a].shape[0], bool)


def _check_shared(
    named: list[tuple[Path, list[str]]], parts: list[NamedViews], transposed: bool | None
) -> None:
    """Refuse tables that share no samples, and those whose columns look like the samples."""
    columns = [names for part in parts for names in part.columns]
    first = (columns or [None])[0] or []
    same = len(first) > 1 and columns.count(first) == len(columns)
    if same and transposed is None and len({frozenset(samples) for _, samples in named}) > 1:
        raise ValueError(
            f"{named[0][0]} and the other files have the same columns ({first[0]}, ...) and "
            "other rows: if the columns are the samples, pass transposed=True; otherwise "
            "transposed=False"
        )
    apart = unreached([samples for _, samples in named])
    if apart is not None:
        (file, samples), (first, expected) = named[apart], named[0]
        raise ValueError(
            f"{first} and {file} share no sample ({expected[0]}, ... and {samples[0]}, ...); "
            f"{by_one_name([*expected, *samples])} in all files"
            + "; if the columns are the samples, pass transposed=True"
            * (not transposed)
        )


def _read_npy(file: Path) -> np.memmap[Any, Any]:
    try:
        return np.lib.format.open_memmap(file, mode="r")  # np.load would take an archive as well
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{file} cannot be read as an array of numbers: {error}") from error


def _read_hdf5(
    path: Path,
    views_key: Sequence[str] | None,
    labels_key: str | Literal[False] | None,
    transposed: bool,
) -> NamedViews:
    file, found = open_hdf5(path), {}
    file.visititems(lambda name, item: found.update({name: item}))
    tables = {name: x for name, x in found.items() if isinstance(x, h5py.Dataset)}
    try:
        views = {n: x for n, x in tables.items() if x.ndim == 2 and x.dtype.kind in "biuf"}
        missing = [name for name in views_key or () if name not in views]
        if missing:
            raise ValueError(f"no table of numbers {', '.join(missing)}")
        if labels_key and labels_key not in tables:
            raise ValueError(
                f"labels_key={labels_key!r}: there is no such data set; labels_key=False reads none"
            )
        suspects = {}
        for name, x in tables.items():
            if name == labels_key or (
                name not in (views_key or ()) and named_like_classes(name.rpartition("/")[2])
            ):
                one = _suspect_of(x)
                if one is not None and (name == labels_key or no_view(one) is not None):
                    suspects[name] = one
        known = choose(suspects, labels_key)
        names = list(views_key or sorted((n for n in views if n not in suspects), key=natural))
        if not names:
            raise ValueError("no table of numbers in it")
        labels = _known_classes(known, None)
    except ValueError as error:
        listed = ", ".join(f"{n} {x.shape}" for n, x in tables.items()) or "nothing"
        file.close()
        raise ValueError(f"{path}: {error}. The file has {listed}") from error
    left_out = {name: why for name, why in known.left_out.items() if name in views}
    n = views[names[0]].shape[1 if transposed else 0]
    for name, x in () if views_key else tables.items():
        group, _, last = name.rpartition("/")
        if last == "indptr" and f"{group}/indices" in tables:  # as AnnData and SciPy store it
            left_out[group or name] = "it is a sparse matrix, which is not read from HDF5"
        elif n in x.shape and name not in {*views, *suspects}:
            left_out[name] = unread(False)
    return NamedViews(
        names,
        [views[name][()].T if transposed else views[name] for name in names],
        labels,
        known=known.source,
        left_out=left_out,
    )


def _suspect_of(x: h5py.Dataset) -> Suspect | None:
    """The columns of a data set of one or two dimensions, or None."""
    if x.ndim not in (1, 2) or 0 in x.shape:
        return None
    text = h5py.check_string_dtype(x.dtype) is not None
    if not text and x.dtype.kind not in "biuf":
        return None
    values = np.asarray(x.asstr()[()] if text else x[()])
    return Suspect(list((values.astype(str) if text else values).reshape(len(values), -1).T))


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
    features, lacking, left_out = {}, {}, {}
    try:
        with warnings.catch_warnings():
            for text, kind in _LIBRARY_WARNINGS:
                warnings.filterwarnings("ignore", text, kind, r"mudata\.")
            if package == "anndata":
                found = anndata.read_h5ad(path)
                tables = {"X": found.X, **found.obsm}
                features["X"] = list(map(str, found.var_names))
                for name, x in found.obsm.items():
                    if hasattr(x, "columns"):
                        features[name] = list(map(str, x.columns))
                left_out = {} if views_key else _no_views_of_cells(found)
                tables = {name: x for name, x in tables.items() if name not in left_out}
            else:
                found = mudata.read_h5mu(path)
                tables = {n: _of_all(part, found.obs_names) for n, part in found.mod.items()}
                for name, part in found.mod.items():
                    lacking[name] = ~found.obs_names.isin(part.obs_names)
                    features[name] = list(map(str, part.var_names))
    except Exception as error:  # they name no class of their own for damaged files
        raise ValueError(f"{path} cannot be read by {package}: {error}") from error
    if not views_key:
        empty = [name for name, x in tables.items() if x is None or 0 in x.shape]
        left_out |= {name: "it has no table of numbers" for name in empty}
    tables = {name: x for name, x in tables.items() if x is not None and 0 not in x.shape}
    names = list(views_key or tables)
    missing = [name for name in names if name not in tables]
    if not names:
        raise ValueError(f"{path} has no table of numbers that is a view")
    if missing:
        raise ValueError(f"{path} has no view {', '.join(missing)}; it has {', '.join(tables)}")
    samples = [str(name) for name in found.obs_names]
    known = Known()
    if labels_key:
        if labels_key not in found.obs:
            listed = ", ".join(found.obs) or "none"
            raise ValueError(
                f"{path}: labels_key={labels_key!r} is no column of obs, which has {listed}; "
                "labels_key=False reads none"
            )
        column = found.obs[labels_key]
        values = (
            column.to_numpy() if column.dtype.kind in "iuf" else column.astype(str).to_numpy(str)
        )
        known = Known(f"obs, column {labels_key}", values, samples)
    views = [tables[name] for name in names]
    return NamedViews(
        names,
        [x.tocsr() if scipy.sparse.issparse(x) else np.asarray(x) for x in views],
        _known_classes(known, samples),
        samples,
        known=known.source,
        left_out=left_out,
        lacking=[lacking.get(name, np.zeros(len(samples), bool)) for name in names],
        columns=[features.get(name) for name in names],
    )


def _no_views_of_cells(cells: Any) -> dict[str, str]:
    """Tables of an AnnData file that are not read as views, with the reason."""
    left_out = {f"layers, {name}": "only X and obsm are read" for name in cells.layers}
    if cells.raw is not None:
        left_out["raw"] = "only X and obsm are read"
    for name, x in cells.obsm.items():
        if name.startswith("X_"):
            left_out[name] = "its name says that it was made from X"
        elif named_like_classes(name) and not scipy.sparse.issparse(x):
            why = no_view(Suspect(list(np.asarray(x).T)))
            if why is not None:
                left_out[name] = f"its name is that of known classes, and {why}"
    return left_out


def _of_all(part: Any, names: Any) -> Matrix:
    """The rows of a modality for the cells of all; rows of zeros for those that it lacks."""
    if part.X is None:
        return None
    rows, n = names.get_indexer(part.obs_names), len(names)
    return part.X if np.array_equal(rows, np.arange(n)) else _placed(part.X, rows, n)


def _placed(x: Matrix, rows: Array, n: int) -> Matrix:
    """Rows put to their places among n, and zeros for the others, which lack this view."""
    if scipy.sparse.issparse(x):
        ones = np.ones(len(rows), x.dtype)
        return scipy.sparse.csr_matrix((ones, (rows, np.arange(len(rows)))), (n, len(rows))) @ x
    out = np.zeros((n, x.shape[1]), x.dtype)
    out[rows] = x
    return out
