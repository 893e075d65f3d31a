"""GCFAggMVC: a consensus embedding by attention over the samples of a batch.

The book's chapter on the field introduces it.
"""

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from dmac.compute.device import resolve_device
from dmac.compute.kmeans import kmeans
from dmac.compute.layers import dense_layer
from dmac.peers._autoencoder import (
    SCALES,
    AutoEncoder,
    attention_layer,
    autoencoder_bytes,
    autoencoder_work,
    even_batches,
    layer_bytes,
    perceptron,
    reconstruct,
    scaled_views,
    shuffled_batches,
)
from dmac.peers._checks import check_choice, check_dropout, check_numbers, check_widths
from dmac.peers._training import adam, dropout, torch_generator, train
from dmac.peers.base import MEMORY_BUDGET, Outcome, Peer


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
        code, width = model.widths[-1], model.widths[-1] * len(n_features)
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


@dataclass(eq=False, repr=False)
class GCFAggMVC(Peer):
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

    Parameters
    ----------
    n_clusters : int
    widths : sequence of int
        Of the encoders' layers; the decoders mirror them.
    feature_dim : int
        Of :math:`h` and :math:`\hat h`.
    ff_dim : int
        Between the two linear layers of the transformer layer.
    dropout : float
        In the transformer layer, below 1.
    temperature : float
    pretrain_epochs, contrastive_epochs : int
    batch_size : int
        b, 2 or more; an incomplete last batch is left out of an epoch.
    lr : float
        Of Adam.
    n_init : int
        Starts of the final k-means.
    scale : {"range", "standard"}
        Of the features: to [0, 1] by their ranges, or to mean 0 and variance 1.
    """

    n_clusters: int
    _: KW_ONLY
    widths: tuple = (500, 500, 2000, 512)
    feature_dim: int = 128
    ff_dim: int = 256
    dropout: float = 0.1
    temperature: float = 0.5
    pretrain_epochs: int = 200
    contrastive_epochs: int = 100
    batch_size: int = 256
    lr: float = 3e-4
    n_init: int = 100
    scale: str = "range"
    device: str = "auto"
    random_state: object = None
    memory_budget: int = MEMORY_BUDGET

    def _check(self, n_samples):
        check_widths(self, "widths")
        check_dropout(self)
        check_choice(self, "scale", SCALES)
        positive = ("feature_dim", "ff_dim", "n_init")
        counts = [(name, 0) for name in ("pretrain_epochs", "contrastive_epochs")]
        # Samples of a batch are compared with each other.
        integers = [("batch_size", 2), *((name, 1) for name in positive), *counts]
        check_numbers(self, integers, [("lr", 0), ("temperature", 0)])
        if not self.temperature > 0:
            raise ValueError(f"temperature is {self.temperature!r}: it must be positive")

    def _work(self, n_samples, n_features):
        return autoencoder_work(n_samples, n_features, self.widths)

    def _solve(self, views, generator):
        device = resolve_device(self.device)
        draws = torch_generator(generator)
        n_features = [x.shape[1] for x in views]
        views = scaled_views(views, device, self.scale)
        network = _Network(n_features, self, draws).to(device)
        optimizer = adam(network.parameters(), self.lr)
        b, epochs, history = self.batch_size, self.pretrain_epochs, []
        reconstruct(network.autoencoders, views, epochs, b, optimizer, draws, history)

        def contrast(rows):
            return self._loss(network, [x[rows.to(device)] for x in views], draws)

        def shuffled():
            return shuffled_batches(len(views[0]), b, draws)

        train(contrast, optimizer, self.contrastive_epochs, "contrast", history, shuffled)
        embedding = self._evaluate(network, views)
        seed = int(generator.integers(2**31 - 1))
        labels = kmeans(embedding, self.n_clusters, seed, self.n_init).labels_
        return Outcome(labels, embedding=embedding, history=history)

    def _loss(self, network, batch, draws):
        codes, reconstructions = zip(*(net(x) for net, x in zip(network.autoencoders, batch)))
        consensus, s = network.consensus(codes, draws)
        loss = sum(F.mse_loss(y, x) for y, x in zip(reconstructions, batch))
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
        b, f, width = min(self.batch_size, n_samples), self.feature_dim, self.widths[-1]
        joint = width * len(n_features)
        heads = [(width, f), (joint, f), (joint, self.ff_dim), (self.ff_dim, joint)]
        pairs = 8 * (2 * b) ** 2 * len(n_features)  # logits of every view, twice
        return (
            autoencoder_bytes(n_samples, n_features, self.widths, self.batch_size)
            + layer_bytes(b, *heads, *[(joint, joint)] * 4)
            + 4 * (pairs + 2 * n_samples * f)
        )
