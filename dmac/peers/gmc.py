"""Graph-based multi-view clustering (GMC), Wang, Yang and Liu (2020).

The book's chapter on the field compares it with the other systems.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.sparse.linalg import eigsh

from dmac._parameters import at_least, choice, one_of
from dmac._warn import warn
from dmac.data.whitening import RowNormalizer
from dmac.peers._graphs import directed_graph
from dmac.peers._simplex import project_rows
from dmac.peers._spectral import components
from dmac.peers.base import Outcome, Peer, dense, parameters, within_one

_ITERATIONS = 20
_ZERO = 1e-10
# Up to so many nodes in one component a dense solver is the faster one.
_DENSE = 700
# Rows of the distance matrix that are held at a time.
_BLOCK = 512
# Links whose distances in F are taken at a time.
_LINKS = 2**16


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
    _, member, sizes = np.unique(components(laplacian), return_inverse=True, return_counts=True)
    if len(sizes) >= k:
        largest = np.argsort(-sizes, kind="stable")[:k]
        return np.zeros(k), (member[:, None] == largest) / np.sqrt(sizes[largest])
    places = [np.flatnonzero(member == component) for component in range(len(sizes))]
    parts = [
        _of_component(laplacian[rows][:, rows], min(k, len(rows)), generator) for rows in places
    ]
    spectrum = np.concatenate([values for values, _ in parts])
    order = np.argsort(spectrum, kind="stable")[:k]
    vectors = np.zeros((n, k))
    first = 0
    for rows, (values, part) in zip(places, parts):
        chosen = np.flatnonzero((order >= first) & (order < first + len(values)))
        vectors[np.ix_(rows, chosen)] = part[:, order[chosen] - first]
        first += len(values)
    return spectrum[order], vectors


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
    values = np.maximum(values[order], 0)
    vectors = vectors[:, order]
    values[0] = 0
    vectors[:, :1] = constant
    return values, vectors


@dataclass(frozen=True)
class GMCRecord:
    """One iteration of :class:`GMC`.

    Attributes
    ----------
    objective : float
        As stated there, with the alpha of every row that its update implies.
    laplacian_weight : float
        lambda as this iteration used it.
    smallest : float
        Sum of the c smallest eigenvalues of the Laplacian; 0 with at least c components.
    next_smallest : float
        Sum of the c + 1 smallest; 0 with more than c components.
    """

    objective: float
    laplacian_weight: float
    smallest: float
    next_smallest: float


@parameters
class GMC(Peer):
    r"""Fuse one neighbour graph a view into one graph that has c connected components.

    It minimises over the views' graphs :math:`S^v`, the fused graph U (rows of all in the simplex),
    the weights :math:`w_v` and F with orthonormal columns

    .. math:: \sum_v \Big[ \sum_{ij} \|x^v_i - x^v_j\|^2 s^v_{ij} + \sum_i \alpha^v_i \|s^v_i\|^2
        + w_v \|U - S^v\|_F^2 \Big] + 2 \lambda \operatorname{tr}(F^T L_U F),

    block by block: each :math:`\alpha^v_i` is the largest that leaves k neighbours,
    :math:`w_v = 1 / (2 \|U - S^v\|_F)`, and F holds the c smallest eigenvectors of the Laplacian of
    U. The weight :math:`\lambda` starts at 1, doubles while there are too few components and halves
    when there are too many. The labels are the connected components of U: there is no k-means, and
    their number can end up other than c. Before, every sample is standardised: its features get
    mean 0 and variance 1, and a constant sample becomes 0 (``scale``).

    The objective need not fall from one iteration to the next: :math:`\lambda`, :math:`w_v` and
    :math:`\alpha^v_i` move, and the published update of U weighs the views equally, which is the
    exact minimiser only where all :math:`w_v` are equal.

    Memory :math:`O(n (v k + c + \max_v d_v))`: graphs are stored by neighbours, distances are held
    by blocks of rows. Time :math:`O(n^2 \sum_v d_v)` once, and per iteration the c + 1 smallest
    eigenvectors of a sparse n x n matrix, by Lanczos iterations.

    Source: Wang, Yang and Liu (2020); public code in the repository ``cshaowang/gmc``. It updates a
    row of :math:`S^v` as if the order of its neighbours had not changed, so that a row can leave
    the simplex; here the order is looked up again, and the row is the minimiser over its
    k + 1 nearest samples.

    ``random_state`` only decides where the iterations for eigenvectors start: the result does not
    depend on it, except through ties.
    """

    n_neighbors: int = choice(
        15,
        at_least(1),
        """
        k. Cut down to n - 2, with a warning, where there are fewer than k + 2 samples.""",
    )
    scale: str = choice(
        "standard",
        one_of("standard", "rows"),
        """
        Every sample standardised, as the public code has it, or brought to unit length.""",
    )

    def memory(self, n_samples, n_features):
        """Bytes: one dense standardised view, graphs by neighbours, Lanczos vectors."""
        n = n_samples
        c = self.n_clusters
        # Several sparse and padded copies, with indices.
        graphs = 16 * len(n_features) * (self.n_neighbors + 1) * 8
        vectors = (4 * (c + 1) + 40) * 8
        blocks = 3 * _LINKS * c * 8
        return n * (2 * max(n_features) * 8 + graphs + vectors + 3 * _BLOCK * 8) + blocks

    def _solve(self, views, generator):
        n = views[0].shape[0]
        c = self.n_clusters
        v = len(views)
        k = min(self.n_neighbors, n - 2)
        if k < self.n_neighbors:
            warn(
                f"n_neighbors = {self.n_neighbors} needs {self.n_neighbors + 2} samples, there are "
                f"{n}: {n - 2} are taken"
            )
        scaled = _standardised if self.scale == "standard" else RowNormalizer().fit_transform
        neighbors, distances = zip(*(_nearest(scaled(dense(x)), k + 1) for x in views))
        rows = np.repeat(np.arange(n), k + 1)

        def own_graph(a, u, w):
            """The graph of view a, and the alpha of every row."""
            weights, alpha = _row_minimisers(distances[a] - 2 * w * u)
            spread = (distances[a] * weights).sum()  # the matrix moves the weights about
            graph = directed_graph(neighbors[a], weights)
            graph.eliminate_zeros()
            return graph, alpha - w, spread

        graphs = [own_graph(a, 0.0, 0.0)[0] for a in range(v)]
        fused = (sum(graphs) / v).tocsr()
        f = smallest_eigenvectors(laplacian(fused), min(c + 1, n), generator)[1][:, :c]
        weights = np.full(v, 1 / v)
        penalty = 1.0
        history = []
        for _ in range(_ITERATIONS):
            near = [np.asarray(fused[rows, index.ravel()]).reshape(n, k + 1) for index in neighbors]
            graphs, alphas, spread = zip(*(own_graph(a, near[a], weights[a]) for a in range(v)))
            weights = np.array([0.5 / max(_norm(fused - s), _ZERO) for s in graphs])
            fused = _fuse(graphs, f, penalty / (2 * v) * np.mean(1 / weights))
            values, vectors = smallest_eigenvectors(laplacian(fused), min(c + 1, n), generator)
            smallest = values[:c].sum()
            following = values.sum() if c < n else np.inf
            objective = sum(spread) + 2 * penalty * smallest
            for s, alpha, w in zip(graphs, alphas, weights):
                objective += (s.power(2).T @ alpha).sum() + w * _norm(fused - s) ** 2
            history.append(GMCRecord(float(objective), penalty, float(smallest), float(following)))
            if following < _ZERO:  # too many components: F stays that of the graph before
                penalty /= 2
                continue
            f = vectors[:, :c]
            if smallest <= _ZERO:
                break
            penalty *= 2
        return Outcome(components(fused), embedding=f, graph=fused, history=history)

    def _check(self, n_samples):
        if n_samples < 3:
            raise ValueError(f"GMC needs at least 3 samples, there are {n_samples}")


def _norm(graph):
    return np.sqrt(graph.power(2).sum())


def _standardised(x):
    """Every row with mean 0 and variance 1; a constant one becomes 0."""
    x = within_one(x, 1)
    x = x - x.mean(1, keepdims=True)
    deviation = np.sqrt((x**2).mean(1, keepdims=True))
    constant = deviation <= 1e-14
    return np.where(constant, 0.0, x / np.where(constant, 1, deviation))


def _nearest(x, count):
    """The nearest other rows of every row, nearest first, and their squared distances."""
    n = len(x)
    squares = (x**2).sum(1)
    indices = np.empty((n, count), dtype=np.int64)
    distances = np.empty((n, count))
    for start in range(0, n, _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, n))
        d2 = np.maximum(squares[rows, None] + squares - 2 * x[rows] @ x.T, 0)
        d2[np.arange(len(rows)), rows] = np.inf
        some = np.argpartition(d2, count - 1, axis=1)[:, :count]
        order = np.argsort(np.take_along_axis(d2, some, 1), axis=1, kind="stable")
        indices[rows] = np.take_along_axis(some, order, 1)
        distances[rows] = np.take_along_axis(d2, indices[rows], 1)
    return indices, distances


def _row_minimisers(costs):
    r"""Minimisers of :math:`e^T s + a \|s\|^2` over the simplex, with the largest a that leaves k.

    Parameters
    ----------
    costs : numpy.ndarray of shape (n, k + 1)

    Returns
    -------
    s : numpy.ndarray of shape (n, k + 1)
        The largest cost of a row gets 0. With equal costs the others get 1 / k each.
    a : numpy.ndarray of shape (n,)
    """
    k = costs.shape[1] - 1
    last = costs.argmax(1)[:, None]
    border = np.take_along_axis(costs, last, 1)
    gaps = border - costs
    total = gaps.sum(1, keepdims=True)
    tied = total <= 1e-14 * np.abs(costs).max(1, keepdims=True)
    equal = np.full_like(costs, 1 / k)
    np.put_along_axis(equal, last, 0, 1)
    return np.where(tied, equal, gaps / np.where(tied, 1, total)), total[:, 0] / 2


def _fuse(graphs, f, step):
    """Rows of the mean graph minus ``step`` times the distances in F, projected on the support."""
    mean = (sum(graphs) / len(graphs)).tocsr()
    counts = np.diff(mean.indptr)
    support = np.arange(counts.max()) < counts[:, None]
    rows = np.repeat(np.arange(len(counts)), counts)
    moved = mean.data
    for start in range(0, len(moved), _LINKS):
        some = slice(start, start + _LINKS)
        moved[some] -= step * ((f[rows[some]] - f[mean.indices[some]]) ** 2).sum(1)
    padded = np.zeros(support.shape)
    padded[support] = moved
    fused = scipy.sparse.csr_matrix(
        (project_rows(padded, support)[support], mean.indices, mean.indptr), shape=mean.shape
    )
    fused.eliminate_zeros()
    return fused
