"""From checked views to what a solver takes: shuffled, through their pipelines, on the device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from dmac._types import Array, Flags, Matrix
from dmac.compute.layers import view_tensor
from dmac.compute.progress_bar import announce
from dmac.compute.streaming import PreparedView, StreamedView
from dmac.compute.threads import map_parts, row_slices
from dmac.data.checks import ArrayView, DaskView, View, block_rows
from dmac.data.levels import LevelPipeline, Moments, moments
from dmac.data.linalg import GRAM
from dmac.solvers.contract import Prepared

# Samples of a block whose moments are added up.
_ROWS = 2**13


def shuffled(n_samples: int, generator: torch.Generator) -> Array:
    """A random order of the samples, so that nothing can be learned from that of a file: (n,)."""
    return torch.randperm(n_samples, generator=generator).numpy()


def prepare(
    views: Sequence[View],
    pipelines: list[Any],
    order: Array,
    device: torch.device,
    dtype: torch.dtype,
    *,
    release: bool = False,
) -> Prepared:
    """Fit the views' pipelines; what they give goes to the device, in the fit's order.

    Parameters
    ----------
    views : list of v checked views
    pipelines : list of v pipelines
        Fitted here.
    order : numpy.ndarray of shape (n,) or less
        A permutation of the samples, or the first of one: these alone are prepared then, and the
        moments of narrow views are those of all samples.
    device : torch.device
    dtype : torch.dtype
    release : bool
        Whether the rows of each view leave the list as soon as they are prepared.

    Returns
    -------
    Prepared
    """
    whole = all(x.in_memory for x in views) or any(one.n_components for one in pipelines)
    take = _whole if whole else _in_blocks
    prepared, present = [], np.ones((len(order), len(pipelines)), bool)
    for a, pipeline in enumerate(pipelines):
        announce(f"view {a + 1}")
        of_kind = _levels if isinstance(pipeline, LevelPipeline) else take
        rows, present[:, a] = of_kind(pipeline, views[a], order, device, dtype)
        prepared.append(rows)
        if release and isinstance(views, list):
            views[a] = ArrayView.of(views[a], values=np.empty((0, views[a].shape[1])))
    return Prepared(views, pipelines, prepared, present, order, device, dtype)


def _whole(
    pipeline: Any, x: View, order: Array, device: torch.device, dtype: torch.dtype
) -> tuple[PreparedView, Flags | bool]:
    """Fit a view's pipeline and move the samples, in the fit's order, to the device."""
    if x.in_memory:
        rows = pipeline.fit_transform(x.read(order), x.where)
    else:  # whitened in a few passes over the disk
        rows = pipeline.fit_blocks(x, x.shape, x.where)[order]
    return view_tensor(rows, dtype, device), True


def _levels(
    pipeline: LevelPipeline, x: View, order: Array, device: torch.device, dtype: torch.dtype
) -> tuple[PreparedView, Flags | bool]:
    """`_whole` for a spectral recipe, and which samples have the view.

    Directions are those of all samples, if they can be.
    """
    part, (n, d) = x.part(order), x.shape
    more: dict[str, Any] = {}
    if len(order) < n and d <= min(n, GRAM):
        more["moments_of"] = lambda unit: _moments_of(x, unit)
    elif len(order) < n and d > GRAM and isinstance(x, ArrayView) and x.sparse:
        more["every"] = x.there
    return view_tensor(pipeline.fit_part(part, **more), dtype, device), part.present


def _moments_of(x: View, transform: Callable[[Matrix], Matrix]) -> Moments:
    """Of all samples."""
    if isinstance(x, DaskView):
        return tuple(x.summed(lambda rows: moments([transform(rows)])))
    n, d = x.shape
    slices = row_slices(n, min(_ROWS, block_rows(d)))
    parts = map_parts(slices, lambda some: moments(transform(x.part(s).there) for s in some))
    return tuple(sum(values) for values in zip(*parts))


def _in_blocks(
    pipeline: Any, x: View, order: Array, device: torch.device, dtype: torch.dtype
) -> tuple[PreparedView, Flags | bool]:
    """A view in blocks in the order of the disk, as all are as soon as one is there."""
    if x.in_memory:
        rows = pipeline.fit_transform(x.values, x.where)
        return StreamedView(rows.__getitem__, rows.shape, order, dtype, device), True
    pipeline.fit_blocks(x, x.shape, x.where)
    shape = (x.shape[0], pipeline.n_features_out_)
    of_block = StreamedView(
        lambda rows: pipeline.transform(x.read(rows)), shape, order, dtype, device
    )
    return of_block, True
