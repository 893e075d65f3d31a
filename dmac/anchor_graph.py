"""The anchor graph: each sample's k nearest anchors, in closed form and stored sparsely.

Chapter 4 of the book derives the closed form from the Lagrangian of the row problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from dmac.compute.threads import map_parts, row_slices

# Rows at a time where a temporary of the size of the samples would leave the processor's cache.
_ROWS = 8192


def rows_in_cache(n: int) -> list[slice]:
    """Slices of n rows, so short that a temporary of theirs stays in the processor's cache."""
    return row_slices(n, _ROWS)


def row_sums(indices: Tensor, weights: Tensor, f: Tensor) -> Tensor:
    r"""S f without forming S: row i is :math:`\sum_h w_{ih} f_{j(i,h)}`.

    Parameters
    ----------
    indices : torch.Tensor of shape (n, k), int64
        Column of every stored entry.
    weights : torch.Tensor of shape (n, k)
        Its value.
    f : torch.Tensor of shape (m, d)

    Returns
    -------
    torch.Tensor of shape (n, d)
    """
    return F.embedding_bag(indices, f, per_sample_weights=weights, mode="sum")


def column_sums(indices: Tensor, weights: Tensor, x: Tensor, n_anchors: int) -> Tensor:
    r"""S^T x without forming S: row j sums :math:`w_{ih} x_i` over the entries in column j.

    Parameters
    ----------
    indices : torch.Tensor of shape (n, k), int64
        Column of every stored entry.
    weights : torch.Tensor of shape (n, k)
        Its value.
    x : torch.Tensor of shape (n, d)
    n_anchors : int
        m.

    Returns
    -------
    torch.Tensor of shape (m, d)
    """

    def add(slices: Sequence[slice]) -> Tensor:
        out = x.new_zeros(n_anchors, x.shape[1])
        for rows in slices:
            for h in range(indices.shape[1]):
                out.index_add_(0, indices[rows, h], weights[rows, h, None] * x[rows])
        return out

    first, *others = map_parts(rows_in_cache(len(x)), add, x)
    return sum(others, start=first)


def sampled_products(indices: Tensor, x: Tensor, f: Tensor) -> Tensor:
    """The inner products x_i . f_j at the stored entries (i, j) alone: -> (n, k)."""
    # They are the gradient of `row_sums` by its weights, for which PyTorch has one kernel.
    with torch.enable_grad():
        weights = x.new_zeros(indices.shape, requires_grad=True)
        rows = row_sums(indices, weights, f.detach())
    return torch.autograd.grad(rows, weights, x.detach())[0]


class _AnchorsToSamples(torch.autograd.Function):
    """S f, differentiable in the weights and in f, with n d instead of n k d kept in between."""

    @staticmethod
    def forward(ctx: Any, indices: Tensor, weights: Tensor, f: Tensor) -> Tensor:
        ctx.save_for_backward(indices, weights, f)
        return row_sums(indices, weights, f)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        indices, weights, f = ctx.saved_tensors
        grad = grad.contiguous()
        d_weights = sampled_products(indices, grad, f) if ctx.needs_input_grad[1] else None
        d_f = column_sums(indices, weights, grad, len(f)) if ctx.needs_input_grad[2] else None
        return None, d_weights, d_f


class _SamplesToAnchors(torch.autograd.Function):
    """S^T x, differentiable in the weights and in x."""

    @staticmethod
    def forward(ctx: Any, indices: Tensor, weights: Tensor, x: Tensor, n_anchors: int) -> Tensor:
        ctx.save_for_backward(indices, weights, x)
        return column_sums(indices, weights, x, n_anchors)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        indices, weights, x = ctx.saved_tensors
        grad = grad.contiguous()
        d_weights = sampled_products(indices, x, grad) if ctx.needs_input_grad[1] else None
        d_x = row_sums(indices, weights, grad) if ctx.needs_input_grad[2] else None
        return None, d_weights, d_x, None


@dataclass(frozen=True)
class AnchorGraph:
    """An n x m anchor graph S with k entries a row, stored as two n x k arrays.

    Its products cost O(n k d) and are differentiable in the weights and in the table; neither S nor
    a matrix of size m x m or n x n is formed.

    Attributes
    ----------
    indices : torch.Tensor of shape (n, k), int64
        The k nearest anchors of every sample, nearest first.
    weights : torch.Tensor of shape (n, k)
        Their weights; rows sum to 1.
    n_anchors : int
        m.
    """

    indices: torch.Tensor
    weights: torch.Tensor
    n_anchors: int

    def detach(self) -> AnchorGraph:
        """Return the same graph as a constant."""
        return AnchorGraph(self.indices, self.weights.detach(), self.n_anchors)

    def to_samples(self, f: Tensor) -> Tensor:
        """S f: a table of the anchors (m, d) -> the samples' weighted means of it (n, d)."""
        return _AnchorsToSamples.apply(self.indices, self.weights, f)

    def to_anchors(self, x: Tensor) -> Tensor:
        """S^T x: a table of the samples (n, d) -> the anchors' weighted sums of it (m, d)."""
        return _SamplesToAnchors.apply(self.indices, self.weights, x, self.n_anchors)

    def degrees(self) -> Tensor:
        r"""The column sums :math:`D_j = \sum_i s_{ij}`: (m,)."""
        out = self.weights.new_zeros(self.n_anchors)
        return out.index_add(0, self.indices.flatten(), self.weights.flatten())

    def inverse_degrees(self) -> Tensor:
        """1 / D_j, and 0 for an anchor without samples: (m,).

        An anchor with no samples has a zero column, so whatever stands there is multiplied by 0;
        0 keeps it, and its gradient, finite.
        """
        degrees = self.degrees()
        # Below this the square of 1/d, which the gradient needs, leaves the range of float32.
        occupied = degrees > 1e-12
        return torch.where(occupied, 1 / torch.where(occupied, degrees, 1.0), 0.0)

    def smooth(self, f: Tensor) -> Tensor:
        r"""The average over anchors that share samples, :math:`D^{-1} S^T (S f)`: (m, d) -> (m, d).

        Taken in the order of :eq:`eq:association`, so the m x m matrix is never formed. An anchor
        without samples gets a zero row.
        """
        return self.inverse_degrees()[:, None] * self.to_anchors(self.to_samples(f))

    def to_dense(self) -> Tensor:
        """S as an (n, m) tensor, for small examples and tests."""
        dense = self.weights.new_zeros(len(self.indices), self.n_anchors)
        return dense.scatter(1, self.indices, self.weights)


def check_neighbors(n_neighbors: int, n_anchors: int) -> None:
    """Refuse a number of neighbours for which there is no closed form.

    Parameters
    ----------
    n_neighbors : int
        k.
    n_anchors : int
        m.

    Raises
    ------
    ValueError
        Unless 1 <= k < m.
    """
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors is {n_neighbors}, it must be at least 1")
    if n_anchors < n_neighbors + 1:
        raise ValueError(
            f"{n_neighbors} neighbours need at least {n_neighbors + 1} anchors, there are "
            f"{n_anchors}: lower n_neighbors or raise n_anchors"
        )


def anchor_graph(d2: Tensor, n_neighbors: int) -> AnchorGraph:
    r"""The closed-form anchor graph :eq:`eq:anchor-graph`.

    For every sample the row problem :eq:`eq:row-problem`,

    .. math:: \min_{s \ge 0,\ s^T 1 = 1} \sum_j d_{ij} s_j + \gamma_i \|s\|^2,

    with :math:`\gamma_i = \frac12 \sum_{h=1}^k (d_{i,(k+1)} - d_{i,(h)})`, the largest that leaves
    k neighbours, has the solution

    .. math:: s_{i,(h)} = \frac{d_{i,(k+1)} - d_{i,(h)}}{\sum_{l=1}^k (d_{i,(k+1)} - d_{i,(l)})},

    where :math:`d_{i,(1)} \le d_{i,(2)} \le \dots` are the sorted squared distances: k positive
    weights, or fewer if the k-th and the (k+1)-th distance are equal. Adding a number to all
    distances of a row, or scaling them, changes nothing. Source: Eq. 10 of the paper; Nie et al.
    (2016) and Nie et al. (2017) for the solution.

    Parameters
    ----------
    d2 : torch.Tensor of shape (n, m)
        Squared distances from samples to anchors
        (:func:`dmac.compute.distances.squared_distances`).
    n_neighbors : int
        k, with 1 <= k < m.

    Returns
    -------
    AnchorGraph
        Differentiable in ``d2``. A row whose k + 1 smallest distances are equal to rounding gets
        the weight 1/k on each of its neighbours and no gradient: the limit is not determined.

    Raises
    ------
    ValueError
        If k < 1 or m < k + 1.
    """
    m = d2.shape[1]
    check_neighbors(n_neighbors, m)
    nearest, indices = torch.topk(d2, n_neighbors + 1, dim=1, largest=False, sorted=True)
    return closed_form_graph(nearest, indices, m)


def closed_form_graph(nearest: Tensor, indices: Tensor, n_anchors: int) -> AnchorGraph:
    """The graph of :func:`anchor_graph`, :eq:`eq:anchor-graph`, from the k + 1 smallest distances.

    Parameters
    ----------
    nearest : torch.Tensor of shape (n, k + 1)
        Squared distances, ascending.
    indices : torch.Tensor of shape (n, k + 1), int64
        Their anchors.
    n_anchors : int
        m.

    Returns
    -------
    AnchorGraph
    """
    k = nearest.shape[1] - 1
    border = nearest[:, -1:]
    gaps = border - nearest[:, :-1]
    whole = gaps.sum(1, keepdim=True)
    tied = whole <= 4 * torch.finfo(nearest.dtype).eps * border
    weights = torch.where(tied, 1 / k, gaps / torch.where(tied, 1.0, whole))
    return AnchorGraph(indices[:, :-1].contiguous(), weights, n_anchors)
