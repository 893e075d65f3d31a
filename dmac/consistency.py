"""Consistency across views: two readings of the mutual information of anchor distributions.

Chapter 6 of the book proves that the per-row reading is identically zero.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor


def mutual_information_per_row(f_a: Tensor, f_b: Tensor) -> Tensor:
    r"""The paper's formula read literally: one number per anchor, and that number is 0.

    For anchor i the paper takes x from :math:`F_i^{(a)}` and y from :math:`F_i^{(b)}`, so
    :math:`p(x, y) = p(x) p(y)`, :eq:`eq:per-row`. With the marginals summed out of that product,
    for non-negative rows with sums :math:`r_a, r_b` everything but the sums cancels,

    .. math:: MI = -r_a r_b \log(r_a r_b),

    which is 0 for distributions (sums equal to 1). Its gradient is then the same for every entry of
    a row, and so 0 along every change that keeps the sum, and 0 before a softmax.

    Source: Eq. 13 of the paper.

    Parameters
    ----------
    f_a, f_b : torch.Tensor of shape (m, c)
        Rows on the simplex.

    Returns
    -------
    torch.Tensor of shape (m,)
        In nats; 0 up to rounding.
    """
    mass = f_a.sum(1) * f_b.sum(1)
    return -torch.special.xlogy(mass, mass)


def mutual_information_joint(f_a: Tensor, f_b: Tensor) -> Tensor:
    r"""Mutual information of two views' cluster labels over anchors (Ji et al. 2019).

    The joint distribution is estimated over the anchors, :eq:`eq:joint-over-anchors`,
    :math:`P = \frac1m \sum_i F_i^{(a)T} F_i^{(b)}`, symmetrised as :math:`(P + P^T)/2` and
    renormalised, and :eq:`eq:mutual-information` is

    .. math:: MI = \sum_{xy} P_{xy} \log \frac{P_{xy}}{p_x p_y}.

    Symmetrising can add up to log 2 that is no information: as much as the views' cluster sizes
    differ (chapter 6 of the book).

    Source: Ji et al. 2019; Lin et al. 2021.

    Parameters
    ----------
    f_a, f_b : torch.Tensor of shape (m, c)
        Rows on the simplex.

    Returns
    -------
    torch.Tensor of shape ()
        In nats, between 0 and log c; the same when the views are exchanged.
    """
    p = f_a.T @ f_b
    p = p + p.T
    p = p / p.sum()
    marginal = p.sum(1)
    # A cell can underflow to 0, where p log p is 0 and so must its gradient be.
    floor = torch.finfo(p.dtype).tiny
    log_ratio = (
        p.clamp_min(floor).log()
        - marginal.clamp_min(floor).log()[:, None]
        - marginal.clamp_min(floor).log()[None, :]
    )
    return (p * log_ratio).sum()


def consistency_loss(fs: Sequence[Tensor], reading: str = "joint") -> Tensor:
    r"""Consistency maximisation loss, summed over the views.

    :eq:`eq:consistency-loss`, from Eq. 12 of the paper,

    .. math:: L_{CM} = -\sum_{a < b} MI(F^{(a)}, F^{(b)}),

    where MI is the mean over anchors of :func:`mutual_information_per_row` or the one number of
    :func:`mutual_information_joint`.

    Parameters
    ----------
    fs : list of v tensors of shape (m, c)
        Rows on the simplex, one tensor a view.
    reading : {"per_row", "joint"}

    Returns
    -------
    torch.Tensor of shape ()
        In nats, a sum over the pairs of views; 0 for one view.

    Raises
    ------
    ValueError
        If ``reading`` is neither.
    """
    readings = {
        "per_row": lambda f_a, f_b: mutual_information_per_row(f_a, f_b).mean(),
        "joint": mutual_information_joint,
    }
    if reading not in readings:
        raise ValueError(f"reading is {reading!r}, it must be one of {sorted(readings)}")
    pairs = itertools.combinations(fs, 2)
    return -sum((readings[reading](*pair) for pair in pairs), start=fs[0].new_zeros(()))
