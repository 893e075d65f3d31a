"""GCFAggMVC: a consensus embedding by attention over the samples of a batch.

The book's chapter on the field introduces it.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from dmac._parameters import BELOW_ONE, POSITIVE, at_least, choice
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
from dmac.peers._training import dropout
from dmac.peers.base import Outcome, parameters


def structure_guided_loss(h, consensus, s, temperature=0.5):
    r"""Contrastive loss whose negatives count less the more the samples attend to each other.

    With the 2 b rows :math:`g = [h; \hat h]`, the logits :math:`\ell_{ij} = g_i^T g_j / \tau`, the
    partner i' of i (the same sample in the other half) and S repeated in all four quarters,

    .. math:: L = -\frac{1}{2b} \sum_i \log \frac{e^{\ell_{ii'}}}
        {e^{\ell_{ii'}} + \sum_{j \ne i, i'} e^{(1 - S_{ij}) \ell_{ij}}} .

    The similarity of a negative is scaled, not masked: S = 1 leaves it in the sum as
    :math:`e^0`.

    Parameters
    ----------
    h, consensus : torch.Tensor of shape (b, d)
        Unit rows of one view and of the consensus.
    s : torch.Tensor of shape (b, b)
        Attention between the samples, in [0, 1].
    temperature : float
        :math:`\tau`.

    Returns
    -------
    torch.Tensor of shape ()
    """
    b = len(h)
    g = torch.cat([h, consensus])
    logits = g @ g.T / temperature  # (2b, 2b)
    partner = torch.arange(2 * b, device=h.device).roll(b)
    keep = torch.ones_like(logits).scatter(1, partner[:, None], 0.0)
    logits = logits * (1 - keep * s.repeat(2, 2))
    itself = torch.eye(2 * b, dtype=torch.bool, device=h.device)
    logits = logits.masked_fill(itself, -math.inf)
    return F.cross_entropy(logits, partner)


class AttentionOverSamples(nn.Module):
    """A transformer encoder layer whose sequence is the batch: one head, norms after the sums.

    Dropout is on the two branches and between the two linear layers. The attention itself has
    none, so that the rows of S are distributions.

    Parameters
    ----------
    width : int
        D, of a sample.
    hidden : int
        Width between the two linear layers.
    rate : float
        Of the dropout.
    generator : torch.Generator
        On the CPU; draws the initial weights.
    """

    def __init__(self, width, hidden, rate, generator):
        super().__init__()
        self.rate = rate
        self.attention = attention_layer(width, 1, generator)
        self.first = dense_layer(width, hidden, generator)
        self.second = dense_layer(hidden, width, generator)
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])

    def forward(self, z, generator=None):
        """(b, D) -> (b, D) and the attention S (b, b); a generator switches the dropout on."""
        y, s = self.attention(z[None], z[None], z[None], need_weights=True)
        z = self.norms[0](z + dropout(y[0], self.rate, generator))
        y = self.second(dropout(F.relu(self.first(z)), self.rate, generator))
        return self.norms[1](z + dropout(y, self.rate, generator)), s[0]


class _Network(nn.Module):
    def __init__(self, n_features, model, generator):
        super().__init__()
        code = model.widths[-1]
        width = code * len(n_features)
        self.autoencoders = nn.ModuleList(
            AutoEncoder(d, model.widths, generator) for d in n_features
        )
        self.view_head = perceptron((code, model.feature_dim), generator)
        self.aggregation = AttentionOverSamples(width, model.ff_dim, model.dropout, generator)
        self.consensus_head = perceptron((width, model.feature_dim), generator)

    def consensus(self, zs, generator=None):
        """Codes -> unit rows of the consensus (b, feature_dim) and S (b, b)."""
        y, s = self.aggregation(torch.cat(zs, 1), generator)
        return F.normalize(self.consensus_head(y)), s


@parameters
class GCFAggMVC(AutoencoderPeer):
    r"""Global and cross-view feature aggregation for multi-view clustering.

    Auto-encoders :math:`z_i^v`, a shared head for unit rows :math:`h_i^v`, and a consensus
    :math:`\hat h_i`: all codes of a sample side by side go through one transformer encoder layer
    in which the samples of a batch attend to each other with weights S. After pre-training on the
    reconstruction alone,

    .. math:: L = \sum_v \big( L_{SGC}(H^v, \hat H, S) + \mathrm{MSE}(X^v, \hat X^v) \big)

    with `structure_guided_loss`; then k-means on :math:`\hat H`.

    What a sample becomes depends on the samples in its batch. The public implementation evaluates
    batches in the order of the file, often that of the classes, which so enters the result; here
    the samples are shuffled before, and evaluated in batches of nearly the same size. It also needs
    an edited copy of torch for S, which here comes from torch's own attention; the attention
    weights themselves have no dropout here.

    With one view the consensus attends over that view alone, and nothing else changes.

    Memory O(n d + p + b^2) for p weights, time O(e n (p + b D)) for e epochs, D the width of all
    codes together: linear in n.

    Source: Yan et al. (2023); public repository Galaxy922/GCFAggMVC.
    """

    feature_dim: int = choice(128, at_least(1), r"Of :math:`h` and :math:`\hat h`.")
    ff_dim: int = choice(256, at_least(1), "Between the two linear layers of the transformer.")
    dropout: float = choice(0.1, BELOW_ONE, "In the transformer layer.")
    temperature: float = choice(0.5, POSITIVE, r":math:`\tau`.")
    pretrain_epochs: int = choice(200, at_least(0), "Of the reconstruction.")
    contrastive_epochs: int = choice(100, at_least(0), "Of the second stage.")

    def _solve(self, views, generator):
        network, views, _, history = self._trained(
            _Network, views, generator, "contrast", self.contrastive_epochs
        )
        embedding = self._evaluate(network, views)
        seed = int(generator.integers(2**31 - 1))
        labels = kmeans(embedding, self.n_clusters, seed, self.n_init).labels_
        return Outcome(labels, embedding=embedding, history=history)

    def _loss(self, network, codes, error, draws):
        consensus, s = network.consensus(codes, draws)
        loss = error
        for z in codes:
            h = F.normalize(network.view_head(z))
            loss = loss + structure_guided_loss(h, consensus, s, self.temperature)
        return loss

    @torch.no_grad()
    def _evaluate(self, network, views):
        parts = []
        for rows in even_batches(len(views[0]), self.batch_size):
            rows = rows.to(views[0].device)
            codes = [net.encoder(x[rows]) for net, x in zip(network.autoencoders, views)]
            parts.append(network.consensus(codes)[0].cpu().numpy())
        return np.concatenate(parts)

    def memory(self, n_samples, n_features):
        """Bytes at the peak: scaled views, weights with Adam's moments, one batch, embedding."""
        b = min(self.batch_size, n_samples)
        f = self.feature_dim
        width = self.widths[-1]
        joint = width * len(n_features)
        heads = [(width, f), (joint, f), (joint, self.ff_dim), (self.ff_dim, joint)]
        pairs = 8 * (2 * b) ** 2 * len(n_features)  # logits of every view, twice
        return (
            autoencoder_bytes(n_samples, n_features, self.widths, self.batch_size)
            + layer_bytes(b, *heads, *[(joint, joint)] * 4)
            + 4 * (pairs + 2 * n_samples * f)
        )
