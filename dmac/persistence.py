"""Fitted estimators on disk: safetensors for arrays, JSON for the rest, no pickle.

Chapter 12 of the book saves one with :meth:`dmac.DMAC.save` and reads it with
:meth:`dmac.DMAC.load`.
"""

import dataclasses
import json
import os
import uuid
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from dmac.data.pipeline import ViewPipeline
from dmac.embedding import PretrainRecord
from dmac.network import Network, resolve_device, resolve_dtype
from dmac.recipes import Recipe
from dmac.training import EpochRecord

TENSORS, MODEL = "tensors.safetensors", "model.json"
FORMAT = 3
_ARRAYS = ("labels_", "embedding_", "anchors_", "cluster_centers_")


def save(estimator, path):
    """Write a fitted estimator into a folder; see :meth:`dmac.DMAC.save`.

    Parameters
    ----------
    estimator : dmac.DMAC
        Fitted.
    path : str or path
        Made if it is missing. A save that is interrupted leaves an earlier one whole, or is refused
        when it is read.

    Raises
    ------
    ValueError
        If ``path`` is a file.
    """
    path = Path(path).expanduser()
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} is a file; save needs a folder")
    path.mkdir(parents=True, exist_ok=True)
    # The same mark in both files tells a complete save from one that was interrupted between them.
    mark = uuid.uuid4().hex
    tensors = {f"network.{k}": v.contiguous() for k, v in estimator.network_.state_dict().items()}
    tensors |= {
        name: torch.from_numpy(np.ascontiguousarray(getattr(estimator, name))) for name in _ARRAYS
    }
    pipelines = []
    for a, pipeline in enumerate(estimator.pipelines_):
        numbers, arrays = pipeline.state()
        pipelines.append(numbers)
        tensors |= {
            f"view.{a}.{k}": torch.from_numpy(np.ascontiguousarray(v)) for k, v in arrays.items()
        }
    params = estimator.get_params()
    # What was fitted, which set_params may have left behind.
    params["recipe"] = dataclasses.asdict(estimator.recipe_)
    params["n_clusters"] = len(estimator.cluster_centers_)
    params["dtype"] = str(next(estimator.network_.parameters()).dtype).removeprefix("torch.")
    if not isinstance(params["random_state"], (int, np.integer)):
        params["random_state"] = None  # a RandomState has moved on; it could not be repeated
    params = {k: int(v) if isinstance(v, np.integer) else v for k, v in params.items()}
    model = {
        "format": FORMAT,
        "mark": mark,
        "params": params,
        "n_anchors": estimator.n_anchors_,
        "n_features": estimator.n_features_,
        "views": pipelines,
        "pretrain_history": [dataclasses.asdict(r) for r in estimator.pretrain_history_],
        "history": [dataclasses.asdict(r) for r in estimator.history_],
    }
    _replace(path / TENSORS, lambda temporary: save_file(tensors, temporary, {"mark": mark}))
    text = json.dumps(model, indent=1, allow_nan=False)
    _replace(path / MODEL, lambda temporary: Path(temporary).write_text(text))


def _replace(target, write):
    """Write beside the target and move into place, so that a crash leaves the old file whole."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        write(temporary)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def load(cls, path, device=None):
    """Read a folder that :func:`save` wrote; see :meth:`dmac.DMAC.load`.

    Parameters
    ----------
    cls : type
        `dmac.DMAC`, or a class derived from it.
    path : str or path
    device : str, optional
        Overrides the device that was saved.

    Returns
    -------
    dmac.DMAC

    Raises
    ------
    FileNotFoundError
        If one of the two files is missing.
    ValueError
        If one is damaged, of another version, or of another save than its neighbour.
    """
    path = Path(path).expanduser()
    for name in (MODEL, TENSORS):
        if not (path / name).is_file():
            raise FileNotFoundError(f"{path / name} is missing: not a saved DMAC model")
    try:
        model = json.loads((path / MODEL).read_text())
        found = model["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path / MODEL} is damaged: {error!r}") from error
    if found != FORMAT:
        raise ValueError(f"{path / MODEL} has format {found}, this version reads {FORMAT}")
    try:
        with safe_open(path / TENSORS, framework="pt") as file:
            mark = (file.metadata() or {}).get("mark")
            tensors = {key: file.get_tensor(key) for key in file.keys()}
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path / TENSORS} is damaged: {error}") from error
    if mark != model["mark"]:
        raise ValueError(f"{path}: {MODEL} and {TENSORS} are of two different saves; save again")
    try:
        return _restore(cls, model, tensors, device)
    except (KeyError, TypeError, RuntimeError) as error:
        raise ValueError(f"{path / MODEL} is damaged: {error!r}") from error


def _restore(cls, model, tensors, device):
    params = dict(model["params"], recipe=Recipe(**model["params"]["recipe"]))
    if device is not None:
        params["device"] = device
    estimator = cls(**params)
    estimator.recipe_ = params["recipe"]
    estimator.n_anchors_ = model["n_anchors"]
    estimator.n_features_ = tuple(model["n_features"])
    estimator.pipelines_ = []
    for a, numbers in enumerate(model["views"]):
        names = [key for key in tensors if key.startswith(f"view.{a}.")]
        arrays = {key.removeprefix(f"view.{a}."): tensors.pop(key).numpy() for key in names}
        estimator.pipelines_.append(ViewPipeline.restore(numbers, arrays))
    estimator.pretrain_history_ = [PretrainRecord(**r) for r in model["pretrain_history"]]
    estimator.history_ = [EpochRecord(**r) for r in model["history"]]
    for name in _ARRAYS:
        setattr(estimator, name, tensors.pop(name).numpy())
    device, dtype = resolve_device(estimator.device), resolve_dtype(estimator.dtype)
    widths = [pipeline.n_features_out_ for pipeline in estimator.pipelines_]
    network = Network(
        widths, estimator.n_clusters, estimator.recipe_, generator=torch.Generator()
    ).to_device(device, dtype)  # the type first: loading would round to the network's own
    network.load_state_dict({k.removeprefix("network."): v for k, v in tensors.items()})
    estimator.network_ = network
    return estimator
