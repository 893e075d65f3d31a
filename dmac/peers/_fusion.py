"""The graph fusion network of CMGEC: the views' graphs in, one graph that falls into parts out.

Chapter 13 of the book introduces it.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from dmac.compute.layers import SparseView, dense_layer, linear, store_by_columns
from dmac.peers._gcn import dense_operator
from dmac.peers._graphs import leading_vectors

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
