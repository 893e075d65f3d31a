"""Graph convolutions, the graph auto-encoder, and the Student-t cluster layer, in PyTorch.

The book's chapter on the field uses them in three of the systems that it compares.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse
import torch
import torch.nn.functional as F
from torch import nn

from dmac._parameters import NON_NEGATIVE, WIDTHS, at_least, choice
from dmac.compute.device import resolve_device
from dmac.compute.layers import SparseView, product, view_tensor
from dmac.data.whitening import RowNormalizer
from dmac.peers._autoencoder import perceptron
from dmac.peers._graphs import mutual_graph, nearest_neighbors, normalized
from dmac.peers._training import train
from dmac.peers.base import TrainedPeer, parameters

# Numbers in a block of rows of an n x n matrix that is never held whole.
_BLOCK = 2**22


class _SymmetricProduct(torch.autograd.Function):
    """A x for a constant, symmetric, sparse A."""

    @staticmethod
    def forward(ctx, operator, x):
        ctx.operator = operator
        return operator.x @ x.contiguous()

    @staticmethod
    def backward(ctx, grad):
        return None, ctx.operator.x @ grad.contiguous()


def graph_operator(graph, device):
    r"""A graph's :math:`D^{-1/2} (A + I) D^{-1/2}` as a function of tensors (n, d) -> (n, d)."""
    operator = SparseView(normalized(graph), torch.float32, device)
    return lambda x: _SymmetricProduct.apply(operator, x)


class GraphEncoder(nn.Module):
    r"""Graph convolutions :math:`H_{l+1} = \mathrm{ReLU}(\hat A H_l W_l)`, the last one linear.

    Parameters
    ----------
    dims : sequence of int
        Widths, the input's first.
    generator : torch.Generator
        On the CPU; draws the weights, uniform as Glorot and Bengio (2010) have it.
    """

    def __init__(self, dims, generator):
        super().__init__()
        self.weights = nn.ParameterList(
            nn.init.xavier_uniform_(torch.empty(shape), generator=generator)
            for shape in pairwise(dims)
        )

    def encode(self, operator, x):
        """(n, d) -> (n, last width), with the graph as a function (n, d') -> (n, d').

        The features may be a ``SparseView``.
        """
        for layer, weight in enumerate(self.weights):
            # The cheaper side goes over the graph.
            narrow = weight.shape[0] < weight.shape[1] and torch.is_tensor(x)
            x = operator(x) @ weight if narrow else operator(product(x, weight))
            if layer + 1 < len(self.weights):
                x = F.relu(x)
        return x


class GraphAutoencoder(GraphEncoder):
    """A graph encoder, and ``decode``, layers of the same widths back to front, without a graph.

    Parameters
    ----------
    dims : sequence of int
        Widths, the input's first.
    generator : torch.Generator
        On the CPU; draws the weights.
    """

    def __init__(self, dims, generator):
        super().__init__(dims, generator)
        self.decode = perceptron(dims[::-1], generator)


class Links:
    """The edges of one or more graphs on the same samples, self-loops among them, by rows.

    Parameters
    ----------
    graphs : list of scipy.sparse matrix of shape (n, n)
        Symmetric, zeros and ones.
    device : torch.device
    """

    def __init__(self, graphs, device):
        self.n = graphs[0].shape[0]
        loops = torch.arange(self.n).expand(2, -1)
        parts = []
        for graph in graphs:
            ends = torch.as_tensor(np.stack(graph.nonzero()))
            parts.append(torch.cat([ends[:, ends[0] != ends[1]], loops], 1))
        self.counts = torch.tensor([part.shape[1] for part in parts], dtype=torch.float64)
        number = torch.arange(len(parts)).repeat_interleave(self.counts.long())
        edges = torch.cat([torch.cat(parts, 1), number[None]])
        edges = edges[:, torch.argsort(edges[0], stable=True)]
        self.starts = torch.searchsorted(edges[0].contiguous(), torch.arange(self.n + 1)).tolist()
        self.rows, self.columns, self.number = edges.to(device)

    def balance(self, weights):
        """The weight of an edge against that of a gap, and the factor of the mean, as numbers."""
        total = self.n**2
        edges = float(self.counts @ weights.detach().double().cpu())
        gaps = max(total - edges, 0.0)
        return gaps / edges, total / (2 * max(gaps, 1.0))


class _LinkLoss(torch.autograd.Function):
    """The loss and its gradient, a block of rows of the n x n products at a time."""

    @staticmethod
    def forward(ctx, z, links, weights):
        ratio, _ = links.balance(weights)
        n = links.n
        size = max(1, _BLOCK // n)
        loss = 0.0
        gradient = torch.empty_like(z)
        for start in range(0, n, size):
            stop = min(start + size, n)
            edges = slice(links.starts[start], links.starts[stop])
            place = links.rows[edges] - start, links.columns[edges]
            target = weights[links.number[edges]]
            logits = z[start:stop] @ z.T
            at_edges = logits[place]
            costs = ratio * F.softplus(-at_edges) - F.softplus(at_edges)
            loss = loss + F.softplus(logits).sum(dtype=torch.float64)
            loss = loss + (target * costs).sum(dtype=torch.float64)
            slopes = -ratio * torch.sigmoid(-at_edges) - torch.sigmoid(at_edges)
            block = torch.sigmoid(logits).index_put_(place, target * slopes, accumulate=True)
            # Symmetric targets: rows and columns give the same gradient.
            gradient[start:stop] = block @ z
        ctx.save_for_backward(gradient * (2 / n**2))
        return (loss / n**2).to(z.dtype)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0], None, None


def link_loss(z, links, weights=None):
    r"""How badly inner products tell edges from gaps: the decoder of a graph auto-encoder.

    With :math:`p_{ij} = \sigma(z_i^T z_j)`, targets :math:`a_{ij}` in [0, 1] that sum to E, and
    the weight :math:`\omega = (n^2 - E) / E` of an edge, the mean cross-entropy

    .. math:: -\frac{1}{n^2} \sum_{ij}
        \omega a_{ij} \log p_{ij} + (1 - a_{ij}) \log(1 - p_{ij}) .

    Time is O(n^2 d); memory is O(n d + e) for e edges, since the products are taken in blocks of
    rows, which is also where the gradient is computed. Source: Kipf and Welling (2016).

    Parameters
    ----------
    z : torch.Tensor of shape (n, d)
    links : Links
        The graphs. Self-loops count as edges, so E is never zero.
    weights : torch.Tensor of shape (number of graphs,), optional
        Convex; the target is the graphs' mean with these weights. They get no gradient.

    Returns
    -------
    torch.Tensor of shape ()
    """
    return _LinkLoss.apply(z, links, _link_weights(z, links, weights))


def balanced_link_loss(z, links, weights=None):
    """``link_loss`` times n^2 / (2 (n^2 - E)): edges and gaps together weigh one."""
    weights = _link_weights(z, links, weights)
    return links.balance(weights)[1] * _LinkLoss.apply(z, links, weights)


def _link_weights(z, links, weights):
    if weights is None:
        weights = torch.full((len(links.counts),), 1 / len(links.counts))
    return weights.detach().to(z)


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
    z = z - shift
    centers = centers - shift
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


def filled(x):
    """A tensor as it is, a ``SparseView`` with its zeros."""
    return x if torch.is_tensor(x) else x.x.to_dense()


def rmsprop(parameters, lr, decay):
    """RMSprop with a momentum of 0.9; ``decay`` is the weight decay."""
    return torch.optim.RMSprop(parameters, lr=lr, momentum=0.9, weight_decay=decay)


class GraphView(NamedTuple):
    """A view's auto-encoder, unit rows, and graph, as a matrix and as convolutions need it."""

    model: GraphAutoencoder
    x: torch.Tensor | SparseView
    graph: scipy.sparse.csr_matrix
    operator: Callable
    links: Links

    def encode(self):
        """The embedding of its rows: (n, last width)."""
        return self.model.encode(self.operator, self.x)


def pretrain(view, weight, optimizer, epochs, stage, history, stop=None, scale=1):
    r"""Train a graph auto-encoder: mean squared error + ``weight`` times ``balanced_link_loss``.

    Parameters
    ----------
    view : GraphView
    weight : float
    optimizer : torch.optim.Optimizer
    epochs, stage, history, stop
        As in ``train``.
    scale : float
        Factor of the whole loss.
    """
    target = filled(view.x)

    def loss(epoch):
        z = view.encode()
        error = F.mse_loss(view.model.decode(z), target)
        return scale * (error + weight * balanced_link_loss(z, view.links))

    train(loss, optimizer, epochs, stage, history, stop=stop)


def convolution_bytes(n_samples, dims):
    """Bytes of a ``GraphAutoencoder`` in training: weights, two moments, activations, gradients."""
    weights = 2 * sum(a * b for a, b in pairwise(dims))
    return 4 * (4 * weights + 6 * n_samples * sum(dims))


def graph_bytes(n_samples, n_neighbors):
    """Bytes of a graph of k neighbours, of its operator and of its ``Links``."""
    return 160 * n_samples * (n_neighbors + 1)


def link_bytes(n_samples):
    """Bytes of a ``link_loss``: the blocks of rows of n x n that it works on."""
    return 4 * 8 * max(min(_BLOCK, n_samples**2), n_samples)


@parameters
class GraphAutoencoderPeer(TrainedPeer):
    """A system of one graph auto-encoder a view, trained alone first, and then with all others.

    A subclass has ``n_neighbors``, ``lambda0``, ``pretrain_epochs``, ``epochs``, ``refresh`` and
    ``lr``, and ``_pretraining``.
    """

    min_common: int = choice(2, at_least(0), "Neighbours that the ends of an edge must share.")
    hidden: tuple = choice((512, 2048, 256), WIDTHS, "Of the views' encoders.")
    pretrain_decay: float = choice(1e-6, NON_NEGATIVE, "Weight decay of pre-training.")
    weight_decay: float = choice(1e-5, NON_NEGATIVE, "Weight decay of the last stage.")

    def _work(self, n_samples, n_features):
        return n_samples * sum(n_features) * self.hidden[0]

    def _bytes_of_views(self, n_samples, n_features, graphs):
        """Layers, activations, rows, and so many sparse graphs of each."""
        total = len(n_features) * graphs * graph_bytes(n_samples, self.n_neighbors)
        for d in n_features:
            total += convolution_bytes(n_samples, [d, *self.hidden]) + 16 * n_samples * d
        return total

    def _pretraining(self, width):
        """Learning rate, ``stop`` and ``scale`` of `pretrain` for a view of this width."""
        raise NotImplementedError

    def _pretrained(self, x, n_neighbors, widths, stage, draws, history):
        """Rows (n, d) with their graph, and an auto-encoder that is trained."""
        device = resolve_device(self.device)
        graph = mutual_graph(nearest_neighbors(x, n_neighbors), self.min_common)
        model = GraphAutoencoder([x.shape[1], *widths], draws).to(device)
        x = view_tensor(x, torch.float32, device)
        view = GraphView(model, x, graph, graph_operator(graph, device), Links([graph], device))
        lr, stop, scale = self._pretraining(x.shape[1])
        optimizer = rmsprop(model.parameters(), lr, self.pretrain_decay)
        pretrain(
            view,
            self.lambda0,
            optimizer,
            self.pretrain_epochs,
            stage,
            history,
            stop,
            scale,
        )
        return view

    def _pretrained_views(self, views, draws, history):
        """`_pretrained` of the unit rows of every view, and their embeddings: two lists."""
        rows = [RowNormalizer().fit_transform(x) for x in views]
        views = [
            self._pretrained(x, self.n_neighbors, self.hidden, f"view {a}", draws, history)
            for a, x in enumerate(rows, 1)
        ]
        with torch.no_grad():
            return views, [view.encode() for view in views]

    def _cluster(self, forward, centers, weights, loss, stage, history, settled=None):
        """The last stage, in which assignments train with all else: Z, q, and what comes with Z.

        Parameters
        ----------
        forward : callable
            () -> Z and more.
        centers : torch.Tensor of shape (c, d)
            Where they start.
        weights : list of torch.nn.Parameter
            What trains beside them.
        loss : callable
            Assignments q, their target p, Z and more -> tensor of shape ().
        stage, history
            As in ``train``.
        settled : callable, optional
            The labels at every new target -> whether this is the end.
        """
        centers = nn.Parameter(centers)
        target = None

        def with_target(epoch):
            nonlocal target
            z, *more = forward()
            q = student_t(z, centers)
            if epoch % self.refresh == 0:
                if settled is not None and settled(q.argmax(1)):
                    return None
                target = sharpened(q)
            return loss(q, target, z, *more)

        optimizer = rmsprop([centers, *weights], self.lr, self.weight_decay)
        train(with_target, optimizer, self.epochs, stage, history)
        with torch.no_grad():
            z, *more = forward()
            return z, student_t(z, centers), *more
