"""DFP-GNN: one graph auto-encoder a view, their features and graphs fused into a shared one.

The book's chapter on the field introduces it.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from dmac.compute.device import resolve_device
from dmac.compute.kmeans import kmeans
from dmac.peers._checks import check_choice, check_numbers, check_widths
from dmac.peers._gcn import (
    GraphAutoencoder,
    Links,
    balanced_link_loss,
    convolution_bytes,
    divergence,
    graph_bytes,
    graph_operator,
    link_bytes,
    prepare_view,
    pretrain,
    rmsprop,
    sharpened,
    student_t,
)
from dmac.peers._graphs import mutual_graph, nearest_neighbors
from dmac.peers._training import torch_generator, train
from dmac.peers.base import MEMORY_BUDGET, Outcome, Peer


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
        self.epochs, self.flat, self.best = epochs, flat or 0.0, []

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


@dataclass(eq=False, repr=False)
class DFPGNN(Peer):
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

    Parameters
    ----------
    n_clusters : int
        c.
    n_neighbors : int
        Of the views' graphs.
    n_fused_neighbors : int
        Of the graph of the mean embedding.
    min_common : int
        Neighbours that the ends of an edge must share.
    hidden : tuple of int
        Widths of the views' encoders.
    shared : tuple of int
        Widths of the shared encoder.
    lambda0, lambda1, lambda2 : float
        Weights of the links in pre-training, of the links and of the clusters in the last stage.
    pretrain_epochs : int
        At most, for each auto-encoder.
    patience : int
        Epochs of pre-training without a better loss.
    flat : float or None
        Share of the loss by which ``patience`` epochs must lower it.
    reduction : {"mean", "sum"}
        Of pre-training's loss over a view's features; "sum" is meant for texts.
    epochs : int
        At most, of the last stage.
    refresh : int
        Epochs between two targets p.
    tolerance : float
        Share of labels that may change between two refreshes at the end.
    lr : float
        Learning rate of all stages; the momentum is 0.9.
    pretrain_decay, weight_decay : float
        Weight decay of pre-training and of the last stage.
    """

    n_clusters: int
    n_neighbors: int = 50
    n_fused_neighbors: int = 40
    min_common: int = 2
    hidden: tuple = (512, 2048, 256)
    shared: tuple = (256, 64, 16)
    lambda0: float = 1e-3
    lambda1: float = 1e-5
    lambda2: float = 1.0
    pretrain_epochs: int = 20000
    patience: int = 100
    flat: float | None = 0.01
    reduction: str = "mean"
    epochs: int = 20000
    refresh: int = 50
    tolerance: float = 1e-7
    lr: float = 1e-5
    pretrain_decay: float = 1e-6
    weight_decay: float = 1e-5
    device: str = "auto"
    random_state: object = None
    memory_budget: int = MEMORY_BUDGET

    def _check(self, n_samples):
        check_widths(self, "hidden", "shared")
        check_choice(self, "reduction", ("mean", "sum"))
        positive = ("n_neighbors", "n_fused_neighbors", "patience", "refresh")
        counts = ("min_common", "pretrain_epochs", "epochs")
        reals = ("lambda0", "lambda1", "lambda2", "tolerance", "lr", "pretrain_decay")
        if self.flat is not None:
            reals += ("flat",)
        check_numbers(
            self,
            [(name, 1) for name in positive] + [(name, 0) for name in counts],
            [(name, 0) for name in (*reals, "weight_decay")],
        )

    def memory(self, n_samples, n_features):
        """Bytes: layers, activations and sparse graphs; linear in n."""
        total = convolution_bytes(n_samples, [self.hidden[-1], *self.shared])
        total += graph_bytes(n_samples, self.n_fused_neighbors) + link_bytes(n_samples)
        for d in n_features:
            total += convolution_bytes(n_samples, [d, *self.hidden])
            total += 2 * graph_bytes(n_samples, self.n_neighbors)
            total += 16 * n_samples * d
        return total

    def _work(self, n_samples, n_features):
        return n_samples * sum(n_features) * self.hidden[0]

    def _solve(self, views, generator):
        device, draws, history = resolve_device(self.device), torch_generator(generator), []
        prepared = [prepare_view(x, self.n_neighbors, self.min_common, device) for x in views]
        xs, graphs, operators, links = zip(*prepared)
        models, hs = [], []
        for a, (x, *graph) in enumerate(zip(xs, operators, links), 1):
            models.append(GraphAutoencoder([x.shape[1], *self.hidden], draws).to(device))
            hs.append(self._pretrain(models[-1], x, graph, f"view {a}", history))
        h = torch.stack(hs).mean(0)
        near = nearest_neighbors(h.cpu().numpy(), self.n_fused_neighbors)
        graph = mutual_graph(near, self.min_common)
        graph = graph_operator(graph, device), Links([graph], device)
        shared = GraphAutoencoder([self.hidden[-1], *self.shared], draws).to(device)
        self._pretrain(shared, h, graph, "shared", history)
        links = Links(graphs, device)
        z, q, u = self._tune(models, shared, xs, operators, links, generator, history)
        fused = sum(float(weight) * graph for weight, graph in zip(u, graphs))
        return Outcome(q.argmax(1).cpu().numpy(), z.cpu().numpy(), fused.tocsr(), history)

    def _pretrain(self, model, x, graph, stage, history):
        optimizer = rmsprop(model.parameters(), self.lr, self.pretrain_decay)
        stop = Patience(self.patience, self.flat)
        scale = x.shape[1] if self.reduction == "sum" else 1
        training = optimizer, self.pretrain_epochs, stage, history, stop, scale
        return pretrain(model, x, *graph, self.lambda0, *training)

    def _tune(self, models, shared, xs, operators, links, generator, history):
        """The last stage: embedding, assignments, and the weights of the graphs."""
        device = shared.weights[0].device
        logits = nn.Parameter(torch.zeros(2, len(xs), device=device))

        def forward():
            w, u = logits.softmax(1)
            h = sum(a * m.encode(o, x) for a, m, o, x in zip(w, models, operators, xs))
            return h, shared.encode(lambda y: sum(a * o(y) for a, o in zip(u, operators)), h), u

        with torch.no_grad():
            z = forward()[1].cpu().numpy()
        found = kmeans(z, self.n_clusters, int(generator.integers(2**31 - 1)), n_init=5)
        centers = torch.as_tensor(found.cluster_centers_, dtype=torch.float32, device=device)
        centers = nn.Parameter(centers.clone())
        parameters = [logits, centers, *shared.parameters()]
        parameters += [weight for model in models for weight in model.weights]
        target = labels = None

        def loss(epoch):
            nonlocal target, labels
            h, z, u = forward()
            q = student_t(z, centers)
            if epoch % self.refresh == 0:
                target, before, labels = sharpened(q), labels, q.argmax(1)
                changed = 1.0 if before is None else (before != labels).float().mean().item()
                if changed < self.tolerance:
                    return None
            return tuning_loss(
                h, shared.decode(z), z, q, target, links, u, self.lambda1, self.lambda2
            )

        train(loss, rmsprop(parameters, self.lr, self.weight_decay), self.epochs, "tuning", history)
        with torch.no_grad():
            _, z, u = forward()
            return z, student_t(z, centers), u
