"""SURER: the views' graphs refined by inner products and joined into one over all their nodes.

The book's chapter on the field introduces it.
"""

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.cluster import SpectralClustering
from torch import nn
from torch.utils.checkpoint import checkpoint

from dmac._parameters import NON_NEGATIVE, at_least, choice, one_of
from dmac.compute.kmeans import kmeans
from dmac.peers._gcn import (
    GraphAutoencoderPeer,
    balanced_link_loss,
    divergence,
    filled,
    link_bytes,
)
from dmac.peers._training import torch_generator
from dmac.peers.base import Outcome, parameters


def unified_convolution(hs, weight):
    r"""One graph convolution over the v n nodes of all views, block by block.

    .. math:: Y = \hat D^{-1/2} \hat A \hat D^{-1/2}
        \begin{pmatrix} H^1 \\ \vdots \\ H^v \end{pmatrix} W, \quad
        \hat A = \mathrm{diag}(G^1, \dots, G^v) + 1 1^T \otimes I_n, \quad
        G^a = \sigma(H^a H^{aT})

    The second part joins the copies of a sample in all views, itself included: a product with it
    is a sum over views. So one of size v n x v n is never formed; nor are v of size n x n held at
    once, since a view's is computed again for its gradient.

    Parameters
    ----------
    hs : list of v torch.Tensor of shape (n, d)
    weight : torch.Tensor of shape (d, d')

    Returns
    -------
    list of v torch.Tensor of shape (n, d')
    """
    parts = [
        checkpoint(_in_view, h, h @ weight, len(hs), use_reentrant=False, preserve_rng_state=False)
        for h in hs
    ]
    across = sum(scaled for _, scaled, _ in parts)
    return [root * (inside + across) for root, scaled, inside in parts]


def _in_view(h, s, v):
    """A view's degrees to the power -1/2, s with rows so scaled, and the refined graph times it."""
    graph = torch.sigmoid(h @ h.T)
    root = (graph.sum(1, keepdim=True) + v).rsqrt()
    return root, root * s, graph @ (root * s)


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


@parameters
class SURER(GraphAutoencoderPeer):
    r"""Structure-adaptive unified graph neural network.

    Every view gets a graph of mutual neighbours that share at least two such neighbours, and a
    graph auto-encoder, trained by full-batch RMSprop on its own first:

    .. math:: \min \frac{1}{n d_a} \|\hat X^a - X^a\|_F^2 + \lambda_0 L_\mathrm{link}(H^a),

    where :math:`L_\mathrm{link}` is the balanced cross-entropy between
    :math:`G^a = \sigma(H^a H^{aT})` and the graph. Then all together: ``unified_convolution`` over
    the refined graphs :math:`G^a` and the links between a sample's copies gives :math:`Y^a`,
    softmax weights fuse them, :math:`Z = \sum_a w_a Y^a`, Student-t assignments q to c centres
    are sharpened to p every ``refresh`` epochs, and

    .. math:: \min \sum_a \frac{1}{n d_a} \|\hat X^a - X^a\|_F^2
        + \lambda_1 \sum_a L_\mathrm{link}(H^a)
        + \frac1n \sum_i \lambda_2 \mathrm{KL}(p_i \| q_i) - \lambda_3 \log q_{i y_i}

    with y from k-means on the mean of the :math:`H^a` before this stage. Labels are the arg-max of
    q after the last epoch.

    The public code joins consecutive samples of one view where the paper joins one sample's
    copies in different views; here it is the paper. It also keeps the epoch whose labels fit the
    true ones best, and takes the probabilities q for logits in the cross-entropy; neither is done
    here. The centres begin as the means of Z over the pseudo-labels. The number of neighbours is
    cut down to a quarter of the samples.

    Memory is O(n^2), about 5 n x n floats whatever the number of views, doubles for spectral
    pseudo-labels, and time O(v n^2 d) an epoch, beside the layers' O(n widths^2). Source: Wang et
    al. (2024), public repository ``Wjing-bjtu/SURER``.

    The unified convolution keeps the last width of ``hidden``.
    """

    n_neighbors: int = choice(25, at_least(1), "Of the views' graphs.")
    lambda0: float = choice(0.01, NON_NEGATIVE, "Weight of the links in pre-training.")
    lambda1: float = choice(3.0, NON_NEGATIVE, "Weight of the links after it.")
    lambda2: float = choice(0.01, NON_NEGATIVE, "Weight of the clusters.")
    lambda3: float = choice(0.5, NON_NEGATIVE, "Weight of the pseudo-labels.")
    pretrain_epochs: int = choice(450, at_least(0), "Of the first stage.")
    epochs: int = choice(350, at_least(0), "Of the second stage.")
    refresh: int = choice(80, at_least(1), "Epochs between two targets p.")
    initial: str = choice(
        "kmeans",
        one_of("kmeans", "spectral"),
        """
        What the pseudo-labels y come from: k-means, as published, or the spectral clustering of
        the mean of the refined graphs.""",
    )
    pretrain_lr: float = choice(1e-4, NON_NEGATIVE, "Learning rate of the first stage.")
    lr: float = choice(1e-5, NON_NEGATIVE, "Learning rate of the second; the momentum is 0.9.")

    def memory(self, n_samples, n_features):
        """Bytes: one view's dense graph and its gradients, layers and activations of all."""
        dense = 4 * 5 if self.initial == "kmeans" else 8 * 5  # the eigenvectors are of doubles
        total = dense * n_samples**2 + link_bytes(n_samples)
        return total + self._bytes_of_views(n_samples, n_features, 1)

    def _pretraining(self, width):
        return self.pretrain_lr, None, 1

    def _solve(self, views, generator):
        draws = torch_generator(generator)
        history = []
        views, hs = self._pretrained_views(views, draws, history)
        seed = int(generator.integers(2**31 - 1))
        labels = torch.as_tensor(
            pseudo_labels(hs, self.n_clusters, seed, self.initial), device=hs[0].device
        )
        z, q, _ = self._unified(views, labels, draws, history)
        return Outcome(q.argmax(1).cpu().numpy(), z.cpu().numpy(), history=history)

    def _unified(self, views, labels, draws, history):
        """The second stage: embedding, assignments, embeddings of the views."""
        device = labels.device
        weight = torch.empty(self.hidden[-1], self.hidden[-1])
        nn.init.xavier_uniform_(weight, generator=draws)
        weight = nn.Parameter(weight.to(device))
        logits = nn.Parameter(torch.zeros(len(views), device=device))

        def forward():
            hs = [view.encode() for view in views]
            ys = unified_convolution(hs, weight)
            return sum(w * y for w, y in zip(logits.softmax(0), ys)), hs

        def loss(q, p, z, hs):
            value = clustering_loss(q, p, labels, self.lambda2, self.lambda3)
            for h, view in zip(hs, views):
                value = value + F.mse_loss(view.model.decode(h), filled(view.x))
                value = value + self.lambda1 * balanced_link_loss(h, view.links)
            return value

        with torch.no_grad():
            centers = class_means(forward()[0], labels, self.n_clusters)
        weights = [weight, logits]
        weights += [parameter for view in views for parameter in view.model.parameters()]
        return self._cluster(forward, centers, weights, loss, "unified", history)
