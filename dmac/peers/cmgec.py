"""CMGEC: the views' graphs fused by a network, and one embedding that explains all of them.

The book's chapter on the field introduces it.
"""

from contextlib import suppress

import numpy as np
import scipy.linalg
import scipy.sparse
import torch
import torch.nn.functional as F
from scipy.sparse.linalg import ArpackError, eigsh
from torch import nn

from dmac._parameters import BELOW_ONE, NON_NEGATIVE, WIDTHS, at_least, choice, one_of
from dmac.compute.device import resolve_device
from dmac.compute.kmeans import kmeans
from dmac.compute.layers import SparseView, dense_layer, linear, store_by_columns, view_tensor
from dmac.peers._autoencoder import perceptron
from dmac.peers._gcn import (
    GraphEncoder,
    Links,
    convolution_bytes,
    graph_bytes,
    graph_operator,
    link_bytes,
    link_loss,
)
from dmac.peers._graphs import METRICS, directed_graph, nearest_neighbors
from dmac.peers._training import adam, dropout, torch_generator, train
from dmac.peers.base import Outcome, TrainedPeer, parameters

# An entry of the fused graph above this is an edge.
_EDGE = 0.4


def union_graph(neighbors):
    """The symmetric graph that joins i and j if one is among the other's neighbours: (n, n)."""
    graph = directed_graph(neighbors)
    return graph.maximum(graph.T).tocsr()


def dense_operator(graph, x):
    r""":math:`D^{-1/2} (A + I) D^{-1/2} x` for a dense graph, differentiable in both.

    Parameters
    ----------
    graph : torch.Tensor of shape (n, n)
        A, symmetric and non-negative.
    x : torch.Tensor of shape (n, d)

    Returns
    -------
    torch.Tensor of shape (n, d)
    """
    root = (graph.sum(1, keepdim=True) + 1).rsqrt()
    x = root * x
    return root * (graph @ x + x)


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


def leading_vectors(operator, n_vectors):
    """Orthonormal eigenvectors of the largest eigenvalues of a symmetric matrix.

    Lanczos from a fixed start, O(n^2) a step, where few vectors of many are asked for; the dense
    decomposition, O(n^3), for small matrices, and where Lanczos has not converged in about n / 4
    steps, which take as long. For the operator of a graph convolution they are those of the
    smallest eigenvalues of its Laplacian.

    Parameters
    ----------
    operator : numpy.ndarray of shape (n, n)
        Float64.
    n_vectors : int
        c, at most n.

    Returns
    -------
    numpy.ndarray of shape (n, c)
    """
    n = len(operator)
    if n > 500 and 10 * n_vectors < n:
        rng = np.random.default_rng(0)
        kept = max(2 * n_vectors + 1, 20)  # SciPy's default; a restart takes kept - c more steps
        settings = {"ncv": kept, "maxiter": max(1, n // (4 * (kept - n_vectors)))}
        v0 = rng.standard_normal(n)
        with suppress(ArpackError):
            return eigsh(operator, n_vectors, which="LA", v0=v0, rng=rng, **settings)[1]
    return scipy.linalg.eigh(operator, subset_by_index=(n - n_vectors, n - 1))[1]


class GraphFusion(nn.Module):
    """The network: rows of the sum of the graphs -> rows of the fused one.

    Parameters
    ----------
    model : dmac.peers.cmgec.CMGEC
        Has c, the number of eigenvectors in the loss, the weight of the trace, and ``refresh``.
    graphs : list of v scipy.sparse.csr_matrix of shape (n, n)
        Zeros and ones, symmetric.
    generator : torch.Generator
        On the CPU; draws the weights.
    device : torch.device
    """

    def __init__(self, model, graphs, generator, device):
        super().__init__()
        self.model = model
        n = graphs[0].shape[0]
        total = sum(graphs)
        mean = total.toarray() / len(graphs)
        # The graphs are 0-1 matrices: their squares are themselves.
        self.spread = float((mean - mean**2).mean())
        self.mean = torch.as_tensor(mean, dtype=torch.float32, device=device)
        self.first = dense_layer(n, max(1, n // 2), generator).to(device)
        store_by_columns(self.first)
        self.last = dense_layer(max(1, n // 2), n, generator).to(device)
        self.total = SparseView(total, torch.float32, device)

    def forward(self):
        """The output (n, n), any real numbers."""
        return self.last(F.relu(linear(self.first, self.total)))

    def loss(self, output, epoch):
        """``fusion_loss`` of the output; the eigenvectors are found anew now and then."""
        if epoch % self.model.refresh == 0:
            self.vectors = self._smallest(output.detach())
        return fusion_loss(output, self.mean, self.spread, self.vectors, self.model.lambda1)

    def _smallest(self, output):
        """Eigenvectors of the c smallest eigenvalues of the output's normalised Laplacian."""
        operator = symmetric_part(output).double().cpu().numpy()
        operator[np.diag_indices_from(operator)] += 1
        root = 1 / np.sqrt(operator.sum(1))
        operator *= root
        operator *= root[:, None]
        vectors = leading_vectors(operator, self.model.n_clusters)
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
        self.model = model
        self.draws = draws
        self.xs = [view_tensor(x, torch.float32, device) for x in views]
        self.operators = [graph_operator(graph, device) for graph in graphs]
        self.links = [Links([graph], device) for graph in graphs]
        d = model.hidden[-1]
        self.encoders = nn.ModuleList(
            GraphEncoder([x.shape[1], *model.hidden], draws) for x in views
        )
        self.images = nn.ModuleList(dense_layer(d, d, draws, bias=False) for _ in views)
        self.consensus = GraphEncoder([d, *model.consensus], draws)
        self.discriminator = perceptron([2 * model.consensus[-1], *model.discriminator, 1], draws)
        self.of = torch.arange(len(close)).repeat_interleave(close.shape[1]).to(device)
        self.neighbor = torch.as_tensor(close.ravel(), device=device)
        self.to(device)

    def forward(self, graph, rate=0.0):
        """Z (n, d) over a fused graph (n, n), with a dropout of the views' embeddings."""
        h = 0
        for encoder, operator, x, image in zip(self.encoders, self.operators, self.xs, self.images):
            features = encoder.encode(operator, x)
            h = h + image(dropout(features, rate, self.draws))
        return self.consensus.encode(lambda y: dense_operator(graph, y), h.softmax(1))

    def loss(self, graph):
        """The mean ``link_loss`` over the views plus the weighted ``information_loss``: ()."""
        z = self(graph, self.model.dropout)
        links = sum(link_loss(z, links) for links in self.links) / len(self.links)
        # Neighbours of somebody else: the same samples, but as they come in a random pairing.
        paired = torch.randperm(len(self.of), generator=self.draws).to(self.of.device)
        together, apart = (
            self.discriminator(torch.cat([z[self.of], z[other]], 1))[:, 0]
            for other in (self.neighbor, self.neighbor[paired])
        )
        return links + self.model.lambda2 * information_loss(together, apart)


@parameters
class CMGEC(TrainedPeer):
    r"""Consistent multiple graph embedding for multi-view clustering.

    Every view gets a graph :math:`A^a` of nearest neighbours. A fusion network of two layers takes
    the rows of :math:`\sum_a A^a` to those of a new graph :math:`A^r`, by

    .. math:: \min \frac1v \sum_a \frac{1}{n^2} \|A^r - A^a\|_F^2
        + \lambda_1 \mathrm{Tr}(Q^T (I - \hat A^r) Q),

    where Q holds the eigenvectors of the c smallest eigenvalues of :math:`I - \hat A^r`, the
    normalised Laplacian: the trace is their sum (Fan 1949), and zero where :math:`A^r` falls into
    c parts. A graph convolution a view and the softmax of the sum of their linear images give
    features, and a convolution over the entries of :math:`A^r` above 0.4 takes them to Z:

    .. math:: \min \frac1v \sum_a L_\mathrm{link}(Z, A^a) + \lambda_2 L_\mathrm{info}(Z)

    Here :math:`L_\mathrm{link}` is the weighted cross-entropy of :math:`\sigma(Z Z^T)`, and
    :math:`L_\mathrm{info}`, minus the Jensen-Shannon estimate of mutual information by a
    discriminator of pairs, makes a sample's row tell of those of its nearest neighbours. Three
    stages train by full-batch Adam: the fusion network, the embedding, both. K-means on Z (10
    starts) gives the labels.

    The public code takes for each view the metric whose graph agrees best with the labels; here
    it is one metric. It never trains the discriminator of the mutual information, and rounds
    the fused graph before the trace and the convolution, which leaves both without a gradient to
    it; here the discriminator trains, and entries of the graph keep their values. Then the trace
    has to be that of a normalised Laplacian: that of the unnormalised one, or of :math:`A^r`
    itself, would be smallest without any edge. Q is found anew every ``refresh`` epochs. The
    numbers of neighbours are cut down to a quarter of the samples.

    Memory is O(n^2), about 17 n x n floats; time is O(n^3) an epoch, by three products with the
    fusion network's n x n/2 weights, and O(n^2 c) for Q. Source: Wang et al. (2021), public
    repository ``wangemm/CMGEC-TMM-2021``.
    """

    n_neighbors: int = choice(7, at_least(1), "Of the views' graphs.")
    n_close: int = choice(3, at_least(1), "Neighbours whose rows a sample's own row tells of.")
    metric: str = choice(
        "cosine",
        one_of(*METRICS),
        """
        An angle knows no length; by the two others, among rows of unit sum, documents of many words
        lie near the origin and become everybody's neighbours.""",
    )
    hidden: tuple = choice((64, 32), WIDTHS, "Of the views' convolutions.")
    consensus: tuple = choice((32, 10), WIDTHS, "Of the convolutions over the fused graph.")
    discriminator: tuple = choice((10, 10, 10), WIDTHS, "Of its hidden layers.")
    dropout: float = choice(
        0.1, BELOW_ONE, "Share of the views' embeddings that an epoch leaves out."
    )
    lambda1: float = choice(1e-3, NON_NEGATIVE, "Weight of the trace.")
    lambda2: float = choice(1.0, NON_NEGATIVE, "Weight of the mutual information.")
    fusion_epochs: int = choice(2000, at_least(0), "Of the first stage.")
    embedding_epochs: int = choice(2000, at_least(0), "Of the second stage.")
    epochs: int = choice(500, at_least(0), "Of the last stage.")
    pretrain_lr: float = choice(1e-4, NON_NEGATIVE, "Learning rate of the first two stages.")
    lr: float = choice(0.01, NON_NEGATIVE, "Learning rate of the last stage.")
    refresh: int = choice(50, at_least(1), "Epochs between two Q.")

    def memory(self, n_samples, n_features):
        """Bytes: 17 n^2 floats (weights and moments, graphs, gradients), layers, sparse graphs."""
        total = 4 * 17 * n_samples**2 + link_bytes(n_samples)
        total += 3 * graph_bytes(n_samples, len(n_features) * self.n_neighbors)
        for d in n_features:
            total += convolution_bytes(n_samples, [d, *self.hidden])
            total += graph_bytes(n_samples, self.n_neighbors + self.n_close)
            total += 16 * n_samples * d
        return total

    def _work(self, n_samples, n_features):
        return 3 * n_samples**3

    def _solve(self, views, generator):
        device = resolve_device(self.device)
        draws = torch_generator(generator)
        views = [_unit_sums(x) for x in views]
        most = max(self.n_neighbors, self.n_close)
        near = [nearest_neighbors(x, most, self.metric) for x in views]
        graphs = [union_graph(neighbors[:, : self.n_neighbors]) for neighbors in near]
        close = np.hstack([neighbors[:, : self.n_close] for neighbors in near])
        fusion = GraphFusion(self, graphs, draws, device)
        embedding = ConsensusEmbedding(self, views, graphs, close, draws, device)
        history = []

        def both(epoch):
            output = fusion()
            return fusion.loss(output, epoch) + embedding.loss(fused_graph(output))

        def optimizer(lr, *modules):
            return adam([p for module in modules for p in module.parameters()], lr)

        first = optimizer(self.pretrain_lr, fusion)
        train(
            lambda epoch: fusion.loss(fusion(), epoch), first, self.fusion_epochs, "fusion", history
        )
        with torch.no_grad():
            graph = fused_graph(fusion())
        second = optimizer(self.pretrain_lr, embedding)
        train(
            lambda epoch: embedding.loss(graph),
            second,
            self.embedding_epochs,
            "embedding",
            history,
        )
        train(both, optimizer(self.lr, fusion, embedding), self.epochs, "joint", history)
        with torch.no_grad():
            graph = fused_graph(fusion())
            z = embedding(graph).cpu().numpy()
        labels = kmeans(z, self.n_clusters, int(generator.integers(2**31 - 1)), n_init=10).labels_
        return Outcome(labels, z, scipy.sparse.csr_matrix(graph.cpu().numpy()), history)


def _unit_sums(x):
    """Rows divided by the sum of their magnitudes; a zero row stays zero."""
    sums = np.asarray(abs(x).sum(1)).ravel()
    scale = 1 / np.where(sums > np.finfo(float).tiny, sums, 1.0)
    if scipy.sparse.issparse(x):
        return scipy.sparse.csr_matrix(scipy.sparse.diags_array(scale) @ x)
    return x * scale[:, None]
