"""Singular vectors of graphs to anchors, and what is connected in a graph.

The book's chapter on the field introduces the systems that need them.
"""

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.sparse.csgraph import connected_components


def components(graph):
    """The connected components of a graph on n nodes: (n,), int, numbered by first member.

    Parameters
    ----------
    graph : numpy.ndarray or scipy.sparse matrix of shape (n, n)
        Two nodes are linked if either of the two entries is not 0.
    """
    graph = scipy.sparse.csr_matrix(graph, copy=True)
    graph.eliminate_zeros()  # SciPy takes a stored zero for a link
    return connected_components(graph, directed=False)[1]


def leading_singular_vectors(graph, k):
    r"""The k leading singular triplets of an n x m matrix, from its m x m Gram matrix.

    Takes :math:`O(n m^2 + m^3)` time and :math:`O(m^2)` memory beside input and result. Singular
    values below :math:`10^{-7}` of the largest are lost in the Gram matrix: their left vectors are
    0, as are those beyond m.

    Parameters
    ----------
    graph : numpy.ndarray or scipy.sparse matrix of shape (n, m)
    k : int

    Returns
    -------
    u : numpy.ndarray of shape (n, k)
    s : numpy.ndarray of shape (k,)
        Descending.
    v : numpy.ndarray of shape (m, k)
    """
    m = graph.shape[1]
    gram = graph.T @ graph
    gram = gram.toarray() if scipy.sparse.issparse(gram) else gram
    few = min(k, m)
    squares, vectors = scipy.linalg.eigh(gram, subset_by_index=[m - few, m - 1])
    s = np.zeros(k)
    v = np.zeros((m, k))
    s[:few] = np.sqrt(np.maximum(squares[::-1], 0))
    v[:, :few] = vectors[:, ::-1]
    kept = s > 1e-7 * s[0]
    s[~kept] = 0
    return (graph @ v) * np.divide(1, s, out=np.zeros(k), where=kept), s, v


def bipartite_embedding(graph, k):
    r"""The spectral embedding of a non-negative bipartite graph Z with degrees :math:`D_1, D_2`.

    The leading singular vectors of :math:`D_1^{-1/2} Z D_2^{-1/2}`, times :math:`\sqrt{1/2}`: with
    U above V they are the k smallest eigenvectors of the normalised Laplacian of the graph on
    n + m nodes, whose eigenvalues are one minus the singular values. A node without links gets 0,
    and so do the columns of U and V beyond the rank of Z: nothing determines them.

    Parameters
    ----------
    graph : numpy.ndarray or scipy.sparse matrix of shape (n, m)
    k : int

    Returns
    -------
    u : numpy.ndarray of shape (n, k)
    v : numpy.ndarray of shape (m, k)
    s : numpy.ndarray of shape (k + 1,)
        One singular value more than there are vectors, descending.
    distances : numpy.ndarray of shape (n, m)
        :math:`\|u_i / \sqrt{d_i} - v_j / \sqrt{d_j}\|^2`.
    """
    left = _inverse_roots(graph.sum(1))
    right = _inverse_roots(graph.sum(0))
    if scipy.sparse.issparse(graph):
        scaled = scipy.sparse.diags_array(left) @ graph @ scipy.sparse.diags_array(right)
    else:
        scaled = left[:, None] * graph * right
    u, s, v = leading_singular_vectors(scaled, k + 1)
    u = np.sqrt(0.5) * u[:, :k]
    v = np.sqrt(0.5) * v[:, :k] * (s[:k] > 0)
    a = left[:, None] * u
    b = right[:, None] * v
    distances = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T
    return u, v, s, np.maximum(distances, 0)


def _inverse_roots(degrees):
    degrees = np.asarray(degrees).ravel()
    linked = degrees > 0
    return np.divide(1, np.sqrt(degrees), out=np.zeros(len(degrees)), where=linked)
