"""What the mathematics runs on: tensors in blocks, from disk, and in checkpoints.

:mod:`~dmac.compute.device` finds devices by name, :mod:`~dmac.compute.distances`,
:mod:`~dmac.compute.lloyd` and :mod:`~dmac.compute.kmeans` compare samples with anchors,
:mod:`~dmac.compute.lanczos` finds eigenvectors, :mod:`~dmac.compute.layers` holds dense and sparse
views, :mod:`~dmac.compute.streaming` those on disk, :mod:`~dmac.compute.threads` spreads work over
threads, :mod:`~dmac.compute.progress_bar` shows how far it is, :mod:`~dmac.compute.files` writes
tensors, and :mod:`~dmac.compute.checkpoint` lets a fit go on where
:mod:`~dmac.compute.interruption` or a crash ended it.
"""

from typing import TYPE_CHECKING

from dmac._lazy import on_demand

if TYPE_CHECKING:
    from dmac.compute import (  # noqa: I001  # one list, not a line for each
        checkpoint as checkpoint,
        device as device,
        distances as distances,
        files as files,
        interruption as interruption,
        kmeans as kmeans,
        lanczos as lanczos,
        layers as layers,
        lloyd as lloyd,
        progress_bar as progress_bar,
        streaming as streaming,
        threads as threads,
    )
else:
    __getattr__ = on_demand(__name__)
