"""Views from the files that people have, by a few rules that hold for all formats.

A format is a function from a file to the things in it (:mod:`dmac.data.tables`,
:mod:`dmac.data.variables`, :mod:`dmac.data.cells`); here is decided which of them are views, which
names the samples, and which has the known classes (:mod:`dmac.data.known_classes`). The page on
what goes in says the rules in words.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import scipy.sparse

from dmac._warn import warn
from dmac.data.cells import embedding, read_cell_ranger, read_cells
from dmac.data.checks import check_labels
from dmac.data.known_classes import known_classes, vector
from dmac.data.named_views import called, is_frame, natural
from dmac.data.names import lined_up
from dmac.data.safe_files import check_readable
from dmac.data.tables import (
    BINARY,
    TEXT,
    as_text,
    name_samples,
    numbers,
    read_table,
    with_header,
)
from dmac.data.variables import read_hdf5, read_mat, read_npy, read_npz
from dmac.data.vocabulary import bare, says_samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Literal

    from dmac._types import Integers, PathLike
    from dmac.data.named_views import NamedView

#: Endings that are read, and what they hold.
ENDINGS = {
    ".mat": "MATLAB file: a cell of views, X1, X2, ..., or every matrix; also in a structure",
    ".npz": "NumPy archive: X1, X2, ..., or every matrix",
    ".npy": "NumPy array: one view; it stays on disk",
    ".csv": "table: one view, one row per sample; also .tsv, .txt, .csv.gz, ...",
    ".parquet": "table, where pyarrow is installed",
    ".xlsx": "table, or one in every sheet, where openpyxl is installed",
    ".h5": "HDF5: every table of numbers is a view; it stays on disk. Also Cell Ranger's",
    ".h5ad": "AnnData: X, by types of features, and what obsm has beside embeddings and places",
    ".h5mu": "MuData: one view per modality; a cell may lack some",
}
_TABLES = (*TEXT, *BINARY)
_SINGLE = (*_TABLES, ".npy")  # files of one view each, which a folder may hold
_ARRAYS: dict[str, Callable[[Path], list[NamedView]]] = {
    **{".mat": read_mat, ".npz": read_npz, ".h5": read_hdf5, ".hdf5": read_hdf5},
    **{".h5ad": read_cells, ".h5mu": read_cells},
}
_CELLS = (".h5ad", ".h5mu")
#: What to do about files of other endings.
WAYS = {
    **dict.fromkeys((".xls", ".ods"), "save it as .xlsx or .csv"),
    **dict.fromkeys((".rds", ".rda", ".rdata"), "write it in R by write.csv(x, file)"),
    **dict.fromkeys(
        (".pkl", ".pickle", ".joblib"), "it is never unpickled: write it by numpy.savez"
    ),
    **dict.fromkeys((".pt", ".pth"), "write it by numpy.savez(file, **arrays)"),
    **dict.fromkeys((".zip", ".bz2", ".xz", ".zst", ".tar", ".7z"), "unpack it"),
    **dict.fromkeys((".dat", ".tab", ".data"), "call it .txt or .tsv if it is a table of text"),
    ".mtx": "name its folder, if barcodes and features are there; else write a .mat file by "
    "scipy.io.savemat(file, {'X': scipy.io.mmread(name)})",
    ".loom": "write it by scanpy.read_loom(file).write_h5ad(name)",
    ".zarr": "write it by anndata.read_zarr(file).write_h5ad(name)",
    ".feather": "write it by pandas.read_feather(file).to_parquet(name)",
    ".json": "write it by pandas.read_json(file).to_csv(name)",
    ".arff": "write it by pandas.DataFrame(scipy.io.arff.loadarff(file)[0]).to_csv(name)",
    ".fcs": "export its events as .csv",
    **{
        f".{x}": f"write it by pandas.read_{y}(file).to_csv(name)"
        for x, y in (("sav", "spss"), ("dta", "stata"), ("sas7bdat", "sas"), ("orc", "orc"))
    },
}
_OTHERWISE = "write it as .csv, .npz, .mat or .h5"
#: What the command line writes above samples and clusters: no view, where a folder holds it.
OUTPUT = "sample,cluster"
#: Names under which views are looked for in .mat and .npz files, in any case.
VIEW_NAMES = ("x", "data", "fea", "feas", "feat", "feature", "features", "view", "views")


class Wording(NamedTuple):
    """What the ways to ask for something are called: in Python, or at the command line."""

    views_key: str = "views_key"
    labels_key: str = "labels_key"
    no_labels: str = "labels_key=False"
    transposed: str = "transposed=True"
    not_transposed: str = "transposed=False"


PYTHON = Wording()


@dataclass(frozen=True, eq=False)
class Reading:
    """What was read.

    Attributes
    ----------
    views : list of NamedView
        Matrices of the same samples in the same order; those of ``.npy`` and HDF5 files are still
        on disk.
    labels : numpy.ndarray of shape (n,), int64, or None
        Known classes, from 0.
    known : str or None
        Where the known classes were.
    left_out : dict of str to str
        What is neither a view nor the known classes, with the reason.
    told : list of str
        What was decided otherwise.
    """

    views: list[NamedView]
    labels: Integers | None = None
    known: str | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)


def read_views(
    paths: Iterable[PathLike],
    *,
    views_key: Sequence[str] | None = None,
    labels_key: str | Literal[False] | None = None,
    transposed: bool | None = None,
    wording: Wording = PYTHON,
) -> Reading:
    """Read views from one file that holds them all, from a file each, or from a folder of those.

    Parameters
    ----------
    paths : list of str or path
        One file, or several; the endings are those of `ENDINGS`. A folder stands for its tables and
        ``.npy`` files in the order of their names (``view2`` before ``view10``), or is Cell
        Ranger's.
    views_key : sequence of str, optional
        The names of the views: variables, fields of structures (``name.field``), data sets,
        modalities, files.
    labels_key : str or False, optional
        The name of the known classes: a variable, a file, or a column of a table or of ``obs``;
        False: none.
    transposed : bool, optional
        True if samples are columns, False if they are rows. By default they are rows, but in a
        ``.mat`` file what its sizes say. A table of an HDF5 file has to be in memory to be turned;
        single-cell files are never turned.
    wording : Wording
        What errors call these arguments.

    Returns
    -------
    Reading

    Raises
    ------
    FileNotFoundError
        If there is no such file or folder.
    ValueError
        If a file cannot be read or does not say what its views are; the message names it.
    ImportError
        If a file needs a package that is not installed.
    """
    files, left_out = _files(paths)
    told: list[str] = []
    items = [x for file in files for x in _items(file, _source(file, files), transposed)]
    items = _with_samples(_with_headers(items, bool(transposed), told))
    _warn_of_twice([*(file.resolve() for file in files), *(views_key or ())])
    named = [x for key in views_key or () for x in _by_key(items, key, wording)]
    known, rest, out = _known(items, labels_key, named, wording)
    left_out |= out
    kept = {(x.source, x.name): x for x in rest}  # without the column of the classes, perhaps
    views = [kept.get((x.source, x.name), x) for x in named] or _views(rest, left_out, wording)
    if not views:
        names = ", ".join(file.name for file in files)
        raise ValueError(f"{names}: there are no views beside {', '.join(left_out) or 'classes'}")
    views = _turned(views, known, transposed, wording)
    if transposed is None:
        _check_rows(views, wording)
    _tell_of_places(views, told)
    views = lined_up(views, incomplete=True)
    labels = None if known is None else _labels(known, views, labels_key, left_out, wording)
    return Reading(views, labels, known.name if labels is not None else None, left_out, told)


def _known(items: list[NamedView], key: Any, named: list[NamedView], wording: Wording) -> Any:
    """`known_classes`, whose errors say how to name them."""
    try:
        return known_classes(items, key, named)
    except ValueError as error:
        advice = f"{wording.labels_key} names them, {wording.no_labels} reads none"
        raise ValueError(f"known classes: {error} ({advice})") from error


def _warn_of_twice(names: list[Any]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            warn(f"{getattr(name, 'name', name)} is there twice, as two views or more")


def ending_of(file: Path) -> str:
    """The ending of a file in lower case, with what stands before .gz."""
    endings = file.suffixes[-2:] if file.suffix.lower() == ".gz" else file.suffixes[-1:]
    return "".join(endings).lower()


def stem(file: Path) -> str:
    """The name of a file without its ending, which may be ``.csv.gz``."""
    return file.name[: len(file.name) - len(ending_of(file))]


def _source(file: Path, files: list[Path]) -> str:
    """What to call a file: by its name, or by its path where others have that name."""
    return file.name if [x.name for x in files].count(file.name) == 1 else str(file)


def is_data(file: Path) -> bool:
    """Whether a file is read with its folder: not if the command line has written it."""
    if ending_of(file) not in _SINGLE or file.name.startswith("."):
        return False
    check_readable(file)
    with open(file, "rb") as opened:
        first = opened.readline(len(OUTPUT) + 20).decode(errors="replace").rstrip("\n")
    return first not in (OUTPUT, f"{OUTPUT},confidence")


def _files(paths: Iterable[PathLike]) -> tuple[list[Path], dict[str, str]]:
    """All files, those of folders in their place, and why others of these are not read."""
    files: list[Path] = []
    left_out: dict[str, str] = {}
    for path in paths:
        if not str(path):
            raise ValueError("the name of a file is empty")
        place = Path(path).expanduser()
        check_readable(place)
        if not place.exists():
            raise FileNotFoundError(f"no file or folder {place}")
        if place.suffix == ".zarr" or not place.is_dir():
            if ending_of(place) not in (*_SINGLE, *_ARRAYS):
                way = WAYS.get(ending_of(place), _OTHERWISE)
                raise ValueError(f"{place} is not read, since its ending is none of ours: {way}")
            files.append(place)
        elif any(place.glob("matrix.mtx*")):
            files.append(place)
        else:
            files += _of_folder(place, left_out)
    if not files:
        raise ValueError("no files: name at least one")
    return files, left_out


def _of_folder(folder: Path, left_out: dict[str, str]) -> list[Path]:
    """The tables and arrays of a folder; beside these a text is a note, and a workbook a source."""
    there = [x for x in folder.iterdir() if not x.name.startswith(".") and not x.is_dir()]
    files = [file for file in there if is_data(file)]
    plain = [file for file in files if ending_of(file) not in (".txt", ".txt.gz", *BINARY)]
    files = plain or files
    if not files:
        raise ValueError(f"the folder {folder} has no file that ends in {', '.join(_SINGLE)}")
    reason = f"of a folder only {', '.join(_SINGLE)} are read, .txt and .xlsx without others"
    for file in sorted(set(there) - set(files)):
        if ending_of(file) in (*_SINGLE, *_ARRAYS, *WAYS):
            written = ending_of(file) in TEXT and not is_data(file)
            left_out[file.name] = "fit or predict has written it" if written else reason
    return sorted(files, key=lambda file: natural(file.name))


def _items(file: Path, source: str, transposed: bool | None) -> list[NamedView]:
    """What a file holds; tables as they are written."""
    ending = ending_of(file)
    if transposed and (ending in _CELLS or file.is_dir()):
        raise ValueError(f"{file}: rows are the samples by its format, and it is never turned")
    if file.is_dir():
        items = read_cell_ranger(file)
    elif ending in _ARRAYS:
        items = _ARRAYS[ending](file)
    else:
        items = (read_npy if ending == ".npy" else read_table)(file, stem(file))
    return [replace(x, source=source) for x in items]


def _with_headers(items: list[NamedView], transposed: bool, told: list[str]) -> list[NamedView]:
    """Tables with a row for each sample, and their header.

    One whose first column has what stands above the columns of others is not turned with them.
    """
    tops = {id(x): set(as_text(x.values.iloc[0])) for x in items if is_frame(x.values)}
    out = []
    for x in items:
        if is_frame(x.values):
            others = set().union(*(top - {""} for key, top in tops.items() if key != id(x)))
            left = others.intersection(as_text(x.values.iloc[1:, 0]))
            turned = transposed and not (left and others.isdisjoint(tops[id(x)]))
            x, lines = with_header(x, turned)
            told += lines
            if transposed and not turned:
                told.append(f"{x.source} has the samples in rows, and is not turned")
        out.append(x)
    return out


def _with_samples(items: list[NamedView]) -> list[NamedView]:
    """Names for samples: a column of tables, or a vector beside the arrays of a file."""
    tables = iter(name_samples([x for x in items if is_frame(x.values)]))
    items = [next(tables) if is_frame(x.values) else x for x in items]
    names, out = {}, []
    for x in items:
        lone = vector(x) if x.samples is None and says_samples(bare(x.name), 0) else None
        if lone is not None and 1 < len(lone.values) == len(set(lone.values)):
            names[x.source] = lone.values.astype(str).tolist()
        else:
            out.append(x)
    fitting = [x.source in names and len(names[x.source]) in _shape(x) for x in out]
    return [replace(x, samples=names[x.source]) if fits else x for x, fits in zip(out, fitting)]


def _shape(item: NamedView) -> tuple[int, ...]:
    return tuple(getattr(item.values, "shape", ()))


def _by_key(items: list[NamedView], key: str, wording: Wording) -> list[NamedView]:
    """The things of this name, or those in the cell or structure of this name."""
    views = [x for x in items if key in (x.name, x.source)]
    views = views or [x for x in items if re.fullmatch(rf"{re.escape(key)}( \d+|\..+)", x.name)]
    if not views or not all(_is_matrix(x.values) for x in views):
        what = "holds no matrix of numbers" if views else "is not there"
        listed = ", ".join(dict.fromkeys(called(x) for x in items))
        raise ValueError(f"{wording.views_key}: {key!r} {what}. There are {listed}")
    if len({x.source for x in views}) > 1:
        raise ValueError(f"{wording.views_key}: several files have the name {key!r}")
    return views


def _is_matrix(x: Any) -> bool:
    if is_frame(x) or scipy.sparse.issparse(x):
        return True
    return len(getattr(x, "shape", ())) == 2 and x.dtype.kind in "biufc"


def _views(items: list[NamedView], left_out: dict[str, str], wording: Wording) -> list[NamedView]:
    """What of each file is a view, though nobody names it; why the rest is none is left out."""
    views: list[NamedView] = []
    for source in dict.fromkeys(x.source for x in items):
        inside = [x for x in items if x.source == source]
        tables = _tables(inside, ending_of(Path(source)), left_out, wording)
        if not tables:
            sizes = [f"{x.name} ({' x '.join(map(str, _shape(x)))})" for x in inside]
            listed = ", ".join(sizes) or "nothing"
            raise ValueError(f"{source} has no table of numbers that is a view. It has {listed}")
        views += tables
    return views


def _tables(
    items: list[NamedView], ending: str, left_out: dict[str, str], wording: Wording
) -> list[NamedView]:
    """What of the things in one file is a view."""
    tables = [x for x in items if _is_matrix(x.values) and 0 not in x.values.shape]
    if ending in (".mat", ".npz"):
        tables = _family(tables, wording)
    elif ending == ".h5ad":
        tables = _measured(tables, left_out)
    sizes = {n for x in tables for n in (_shape(x) if ending == ".mat" else _shape(x)[:1])}
    for x in items:
        if x not in tables and (x.values is None or sizes.intersection(_shape(x))):
            left_out.setdefault(x.name, _no_view(x))
    return tables


def _measured(tables: list[NamedView], left_out: dict[str, str]) -> list[NamedView]:
    """Tables of cells that are neither embeddings nor places."""
    for x in tables:
        reason = None if x.name == "X" else embedding(x)
        if reason:
            left_out[x.name] = reason
    return [x for x in tables if x.name not in left_out]


def _no_view(item: NamedView) -> str:
    """Why something with an entry for each sample is not read as a view."""
    if item.values is None:
        return "it is not read: of cells X and obsm are, and else tables of numbers"
    if _is_matrix(item.values) and 1 not in item.values.shape:
        return "the names of other tables say that these are the views"
    return "it has an entry for each sample, and a view is a table of numbers, samples x features"


def _family(tables: list[NamedView], wording: Wording) -> list[NamedView]:
    """The variables called X, X1, X2, ..., data, views, ...; all matrices where none is."""
    families: dict[str, list[NamedView]] = {}
    for x in tables:
        name = re.sub(r"[_ ]?\d+$", "", x.name)
        if name.lower() in VIEW_NAMES:
            families.setdefault(f"{name} {'cell' if ' ' in x.name else ''}", []).append(x)
    if len(families) > 1:
        raise ValueError(
            f"{tables[0].source}: which variables are the views is not clear "
            f"({', '.join(x.name for f in families.values() for x in f)}); {wording.views_key} "
            "names them"
        )
    for family in families.values():
        return sorted(family, key=lambda x: natural(x.name))
    return [x for x in tables if 1 not in x.values.shape] or tables


def _turned(
    views: list[NamedView], known: NamedView | None, transposed: bool | None, wording: Wording
) -> list[NamedView]:
    """Matrices with the samples in rows; of a .mat file its sizes say where they are."""
    turn = {}
    for source in dict.fromkeys(x.source for x in views):
        turn[source] = bool(transposed)
        if transposed is None and ending_of(Path(source)) == ".mat":
            shapes = [x.values.shape for x in views if x.source == source]
            n = None if known is None else len(known.values)
            turn[source] = _is_transposed(source, shapes, n, wording)
    out = []
    for x in views:
        if is_frame(x.values):
            x = numbers(x)
        elif turn[x.source]:
            x = replace(x, values=x.values[:].T)
        sparse = scipy.sparse.issparse(x.values)
        out.append(replace(x, values=scipy.sparse.csr_matrix(x.values)) if sparse else x)
    return out


def _is_transposed(
    source: str, shapes: list[tuple[int, int]], n_labels: int | None, wording: Wording
) -> bool:
    """Whether the samples are the columns; only if the shapes leave no other reading."""
    sides = list(zip(*shapes))
    if n_labels is not None:
        as_rows, as_columns = ({n_labels} == set(side) for side in sides)
        reason = f"there are {n_labels} labels"
    else:
        as_rows, as_columns = (len(set(side)) == 1 for side in sides)
        reason = "there are no labels to tell"
    if as_rows != as_columns:
        return as_columns
    sizes = ", ".join(f"{rows} x {columns}" for rows, columns in shapes)
    if as_rows:
        raise ValueError(
            f"{source} has views of {sizes}: whether rows or columns are the samples is ambiguous "
            f"({reason}); say {wording.not_transposed} (samples are rows) or {wording.transposed}"
        )
    raise ValueError(
        f"{source} has views of {sizes}: neither all rows nor all columns can be the samples "
        f"({reason}); {wording.views_key} names the views, {wording.labels_key} the known classes"
    )


def _check_rows(views: list[NamedView], wording: Wording) -> None:
    """Refuse tables of the same columns and other rows: the columns may be the samples."""
    unnamed = [x for x in views if x.samples is None]
    for some in (unnamed, [x for x in views if x.samples and x.features]):
        rows = {frozenset(x.samples or [x.values.shape[0]]) for x in some}
        columns = {tuple(x.features or [x.values.shape[1]]) for x in some}
        if len(rows) > 1 and len(columns) == 1 and some[0].values.shape[1] > 1:
            sizes = (f"{x.source} ({x.values.shape[0]} x {x.values.shape[1]})" for x in some)
            raise ValueError(
                f"{', '.join(sizes)} have the same columns and other rows, and row i must be the "
                "same sample in every view: if the columns are the samples, say "
                f"{wording.transposed}; otherwise {wording.not_transposed}"
            )


def _tell_of_places(views: list[NamedView], told: list[str]) -> None:
    """Say that tables of several files are put side by side by the places of their rows."""
    tables = [x for x in views if ending_of(Path(x.source)) in _TABLES]
    if len(tables) > 1 and all(x.samples is None for x in tables):
        names = ", ".join(dict.fromkeys(x.source for x in tables))
        told.append(f"{names} do not name their samples: row i is taken for the same one in each")


def _labels(
    known: NamedView, views: list[NamedView], key: Any, left_out: dict[str, str], wording: Wording
) -> Integers | None:
    """The classes of the samples in their order: by name where both have names."""
    samples, values, n = views[0].samples, known.values, views[0].values.shape[0]
    if samples is None or known.samples is None or samples == known.samples:
        reason = f"it has {len(values)} entries, and there are {n} samples"
        if len(values) == n:
            return check_labels(values)
        if {x.values.shape[1] for x in views} == {len(values)}:
            turned = f"{wording.transposed} or {wording.not_transposed}"
            raise ValueError(f"{known.name}: {reason}, but as many features: say {turned}")
    else:
        places = {name: i for i, name in enumerate(known.samples)}
        lost = [name for name in samples if name not in places]
        if not lost and len(places) == len(values):
            return check_labels(values[[places[name] for name in samples]])
        reason = "it names a sample twice, and has another order than the views"
        if lost:
            reason = f"it has no class for {len(lost)} of {n} samples, the first is {lost[0]}"
    if key:
        raise ValueError(f"{known.name}: {reason}")
    left_out[known.name] = reason
    return None
