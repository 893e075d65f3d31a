"""CMGEC: the views' graphs fused by a network, and one embedding that explains all of them.

Chapter 13 of the book introduces it.
"""

import numpy as np
import scipy.sparse
import torch

from dmac.compute.device import resolve_device
from dmac.compute.kmeans import kmeans
from dmac.compute.threads import threads_for
from dmac.peers._checks import check_dropout, check_numbers, check_widths
from dmac.peers._fusion import ConsensusEmbedding, GraphFusion, fused_graph
from dmac.peers._gcn import (
    autoencoder_bytes,
    graph_bytes,
    link_bytes,
)
from dmac.peers._graphs import nearest_neighbors, union_graph
from dmac.peers._training import torch_generator, train
from dmac.peers.base import MEMORY_BUDGET, Outcome, Peer


class CMGEC(Peer):
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
    itself, would be smallest without any edge. Q is found anew every ``refresh`` epochs. The rate
    of the dropout is ours. The numbers of neighbours are cut down to a quarter of the samples.

    Memory is O(n^2), about 17 n x n floats; time is O(n^3) an epoch, by three products with the
    fusion network's n x n/2 weights, and O(n^2 c) for Q. Source: Wang et al. (2021), public
    repository ``wangemm/CMGEC-TMM-2021``.

    Parameters
    ----------
    n_clusters : int
        c.
    n_neighbors : int
        Of the views' graphs.
    n_close : int
        Neighbours whose rows a sample's own row should tell of.
    metric : str
        "euclidean", "cosine" or "manhattan". For texts take "cosine": among rows of unit sum,
        documents of many words lie near the origin, and become everybody's neighbours.
    hidden : tuple of int
        Widths of the views' convolutions.
    consensus : tuple of int
        Widths of the convolutions over the fused graph.
    discriminator : tuple of int
        Hidden widths.
    dropout : float
        Share of the views' embeddings that an epoch leaves out, below 1.
    lambda1, lambda2 : float
        Weights of the trace and of the mutual information.
    fusion_epochs, embedding_epochs, epochs : int
        Of the three stages.
    pretrain_lr, lr : float
        Learning rates of the first two stages and of the last.
    refresh : int
        Epochs between two Q.
    device : str
        "auto" is a GPU where there is one.
    random_state : int, numpy.random.RandomState or None
    memory_budget : int
        Bytes.
    """

    def __init__(
        self,
        n_clusters,
        n_neighbors=7,
        n_close=3,
        metric="euclidean",
        hidden=(64, 32),
        consensus=(32, 10),
        discriminator=(10, 10, 10),
        dropout=0.1,
        lambda1=1e-3,
        lambda2=1.0,
        fusion_epochs=2000,
        embedding_epochs=2000,
        epochs=500,
        pretrain_lr=1e-4,
        lr=0.01,
        refresh=50,
        device="auto",
        random_state=None,
        memory_budget=MEMORY_BUDGET,
    ):
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.n_close = n_close
        self.metric = metric
        self.hidden = hidden
        self.consensus = consensus
        self.discriminator = discriminator
        self.dropout = dropout
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.fusion_epochs = fusion_epochs
        self.embedding_epochs = embedding_epochs
        self.epochs = epochs
        self.pretrain_lr = pretrain_lr
        self.lr = lr
        self.refresh = refresh
        self.device = device
        self.random_state = random_state
        self.memory_budget = memory_budget

    def _check(self, n_samples):
        check_widths(self, "hidden", "consensus", "discriminator")
        counts = ("fusion_epochs", "embedding_epochs", "epochs")
        reals = ("lambda1", "lambda2", "pretrain_lr", "lr")
        positive = ("n_neighbors", "n_close", "refresh")
        integers = [(name, 1) for name in positive] + [(name, 0) for name in counts]
        check_numbers(self, integers, [(name, 0) for name in reals])
        check_dropout(self)

    def memory(self, n_samples, n_features):
        """Bytes: 17 n^2 floats (weights and moments, graphs, gradients), layers, sparse graphs."""
        total = 4 * 17 * n_samples**2 + link_bytes(n_samples)
        total += 3 * graph_bytes(n_samples, len(n_features) * self.n_neighbors)
        for d in n_features:
            total += autoencoder_bytes(n_samples, [d, *self.hidden])
            total += graph_bytes(n_samples, self.n_neighbors + self.n_close)
            total += 16 * n_samples * d
        return total

    def _solve(self, views, generator):
        with threads_for(3 * views[0].shape[0] ** 3):
            return self._run(views, generator)

    def _run(self, views, generator):
        device, draws = resolve_device(self.device), torch_generator(generator)
        views = [_unit_sums(x) for x in views]
        most = max(self.n_neighbors, self.n_close)
        near = [nearest_neighbors(x, most, self.metric) for x in views]
        graphs = [union_graph(neighbors[:, : self.n_neighbors]) for neighbors in near]
        close = np.hstack([neighbors[:, : self.n_close] for neighbors in near])
        fusion = GraphFusion(graphs, self.n_clusters, draws, device)
        embedding = ConsensusEmbedding(self, views, graphs, close, draws, device)
        history = []

        def first(epoch):
            return fusion.loss(fusion(), epoch % self.refresh == 0, self.lambda1)

        def second(epoch):
            return embedding.loss(graph)

        def both(epoch):
            output = fusion()
            loss = fusion.loss(output, epoch % self.refresh == 0, self.lambda1)
            return loss + embedding.loss(fused_graph(output))

        def optimizer(lr, *modules):
            return torch.optim.Adam([p for module in modules for p in module.parameters()], lr=lr)

        train(first, optimizer(self.pretrain_lr, fusion), self.fusion_epochs, "fusion", history)
        with torch.no_grad():
            graph = fused_graph(fusion())
        pretraining = optimizer(self.pretrain_lr, embedding)
        train(second, pretraining, self.embedding_epochs, "embedding", history)
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
