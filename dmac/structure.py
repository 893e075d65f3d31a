"""Structure preservation: the full sample graph behind an anchor graph, and its trace form.

Chapter 7 of the book derives the trace form, its factor 2, and why the graph is never formed.
Chapter 11 minimises it in closed form under a constraint.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from dmac.anchor_graph import AnchorGraph, column_sums, row_sums, rows_in_cache, sampled_products


def structure_preservation_loss(z: Tensor, graph: AnchorGraph) -> Tensor:
    r"""Smoothness of an embedding on the sample graph :math:`G = S D_S^{-1} S^T`.

    The trace form :eq:`eq:trace-form`,

    .. math:: L_{SP} = \mathrm{Tr}\big(Z^T (I - S D_S^{-1} S^T) Z\big)
              = \|Z\|_F^2 - \sum_j \frac{\|(S^T Z)_j\|^2}{D_j},

    which is half the double sum :math:`\sum_{ij} g_{ij} \|z_i - z_j\|^2`, :eq:`eq:pairs-form`, in
    O(n k d). G, :eq:`eq:sample-graph`, is doubly stochastic, so moving every row of Z by the same
    vector changes nothing; the mean row is subtracted first, because in a collapsed embedding the
    difference of the two terms would lose all its digits.

    Source: Eqs. 14, 15 and 19 of the paper.

    Parameters
    ----------
    z : torch.Tensor of shape (n, d)
        The fused embedding.
    graph : AnchorGraph
        n samples, m anchors; an anchor without samples contributes nothing.

    Returns
    -------
    torch.Tensor of shape ()
        At least 0 up to rounding, a sum over samples (not divided by n).
    """
    mean = z.detach().mean(0)
    squares, sums = _CentredSums.apply(z, mean, graph.indices, graph.weights, graph.n_anchors)
    return squares - (sums.square().sum(1) * graph.inverse_degrees()).sum()


class _CentredSums(torch.autograd.Function):
    r"""The sums of the trace form, :math:`\|Y\|_F^2` and :math:`S^T Y` with Y = Z - mean.

    Blocks of rows, so that neither pass has another table of the size of Z than the gradient.
    """

    @staticmethod
    def forward(
        ctx: Any, z: Tensor, centre: Tensor, indices: Tensor, weights: Tensor, n_anchors: int
    ) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(z, centre, indices, weights)
        squares, sums = z.new_zeros(()), z.new_zeros(n_anchors, z.shape[1])
        for rows in rows_in_cache(len(z)):
            y = z[rows] - centre
            squares += y.square().sum()
            sums += column_sums(indices[rows], weights[rows], y, n_anchors)
        return squares, sums

    @staticmethod
    def backward(ctx: Any, d_squares: Tensor, d_sums: Tensor) -> tuple[Tensor | None, ...]:
        z, centre, indices, weights = ctx.saved_tensors
        dz, d_weights = torch.empty_like(z), None
        if ctx.needs_input_grad[3]:
            d_weights = torch.empty_like(weights)
        for rows in rows_in_cache(len(z)):
            y = z[rows] - centre
            dz[rows] = 2 * d_squares * y + row_sums(indices[rows], weights[rows], d_sums)
            if d_weights is not None:
                d_weights[rows] = sampled_products(indices[rows], y, d_sums)
        return dz, None, None, d_weights, None


def closed_form_projection(
    h: Tensor, graphs: Sequence[AnchorGraph], n_components: int, ridge: float = 1e-6
) -> tuple[Tensor, Tensor]:
    r"""The linear embedding that minimises the structure loss under orthonormality.

    With :math:`F = [H, 1]` and :math:`G` the average of the sample graphs
    :math:`S D_S^{-1} S^T` over anchor sets,

    .. math:: \min_W \mathrm{Tr}\big(W^T F^T (I - G) F W\big)
              \quad \text{subject to} \quad W^T F^T F W = n I,

    a generalised eigenproblem of the size of F's width: no n x n matrix is formed, since
    :math:`F^T G F = \sum_{sets} (S^T F)^T D_S^{-1} (S^T F)`. For one set the loss is
    :eq:`eq:trace-form`.

    Source: locality preserving projections (He and Niyogi 2003) on the graph
    :eq:`eq:sample-graph`.

    Parameters
    ----------
    h : torch.Tensor of shape (n, r)
    graphs : list of AnchorGraph
        Of the same n samples; each gets the same weight.
    n_components : int
        d. Columns beyond r + 1 are zero.
    ridge : float
        Added to :math:`F^T F / n`, in units of the mean of its diagonal.

    Returns
    -------
    weight : torch.Tensor of shape (r, d)
    bias : torch.Tensor of shape (d,)
        In the type of ``h``; columns by decreasing eigenvalue of G, the first is constant.
    """
    f = torch.cat([h, h.new_ones(len(h), 1)], 1).double()
    n = len(f)
    moment = f.T @ f / n
    moment += ridge * moment.diagonal().mean() * torch.eye(len(moment)).to(moment)
    smoothed = torch.zeros_like(moment)
    for graph in graphs:
        exact = AnchorGraph(graph.indices, graph.weights.double(), graph.n_anchors)
        t = exact.to_anchors(f) * exact.inverse_degrees().sqrt()[:, None]
        smoothed += t.T @ t / (n * len(graphs))
    factor = torch.linalg.cholesky(moment)
    half = torch.linalg.solve_triangular(factor, smoothed, upper=False)
    whole = torch.linalg.solve_triangular(factor, half.T, upper=False)
    vectors = torch.linalg.eigh((whole + whole.T) / 2).eigenvectors.flip(1)[:, :n_components]
    w = torch.linalg.solve_triangular(factor.T, vectors, upper=True)
    w = torch.nn.functional.pad(w, (0, n_components - w.shape[1])).to(h.dtype)
    return w[:-1], w[-1]
