r"""A network on the averaged graph: REVISED's encoder and loss, CLOSED_FORM's graph.

It is a linear map of all features plus a correction with one hidden layer, trained by the structure
loss under the orthonormal fusion. As a ballot it stands in place of the linear map alone
(:func:`dmac.votes.learned_map`), and as the embedding in place of the eigenvectors. Chapter 16 of
the book derives it, chapter 18 measures both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from dmac.compute import parallel
from dmac.embedding import fusion_factor
from dmac.votes import learned_map

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor

    from dmac._types import Array
    from dmac.averaged_graph import AveragedGraph

_HIDDEN = 256
_STEP = 5e-3


@dataclass(frozen=True)
class TrainedMap:
    r"""What was trained, :math:`W^T f + V^T \mathrm{ReLU}(U^T f)`; f has a 1 at its end.

    Attributes
    ----------
    linear : numpy.ndarray of shape (r + 1, q)
    hidden : numpy.ndarray of shape (r + 1, h)
    out : numpy.ndarray of shape (h, q)
    """

    linear: np.ndarray
    hidden: np.ndarray
    out: np.ndarray

    def __call__(self, features: Array) -> Array:
        """(n, r) -> (n, q)."""
        f = np.column_stack([features, np.ones(len(features))])
        return f @ self.linear + np.maximum(f @ self.hidden, 0) @ self.out

    def rotate(self, matrix: Array) -> TrainedMap:
        """The map followed by a product with a matrix (q, p)."""
        return TrainedMap(self.linear @ matrix, self.hidden, self.out @ matrix)


class _Smooth(torch.autograd.Function):
    """Tr(Z^T G Z) of a symmetric G that is a product and no matrix."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, graph: AveragedGraph) -> Tensor:
        image = torch.as_tensor(graph @ z.detach().double().numpy())
        ctx.save_for_backward(image.to(z.dtype))
        return parallel.total((z.detach().double() * image).sum()).to(z.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (image,) = ctx.saved_tensors
        return 2 * grad * image, None


def trained_map(
    features: Array,
    graph: AveragedGraph,
    n_functions: int,
    ridge: float,
    epochs: int,
    generator: torch.Generator,
) -> tuple[TrainedMap, Array]:
    r"""Functions of all views' features, smooth on the averaged graph, by gradient steps.

    .. math:: \min \; q - \tfrac1n \mathrm{Tr}(Z^T G Z) \quad \text{with} \quad
              Z = \Phi L^{-T},\; L L^T = \Phi^T R\, \Phi / n,

    :math:`\Phi` the linear map plus its correction on all samples: the structure loss
    :eq:`eq:trace-form` under :eq:`eq:orthonormal-fusion`, on the graph G of all anchor sets. The
    linear part starts at :func:`dmac.votes.learned_map`, the correction at 0. At the end Z is
    turned to the directions in which :math:`Z^T G Z` is diagonal (Rayleigh and Ritz).

    Parameters
    ----------
    features : numpy.ndarray of shape (n, r)
    graph : dmac.averaged_graph.AveragedGraph
    n_functions : int
        q.
    ridge : float
        Of the linear start.
    epochs : int
        Of Adam, its step falling to 0.
    generator : torch.Generator
        On the CPU.

    Returns
    -------
    TrainedMap
    values : numpy.ndarray of shape (q,)
        The Ritz values, largest first, cut to [0, 1].
    """
    start = learned_map(features, graph, n_functions, ridge)
    q = start.shape[1]
    n, r = parallel.count(len(features)), features.shape[1]
    f = torch.as_tensor(np.column_stack([features, np.ones(len(features))]), dtype=torch.float32)
    shares = torch.as_tensor(graph.shares, dtype=torch.float32)[:, None]
    linear = torch.as_tensor(start.copy(), dtype=torch.float32)
    hidden = torch.randn(r + 1, _HIDDEN, generator=generator) * math.sqrt(2 / (r + 1))
    parameters = [linear, hidden, torch.zeros(_HIDDEN, q)]
    with torch.enable_grad():
        for p in parameters:
            p.requires_grad_(True)
        optimiser = torch.optim.Adam(parameters, lr=_STEP)
        for epoch in range(epochs):
            optimiser.param_groups[0]["lr"] = _STEP * (1 + math.cos(math.pi * epoch / epochs)) / 2
            z = _embed(f, parameters)
            z = z.double() @ _inverse(z, shares).T
            loss = q - _Smooth.apply(z, graph) / n
            optimiser.zero_grad()
            (loss / parallel.n_processes()).backward()
            parallel.sum_gradients(parameters)
            optimiser.step()
    with torch.no_grad():
        z = _embed(f, parameters)
        inverse = _inverse(z, shares)
        z = (z.double() @ inverse.T).numpy()
    moment = parallel.total(torch.as_tensor(z.T @ (graph @ z))).numpy() / n
    values, turn = np.linalg.eigh((moment + moment.T) / 2)
    turn = turn[:, ::-1]
    arrays = (p.detach().double().numpy() for p in parameters)
    return TrainedMap(*arrays).rotate(inverse.T.numpy() @ turn), values[::-1].clip(0, 1)


def _embed(f: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    linear, hidden, out = parameters
    return f @ linear + torch.relu(f @ hidden) @ out


def _inverse(z: Tensor, shares: Tensor) -> Tensor:
    """L^-1 of the orthonormal fusion, with samples weighed by their shares of the graph."""
    factor = fusion_factor(z * shares.sqrt())
    return torch.linalg.solve_triangular(factor, torch.eye(len(factor)).to(factor), upper=False)
