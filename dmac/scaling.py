r"""The n x m work of an epoch in one pass over blocks: nearest anchors and assignment entropy.

Every sample is compared with every anchor, but nothing of size n x m is kept: a block of rows gives
its distances, its k + 1 nearest anchors, its entropy and its part of the gradient, and is gone.
Memory is O(n (d + k)) and one block. :func:`dmac.compute.distances.squared_distances`,
:func:`dmac.anchors.anchor_learning_loss` and :func:`dmac.anchor_graph.anchor_graph` compute the
same on whole n x m tensors; the tests hold the two against each other.

"The costs of a fit" in the book counts what is saved.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor

from dmac.anchor_graph import (
    AnchorGraph,
    check_neighbors,
    closed_form_graph,
    column_sums,
    row_sums,
    rows_in_cache,
)
from dmac.compute.distances import block_distances, row_blocks, smallest
from dmac.compute.threads import many, map_parts

_Pointwise: TypeAlias = Callable[..., tuple[Tensor, Tensor | None]]


@dataclass(frozen=True)
class Assignment:
    """The result of one pass over samples and anchors.

    Attributes
    ----------
    distances : torch.Tensor of shape (n, p)
        The p smallest squared distances of every sample, ascending; differentiable.
    indices : torch.Tensor of shape (n, p), int64
        Whose they are.
    entropy : torch.Tensor of shape () or None
        The anchor learning loss, if it was asked for; differentiable.
    """

    distances: torch.Tensor
    indices: torch.Tensor
    entropy: torch.Tensor | None


def assign(z: Tensor, u: Tensor, n_nearest: int, *, entropy: bool = False) -> Assignment:
    r"""Each sample's nearest anchors, and with the same distances :eq:`eq:anchor-learning`.

    Parameters
    ----------
    z : torch.Tensor of shape (n, d)
    u : torch.Tensor of shape (m, d)
    n_nearest : int
        p, from 1 to m: k + 1 for a graph of k neighbours.
    entropy : bool
        Also compute :func:`dmac.anchors.anchor_learning_loss`, with a bandwidth of 1.

    Returns
    -------
    Assignment
    """
    nearest, indices, loss = _Assign.apply(z, u, n_nearest, entropy)
    return Assignment(nearest, indices, loss if entropy else None)


def assigned_graph(
    z: Tensor, u: Tensor, n_neighbors: int, *, entropy: bool = False
) -> tuple[AnchorGraph, Tensor | None]:
    """The graph :eq:`eq:anchor-graph` of samples on anchors, and the entropy if it is asked for.

    Parameters
    ----------
    z : torch.Tensor of shape (n, d)
    u : torch.Tensor of shape (m, d)
    n_neighbors : int
        k, with 1 <= k < m; else it is a ``ValueError``.
    entropy : bool
        As for `assign`.

    Returns
    -------
    dmac.anchor_graph.AnchorGraph
    torch.Tensor of shape () or None
    """
    check_neighbors(n_neighbors, len(u))
    assigned = assign(z, u, n_neighbors + 1, entropy=entropy)
    return closed_form_graph(assigned.distances, assigned.indices, len(u)), assigned.entropy


def assignment_entropy(z: Tensor, u: Tensor) -> Tensor:
    """The loss :eq:`eq:anchor-learning` alone: see :func:`dmac.anchors.anchor_learning_loss`.

    Parameters
    ----------
    z : torch.Tensor of shape (n, d)
    u : torch.Tensor of shape (m, d)

    Returns
    -------
    torch.Tensor of shape ()
    """
    return _Assign.apply(z, u, 0, True)[2]


class _Assign(torch.autograd.Function):
    """The pass. The loss is one number: its gradient is taken with it, while a block is there."""

    @staticmethod
    def forward(
        ctx: Any,
        z: Tensor,
        u: Tensor,
        n_nearest: int,
        entropy: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        # Moving both by the same vector changes no distance and keeps the digits.
        centre = u.mean(0)
        y = u - centre
        loss, grads = z.new_zeros(()), tuple[Tensor, ...]()
        if entropy:
            gradient = any(ctx.needs_input_grad[:2])
            swept = _sweep(z, centre, y, n_nearest, gradient)
            nearest, indices, loss, grads = swept
        else:
            nearest, indices = _search(z, centre, y, n_nearest)
        ctx.save_for_backward(z, centre, y, indices, *grads)
        ctx.set_materialize_grads(False)
        return nearest, indices, loss

    @staticmethod
    def backward(
        ctx: Any, d_nearest: Tensor | None, _: None, d_loss: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        z, centre, y, indices, *grads = ctx.saved_tensors
        if d_loss is not None and grads:
            dz, du = (d_loss * g for g in grads)
        else:
            dz, du = torch.zeros_like(z), torch.zeros_like(y)
        if d_nearest is not None:  # of ||x_i - y_j||^2 at the stored pairs
            g = 2 * d_nearest.contiguous()
            columns = g.new_zeros(len(y)).index_add_(0, indices.flatten(), g.flatten())
            du.addcmul_(columns[:, None], y)

            def add(slices: Sequence[slice], du: Tensor) -> Tensor:
                for rows in slices:
                    x, pairs = z[rows] - centre, (indices[rows], g[rows])
                    dz[rows].addcmul_(g[rows].sum(1, keepdim=True), x).sub_(row_sums(*pairs, y))
                    du.sub_(column_sums(*pairs, x, len(y)))
                return du

            slices, zero = rows_in_cache(len(z)), torch.zeros_like(du)
            if many(len(z)) and z.device.type == "cpu":
                du = sum(map_parts(slices, lambda rows: add(rows, zero.clone())), start=du)
            else:
                add(slices, du)
        return dz, du, None, None


def _room(z: Tensor, n_nearest: int) -> tuple[Tensor, Tensor]:
    """Where the nearest anchors of samples (n, d) go: their distances and numbers, (n, p)."""
    indices = torch.empty(len(z), n_nearest, dtype=torch.long, device=z.device)
    return z.new_empty(len(z), n_nearest), indices


def _search(z: Tensor, centre: Tensor, y: Tensor, n_nearest: int) -> tuple[Tensor, Tensor]:
    """The nearest anchors alone."""
    (nearest, indices), norms = _room(z, n_nearest), y.square().sum(1)

    def search(slices: Sequence[slice]) -> None:
        for rows in slices:
            d2 = block_distances(z[rows] - centre, y, norms)
            nearest[rows], indices[rows] = smallest(d2, n_nearest)
            del d2  # before the next block: the same memory is still in the cache

    map_parts(row_blocks(len(z), len(y), z.device, searched=True), search, z)
    return nearest, indices


def _sweep(
    z: Tensor,
    centre: Tensor,
    y: Tensor,
    n_nearest: int,
    gradient: bool,
) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor, ...]]:
    """The nearest anchors, the loss, and its gradients by z and y if they are asked for."""
    (nearest, indices), norms, n = _room(z, n_nearest), y.square().sum(1), len(z)
    dz = torch.empty_like(z) if gradient else None

    def sweep(slices: Sequence[slice]) -> tuple[Tensor, Tensor]:
        loss, dy = z.new_zeros((), dtype=torch.float64), torch.zeros_like(y)
        for rows in slices:
            x = z[rows] - centre
            d2 = block_distances(x, y, norms)
            if n_nearest:
                nearest[rows], indices[rows] = smallest(d2, n_nearest)
            h, g = _pointwise(z.device)(d2, gradient)
            loss += h.sum(dtype=torch.float64)
            if g is not None and dz is not None:
                g *= 2 / n
                dz[rows] = torch.addmm(g.sum(1, keepdim=True) * x, g, y, alpha=-1)
                dy.addmm_(g.T, x, alpha=-1)
                dy.addcmul_(g.sum(0)[:, None], y)
        return loss, dy

    # Many small operations: so each thread has rows of its own, or they would wait for each other.
    losses, dys = zip(*map_parts(row_blocks(n, len(y), z.device), sweep, z))
    grads = () if dz is None else (dz, sum(dys[1:], start=dys[0]))
    loss = sum(losses[1:], start=losses[0])
    return nearest, indices, (loss / n).to(z.dtype), grads


def _entropies(d2: Tensor, gradient: bool) -> tuple[Tensor, Tensor | None]:
    r"""Entropy of every row of q, and its gradient with respect to d2, which is overwritten.

    With :math:`l_{ij} = \log(1 + d_{ij})`, :math:`w = e^{-l}`, :math:`W_i = \sum_j w_{ij}` and
    :math:`\bar l_i = \sum_j w_{ij} l_{ij} / W_i` the entropy is :math:`\log W_i + \bar l_i`, and

    .. math:: \partial H_i / \partial d_{ij} = w_{ij}^2 (\bar l_i - l_{ij}) / W_i.
    """
    d2.add_(1)
    logs = d2.log()
    w = d2.reciprocal_()
    mass = w.sum(1, keepdim=True)
    mean = torch.linalg.vecdot(w, logs)[:, None] / mass
    entropies = mass.log() + mean
    if not gradient:
        return entropies, None
    return entropies, torch.sub(mean, logs, out=logs).mul_(w).mul_(w).div_(mass)


def _entropies_functional(d2: Tensor, gradient: bool) -> tuple[Tensor, Tensor | None]:
    """`_entropies` without writing in place, which a compiler fuses into two kernels."""
    logs = torch.log1p(d2)
    w = torch.exp(-logs)
    mass = w.sum(1, keepdim=True)
    mean = (w * logs).sum(1, keepdim=True) / mass
    entropies = mass.log() + mean
    if not gradient:
        return entropies, None
    return entropies, (mean - logs) * w * w / mass


@functools.cache
def _compile() -> _Pointwise:
    """The functional form through torch.compile, or the plain one where that is not to be had."""
    try:
        import triton  # noqa: F401
    except ImportError:
        return _entropies
    return torch.compile(_entropies_functional, dynamic=True)


def _pointwise(device: torch.device) -> _Pointwise:
    return _compile() if device.type == "cuda" else _entropies
