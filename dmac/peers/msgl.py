"""Multi-view structured graph learning (MSGL), Kang et al. (2021).

The book's chapter on the field compares it with the other systems.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from dmac._parameters import FLAG, NEGATIVE, NON_NEGATIVE, choice, or_none
from dmac.compute.kmeans import kmeans
from dmac.data.whitening import RowNormalizer
from dmac.peers._simplex import solve_rows
from dmac.peers._spectral import bipartite_embedding
from dmac.peers.base import AnchorPeer, Outcome, parameters

_ITERATIONS = 30
_TOLERANCE = 1e-3
# At least so many iterations are made.
_LEAST = 6
# Of k-means, for the anchors and for the labels.
_ANCHOR_STARTS = 10
_LABEL_STARTS = 100


@dataclass(frozen=True)
class MSGLRecord:
    """One iteration of :class:`MSGL`.

    Attributes
    ----------
    objective : float
        After the iteration, with F from the graph before it.
    change : float
        Of the graph, relative to its norm.
    weights : tuple of float
        Of the views.
    gap : float
        The largest certified gap of a row's programme, relative to its scale.
    """

    objective: float
    change: float
    weights: tuple
    gap: float


@parameters
class MSGL(AnchorPeer):
    r"""Learn one bipartite graph for all views, pulled towards c connected components.

    With each view's k-means centres as anchors :math:`A^v` it minimises over the rows of Z (in the
    simplex), the weights :math:`a_v` and F with orthonormal columns

    .. math:: \sum_v a_v \|X^v - Z A^v\|_F^2 + \alpha \|Z\|_F^2
        + \beta \operatorname{tr}(F^T L_Z F) + \sum_v a_v^\gamma,

    where :math:`L_Z` is the normalised Laplacian of the graph on n + m nodes. In turn: F from the
    c leading singular vectors; with :math:`W_{ij} = \|u_i / \sqrt{d_i} - v_j / \sqrt{d_j}\|^2`
    all rows of Z, of which the trace is :math:`\sum_{ij} W_{ij} z_{ij}`; and
    :math:`a_v = (-\|X^v - Z A^v\|_F^2 / \gamma)^{1 / (\gamma - 1)}`. At most 30 times; it ends when
    Z moves by less than a thousandth. Labels are those of k-means on the samples' part of F.

    For fixed W the updates of Z and of the weights never raise the objective. The whole objective
    can rise: the degrees in W are those of the last Z.

    Memory :math:`O(n m + m^2)` beside the views. Time an iteration, with t steps of the solver,
    :math:`O(n m (t m + v m))`, and a hundred runs of k-means at the end.

    Source: Kang et al. (2021); public code in the repository ``sckangz/SGL``, folder ``MSGL``. As
    there, the anchors of each view are found alone, though all views share one column of Z per
    anchor: anchor j of one view has nothing to do with anchor j of another. The data are prepared
    by their user there; here rows are scaled to unit length unless ``normalize`` is False. The
    defaults of m, alpha and gamma are the smallest values of the grid in the public demonstration,
    for all data; there they are chosen with the labels. Its beta is from 5e4 up, for features that
    are not scaled. With unit rows the fit is about n at most and the trace c, so that n / c makes
    them equally heavy, and the trace falls soonest where a few samples are cut off: on PIE, with
    680 samples in 68 clusters, 62 of 63 pieces then hold three or fewer. The default is 1, as of
    alpha: the trace decides where the fit does not.
    """

    alpha: float = choice(1.0, NON_NEGATIVE, "Weight of the squared norm of Z.")
    beta: float | None = choice(1.0, or_none(NON_NEGATIVE), "Weight of the trace; None is n / c.")
    gamma: float = choice(-5.0, NEGATIVE, "Power of the weights of the views.")
    normalize: bool = choice(
        True, FLAG, "Scale rows to unit length (:class:`dmac.data.whitening.RowNormalizer`)."
    )

    def memory(self, n_samples, n_features):
        """Bytes: views with unit rows, their products with the anchors, some copies of Z."""
        m = self._anchors(n_samples)
        v = len(n_features)
        copies = n_samples * (m * (v + 10) + sum(n_features) + 4 * self.n_clusters)
        return 8 * (copies + (v + 6) * m**2)

    def _solve(self, views, generator):
        n = views[0].shape[0]
        v = len(views)
        c = self.n_clusters
        m = self._anchors(n)
        if self.normalize:
            views = [RowNormalizer().fit_transform(x) for x in views]
        seeds = generator.integers(2**31, size=v).tolist()
        fits = [
            _Fit(x, kmeans(x, m, seed, _ANCHOR_STARTS).cluster_centers_)
            for x, seed in zip(views, seeds)
        ]
        z = np.full((n, m), 1 / m)
        weights = np.full(v, 1 / v)
        history = []
        for iteration in range(1, _ITERATIONS + 1):
            distances = bipartite_embedding(z, c)[3]
            old = z
            solution = self._graph(fits, weights, distances, old)
            z = solution.z
            weights = self._weights(fits, z)
            change = np.linalg.norm(z - old) / np.linalg.norm(old)
            objective = self._objective(fits, z, weights, distances)
            history.append(
                MSGLRecord(
                    objective,
                    float(change),
                    tuple(weights.tolist()),
                    float(solution.gap.max()),
                )
            )
            if iteration >= _LEAST and change < _TOLERANCE:
                break
        embedding = bipartite_embedding(z, c)[0]
        labels = kmeans(embedding, c, int(generator.integers(2**31)), _LABEL_STARTS).labels_
        return Outcome(labels, embedding, z, history, bipartite=True)

    def _graph(self, fits, weights, distances, start):
        """The rows of Z for fixed weights and W."""
        hessian = 2 * self.alpha * np.eye(distances.shape[1])
        linear = self._beta(len(distances)) * distances
        for a, fit in zip(weights, fits):
            hessian += 2 * a * fit.gram
            linear -= 2 * a * fit.products
        return solve_rows(hessian, linear, start=start)

    def _weights(self, fits, z):
        # A view without residual would get an infinite weight.
        residuals = np.maximum([fit.residual(z) for fit in fits], [fit.floor for fit in fits])
        return (-residuals / self.gamma) ** (1 / (self.gamma - 1))

    def _objective(self, fits, z, weights, distances):
        """The objective for F, and with it W, as they are."""
        fit = sum(a * part.residual(z) for a, part in zip(weights, fits))
        penalties = self.alpha * (z**2).sum() + self._beta(len(z)) * (z * distances).sum()
        return float(fit + penalties + (weights**self.gamma).sum())

    def _beta(self, n):
        return n / self.n_clusters if self.beta is None else self.beta


class _Fit:
    """One view and its anchors, as far as the objective needs them."""

    def __init__(self, x, anchors):
        self.gram = anchors @ anchors.T
        self.products = np.asarray(x @ anchors.T)
        self.squares = x.multiply(x).sum() if scipy.sparse.issparse(x) else (x**2).sum()
        self.floor = max(1e-12 * self.squares, 1e-12)

    def residual(self, z):
        r""":math:`\|X - Z A\|_F^2`."""
        value = self.squares + ((z @ self.gram - 2 * self.products) * z).sum()
        return max(float(value), 0.0)
