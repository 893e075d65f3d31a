"""Unified and discrete bipartite graph learning (UDBGL), Fang et al. (2023).

The book's chapter on the field compares it with the other systems.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from dmac._parameters import NON_NEGATIVE, at_least, choice, one_of, or_none
from dmac.compute.kmeans import kmeans
from dmac.data.whitening import RowNormalizer
from dmac.peers._simplex import project_rows, solve_rows
from dmac.peers._spectral import bipartite_embedding, components
from dmac.peers.base import AnchorPeer, Outcome, dense, parameters, unit_range

_OUTER = 20
_INNER = 50
_TOLERANCE = 1e-5
# Of a sum of singular values, from the number it would have with so many components.
_CONNECTED = 1e-7
_START_PENALTY = 0.1
_STARTS = 2
# Anchors of every sample in the graph that iterations start from.
_NEIGHBORS = 5


def bipartite_components(graph):
    """The connected components of a bipartite graph, as the samples see them.

    Parameters
    ----------
    graph : numpy.ndarray or scipy.sparse matrix of shape (n, m)
        Its rows are the samples.

    Returns
    -------
    numpy.ndarray of shape (n,), int
        Numbers from 0 without a gap: a component without samples is not counted.
    """
    graph = scipy.sparse.csr_matrix(graph)
    both = scipy.sparse.block_array([[None, graph], [graph.T, None]], format="csr")
    return np.unique(components(both)[: graph.shape[0]], return_inverse=True)[1]


@dataclass(frozen=True)
class UDBGLRecord:
    """One outer iteration of :class:`UDBGL`.

    Attributes
    ----------
    objective : float
    weights : tuple of float
        delta, of the views.
    n_components : int
        Of the fused graph, counted where there are samples.
    inner : int
        Iterations of the co-clustering.
    gap : float
        The largest certified gap of a row's programme, relative to its scale.
    """

    objective: float
    weights: tuple
    n_components: int
    inner: int
    gap: float


@parameters
class UDBGL(AnchorPeer):
    r"""One bipartite graph a view and one of all, whose c connected components are the clusters.

    It minimises over the graphs :math:`Z^v` and P (rows of all in the simplex) and the weights
    :math:`\delta` (in the simplex)

    .. math:: \sum_v \big( \|X^v - Z^v A^v\|_F^2 + \alpha \|Z^v\|_F^2 \big)
        + \beta \Big\| \sum_v \delta_v Z^v - P \Big\|_F^2

    where the graph P on n + m nodes has c components. The anchors are k-means centres of the views
    side by side, cut into views, so that anchor j is the same in all. In turn: P by co-clustering
    the fused graph (below), each :math:`Z^v`, then :math:`\delta`. The steps for :math:`Z^v` and
    :math:`\delta` never raise the objective; that for P, which has to satisfy the constraint, can.
    Before, every feature is scaled to [0, 1], or every row to unit length (``scale``).

    Co-clustering a graph B repeats: rows of B minus :math:`\tfrac\lambda2` times the squared
    distances of the degree-scaled spectral embedding of the current graph, projected on the simplex
    over the links of B; the same for columns; the mean of the two is the current graph. With fewer
    than c components :math:`\lambda` doubles; with more than c it halves, and the embedding before
    is taken again; with c it ends, after at most 50 times. The rows of the result are scaled to sum
    to 1. The labels are its components: there is no k-means, and their number can end up other
    than c. All this at most 20 times; it ends when the objective or :math:`\delta` moves by less
    than 1e-5. Counts of long and short documents ask for ``scale="rows"``: the range of a feature
    says nothing of the length of a sample, and with anchors at the long documents nearly all others
    end in one cluster.

    Memory :math:`O(n m v + n \sum_v d_v)`. Time an outer iteration, with t steps of the solver,
    :math:`O(n m^2 t v)`, and at most 50 times :math:`O(n m^2 + n m \log n)`.

    Source: Fang et al. (2023); public code in the repository ``huangdonghere/UDBGL``. It tests for
    more than c components with the sum of c singular values instead of c + 1, so that its
    co-clustering always runs to the last iteration; and it starts it with made-up degrees. Both
    are as derived here: c + 1, and the degrees of the graph.
    """

    n_anchors: int | None = choice(None, or_none(at_least(2)), "m, from c to n; None is c.")
    alpha: float = choice(1e-3, NON_NEGATIVE, "Weight of the squared norms of the graphs.")
    beta: float = choice(
        1e-5, NON_NEGATIVE, "Weight of the distance between the fused graph and P."
    )
    scale: str = choice(
        "range",
        one_of("range", "rows"),
        "Every feature to [0, 1], as the public code has it, or every row to unit length.",
    )

    def memory(self, n_samples, n_features):
        """Bytes: views as arrays, side by side and for k-means, the graphs of all views."""
        m = self._anchors(n_samples)
        v = len(n_features)
        return 8 * n_samples * (3 * sum(n_features) + m * (2 * v + 12))

    def _solve(self, views, generator):
        v = len(views)
        c = self.n_clusters
        rows = self.scale == "rows"
        views = [
            RowNormalizer().fit_transform(dense(x)) if rows else unit_range(dense(x), constant=1.0)
            for x in views
        ]
        m = self._anchors(len(views[0]))
        seed = int(generator.integers(2**31))
        anchors = kmeans(np.hstack(views), m, seed, _STARTS).cluster_centers_
        anchors = np.split(anchors, np.cumsum([x.shape[1] for x in views])[:-1], axis=1)
        grams = [a @ a.T for a in anchors]
        products = [x @ a.T for x, a in zip(views, anchors)]
        squares = sum((x**2).sum() for x in views)

        def objective(z, delta, p):
            fits = sum(
                ((part @ gram - 2 * product + self.alpha * part) * part).sum()
                for part, gram, product in zip(z, grams, products)
            )
            return float(squares + fits + self.beta * ((_fused(z, delta) - p) ** 2).sum())

        z = [_nearest_anchors(x, a) for x, a in zip(views, anchors)]
        delta = np.full(v, 1 / v)
        p, _ = cocluster(_fused(z, delta), c)
        values = [objective(z, delta, p)]
        history = []
        for _ in range(_OUTER):
            gaps = []
            for a in range(v):
                solution = self._graph(z, delta, p, a, grams[a], products[a])
                z[a] = solution.z
                gaps.append(float(solution.gap.max()))
            old = delta
            delta = _view_weights(z, p)
            p, inner = cocluster(_fused(z, delta), c)
            values.append(objective(z, delta, p))
            labels = bipartite_components(p)
            history.append(
                UDBGLRecord(
                    values[-1],
                    tuple(delta.tolist()),
                    int(labels.max()) + 1,
                    inner,
                    max(gaps),
                )
            )
            if min(abs(values[-2] - values[-1]), np.linalg.norm(delta - old)) < _TOLERANCE:
                break
        return Outcome(labels, graph=p, history=history, bipartite=True)

    def _graph(self, z, delta, p, a, gram, products):
        """The graph of view a, all else fixed."""
        others = _fused(z, delta) - delta[a] * z[a] - p
        hessian = 2 * (gram + (self.alpha + self.beta * delta[a] ** 2) * np.eye(len(gram)))
        linear = 2 * (self.beta * delta[a] * others - products)
        return solve_rows(hessian, linear, start=z[a])

    def _anchors(self, n):
        return self.n_clusters if self.n_anchors is None else self.n_anchors


def cocluster(graph, n_clusters):
    """Change a bipartite graph as little as possible so that it has c connected components.

    :class:`UDBGL` says how.

    Parameters
    ----------
    graph : numpy.ndarray of shape (n, m)
        Non-negative, with a link in every row.
    n_clusters : int
        c.

    Returns
    -------
    p : numpy.ndarray of shape (n, m)
        Rows in the simplex, links only where ``graph`` has one.
    iterations : int
    """
    penalty = _START_PENALTY
    links = graph > 0
    linked = links.any(0)  # a column without links stays so
    distances = bipartite_embedding(graph, n_clusters)[3]
    for iteration in range(1, _INNER + 1):  # noqa: B007, the last one is returned
        moved = graph - penalty / 2 * distances
        both = project_rows(moved, links)
        both[:, linked] += project_rows(moved[:, linked].T, links[:, linked].T).T
        both /= 2
        _, _, s, new = bipartite_embedding(both, n_clusters)
        if s[:n_clusters].sum() < n_clusters - _CONNECTED:
            penalty *= 2
            distances = new
        elif s.sum() > n_clusters + 1 - _CONNECTED:
            penalty /= 2
        else:
            break
    return both / both.sum(1, keepdims=True), iteration


def _fused(z, delta):
    return sum(d * part for d, part in zip(delta, z))


def _view_weights(z, p):
    r"""The minimiser of :math:`\|\sum_v \delta_v Z^v - P\|_F^2` over the simplex."""
    flat = np.stack([part.ravel() for part in z])
    return solve_rows(2 * flat @ flat.T, -2 * (flat @ p.ravel())[None], tol=1e-12).z[0]


def _nearest_anchors(x, anchors):
    """Gaussian weights of every sample's nearest anchors; rows sum to 1."""
    d2 = (x**2).sum(1)[:, None] + (anchors**2).sum(1) - 2 * x @ anchors.T
    d2 = np.maximum(d2, 0)
    count = min(_NEIGHBORS, len(anchors))
    near = np.argpartition(d2, count - 1, axis=1)[:, :count]
    some = np.take_along_axis(d2, near, 1)
    some -= some.min(1, keepdims=True)  # changes no weight, and not all of them can underflow
    width = 2 * d2.mean() ** 2
    weights = np.exp(-some / width) if width > 0 else np.ones_like(some)
    graph = np.zeros_like(d2)
    np.put_along_axis(graph, near, weights / weights.sum(1, keepdims=True), 1)
    return graph
