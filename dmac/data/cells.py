"""Files of cells: AnnData and MuData, through their own packages, and Cell Ranger's folder."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from dmac.data.named_views import NamedView, counts
from dmac.data.safe_files import open_hdf5
from dmac.data.variables import by_type


def open_cells(path: Path) -> Any:
    """An AnnData or MuData object from its file.

    It is an ``ImportError`` if a package is missing, and a ``ValueError`` if it cannot be read.
    """
    package = "anndata" if path.suffix.lower() == ".h5ad" else "mudata"
    try:
        module = importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f"{path} needs the package {package}: install it with pip install 'dmac[cells]'"
        ) from error
    open_hdf5(path).close()  # they would follow a link out of the file
    try:
        with warnings.catch_warnings(action="ignore"):  # of the libraries' own formats
            return getattr(module, f"read_{path.suffix.lower()[1:]}")(path)
    except Exception as error:  # they name no class of their own for damaged files
        raise ValueError(f"{path} cannot be read by {package}: {error}") from error


def read_cells(file: Path) -> list[NamedView]:
    """``X`` or the modalities, and the tables of ``obsm`` and the columns of ``obs``.

    ``X`` of several types of features is a view for each (``var["feature_types"]``). The others are
    called ``obsm.name`` and ``obs.name``.
    """
    cells, items = open_cells(file), []
    modalities = getattr(cells, "mod", {"": cells})
    for key, modality in modalities.items():
        prefix = f"{key}:" if key else ""
        types = modality.var.get("feature_types", modality.var.get("feature_type"))
        if modality.X is not None and types is not None and types.nunique() > 1:
            items += by_type(modality.X[:], modality.var_names, types, modality.obs_names)
        elif modality.X is not None:
            items.append(_view(modality.X, key or "X", modality, modality.var_names))
        items += [
            _view(x, f"{prefix}obsm.{name}", modality, getattr(x, "columns", None))
            for name, x in modality.obsm.items()
        ]
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

    try:
        (matrix,), (features,), (barcodes,) = (
            sorted(folder.glob(f"{name}.*"))[:1] for name in ("matrix", "features", "barcodes")
        )
        counts = scipy.sparse.csr_matrix(scipy.io.mmread(matrix)).T.tocsr()
        about = pd.read_csv(features, sep="\t", header=None, dtype=str)
        names = pd.read_csv(barcodes, sep="\t", header=None, dtype=str)[0]
        if counts.shape != (len(names), len(about)):
            raise ValueError(f"{counts.shape[::-1]} counts for {len(about)} x {len(names)} names")
        return by_type(counts, about[1], about[2], names)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(
            f"{folder} cannot be read as a folder of Cell Ranger ({error}): write it by "
            "scanpy.read_10x_mtx(folder).write_h5ad(file)"
        ) from error
