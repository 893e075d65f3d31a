"""Learnable anchors: how many, their learned perturbation, and the loss that sharpens assignments.

:mod:`dmac.compute.kmeans` draws them.

Chapter 3 of the book derives the reparameterisation and the bounds of the entropy.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dmac.compute.layers import dense_layer


def n_anchors_for(n_samples: int, n_clusters: int, factor: float = 1.0, share: float = 1.0) -> int:
    r"""Number of anchors, :math:`m = \lfloor \min(f \sqrt{n c},\ s\,n) \rfloor`.

    With the factor f = 1 and the share s = 1 it is the paper's :math:`\lfloor \sqrt{n c} \rfloor`
    (Nie et al. 2019), with which a cluster has as many anchors as an anchor has samples.

    Parameters
    ----------
    n_samples, n_clusters : int
    factor, share : float
        f and s.

    Returns
    -------
    int
    """
    # isqrt of an integer is exact where a float root may round up.
    m = math.isqrt(n_samples * n_clusters)
    if factor != 1:
        m = math.floor(factor * math.sqrt(n_samples * n_clusters))
    return min(m, math.floor(share * n_samples))


class PerturbationGenerator(nn.Module):
    r"""Perturbed anchors :math:`U = \hat U + \mu + \sigma \odot \epsilon`.

    This is :eq:`eq:reparameterisation`. :math:`\mu` and :math:`\sigma` are one linear layer each
    on :math:`\hat U`; the noise :math:`\epsilon` is drawn outside, so that the gradient reaches
    both (Kingma and Welling 2014).

    Parameters
    ----------
    embedding_dim : int
        d.
    sigma : {"relu", "softplus"}
        What keeps the deviation from being negative. A ReLU can die; a softplus cannot.
    generator : torch.Generator
        Draws the initial weights.
    """

    def __init__(
        self, embedding_dim: int, sigma: str = "relu", *, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.mu = dense_layer(embedding_dim, embedding_dim, generator)
        self.sigma = dense_layer(embedding_dim, embedding_dim, generator)
        self.slope = nn.Parameter(torch.full((embedding_dim,), 0.25))
        kinds: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "softplus": F.softplus}
        self.sigma_activation = kinds[sigma]

    def forward(self, u_hat: Tensor, noise: Tensor) -> Tensor:
        """(m, d) initial anchors and (m, d) standard normal noise -> (m, d) anchors."""
        mu = F.prelu(self.mu(u_hat), self.slope)
        return u_hat + mu + self.sigma_activation(self.sigma(u_hat)) * noise


def anchor_learning_loss(
    d2: Tensor, bandwidth: float | Tensor = 1.0, *, balanced: bool = False
) -> Tensor:
    r"""The anchor learning loss :eq:`eq:anchor-learning`, the mean entropy of the assignment.

    The assignment is that of the Student-t kernel, :eq:`eq:similarity`. With
    :math:`w_{ij} = (1 + d_{ij} / \tau)^{-1}`, :math:`W_i = \sum_j w_{ij}` and
    :math:`q_{ij} = w_{ij} / W_i`,

    .. math:: L_{AL} = -\frac1n \sum_{ij} q_{ij} \log q_{ij}
              = \frac1n \sum_i \Big( \log W_i
              + \frac{1}{W_i} \sum_j w_{ij} \log(1 + d_{ij} / \tau) \Big).

    Parameters
    ----------
    d2 : torch.Tensor of shape (n, m)
        From samples to anchors (:func:`dmac.compute.distances.squared_distances`).
    bandwidth : float or torch.Tensor of shape ()
        :math:`\tau`; the paper has none, which is 1.
    balanced : bool
        Subtract the entropy of the mean assignment :math:`\frac1n \sum_i q_i`, so that sharp
        assignments are rewarded only as long as all anchors stay in use. The loss is then minus
        the mutual information between samples and anchors.

    Returns
    -------
    torch.Tensor of shape ()
        In nats, between 0 and log m :eq:`eq:entropy-bound`; between -log m and 0 if balanced.
        With unit rows and a bandwidth of 1 it cannot be below log m - 0.3128
        :eq:`eq:sphere-minimum`.
    """
    scaled = d2 / bandwidth
    w = 1 / (1 + scaled)
    mass = w.sum(1)
    entropy = (mass.log() + (w * torch.log1p(scaled)).sum(1) / mass).mean()
    if not balanced:
        return entropy
    usage = (w / mass[:, None]).mean(0)
    return entropy + torch.special.xlogy(usage, usage).sum()


def neighbor_bandwidth(d2: Tensor, n_neighbors: int) -> Tensor:
    r"""A bandwidth from the data: the median squared distance to the (k+1)-th nearest anchor.

    Parameters
    ----------
    d2 : torch.Tensor of shape (n, m)
        Or any columns of it that hold the k + 1 smallest distances of every row.
    n_neighbors : int
        k, below m.

    Returns
    -------
    torch.Tensor of shape ()
        Without gradient; positive even if all samples coincide.

    Raises
    ------
    RuntimeError
        If there are fewer than k + 1 columns.
    """
    border = torch.topk(d2.detach(), n_neighbors + 1, dim=1, largest=False).values[:, -1]
    return border.median().clamp_min(1e-6)
