"""Samples placed by a fitted model: new ones, those of the fit, and the rest of many, all alike.

"The costs of a fit" in the book says when a fit takes a part of the samples and places the others.
"""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch

from dmac._types import Array, Flags, Integers
from dmac.compute.device import usual_settings
from dmac.compute.distances import squared_distances
from dmac.compute.kmeans import representative_centers
from dmac.compute.layers import view_tensor
from dmac.compute.progress_bar import announce
from dmac.compute.threads import as_a_piece, row_slices, run_in_threads
from dmac.data.checks import DaskView, View, block_rows, say_which_are_zero
from dmac.recipes import BaseRecipe
from dmac.solvers.contract import Model, Outcome, Prepared, final_rows, solver_of

# Samples of a block, whose activations stay near the processor; a GPU has to be filled.
_ROWS = {"cpu": 2**13, "cuda": 2**16}
# From a block's Z (b, d), its memberships (b, c) or None, and which views its samples have (b, v)
# to what is kept of it, (b, ...).
OfBlock: TypeAlias = Callable[[Array, Array | None, Flags], Array]


def place(
    views: Sequence[View],
    pipelines: Sequence[Any],
    model: Model,
    keep: Callable[[slice, Array, Array | None, Flags], object],
) -> Flags:
    """Embed samples block by block, on a processor as many blocks at a time as it has threads.

    Parameters
    ----------
    views : list of v checked views of shape (n, d_a)
    pipelines : list of v fitted pipelines
    model : dmac.solvers.contract.Model
    keep : callable
        Called with the rows of each block, their Z (b, d), their memberships (b, c) or None, and
        which views they have (b, v), in any order.

    Returns
    -------
    numpy.ndarray of shape (n, v), bool
        Which views each has.
    """
    n, kind = views[0].shape[0], model.device.type
    present = np.empty((n, len(views)), bool)

    def of_block(rows: slice) -> None:
        tensors: list[Any] = []
        for a, (pipeline, x) in enumerate(zip(pipelines, views)):
            part = x.part(rows)
            present[rows, a] = part.present
            tensors.append(view_tensor(pipeline.of_part(part), model.dtype, model.device))
        z, shares = model.embed_new(tensors, present[rows])
        keep(rows, z.cpu().numpy(), shares, present[rows])

    size = min(_ROWS[kind], block_rows(max(x.shape[1] for x in views)))
    jobs = [functools.partial(of_block, rows) for rows in row_slices(n, size)]
    with torch.no_grad():
        if kind == "cpu":
            run_in_threads(jobs)
        else:
            for job in jobs:
                job()
    return present


def placed(
    views: Sequence[View], pipelines: Sequence[Any], model: Model, of_block: OfBlock
) -> tuple[Array, Flags]:
    """What a function returns of each block of `place`, put together, and which views are there."""
    blocks: dict[int, Array] = {}

    def keep(rows: slice, *found: Any) -> None:
        with usual_settings(), torch.no_grad():
            blocks[rows.start] = of_block(*found)

    present = place(views, pipelines, model, keep)
    return np.concatenate([block for _, block in sorted(blocks.items())]), present


class _Task:
    """What every task of `lazily` holds beside its block: the fitted model, on the processor."""

    def __init__(
        self,
        views: Sequence[Any],
        pipelines: Sequence[Any],
        model: Model,
        of_block: OfBlock,
    ) -> None:
        self.views, self.starts = [x.without_rows() for x in views], views[0].starts
        self.pipelines, self.model = pipelines, model
        self.of_block = of_block

    def __call__(self, number: int, *blocks: Array) -> Array:
        start = self.starts[number]
        with as_a_piece():
            views = [x.block(block, start) for x, block in zip(self.views, blocks)]
            return placed(views, self.pipelines, self.model, self.of_block)[0]


def placed_rows(*blocks: Array, task: _Task, block_id: tuple[int, ...]) -> Array:
    """A block of `lazily`, by a name that Dask shows."""
    return task(block_id[0], *blocks)


def lazily(
    views: Sequence[View],
    pipelines: list[Any],
    model: Model,
    recipe: BaseRecipe,
    n_clusters: int,
    of_block: OfBlock,
) -> Any:
    """`placed` as a Dask array, a block a task; the model is in its graph once."""
    import dask.array
    from dask.delayed import delayed

    # From its state: a task may run where there is no such device.
    cpu, state = torch.device("cpu"), dict(model.state_dict())
    model = solver_of(recipe).restore(state, pipelines, n_clusters, cpu, model.dtype)
    task = _Task(views, pipelines, model, of_block)
    like = task(0, *(np.zeros((1, x.shape[1])) for x in views))
    return dask.array.map_blocks(
        placed_rows,
        *(x.values for x in views),
        task=delayed(task, traverse=False),
        dtype=like.dtype,
        chunks=(views[0].values.chunks[0], *((size,) for size in like.shape[1:])),
        drop_axis=None if like.ndim == 2 else 1,
        meta=like[:0],
    )


class NearestCenter:
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


def in_order(outcome: Outcome, prepared: Prepared, recipe: BaseRecipe) -> Outcome:
    """The outcome with Z, labels and memberships of all samples, in the order in which they came.

    Where a part was fitted, all are placed.
    """
    if not prepared.is_part:
        back, shares = prepared.back, outcome.membership
        shares = None if shares is None else shares[back]
        return dataclasses.replace(
            outcome, z=outcome.z[back], labels=outcome.labels[back], membership=shares
        )
    announce("the rest")
    views, model, n = prepared.sources, outcome.model, prepared.sources[0].shape[0]
    if isinstance(views[0], DaskView):
        return _labels_of(outcome, prepared, recipe)
    z = np.empty((n, outcome.z.shape[1]), outcome.z.dtype)
    labels = np.empty(n, np.int64)
    of_all = np.empty((n, len(outcome.centers)), z.dtype)
    nearest = NearestCenter(outcome.centers, outcome.labels, recipe)

    def keep(rows: slice, embedded: Array, shares: Array | None, _: Flags) -> None:
        labels[rows] = nearest(embedded)
        z[rows], of_all[rows] = embedded, shares

    present = place(views, prepared.pipelines, model, keep)
    say_which_are_zero(np.asarray(~present.any(1)))
    model = dataclasses.replace(model, missing=(~present).sum(0))
    return dataclasses.replace(outcome, z=z, labels=labels, membership=of_all, model=model)


def _labels_of(outcome: Outcome, prepared: Prepared, recipe: BaseRecipe) -> Outcome:
    """The outcome with labels of all samples of Dask arrays, and Z and memberships of the part."""
    from dask.base import compute

    views, model, c = prepared.sources, outcome.model, len(outcome.centers)
    nearest = NearestCenter(outcome.centers, outcome.labels, recipe)
    about = views, prepared.pipelines, model, recipe, c
    both = lazily(*about, lambda z, _, present: np.column_stack([nearest(z), present]))
    narrow, present = both[:, 0].astype(np.min_scalar_type(c)), both[:, 1:]
    with warnings.catch_warnings():  # of a model of many clusters, which is there once
        warnings.filterwarnings("ignore", message="Sending large graph")
        labels, zero, missing = compute(narrow, ~present.any(1), (present == 0).sum(0))
    say_which_are_zero(zero)
    model, labels = dataclasses.replace(model, missing=missing), labels.astype(np.int64)
    return dataclasses.replace(outcome, labels=labels, membership=None, model=model)
