"""Files of cells: AnnData and MuData, through their own packages, and Cell Ranger's folder."""

from __future__ import annotations

import gzip
import warnings
from typing import TYPE_CHECKING

import numpy as np
import scipy.io
import scipy.sparse

from dmac.data.named_views import NamedView
from dmac.data.safe_files import check_readable, open_hdf5
from dmac.data.variables import by_type
from dmac.data.vocabulary import says_embedding

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

# What mudata says of itself with every file, and nobody who reads one can change.
_LIBRARY_WARNINGS = (
    (r"From 0\.4 \.update\(\) will not pull obs/var columns", FutureWarning),
    (r"The inplace keyword in DataFrame\.(rename|drop) is deprecated", DeprecationWarning),
    (r"Cannot join columns with the same name because var_names", UserWarning),
)
# A view without names of columns has so many, and a picture or a place no more.
_PLACES = 3
#: Why what an ``.h5ad`` file holds beside ``X`` and ``obsm`` is no view.
ONLY = "only X and obsm are read"


def open_cells(path: Path) -> Any:
    """An AnnData or MuData object from its file.

    It is an ``ImportError`` if a package is missing, and a ``ValueError`` if it cannot be read.
    """
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
        with warnings.catch_warnings():
            for text, kind in _LIBRARY_WARNINGS:
                warnings.filterwarnings("ignore", text, kind, r"mudata\.")
            return anndata.read_h5ad(path) if package == "anndata" else mudata.read_h5mu(path)
    except Exception as error:  # they name no class of their own for damaged files
        raise ValueError(f"{path} cannot be read by {package}: {error}") from error


def read_cells(file: Path) -> list[NamedView]:
    """``X`` and ``obsm``, or the modalities, and the columns of ``obs``, called ``obs.column``.

    ``X`` of several types of features is a view for each (``var["feature_types"]``).
    """
    cells = open_cells(file)
    modalities = getattr(cells, "mod", None)
    views = list(_tables(cells, file)) if modalities is None else []
    for name, part in (modalities or {}).items():
        if part.X is not None:
            views.append(_view(part.X, name, part, file, part.var_names))
        views += _columns(part.obs, f"{name}:", file)
    return views + _columns(cells.obs, "obs.", file)


def _tables(cells: Any, file: Path) -> Iterator[NamedView]:
    types = cells.var.get("feature_types", cells.var.get("feature_type"))
    if cells.X is not None and types is not None and types.nunique() > 1:
        yield from by_type(cells.X[:], cells.var_names, types, cells.obs_names, file)
    elif cells.X is not None:
        yield _view(cells.X, "X", cells, file, cells.var_names)
    for name, x in cells.obsm.items():
        yield _view(x, name, cells, file, getattr(x, "columns", None))
    for name in (*cells.layers, *(["raw"] if cells.raw is not None else [])):
        yield NamedView(ONLY, name, source=file.name)


def _view(x: Any, name: str, cells: Any, file: Path, features: Any) -> NamedView:
    x = x.tocsr() if scipy.sparse.issparse(x) else np.asarray(x)
    names = None if features is None else list(map(str, features))
    return NamedView(x, name, list(map(str, cells.obs_names)), names, source=file.name)


def _columns(obs: Any, prefix: str, file: Path) -> list[NamedView]:
    samples = list(map(str, obs.index))
    return [
        NamedView(
            x.to_numpy(float) if x.dtype.kind in "iuf" else x.astype(str).to_numpy(str),
            f"{prefix}{name}",
            samples,
            source=file.name,
        )
        for name, x in obs.items()
    ]


def embedding(view: NamedView) -> str | None:
    """Why a table of ``obsm`` is no view, though nobody says so; None where it may be one."""
    if says_embedding(view.name):
        return "its name is that of an embedding or of places"
    x = view.values
    if view.features is not None or scipy.sparse.issparse(x) or x.ndim != 2:
        return None
    if x.shape[1] <= _PLACES:
        return f"its {x.shape[1]} columns without names are places or a picture"
    gram = x.astype(float) - x.mean(0)
    gram = gram.T @ gram
    size = np.sqrt(np.diag(gram))
    if (abs(gram - np.diag(np.diag(gram))) <= 1e-3 * np.outer(size, size)).all():
        return "its columns are uncorrelated, as those of an embedding"
    return None


def read_cell_ranger(folder: Path) -> list[NamedView]:
    """The counts of a folder of Cell Ranger, a view for each type of feature."""
    import pandas as pd

    try:
        (matrix,), (features,), (barcodes,) = (
            sorted(folder.glob(f"{name}.*"))[:1] for name in ("matrix", "features", "barcodes")
        )
        for file in (matrix, features, barcodes):
            check_readable(file)
        counts = scipy.sparse.csr_matrix(scipy.io.mmread(matrix)).T.tocsr()
        about = pd.read_csv(features, sep="\t", header=None, dtype=str)
        with (gzip.open if barcodes.suffix == ".gz" else open)(barcodes, "rt") as lines:
            names = lines.read().split()
        if counts.shape != (len(names), len(about)):
            raise ValueError(f"{counts.shape[::-1]} counts for {len(about)} x {len(names)} names")
        return by_type(counts, about[1], about[2], names, folder)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(
            f"{folder} cannot be read as a folder of Cell Ranger ({error}): write it by "
            "scanpy.read_10x_mtx(folder).write_h5ad(file)"
        ) from error
