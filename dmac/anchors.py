"""Learnable anchors: k-means start, learned perturbation, and the loss that sharpens assignments.

Chapter 3 of the book derives the reparameterisation and the bounds of the entropy.
"""

import functools
import math
import warnings

import torch
import torch.nn.functional as F
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import ThreadpoolController
from torch import nn

from dmac.embedding import dense_layer


def n_anchors_for(n_samples, n_clusters):
    r"""The paper's number of anchors, :math:`m = \lfloor \sqrt{n c} \rfloor` (Nie et al. 2019)."""
    return math.isqrt(n_samples * n_clusters)


@functools.cache
def _threads():
    return ThreadpoolController()


def kmeans(x, n_clusters, seed, n_init=1):
    """Lloyd's k-means from k-means++ starts, the same result for the same seed.

    Parameters
    ----------
    x : numpy.ndarray of shape (n, d)
    n_clusters : int
    seed : int
    n_init : int
        Starts, of which the one with the lowest inertia is kept.

    Returns
    -------
    sklearn.cluster.KMeans
        Fitted. With fewer distinct rows than clusters some centres coincide; that is no error,
        since a collapsed embedding has to be measurable.
    """
    model = KMeans(n_clusters, n_init=n_init, random_state=seed)
    # One thread: with more, the partial sums are added in the order in which threads finish, and
    # rounding then differs from run to run. BLAS too: its threads and OpenMP's wait for each other.
    with warnings.catch_warnings(), _threads().limit(limits=1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(x)


def kmeans_anchors(z, n_anchors, generator, *, max_iter=300, tol=1e-4):
    r"""Initial anchors :math:`\hat U`: the k-means centres of the fused embedding.

    Greedy k-means++ seeding (Arthur and Vassilvitskii 2007), then Lloyd's iterations until no
    sample changes its anchor or the anchors move by less than ``tol`` times the variance of Z,
    all on the device of ``z``. An anchor that loses its last sample stays where it is.

    Parameters
    ----------
    z : torch.Tensor of shape (n, d)
        The fused embedding; it is detached.
    n_anchors : int
        m, at most n.
    generator : torch.Generator
        On the CPU, so that every device gets the same draws.
    max_iter : int
    tol : float

    Returns
    -------
    torch.Tensor of shape (m, d)
        Without gradient.
    """
    mean = z.detach().mean(0)
    x = z.detach() - mean
    centres = _seed_anchors(x, n_anchors, generator)
    threshold = tol * x.square().mean()
    assigned = None
    for _ in range(max_iter):
        # ||x||^2 does not change which centre is nearest.
        nearest = torch.addmm(centres.square().sum(1), x, centres.T, alpha=-2).argmin(1)
        if assigned is not None and torch.equal(nearest, assigned):
            break
        assigned = nearest
        counts = torch.bincount(assigned, minlength=n_anchors)[:, None]
        sums = torch.zeros_like(centres).index_add_(0, assigned, x)
        moved = torch.where(counts > 0, sums / counts.clamp_min(1), centres)
        shift = (moved - centres).square().sum()
        centres = moved
        if shift <= threshold:
            break
    return centres + mean


def _seed_anchors(x, m, generator):
    """Greedy k-means++: m rows of x, each the best of 2 + log m draws by squared distance."""
    n, trials = len(x), 2 + int(math.log(m))
    draws = torch.rand(m, trials, generator=generator, dtype=torch.float64).to(x)
    norms = x.square().sum(1)
    chosen = (draws[:1, 0] * n).long().clamp_max(n - 1)
    indices = [chosen]
    closest = (norms + norms[chosen] - 2 * x @ x[chosen[0]]).clamp_min(0)
    for j in range(1, m):
        cumulative = closest.cumsum(0)
        candidates = torch.searchsorted(cumulative, draws[j] * cumulative[-1]).clamp_max(n - 1)
        d2 = torch.addmm(norms, x[candidates], x.T, alpha=-2) + norms[candidates, None]
        potentials = torch.minimum(closest, d2.clamp_min_(0))
        best = potentials.sum(1).argmin()
        closest = potentials[best]
        indices.append(candidates[best, None])
    return x[torch.cat(indices)]


class PerturbationGenerator(nn.Module):
    r"""Perturbed anchors :math:`U = \hat U + \mu + \sigma \odot \epsilon` (paper eq. noise).

    :math:`\mu` and :math:`\sigma` are one linear layer each on :math:`\hat U`; the noise
    :math:`\epsilon` is drawn outside, so that the gradient reaches both (reparameterisation).

    Parameters
    ----------
    embedding_dim : int
        d.
    sigma : {"relu", "softplus"}
        What keeps the deviation from being negative. A ReLU can die; a softplus cannot.
    generator : torch.Generator
        Draws the initial weights.
    """

    def __init__(self, embedding_dim, sigma="relu", *, generator):
        super().__init__()
        self.mu = dense_layer(embedding_dim, embedding_dim, generator)
        self.sigma = dense_layer(embedding_dim, embedding_dim, generator)
        self.slope = nn.Parameter(torch.full((embedding_dim,), 0.25))
        self.sigma_activation = {"relu": F.relu, "softplus": F.softplus}[sigma]

    def forward(self, u_hat, noise):
        """(m, d) initial anchors and (m, d) standard normal noise -> (m, d) anchors."""
        mu = F.prelu(self.mu(u_hat), self.slope)
        return u_hat + mu + self.sigma_activation(self.sigma(u_hat)) * noise


def squared_distances(z, u):
    r"""Squared Euclidean distances :math:`\|z_i - u_j\|^2` by the Gram identity.

    Both point sets are first moved by the mean of the anchors, which changes no distance but keeps
    the digits: in an embedding that has collapsed to a spread of 1e-3 around a unit vector the
    plain identity loses the distances to cancellation.

    Parameters
    ----------
    z : torch.Tensor of shape (n, d)
    u : torch.Tensor of shape (m, d)

    Returns
    -------
    torch.Tensor of shape (n, m)
        Non-negative; differentiable in both arguments, with no n x m x d tensor in between.
    """
    centre = u.detach().mean(0)
    z, u = z - centre, u - centre
    d2 = torch.addmm(u.square().sum(1), z, u.T, alpha=-2) + z.square().sum(1, keepdim=True)
    return d2.clamp_min(0)


def anchor_learning_loss(d2):
    r"""Mean entropy of the Student-t assignment to anchors (paper eqs. similarity, anchor_learning).

    With :math:`w_{ij} = (1 + d_{ij})^{-1}`, :math:`W_i = \sum_j w_{ij}` and
    :math:`q_{ij} = w_{ij} / W_i`,

    .. math:: L_{AL} = -\frac1n \sum_{ij} q_{ij} \log q_{ij}
              = \frac1n \sum_i \Big( \log W_i + \frac{1}{W_i} \sum_j w_{ij} \log(1 + d_{ij}) \Big).

    Parameters
    ----------
    d2 : torch.Tensor of shape (n, m)
        Squared distances from samples to anchors (:func:`squared_distances`).

    Returns
    -------
    torch.Tensor of shape ()
        In nats, between 0 and log m.
    """
    w = 1 / (1 + d2)
    total = w.sum(1)
    return (total.log() + (w * torch.log1p(d2)).sum(1) / total).mean()
