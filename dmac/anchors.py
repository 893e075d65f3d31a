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

from dmac.layers import dense_layer


def n_anchors_for(n_samples, n_clusters, factor=1.0, share=1.0):
    r"""Number of anchors, :math:`m = \lfloor \min(f \sqrt{n c},\ s\,n) \rfloor`.

    With the factor f = 1 and the share s = 1 it is the paper's :math:`\lfloor \sqrt{n c} \rfloor`
    (Nie et al. 2019).
    """
    # isqrt of an integer is exact where a float root may round up.
    m = math.isqrt(n_samples * n_clusters)
    if factor != 1:
        m = math.floor(factor * math.sqrt(n_samples * n_clusters))
    return min(m, math.floor(share * n_samples))


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
    return _lloyd(x, centres, max_iter, tol * x.square().mean()) + mean


def sampled_anchors(x, n_anchors, generator, iterations):
    """A cheap, fresh draw of anchors: random samples, then a few of Lloyd's iterations.

    The draw differs every time, which is its purpose: averaged over epochs, the anchor graph is an
    expectation over anchor sets instead of one set's accident (chapter 11).

    Parameters
    ----------
    x : torch.Tensor of shape (n, d)
        It is detached.
    n_anchors : int
        m, at most n.
    generator : torch.Generator
        On the CPU.
    iterations : int

    Returns
    -------
    torch.Tensor of shape (m, d)
        Without gradient.
    """
    x = x.detach()
    mean = x.mean(0)
    x = x - mean
    start = torch.randperm(len(x), generator=generator)[:n_anchors].to(x.device)
    return _lloyd(x, x[start], iterations, 0.0) + mean


def _lloyd(x, centres, max_iter, threshold):
    """Lloyd's iterations from given centres; an anchor without samples stays where it is."""
    n_anchors = len(centres)
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
    return centres


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


class SpreadPerturbation(nn.Module):
    r"""Perturbed anchors whose noise has the size of the anchor's own cell.

    :math:`u_j = \hat u_j + e^{\theta} \omega_j \epsilon_j`, where :math:`\omega_j` is the root mean
    squared deviation, a feature, of the samples nearest to :math:`\hat u_j`, and :math:`\theta` is
    one learnable number: :math:`e^\theta` says in units of the cells how far the graph is averaged.

    Parameters
    ----------
    scale : float
        :math:`e^\theta` at the start.
    """

    def __init__(self, scale):
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(math.log(scale)))

    def forward(self, u_hat, noise, x):
        """(m, d) anchors, (m, d) standard normal noise, (n, d) samples -> (m, d) anchors."""
        nearest, cell = squared_distances(x.detach(), u_hat).min(1)
        counts = torch.bincount(cell, minlength=len(u_hat)).clamp_min(1)
        variance = torch.zeros_like(u_hat[:, 0]).index_add_(0, cell, nearest) / counts
        spread = (variance / x.shape[1]).sqrt()
        return u_hat + self.log_scale.exp() * spread[:, None] * noise


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
    d2 = torch.addmm(u.square().sum(1), z, u.T, alpha=-2)
    norms = z.square().sum(1, keepdim=True)
    if d2.requires_grad:
        return (d2 + norms).clamp_min(0)
    return d2.add_(norms).clamp_min_(0)  # two passes over n x m less


def anchor_learning_loss(d2, bandwidth=1.0, *, balanced=False):
    r"""Mean entropy of the Student-t assignment to anchors (paper eqs. similarity, anchor_learning).

    With :math:`w_{ij} = (1 + d_{ij} / \tau)^{-1}`, :math:`W_i = \sum_j w_{ij}` and
    :math:`q_{ij} = w_{ij} / W_i`,

    .. math:: L_{AL} = -\frac1n \sum_{ij} q_{ij} \log q_{ij}
              = \frac1n \sum_i \Big( \log W_i
              + \frac{1}{W_i} \sum_j w_{ij} \log(1 + d_{ij} / \tau) \Big).

    Parameters
    ----------
    d2 : torch.Tensor of shape (n, m)
        Squared distances from samples to anchors (:func:`squared_distances`).
    bandwidth : float or torch.Tensor of shape ()
        :math:`\tau`; the paper has none, which is 1.
    balanced : bool
        Subtract the entropy of the mean assignment :math:`\frac1n \sum_i q_i`, so that sharp
        assignments are rewarded only as long as all anchors stay in use. The loss is then minus
        the mutual information between samples and anchors.

    Returns
    -------
    torch.Tensor of shape ()
        In nats, between 0 and log m; between -log m and 0 if balanced.
    """
    scaled = d2 / bandwidth
    w = 1 / (1 + scaled)
    total = w.sum(1)
    entropy = (total.log() + (w * torch.log1p(scaled)).sum(1) / total).mean()
    if not balanced:
        return entropy
    usage = (w / total[:, None]).mean(0)
    return entropy + torch.special.xlogy(usage, usage).sum()


def neighbor_bandwidth(d2, n_neighbors):
    r"""A bandwidth from the data: the median squared distance to the (k+1)-th nearest anchor.

    Parameters
    ----------
    d2 : torch.Tensor of shape (n, m)
    n_neighbors : int
        k, below m.

    Returns
    -------
    torch.Tensor of shape ()
        Without gradient; positive even if all samples coincide.
    """
    border = torch.topk(d2.detach(), n_neighbors + 1, dim=1, largest=False).values[:, -1]
    return border.median().clamp_min(1e-6)
