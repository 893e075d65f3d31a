r"""The average of many anchor graphs, kept as a sparse factor: :math:`G = B B^T`.

One anchor set is an accident; the average over sets, and over kinds of features, keeps the edges
that most of them support. It is never formed: B has k entries a row and set, and a product with G
is one with :math:`B^T` and one with B. Chapter 11 of the book derives it.
"""

import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse
import torch
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from dmac.anchor_graph import check_neighbors, closed_form_graph
from dmac.compute import parallel
from dmac.compute.kmeans import sample_anchors
from dmac.scaling import assign

# Up to so many samples the eigenvectors come from LAPACK and a dense G of at most 32 MB; with few
# of them to find, Lanczos is faster from 800 samples on.
_DENSE = 2000
#: Eigenvalues below this count as 0: their eigenvectors cannot be carried to new samples.
SMALLEST = 1e-8


@dataclass(frozen=True)
class AnchorSets:
    """The anchor sets of one block.

    Attributes
    ----------
    u : torch.Tensor of shape (T, m, r)
        Anchors of every set.
    scale : torch.Tensor of shape (T, m)
        One over the root of each anchor's degree among the fitted samples, 0 without samples.
    """

    u: torch.Tensor
    scale: torch.Tensor


def draw_sets(x, n_sets, n_anchors, iterations, n_neighbors, generator):
    r"""Draw anchor sets of one block, and the rows of its factor.

    The graph of the block is :math:`\frac1T \sum_t S_t D_t^{-1} S_t^T`, with :math:`S_t` by
    :eq:`eq:anchor-graph` and :math:`D_t = \mathrm{diag}(S_t^T 1)`; so its factor is
    :math:`[S_1 D_1^{-1/2}, \dots, S_T D_T^{-1/2}] / \sqrt T`.

    Parameters
    ----------
    x : torch.Tensor of shape (n, r)
    n_sets : int
        T.
    n_anchors : int
        m.
    iterations : int
        Of Lloyd's, from random samples.
    n_neighbors : int
        k.
    generator : torch.Generator
        On the CPU.

    Returns
    -------
    AnchorSets
    scipy.sparse.csr_matrix of shape (n, T m)
        The factor, float64.
    """
    check_neighbors(n_neighbors, n_anchors)
    anchors, scales, parts = [], [], []
    for _ in range(n_sets):
        u = sample_anchors(x, n_anchors, generator, iterations)
        graph = _graph(x, u, n_neighbors)
        anchors.append(u)
        scales.append(graph.inverse_degrees().sqrt())
        parts.append(graph)
    sets = AnchorSets(torch.stack(anchors), torch.stack(scales))
    return sets, _factor(parts, sets.scale)


def rows_on(sets, x, n_neighbors):
    """The factor's rows of samples (n_new, r) on anchor sets that are there: (n_new, T m)."""
    return _factor([_graph(x, u, n_neighbors) for u in sets.u], sets.scale)


def _graph(x, u, n_neighbors):
    found = assign(x, u, n_neighbors + 1)
    return closed_form_graph(found.nearest, found.indices, len(u))


def _factor(graphs, scales):
    t, m = scales.shape
    indices = torch.stack([graph.indices for graph in graphs], 1)  # (n, T, k)
    weights = torch.stack([graph.weights for graph in graphs], 1).double()
    indices, order = indices.sort(2)
    weights = weights.gather(2, order)
    indices = indices + m * torch.arange(t, device=indices.device)[:, None]
    weights = weights * scales.double().flatten()[indices] / t**0.5
    n, _, k = indices.shape
    start = np.arange(0, n * t * k + 1, t * k)
    return scipy.sparse.csr_matrix(
        (weights.flatten().cpu().numpy(), indices.flatten().cpu().numpy(), start), (n, t * m)
    )


def average(factors, weights):
    """The factor of an average: factors side by side, times the roots of their shares.

    Weights that are all 0, as of plain levels in which all rows are the same, count as equal.
    """
    weights = np.asarray(weights, float) if np.any(weights) else np.ones(len(weights))
    shares = weights / weights.sum()
    parts = [np.sqrt(p) * factor for factor, p in zip(factors, shares)]
    return scipy.sparse.hstack(parts, "csr")


class AveragedGraph:
    r"""The weighted average of graphs of blocks, :eq:`eq:averaged-graph`.

    :math:`G = \sum_b p_b G_b / \sum_b p_b` is symmetric, doubly stochastic and positive
    semi-definite, since each :math:`S D^{-1} S^T` is (:eq:`eq:sample-graph`): its eigenvalues lie
    in [0, 1], and the constant vector has the eigenvalue 1.

    Parameters
    ----------
    factors : list of scipy.sparse.csr_matrix of shape (n, M_b)
        Of the blocks; of this process's samples.
    weights : list of float
        :math:`p_b`.
    """

    def __init__(self, factors, weights):
        self.rows = average(factors, weights)
        self._columns = self.rows.T.tocsr()
        # PyTorch takes all its threads for a product, SciPy one.
        self._products = _tensor(self.rows), _tensor(self._columns)

    def to_anchors(self, x):
        """B^T x: (n, d) -> (M, d), of the samples of all processes."""
        return parallel.total(self._products[1] @ torch.as_tensor(x)).numpy()

    def __matmul__(self, x):
        """G x: (n, d) -> (n, d)."""
        return (self._products[0] @ torch.as_tensor(self.to_anchors(x))).numpy()

    def parts(self, most):
        """Indicators of the graph's connected parts, the largest first: (n, at most ``most``).

        Each is an eigenvector of G with the eigenvalue 1, and together they span all of these.
        """
        n, m = self.rows.shape
        anchors = np.arange(m)
        of_samples, cut = self.rows.indices.reshape(n, -1), self.rows.data.reshape(n, -1) == 0
        of_anchors, lost = self._columns.indices, self._columns.data == 0
        starts, used = self._columns.indptr[:-1], np.diff(self._columns.indptr) > 0
        while True:  # the smallest number of an anchor that can be reached
            samples = np.where(cut, m, anchors[of_samples]).min(1)
            lowest = anchors.copy()
            reached = np.minimum.reduceat(np.where(lost, m, samples[of_anchors]), starts[used])
            lowest[used] = np.minimum(lowest[used], reached)
            lowest = -parallel.largest(-torch.as_tensor(lowest)).numpy()
            if (lowest == anchors).all():
                break
            anchors = lowest
        samples = _gather(samples)
        names, sizes = np.unique(samples, return_counts=True)
        names = names[np.argsort(-sizes, kind="stable")][:most]
        return (samples[:, None] == names).astype(float)

    def eigenpairs(self, count):
        """The largest eigenvalues of G and their eigenvectors, the constant one first.

        Parameters
        ----------
        count : int
            At most the number of samples less 2.

        Returns
        -------
        values : numpy.ndarray of shape (count,)
            Largest first, cut to [0, 1].
        lift : numpy.ndarray of shape (M, count)
            ``B^T U / lambda``, by which any sample's row of B gives its row of the
            eigenvectors U; 0 where an eigenvalue is below `SMALLEST`.
        """
        n = parallel.count(self.rows.shape[0])
        mine = parallel.my_rows(n)
        # Eigenvectors of eigenvalue 1 are known; Lanczos would miss some where there are several.
        known = np.column_stack([np.ones(n), self.parts(count)[:, : count - 1]])
        known = np.linalg.qr(known)[0][:, : np.linalg.matrix_rank(known)]
        more, values = count - known.shape[1], np.ones(known.shape[1])
        small = n <= _DENSE and n <= max(800, 25 * count)
        if more and small and parallel.shards() is None:
            dense = (self.rows @ self._columns).toarray() - known @ known.T
            found, u = eigh(dense, subset_by_index=[n - more, n - 1], overwrite_a=True)
        elif more:

            def product(x):
                x = x.reshape(n, -1)
                return _gather(self @ x[mine]) - known @ (known.T @ x)

            operator = LinearOperator((n, n), product, matmat=product, dtype=float)
            start = np.random.default_rng(0).standard_normal(n)
            found, u = eigsh(operator, more, v0=start, tol=1e-7, rng=0)
        if more:
            order = np.argsort(found)[::-1]
            values = np.concatenate([values, found[order]])
            known = np.column_stack([known, u[:, order]])
        u = known * np.sign(np.take_along_axis(known, np.abs(known).argmax(0)[None], 0))
        keep = values > SMALLEST
        lift = np.zeros((self.rows.shape[1], count))
        lift[:, keep] = self.to_anchors(u[mine][:, keep]) / values[keep]
        return values.clip(0, 1), lift


def _tensor(matrix):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that sparse tensors are young
        parts = (torch.as_tensor(x) for x in (matrix.indptr, matrix.indices, matrix.data))
        return torch.sparse_csr_tensor(*parts, matrix.shape)


def _gather(x):
    return parallel.gather(torch.as_tensor(x)).numpy() if parallel.shards() else x
