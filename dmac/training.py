"""The joint loss and the loop that minimises it, one record an epoch.

Chapter 8 of the book walks through the algorithm and through RMSprop, and measures which loss moves
which part of the network.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from dmac import diagnostics
from dmac.compute.checkpoint import Progress
from dmac.compute.streaming import PreparedView
from dmac.consistency import consistency_loss
from dmac.recipes import NetworkRecipe
from dmac.sampling import AnchorSource, Draw, EmbeddingAnchors, ViewAnchors, embedding_draw
from dmac.structure import closed_form_projection, structure_preservation_loss

if TYPE_CHECKING:
    from dmac.network import Network


@dataclass(frozen=True)
class Losses:
    """The terms of one forward pass: tensors of shape () averaged over the views, and their sum.

    Attributes
    ----------
    total : torch.Tensor
        The joint loss :eq:`eq:joint-loss`, a weighted sum over views.
    anchor_learning, consistency, structure_preservation : torch.Tensor
        The three terms without their weights, averaged over the views.
    empty_anchors : float
        Anchors without samples, averaged over the views.
    """

    total: torch.Tensor
    anchor_learning: torch.Tensor
    consistency: torch.Tensor
    structure_preservation: torch.Tensor
    empty_anchors: float


def joint_loss(
    network: Network,
    zs: Sequence[Tensor],
    z: Tensor,
    u: Tensor,
    n_neighbors: int,
    recipe: NetworkRecipe,
) -> Losses:
    r"""The joint loss :eq:`eq:joint-loss`, with a weight for each of the three terms.

    It is for chapters and tests; a fit calls `losses_on`.

    .. math:: L = \sum_a \big( w_{AL} L_{AL}^{(a)} + w_{CM} L_{CM}^{(a)} + w_{SP} L_{SP}^{(a)} \big)

    Source: Eq. 16 of the paper, whose weights :math:`\alpha, \beta` are ``cm_weight`` and
    ``sp_weight`` here.

    Parameters
    ----------
    network : dmac.network.Network
    zs : list of v tensors of shape (n, d)
        View embeddings.
    z : torch.Tensor of shape (n, d)
        Fused embedding.
    u : torch.Tensor of shape (m, d)
        Anchors, shared by the views.
    n_neighbors : int
        k, below m.
    recipe : dmac.recipes.NetworkRecipe

    Returns
    -------
    Losses

    Raises
    ------
    ValueError
        If k < 1 or m < k + 1.
    """
    return losses_on(network, zs, z, [embedding_draw(zs, u, n_neighbors, recipe)], recipe)


def losses_on(
    network: Network,
    zs: Sequence[Tensor],
    z: Tensor,
    draws: Sequence[Draw],
    recipe: NetworkRecipe,
) -> Losses:
    """`joint_loss` on given draws of anchors and their graphs.

    Parameters
    ----------
    network : dmac.network.Network
    zs, z
        As in `joint_loss`.
    draws : list of dmac.sampling.Draw
        Their shares weigh the structure loss; the anchor learning and the consistency loss are
        taken on the last. Of weight 0 these two are NaN, and no part of the total.
    recipe : dmac.recipes.NetworkRecipe

    Returns
    -------
    Losses
    """
    scale = {"pairs": 2.0, "trace": 1.0, "mean": 1.0 / len(z)}[recipe.sp_form]
    sp = z.new_zeros(())
    for draw in draws:
        for graph in draw.graphs:
            structure = graph.detach() if recipe.detach_graph else graph
            sp = sp + draw.share * scale * structure_preservation_loss(z, structure)
    draw = draws[-1]
    empty = sum(diagnostics.empty_anchors(g.degrees().detach()) for g in draw.graphs)
    total = z.new_zeros(())
    al = cm = z.new_tensor(math.nan)
    if recipe.al_weight > 0:
        al = sum(draw.anchor_learning(z, recipe), start=z.new_zeros(()))
        total = total + recipe.al_weight * al
    if recipe.cm_weight > 0:
        fs = [
            convolve(graph, u)
            for convolve, graph, u in zip(network.convolutions, *draw.convolution_inputs(zs))
        ]
        cm = consistency_loss(fs, recipe.mutual_information)
        total = total + recipe.cm_weight * cm
    total = total + recipe.sp_weight * sp
    parts = len(draw.graphs)
    return Losses(total, al / parts, cm / len(zs), sp / parts, empty / parts)


#: By how much k grows, in the authors' implementation.
_NEIGHBOR_STEP = 5


def neighbors_at(epoch: int, recipe: NetworkRecipe, n_anchors: int, n_clusters: int) -> int:
    """Return k in a given epoch (counted from 1) under the recipe's schedule.

    After the first ``neighbor_delay`` epochs, and then after every ``neighbor_period``, k becomes
    min(k + 5, floor(m / c)). With few anchors a cluster that is *below* the first k: under RELEASED
    3 from epoch 22 on for m = 215, c = 68.
    Source: the authors' implementation; the paper does not give k.
    """
    k = recipe.n_neighbors
    if recipe.neighbor_period:
        ceiling = max(1, n_anchors // n_clusters)
        for _ in range(max(0, epoch - 1 - recipe.neighbor_delay) // recipe.neighbor_period):
            k = min(k + _NEIGHBOR_STEP, ceiling)
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
        between 0 and log m. The first two are NaN where their weight is 0.
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


def draw_anchors(
    network: Network, z: Tensor, n_anchors: int, recipe: NetworkRecipe, generator: torch.Generator
) -> Tensor:
    """Anchors of an embedding: k-means, then the perturbation with fresh noise.

    The noise and the draws of k-means++ come from ``generator`` (on the CPU), so that the same seed
    gives the same draws on every device. For chapters and tests; a fit has an `anchor_source`.
    """
    return EmbeddingAnchors(network, n_anchors, recipe, generator).anchors(z)


def anchor_source(
    network: Network,
    views: Sequence[PreparedView],
    n_anchors: int,
    recipe: NetworkRecipe,
    generator: torch.Generator,
) -> AnchorSource:
    """What draws the anchors and graphs of an epoch under a recipe: see :mod:`dmac.sampling`."""
    if recipe.anchor_space == "embedding":
        return EmbeddingAnchors(network, n_anchors, recipe, generator)
    return ViewAnchors(network, views, n_anchors, recipe, generator)


def _start_in_closed_form(network: Network, views: Sequence[Any], source: Any) -> None:
    """Set the linear part of every encoder to the closed form on the concatenated views."""
    linears = [encoder.linear for encoder in network.encoders if hasattr(encoder, "linear")]
    if len(linears) < len(network.encoders):
        return
    d = linears[0].out_features
    weight, bias = closed_form_projection(torch.cat(list(views), 1), source.graphs(), d)
    v = len(linears)
    with torch.no_grad():  # Z is the mean of the view embeddings, so each carries v times its part
        for linear, part in zip(linears, weight.split([x.shape[1] for x in views])):
            linear.weight.copy_(v * part.T)
            linear.bias.copy_(bias)


def _step_size(epoch: int, recipe: NetworkRecipe) -> float:
    """The step size of an epoch, counted from 1: that of the recipe, or falling to 0 from it."""
    if recipe.schedule == "constant":
        return recipe.lr
    return recipe.lr * ((1 + math.cos(math.pi * (epoch - 1) / recipe.epochs)) / 2)


def _optimiser(network: Network, recipe: NetworkRecipe) -> torch.optim.Optimizer:
    used = [network.encoders, network.convolutions, network.perturbation]
    parameters = [p for module in used if module is not None for p in module.parameters()]
    kind = {"rmsprop": torch.optim.RMSprop, "adam": torch.optim.Adam}[recipe.optimizer]
    return kind(parameters, lr=recipe.lr)


def train(
    network: Network,
    views: Sequence[PreparedView],
    n_clusters: int,
    source: AnchorSource,
    recipe: NetworkRecipe,
    progress: Progress | None = None,
) -> Iterator[EpochRecord]:
    """Minimise the joint loss :eq:`eq:joint-loss`, full batch.

    With ``optimizer="rmsprop"`` the step is that of :eq:`eq:rmsprop`: no parameter moves by more
    than ten times ``lr`` in an epoch, and in the first epoch nearly all move by just that.

    Parameters
    ----------
    network : dmac.network.Network
        Trained in place.
    views : list of v tensors or SparseViews
    n_clusters : int
        c.
    source : dmac.sampling.EmbeddingAnchors or dmac.sampling.ViewAnchors
        From `anchor_source`; draws the noise and the anchors.
    recipe : dmac.recipes.NetworkRecipe
    progress : dmac.compute.checkpoint.Progress, optional
        Where an earlier run stopped, and where this one is.

    Yields
    ------
    EpochRecord
        After each step. What the reader of the records does between two of them is not timed.

    Raises
    ------
    FloatingPointError
        If the loss is not finite.
    """
    progress = progress or Progress()
    if recipe.closed_form_start and not progress.epoch:
        _start_in_closed_form(network, views, source)
    optimiser = _optimiser(network, recipe)
    progress.begin(optimiser)
    for epoch in range(progress.epoch + 1, recipe.epochs + 1):
        k = neighbors_at(epoch, recipe, source.n_anchors, n_clusters)
        optimiser.param_groups[0]["lr"] = _step_size(epoch, recipe)
        record = _epoch(epoch, k, network, views, source, recipe, optimiser)
        progress.epoch = epoch
        yield record


def _epoch(
    epoch: int,
    k: int,
    network: Network,
    views: Sequence[PreparedView],
    source: AnchorSource,
    recipe: NetworkRecipe,
    optimiser: torch.optim.Optimizer,
) -> EpochRecord:
    """One step; a function of its own so that nothing of an epoch outlives it."""
    start = time.perf_counter()
    zs, z = network.embed(views)
    draws = source.draws(zs, z, k)
    losses = losses_on(network, zs, z, draws, recipe)
    optimiser.zero_grad()
    losses.total.backward()
    optimiser.step()
    value = losses.total.item()
    if not math.isfinite(value):
        raise FloatingPointError(f"the joint loss is {value} at epoch {epoch}: lower the lr")
    return EpochRecord(
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
