"""Fitted estimators on disk: one file of tensors and JSON in a folder, no pickle.

"Your own data" in the book saves one with :meth:`dmac.AnchorGraphClustering.save` and reads it with
:func:`dmac.load_model`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from dmac._types import PathLike
from dmac._version import VERSION
from dmac.compute.device import resolve_device, resolve_dtype
from dmac.compute.files import leaves, read_tensors, tensors_of, tree_of, write_tensors
from dmac.data.safe_files import check_readable
from dmac.embedding import PretrainRecord
from dmac.recipes import BaseRecipe, NetworkRecipe
from dmac.solvers.contract import Outcome, solver_of
from dmac.training import EpochRecord

NAME = "model.safetensors"
#: Counts what files hold; a file without a field that was added since gets its default.
FORMAT = 6


def save(estimator: Any, path: PathLike) -> None:
    """Write a fitted estimator into a folder; see :meth:`dmac.DMAC.save`.

    Parameters
    ----------
    estimator : dmac.AnchorGraphClustering or dmac.DMAC
        Fitted.
    path : str or path
        Made if it is missing. A save that is interrupted leaves an earlier one whole.

    Raises
    ------
    ValueError
        If ``path`` is a file.
    """
    path = Path(path).expanduser()
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} is a file; save needs a folder")
    tree = {
        "network": estimator.model_.state_dict(),
        "view": [pipeline.state() for pipeline in estimator.pipelines_],
        "membership": getattr(estimator, "membership_", None),
        "labels_": estimator.labels_,
        "embedding_": estimator.embedding_,
        "anchors_": estimator.anchors_,
        "cluster_centers_": estimator.cluster_centers_,
    }
    # What was fitted, which set_params may have left behind.
    params = estimator.get_params() | {
        "recipe": dataclasses.asdict(estimator.recipe_),
        "kind": type(estimator.recipe_).__name__,
        "n_clusters": len(estimator.cluster_centers_),
        "dtype": str(estimator.model_.dtype).removeprefix("torch."),
        "device": str(estimator.device),  # it may be a torch.device
    }
    if not isinstance(params["random_state"], (int, np.integer)):
        params["random_state"] = None  # a RandomState has moved on; it could not be repeated
    params = {k: v.item() if isinstance(v, np.generic) else v for k, v in params.items()}
    model = {
        "format": FORMAT,
        "version": VERSION,
        "params": params,
        "n_anchors": estimator.n_anchors_,
        "n_features": estimator.n_features_,
        "feature_names": estimator.column_names_.tolist(),
        "view_names": estimator.view_names_,
        "record": estimator.record_,
        "pretrain_history": [
            dataclasses.asdict(r) for r in getattr(estimator, "pretrain_history_", ())
        ],
        "history": [dataclasses.asdict(r) for r in getattr(estimator, "history_", ())],
    }
    write_tensors(path / NAME, dict(leaves(tree)), model)


def load(
    path: PathLike, device: str | None, estimator_of: Callable[[BaseRecipe], Any]
) -> tuple[Any, dict[str, Any]]:
    """Read a folder that :func:`save` wrote; see :func:`dmac.load_model`.

    Parameters
    ----------
    path : str or path
    device : str or None
        Overrides the device that was saved.
    estimator_of : callable
        From a recipe to the class of the estimator.

    Returns
    -------
    estimator, dict
        The estimator with its parameters, not fitted, and what its fit left, by the names of
        parameters of its method ``_keep``.

    Raises
    ------
    FileNotFoundError
        If the folder holds no saved model.
    PermissionError
        If it may not be read.
    ValueError
        If it is damaged or of another version.
    """
    path = Path(path).expanduser() / NAME
    check_readable(path)
    if not path.is_file():
        hint = f" (pass the folder, without {NAME})" if path.parent.is_file() else ""
        raise FileNotFoundError(f"{path} is missing: not a saved model{hint}")
    tensors, model = read_tensors(path)
    _check_format(path, model)
    try:
        params = dict(model["params"])
        params["recipe"] = _recipe(params)
        if device is not None:
            params["device"] = device
        estimator = estimator_of(params["recipe"])(**params)
        return estimator, _restore(estimator, model, tensors)
    except (AttributeError, KeyError, TypeError, RuntimeError) as error:
        other = model.get("version", VERSION)
        hint = f" or of dmac {other}, and this is {VERSION}" if other != VERSION else ""
        raise ValueError(f"{path} is damaged{hint}: {error!r}") from error


def _check_format(path: Path, model: dict[str, Any]) -> None:
    """Refuse a model that this version cannot read, and say what to do."""
    stored = model.get("format")
    if stored in (5, FORMAT):  # 5 is that of dmac 0.1.0 and 0.2.0
        return
    if "phase" in model and stored is None:
        raise ValueError(f"{path} is the checkpoint of a fit, not a model: pass it to fit")
    by = f" by dmac {model['version']}" if "version" in model else ""
    if isinstance(stored, int) and stored > FORMAT:
        advice = f"install that version, or a newer one than {VERSION}"
    else:
        advice = "fit it again with this version, or load it with the version that saved it"
    raise ValueError(
        f"{path} was saved{by} in format {stored}, this version reads {FORMAT}: {advice}"
    )


def _recipe(params: dict[str, Any]) -> BaseRecipe:
    """The recipe of a stored model, of a kind that some imported module defines."""
    fields, kind = params.pop("recipe"), params.pop("kind")
    fields.pop("length_guard", None)  # of 0.2.0; what it decided is in the pipelines
    kinds: dict[str, Any] = {"Recipe": NetworkRecipe}  # its name until 0.2
    every = [BaseRecipe]
    for subclass in every:  # which grows
        kinds[subclass.__name__] = subclass
        every += subclass.__subclasses__()
    if kind not in kinds:
        raise ValueError(f"the model's recipe is a {kind}: import the module that defines it first")
    return kinds[kind](**fields)


def _restore(estimator: Any, model: dict[str, Any], tensors: dict[str, Tensor]) -> dict[str, Any]:
    n_features = tuple(model["n_features"])
    solver = solver_of(estimator.recipe)
    labels = tensors["labels_"].numpy()
    plan = solver.plan(len(labels), n_features, estimator.n_clusters)
    states = tree_of(tensors_of(tensors, "view"))
    for a, pipeline in enumerate(plan.pipelines):
        state = states.get(str(a), {})
        pipeline.restore(state if "views" not in model else _of_format_5(model["views"][a], state))
    membership = tensors.get("membership")
    if membership is not None and len(membership) != len(labels):
        membership = None  # of an earlier fit, which 0.1.0 could save with a later one
    outcome = Outcome(
        labels=labels,
        z=tensors["embedding_"].numpy(),
        anchors=tensors["anchors_"].numpy(),
        centers=tensors["cluster_centers_"].numpy(),
        model=solver.restore(
            tensors_of(tensors, "network"),
            plan.pipelines,
            estimator.n_clusters,
            resolve_device(estimator.device),
            resolve_dtype(estimator.dtype),
        ),
        pretrain_history=[PretrainRecord(**record) for record in model["pretrain_history"]],
        history=[EpochRecord(**record) for record in model["history"]],
        membership=None if membership is None else membership.numpy(),
    )
    return {
        "plan": dataclasses.replace(plan, recipe=estimator.recipe, n_anchors=model["n_anchors"]),
        "outcome": outcome,
        "n_features": n_features,
        "column_names": np.array(model.get("feature_names") or [None] * sum(n_features), object),
        "view_names": model.get("view_names", []),
        "record": model.get("record"),
    }


def _of_format_5(numbers: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """The tree of a pipeline whose numbers were stored as JSON, and its arrays apart."""
    lifted = {name: np.array(x) for name, x in numbers.get("lifted", {}).items()}
    tree = {
        "root_": numbers["rooted"],
        "negligible_": numbers["negligible"],
        "widths_": numbers["widths"],
        "rows_": lifted or {"floor_": numbers["floor"]},
        "lengths_": {name: {"floor_": floor} for name, floor in numbers["lengths"].items()},
        "heads_": {name: arrays.get(name, {}) for name in ("whitened", "plain")},
    }
    if "columns" in arrays:
        tree["scaler_"] = arrays["columns"] | {"with_mean": numbers["centred"]}
    if "spread" in numbers:  # 0.1.0 and 0.2.0 do not say what levels weigh
        of_levels = {"whitened": 1.0, "plain": numbers["spread"]}
        tree |= {"spread_": numbers["spread"], "weights_": numbers.get("weights", of_levels)}
    if "scaled" in numbers:
        tree["scaled_"] = arrays["scaled"] | numbers["scaled"]
    return tree
