"""Other last steps than k-means: Leiden and spectral clustering of a fit's nearest neighbours.

The record of the trials has their protocol and what they gain.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse

import dmac
from dmac.agc.averaged_graph import AveragedGraph
from dmac.agc.solver import SpectralSolver
from dmac.compute.kmeans import kmeans
from dmac.compute.lanczos import leading_eigenpairs
from dmac.recipes import CLOSED_FORM, SpectralRecipe
from experiments import field

#: The recipe's own labels, and three others that start from the same fit.
OWN, ROWS, GRAPH, SPECTRAL = "AGC", "Leiden, rows", "Leiden, graph", "spectral, graph"
# Samples whose weights to all others are in memory at once.
_BLOCK = 1000


@dataclass(frozen=True)
class KeptGraph(SpectralRecipe):
    """A spectral recipe whose fitted model has ``graph``, the averaged graph without votes."""

    solver: ClassVar[str] = "experiments.ideas.last_step:KeptGraphSolver"


class KeptGraphSolver(SpectralSolver):
    """The spectral solver that leaves its graph, the samples in the order in which they came."""

    def outcome(self, fit, drawn, graph, stages, first, last):
        found = super().outcome(fit, drawn, graph, stages, first, last)
        found.model.graph = AveragedGraph(graph.rows[fit.prepared.back])
        return found


def neighbours(graph, k):
    """The k largest weights of every sample in an averaged graph, either way: (n, n), sparse."""
    n, transposed, parts = graph.rows.shape[0], graph.rows.T.tocsr(), []
    for start in range(0, n, _BLOCK):
        weights = (graph.rows[start : start + _BLOCK] @ transposed).toarray()
        weights[range(len(weights)), range(start, start + len(weights))] = 0
        nearest = np.argpartition(weights, -k, axis=1)[:, -k:]
        largest = np.take_along_axis(weights, nearest, 1)
        ends = np.arange(0, nearest.size + 1, k)
        parts.append(
            scipy.sparse.csr_matrix((largest.ravel(), nearest.ravel(), ends), weights.shape)
        )
    found = scipy.sparse.vstack(parts, "csr")
    found.eliminate_zeros()
    return found.maximum(found.T)


def spectral(graph, n_clusters, seed):
    """K-means of the leading eigenvectors of D^(-1/2) W D^(-1/2), in units of D^(1/2): (n,)."""
    n, degrees = graph.shape[0], np.asarray(graph.sum(1))
    inverse = 1 / np.sqrt(np.where(degrees > 0, degrees, 1))

    def product(x):
        return inverse * (graph @ (inverse * x))

    u = leading_eigenpairs(product, n, n_clusters, 1e-4, np.random.default_rng(seed))[1]
    return kmeans(inverse * u, n_clusters, seed, n_init=10).labels_


def labels_of(views, n_clusters, seed):
    """Labels (n,) of every last step by its name, and the averaged graph, of one fit.

    Parameters
    ----------
    views : list of array of shape (n, d_a)
    n_clusters : int
    seed : int
    """
    recipe = KeptGraph(**vars(CLOSED_FORM))
    model = dmac.AnchorGraphClustering(n_clusters, recipe, seed, "cpu").fit(views)
    near = neighbours(model.model_.graph, field.n_neighbors(len(model.labels_)))
    rows = field.with_graph(model.embedding_, seed).obsp["connectivities"]
    labels = {
        OWN: model.labels_,
        ROWS: field.leiden(rows, n_clusters, seed),
        GRAPH: field.leiden(near, n_clusters, seed),
        SPECTRAL: spectral(near, n_clusters, seed),
    }
    return labels, model.model_.graph
