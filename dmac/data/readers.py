"""Views from the files that people have, by a few rules that hold for all formats.

A format is a function from a file to the things in it (:mod:`dmac.data.tables`,
:mod:`dmac.data.variables`). This module decides which of them are views, which names the samples,
and which has the known classes (:mod:`dmac.data.known_classes`). The page on what goes in says the
rules in words.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse

from dmac._types import Array, Integers, PathLike
from dmac._warn import warn
from dmac.data.known_classes import agreed, having_name, known_classes
from dmac.data.names import NamedView, as_named, called, ending_of, is_frame, lined_up, natural
from dmac.data.safe_files import check_readable
from dmac.data.tables import (
    BINARY,
    TEXT,
    columns_of,
    completed,
    name_samples,
    numbers,
    read_table,
    with_header,
    without,
)
from dmac.data.variables import (
    CELLS,
    read_cell_ranger,
    read_cells,
    read_hdf5,
    read_mat,
    read_npy,
    read_npz,
)
from dmac.data.vocabulary import (
    Column,
    as_text,
    bare,
    counts,
    marks,
    says_classes,
    says_features,
    says_samples,
    share,
    words,
)

#: Endings that are read, and what they hold.
ENDINGS = {
    ".mat": "MATLAB file: a cell of views, X1, X2, ..., or every matrix; also in a structure",
    ".npz": "NumPy archive: X1, X2, ..., or every matrix",
    ".npy": "NumPy array: one view; it stays on disk",
    ".csv": "table: one view, one row per sample; also .tsv, .txt, .csv.gz, ...",
    ".parquet": "table, where pyarrow is installed",
    ".xlsx": "table, or one in every sheet, where openpyxl is installed",
    ".h5": "HDF5: every table of numbers is a view; it stays on disk. Also Cell Ranger's",
    ".h5ad": "AnnData: X, a view for each type of features",
    ".h5mu": "MuData: one view per modality; a cell may lack some",
}
_TABLES = (*TEXT, *BINARY)
_SINGLE = (*_TABLES, ".npy")  # files of one view each, which a folder may hold
#: What reads a file, by its ending.
READERS: dict[str, Callable[[Path], list[NamedView]]] = {
    **dict.fromkeys(_TABLES, read_table),
    **{".npy": read_npy, ".npz": read_npz, ".mat": read_mat},
    **dict.fromkeys((".h5", ".hdf5"), read_hdf5),
    **dict.fromkeys(CELLS, read_cells),
}
# Names of columns that a message lists.
_SHOWN = 8
#: What to do about files of other endings.
WAYS = {
    **dict.fromkeys((".xls", ".ods"), "save it as .xlsx or .csv"),
    **dict.fromkeys((".rds", ".rda", ".rdata"), "write it in R by write.csv(x, file)"),
    **dict.fromkeys(
        (".pkl", ".pickle", ".joblib"), "it is never unpickled: write it by numpy.savez"
    ),
    **dict.fromkeys((".pt", ".pth"), "write it by numpy.savez(file, **arrays)"),
    **dict.fromkeys((".zip", ".bz2", ".xz", ".zst", ".tar", ".7z"), "unpack it"),
    ".biom": "write it by biom convert -i file -o name.tsv --to-tsv",
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
        x: f"write it by networkx.to_pandas_adjacency(networkx.read_{y}(file)).to_csv(name)"
        for x, y in (
            *((".graphml", "graphml"), (".gexf", "gexf"), (".gml", "gml"), (".net", "pajek")),
            *((".edges", "weighted_edgelist"), (".edgelist", "edgelist")),
        )
    },
    **{
        f".{x}": f"write it by pandas.read_{y}(file).to_csv(name)"
        for x, y in (("sav", "spss"), ("dta", "stata"), ("sas7bdat", "sas"), ("orc", "orc"))
    },
}
# What to do about a file that cannot be read, by what the error says, or the ending.
_MENDING = {
    "Expected ": "; a cell with the sign that separates cells needs quotes around it",
    "codec": "; save it in UTF-8, as by pathlib.Path(name).write_text(pathlib.Path(file)."
    "read_text('latin-1'), 'utf-8')",
    "allow_pickle": "; Python objects are never read: save numbers, and words by .astype(str)",
}
#: What the command line writes above samples and clusters: no view, where a folder holds it.
OUTPUT = "sample,cluster"
#: Names under which views are looked for in .mat and .npz files, in any case.
VIEW_NAMES = ("x", "data", "fea", "feas", "feat", "feature", "features", "view", "views")


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
    files : list of path
        What was read, without those of folders that were not.
    classes : numpy.ndarray of shape (n,), or None
        The known classes as they are called.
    about : list of NamedView
        Tables of what else is known of the samples.
    """

    views: list[NamedView]
    labels: Integers | None
    known: str | None
    left_out: dict[str, str]
    files: list[Path]
    classes: Array | None
    about: list[NamedView]


def read_views(
    paths: Iterable[PathLike],
    *,
    views_key: Sequence[str] | None = None,
    labels_key: str | Literal[False] | None = None,
    transposed: bool | None = None,
    missing: Sequence[str | float] = (),
    columns: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    fill: str | float | None = None,
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
        ``.mat`` file what its sizes say, and columns in a table whose columns have the names of the
        rows of another one, which a ``UserWarning`` says. A table of an HDF5 file has to be in
        memory to be turned; single-cell files are never turned, and no table with the column
        ``labels_key``.
    missing : sequence of str or float
        Codes, as -999, that stand for what is missing.
    columns : dict of str to str, optional
        Groups of columns that are views, by the name that each view gets: names with a comma
        between them, in which ``*`` stands for anything.
    drop : sequence of str
        Columns that are left out, by such names.
    fill : {"median", "mean"} or float, optional
        What stands in the gaps of a column, where a sample has other values of its view.

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
    left_out: dict[str, str] = {}
    files = _files(paths, left_out)
    items = [x for file in files for x in _items(file, files, transposed)]
    turned = _turned_by_names(items) if transposed is None else items if transposed else []
    items = [with_header(x, x in turned, labels_key) if is_frame(x.values) else x for x in items]
    candidates, items = known_classes(name_samples(items, left_out), labels_key, left_out)
    for name in drop:
        items = [without(x, *places) for x, places in _columns_named(items, name, "drop")]
        left_out[f"what drop= names {name}"] = "it was asked for"
    views = [_group(items, name, pattern) for name, pattern in (columns or {}).items()]
    views += [x for key in views_key or () for x in _by_key(items, key)]
    views = views or _views(items, left_out)
    if not views:
        raise ValueError(
            f"{', '.join(file.name for file in files)}: there are no views beside "
            f"{', '.join(left_out)}"
        )
    for name in map(called, views):
        left_out.pop(name, None)
    named = {len(x.samples) for x in views if x.samples and not x.features}
    sizes = {len(x.values) for x in candidates} or named
    views = [_ready(_turned(x, views, sizes, transposed), missing, fill) for x in views]
    count = Counter(x.name for x in views)
    views = [replace(x, name=f"{x.name} of {x.source}") if count[x.name] > 1 else x for x in views]
    _warn_of_rows(views, transposed)
    orders = {tuple(x.samples or ()) for x in views}
    views = lined_up(as_named(views), incomplete=True)
    classes, labels, known = agreed(candidates, views[0], labels_key, left_out, len(orders) > 1)
    about = [x for x in items if is_frame(x.values) and x.features and called(x) in left_out]
    return Reading(views, labels, known, left_out, files, classes, about)


def _ready(view: NamedView, missing: Sequence[Any], fill: str | float | None) -> NamedView:
    """A view of numbers, in which codes are missing, and gaps filled."""
    if is_frame(view.values):
        return numbers(view, missing, fill)
    if scipy.sparse.issparse(view.values) or not (len(missing) or fill is not None):
        return view
    return replace(view, values=completed(np.asarray(view.values, float), missing, fill))


def _turned_by_names(items: list[NamedView]) -> list[NamedView]:
    """The tables whose columns, and not their rows, have the names of the rows of another one."""
    tables = [x for x in items if is_frame(x.values) and min(x.values.shape) > 1]
    rows = [Column(x.values.iloc[1:, 0]).names for x in tables]
    turned: list[NamedView] = []
    for x, own in zip(tables, rows):
        line = Column(x.values.iloc[0, 1:]).names
        others = [
            other
            for other, names in zip(tables, rows)
            if other not in (x, *turned) and share([names, line]) > 0.5 >= share([names, own])
        ]
        if others and not counts(line):
            turned.append(x)
            warn(
                f"the columns of {x.source} have the names of the rows of {others[0].source}, and "
                "are taken for samples: transposed=False takes its rows"
            )
    return turned


def _columns_named(
    items: list[NamedView], pattern: str, option: str
) -> list[tuple[NamedView, list[int]]]:
    """All things, each with the places of its columns that some names stand for."""
    headers = [
        [x.header for x in columns_of(y)] if is_frame(y.values) else y.features or [] for y in items
    ]
    every = set(itertools.chain(*headers))
    found: set[str] = set()
    for part in [pattern] if pattern in every else map(str.strip, pattern.split(",")):
        fit = {part} & every or {name for name in every if fnmatchcase(name, part)}
        if not fit:
            raise ValueError(
                f"{option}: there is no column {part!r}. There are "
                f"{', '.join(sorted(every)[:_SHOWN])}, ..."
            )
        found |= fit
    return [(x, [j for j, y in enumerate(names) if y in found]) for x, names in zip(items, headers)]


def _group(items: list[NamedView], name: str, pattern: str) -> NamedView:
    """Some columns of one table as a view of this name."""
    found = [(x, places) for x, places in _columns_named(items, pattern, f"view {name}") if places]
    if len(found) > 1:
        raise ValueError(
            f"view {name}: several have these columns, {', '.join(called(x) for x, _ in found)}: "
            "name one file"
        )
    ((x, places),) = found
    others = [j for j in range(x.values.shape[1]) if j not in places]
    return replace(without(x, *others), name=name)


def is_data(file: Path) -> bool:
    """Whether a file is read with its folder: not if the command line has written it."""
    if ending_of(file) not in _SINGLE or file.name.startswith((".", "~$")):
        return False
    check_readable(file)
    with open(file, "rb") as opened:
        first = opened.readline(len(OUTPUT) + 20).decode(errors="replace").rstrip("\n")
    return first not in (OUTPUT, f"{OUTPUT},confidence")


def _files(paths: Iterable[PathLike], left_out: dict[str, str]) -> list[Path]:
    """All files, those of folders in their place; why others of these are not read is left out."""
    files: list[Path] = []
    for path in paths:
        if not str(path):
            raise ValueError("the name of a file is empty")
        place = Path(path).expanduser()
        check_readable(place)
        if not place.exists():
            raise FileNotFoundError(f"no file or folder {place}")
        folder = place.is_dir() and place.suffix != ".zarr"
        if folder and not any(place.glob("matrix.mtx*")):
            files += _of_folder(place, left_out)
        elif folder or ending_of(place) in READERS:
            files.append(place)
        else:
            raise ValueError(
                f"{place} is not read, since its ending is none of ours: "
                f"{WAYS.get(ending_of(place), 'write it as .csv, .npz, .mat or .h5')}"
            )
    twice = [str(file) for file, count in Counter(map(Path.resolve, files)).items() if count > 1]
    if twice or not files:
        raise ValueError(
            f"{twice[0]} would be two views: name it once"
            if twice
            else "no files: name at least one"
        )
    return files


def _of_folder(folder: Path, left_out: dict[str, str]) -> list[Path]:
    """The tables and arrays of a folder; beside these a text is a note, and a workbook a source."""
    found = [x for x in folder.iterdir() if not x.name.startswith((".", "~$")) and not x.is_dir()]
    files = [file for file in found if is_data(file)]
    plain = [file for file in files if ending_of(file) not in (".txt", ".txt.gz", *BINARY)]
    files = plain or files
    if not files:
        raise ValueError(f"the folder {folder} has no file that ends in {', '.join(_SINGLE)}")
    reason = (
        f"of a folder only {', '.join(_SINGLE)} are read, {', '.join(('.txt', *BINARY))} without "
        "others, and not what fit or predict has written"
    )
    left_out |= {file.name: reason for file in sorted(set(found) - set(files))}
    return sorted(files, key=lambda file: natural(file.name))


def _items(file: Path, files: list[Path], transposed: bool | None) -> list[NamedView]:
    """What a file holds; tables as they are written."""
    ending = ending_of(file)
    if transposed and (ending in CELLS or file.is_dir()):
        raise ValueError(f"{file}: rows are the samples by its format, and it is never turned")
    try:
        items = read_cell_ranger(file) if file.is_dir() else READERS[ending](file)
    except ImportError as error:
        raise ImportError(
            f"{file} needs another package, pip install 'dmac[cells]' brings those for cells, "
            f"others save their tables as .csv: {error}"
        ) from error
    except Exception as error:  # that of a damaged file can be any
        what = f"it is corrupt, truncated or not what its ending says: {type(error).__name__}: "
        way = next((way for text, way in _MENDING.items() if text in str(error)), "")
        raise ValueError(
            f"{file} cannot be read: {'' if type(error) is ValueError else what}"
            f"{str(error).strip()}{way}"
        ) from error
    alone = [x.name for x in files].count(file.name) == 1
    items = [replace(x, source=file.name if alone else str(file)) for x in items]
    return items if ending in _TABLES else _named_beside(items, bool(transposed))


def _named_beside(items: list[NamedView], transposed: bool) -> list[NamedView]:
    """Arrays with the names of their rows and columns that vectors beside them hold.

    A vector that shares a word or number with some arrays, or their group, names these, and another
    one all arrays of its length.
    """
    names = {x.name: as_text(np.ravel(x.values)) for x in items if _may_name(x)}
    names = {key: x for key, x in names.items() if 1 < len(set(x)) == len(x)}
    arrays = [x for x in items if x.name not in names]
    shared = {key: {x.name: len(marks(key) & marks(x.name)) for x in arrays} for key in names}
    named = []
    used = set()
    for x in arrays:
        shape = np.shape(x.values)[:2]
        chosen = []
        for side, size in enumerate(shape):
            fit = {
                key: shared[key][x.name]
                for key in names
                if len(names[key]) == size
                and (shared[key][x.name] or not any(shared[key].values()))
                # Of as many rows as columns the words say what is named.
                and (len({*shape}) == len(shape) or says_features(key) == (side != transposed))
            }
            best = [key for key in fit if fit[key] == max(fit.values())]
            if other := [
                y
                for y in best
                if names[y] != names[best[0]] and not set(names[y]).isdisjoint(names[best[0]])
            ]:
                raise ValueError(
                    f"{x.source}: {best[0]} and {other[0]} have the same names in other orders, "
                    f"and which are those of {x.name} is not clear: call them by the names of "
                    f"their arrays, as {x.name}_samples"
                )
            used.update(best)
            chosen.append(names[best[0]] if best else None)
        rows, columns = (*chosen, None, None)[:2]
        named.append(x if x.samples else replace(x, samples=rows, features=x.features or columns))
    return [x for x in items if x.name in names and x.name not in used] + named


def _may_name(item: NamedView) -> bool:
    """Whether a thing is a vector of words, or has the name of a vector of ids."""
    x: Any = item.values
    if np.ndim(x) == 0 or np.size(x) != max(np.shape(x)) or is_frame(x) or says_classes(item.name):
        return False
    ids = x.dtype.kind in "iuf" and any(says_samples(y, 0) for y in words(bare(item.name)))
    return item.samples is None and (x.dtype.kind in "SU" or ids)


def _is_matrix(item: NamedView) -> bool:
    x = item.values
    shape = np.shape(item.values)
    return 0 not in shape and (is_frame(x) or (len(shape) == 2 and x.dtype.kind in "biufc"))


def _by_key(items: list[NamedView], key: str) -> list[NamedView]:
    """The things of this name, or those in the cell or structure of this name."""
    views = having_name(items, key)
    if not views or not all(map(_is_matrix, views)) or len({x.source for x in views}) > 1:
        what = "holds no matrix of numbers, or is in several files" if views else "is not there"
        raise ValueError(
            f"views_key= names {key!r}, which {what}. There are "
            f"{', '.join(dict.fromkeys(map(called, items)))}"
        )
    return views


def _views(items: list[NamedView], left_out: dict[str, str]) -> list[NamedView]:
    """What of each file is a view, though nobody names it; the others are left out."""
    views: list[NamedView] = []
    rest = [x for x in items if called(x) not in left_out]
    for source, of_file in itertools.groupby(rest, lambda x: x.source):
        inside = list(of_file)
        tables = [x for x in inside if _is_matrix(x)]
        if ending_of(Path(source)) in CELLS:
            tables = [x for x in tables if not re.search(r"(^|:)(layers|raw|obsm)\b", x.name)]
        elif ending_of(Path(source)) in (".mat", ".npz"):
            tables = _family(tables)
        if not tables:
            sizes = (f"{x.name} ({' x '.join(map(str, np.shape(x.values)))})" for x in inside)
            raise ValueError(
                f"{source} has no table of numbers that is a view. It has {', '.join(sizes)}"
            )
        views += tables
    left_out |= {
        called(x): "by their names others are the views"
        if _is_matrix(x) and 1 not in np.shape(x.values)
        else "a view is a table of numbers"
        for x in rest
        if x not in views
    }
    return views


def _family(tables: list[NamedView]) -> list[NamedView]:
    """The variables called X, X1, X2, ..., data, views, ...; all matrices where none is."""
    families: dict[str, list[NamedView]] = {}
    for x in tables:
        name = re.sub(r"[_ ]?\d+$", "", x.name)
        if name.lower() in VIEW_NAMES:
            families.setdefault(f"{name} {'cell' if ' ' in x.name else ''}", []).append(x)
    if len(families) > 1:
        raise ValueError(
            f"{tables[0].source}: which variables are the views is not clear "
            f"({', '.join(x.name for f in families.values() for x in f)}); "
            "views_key= names them"
        )
    for family in families.values():
        return sorted(family, key=lambda x: natural(x.name))
    return [x for x in tables if 1 not in x.values.shape] or tables


def _turned(
    view: NamedView, views: list[NamedView], sizes: set[int], transposed: bool | None
) -> NamedView:
    """A matrix with the samples in rows; of a .mat file its sizes say where they are."""
    if is_frame(view.values):
        return view
    if transposed is None and ending_of(Path(view.source)) == ".mat":
        shapes = [x.values.shape for x in views if x.source == view.source]
        transposed = _are_columns(view.source, shapes, sizes)
    if not transposed:
        return view
    # The names of an array's rows and columns change places with them.
    return replace(view, values=view.values[:].T, samples=view.features, features=view.samples)


def _are_columns(source: str, shapes: list[tuple[int, int]], sizes: set[int]) -> bool:
    """Whether the samples are the columns; only if the shapes leave no other reading.

    If there may be known classes, there are as many samples as of those.
    """
    as_rows, as_columns = (len(x) == 1 and x <= (sizes or x) for x in map(set, zip(*shapes)))
    if as_rows != as_columns:
        return as_columns
    sizes = ", ".join(" x ".join(map(str, shape)) for shape in shapes)
    raise ValueError(
        f"{source} has views of {sizes}: whether rows or columns are the samples is not clear; say "
        "transposed=False (samples are rows) or transposed=True, name the views by views_key= or "
        "the known classes, one for each sample, by labels_key="
    )


def _warn_of_rows(views: list[NamedView], transposed: bool | None) -> None:
    """Warn that tables are put side by side by places; refuse those whose columns are the same.

    Three or more of the same columns are told, which may be parts of one, or each a sample.
    """
    tables = [x for x in views if ending_of(Path(x.source)) in _TABLES]
    names = ", ".join(dict.fromkeys(x.source for x in tables))
    rows = {frozenset(x.samples or [len(x.values)]) for x in tables}
    columns = {tuple(x.features or [x.values.shape[1]]) for x in tables}
    same = len(columns) == 1 and tables[0].values.shape[1] > 1
    unnamed = all(x.samples is None or x.numbered for x in tables)
    parts = (
        f"{names} have the same columns: are they parts of one table (pandas.concat), or a file "
        "for each sample (make one row of features of each)?"
        if same and len(tables) > 2
        else ""
    )
    if (
        transposed is None
        and same
        and (len(rows) > 1 or (parts and unnamed and tables[0].features))
    ):
        raise ValueError(
            f"{parts or f'{names} have the same columns and other rows.'} Row i must be the same "
            "sample in every view: if the columns are the samples, say transposed=True; otherwise "
            "transposed=False"
        )
    if parts:
        warn(f"{parts} Each is taken for a view")
    if len(tables) > 1 and unnamed:
        warn(f"{names} do not name their samples: row i is taken for the same one in each")
