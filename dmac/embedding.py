"""View encoders and decoders, fusion, and pre-training from the fused embedding.

Chapter 2 of the book derives them.
"""

import math
import time
import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse
import torch
import torch.nn.functional as F
from torch import nn


def dense_layer(n_in, n_out, generator, *, bias=True):
    r"""A linear layer with uniform start on :math:`\pm 1/\sqrt{n_{in}}`, drawn from ``generator``.

    The distribution is PyTorch's default; the draw does not touch the global random state.
    """
    layer = nn.utils.skip_init(nn.Linear, n_in, n_out, bias=bias)
    bound = 1 / math.sqrt(n_in)
    for parameter in layer.parameters():
        nn.init.uniform_(parameter, -bound, bound, generator=generator)
    return layer


class SparseView:
    """A view kept as compressed sparse rows on the device, with its transpose for the gradient.

    Parameters
    ----------
    matrix : scipy.sparse matrix of shape (n, d_a)
    dtype : torch.dtype
    device : torch.device or str
    """

    def __init__(self, matrix, dtype, device):
        self.shape = matrix.shape
        self.x = self._tensor(matrix.tocsr(), dtype, device)
        self.x_transposed = self._tensor(matrix.T.tocsr(), dtype, device)
        entries = matrix.tocoo()
        self.rows = torch.as_tensor(entries.row.astype(np.int64), device=device)
        self.columns = torch.as_tensor(entries.col.astype(np.int64), device=device)
        self.values = torch.as_tensor(entries.data, dtype=dtype, device=device)

    @staticmethod
    def _tensor(csr, dtype, device):
        with warnings.catch_warnings():
            # CSR is announced as beta at its first use; of it only the product is used here.
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
            return torch.sparse_csr_tensor(
                torch.as_tensor(csr.indptr.astype(np.int64)),
                torch.as_tensor(csr.indices.astype(np.int64)),
                torch.as_tensor(csr.data, dtype=dtype),
                csr.shape,
                device=device,
                check_invariants=True,
            )


def view_tensor(view, dtype=torch.float32, device="cpu"):
    """Move a view to the device: an array becomes a tensor, a sparse matrix a `SparseView`."""
    if scipy.sparse.issparse(view):
        return SparseView(view, dtype, device)
    return torch.as_tensor(view, dtype=dtype, device=device)


class _SparseProduct(torch.autograd.Function):
    """x w for a constant sparse x; the gradient is x^T g with the stored transpose."""

    @staticmethod
    def forward(ctx, view, w):
        ctx.view = view
        return view.x @ w

    @staticmethod
    def backward(ctx, grad):
        return None, ctx.view.x_transposed @ grad.contiguous()


class ViewEncoder(nn.Module):
    r"""One view's encoder, :math:`Z^{(a)} = \mathrm{Encoder}_a(X^{(a)})`.

    Two linear layers d_a - hidden - d with a leaky ReLU after each, then (optionally) rows scaled
    to unit length. The first layer takes a dense or a sparse view.

    Parameters
    ----------
    n_features, hidden_dim, embedding_dim : int
        d_a, hidden width, d.
    negative_slope : float
        Slope of the leaky ReLU below 0.
    normalize : bool
        Scale the rows of the output to unit length; a zero row stays zero.
    generator : torch.Generator
        Draws the initial weights.
    """

    def __init__(
        self, n_features, hidden_dim, embedding_dim, *, negative_slope, normalize, generator
    ):
        super().__init__()
        self.first = dense_layer(n_features, hidden_dim, generator)
        self.second = dense_layer(hidden_dim, embedding_dim, generator)
        self.negative_slope = negative_slope
        self.normalize = normalize

    def forward(self, x):
        """(n, d_a) dense tensor or `SparseView` -> (n, d)."""
        if isinstance(x, SparseView):
            h = _SparseProduct.apply(x, self.first.weight.T) + self.first.bias
        else:
            h = self.first(x)
        z = F.leaky_relu(self.second(F.leaky_relu(h, self.negative_slope)), self.negative_slope)
        return F.normalize(z, dim=1) if self.normalize else z


class ViewDecoder(nn.Module):
    """The mirror of `ViewEncoder`: fused (n, d) -> reconstructed view (n, d_a), rows of unit length.

    Its input is the *fused* embedding, so every view has to be found in the consensus.
    """

    def __init__(self, n_features, hidden_dim, embedding_dim, *, negative_slope, generator):
        super().__init__()
        self.first = dense_layer(embedding_dim, hidden_dim, generator)
        self.second = dense_layer(hidden_dim, n_features, generator)
        self.negative_slope = negative_slope

    def forward(self, z):
        """(n, d) -> (n, d_a)."""
        h = F.leaky_relu(self.first(z), self.negative_slope)
        return F.normalize(F.leaky_relu(self.second(h), self.negative_slope), dim=1)


def fuse(zs, *, normalize=False):
    r"""Fused embedding :math:`Z = \frac1v \sum_a Z^{(a)}` (paper eq. fuse).

    Parameters
    ----------
    zs : list of v tensors of shape (n, d)
    normalize : bool
        Scale the rows of the mean to unit length.

    Returns
    -------
    torch.Tensor of shape (n, d)
    """
    z = torch.stack(list(zs)).mean(0)
    return F.normalize(z, dim=1) if normalize else z


def reconstruction_loss(x_hat, x):
    r"""Mean squared error :math:`\frac{1}{n d_a} \|\hat X - X\|_F^2`.

    For a sparse view it is expanded to
    :math:`\|\hat X\|^2 - 2 \langle \hat X, X \rangle + \|X\|^2`, with the middle term taken over
    the stored entries, so that X is never made dense.

    Parameters
    ----------
    x_hat : torch.Tensor of shape (n, d_a)
    x : torch.Tensor of shape (n, d_a) or SparseView

    Returns
    -------
    torch.Tensor of shape ()
    """
    if not isinstance(x, SparseView):
        return F.mse_loss(x_hat, x)
    cross = (x_hat[x.rows, x.columns] * x.values).sum()
    return (x_hat.square().sum() - 2 * cross + x.values.square().sum()) / x_hat.numel()


@dataclass(frozen=True)
class PretrainRecord:
    """One epoch of pre-training: its number from 1, the loss before its step, wall-clock seconds."""

    epoch: int
    loss: float
    seconds: float


def pretrain(encoders, decoders, views, *, epochs, lr, normalize):
    r"""Train the autoencoders on :math:`\sum_a \mathrm{MSE}(\mathrm{Decoder}_a(Z), X^{(a)})`.

    Full batch, RMSprop (smoothing 0.99, eps 1e-8).

    Parameters
    ----------
    encoders, decoders : list of v modules
        Trained in place.
    views : list of v tensors or SparseViews
    epochs : int
    lr : float
    normalize : bool
        Passed to :func:`fuse`.

    Yields
    ------
    PretrainRecord
        After each step.

    Raises
    ------
    FloatingPointError
        If the loss is not finite.
    """
    parameters = [p for module in (*encoders, *decoders) for p in module.parameters()]
    optimiser = torch.optim.RMSprop(parameters, lr=lr)
    for epoch in range(1, epochs + 1):
        start = time.perf_counter()
        z = fuse([encode(x) for encode, x in zip(encoders, views)], normalize=normalize)
        loss = sum(reconstruction_loss(decode(z), x) for decode, x in zip(decoders, views))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        value = loss.item()
        if not math.isfinite(value):
            raise FloatingPointError(f"pre-training loss is {value} at epoch {epoch}: lower the lr")
        yield PretrainRecord(epoch, value, time.perf_counter() - start)
