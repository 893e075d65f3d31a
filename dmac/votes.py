"""Votes of the embedding on the graph it came from, and the guard that may refuse them.

In a round the rows of the embedding join every block, fresh anchors are drawn there, and the graph
of these joins the first one. It sharpens what is there, which helps where clusters are small and can
merge two of them where they are few; the guard compares both outcomes on the graph without votes.
Chapter 11 of the book measures both.
"""

import numpy as np
import torch

from dmac.compute import parallel
from dmac.spectral_filter import filtered, unit_rows


def ballot(u, values, c, recipe):
    """What a round adds to every block, of length ``vote_weight`` a row: (n, K) -> (n, c or K).

    With ``vote_form="flat"`` the unit rows of the first c eigenvectors, all of equal weight; with
    "filtered" the rows that k-means would see.
    """
    if recipe.vote_form == "flat":
        return recipe.vote_weight * unit_rows(u[:, :c] * np.sqrt(len(u)))
    return recipe.vote_weight * filtered(u, values, c, recipe)


def beside(x, rows):
    """A block (n, r) with the rows of a ballot (n, q) beside it: (n, r + q)."""
    return torch.cat([x, torch.as_tensor(rows, dtype=x.dtype, device=x.device)], 1)


def markov_stability(graph, labels, time):
    r"""How much longer than by chance a random walk on G stays in its cluster.

    .. math:: r_t(q) = \frac1n \sum_k 1_k^T G^t 1_k - \sum_k (n_k / n)^2,

    for an even time t as :math:`\|G^{t/2} 1_k\|^2`. Source: Delvenne, Yaliraki and Barahona (2010).

    Parameters
    ----------
    graph : dmac.averaged_graph.AveragedGraph
    labels : numpy.ndarray of shape (n,)
        Integers from 0, of this process's samples.
    time : int
        Even.

    Returns
    -------
    float
        Between 0 and 1.
    """
    highest = int(parallel.largest(torch.tensor(int(labels.max()))))
    indicator = np.eye(highest + 1)[labels]
    walked = indicator
    for _ in range(time // 2):
        walked = graph @ walked
    sums = torch.as_tensor(np.vstack([(walked**2).sum(0), indicator.sum(0)]))
    stays, sizes = parallel.total(sums).numpy()
    n = sizes.sum()
    return float((stays / n - (sizes / n) ** 2).sum())
