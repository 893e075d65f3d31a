"""SURER: the views' graphs refined by inner products and joined into one over all their nodes.

The book's chapter on the field introduces it.
"""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.cluster import SpectralClustering
from torch import nn
from torch.utils.checkpoint import checkpoint

from dmac.compute.device import resolve_device
from dmac.compute.kmeans import kmeans
from dmac.peers._checks import check_choice, check_numbers, check_widths
from dmac.peers._gcn import (
    GraphAutoencoder,
    balanced_link_loss,
    convolution_bytes,
    divergence,
    filled,
    graph_bytes,
    link_bytes,
    prepare_view,
    pretrain,
    rmsprop,
    sharpened,
    student_t,
)
from dmac.peers._training import torch_generator, train
from dmac.peers.base import MEMORY_BUDGET, Outcome, Peer


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


@dataclass(eq=False, repr=False)
class SURER(Peer):
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

    Parameters
    ----------
    n_clusters : int
        c.
    n_neighbors : int
        Of the views' graphs.
    min_common : int
        Neighbours that the ends of an edge must share.
    hidden : tuple of int
        Widths of the views' encoders; the unified convolution keeps the last one.
    lambda0, lambda1, lambda2, lambda3 : float
        Weights: of the links in pre-training, and of links, clusters and pseudo-labels after it.
    pretrain_epochs, epochs : int
        Of the two stages.
    refresh : int
        Epochs between two targets p.
    initial : {"kmeans", "spectral"}
        What the pseudo-labels y come from: k-means, as published, or the spectral clustering of
        the mean of the refined graphs.
    pretrain_lr, lr : float
        Learning rates of the two stages; the momentum is 0.9.
    pretrain_decay, weight_decay : float
        Weight decay of the two stages.
    """

    n_clusters: int
    n_neighbors: int = 25
    min_common: int = 2
    hidden: tuple = (512, 2048, 256)
    lambda0: float = 0.01
    lambda1: float = 3.0
    lambda2: float = 0.01
    lambda3: float = 0.5
    pretrain_epochs: int = 450
    epochs: int = 350
    refresh: int = 80
    initial: str = "kmeans"
    pretrain_lr: float = 1e-4
    lr: float = 1e-5
    pretrain_decay: float = 1e-6
    weight_decay: float = 1e-5
    device: str = "auto"
    random_state: object = None
    memory_budget: int = MEMORY_BUDGET

    def _check(self, n_samples):
        check_widths(self, "hidden")
        check_choice(self, "initial", ("kmeans", "spectral"))
        reals = ("lambda0", "lambda1", "lambda2", "lambda3", "pretrain_lr", "lr")
        check_numbers(
            self,
            [("n_neighbors", 1), ("refresh", 1)]
            + [(name, 0) for name in ("min_common", "pretrain_epochs", "epochs")],
            [(name, 0) for name in (*reals, "pretrain_decay", "weight_decay")],
        )

    def memory(self, n_samples, n_features):
        """Bytes: one view's dense graph and its gradients, layers and activations of all."""
        dense = 4 * 5 if self.initial == "kmeans" else 8 * 5  # the eigenvectors are of doubles
        total = dense * n_samples**2 + link_bytes(n_samples)
        for d in n_features:
            total += convolution_bytes(n_samples, [d, *self.hidden])
            total += graph_bytes(n_samples, self.n_neighbors)
            total += 16 * n_samples * d
        return total

    def _work(self, n_samples, n_features):
        return n_samples * sum(n_features) * self.hidden[0]

    def _solve(self, views, generator):
        device, draws, history = resolve_device(self.device), torch_generator(generator), []
        parts, hs = [], []
        for a, x in enumerate(views, 1):
            x, _, *graph = prepare_view(x, self.n_neighbors, self.min_common, device)
            model = GraphAutoencoder([x.shape[1], *self.hidden], draws).to(device)
            optimizer = rmsprop(model.parameters(), self.pretrain_lr, self.pretrain_decay)
            training = optimizer, self.pretrain_epochs, f"view {a}", history
            hs.append(pretrain(model, x, *graph, self.lambda0, *training))
            parts.append((model, x, *graph))
        seed = int(generator.integers(2**31 - 1))
        labels = pseudo_labels(hs, self.n_clusters, seed, self.initial)
        z, q = self._tune(parts, labels, draws, history, device)
        return Outcome(q.argmax(1).cpu().numpy(), z.cpu().numpy(), history=history)

    def _tune(self, parts, labels, draws, history, device):
        """The second stage: embedding and assignments after it."""
        width = self.hidden[-1]
        labels = torch.as_tensor(labels, device=device)
        weight = nn.init.xavier_uniform_(torch.empty(width, width), generator=draws)
        weight = nn.Parameter(weight.to(device))
        logits = nn.Parameter(torch.zeros(len(parts), device=device))

        def embed():
            hs = [model.encode(operator, x) for model, x, operator, _ in parts]
            ys = unified_convolution(hs, weight)
            return hs, sum(w * y for w, y in zip(logits.softmax(0), ys))

        with torch.no_grad():
            centers = nn.Parameter(class_means(embed()[1], labels, self.n_clusters))
        parameters = [weight, logits, centers]
        parameters += [parameter for part in parts for parameter in part[0].parameters()]
        target = None

        def loss(epoch):
            nonlocal target
            hs, z = embed()
            q = student_t(z, centers)
            if epoch % self.refresh == 0:
                target = sharpened(q)
            value = clustering_loss(q, target, labels, self.lambda2, self.lambda3)
            for h, (model, x, _, links) in zip(hs, parts):
                value = value + F.mse_loss(model.decode(h), filled(x))
                value = value + self.lambda1 * balanced_link_loss(h, links)
            return value

        optimizer = rmsprop(parameters, self.lr, self.weight_decay)
        train(loss, optimizer, self.epochs, "unified", history)
        with torch.no_grad():
            z = embed()[1]
            return z, student_t(z, centers)
