"""Where an epoch's anchors come from, and the anchor graphs they give.

`EmbeddingAnchors` is the paper's way: anchors in Z, a graph a view. `ViewAnchors` is the book's:
anchors in the views, drawn many times. Chapter 11 of the book says why.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

from dmac.anchor_graph import AnchorGraph
from dmac.compute.kmeans import WarmAnchors, kmeans_anchors, sample_anchors
from dmac.compute.streaming import PreparedView
from dmac.recipes import NetworkRecipe
from dmac.scaling import assigned_graph, assignment_entropy

if TYPE_CHECKING:
    from dmac.network import Network

AnchorSource: TypeAlias = "EmbeddingAnchors | ViewAnchors"


@dataclass(frozen=True)
class Draw:
    """One set of anchors, in the embedding or in the views, and what the losses take of it.

    Of anchors in the views the embedding has the means of their samples, D^-1 S^T Z.

    Attributes
    ----------
    graphs : list of dmac.anchor_graph.AnchorGraph
        One a view, or one for all views together.
    share : float
        Its weight in the structure loss.
    u : torch.Tensor of shape (m, d) or None
        Anchors in the embedding.
    on : list of pairs of torch.Tensor
        Of anchors in the embedding the samples and anchors that gave each graph.
    entropies : list of torch.Tensor
        The anchor learning losses, where they were found with the graphs.
    """

    graphs: list[AnchorGraph]
    share: float
    u: Tensor | None = None
    on: Sequence[tuple[Tensor, Tensor]] = ()
    entropies: Sequence[Tensor] = ()

    def pairs(self, z: Tensor) -> Sequence[tuple[Tensor, Tensor]]:
        """Of every graph the samples (n, r) and the anchors (m, r) of its anchor learning loss.

        What gave the graph, or unit rows of Z and of the anchors' means, these held constant.
        """
        if self.u is not None:
            return self.on
        unit = F.normalize(z, dim=1)
        means = (anchor_means(graph, z.detach()) for graph in self.graphs)
        return [(unit, F.normalize(u, dim=1)) for u in means]

    def anchor_learning(self, z: Tensor, recipe: NetworkRecipe) -> Sequence[Tensor]:
        """The anchor learning loss of every graph."""
        return self.entropies or [assignment_entropy(x, u) for x, u in self.pairs(z)]

    def convolution_inputs(self, zs: Sequence[Tensor]) -> tuple[list[AnchorGraph], list[Tensor]]:
        """Per view a graph and what is convolved: U, or the means of its embedding (m, d)."""
        graphs = self.graphs * len(zs) if len(self.graphs) == 1 else self.graphs
        if self.u is not None:
            return graphs, [self.u] * len(zs)
        return graphs, [anchor_means(graph, z) for graph, z in zip(graphs, zs)]


def anchor_means(graph: AnchorGraph, z: Tensor) -> Tensor:
    """Mean of the samples of every anchor, :math:`D_S^{-1} S^T Z`: (n, d) -> (m, d)."""
    return graph.inverse_degrees()[:, None] * graph.to_anchors(z)


def embedding_draw(
    zs: Sequence[Tensor], u: Tensor, n_neighbors: int, recipe: NetworkRecipe
) -> Draw:
    """Graphs of v view embeddings (n, d) on anchors U (m, d)."""
    pairs = [(z, u) for z in zs]
    if recipe.joint_graph:  # the mean of the views' squared distances
        scale = 1 / math.sqrt(len(zs))
        pairs = [(scale * torch.cat(list(zs), 1), scale * torch.cat([u] * len(zs), 1))]
    entropy = recipe.al_weight > 0
    graphs, found = zip(*(assigned_graph(*pair, n_neighbors, entropy=entropy) for pair in pairs))
    return Draw(list(graphs), 1.0, u, pairs, [x for x in found if x is not None])


class EmbeddingAnchors:
    """Anchors from the current Z, new in every epoch.

    Parameters
    ----------
    network : dmac.network.Network
    n_anchors : int
    recipe : dmac.recipes.NetworkRecipe
    generator : torch.Generator
        On the CPU; draws the start of the anchors and the noise of the perturbation.
    """

    def __init__(
        self, network: Network, n_anchors: int, recipe: NetworkRecipe, generator: torch.Generator
    ) -> None:
        self.network, self.n_anchors = network, n_anchors
        self.recipe, self.generator = recipe, generator
        self._warm = WarmAnchors(n_anchors, generator) if recipe.anchor_start == "warm" else None

    def anchors(self, z: Tensor) -> Tensor:
        """U (m, d): k-means or sampled anchors of Z (n, d), then the perturbation."""
        recipe = self.recipe
        if self._warm is not None:
            u_hat = self._warm(z)
        else:
            u_hat = _initial_anchors(z, self.n_anchors, recipe, self.generator)
        noise = noise_like(u_hat, self.generator)
        return self.network.anchors(u_hat, noise, normalize=recipe.normalize_anchors)

    def draws(self, zs: Sequence[Tensor], z: Tensor, n_neighbors: int) -> list[Draw]:
        """The draws of an epoch."""
        return [embedding_draw(zs, self.anchors(z), n_neighbors, self.recipe)]

    def state(self) -> dict[str, Tensor]:
        """The tensors by which `restore` goes on from here."""
        return {} if self._warm is None else self._warm.state()

    def restore(self, state: dict[str, Tensor]) -> None:
        """Go on from a `state`."""
        if state and self._warm is not None:
            self._warm.restore(state)


def _initial_anchors(
    x: Tensor, n_anchors: int, recipe: NetworkRecipe, generator: torch.Generator
) -> Tensor:
    if recipe.anchor_start in ("kmeans", "warm"):
        return kmeans_anchors(x, n_anchors, generator)
    return sample_anchors(x, n_anchors, generator, recipe.anchor_iterations)


def noise_like(like: Tensor, generator: torch.Generator) -> Tensor:
    """Standard normal noise of the shape, type and device of ``like``."""
    return torch.randn(like.shape, generator=generator, dtype=torch.float64).to(like)


class ViewAnchors:
    r"""Anchors in the views, a fixed number of sets, and in the views together with Z.

    The views stand side by side, divided by :math:`\sqrt v`, so that a squared distance is the mean
    of the views' squared distances.

    Parameters
    ----------
    network : dmac.network.Network
        Whose perturbation moves the anchors.
    views : list of v tensors of shape (n, r_a)
    n_anchors : int
    recipe : dmac.recipes.NetworkRecipe
    generator : torch.Generator
        On the CPU.

    Raises
    ------
    ValueError
        If a view is sparse.
    """

    def __init__(
        self,
        network: Network,
        views: Sequence[PreparedView],
        n_anchors: int,
        recipe: NetworkRecipe,
        generator: torch.Generator,
    ) -> None:
        dense = [x for x in views if isinstance(x, torch.Tensor)]
        if len(dense) < len(views):
            raise ValueError(
                "recipe field anchor_space='views' needs dense views: set components above 0"
            )
        self.network, self.n_anchors = network, n_anchors
        self.recipe, self.generator = recipe, generator
        self.widths = [x.shape[1] for x in dense]
        self.x = torch.cat(dense, 1) / math.sqrt(len(dense))
        self.sets = [
            _initial_anchors(self.x, n_anchors, recipe, generator)
            for _ in range(recipe.anchor_sets)
        ]
        self._graphs: dict[tuple[int, int, bool], list[AnchorGraph]] = {}
        self._visits = 0

    def state(self) -> dict[str, Tensor]:
        """The tensors by which `restore` goes on from here."""
        return {"visits": torch.tensor(self._visits)}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Go on from a `state`; the anchor sets are those of the same seed."""
        self._visits = int(state["visits"])

    def graphs(self) -> list[AnchorGraph]:
        """The graph of every anchor set, unperturbed, all views joint."""
        k = self.recipe.n_neighbors
        return [self._cached_graphs(i, k, joint=True)[0] for i in range(len(self.sets))]

    def draws(self, zs: Sequence[Tensor], z: Tensor, n_neighbors: int) -> list[Draw]:
        """The draws of an epoch: the next anchor set, then one in the views and Z."""
        recipe = self.recipe
        share = recipe.vote_share if recipe.vote_weight else 0.0
        draws: list[Draw] = []
        if share < 1:
            at = self._visits % len(self.sets)
            self._visits += 1
            if self.network.perturbation is None:
                graphs = self._cached_graphs(at, n_neighbors, recipe.joint_graph)
            else:
                u_hat = self.sets[at]
                u = self.network.perturb(u_hat, noise_like(u_hat, self.generator))
                graphs = self._graphs_of(self.x, u, n_neighbors, recipe.joint_graph)
            draws.append(Draw(graphs, 1 - share))
        if share > 0:
            draws.append(Draw(self.vote_graphs(z, n_neighbors), share))
        return draws

    def vote_graphs(self, z: Tensor, n_neighbors: int) -> list[AnchorGraph]:
        """Graphs on fresh samples of the views with the unit rows of Z beside: :eq:`eq:vote-graph`.

        (n, d) -> one graph, or one a view. Samples as they are: no step of Lloyd's moves them.
        """
        recipe = self.recipe
        rows = recipe.vote_weight * F.normalize(z.detach(), dim=1)
        x = torch.cat([self.x, rows], 1) if recipe.vote_weight else self.x
        u = sample_anchors(x, self.n_anchors, self.generator, iterations=0)
        return self._graphs_of(x, u, n_neighbors, recipe.joint_graph)

    def anchors(self, z: Tensor) -> Tensor:
        """Anchors in the embedding, for a fitted model: means of a fresh draw's samples, (m, d)."""
        graphs = self.vote_graphs(z, self.recipe.n_neighbors)
        return torch.stack([anchor_means(graph, z) for graph in graphs]).mean(0)

    def _cached_graphs(self, i: int, n_neighbors: int, joint: bool) -> list[AnchorGraph]:
        key = i, n_neighbors, joint
        if key not in self._graphs:
            self._graphs[key] = self._graphs_of(self.x, self.sets[i], n_neighbors, joint)
        return self._graphs[key]

    def _graphs_of(self, x: Tensor, u: Tensor, n_neighbors: int, joint: bool) -> list[AnchorGraph]:
        if joint:
            return [assigned_graph(x, u, n_neighbors)[0]]
        # A view's own squared distances, at the scale of that view; Z goes with each of them.
        widths = [*self.widths, x.shape[1] - sum(self.widths)]
        scale = math.sqrt(len(self.widths))
        *own, extra = zip(x.split(widths, 1), u.split(widths, 1))
        graphs = []
        for pair in own:
            points, anchors = (torch.cat([scale * part, z], 1) for part, z in zip(pair, extra))
            graphs.append(assigned_graph(points, anchors, n_neighbors)[0])
        return graphs
