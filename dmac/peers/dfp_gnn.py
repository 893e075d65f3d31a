"""DFP-GNN: one graph auto-encoder a view, their features and graphs fused into a shared one.

The book's chapter on the field introduces it.
"""

import torch
import torch.nn.functional as F
from torch import nn

from dmac._parameters import NON_NEGATIVE, WIDTHS, at_least, choice, one_of, or_none
from dmac.compute.kmeans import kmeans
from dmac.peers._gcn import (
    GraphAutoencoderPeer,
    Links,
    balanced_link_loss,
    convolution_bytes,
    divergence,
    graph_bytes,
    link_bytes,
)
from dmac.peers._training import torch_generator
from dmac.peers.base import Outcome, parameters


class Patience:
    """When to stop: no better loss for some epochs, or hardly a better one.

    Parameters
    ----------
    epochs : int
        The window.
    flat : float or None
        Stop when the best loss of all epochs is below the best one before the window by less than
        this share of it. None: only when it is not below at all.
    """

    def __init__(self, epochs, flat=None):
        self.epochs = epochs
        self.flat = flat or 0.0
        self.best = []

    def __call__(self, loss):
        """Take the epoch's loss, a float; True if it was the last epoch."""
        self.best.append(min([loss, *self.best[-1:]]))
        if len(self.best) <= self.epochs:
            return False
        before = self.best[-1 - self.epochs]
        return before - self.best[-1] <= self.flat * abs(before)


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
    links : Links
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


@parameters
class DFPGNN(GraphAutoencoderPeer):
    r"""Dual fusion-propagation graph neural network.

    Every view gets a graph: mutual neighbours that share at least two such neighbours. Three
    stages train by full-batch RMSprop. First a graph auto-encoder a view,

    .. math:: \min \frac{1}{n d_a} \|\hat X^a - X^a\|_F^2 + \lambda_0 L_\mathrm{link}(H^a),

    where :math:`L_\mathrm{link}` is the balanced cross-entropy between
    :math:`\sigma(H^a H^{aT})` and the graph. Then a shared one of the same kind on the mean of the
    :math:`H^a` and on that mean's own graph. Last, all encoders together: two softmax weight
    vectors fuse the features, :math:`H = \sum_a w_a H^a`, and the graphs,
    :math:`\hat A = \sum_a u_a \hat A^a`; the shared encoder gives Z, Student-t assignments q to c
    centres are sharpened to p every ``refresh`` epochs, and

    .. math:: \min \frac{1}{nd} \|H - \hat H\|_F^2 + \lambda_1 L_\mathrm{link}(Z)
        + \frac{\lambda_2}{n} \sum_i \mathrm{KL}(p_i \| q_i)

    until no label changes between two refreshes. Labels are the arg-max of q.

    The published pre-training, up to 20000 epochs at a rate of 1e-5 until 100 epochs bring no
    better loss, hardly ever ends early: a smooth loss goes on falling, by less and less. So
    ``flat`` ends a stage when those 100 epochs lower the best loss by less than 1 %; with None the
    published rule holds. A plateau can be mistaken for the end: on BBC the loss stands from epoch
    60 on at one output for all samples, the mean document, and ``flat`` ends a view at epoch 136,
    though at ten times the rate the same loss leaves that value within 40 epochs. A mean over
    thousands of features has small gradients there, beside RMSprop's epsilon, 1e-8, and the weight
    decay; ``reduction="sum"`` takes their sum, which passes that value without a stop.

    The paper leaves open, and the public code settles otherwise: a link's target has self-loops, so
    that an empty graph is no division by zero; the target of the last stage is the views' graphs
    with the weights u, and the reconstruction's is H, both taken as constants. The number of
    neighbours is cut down to a quarter of the samples.

    Memory is O(n (k + widths)), with no n x n matrix held whole; time is O(n^2) an epoch for the
    links, and O(n widths^2) for the layers. Source: Xiao et al. (2023), public repository
    ``Xiaoshunxin/DFP-GNN``.
    """

    n_neighbors: int = choice(50, at_least(1), "Of the views' graphs.")
    n_fused_neighbors: int = choice(40, at_least(1), "Of the graph of the mean embedding.")
    shared: tuple = choice((256, 64, 16), WIDTHS, "Of the shared encoder.")
    lambda0: float = choice(1e-3, NON_NEGATIVE, "Weight of the links in pre-training.")
    lambda1: float = choice(1e-5, NON_NEGATIVE, "Weight of the links in the last stage.")
    lambda2: float = choice(1.0, NON_NEGATIVE, "Weight of the clusters in the last stage.")
    pretrain_epochs: int = choice(20000, at_least(0), "At most, for each auto-encoder.")
    patience: int = choice(100, at_least(1), "Epochs of pre-training without a better loss.")
    flat: float | None = choice(
        0.01,
        or_none(NON_NEGATIVE),
        "Share of the loss by which ``patience`` epochs must lower it.",
    )
    reduction: str = choice(
        "mean",
        one_of("mean", "sum"),
        """
        Of pre-training's loss over a view's features; "sum" is meant for texts.""",
    )
    epochs: int = choice(20000, at_least(0), "At most, of the last stage.")
    refresh: int = choice(50, at_least(1), "Epochs between two targets p.")
    tolerance: float = choice(
        1e-7, NON_NEGATIVE, "Share of labels that may change between two refreshes at the end."
    )
    lr: float = choice(1e-5, NON_NEGATIVE, "Learning rate of all stages; the momentum is 0.9.")

    def memory(self, n_samples, n_features):
        """Bytes: layers, activations and sparse graphs; linear in n."""
        total = convolution_bytes(n_samples, [self.hidden[-1], *self.shared])
        total += graph_bytes(n_samples, self.n_fused_neighbors) + link_bytes(n_samples)
        return total + self._bytes_of_views(n_samples, n_features, 2)

    def _pretraining(self, width):
        stop = Patience(self.patience, self.flat)
        return self.lr, stop, width if self.reduction == "sum" else 1

    def _solve(self, views, generator):
        draws = torch_generator(generator)
        history = []
        views, hs = self._pretrained_views(views, draws, history)
        h = torch.stack(hs).mean(0).cpu().numpy()
        shared = self._pretrained(h, self.n_fused_neighbors, self.shared, "shared", draws, history)
        z, q, _, u = self._tuned(views, shared.model, generator, history)
        graph = sum(float(weight) * view.graph for weight, view in zip(u, views))
        return Outcome(q.argmax(1).cpu().numpy(), z.cpu().numpy(), graph.tocsr(), history)

    def _tuned(self, views, shared, generator, history):
        """The last stage: embedding, assignments, fused features, weights of the graphs."""
        device = shared.weights[0].device
        links = Links([view.graph for view in views], device)
        logits = nn.Parameter(torch.zeros(2, len(views), device=device))
        before = None

        def forward():
            w, u = logits.softmax(1)
            h = sum(a * view.encode() for a, view in zip(w, views))

            def operator(y):
                return sum(a * view.operator(y) for a, view in zip(u, views))

            return shared.encode(operator, h), h, u

        def loss(q, p, z, h, u):
            return tuning_loss(h, shared.decode(z), z, q, p, links, u, self.lambda1, self.lambda2)

        def settled(labels):
            nonlocal before
            changed = 1.0 if before is None else (before != labels).float().mean().item()
            before = labels
            return changed < self.tolerance

        with torch.no_grad():
            z = forward()[0].cpu().numpy()
        fit = kmeans(z, self.n_clusters, int(generator.integers(2**31 - 1)), n_init=5)
        centers = torch.tensor(fit.cluster_centers_, dtype=torch.float32, device=device)
        weights = [logits, *shared.parameters()]
        weights += [weight for view in views for weight in view.model.weights]
        return self._cluster(forward, centers, weights, loss, "tuning", history, settled)
