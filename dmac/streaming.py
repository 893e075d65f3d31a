"""Views that stay on disk: read, checked, whitened and embedded a block of samples at a time.

A view given as ``numpy.memmap``, ``h5py.Dataset`` or ``zarr.Array`` is never in memory as a whole.
The gradient stays that of the full batch: the losses depend on a sample through its embedding only,
so a block's activations are dropped after the forward pass and computed again, from the disk, when
its part of the gradient is due.

Chapter 10 of the book says what that costs.
"""

import numpy as np
import torch
from torch.utils.checkpoint import checkpoint

from dmac.layers import SparseView, view_tensor

# Numbers in one block of a view on disk; rows of a dense view that is embedded in one piece, and of
# the pieces of a longer one, whose activations then stay near the processor.
_NUMBERS = 2**22
_ROWS = 2**16
_PIECE = 2**13


def is_streamed(x):
    """Whether a view is an array on disk: a memory map, an HDF5 data set or a Zarr array."""
    if isinstance(x, np.memmap):
        return True
    return type(x).__module__.split(".")[0] in ("h5py", "zarr") and hasattr(x, "shape")


class StreamedArray:
    """An array on disk, read in blocks of rows as float64.

    Parameters
    ----------
    source : numpy.memmap, h5py.Dataset or zarr.Array of shape (n, d)
    where : str
        What it is called in an error.

    Raises
    ------
    ValueError
        If it is not a two-dimensional array of real numbers with samples and features; when read,
        if an entry is NaN or infinite.
    """

    def __init__(self, source, where="view"):
        self.source, self.where, self.shape = source, where, tuple(source.shape)
        if len(self.shape) != 2:
            raise ValueError(
                f"{where} has {len(self.shape)} dimension(s), shape {self.shape}; "
                "a view has two: samples, features"
            )
        if 0 in self.shape:
            what = "samples" if self.shape[0] == 0 else "features"
            raise ValueError(f"{where} has no {what}: its shape is {self.shape}")
        if np.dtype(source.dtype).kind not in "biuf":
            raise ValueError(f"{where} holds {source.dtype} values on disk, not real numbers")

    def slices(self):
        """Slices of rows, a block each."""
        n, d = self.shape
        size = max(1, _NUMBERS // d)
        return [slice(start, min(start + size, n)) for start in range(0, n, size)]

    def read(self, rows):
        """The rows of a slice: (b, d), float64."""
        x = np.asarray(self.source[rows], dtype=np.float64)
        if not np.isfinite(x).all():
            row, column = np.argwhere(~np.isfinite(x))[0]
            raise ValueError(
                f"{self.where} has a NaN or infinite entry ({x[row, column]}) at row "
                f"{rows.start + row}, column {column} (views are counted from 1, rows and columns "
                "from 0); replace it or drop the sample"
            )
        return x

    def blocks(self):
        """All blocks in order."""
        for rows in self.slices():
            yield self.read(rows)


class StreamedView:
    """A view on disk as the encoders see it: its blocks go through a pipeline and to the device.

    Parameters
    ----------
    read : callable
        A slice of rows -> (b, d_a), dense or CSR, ready for the encoder.
    shape : tuple of int
        (n, d_a).
    order : numpy.ndarray of shape (n,)
        The order of the samples in the fit; blocks are read in that of the disk.
    dtype, device
        Of the tensors.
    """

    def __init__(self, read, shape, order, dtype, device):
        self.read, self.shape = read, tuple(shape)
        self.order = torch.as_tensor(order, device=device)
        self.dtype, self.device = dtype, device

    def __len__(self):
        return self.shape[0]

    def block(self, rows):
        """A slice of rows on disk, on the device."""
        return view_tensor(self.read(rows), self.dtype, self.device)


def block_slices(views):
    """Slices of samples by which all views can be walked through together."""
    n = views[0].shape[0]
    widest = max(x.shape[1] for x in views)
    size = max(1, min(_ROWS, _NUMBERS // widest)) if _streams(views) else min(_ROWS, _PIECE)
    whole = n <= (size if _streams(views) else _ROWS)
    if whole or any(isinstance(x, SparseView) for x in views):
        size = n  # a sparse view is small; its product is taken whole
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def _streams(views):
    return any(isinstance(x, (StreamedArray, StreamedView)) for x in views)


def take(view, rows):
    """A slice of samples of a view, in the order of the disk for a streamed one."""
    if isinstance(view, StreamedView):
        return view.block(rows)
    if isinstance(view, StreamedArray):
        return view.read(rows)
    return view if isinstance(view, SparseView) else view[rows]


def encode(encoder, view):
    """An encoder on all samples of a view: (n, d), in the order of the fit.

    A view on disk, or one with more than 65,536 samples, is taken in blocks, of which only the
    embedding is kept; the activations are computed again for the gradient.
    """
    slices = block_slices([view])
    if len(slices) == 1 and not isinstance(view, StreamedView):
        return encoder(view)

    def part(rows):
        return encoder(take(view, rows))

    if torch.is_grad_enabled():
        kept = dict(use_reentrant=False, preserve_rng_state=False)
        parts = [checkpoint(part, rows, **kept) for rows in slices]
    else:
        parts = [part(rows) for rows in slices]
    z = torch.cat(parts)
    return z[view.order] if isinstance(view, StreamedView) else z
