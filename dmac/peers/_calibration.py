"""The losses of DealMVC, which pseudo labels calibrate, and the names of the pseudo labels.

Chapter 13 of the book introduces it.
"""

from itertools import combinations

import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import linear_sum_assignment


def calibration_target(p, q, threshold=0.8):
    r"""Which samples should be alike, by their pseudo labels.

    :math:`T = P Q^T` with ones on the diagonal, entries below the threshold set to 0, and rows
    scaled to sum 1. Gradients reach P and Q through the entries that are left.

    Parameters
    ----------
    p, q : torch.Tensor of shape (b, c)
        Rows are distributions over clusters.
    threshold : float

    Returns
    -------
    torch.Tensor of shape (b, b)
    """
    same = torch.eye(len(p), dtype=torch.bool, device=p.device)
    t = (p @ q.T).masked_fill(same, 1.0)
    t = torch.where(t >= threshold, t, 0.0)
    return t / t.sum(1, keepdim=True)  # not 0: the diagonal is 1


def calibration_loss(h, g, target):
    r"""Cross-entropy between a target and the similarities of two sets of features.

    .. math:: L = -\frac1b \sum_{ij} T_{ij} \log\big(
        \mathrm{softmax}_j(\langle h_i, g_j \rangle) + 10^{-7} \big)

    Parameters
    ----------
    h, g : torch.Tensor of shape (b, d)
    target : torch.Tensor of shape (b, b)
        From ``calibration_target``.

    Returns
    -------
    torch.Tensor of shape ()
    """
    similarity = torch.softmax(h @ g.T, dim=1)
    return -(target * torch.log(similarity + 1e-7)).sum(1).mean()


def label_consistency_loss(overall, local):
    r"""Mean squared differences :math:`\sum_{v<w} \mathrm{MSE}(T, T^{vw})` between targets.

    Parameters
    ----------
    overall : torch.Tensor of shape (b, b)
        Target of the fused features.
    local : list of tensors of shape (b, b)
        Targets of the pairs of views; none with one view, and the loss is then 0.

    Returns
    -------
    torch.Tensor of shape ()
    """
    return sum((F.mse_loss(overall, t) for t in local), start=overall.new_zeros(()))


def dual_calibration_loss(hs, qs, fused, p, threshold):
    r"""The calibration losses of all pairs of views and of their sum, and how their targets differ.

    .. math:: \sum_{v<w} L(H^v, H^w, T(Q^v, Q^w)) + L(F, F, T(P, P))
        + \sum_{v<w} \mathrm{MSE}(T(P, P), T(Q^v, Q^w))

    Parameters
    ----------
    hs, qs : lists of v torch.Tensor of shape (b, d) and (b, c)
        Features and soft labels of the views.
    fused, p : torch.Tensor of shape (b, d) and (b, c)
        The same of the fused features.
    threshold : float

    Returns
    -------
    torch.Tensor of shape ()
    """
    overall, local = calibration_target(p, p, threshold), []
    loss = calibration_loss(fused, fused, overall)
    for v, w in combinations(range(len(hs)), 2):
        local.append(calibration_target(qs[v], qs[w], threshold))
        loss = loss + calibration_loss(hs[v], hs[w], local[-1])
    return loss + label_consistency_loss(overall, local)


def match_clusters(clusters, labels, n_clusters):
    """Rename clusters so that they agree with labels as often as they can (Hungarian method).

    Parameters
    ----------
    clusters, labels : numpy.ndarray of shape (n,)
        Integers below ``n_clusters``.
    n_clusters : int

    Returns
    -------
    numpy.ndarray of shape (n,), int64
    """
    table = np.zeros((n_clusters, n_clusters))
    np.add.at(table, (clusters, labels), 1)
    return linear_sum_assignment(table, maximize=True)[1][clusters]
