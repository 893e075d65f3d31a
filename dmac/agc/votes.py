"""The filter of the eigenvectors, votes on the graph, and the guard that may refuse these.

A cut at c eigenvectors gives the c-th full weight and the next none, so that of two directions of
nearly equal eigenvalue the order decides which one separates clusters. The filter weighs
eigenvectors by their eigenvalues instead.

In a round the rows of a ballot join every block, fresh anchors are drawn there, and the graph of
these joins the first one in equal parts. It sharpens what is there, which helps where clusters are
small, and can merge two of them where they are few; the guard compares both outcomes on the graph
without votes. Chapter 12 of the book shows both.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from dmac._types import Array
from dmac.agc.averaged_graph import AveragedGraph
from dmac.data.linalg import signed
from dmac.data.whitening import RowNormalizer
from dmac.recipes import SpectralRecipe

# Weight of the constant eigenvector in `ratio_rows`.
_CONSTANT_WEIGHT = 30.0


def n_columns(n: int, c: int, recipe: SpectralRecipe) -> int:
    """How many eigenvectors are computed: c for the cut, min(f c, c + e, n - 2) for the filter."""
    if recipe.filter == "cut":
        return min(c, n - 2)
    return max(2, min(round(recipe.filter_factor * c), c + recipe.filter_extra, n - 2))


def column_weights(values: Array, c: int, recipe: SpectralRecipe) -> Array:
    r"""Weights of eigenvectors by their eigenvalues, :eq:`eq:spectral-filter`.

    With :math:`\lambda_1 \ge \lambda_2 \ge \dots`,

    .. math:: w_j = (1 - \lambda_j + \tau)^{-p}, \qquad \tau = \nu\,(1 - \lambda_{c+1}),

    a resolvent of the Laplacian :math:`I - G` to the power p. The offset :math:`\nu` is in units
    of the gap after which the cut would cut, so that small disconnected components, whose
    eigenvalue is 1, do not outweigh everything. The first eigenvector is constant and gets the
    weight of the c-th. With ``filter="cut"`` the first c weights are 1 and the others 0.

    Parameters
    ----------
    values : numpy.ndarray of shape (K,)
        Largest first, in [0, 1].
    c : int
    recipe : dmac.recipes.SpectralRecipe

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


def unit_rows(u: Array, weights: Array | float = 1.0) -> Array:
    """Rows of unit length, their columns weighed before; a row of zeros stays one."""
    return RowNormalizer(1e-9).transform(u * weights)


def filtered(u: Array, values: Array, c: int, recipe: SpectralRecipe) -> Array:
    """Unit rows of weighed eigenvectors: (n, K) -> (n, K)."""
    return unit_rows(u, np.sqrt(u.shape[0]) * column_weights(values, c, recipe))


def ratio_rows(u: Array) -> Array:
    """Unit rows of the first c eigenvectors, led by the constant one: (n, c) -> (n, c).

    Its weight makes a row of unit length nearly the ratios of the others to it, in one scale
    (Jin 2015), so that a small group, whose entries are large, stays as far off as it is.
    """
    return unit_rows(u, np.r_[_CONSTANT_WEIGHT, np.ones(u.shape[1] - 1)] * np.sqrt(len(u)))


def voters(recipe: SpectralRecipe) -> tuple[str, ...]:
    """The ballots of a round, each of which gets a graph of its own."""
    return ("filtered", "learned") if recipe.vote_form == "both" else (recipe.vote_form,)


def ballot(
    voter: str,
    u: Array,
    values: Array,
    features: Array,
    weight: Array | None,
    c: int,
    recipe: SpectralRecipe,
) -> Array:
    """Columns that a voter adds to every block, rows of length ``vote_weight``: -> (n, q).

    Parameters
    ----------
    voter : {"flat", "filtered", "learned"}
        Unit rows of the first c eigenvectors, all of equal weight; the rows that k-means would see;
        or unit rows of the learned functions.
    u : numpy.ndarray of shape (n, K)
        Eigenvectors of the graph so far.
    values : numpy.ndarray of shape (K,)
    features : numpy.ndarray of shape (n, r)
        All features side by side.
    weight : numpy.ndarray of shape (r + 1, c) or None
        From `learned_map`.
    c : int
    recipe : dmac.recipes.SpectralRecipe

    Returns
    -------
    numpy.ndarray of shape (n, q)
        q is K for "filtered" and c otherwise.
    """
    if voter == "filtered":
        out = filtered(u, values, c, recipe)
    elif voter == "learned" and weight is not None:
        out = unit_rows(features @ weight[:-1] + weight[-1])
    else:
        out = unit_rows(u[:, :c], np.sqrt(len(u)))
    out *= recipe.vote_weight
    return out


def learned_map(features: Array, graph: AveragedGraph, c: int, ridge: float) -> Array:
    r"""Linear functions of all views' features, smooth on the averaged graph: :eq:`eq:learned-map`.

    With :math:`F = [H, 1]` the c leading solutions of

    .. math:: F^T G F w = \lambda \, (F^T F + \rho\, n\, \bar\mu I)\, w,

    where :math:`\bar\mu` is the mean of the diagonal of :math:`F^T F / n`. A direction in which
    one view varies and the graph of all does not is noise, and gets no weight: so what is learned
    from one view depends on what the others say. It is the eigenproblem of
    :func:`dmac.structure.closed_form_projection`, with a ridge that shrinks.

    Parameters
    ----------
    features : numpy.ndarray of shape (n, r)
        H.
    graph : dmac.agc.averaged_graph.AveragedGraph
        G.
    c : int
    ridge : float
        :math:`\rho`.

    Returns
    -------
    numpy.ndarray of shape (r + 1, c)
        The last row is the constant's. Fewer than c columns if r + 1 is below c.
    """
    n = len(features)
    f = np.column_stack([features, np.ones(n)])
    moment, carried = f.T @ (graph.shares[:, None] * f) / n, graph.to_anchors(f)
    moment += ridge * np.trace(moment) / len(moment) * np.eye(len(moment))
    smoothed = carried.T @ carried / n
    last = len(moment) - 1
    w = eigh(smoothed, moment, subset_by_index=[max(0, last - c + 1), last])[1]
    return signed(w[:, ::-1].T).T


def association(graph: AveragedGraph, labels: Array, c: int) -> float:
    r"""How far a step on G stays in its cluster, clusters of all sizes alike.

    .. math:: a(q) = \frac{1}{c - 1} \Big( \sum_k \frac{1_k^T G 1_k}{1_k^T R 1_k} - 1 \Big)
        \le \frac{1}{c - 1} \sum_{j=2}^{c} \lambda_j ,

    with the shares :math:`r_i` on the diagonal of R. Source: the normalised association of Shi and
    Malik (2000); the bound is Ky Fan's.

    Parameters
    ----------
    graph : dmac.agc.averaged_graph.AveragedGraph
    labels : numpy.ndarray of shape (n,)
        Integers from 0.
    c : int
        The number of clusters, of which some may be empty.

    Returns
    -------
    float
        At most 1.
    """
    indicator = np.eye(int(labels.max()) + 1)[labels]
    stays = (graph.to_anchors(indicator) ** 2).sum(0)
    sizes = graph.shares @ indicator
    return float((stays[sizes > 0] / sizes[sizes > 0]).sum() - 1) / (c - 1)


def markov_stability(graph: AveragedGraph, labels: Array, time: int) -> float:
    r"""How much longer than by chance a random walk on G stays: :eq:`eq:markov-stability`.

    .. math:: r_t(q) = \frac1n \sum_k 1_k^T G^t 1_k - \sum_k (n_k / n)^2,

    for an even time t as :math:`\|G^{t/2} 1_k\|^2`. Where samples have shares :math:`r_i` of the
    graph (:class:`dmac.agc.averaged_graph.AveragedGraph`), the walk is that of
    :math:`R^{-1} G`, and they are counted by :math:`r_i`.
    Source: Delvenne, Yaliraki and Barahona (2010).

    Parameters
    ----------
    graph : dmac.agc.averaged_graph.AveragedGraph
    labels : numpy.ndarray of shape (n,)
        Integers from 0.
    time : int
        Even.

    Returns
    -------
    float
        Between 0 and 1.
    """
    indicator = np.eye(int(labels.max()) + 1)[labels]
    walked, r = indicator, graph.shares[:, None]
    for _ in range(time // 2):
        walked = np.divide(graph @ walked, r, out=np.zeros_like(walked), where=r > 0)
    stays, sizes = (r * walked**2).sum(0), (r * indicator).sum(0)
    n = sizes.sum()
    return float((stays / n - (sizes / n) ** 2).sum())
