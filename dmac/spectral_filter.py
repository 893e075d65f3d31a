r"""A filter in place of the cut: eigenvectors weighed by their eigenvalues.

A cut at c columns gives the c-th eigenvector full weight and the next none, so that two directions
of nearly equal eigenvalue, of which one separates two clusters, decide by their order. Chapter 11
of the book shows it on data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dmac.data.whitening import RowNormalizer

if TYPE_CHECKING:
    from dmac._types import Array
    from dmac.recipes import Recipe


def n_columns(n: int, c: int, recipe: Recipe) -> int:
    """How many eigenvectors are computed: c for the cut, min(f c, c + e, n - 2) for the filter."""
    if recipe.filter == "cut":
        return min(c, n - 2)
    return max(2, min(round(recipe.filter_factor * c), c + recipe.filter_extra, n - 2))


def column_weights(values: Array, c: int, recipe: Recipe) -> Array:
    r"""Weights of eigenvectors by their eigenvalues, :eq:`eq:spectral-filter`.

    With :math:`\lambda_1 \ge \lambda_2 \ge \dots`,

    .. math:: w_j = \big(1 - \lambda_j + \rho\,(1 - \lambda_{c+1})\big)^{-p},

    a resolvent of the Laplacian :math:`I - G` to the power p. The offset :math:`\rho` is in units
    of the gap after which the cut would cut, so that small disconnected components, whose
    eigenvalue is 1, do not outweigh everything. The first eigenvector is constant and gets the
    weight of the c-th. With ``filter="cut"`` the first c weights are 1 and the others 0.

    Parameters
    ----------
    values : numpy.ndarray of shape (K,)
        Largest first, in [0, 1].
    c : int
    recipe : dmac.recipes.Recipe

    Returns
    -------
    numpy.ndarray of shape (K,)
        In units of the largest.
    """
    if recipe.filter == "cut":
        return (np.arange(len(values)) < c).astype(float)
    gaps = np.maximum(1 - values, 1e-6)
    weights = (gaps + recipe.filter_offset * gaps[min(c, len(gaps) - 1)]) ** -recipe.filter_power
    weights[0] = weights[min(c, len(weights)) - 1]
    return weights / weights.max()


def unit_rows(u: Array) -> Array:
    """Rows of unit length; a row of zeros stays one."""
    return RowNormalizer.with_floor(1e-9).transform(u)


def filtered(u: Array, values: Array, c: int, recipe: Recipe) -> Array:
    """Unit rows of weighed eigenvectors: (n, K) -> (n, K)."""
    return unit_rows(u * (np.sqrt(u.shape[0]) * column_weights(values, c, recipe)))
