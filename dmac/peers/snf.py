"""Similarity network fusion (SNF), Wang et al. (2014).

The book's chapter on the field says how it differs from the nine systems of the paper's comparison.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import spectral_clustering
from sklearn.metrics import euclidean_distances
from sklearn.preprocessing import StandardScaler

from dmac._parameters import POSITIVE, at_least, choice, one_of
from dmac.peers._graphs import directed_graph
from dmac.peers.base import Outcome, Peer, dense, parameters, within_one

# Distances below this share of the largest are rounding: the samples are the same.
_SAME = 1e-7


@dataclass(frozen=True)
class SNFRecord:
    """One round of :class:`SNF`.

    Attributes
    ----------
    change : float
        Mean absolute change of the entries of a row of the fused matrix, summed over the row:
        0 to 2, since rows sum to 1.
    """

    change: float


@parameters
class SNF(Peer):
    r"""Let the similarities of each view spread along the neighbours of the others.

    With Euclidean distances :math:`\rho_{ij}` of the features, and the mean
    :math:`\epsilon_{ij}` of :math:`\rho_{ij}` and of the mean distances of i and of j to their K
    nearest samples, a view has the similarities

    .. math:: w_{ij} = \exp\left(-\frac{\rho_{ij}^2}{\mu \epsilon_{ij}^2}\right).

    They make two matrices: :math:`P^v`, where :math:`p_{ii} = 1/2` and the rest of a row is the
    similarities to all others, scaled to sum 1/2; and :math:`S^v`, whose rows have the
    similarities to the K nearest samples and to itself alone, scaled to sum 1. In every one of T
    rounds

    .. math:: P^v \leftarrow S^v \Bigl( \frac{1}{V - 1} \sum_{u \ne v} P^u \Bigr) S^{vT},

    for all V views at once, and the rows get their 1/2 on the diagonal and sum 1/2 beside it again.
    Spectral clustering of the mean of the :math:`P^v` and its transpose gives the labels. A single
    view takes its own matrix for that of the others.

    Nothing is minimised. Memory :math:`O(n^2 V)`. Time :math:`O(n^2 (d + V K T))`, and
    :math:`O(n^3)` for the eigenvectors.

    Source: Wang et al. (2014), *Similarity network fusion for aggregating data types on a genomic
    scale*; public code is the R package ``SNFtool``. The paper prints :math:`\epsilon_{ij}` without
    the square: then the exponent grows with the number of features. The public code has the square,
    and with :math:`\mu = 1/2` the similarities above, but for a factor of
    :math:`1 / \epsilon_{ij}`. It advises to standardise every feature of continuous measures, as
    the paper does, and leaves that to its user. Labels are read off by scikit-learn, whose rotation
    of the eigenvectors to 0-1 rows (``assign_labels="discretize"``) is the one of the public code.
    """

    n_neighbors: int = choice(20, at_least(1), "K; as many as there are others where it is more.")
    mu: float = choice(0.5, POSITIVE, "The paper advises 0.3 to 0.8.")
    n_iterations: int = choice(20, at_least(0), "T.")
    scale: str = choice(
        "standard",
        one_of("standard", "none"),
        "Every feature with mean 0 and variance 1, as the paper has it, or as it comes.",
    )

    def memory(self, n_samples, n_features):
        """Bytes: two matrices a view and five more of n x n, two standardised copies of a view."""
        v = len(n_features)
        neighbors = 3 * v * n_samples * (self.n_neighbors + 1)
        return 8 * ((2 * v + 5) * n_samples**2 + neighbors + 2 * n_samples * max(n_features))

    def _solve(self, views, generator):
        k = min(self.n_neighbors, views[0].shape[0] - 1)
        kernels = []
        steps = []
        for x in views:
            x = dense(x)
            if self.scale == "standard":
                x = StandardScaler().fit_transform(within_one(x, 0))
            w, near = similarities(x, k, self.mu)
            kernels.append(full_kernel(w))
            steps.append(sparse_kernel(w, near))
        fused = sum(kernels) / len(kernels)
        history = []
        for _ in range(self.n_iterations):
            kernels = diffused(kernels, steps)
            before = fused
            fused = sum(kernels) / len(kernels)
            history.append(SNFRecord(float(np.abs(fused - before).sum(1).mean())))
        fused = (fused + fused.T) / 2
        if self.n_clusters == len(fused):  # as many eigenvectors as samples are refused
            return Outcome(np.arange(len(fused)), graph=fused, history=history)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Graph is not fully connected")
            labels = spectral_clustering(
                fused,
                n_clusters=self.n_clusters,
                assign_labels="discretize",
                random_state=int(generator.integers(2**31)),
            )
        return Outcome(labels, graph=fused, history=history)


def similarities(x, k, mu):
    r"""The similarities :math:`w_{ij}` of a view, and who is near.

    Parameters
    ----------
    x : numpy.ndarray of shape (n, d)
    k : int
        Neighbours, at most n - 1.
    mu : float

    Returns
    -------
    w : numpy.ndarray of shape (n, n)
        Symmetric, from 0 to 1, ones on the diagonal.
    near : numpy.ndarray of shape (n, k + 1)
        Every sample itself, then its k nearest.
    """
    x = within_one(x, None)
    distances = euclidean_distances(x - x.mean(0))  # centred, they are rounded less
    distances = (distances + distances.T) / 2
    distances[distances <= _SAME * distances.max()] = 0
    np.fill_diagonal(distances, -1)  # first, before samples that are the same
    near = np.argsort(distances, axis=1, kind="stable")[:, : k + 1]
    np.fill_diagonal(distances, 0)
    local = np.take_along_axis(distances, near[:, 1:], 1).mean(1)
    width = (local[:, None] + local + distances) / 3
    ratio = np.divide(distances, width, out=np.zeros_like(width), where=width > 0)
    return np.exp(-(ratio**2) / mu), near


def full_kernel(w):
    """A matrix with 1/2 on its diagonal, and the rest of every row scaled to sum 1/2: (n, n)."""
    w = w.copy()
    np.fill_diagonal(w, 0)
    sums = 2 * w.sum(1, keepdims=True)
    w = np.divide(w, sums, out=w, where=sums > 0)
    np.fill_diagonal(w, 0.5)
    return w


def sparse_kernel(w, near):
    """The similarities to those that are near, rows scaled to sum 1: CSR of shape (n, n)."""
    weights = np.take_along_axis(w, near, 1)
    return directed_graph(near, weights / weights.sum(1, keepdims=True))  # its own is 1


def diffused(kernels, steps):
    r"""The matrices :math:`P^v` after one more round.

    Parameters
    ----------
    kernels : list of V numpy.ndarray of shape (n, n)
        Of `full_kernel`.
    steps : list of V scipy.sparse.csr_matrix of shape (n, n)
        Of `sparse_kernel`.

    Returns
    -------
    list of V numpy.ndarray of shape (n, n)
        Rows sum to 1, with 1/2 on the diagonal.
    """
    total = sum(kernels)
    others = max(1, len(kernels) - 1)
    following = []
    for p, s in zip(kernels, steps):
        mean = (total - p) / others if len(kernels) > 1 else p
        following.append(full_kernel((s @ (s @ mean).T).T))
    return following
