"""Did the embedding collapse, and would data without clusters give the same? Looks without labels.

Chapter 9 of the book follows the measures of an embedding and of its anchors over training, and
tells how to read them for a fit of one's own. "Your own data" compares a fit with Gaussian data.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from dmac._types import Array, Floats, Views
from dmac.compute.threads import blas_alone
from dmac.data.checks import as_views
from dmac.data.linalg import as_dense

# Rows at a time where a copy in float64 would leave the processor's cache.
_ROWS = 8192


def _as_float64(z: Tensor | Array) -> Tensor:
    return torch.as_tensor(z).detach().to(torch.float64)


def mean_cosine(z: Tensor | Array) -> float:
    r"""Mean cosine between the rows of an embedding.

    :math:`\frac{1}{n(n-1)} \sum_{i \ne j} \cos(z_i, z_j)`, from
    :math:`\|\sum_i z_i / \|z_i\|\|^2` in O(nd). It is 1 when all rows point the same way. For unit
    rows, 1 minus it is the scatter around the mean row divided by n - 1. A common offset of rows of
    other lengths drives it to 1 too, without a collapse.

    Parameters
    ----------
    z : tensor or array of shape (n, d), n >= 2
        The embedding; a zero row has cosine 0 with every other.

    Returns
    -------
    float
        Between -1 / (n - 1) and 1.

    Raises
    ------
    ValueError
        If there are fewer than two rows.
    """
    z = torch.as_tensor(z)
    n = len(z)
    if n < 2:
        raise ValueError(f"a mean over pairs needs at least two rows, got {n}")
    sums = squares = torch.zeros((), dtype=torch.float64)
    for rows in z.split(_ROWS):
        unit = torch.nn.functional.normalize(_as_float64(rows), dim=1)
        sums = sums + unit.sum(0)
        squares = squares + unit.square().sum()
    return float((sums.square().sum() - squares) / (n * (n - 1)))


def singular_values(z: Tensor | Array, *, centred: bool = True) -> Tensor:
    """Singular values of an embedding, largest first, for chapters; no fit needs them.

    Centred, they show the shape of what is left in a collapsed embedding; their squares sum to the
    scatter around the mean row.

    Parameters
    ----------
    z : tensor or array of shape (n, d)
    centred : bool
        Subtract the mean row first: what is left is what k-means sees.

    Returns
    -------
    torch.Tensor of shape (min(n, d),), float64
    """
    z = _as_float64(z)
    return torch.linalg.svdvals(z - z.mean(0) if centred else z)


def effective_rank(z: Tensor | Array) -> float:
    r"""Effective rank of an embedding, mean row included (Roy and Vetterli 2007).

    :math:`\exp(-\sum_i p_i \log p_i)` with :math:`p_i = \sigma_i / \sum_j \sigma_j` over the
    singular values: d for an isotropic embedding, 1 when all rows are multiples of one vector.

    Parameters
    ----------
    z : tensor or array of shape (n, d)

    Returns
    -------
    float
        Between 1 and min(n, d); 0 for a zero matrix.
    """
    z = torch.as_tensor(z).detach()
    scale = torch.stack([rows.abs().max() for rows in z.split(_ROWS)]).max()
    if scale == 0:
        return 0.0
    # Through the d x d Gram matrix: O(n d^2) with a small constant, taken every epoch. It loses
    # singular values below 1e-8 of the largest, which weigh nothing in the entropy.
    gram = torch.zeros((), dtype=torch.float64)
    for rows in z.split(_ROWS):
        rows = _as_float64(rows) / scale
        gram = gram + rows.T @ rows
    p = torch.linalg.eigvalsh(gram).clamp_min(0).sqrt()
    p = p / p.sum()
    return float(torch.exp(-torch.special.xlogy(p, p).sum()))


def empty_anchors(degrees: Tensor | Array) -> int:
    r"""Number of anchors that no sample is connected to.

    Parameters
    ----------
    degrees : tensor or array of shape (m,)
        :math:`D_j = \sum_i s_{ij}`, the column sums of an anchor graph :eq:`eq:anchor-graph`
        (:meth:`dmac.anchor_graph.AnchorGraph.degrees`).

    Returns
    -------
    int
    """
    return int((torch.as_tensor(degrees) <= 0).sum())


def gaussian_like(views: Views, seed: int) -> list[Floats]:
    r"""Data without clusters: one Gaussian with the means and covariances of some views.

    With centred rows X and a matrix R of independent standard normal numbers, the rows of
    :math:`R X / \sqrt{n - 1}` have the covariance of X, within the views and between them. Views
    without negative entries get none, so that their root is taken as well. A sample that lacks a
    view lacks it here, too: its row is zeros.

    Fitting the same model to it is a check that can fail.

    Parameters
    ----------
    views : list of v array_likes of shape (n, d_a)
    seed : int

    Returns
    -------
    list of v numpy.ndarray of shape (n, d_a)
    """
    checked = as_views(views, incomplete=True)
    n = checked[0].shape[0]
    mixing = np.random.default_rng(seed).standard_normal((n, n))
    drawn = []
    for view in checked:
        present = view.presence()
        x = as_dense(view.read(slice(0, n)))[present]
        mean = x.mean(0)
        with blas_alone():
            y = mixing[:, present] @ (x - mean) / max(len(x) - 1, 1) ** 0.5 + mean
        y = y if (x < 0).any() else np.maximum(y, 0)
        y[~present] = 0
        drawn.append(y)
    return drawn
