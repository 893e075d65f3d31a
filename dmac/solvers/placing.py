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
        z, memberships = model.embed_new(tensors, present[rows])
        keep(rows, z.cpu().numpy(), memberships, present[rows])

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
    """The results of a function on each block of `place`, concatenated, and the presence (n, v)."""
    blocks: dict[int, Array] = {}

    def keep(rows: slice, *found: Any) -> None:
        with usual_settings(), torch.no_grad():
            blocks[rows.start] = of_block(*found)

    present = place(views, pipelines, model, keep)
    return np.concatenate([block for _, block in sorted(blocks.items())]), present


def placed_rows(*blocks: Array, fitted: Sequence[Any], block_id: tuple[int, ...]) -> Array:
    """A block of `lazily`, by a name that Dask shows.

    ``fitted`` has the views without rows, the first row of each block, and what else places.
    """
    views, starts, *about = fitted
    start = starts[block_id[0]]
    with as_a_piece():
        return placed([x.block(block, start) for x, block in zip(views, blocks)], *about)[0]


def lazily(
    views: Sequence[Any],
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
    state = dict(model.state_dict())
    about = n_clusters, torch.device("cpu"), model.dtype
    model = solver_of(recipe).restore(state, pipelines, *about)
    without_rows = [x.without_rows() for x in views]
    fitted = without_rows, views[0].starts, pipelines, model, of_block
    rows = (np.zeros((1, x.shape[1])) for x in views)
    like = placed_rows(*rows, fitted=fitted, block_id=(0,))
    return dask.array.map_blocks(
        placed_rows,
        *(x.values for x in views),
        fitted=delayed(fitted, traverse=False),
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
        back = prepared.back
        memberships = None if outcome.membership is None else outcome.membership[back]
        return dataclasses.replace(
            outcome, z=outcome.z[back], labels=outcome.labels[back], membership=memberships
        )
    announce("the rest")
    views = prepared.sources
    n = views[0].shape[0]
    if isinstance(views[0], DaskView):
        return _labels_of(outcome, prepared, recipe)
    z = np.empty((n, outcome.z.shape[1]), outcome.z.dtype)
    labels = np.empty(n, np.int64)
    of_all = np.empty((n, len(outcome.centers)), z.dtype)
    nearest = NearestCenter(outcome.centers, outcome.labels, recipe)

    def keep(rows: slice, embedded: Array, memberships: Array | None, _: Flags) -> None:
        labels[rows] = nearest(embedded)
        z[rows] = embedded
        of_all[rows] = memberships

    present = place(views, prepared.pipelines, outcome.model, keep)
    say_which_are_zero(np.asarray(~present.any(1)))
    model = dataclasses.replace(outcome.model, missing=(~present).sum(0))
    return dataclasses.replace(outcome, z=z, labels=labels, membership=of_all, model=model)


def _labels_of(outcome: Outcome, prepared: Prepared, recipe: BaseRecipe) -> Outcome:
    """The outcome with labels of all samples of Dask arrays, and Z and memberships of the part."""
    from dask.base import compute

    c = len(outcome.centers)
    nearest = NearestCenter(outcome.centers, outcome.labels, recipe)
    both = lazily(
        prepared.sources,
        prepared.pipelines,
        outcome.model,
        recipe,
        c,
        lambda z, _, present: np.column_stack([nearest(z), present]),
    )
    narrow = both[:, 0].astype(np.min_scalar_type(c))
    present = both[:, 1:]
    with warnings.catch_warnings():  # of a model of many clusters, which is there once
        warnings.filterwarnings("ignore", message="Sending large graph")
        labels, zero, missing = compute(narrow, ~present.any(1), (present == 0).sum(0))
    say_which_are_zero(zero)
    model = dataclasses.replace(outcome.model, missing=missing)
    return dataclasses.replace(
        outcome, labels=labels.astype(np.int64), membership=None, model=model
    )
