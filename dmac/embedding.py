"""View encoders and decoders, fusion, and pre-training from the fused embedding.

Chapter 2 of the book derives them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dmac.compute.checkpoint import Progress
from dmac.compute.layers import SparseView, dense_layer, linear, sparse_reconstruction
from dmac.compute.streaming import PreparedView, block_slices, take


class ViewEncoder(nn.Module):
    r"""One view's encoder, :math:`Z^{(a)} = \mathrm{Encoder}_a(X^{(a)})`, :eq:`eq:encoder`.

    Two linear layers d_a - hidden - d with a leaky ReLU after each, then (optionally) rows scaled
    to unit length. The first layer takes a dense or a sparse view. Source: the paper's authors'
    implementation; the paper leaves the encoder open.

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
        self,
        n_features: int,
        hidden_dim: int,
        embedding_dim: int,
        *,
        negative_slope: float,
        normalize: bool,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.first = dense_layer(n_features, hidden_dim, generator)
        self.second = dense_layer(hidden_dim, embedding_dim, generator)
        self.negative_slope = negative_slope
        self.normalize = normalize

    def forward(self, x: Tensor | SparseView) -> Tensor:
        """(n, d_a) dense tensor or `dmac.compute.layers.SparseView` -> (n, d)."""
        h = F.leaky_relu(linear(self.first, x), self.negative_slope)
        z = F.leaky_relu(self.second(h), self.negative_slope)
        return F.normalize(z, dim=1) if self.normalize else z


class ResidualEncoder(nn.Module):
    r"""A linear map of one view plus a correction,

    .. math:: Z^{(a)} = H^{(a)} W_a + b_a + \mathrm{MLP}_a(H^{(a)}).

    The correction has one hidden layer and starts at zero, so that training begins at whatever the
    linear part is set to (:func:`dmac.structure.closed_form_projection`).

    Parameters
    ----------
    n_features, hidden_dim, embedding_dim : int
        Width of the input, hidden width, d.
    negative_slope : float
        Slope of the leaky ReLU below 0.
    correction : bool
        Without it the embedding is linear.
    normalize : bool
        Scale the rows of the output to unit length.
    generator : torch.Generator
        Draws the initial weights.
    """

    def __init__(
        self,
        n_features: int,
        hidden_dim: int,
        embedding_dim: int,
        *,
        negative_slope: float,
        normalize: bool,
        generator: torch.Generator,
        correction: bool = True,
    ) -> None:
        super().__init__()
        self.linear = dense_layer(n_features, embedding_dim, generator)
        self.first = self.second = None
        if correction:
            self.first = dense_layer(n_features, hidden_dim, generator)
            self.second = dense_layer(hidden_dim, embedding_dim, generator)
            nn.init.zeros_(self.second.weight)
            nn.init.zeros_(self.second.bias)
        self.negative_slope = negative_slope
        self.normalize = normalize

    def forward(self, x: Tensor | SparseView) -> Tensor:
        """(n, n_features) dense tensor or `dmac.compute.layers.SparseView` -> (n, d)."""
        z = linear(self.linear, x)
        if self.first is not None and self.second is not None:
            z = z + self.second(F.leaky_relu(linear(self.first, x), self.negative_slope))
        return F.normalize(z, dim=1) if self.normalize else z


class ViewDecoder(nn.Module):
    """The mirror of `ViewEncoder`: fused (n, d) -> reconstructed view (n, d_a) of unit rows.

    Its input is the *fused* embedding, so every view has to be found in the consensus
    :eq:`eq:reconstruction`.

    Parameters
    ----------
    n_features, hidden_dim, embedding_dim : int
        d_a, hidden width, d.
    negative_slope : float
        Slope of the leaky ReLU below 0.
    generator : torch.Generator
        Draws the initial weights.
    """

    def __init__(
        self,
        n_features: int,
        hidden_dim: int,
        embedding_dim: int,
        *,
        negative_slope: float,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.first = dense_layer(embedding_dim, hidden_dim, generator)
        self.second = dense_layer(hidden_dim, n_features, generator)
        self.negative_slope = negative_slope

    def forward(self, z: Tensor) -> Tensor:
        """(n, d) -> (n, d_a)."""
        return F.normalize(F.leaky_relu(self._last(z), self.negative_slope), dim=1)

    def _last(self, z: Tensor) -> Tensor:
        return self.second(F.leaky_relu(self.first(z), self.negative_slope))

    def loss(self, z: Tensor, x: Tensor | SparseView) -> Tensor:
        """`reconstruction_loss` of the decoded z, in fewer passes for a sparse view."""
        if isinstance(x, SparseView):
            return sparse_reconstruction(self._last(z), x, self.negative_slope)
        return reconstruction_loss(self(z), x)


def fuse(zs: Sequence[Tensor], *, normalize: bool = False) -> Tensor:
    r"""Fused embedding :math:`Z = \frac1v \sum_a Z^{(a)}`, :eq:`eq:fusion`.

    If the rows of the :math:`Z^{(a)}` have unit length, the squared length of a row of Z is the
    mean cosine between the views of a sample. Source: Eq. 2 of the paper, which does not scale.

    Parameters
    ----------
    zs : list of v tensors of shape (n, d)
    normalize : bool
        Scale the rows of the mean to unit length; a zero row stays zero.

    Returns
    -------
    torch.Tensor of shape (n, d)
    """
    z: Any  # a sum begins with an integer, which mypy cannot forget
    z = sum(zs) / len(zs)
    return F.normalize(z, dim=1) if normalize else z


def fusion_factor(z: Tensor, ridge: float = 1e-6) -> Tensor:
    r"""Cholesky factor of the second moment, :math:`L L^T = Z^T Z / n + \varepsilon I`.

    Parameters
    ----------
    z : torch.Tensor of shape (n, d)
    ridge : float
        :math:`\varepsilon` in units of the mean of the diagonal. It keeps the factor invertible
        when columns of Z are dependent; such columns come out short instead of unit.

    Returns
    -------
    torch.Tensor of shape (d, d), float64, lower triangular
        Differentiable in ``z``.
    """
    z = z.double()
    moment = z.T @ z / len(z)
    # The last term is for Z = 0 alone; it leaves the gradient there in the range of float32.
    shift = ridge * moment.diagonal().mean() + torch.finfo(torch.float32).tiny
    return torch.linalg.cholesky(moment + shift * torch.eye(len(moment)).to(moment))


def orthonormalize(z: Tensor, factor: Tensor | None = None) -> Tensor:
    r"""Fusion with an orthonormality constraint, :math:`Z \leftarrow Z L^{-T}`.

    With the factor of the same Z, :math:`Z^T Z = n I` holds up to the ridge at every step, so
    samples cannot all move together, unless they agree to the root of the ridge before the fusion.
    With a stored factor it embeds new samples one by one.

    Parameters
    ----------
    z : torch.Tensor of shape (n, d)
        The mean of the view embeddings.
    factor : torch.Tensor of shape (d, d), float64, optional
        From :func:`fusion_factor`; of ``z`` itself if not given.

    Returns
    -------
    torch.Tensor of shape (n, d)
    """
    factor = fusion_factor(z) if factor is None else factor
    # The inverse is d x d: a product with it is several times faster than n triangular solves.
    inverse = torch.linalg.solve_triangular(factor, torch.eye(len(factor)).to(factor), upper=False)
    return (z.double() @ inverse.T).to(z.dtype)


def reconstruction_loss(x_hat: Tensor, x: Tensor) -> Tensor:
    r"""Mean squared error :math:`\frac{1}{n d_a} \|\hat X - X\|_F^2` of :eq:`eq:reconstruction`.

    Between unit rows it is :math:`2 / d_a` times one minus their mean cosine. A sparse view is
    compared by :func:`dmac.compute.layers.sparse_reconstruction`.

    Parameters
    ----------
    x_hat, x : torch.Tensor of shape (n, d_a)

    Returns
    -------
    torch.Tensor of shape ()
    """
    return F.mse_loss(x_hat, x)


@dataclass(frozen=True)
class PretrainRecord:
    """One epoch of pre-training: its number from 1, the loss before its step, its seconds."""

    epoch: int
    loss: float
    seconds: float


def pretrain(
    encoders: Iterable[nn.Module],
    decoders: Iterable[ViewDecoder],
    views: Sequence[PreparedView],
    *,
    epochs: int,
    lr: float,
    normalize: bool,
    progress: Progress | None = None,
) -> Iterator[PretrainRecord]:
    r"""Train the autoencoders on :math:`\sum_a \mathrm{MSE}(\mathrm{Decoder}_a(Z), X^{(a)})`.

    This is :eq:`eq:reconstruction`. Full batch, RMSprop (smoothing 0.99, eps 1e-8). Source: the
    paper's authors' implementation; the paper has no pre-training.

    Parameters
    ----------
    encoders, decoders : list of v modules
        Trained in place.
    views : list of v tensors or SparseViews
    epochs : int
    lr : float
    normalize : bool
        Passed to :func:`fuse`.
    progress : dmac.compute.checkpoint.Progress, optional
        Where an earlier run stopped, and where this one is.

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
    progress = progress or Progress()
    progress.begin(optimiser)
    slices = block_slices(views)
    n = views[0].shape[0]
    for epoch in range(progress.epoch + 1, epochs + 1):
        start = time.perf_counter()
        optimiser.zero_grad()
        value = 0.0
        for rows in slices:  # the mean over samples is a sum over blocks
            xs = [take(x, rows) for x in views]
            zs = [encode(x) for encode, x in zip(encoders, xs)]
            z = fuse(zs, normalize=normalize)
            loss = sum((decoder.loss(z, x) for decoder, x in zip(decoders, xs)), z.new_zeros(()))
            loss = loss * (len(z) / n)
            loss.backward()
            value += loss.item()
        optimiser.step()
        if not math.isfinite(value):
            raise FloatingPointError(f"pre-training loss is {value} at epoch {epoch}: lower the lr")
        progress.epoch = epoch
        yield PretrainRecord(epoch, value, time.perf_counter() - start)
