"""Self-attention of DealMVC, over the views of a batch, and of GCFAggMVC, over its samples.

Chapter 13 of the book introduces both.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from dmac.compute.layers import dense_layer
from dmac.peers._autoencoder import perceptron
from dmac.peers._training import dropout


def attention_layer(width, n_heads, generator):
    """Torch's own self-attention, its weights drawn as torch does it but from ``generator``.

    Without dropout inside, which would draw from the global random state: that of
    :mod:`dmac.peers._training` goes outside.
    """
    layer = nn.utils.skip_init(nn.MultiheadAttention, width, n_heads, batch_first=True)
    bound = math.sqrt(6 / (width + 3 * width))  # Glorot and Bengio's, for all three projections
    nn.init.uniform_(layer.in_proj_weight, -bound, bound, generator=generator)
    bound = 1 / math.sqrt(width)
    nn.init.uniform_(layer.out_proj.weight, -bound, bound, generator=generator)
    nn.init.zeros_(layer.in_proj_bias)
    nn.init.zeros_(layer.out_proj.bias)
    return layer


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
