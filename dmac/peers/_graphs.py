"""Nearest-neighbour graphs and what graph convolutions need of them, in SciPy.

The book's chapter on the field uses them in three of the systems that it compares.
"""

import numpy as np
import scipy.sparse
from sklearn.neighbors import NearestNeighbors

#: Distances that work on arrays and on CSR matrices.
METRICS = ("euclidean", "cosine", "manhattan")

# Rows of a product of two graphs at a time: it has up to k^2 entries a row.
_ROWS = 1024


def nearest_neighbors(x, n_neighbors, metric="euclidean"):
    """The k nearest other samples of every sample, nearest first.

    Parameters
    ----------
    x : numpy.ndarray or scipy.sparse.csr_matrix of shape (n, d)
    n_neighbors : int
        k. At most a quarter of the samples is taken, and at least one: k is chosen for hundreds of
        samples, and in a handful it would join everything.
    metric : str
        One of ``METRICS``.

    Returns
    -------
    numpy.ndarray of shape (n, k), int64
    """
    k = min(n_neighbors, max(1, x.shape[0] // 4))
    # Without an argument a sample is not its own neighbour, though others coincide with it.
    return (
        NearestNeighbors(n_neighbors=k, metric=metric, algorithm="brute")
        .fit(x)
        .kneighbors(return_distance=False)
    )


def directed_graph(neighbors, weights=None):
    """Neighbours (n, k) as CSR (n, n): row i has their weights (n, k), or ones, at those of i."""
    n, k = neighbors.shape
    weights = np.ones(n * k) if weights is None else weights.ravel()
    indptr = np.arange(0, n * k + 1, k)
    return scipy.sparse.csr_matrix((weights, neighbors.ravel(), indptr), shape=(n, n))


def mutual_graph(neighbors, min_common=2):
    """Join i and j if each is the other's neighbour and they share neighbours in that graph.

    A mutual edge is kept if its ends have at least ``min_common`` mutual neighbours in common:
    an edge between two clusters rarely closes triangles. Memory is O(n k), time O(n k^2).

    Parameters
    ----------
    neighbors : numpy.ndarray of shape (n, k)
    min_common : int
        0 keeps all mutual edges.

    Returns
    -------
    scipy.sparse.csr_matrix of shape (n, n)
        Symmetric, zeros and ones, diagonal zero. It may have no edge at all.
    """
    graph = directed_graph(neighbors)
    graph = graph.multiply(graph.T).tocsr()
    if min_common <= 0:
        return graph
    blocks = []
    for start in range(0, graph.shape[0], _ROWS):
        rows = graph[start : start + _ROWS]
        shared = (rows @ graph).multiply(rows).tocsr()
        shared.data = (shared.data >= min_common).astype(float)
        blocks.append(shared)
    kept = scipy.sparse.vstack(blocks, format="csr")
    kept.eliminate_zeros()
    return kept


def normalized(graph):
    r"""The operator of a graph convolution, :math:`D^{-1/2} (A + I) D^{-1/2}`.

    D holds the row sums of A + I, so an isolated sample is left as it is.

    Parameters
    ----------
    graph : scipy.sparse.csr_matrix of shape (n, n)
        A, symmetric and non-negative.

    Returns
    -------
    scipy.sparse.csr_matrix of shape (n, n)
        Symmetric, eigenvalues in (-1, 1].
    """
    looped = graph + scipy.sparse.eye_array(graph.shape[0])
    root = scipy.sparse.diags_array(1 / np.sqrt(np.asarray(looped.sum(1)).ravel()))
    return scipy.sparse.csr_matrix(root @ looped @ root)
