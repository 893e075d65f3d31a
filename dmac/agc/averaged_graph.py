r"""The average of many anchor graphs, kept as a sparse factor: :math:`G = B B^T`.

One anchor set is an accident; the average over sets, and over kinds of features, keeps the edges
that most of them support. The average is never formed: B has k entries a row and set, and a product
with G is one with :math:`B^T` and one with B. Chapter 12 of the book derives it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse
import torch
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from dmac._types import Array, Matrix
from dmac.agc.anchor_sets import Drawn
from dmac.compute.lanczos import leading_eigenpairs
from dmac.compute.layers import csr_tensor
from dmac.compute.threads import blas_alone
from dmac.data.linalg import signed

# Number of samples up to which eigenvectors come from LAPACK and a dense G of at most 32 MB; where
# few are to be found, Lanczos is faster from 800 samples on.
_DENSE = 2000
# Products with more than _WIDE columns are computed _COLUMNS at a time, to stay in cache.
_WIDE, _COLUMNS = 64, 16
# Steps of a walk that reach all samples of most graphs.
_STEPS = 4
#: Eigenvalues below this count as 0: their eigenvectors cannot be carried to new samples.
SMALLEST = 1e-8


def average(factors: Sequence[Matrix], weights: Sequence[float]) -> Matrix:
    """The factor of an average: factors side by side, times the roots of their shares.

    Weights :math:`p_b` that are all 0, as of plain levels in which all rows are the same, count as
    equal.
    """
    weights = np.asarray(weights, float) if np.any(weights) else np.ones(len(weights))
    roots = np.sqrt(weights / weights.sum())
    return scipy.sparse.hstack([f * root for f, root in zip(factors, roots)], "csr")


def averaged(drawn: Sequence[Drawn]) -> Matrix:
    """The factor of the average of all blocks' graphs, by their weights: (n, M)."""
    return average(
        [item.factor for item in drawn],
        [item.block.weight for item in drawn],
    )


def times(matrix: Tensor, x: Array) -> Array:
    """A sparse CSR tensor (n, m) times x (m, d), by all threads: (n, d)."""
    x = torch.as_tensor(x)
    if x.shape[1] < _WIDE:
        return (matrix @ x).numpy()
    return torch.cat([matrix @ part.contiguous() for part in x.split(_COLUMNS, 1)], 1).numpy()


class AveragedGraph:
    r"""The weighted average of graphs of blocks, :eq:`eq:averaged-graph`.

    :math:`G = \sum_b p_b G_b / \sum_b p_b` is symmetric, doubly stochastic and positive
    semi-definite, since each :math:`S D^{-1} S^T` is :eq:`eq:sample-graph`: its eigenvalues lie
    in [0, 1], and the constant vector has the eigenvalue 1.

    Where a block does not know every sample, the sums of G's rows differ: each is the share
    :math:`r_i` of the weights of the blocks that know sample i. Then eigenvectors are those of
    :math:`R^{-1/2} G R^{-1/2}`, whose largest eigenvalue is 1 again, with the vector of the
    :math:`\sqrt{r_i}`; a walk on G takes its steps by :math:`R^{-1} G`.

    Parameters
    ----------
    rows : scipy.sparse.csr_matrix of shape (n, M)
        B, as `average` and `averaged` put it together.

    Attributes
    ----------
    shares : numpy.ndarray of shape (n,)
        :math:`r_i`.
    """

    def __init__(self, rows: Matrix) -> None:
        self.rows = rows
        self._b = csr_tensor(rows)
        self._transposed = csr_tensor(rows.T.tocsr())
        self.shares = (self @ np.ones((self.rows.shape[0], 1)))[:, 0]
        self.shares[abs(self.shares - 1) < 1e-6] = 1.0  # but for rounding

    def trace(self) -> float:
        """The sum of the eigenvalues of G."""
        return float((self.rows.data**2).sum())

    def to_anchors(self, x: Array) -> Array:
        """B^T x: (n, d) -> (M, d)."""
        return times(self._transposed, x)

    def to_samples(self, y: Array) -> Array:
        """B y: (M, d) -> (n, d)."""
        return times(self._b, y)

    def __matmul__(self, x: Array) -> Array:
        """G x: (n, d) -> (n, d)."""
        return self.to_samples(self.to_anchors(x))

    def parts(self, most: int) -> Array:
        """Indicators of the graph's connected parts, the largest first: (n, at most ``most``).

        A sample that no block knows is in none of them.

        Each, times the roots of the shares, is an eigenvector with the eigenvalue 1, and together
        they span all of these.
        """
        n, m = self.rows.shape
        # Most graphs are in one part, which a few steps from any of its samples reach.
        reached = (np.arange(n)[:, None] == self.shares.argmax()).astype(float)
        for _ in range(_STEPS):
            reached = (self @ reached > 0).astype(float)
        if reached.any() and np.array_equal(reached[:, 0], self.shares > 0):
            return reached
        # Samples first, then anchors, each sample linked with its anchors.
        ends = np.pad(self.rows.indptr, (0, m), "edge")
        links = scipy.sparse.csr_matrix(
            (self.rows.data > 0, self.rows.indices + n, ends), (n + m, n + m)
        )
        links.eliminate_zeros()
        component = connected_components(links, directed=False)[1]
        sizes = np.bincount(component[:n], minlength=component.max() + 1)
        first = np.sort(np.unique(component[n:], return_index=True)[1])
        ordered = component[n:][first]  # by lowest anchor
        ordered = ordered[np.argsort(-sizes[ordered], kind="stable")][:most]
        return (component[:n, None] == ordered[sizes[ordered] > 0]).astype(float)

    def eigenpairs(self, count: int) -> tuple[Array, Array]:
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
            ``B^T R^(-1/2) U / lambda``, by which any sample's row of B gives its row of the
            eigenvectors U, times the root of its share; 0 where an eigenvalue is below `SMALLEST`.
        """
        n = self.rows.shape[0]
        root = np.sqrt(self.shares)[:, None]
        inverse = np.divide(1, root, out=np.zeros_like(root), where=root > 0)
        # Eigenvectors of eigenvalue 1 are known; Lanczos would miss some where there are several.
        leading = root * np.column_stack([np.ones(n), self.parts(count)[:, : count - 1]])
        leading = np.linalg.qr(leading)[0][:, : np.linalg.matrix_rank(leading)]
        more, values = count - leading.shape[1], np.ones(leading.shape[1])
        small = n <= _DENSE and n <= max(800, 25 * count)
        if more and small:
            dense = (self.rows @ self.rows.T.tocsr()).toarray()
            dense *= inverse
            dense *= inverse.T
            dense -= leading @ leading.T
            largest = eigh(dense, subset_by_index=[n - more, n - 1], overwrite_a=True)
            others, u = (x[..., ::-1] for x in largest)
        elif more:

            def product(x: Array) -> Array:
                return inverse * (self @ (inverse * x)) - leading @ (leading.T @ x)

            with blas_alone():
                rng = np.random.default_rng(0)
                others, u = leading_eigenpairs(product, n, more, 1e-7, rng)
        if more:
            values, leading = np.concatenate([values, others]), np.column_stack([leading, u])
        u = signed(leading.T).T
        keep = values > SMALLEST
        lift = np.zeros((self.rows.shape[1], count))
        lift[:, keep] = self.to_anchors((inverse * u)[:, keep]) / values[keep]
        return values.clip(0, 1), lift
