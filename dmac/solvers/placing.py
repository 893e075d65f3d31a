"""Samples placed by a fitted model: new ones, those of the fit, and the rest of many, all alike.

Chapter 17 of the book says when a fit takes a part of the samples and places the others.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from dmac._types import Array, Flags, Integers, Matrix
from dmac.compute.distances import squared_distances
from dmac.compute.kmeans import representative_centers
from dmac.compute.layers import view_tensor
from dmac.compute.progress_bar import announce
from dmac.compute.streaming import take
from dmac.compute.threads import row_slices, side_by_side
from dmac.data.checks import filled, say_which_are_zero
from dmac.data.disk import block_rows
from dmac.recipes import BaseRecipe
from dmac.solvers.contract import Model, Outcome, Prepared, final_rows

# Samples of a block, whose activations stay near the processor; a GPU has to be filled.
_ROWS = {"cpu": 2**13, "cuda": 2**16}


def place(
    views: Sequence[Matrix],
    pipelines: Sequence[Any],
    model: Model,
    keep: Callable[[slice, Array, Array | None], object],
) -> Flags:
    """Embed samples block by block, on a processor as many blocks at a time as it has threads.

    Parameters
    ----------
    views : list of v checked views of shape (n, d_a)
    pipelines : list of v fitted pipelines
    model : dmac.solvers.contract.Model
    keep : callable
        Called with the rows of each block, their Z (b, d) and their memberships (b, c) or None, in
        any order.

    Returns
    -------
    numpy.ndarray of shape (n, v), bool
        Which views each has: where its row is not zero.
    """
    n, kind = views[0].shape[0], model.device.type
    present = np.empty((n, len(views)), bool)

    def of_block(rows: slice) -> None:
        tensors: list[Any] = []
        for a, (pipeline, x) in enumerate(zip(pipelines, views)):
            block = take(x, rows)
            present[rows, a] = filled(block)
            tensors.append(view_tensor(pipeline.transform(block), model.dtype, model.device))
        z, shares = model.embed_new(tensors)
        keep(rows, z.cpu().numpy(), shares)

    size = min(_ROWS[kind], block_rows(max(x.shape[1] for x in views)))
    jobs = [functools.partial(of_block, rows) for rows in row_slices(n, size)]
    with torch.no_grad():
        if kind == "cpu":
            side_by_side(jobs)
        else:
            for job in jobs:
                job()
    return present


class NearestCentre:
    """From Z to labels: the nearest centre of the final k-means, :eq:`eq:nearest-centre`.

    Where centres coincide, the one of them that most of ``labels`` name.
    """

    def __init__(self, centers: Array, labels: Integers, recipe: BaseRecipe) -> None:
        self._centers, self._recipe = torch.as_tensor(centers, dtype=torch.float64), recipe
        self._names = representative_centers(centers, labels)

    def __call__(self, z: Array) -> Integers:
        """(b, d) -> (b,)."""
        rows = torch.as_tensor(final_rows(z, self._recipe))
        return self._names[squared_distances(rows, self._centers).argmin(1).numpy()]


def number_by_size(model: Any) -> None:
    """Number the clusters of a fitted estimator by their sizes, the largest first."""
    sizes = np.bincount(model.labels_, minlength=len(model.cluster_centers_))
    order = np.argsort(-sizes, kind="stable")
    model.labels_ = np.argsort(order)[model.labels_]
    model.cluster_centers_ = model.cluster_centers_[order]
    if hasattr(model, "membership_"):
        model.membership_ = model.membership_[:, order]
        model.model_.ends = model.model_.ends[:, order]


def in_order(
    outcome: Outcome, prepared: Prepared, recipe: BaseRecipe, into: Array | None = None
) -> Outcome:
    """The outcome with Z, labels and memberships of all samples, in the order in which they came.

    Where a part was fitted, all are placed. Labels that are written ``into`` an array (n,), as on a
    disk, need no memory: nothing is kept of Z but the part's.
    """
    if not prepared.is_part:
        back, shares = prepared.back, outcome.membership
        shares = None if shares is None else shares[back]
        return dataclasses.replace(
            outcome, z=outcome.z[back], labels=outcome.labels[back], membership=shares
        )
    announce("the rest")
    views, model, n = prepared.sources, outcome.model, prepared.sources[0].shape[0]
    z = np.empty((n if into is None else 0, outcome.z.shape[1]), outcome.z.dtype)
    labels = np.empty(n, np.int64) if into is None else into
    of_all = np.empty((len(z), len(outcome.centers)), z.dtype)
    nearest = NearestCentre(outcome.centers, outcome.labels, recipe)

    def keep(rows: slice, embedded: Array, shares: Array | None) -> None:
        labels[rows] = nearest(embedded)
        if into is None:
            z[rows], of_all[rows] = embedded, shares

    present = place(views, prepared.pipelines, model, keep)
    say_which_are_zero(np.asarray(~present.any(1)))
    model.missing = (~present).sum(0)
    if into is not None:
        return dataclasses.replace(outcome, labels=labels, membership=None)
    return dataclasses.replace(outcome, z=z, labels=labels, membership=of_all)
