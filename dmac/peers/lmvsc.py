"""Large-scale multi-view subspace clustering (LMVSC), Kang et al. (2020).

The book's chapter on the field compares it with the other systems.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from dmac._parameters import FLAG, NON_NEGATIVE, choice
from dmac.compute.kmeans import kmeans
from dmac.data.whitening import RowNormalizer
from dmac.peers._simplex import solve_rows
from dmac.peers._spectral import leading_singular_vectors
from dmac.peers.base import AnchorPeer, Outcome, parameters

# Of k-means, for the anchors and for the labels.
_STARTS = 10


@dataclass(frozen=True)
class LMVSCRecord:
    """One view of :class:`LMVSC`: how its quadratic programmes ended.

    Attributes
    ----------
    view : int
        From 1.
    objective : float
        The view's part of the objective.
    iterations : int
        The most that any sample took.
    gap : float
        The largest certified gap to the minimum, relative to the scale of its sample.
    """

    view: int
    objective: float
    iterations: int
    gap: float


@parameters
class LMVSC(AnchorPeer):
    r"""Write every sample as a mean of each view's anchors, and cluster the weights of all views.

    The anchors :math:`A^v` are each view's k-means centres. The weights of every sample solve

    .. math:: \min_{z \ge 0,\ z^T 1 = 1} \|x^v_i - (A^v)^T z\|^2 + \alpha \|z\|^2,

    and k-means on the c leading left singular vectors of :math:`(Z^1, \dots, Z^v) / \sqrt v` gives
    the labels.

    Memory :math:`O(n m v + m^2 v^2)` beside the views. Time, with t iterations of the solver,
    :math:`O(n m (d + v (t m + m v)))` and :math:`O(m^3 v^3)`, and twenty runs of k-means.

    Source: Kang et al. (2020); public code in the repository ``sckangz/LMVSC``. It leaves the
    preparation of the data to its user and asks a general solver for one sample's weights at a
    time. Here rows are scaled to unit length unless ``normalize`` is False, which puts the views
    and :math:`\alpha` on one scale, and all samples are solved together. The paper chooses m from
    {c, 50, 100} and alpha from {0.01, 1, 100} by looking at the labels; the defaults here are
    the finest of those graphs and the middle alpha, for all data.
    """

    alpha: float = choice(1.0, NON_NEGATIVE, "Weight of the squared norm of z.")
    normalize: bool = choice(
        True, FLAG, "Scale rows to unit length (:class:`dmac.data.whitening.RowNormalizer`)."
    )

    def memory(self, n_samples, n_features):
        """Bytes: the weights of all views, the linear terms of one, one view with unit rows."""
        m = self._anchors(n_samples)
        mv = m * len(n_features)
        wide = 3 * n_samples * max(n_features)
        return 8 * (n_samples * (2 * mv + 4 * m) + 4 * mv**2 + wide)

    def _solve(self, views, generator):
        n = views[0].shape[0]
        m = self._anchors(n)
        graph = np.empty((n, m * len(views)))
        history = []
        for a, x in enumerate(views):
            x = RowNormalizer().fit_transform(x) if self.normalize else x
            anchors = kmeans(x, m, int(generator.integers(2**31)), _STARTS).cluster_centers_
            hessian = 2 * (self.alpha * np.eye(m) + anchors @ anchors.T)
            linear = -2 * np.asarray(x @ anchors.T)
            solution = solve_rows(hessian, linear)
            graph[:, a * m : (a + 1) * m] = solution.z
            squares = x.multiply(x).sum() if scipy.sparse.issparse(x) else (x**2).sum()
            objective = squares + ((0.5 * solution.z @ hessian + linear) * solution.z).sum()
            history.append(
                LMVSCRecord(a + 1, float(objective), solution.iterations, float(solution.gap.max()))
            )
        graph /= np.sqrt(len(views))
        embedding = leading_singular_vectors(graph, self.n_clusters)[0]
        labels = kmeans(embedding, self.n_clusters, int(generator.integers(2**31)), _STARTS).labels_
        return Outcome(labels, embedding, graph, history, bipartite=True)
