"""Eigenvectors of graphs, and what is connected in them.

Chapter 13 of the book introduces the systems that need them.
"""

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh

# Up to so many nodes in one component a dense solver is the faster one.
_DENSE = 700


def components(graph):
    """The connected components of a graph on n nodes: (n,), int, numbered by first member.

    Parameters
    ----------
    graph : numpy.ndarray or scipy.sparse matrix of shape (n, n)
        Two nodes are linked if either of the two entries is not 0.
    """
    return connected_components(_links(graph), directed=False)[1]


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
    graph = _links(graph)
    both = scipy.sparse.block_array([[None, graph], [graph.T, None]], format="csr")
    found = connected_components(both, directed=False)[1][: graph.shape[0]]
    return np.unique(found, return_inverse=True)[1]


def _links(graph):
    """A copy as CSR that stores no zero: SciPy takes a stored one for a link."""
    graph = scipy.sparse.csr_matrix(graph, copy=True)
    graph.eliminate_zeros()
    return graph


def laplacian(graph):
    r"""The Laplacian :math:`D - (G + G^T) / 2` of a non-negative sparse graph, as CSR: (n, n)."""
    graph = scipy.sparse.csr_matrix(graph)
    graph = (graph + graph.T) / 2
    return (scipy.sparse.diags_array(np.asarray(graph.sum(1)).ravel()) - graph).tocsr()


def smallest_eigenvectors(laplacian, k, generator):
    r"""The k smallest eigenvalues of a graph's Laplacian and their eigenvectors.

    Component by component, so that the eigenvalue 0, whose multiplicity is the number of
    components, comes out exactly 0 and exactly so often; an iterative solver on the whole matrix
    can miss copies of it. Where 0 has more than k eigenvectors, those of the largest components
    are taken. A component of at most 700 nodes, or of less than 4 k, goes to LAPACK, in
    :math:`O(n^3)` time; a larger one to Lanczos iterations (ARPACK), which need
    :math:`O(n k)` memory beside the matrix.

    Parameters
    ----------
    laplacian : numpy.ndarray or scipy.sparse matrix of shape (n, n)
        Symmetric, positive semidefinite, with rows that sum to 0.
    k : int
        At most n.
    generator : numpy.random.Generator
        Draws where Lanczos iterations start.

    Returns
    -------
    values : numpy.ndarray of shape (k,)
        Ascending, none below 0.
    vectors : numpy.ndarray of shape (n, k)
        Orthonormal columns.
    """
    laplacian = scipy.sparse.csr_matrix(laplacian)
    n = laplacian.shape[0]
    _, found, sizes = np.unique(components(laplacian), return_inverse=True, return_counts=True)
    if len(sizes) >= k:
        largest = np.argsort(-sizes, kind="stable")[:k]
        return np.zeros(k), (found[:, None] == largest) / np.sqrt(sizes[largest])
    places = [np.flatnonzero(found == component) for component in range(len(sizes))]
    parts = [
        _of_component(laplacian[rows][:, rows], min(k, len(rows)), generator) for rows in places
    ]
    every = np.concatenate([values for values, _ in parts])
    order = np.argsort(every, kind="stable")[:k]
    vectors, first = np.zeros((n, k)), 0
    for rows, (values, part) in zip(places, parts):
        chosen = np.flatnonzero((order >= first) & (order < first + len(values)))
        vectors[np.ix_(rows, chosen)] = part[:, order[chosen] - first]
        first += len(values)
    return every[order], vectors


def _of_component(laplacian, k, generator):
    """The k smallest eigenpairs of a connected graph's Laplacian; the first is known."""
    n = laplacian.shape[0]
    constant = np.full((n, 1), 1 / np.sqrt(n))
    if k == 1:
        return np.zeros(1), constant
    if n <= max(_DENSE, 4 * k):
        values, vectors = scipy.linalg.eigh(laplacian.toarray(), subset_by_index=[0, k - 1])
    else:
        values, vectors = eigsh(
            laplacian,
            k,
            which="SA",
            v0=generator.standard_normal(n),
            rng=generator,
            ncv=min(n, max(3 * k, 40)),
            maxiter=100 * n,
        )
    order = np.argsort(values)
    values, vectors = np.maximum(values[order], 0), vectors[:, order]
    values[0], vectors[:, :1] = 0, constant
    return values, vectors


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
    s, v = np.zeros(k), np.zeros((m, k))
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
    left, right = _inverse_roots(graph.sum(1)), _inverse_roots(graph.sum(0))
    if scipy.sparse.issparse(graph):
        scaled = scipy.sparse.diags_array(left) @ graph @ scipy.sparse.diags_array(right)
    else:
        scaled = left[:, None] * graph * right
    u, s, v = leading_singular_vectors(scaled, k + 1)
    u, v = np.sqrt(0.5) * u[:, :k], np.sqrt(0.5) * v[:, :k] * (s[:k] > 0)
    a, b = left[:, None] * u, right[:, None] * v
    distances = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T
    return u, v, s, np.maximum(distances, 0)


def _inverse_roots(degrees):
    degrees = np.asarray(degrees).ravel()
    linked = degrees > 0
    return np.divide(1, np.sqrt(degrees), out=np.zeros(len(degrees)), where=linked)
