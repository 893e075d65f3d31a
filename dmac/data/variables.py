"""What files of arrays and of cells hold, under the names that they give it.

They are those of MATLAB, NumPy and HDF5, of AnnData and MuData, through their own packages, and
Cell Ranger's folder. Nothing is decided here: :mod:`dmac.data.readers` says what is a view. What a
file holds is never run: nothing is unpickled, and an HDF5 file cannot lead to another one.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.io
import scipy.sparse

from dmac._types import Matrix
from dmac.data.names import NamedView, natural, stem
from dmac.data.safe_files import loadmat, open_hdf5
from dmac.data.vocabulary import counts

#: Endings of files of cells.
CELLS = (".h5ad", ".h5mu")
# Structures that may stand in each other.
_MAX_DEPTH = 8
# More rows without an entry are no samples: a file of few bytes would fill the memory with them.
_MAX_EMPTY_ROWS = 10**8


def read_mat(file: Path) -> list[NamedView]:
    """The arrays of a MATLAB file of version 4, 5 or 7.3.

    A field of a structure is called ``structure.field``, and of a cell with several entries these
    are ``cell 1``, ``cell 2``, ...; a cell of numbers or words is one vector.

    Parameters
    ----------
    file : path

    Returns
    -------
    list of NamedView

    Raises
    ------
    ValueError
        If it is corrupt or truncated.
    """
    if not h5py.is_hdf5(file):
        return [x for key, value in loadmat(file).items() for x in _flat(key, _mat5(value), _mat5)]
    with open_hdf5(file) as opened:
        return [
            x
            for key, value in opened.items()
            if not key.startswith("#")
            for x in _flat(key, _mat73(value), _mat73)
        ]


def read_npz(file: Path) -> list[NamedView]:
    """The arrays of a NumPy archive, in its order."""
    with np.load(file, allow_pickle=False) as archive:
        if "indptr" in archive.files:
            raise ValueError(
                "it is a sparse matrix of scipy.sparse.save_npz, which is not read here: write "
                "several into a .mat file, by scipy.io.savemat"
            )
        return [NamedView(x, key) for key, x in archive.items() if isinstance(x, np.ndarray)]


def read_npy(file: Path) -> list[NamedView]:
    """The array of a ``.npy`` file, which stays on disk; np.load would take an archive as well."""
    return [NamedView(np.lib.format.open_memmap(file, mode="r"), stem(file))]


def read_hdf5(file: Path) -> list[NamedView]:
    """The data sets of an HDF5 file, of which those of numbers stay on disk, or Cell Ranger's.

    Parameters
    ----------
    file : path

    Returns
    -------
    list of NamedView
    """
    items: dict[str, Any] = {}
    open_hdf5(file).visititems(items.__setitem__)
    if frames := [name for name, x in items.items() if "pandas_type" in x.attrs]:
        raise ValueError(
            "it has frames as pandas writes them: "
            f"pandas.read_hdf(file, {frames[0]!r}).to_csv(name)"
        )
    if isinstance(items.get("matrix/features/feature_type"), h5py.Dataset):
        return _of_cell_ranger(items["matrix"])
    return [
        NamedView(_stored(x), name)
        for name, x in sorted(items.items(), key=lambda item: natural(item[0]))
        if ("indptr" in x if isinstance(x, h5py.Group) else x.ndim)
    ]


def _stored(x: h5py.Group | h5py.Dataset) -> Any:
    """What is in a data set: words, or numbers on disk; None of a sparse matrix in a group."""
    if isinstance(x, h5py.Group):
        return None
    return _text(x) if h5py.check_string_dtype(x.dtype) else x


def _of_cell_ranger(matrix: h5py.Group) -> list[NamedView]:
    """Counts of features in rows, a view for each type of feature."""
    entries = matrix["data"][()], matrix["indices"][()], matrix["indptr"][()]
    counts = scipy.sparse.csr_matrix(entries, tuple(matrix["shape"][()])[::-1])
    names, types = (_text(matrix[f"features/{x}"]) for x in ("name", "feature_type"))
    return by_type(_check_indices(counts), names, types, _text(matrix["barcodes"]))


def by_type(counts: Matrix, names: Any, types: Any, samples: Any) -> list[NamedView]:
    """Columns of a matrix as a view for each type of feature, in the order in which they come."""
    types = np.asarray(types, str)
    names = np.asarray(names, str)
    samples = list(map(str, samples))
    return [
        NamedView(counts[:, types == kind], kind, samples, names[types == kind].tolist())
        for kind in dict.fromkeys(types.tolist())
    ]


def _text(x: h5py.Dataset) -> Any:
    """Words of an HDF5 file."""
    return np.asarray(x.asstr()[()], str)


def _flat(
    key: str, inside: Any, content: Callable[[Any], Any], depth: int = 0
) -> Iterator[NamedView]:
    """The arrays in a variable by their names, through its structures and cells.

    ``inside`` is what ``content`` says of a stored value: an array, a sparse matrix, a list (a
    cell, column by column), a dict (a structure) or None (else).
    """
    if isinstance(inside, list):
        entries = [content(x) for x in inside]
        if len(entries) > 1 and all(getattr(x, "size", 0) == 1 for x in entries):
            inside = np.array([np.ravel(x)[0] for x in entries])
        else:
            inside = {f" {i}" if len(entries) > 1 else "": x for i, x in enumerate(entries, 1)}
    elif isinstance(inside, dict):
        inside = {f".{name}": content(x) for name, x in inside.items()}
    if not isinstance(inside, dict):
        yield NamedView(inside, key)
    elif depth <= _MAX_DEPTH:
        for name, x in inside.items():
            yield from _flat(key + name, x, content, depth + 1)


def _check_indices(matrix: Matrix) -> Matrix:
    """The sparse matrix itself, once its indices are known to point inside it."""
    if (np.diff(matrix.indptr) < 0).any():  # SciPy looks at this only where there are entries
        raise ValueError("a sparse matrix has column starts that decrease")
    if matrix.shape[0] > matrix.nnz + _MAX_EMPTY_ROWS:
        raise ValueError(f"a sparse matrix has {matrix.shape[0]} rows, and {matrix.nnz} entries")
    matrix.check_format(full_check=True)
    return matrix


def _mat5(value: Any) -> Any:
    """What is in a value of `loadmat`: structures and cells are arrays of records and objects."""
    if scipy.sparse.issparse(value):
        return _check_indices(value)
    if not isinstance(value, np.ndarray):
        return value if isinstance(value, list) else None
    if not value.dtype.hasobject:
        return value
    entries = list(value.ravel(order="F"))
    if value.dtype.names:
        fields = {name: [x[name] for x in entries] for name in value.dtype.names}
        return {name: x[0] if len(x) == 1 else x for name, x in fields.items()}
    return entries


def _mat73(item: Any) -> Any:
    """MATLAB 7.3 stores arrays with axes reversed, cells as references, sparse ones as groups."""
    if isinstance(item, h5py.Group):
        if "MATLAB_sparse" not in item.attrs:
            return dict(item)
        columns, rows = (np.asarray(item.get(key, ()), np.int64) for key in ("jc", "ir"))
        entries = np.asarray(item.get("data", ()), float), rows, columns
        return _check_indices(
            scipy.sparse.csc_matrix(entries, (int(item.attrs["MATLAB_sparse"]), len(columns) - 1))
        )
    values = np.asarray(item)
    if item.attrs.get("MATLAB_empty", 0):
        return np.empty(tuple(values.ravel().astype(int)))
    if h5py.check_ref_dtype(item.dtype) is not None:
        return [item.file[reference] for reference in values.ravel()]
    if item.attrs.get("MATLAB_class", b"") in (b"char", "char"):
        return np.array(["".join(map(chr, values.ravel()))])
    if values.dtype.names == ("real", "imag"):
        values = values["real"] + 1j * values["imag"]
    return values.T if values.dtype.kind in "biufc" else None


def open_cells(path: Path) -> Any:
    """An AnnData or MuData object from its file."""
    module = importlib.import_module("anndata" if path.suffix.lower() == ".h5ad" else "mudata")
    open_hdf5(path).close()  # they would follow a link out of the file
    with warnings.catch_warnings(action="ignore"):  # of the libraries' own formats
        return getattr(module, f"read_{path.suffix.lower()[1:]}")(path)


def read_cells(file: Path) -> list[NamedView]:
    """``X`` or the modalities, the tables of ``obsm``, layers, raw, and the columns of ``obs``.

    ``X`` of several types of features is a view for each (``var["feature_types"]``). The others are
    called ``obsm.name``, ``layers.name``, ``raw`` and ``obs.name``.
    """
    cells = open_cells(file)
    items = []
    modalities = getattr(cells, "mod", {"": cells})
    for key, modality in modalities.items():
        prefix = f"{key}:" if key else ""
        types = modality.var.get("feature_types", modality.var.get("feature_type"))
        if modality.X is not None and types is not None and types.nunique() > 1:
            items += by_type(modality.X[:], modality.var_names, types, modality.obs_names)
        elif modality.X is not None:
            items.append(_view(modality.X, key or "X", modality, modality.var_names))
        tables = [
            *((f"obsm.{y}", x, getattr(x, "columns", None)) for y, x in modality.obsm.items()),
            *((f"layers.{y}", x, modality.var_names) for y, x in modality.layers.items()),
            *(("raw", x.X, x.var_names) for x in [modality.raw] if x is not None),
        ]
        items += [_view(x, prefix + name, modality, features) for name, x, features in tables]
        items += _columns(modality.obs, prefix or "obs.")
    return items + (_columns(cells.obs, "obs.") if "" not in modalities else [])


def _view(x: Any, name: str, cells: Any, features: Any) -> NamedView:
    x = x.tocsr() if scipy.sparse.issparse(x) else np.asarray(x)
    names = None if features is None else list(map(str, features))
    samples = list(map(str, cells.obs_names))
    return NamedView(x, name, samples, names, numbered=counts(samples))


def _columns(obs: Any, prefix: str) -> list[NamedView]:
    samples = list(map(str, obs.index))
    return [
        NamedView(
            x.to_numpy(float) if x.dtype.kind in "iuf" else x.astype(str).to_numpy(str),
            f"{prefix}{name}",
            samples,
        )
        for name, x in obs.items()
    ]


def read_cell_ranger(folder: Path) -> list[NamedView]:
    """The counts of a folder of Cell Ranger, a view for each type of feature."""
    import pandas as pd

    (matrix,), (features,), (barcodes,) = (
        sorted(folder.glob(f"{name}.*"))[:1] for name in ("matrix", "features", "barcodes")
    )
    counted = scipy.sparse.csr_matrix(scipy.io.mmread(matrix)).T.tocsr()
    about = pd.read_csv(features, sep="\t", header=None, dtype=str)
    names = pd.read_csv(barcodes, sep="\t", header=None, dtype=str)[0]
    if counted.shape != (len(names), len(about)):
        raise ValueError(f"{counted.shape[::-1]} counts for {len(about)} x {len(names)} names")
    return by_type(counted, about[1], about[2], names)
