"""From checked views to what a solver takes: shuffled, through their pipelines, on the device."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import torch

from dmac.compute import parallel
from dmac.compute.layers import view_tensor
from dmac.compute.progress_bar import announce
from dmac.compute.streaming import StreamedView
from dmac.compute.threads import side_by_side
from dmac.data.disk import StreamedArray
from dmac.data.levels import LevelPipeline
from dmac.data.pipeline import ViewPipeline
from dmac.solvers.contract import Prepared

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dmac._types import Array, Matrix
    from dmac.compute.streaming import PreparedView

# Up to so many columns a view of many samples is prepared in blocks, which are read more than once.
_NARROW = 1000


def shuffled(n_samples: int, generator: torch.Generator) -> Array:
    """A random order of the samples, so that nothing can be learned from that of a file: (n,)."""
    return torch.randperm(n_samples, generator=generator).numpy()


def prepare(
    views: Sequence[Matrix],
    pipelines: list[Any],
    order: Array,
    device: torch.device,
    dtype: torch.dtype,
    *,
    release: bool = False,
) -> Prepared:
    """Fit the views' pipelines; what they give goes to the device, in the fit's order.

    Within :func:`dmac.compute.parallel.sharded` every process keeps its part of the samples.

    Parameters
    ----------
    views : list of v checked views
    pipelines : list of v pipelines
        Fitted here.
    order : numpy.ndarray of shape (n,)
        A permutation of the samples.
    device : torch.device
    dtype : torch.dtype
    release : bool
        Whether each view leaves the list as soon as it is prepared.

    Returns
    -------
    Prepared
    """
    streams = any(isinstance(x, StreamedArray) for x in views)
    whole = parallel.shards() is not None or any(
        not isinstance(pipeline, ViewPipeline) or pipeline.n_components for pipeline in pipelines
    )
    take = _in_blocks if streams and not whole else _whole

    def take_view(a: int) -> PreparedView:
        announce(f"view {a + 1}")
        found = take(pipelines[a], views[a], order, device, dtype)
        if release and isinstance(views, list):
            views[a] = None
        return found

    jobs = [functools.partial(take_view, a) for a in range(len(pipelines))]
    # Views of many samples are prepared in blocks, so that two take little more memory than one.
    narrow = all(_is_narrow(x, p) for x, p in zip(views, pipelines)) and not parallel.shards()
    prepared = side_by_side(jobs) if narrow else [job() for job in jobs]
    return Prepared(views, pipelines, prepared, order, device, dtype)


def _is_narrow(x: Matrix, pipeline: Any) -> bool:
    """Whether a view in memory has many samples and so few columns that it is read in blocks."""
    narrow = isinstance(x, np.ndarray) and x.shape[1] <= _NARROW
    return isinstance(pipeline, LevelPipeline) and narrow and parallel.many(len(x))


def _whole(
    pipeline: Any, x: Matrix, order: Array, device: torch.device, dtype: torch.dtype
) -> PreparedView:
    """Fit a view's pipeline and move this process's samples, in the fit's order, to the device.

    The pipeline is fitted on all samples in every process: from disk that is a few passes.
    """
    rows = parallel.my_rows(x.shape[0])
    if _is_narrow(x, pipeline):
        x = StreamedArray(x)  # in blocks: copies of all of it would be larger than what comes out
    if not isinstance(x, StreamedArray):
        return view_tensor(pipeline.fit_transform(x[order])[rows], dtype, device)
    if isinstance(pipeline, LevelPipeline):
        whitened = pipeline.fit_streamed(x, torch.empty(0, dtype=dtype).numpy().dtype)
    else:
        whitened = pipeline.fit_streamed(x)
    if whitened is not None:
        return view_tensor(whitened[order[rows]], dtype, device)
    out = torch.empty(rows.stop - rows.start, pipeline.n_features_out_, dtype=dtype)
    place = np.full(x.shape[0], -1)
    place[order[rows]] = np.arange(len(out))
    for part in x.slices():
        mine = place[part] >= 0
        if mine.any():
            found = pipeline.transform(x.read(part)[mine])
            out[place[part][mine]] = torch.as_tensor(found, dtype=dtype)
    return out.to(device)


def _in_blocks(
    pipeline: Any, x: Matrix, order: Array, device: torch.device, dtype: torch.dtype
) -> PreparedView:
    """A view in blocks in the order of the disk, as all are as soon as one is there."""
    if isinstance(x, StreamedArray):
        pipeline.fit_streamed(x)
        shape = (x.shape[0], pipeline.n_features_out_)
        return StreamedView(
            lambda rows: pipeline.transform(x.read(rows)), shape, order, dtype, device
        )
    x = pipeline.fit_transform(x)
    return StreamedView(lambda rows: x[rows], x.shape, order, dtype, device)
