"""Soft assignments to centres, by Student's t, as DFP-GNN and SURER have them, and their losses.

Chapter 13 of the book introduces both.
"""

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.cluster import SpectralClustering

from dmac.compute.kmeans import kmeans
from dmac.peers._gcn import balanced_link_loss


def student_t(z, centers):
    r"""Soft assignment :math:`q_{ij} \propto (1 + \|z_i - \mu_j\|^2)^{-1}`, rows summing to 1.

    Source: Xie et al. (2016), one degree of freedom.

    Parameters
    ----------
    z : torch.Tensor of shape (n, d)
    centers : torch.Tensor of shape (c, d)

    Returns
    -------
    torch.Tensor of shape (n, c)
    """
    shift = centers.detach().mean(0)  # changes no distance, and keeps the digits
    z, centers = z - shift, centers - shift
    products = z @ centers.T
    d2 = (z.square().sum(1, keepdim=True) - 2 * products + centers.square().sum(1)).clamp_min(0)
    q = 1 / (1 + d2)
    return q / q.sum(1, keepdim=True)


def sharpened(q):
    r"""The target of ``student_t``: :math:`p_{ij} \propto q_{ij}^2 / \sum_l q_{lj}`, a constant."""
    q = q.detach()
    p = q.square() / q.sum(0).clamp_min(torch.finfo(q.dtype).tiny)
    return p / p.sum(1, keepdim=True)


def divergence(p, q):
    r"""The mean over samples of :math:`\mathrm{KL}(p_i \| q_i)`: (n, c) and (n, c) -> ()."""
    return (torch.xlogy(p, p) - p * q.log()).sum() / len(p)


def class_means(z, labels, n_clusters):
    """The mean row of every class, and that of all rows for a class without any."""
    one_hot = F.one_hot(labels, n_clusters).to(z.dtype)
    counts = one_hot.sum(0)[:, None]
    return torch.where(counts > 0, one_hot.T @ z / counts.clamp_min(1), z.mean(0))


def pseudo_labels(hs, n_clusters, seed, how):
    r"""Labels with which a last stage begins.

    Parameters
    ----------
    hs : list of v torch.Tensor of shape (n, d)
        The views' embeddings.
    n_clusters, seed : int
    how : {"kmeans", "spectral"}
        k-means, the best of 10 starts, on the mean of the embeddings, or the spectral clustering
        of the graph :math:`\frac1v \sum_a \sigma(H^a H^{aT})`.

    Returns
    -------
    numpy.ndarray of shape (n,), int64
    """
    if how == "kmeans":
        h = torch.stack(hs).mean(0).cpu().numpy()
        labels = kmeans(h, n_clusters, seed, n_init=10).labels_
    else:
        graph = sum(torch.sigmoid(h @ h.T) for h in hs) / len(hs)
        model = SpectralClustering(n_clusters, affinity="precomputed", random_state=seed)
        labels = model.fit_predict(graph.double().cpu().numpy())
    return np.asarray(labels, dtype=np.int64)


def tuning_loss(h, h_hat, z, q, p, links, weights, link_weight, cluster_weight):
    r"""The loss of the last stage.

    .. math:: \frac{1}{nd} \|H - \hat H\|_F^2 + \lambda_1 L_\mathrm{link}(Z) +
        \frac{\lambda_2}{n} \sum_i \mathrm{KL}(p_i \| q_i)

    Parameters
    ----------
    h, h_hat : torch.Tensor of shape (n, d)
        The fused features, a constant here, and their reconstruction. Were H no constant, a
        smaller H would be a better one.
    z : torch.Tensor of shape (n, d')
    q, p : torch.Tensor of shape (n, c)
        Soft assignments and their target.
    links : dmac.peers._gcn.Links
        The views' graphs.
    weights : torch.Tensor of shape (v,)
        Of the graphs; constants.
    link_weight, cluster_weight : float
        The two factors.

    Returns
    -------
    torch.Tensor of shape ()
    """
    loss = F.mse_loss(h_hat, h.detach()) + cluster_weight * divergence(p, q)
    return loss + link_weight * balanced_link_loss(z, links, weights)


def clustering_loss(q, p, labels, lambda2, lambda3):
    r"""The part of the loss that the assignments have.

    .. math:: \frac1n \sum_i \lambda_2 \mathrm{KL}(p_i \| q_i) - \lambda_3 \log q_{i y_i}

    Parameters
    ----------
    q, p : torch.Tensor of shape (n, c)
        Soft assignments and their target.
    labels : torch.Tensor of shape (n,), int64
        Pseudo-labels y, from k-means.
    lambda2, lambda3 : float
        The two factors.

    Returns
    -------
    torch.Tensor of shape ()
    """
    return lambda2 * divergence(p, q) + lambda3 * F.nll_loss(q.log(), labels)
