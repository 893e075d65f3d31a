"""DealMVC: contrastive learning calibrated by pseudo labels, on pairs of views and on their sum.

The book's chapter on the field introduces it.
"""

from itertools import combinations

import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import linear_sum_assignment
from torch import nn

from dmac._parameters import BELOW_ONE, SHARE, at_least, choice
from dmac.compute.kmeans import kmeans
from dmac.compute.layers import dense_layer
from dmac.peers._autoencoder import (
    AutoEncoder,
    AutoencoderPeer,
    attention_layer,
    autoencoder_bytes,
    even_batches,
    layer_bytes,
    perceptron,
)
from dmac.peers._training import dropout, train
from dmac.peers.base import Outcome, parameters, unit_range


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
        Fused features, and their soft labels.
    threshold : float

    Returns
    -------
    torch.Tensor of shape ()
    """
    overall = calibration_target(p, p, threshold)
    local = []
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


class ViewWeights(nn.Module):
    r"""Weights of the views from what they look like in a batch.

    The views are a sequence of v tokens, each the mean :math:`\bar h^v` of its features over the
    batch. Self-attention gives a scalar :math:`a_v` each (the mean of its output), a perceptron on
    the uniform weights u = (1/v, ...) another, and

    .. math:: w = u \odot \mathrm{softmax}\big( a \odot \mathrm{FFN}(u) \big) .

    Parameters
    ----------
    n_views, width, n_heads, hidden : int
        v; the features' width; heads of the attention; hidden width of the perceptron.
    rate : float
        Of the dropout.
    generator : torch.Generator
        On the CPU; draws the initial weights.
    """

    def __init__(self, n_views, width, n_heads, hidden, rate, generator):
        super().__init__()
        self.rate = rate
        self.attention = attention_layer(width, n_heads, generator)
        self.perceptron = perceptron((n_views, hidden, n_views), generator)

    def forward(self, means, generator=None):
        """(v, d) -> (v,); a generator switches the dropout on."""
        uniform = torch.full((len(means),), 1 / len(means), device=means.device, dtype=means.dtype)
        y = self.attention(means[None], means[None], means[None], need_weights=False)[0][0]
        a = dropout(y, self.rate, generator).mean(1)
        return uniform * torch.softmax(a * self.perceptron(uniform), dim=0)


class _Network(nn.Module):
    def __init__(self, n_features, model, generator):
        super().__init__()
        self.autoencoders = nn.ModuleList(
            AutoEncoder(d, model.widths, generator) for d in n_features
        )
        width = model.widths[-1]
        self.feature_head = dense_layer(width, width, generator)
        self.label_head = dense_layer(width, model.n_clusters, generator)
        sizes = len(n_features), width, model.n_heads, model.ff_dim
        self.weights = ViewWeights(*sizes, model.dropout, generator)

    def features(self, z):
        return F.normalize(self.feature_head(z))

    def labels(self, z):
        return torch.softmax(self.label_head(z), dim=1)

    def fuse(self, hs, generator=None):
        """Features of v views (b, d) -> their weighted sum (b, d) and the weights (v,)."""
        w = self.weights(torch.stack([h.mean(0) for h in hs]), generator)
        return sum(a * h for a, h in zip(w, hs)), w


@parameters
class DealMVC(AutoencoderPeer):
    r"""Dual contrastive calibration for multi-view clustering.

    Auto-encoders with codes :math:`z_i^v`, a shared head for unit rows :math:`h_i^v`, a shared head
    for soft labels :math:`q_i^v`, both of the codes, and fused features
    :math:`f = \sum_v w_v h^v`, as wide as a code, with labels p from the same head.
    Three stages: reconstruction; then, with :math:`T(P, Q)` the entries of :math:`P Q^T` that reach
    the threshold and a diagonal of ones, rows scaled to sum 1, and :math:`L(H, G, T)` the
    cross-entropy of T to the row softmax of :math:`H G^T`,

    .. math:: \sum_{v<w} L(H^v, H^w, T(Q^v, Q^w)) + L(F, F, T(P, P))
        + \sum_{v<w} \mathrm{MSE}(T(P, P), T(Q^v, Q^w)) + \sum_v \mathrm{MSE}(X^v, \hat X^v) ;

    then cross-entropy of every :math:`q^v` to the k-means clusters of :math:`h^v`, renamed to
    agree with :math:`\arg\max q^v`. A sample's label is the argmax of the mean of its
    :math:`q^v`: nothing holds clusters apart or keeps them from being empty, so there may be fewer
    than asked for. The renaming takes each view alone, so views may give one cluster different
    names; some seeds are much worse than others.

    The view weights are trained, as the paper means it; in the public implementation they are
    constants that no gradient reaches, from layers whose optimisers never step. There an attention
    token is as wide as the batch, which must have 256 samples; here it is a mean over the batch,
    whatever its size. There the comparison of targets stops after the first v pairs; here it takes
    all.

    With one view there are no pairs: only the terms of f and the reconstruction are left.

    Memory O(n d + p + v^2 b^2) for p weights and batches of b, time O(e n (p + v^2 b d)) for e
    epochs, plus k-means a view: linear in n.

    Source: Yang et al. (2023), on the networks of Xu et al. (2022); public repository
    xihongyang1999/DealMVC.

    Attributes
    ----------
    view_weights_ : numpy.ndarray of shape (v,)
        w on all samples, after training; their sum is 1/v.
    """

    n_heads: int = choice(
        8,
        at_least(1),
        "Of the attention in the view weights; the last of ``widths`` is a multiple of it.",
    )
    ff_dim: int = choice(32, at_least(1), "Hidden width of the perceptron in the view weights.")
    dropout: float = choice(0.5, BELOW_ONE, "In the view weights.")
    threshold: float = choice(0.8, SHARE, "Below it, agreement of pseudo labels is none.")
    pretrain_epochs: int = choice(300, at_least(0), "Of the reconstruction.")
    calibration_epochs: int = choice(100, at_least(0), "Of the second stage.")
    finetune_epochs: int = choice(
        50, at_least(0), "Of the third stage, which takes one step an epoch, on all samples."
    )

    def _check(self, n_samples):
        if self.widths[-1] % self.n_heads:
            raise ValueError(
                f"the last of widths is {self.widths[-1]} and n_heads {self.n_heads}: the first "
                "must be a multiple of the second"
            )

    def _solve(self, views, generator):
        network, views, optimizer, history = self._trained(
            _Network, views, generator, "calibration", self.calibration_epochs
        )
        hs, qs = self._evaluate(network, views)
        if self.finetune_epochs:
            seed = int(generator.integers(2**31 - 1))
            device = views[0].device
            targets = [self._pseudo_labels(h, q, seed).to(device) for h, q in zip(hs, qs)]

            def cross_entropy(rows):
                return sum(
                    F.cross_entropy(network.label_head(net.encoder(x[rows])), target[rows])
                    for net, x, target in zip(network.autoencoders, views, targets)
                )

            train(
                lambda rows: cross_entropy(rows.to(device)),
                optimizer,
                self.finetune_epochs,
                "fine-tuning",
                history,
                lambda: even_batches(len(views[0]), self.batch_size),
                full_batch=True,
            )
            hs, qs = self._evaluate(network, views)
        with torch.no_grad():
            fused, weights = network.fuse(hs)
        self.view_weights_ = weights.cpu().numpy()
        labels = sum(qs).argmax(1).cpu().numpy()
        return Outcome(labels, embedding=fused.cpu().numpy(), history=history)

    def _loss(self, network, codes, error, draws):
        hs = [network.features(z) for z in codes]
        qs = [network.labels(z) for z in codes]
        fused, _ = network.fuse(hs, draws)
        p = network.labels(fused)
        return error + dual_calibration_loss(hs, qs, fused, p, self.threshold)

    def _pseudo_labels(self, h, q, seed):
        h = h.cpu().numpy()
        clusters = kmeans(unit_range(h), self.n_clusters, seed, self.n_init).labels_
        return torch.as_tensor(match_clusters(clusters, q.argmax(1).cpu().numpy(), self.n_clusters))

    @torch.no_grad()
    def _evaluate(self, network, views):
        """Features and soft labels of all samples: two lists of v tensors."""
        codes = [
            torch.cat([net.encoder(rows) for rows in x.split(self.batch_size)])
            for net, x in zip(network.autoencoders, views)
        ]
        return [network.features(z) for z in codes], [network.labels(z) for z in codes]

    def memory(self, n_samples, n_features):
        """Bytes at the peak: scaled views, weights with Adam's moments, one batch, features."""
        b = min(self.batch_size, n_samples)
        f = self.widths[-1]
        v = len(n_features)
        heads = [(f, f), (f, self.n_clusters), *[(f, f)] * 4]
        pairs = 4 * b**2 * (v * (v - 1) // 2 + 1)  # product, softmax, logarithm and target
        return (
            autoencoder_bytes(n_samples, n_features, self.widths, self.batch_size)
            + layer_bytes(b * v, *heads)
            + 4 * (2 * pairs + n_samples * (v + 4) * (f + self.n_clusters))
        )
