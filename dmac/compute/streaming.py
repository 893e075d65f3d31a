"""Views on disk as the encoders see them: embedded a block of samples at a time.

The gradient stays that of the full batch: the losses depend on a sample through its embedding only,
so a block's activations are dropped after the forward pass and computed again, from the disk, when
its part of the gradient is due (:mod:`dmac.data.checks` reads the blocks).

"The costs of a fit" in the book says what that costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from dmac._types import Array, Matrix
from dmac.compute.layers import SparseView, view_tensor
from dmac.compute.threads import row_slices
from dmac.data.checks import block_rows

PreparedView: TypeAlias = "Tensor | SparseView | StreamedView"

# Rows of a dense view that is embedded in one piece, and of the pieces of a longer one, whose
# activations then stay near the processor.
_ROWS = 2**16
_PIECE = 2**13


class StreamedView:
    """A view on disk as the encoders see it: its blocks go through a pipeline and to the device.

    ``read`` takes a slice of rows to (b, d_a), dense or CSR, for the encoder. ``order`` (n,) is the
    order of the samples in the fit; blocks are read in that of the disk.
    """

    def __init__(
        self,
        read: Callable[[slice], Matrix],
        shape: Sequence[int],
        order: Array,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self.read, self.shape = read, tuple(shape)
        self.order = torch.as_tensor(order, device=device)
        self.dtype, self.device = dtype, device

    def __len__(self) -> int:
        return self.shape[0]

    def block(self, rows: slice) -> Tensor | SparseView:
        """A slice of rows on disk, on the device."""
        return view_tensor(self.read(rows), self.dtype, self.device)


def block_slices(views: Sequence[Any]) -> list[slice]:
    """Slices of samples by which all views can be walked through together."""
    n = views[0].shape[0]
    if any(isinstance(x, SparseView) for x in views):
        return row_slices(n, n)  # a sparse view is small; its product is taken whole
    if any(isinstance(x, StreamedView) for x in views):
        return row_slices(n, min(_ROWS, block_rows(max(x.shape[1] for x in views))))
    return row_slices(n, n if n <= _ROWS else min(_ROWS, _PIECE))


def take(view: Any, rows: slice) -> Any:
    """A slice of samples of a prepared view, in the order of the disk for a streamed one."""
    if isinstance(view, StreamedView):
        return view.block(rows)
    return view if isinstance(view, SparseView) else view[rows]


def encode(encoder: nn.Module, view: PreparedView) -> Tensor:
    """An encoder on all samples of a view: (n, d), in the order of the fit.

    A view on disk, or one with more than 65,536 samples, is taken in blocks, of which only the
    embedding is kept; the activations are computed again for the gradient.
    """
    slices = block_slices([view])
    if len(slices) == 1 and not isinstance(view, StreamedView):
        return encoder(view)

    def part(rows: slice) -> Tensor:
        return encoder(take(view, rows))

    parts = [
        checkpoint(part, rows, use_reentrant=False, preserve_rng_state=False) for rows in slices
    ]
    z = torch.cat(parts)
    return z[view.order] if isinstance(view, StreamedView) else z
