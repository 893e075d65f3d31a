"""The two networks of CMGEC: the views' graphs in and one graph out, and the embedding over it.

Chapter 13 of the book introduces it.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from dmac.compute.layers import SparseView, dense_layer, linear, store_by_columns
from dmac.peers._gcn import GraphEncoder, Links, dense_operator, graph_operator, link_loss
from dmac.peers._graphs import leading_vectors
from dmac.peers._training import dropout
from dmac.peers.base import dense

# An entry of the fused graph above this is an edge.
_EDGE = 0.4


def symmetric_part(output):
    """The fusion network's output as a graph: entries to [0, 1], then the mean with its transpose.

    Parameters
    ----------
    output : torch.Tensor of shape (n, n)

    Returns
    -------
    torch.Tensor of shape (n, n)
    """
    clamped = output.clamp(0, 1)
    return (clamped + clamped.T) / 2


def fused_graph(output):
    """``symmetric_part`` without its weak entries: those up to 0.4 become 0, the others stay.

    Entries that stay keep their gradient, which rounding them to 1 would not.
    """
    graph = symmetric_part(output)
    return torch.where(graph > _EDGE, graph, 0.0)


def fusion_loss(output, mean, spread, vectors, lambda1):
    r"""The loss of the graph fusion network.

    .. math:: \frac1v \sum_a \frac{1}{n^2} \|A^r - A^a\|_F^2
        + \lambda_1 \mathrm{Tr}(Q^T (I - \hat A^r) Q)

    The first sum equals that to the mean of the graphs plus their spread around it.

    Parameters
    ----------
    output : torch.Tensor of shape (n, n)
        :math:`A^r`. The trace takes its ``symmetric_part``, normalised with self-loops.
    mean : torch.Tensor of shape (n, n)
        Of the views' graphs :math:`A^a`.
    spread : float
        Mean over views and entries of the squared differences from it.
    vectors : torch.Tensor of shape (n, c)
        Q, orthonormal; a constant.
    lambda1 : float
        Weight of the trace.

    Returns
    -------
    torch.Tensor of shape ()
    """
    smooth = dense_operator(symmetric_part(output), vectors)
    trace = vectors.square().sum() - (vectors * smooth).sum()
    return F.mse_loss(output, mean) + spread + lambda1 * trace


class GraphFusion(nn.Module):
    """The network: rows of the sum of the graphs -> rows of the fused one.

    Parameters
    ----------
    graphs : list of v scipy.sparse.csr_matrix of shape (n, n)
        Zeros and ones, symmetric.
    n_clusters : int
        c, the number of eigenvectors in the loss.
    generator : torch.Generator
        On the CPU; generator the weights.
    device : torch.device
    """

    def __init__(self, graphs, n_clusters, generator, device):
        super().__init__()
        n, total = graphs[0].shape[0], sum(graphs)
        total.sort_indices()
        mean = total.toarray() / len(graphs)
        # The graphs are 0-1 matrices: their squares are themselves.
        self.spread = float((mean - mean**2).mean())
        self.mean = torch.as_tensor(mean, dtype=torch.float32, device=device)
        self.first = dense_layer(n, max(1, n // 2), generator).to(device)
        store_by_columns(self.first)
        self.last = dense_layer(max(1, n // 2), n, generator).to(device)
        self.total = SparseView(total, torch.float32, device)
        self.n_clusters, self.vectors = n_clusters, None

    def forward(self):
        """The output (n, n), any real numbers."""
        return self.last(F.relu(linear(self.first, self.total)))

    def loss(self, output, refresh, lambda1):
        """``fusion_loss`` of the output, with the eigenvectors found anew if ``refresh``."""
        if refresh or self.vectors is None:
            self.vectors = self._smallest(output.detach())
        return fusion_loss(output, self.mean, self.spread, self.vectors, lambda1)

    def _smallest(self, output):
        """Eigenvectors of the c smallest eigenvalues of the output's normalised Laplacian."""
        operator = symmetric_part(output).double().cpu().numpy()
        operator[np.diag_indices_from(operator)] += 1
        root = 1 / np.sqrt(operator.sum(1))
        operator *= root
        operator *= root[:, None]
        vectors = leading_vectors(operator, self.n_clusters)
        return torch.as_tensor(np.ascontiguousarray(vectors)).to(output)


def information_loss(together, apart):
    r"""Minus the Jensen-Shannon estimate of mutual information, from a discriminator's logits.

    .. math:: \mathrm{mean}\, \mathrm{softplus}(-t) + \mathrm{mean}\, \mathrm{softplus}(t')

    Parameters
    ----------
    together, apart : torch.Tensor of shape (p,)
        Logits t of pairs of neighbours, and t' of random pairs.

    Returns
    -------
    torch.Tensor of shape ()
    """
    return F.softplus(-together).mean() + F.softplus(apart).mean()


class ConsensusEmbedding(nn.Module):
    """The convolutions and the discriminator.

    Parameters
    ----------
    model : dmac.peers.cmgec.CMGEC
        Has the widths, the rate of the dropout and the weight of the mutual information.
    views : list of v arrays or sparse matrices of shape (n, d_a)
    graphs : list of v scipy.sparse.csr_matrix of shape (n, n)
    close : numpy.ndarray of shape (n, k)
        Numbers of the samples whose rows a sample's own row should tell of.
    draws : torch.Generator
        On the CPU; draws the weights, the dropout and the random pairs.
    device : torch.device
    """

    def __init__(self, model, views, graphs, close, draws, device):
        super().__init__()
        self.dropout, self.lambda2, self.draws = model.dropout, model.lambda2, draws
        self.xs = [torch.as_tensor(dense(x), dtype=torch.float32, device=device) for x in views]
        self.operators = [graph_operator(graph, device) for graph in graphs]
        self.links = [Links([graph], device) for graph in graphs]
        d = model.hidden[-1]
        self.encoders = nn.ModuleList(
            GraphEncoder([x.shape[1], *model.hidden], draws) for x in views
        )
        self.images = nn.ModuleList(dense_layer(d, d, draws, bias=False) for _ in views)
        self.consensus = GraphEncoder([d, *model.consensus], draws)
        widths = [2 * model.consensus[-1], *model.discriminator, 1]
        self.discriminator = nn.ModuleList(
            dense_layer(a, b, draws) for a, b in zip(widths, widths[1:])
        )
        self.of = torch.arange(len(close)).repeat_interleave(close.shape[1]).to(device)
        self.neighbor = torch.as_tensor(close.ravel(), device=device)
        self.to(device)

    def forward(self, graph, rate=0.0):
        """Z (n, d) over a fused graph (n, n), with a dropout of the views' embeddings."""
        h = 0
        for encoder, operator, x, image in zip(self.encoders, self.operators, self.xs, self.images):
            part = encoder.encode(operator, x)
            h = h + image(dropout(part, rate, self.draws))
        return self.consensus.encode(lambda y: dense_operator(graph, y), h.softmax(1))

    def loss(self, graph):
        """The mean ``link_loss`` over the views plus the weighted ``information_loss``: ()."""
        z = self(graph, self.dropout)
        links = sum(link_loss(z, part) for part in self.links) / len(self.links)
        # Neighbours of somebody else: the same samples, but as they come in a random pairing.
        other = torch.randperm(len(self.of), generator=self.draws).to(self.of.device)
        together = self._judge(z[self.of], z[self.neighbor])
        apart = self._judge(z[self.of], z[self.neighbor[other]])
        return links + self.lambda2 * information_loss(together, apart)

    def _judge(self, left, right):
        t = torch.cat([left, right], 1)
        for layer in self.discriminator[:-1]:
            t = F.relu(layer(t))
        return self.discriminator[-1](t)[:, 0]
