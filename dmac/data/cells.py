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
        items += [
            _view(x, f"{prefix}layers.{name}", modality, modality.var_names)
            for name, x in modality.layers.items()
        ]
        if modality.raw is not None:
            raw = modality.raw
            items.append(_view(raw.X, f"{prefix}raw", modality, raw.var_names))
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
