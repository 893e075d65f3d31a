"""The joint loss and the loop that minimises it, one record an epoch.

Chapter 8 of the book walks through the algorithm.
"""

import math
import time
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from dmac import diagnostics
from dmac.anchor_graph import anchor_graph
from dmac.anchors import (
    PerturbationGenerator,
    anchor_learning_loss,
    kmeans_anchors,
    squared_distances,
)
from dmac.consistency import consistency_loss
from dmac.convolution import AnchorGraphConvolution
from dmac.embedding import ViewDecoder, ViewEncoder, fuse
from dmac.structure import structure_preservation_loss


def resolve_device(device):
    """Return the device of a name, "auto" being a GPU when there is one; ValueError if unusable."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        resolved = torch.device(device)
        torch.empty(0, device=resolved)
    except (RuntimeError, TypeError, AssertionError) as error:
        raise ValueError(f"device {device!r} is not usable here: {error}") from error
    return resolved


def resolve_dtype(dtype):
    """Return the type of "float32" or "float64"; ValueError for anything else."""
    types = {"float32": torch.float32, "float64": torch.float64}
    if not isinstance(dtype, str) or dtype not in types:
        raise ValueError(f"dtype is {dtype!r}, it must be one of {sorted(types)}")
    return types[dtype]


class Network(nn.Module):
    """All trainable parts of DMAC for v views.

    Parameters
    ----------
    dims : sequence of int
        Widths d_a of the views.
    n_clusters : int
    recipe : dmac.recipes.Recipe
    generator : torch.Generator
        On the CPU; draws every initial weight.
    """

    def __init__(self, dims, n_clusters, recipe, *, generator):
        super().__init__()
        d, hidden = recipe.embedding_dim, recipe.hidden_dim
        shared = dict(negative_slope=recipe.negative_slope, generator=generator)
        self.normalize = recipe.normalize_embedding
        self.encoders = nn.ModuleList(
            ViewEncoder(dim, hidden, d, normalize=self.normalize, **shared) for dim in dims
        )
        self.decoders = nn.ModuleList(ViewDecoder(dim, hidden, d, **shared) for dim in dims)
        self.perturbation = (
            PerturbationGenerator(d, recipe.sigma, generator=generator)
            if recipe.perturbation
            else None
        )
        self.convolutions = nn.ModuleList(
            AnchorGraphConvolution((d, recipe.agcn_dim, n_clusters), **shared) for _ in dims
        )

    def embed(self, views):
        """v views -> the list of v view embeddings (n, d), and their fusion (n, d)."""
        zs = [encode(x) for encode, x in zip(self.encoders, views)]
        return zs, fuse(zs, normalize=self.normalize)

    def anchors(self, u_hat, noise, *, normalize):
        """(m, d) initial anchors and (m, d) noise -> (m, d) anchors."""
        u = u_hat if self.perturbation is None else self.perturbation(u_hat, noise)
        return F.normalize(u, dim=1) if normalize else u


@dataclass(frozen=True)
class Losses:
    """The terms of one forward pass: tensors of shape () averaged over the views, and their sum.

    ``total`` is the joint loss of the paper, a sum over views. ``empty_anchors`` is the number of
    anchors without samples, averaged over the views.
    """

    total: torch.Tensor
    anchor_learning: torch.Tensor
    consistency: torch.Tensor
    structure_preservation: torch.Tensor
    empty_anchors: float


def joint_loss(network, zs, z, u, n_neighbors, recipe):
    r"""Joint loss of the paper (eq. overall_loss), with a weight for each of the three terms.

    .. math:: L = \sum_a \big( w_{AL} L_{AL}^{(a)} + w_{CM} L_{CM}^{(a)} + w_{SP} L_{SP}^{(a)} \big)

    Parameters
    ----------
    network : Network
    zs : list of v tensors of shape (n, d)
        View embeddings.
    z : torch.Tensor of shape (n, d)
        Fused embedding.
    u : torch.Tensor of shape (m, d)
        Anchors, shared by the views.
    n_neighbors : int
    recipe : dmac.recipes.Recipe

    Returns
    -------
    Losses
    """
    scale = {"pairs": 2.0, "trace": 1.0, "mean": 1.0 / len(z)}[recipe.sp_form]
    al = sp = z.new_zeros(())
    fs, empty = [], 0
    for z_a, convolve in zip(zs, network.convolutions):
        d2 = squared_distances(z_a, u)
        al = al + anchor_learning_loss(d2)
        graph = anchor_graph(d2, n_neighbors)
        fs.append(convolve(graph, u))
        structure = graph.detach() if recipe.detach_graph else graph
        sp = sp + scale * structure_preservation_loss(z, structure)
        empty += diagnostics.empty_anchors(graph.degrees().detach())
    cm = consistency_loss(fs, recipe.mutual_information)
    total = recipe.al_weight * al + recipe.cm_weight * cm + recipe.sp_weight * sp
    v = len(zs)
    return Losses(total, al / v, cm / v, sp / v, empty / v)


def neighbors_at(epoch, recipe, n_anchors, n_clusters):
    """Return k in a given epoch (counted from 1) under the recipe's schedule.

    After every ``neighbor_period`` epochs k becomes min(k + ``neighbor_step``, floor(m / c)). With
    few anchors a cluster that is *below* the first k: 3 from epoch 21 on for m = 215, c = 68.
    """
    k = recipe.n_neighbors
    if recipe.neighbor_period:
        ceiling = max(1, n_anchors // n_clusters)
        for _ in range((epoch - 1) // recipe.neighbor_period):
            k = min(k + recipe.neighbor_step, ceiling)
    return k


@dataclass(frozen=True)
class EpochRecord:
    """What one epoch of the main training did; every figure describes the state before its step.

    Attributes
    ----------
    epoch : int
        From 1.
    loss : float
        The joint loss, a weighted sum over views.
    anchor_learning, consistency, structure_preservation : float
        The three terms without their weights, averaged over the views: ``anchor_learning`` is
        between 0 and log m.
    mean_cosine, effective_rank : float
        Of the fused embedding (:mod:`dmac.diagnostics`).
    empty_anchors : float
        Anchors without samples, averaged over the views.
    n_neighbors : int
        k of this epoch.
    seconds : float
        Wall-clock time of the epoch.
    """

    epoch: int
    loss: float
    anchor_learning: float
    consistency: float
    structure_preservation: float
    mean_cosine: float
    effective_rank: float
    empty_anchors: float
    n_neighbors: int
    seconds: float


def draw_anchors(network, z, n_anchors, recipe, generator):
    """Anchors of an embedding: k-means, then the perturbation with fresh noise.

    The noise and the draws of k-means++ come from ``generator`` (on the CPU), so that the same seed
    gives the same draws on every device.
    """
    u_hat = kmeans_anchors(z, n_anchors, generator)
    noise = torch.randn(u_hat.shape, generator=generator, dtype=torch.float64).to(u_hat)
    return network.anchors(u_hat, noise, normalize=recipe.normalize_anchors)


def train(network, views, n_clusters, n_anchors, recipe, generator):
    """Minimise the joint loss with RMSprop, full batch.

    Parameters
    ----------
    network : Network
        Trained in place.
    views : list of v tensors or SparseViews
    n_clusters, n_anchors : int
        c and m.
    recipe : dmac.recipes.Recipe
    generator : torch.Generator
        On the CPU; draws the noise and the k-means++ seeding.

    Yields
    ------
    EpochRecord
        After each step. What the reader of the records does between two of them is not timed.

    Raises
    ------
    FloatingPointError
        If the loss is not finite.
    """
    used = [network.encoders, network.convolutions, network.perturbation]
    parameters = [p for module in used if module is not None for p in module.parameters()]
    optimiser = torch.optim.RMSprop(parameters, lr=recipe.lr)
    for epoch in range(1, recipe.epochs + 1):
        start = time.perf_counter()
        zs, z = network.embed(views)
        u = draw_anchors(network, z, n_anchors, recipe, generator)
        k = neighbors_at(epoch, recipe, n_anchors, n_clusters)
        losses = joint_loss(network, zs, z, u, k, recipe)
        optimiser.zero_grad()
        losses.total.backward()
        optimiser.step()
        value = losses.total.item()
        if not math.isfinite(value):
            raise FloatingPointError(f"the joint loss is {value} at epoch {epoch}: lower the lr")
        yield EpochRecord(
            epoch,
            value,
            losses.anchor_learning.item(),
            losses.consistency.item(),
            losses.structure_preservation.item(),
            diagnostics.mean_cosine(z),
            diagnostics.effective_rank(z),
            losses.empty_anchors,
            k,
            time.perf_counter() - start,
        )
