"""What DealMVC and GCFAggMVC share: scaling, auto-encoders, and training in mini-batches."""

import math
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.preprocessing import StandardScaler
from torch import nn

from dmac._parameters import NON_NEGATIVE, WIDTHS, at_least, choice, one_of
from dmac.compute.device import resolve_device
from dmac.compute.layers import dense_layer
from dmac.peers._training import adam, torch_generator, train
from dmac.peers.base import TrainedPeer, dense, parameters, unit_range


def scaled_views(views, device, scale="range"):
    """Views as float32 tensors on the device, every feature scaled.

    Parameters
    ----------
    views : list of arrays or sparse matrices of shape (n, d_v)
    device : torch.device
    scale : {"range", "standard"}
        To [0, 1] by its range, or then to mean 0 and variance 1. A constant one becomes 0.

    Returns
    -------
    list of torch.Tensor of shape (n, d_v)
    """
    scaled = (unit_range(dense(x)).astype(np.float32) for x in views)
    if scale == "standard":  # After the range, so that no square is too large.
        scaled = (
            StandardScaler().fit_transform(x.astype(float)).astype(np.float32) for x in scaled
        )
    return [torch.as_tensor(x, device=device) for x in scaled]


def perceptron(widths, generator):
    """Linear layers of the given widths, ReLU between them and a linear end."""
    layers = []
    for n_in, n_out in pairwise(widths):
        layers += [dense_layer(n_in, n_out, generator), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


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


class AutoEncoder(nn.Module):
    """Encoder d - widths and its mirror image.

    Parameters
    ----------
    n_features : int
        d.
    widths : sequence of int
        The last is the width of the code.
    generator : torch.Generator
        On the CPU; draws the initial weights.
    """

    def __init__(self, n_features, widths, generator):
        super().__init__()
        widths = (n_features, *widths)
        self.encoder = perceptron(widths, generator)
        self.decoder = perceptron(widths[::-1], generator)

    def forward(self, x):
        """(b, d) -> code (b, widths[-1]) and reconstruction (b, d)."""
        z = self.encoder(x)
        return z, self.decoder(z)


def shuffled_batches(n, batch_size, generator):
    """Random batches of row numbers; the incomplete last one is dropped unless it is the only."""
    order = torch.randperm(n, generator=generator)
    return order.split(batch_size)[: max(1, n // batch_size)]


def even_batches(n, batch_size):
    """All rows in their order, in batches of nearly the same size, at most ``batch_size``."""
    return torch.arange(n).tensor_split(math.ceil(n / batch_size))


def layer_bytes(batch, *layers):
    """Bytes of linear layers (n_in, n_out) with Adam's two moments, on a batch of samples.

    Four numbers a weight (itself, gradient, two moments), three an output (before and after the
    ReLU, gradient), each of four bytes.
    """
    weights = sum((n_in + 1) * n_out for n_in, n_out in layers)
    return 4 * (4 * weights + 3 * batch * sum(n_out for _, n_out in layers))


def autoencoder_bytes(n_samples, n_features, widths, batch_size):
    """Bytes of the scaled views, one of them in float64 while it is scaled, and the networks."""
    total = 4 * n_samples * sum(n_features) + 24 * n_samples * max(n_features)
    for d in n_features:
        pairs = list(pairwise((d, *widths)))
        mirrored = [(b, a) for a, b in pairs]
        total += layer_bytes(min(batch_size, n_samples), *pairs, *mirrored)
    return total


@parameters
class AutoencoderPeer(TrainedPeer):
    r"""A system of one auto-encoder a view.

    They are trained on :math:`\sum_v \mathrm{MSE}(X^v, \hat X^v)`, then on the system's ``_loss``.
    """

    widths: tuple = choice(
        (500, 500, 2000, 512), WIDTHS, "Of the encoders' layers; the decoders mirror them."
    )
    batch_size: int = choice(
        256, at_least(2), "b; an incomplete last batch is left out of an epoch."
    )
    lr: float = choice(3e-4, NON_NEGATIVE, "Of Adam.")
    n_init: int = choice(100, at_least(1), "Starts of the k-means.")
    scale: str = choice(
        "range",
        one_of("range", "standard"),
        "Of the features: to [0, 1] by their ranges, or to mean 0 and variance 1.",
    )

    def _work(self, n_samples, n_features):
        """Encoders and decoders forward."""
        layers = [layer for d in n_features for layer in pairwise((d, *self.widths))]
        return 2 * n_samples * sum(a * b for a, b in layers)

    def _trained(self, network, views, generator, stage, epochs):
        """The two trainings: network, scaled views, optimizer, history.

        ``network`` is its class, of the widths of the views, of this system, and of the generator
        of its weights. The second training descends ``_loss(network, codes, error, draws)``, of the
        codes of a batch and of the error of their reconstruction.
        """
        device = resolve_device(self.device)
        draws = torch_generator(generator)
        history = []
        network = network([x.shape[1] for x in views], self, draws).to(device)
        views = scaled_views(views, device, self.scale)
        optimizer = adam(network.parameters(), self.lr)

        def coded(rows):
            batch = [x[rows.to(device)] for x in views]
            codes, images = zip(*(net(x) for net, x in zip(network.autoencoders, batch)))
            return codes, sum(F.mse_loss(image, x) for image, x in zip(images, batch))

        def batches():
            return shuffled_batches(len(views[0]), self.batch_size, draws)

        train(
            lambda rows: coded(rows)[1],
            optimizer,
            self.pretrain_epochs,
            "reconstruction",
            history,
            batches,
        )
        train(
            lambda rows: self._loss(network, *coded(rows), draws),
            optimizer,
            epochs,
            stage,
            history,
            batches,
        )
        return network, views, optimizer, history
