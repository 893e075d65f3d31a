r"""How sure a label is: the share of a sample's links that end in each cluster.

"Your own data" in the book measures it.
"""

from __future__ import annotations

import numpy as np

from dmac._types import Array, Integers, Matrix
from dmac.agc.averaged_graph import AveragedGraph


def link_ends(graph: AveragedGraph, labels: Integers, n_clusters: int) -> Array:
    """From a sample's row of the factor to where its links end: :math:`B^T H`, (M, c).

    H has the indicators of the clusters.
    """
    return graph.to_anchors(np.eye(n_clusters)[labels])


def memberships(rows: Matrix, ends: Array) -> Array:
    r"""The share of a sample's links that end in each cluster, :eq:`eq:membership`.

    A step of the walk on G that begins at sample i ends in cluster k with the probability

    .. math:: P_{ik} = \frac{(G H)_{ik}}{r_i} , \qquad G H = B (B^T H) ,

    so the rows sum to 1, and a sample whose links all stay in one cluster has a 1. It ranks
    samples; it is no probability of being right.

    Parameters
    ----------
    rows : scipy.sparse.csr_matrix of shape (n, M)
        Of the factor, of fitted or of new samples.
    ends : numpy.ndarray of shape (M, c)
        Of `link_ends`.

    Returns
    -------
    numpy.ndarray of shape (n, c)
        A sample without links belongs to all clusters alike.
    """
    links = rows @ ends
    whole = links.sum(1, keepdims=True)
    alike = np.full_like(links, 1 / links.shape[1])
    return np.divide(links, whole, out=alike, where=whole > 0)
