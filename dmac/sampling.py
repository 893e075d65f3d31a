"""Where an epoch's anchors come from, and the anchor graphs they give.

`EmbeddingAnchors` is the paper's way: anchors in Z, a graph a view. `ViewAnchors` is the book's:
anchors in the views, drawn many times. Chapter 11 of the book compares them.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F

from dmac.anchor_graph import AnchorGraph, anchor_graph
from dmac.anchors import SpreadPerturbation, kmeans_anchors, sampled_anchors, squared_distances


class Draw(Protocol):
    """One set of anchors with its graphs: one graph a view, or one for all views together."""

    graphs: list
    share: float

    def assignments(self, z, rows=None):
        """Squared distances (n, m) for the anchor learning loss, one tensor a graph.

        With ``rows``, of the first so many samples: enough to measure by.
        """

    def convolved(self, zs):
        """A graph a view, and what the convolution starts from: (m, d) a view."""


@dataclass(frozen=True)
class EmbeddingDraw:
    """Anchors U (m, d) in the embedding; they are what is assigned to and convolved."""

    graphs: list
    distances: list
    u: torch.Tensor
    share: float = 1.0

    def assignments(self, z, rows=None):
        """The distances from the view embeddings that gave the graphs."""
        return [d2[:rows] for d2 in self.distances]

    def convolved(self, zs):
        """U for every view."""
        return _per_view(self.graphs, zs), [self.u] * len(zs)


@dataclass(frozen=True)
class ViewDraw:
    """Anchors in the views. In the embedding an anchor is the mean of its samples, D^-1 S^T Z."""

    graphs: list
    share: float

    def assignments(self, z, rows=None):
        """Distances of unit rows of Z from unit rows of the anchors' means, held constant."""
        unit = F.normalize(z[:rows], dim=1)
        return [
            squared_distances(unit, F.normalize(anchor_means(graph, z.detach()), dim=1))
            for graph in self.graphs
        ]

    def convolved(self, zs):
        """The anchors' means of every view's embedding."""
        graphs = _per_view(self.graphs, zs)
        return graphs, [anchor_means(graph, z) for graph, z in zip(graphs, zs)]


def _per_view(graphs, zs):
    return graphs * len(zs) if len(graphs) == 1 else graphs


def anchor_means(graph, z):
    """Mean of the samples of every anchor, :math:`D_S^{-1} S^T Z`: (n, d) -> (m, d)."""
    return graph.inverse_degrees()[:, None] * graph.to_anchors(z)


def embedding_draw(zs, u, n_neighbors, recipe):
    """Graphs of v view embeddings (n, d) on anchors U (m, d)."""
    distances = [squared_distances(z, u) for z in zs]
    if recipe.joint_graph:
        distances = [torch.stack(distances).mean(0)]
    return EmbeddingDraw([anchor_graph(d2, n_neighbors) for d2 in distances], distances, u)


class EmbeddingAnchors:
    """Anchors from the current Z, new in every epoch.

    Parameters
    ----------
    network : dmac.network.Network
    n_anchors : int
    recipe : dmac.recipes.Recipe
    generator : torch.Generator
        On the CPU; draws the start of the anchors and the noise of the perturbation.
    """

    def __init__(self, network, n_anchors, recipe, generator):
        self.network, self.n_anchors = network, n_anchors
        self.recipe, self.generator = recipe, generator

    def anchors(self, z):
        """U (m, d): k-means or sampled anchors of Z (n, d), then the perturbation."""
        recipe = self.recipe
        u_hat = _initial_anchors(z, self.n_anchors, recipe, self.generator)
        noise = _noise(u_hat, self.generator)
        return self.network.anchors(u_hat, noise, z, normalize=recipe.normalize_anchors)

    def draws(self, zs, z, n_neighbors):
        """The draws of an epoch."""
        return [embedding_draw(zs, self.anchors(z), n_neighbors, self.recipe)]

    def graphs(self):
        """Graphs for the closed-form start: there are none before there is an embedding."""
        raise ValueError("recipe field closed_form_start needs anchor_space='views'")


def _initial_anchors(x, n_anchors, recipe, generator):
    if recipe.anchor_start == "kmeans":
        return kmeans_anchors(x, n_anchors, generator)
    return sampled_anchors(x, n_anchors, generator, recipe.anchor_iterations)


def _noise(like, generator):
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
    recipe : dmac.recipes.Recipe
    generator : torch.Generator
        On the CPU.

    Raises
    ------
    ValueError
        If a view is sparse.
    """

    def __init__(self, network, views, n_anchors, recipe, generator):
        if not all(isinstance(x, torch.Tensor) for x in views):
            raise ValueError(
                "recipe field anchor_space='views' needs dense views: set components above 0"
            )
        self.network, self.n_anchors = network, n_anchors
        self.recipe, self.generator = recipe, generator
        self.widths = [x.shape[1] for x in views]
        self.x = torch.cat(list(views), 1) / math.sqrt(len(views))
        self.sets = [
            _initial_anchors(self.x, n_anchors, recipe, generator)
            for _ in range(recipe.anchor_sets)
        ]
        self._graphs = {}
        self._visits = 0

    def graphs(self):
        """The graph of every anchor set, unperturbed, all views joint."""
        k = self.recipe.n_neighbors
        return [self._graph(i, k, joint=True)[0] for i in range(len(self.sets))]

    def draws(self, zs, z, n_neighbors):
        """The draws of an epoch: the next anchor set, then one in the views and Z."""
        recipe = self.recipe
        share = recipe.self_share if recipe.self_weight else 0.0
        draws = []
        if share < 1:
            at = self._visits % len(self.sets)
            self._visits += 1
            if self.network.perturbation is None:
                graphs = self._graph(at, n_neighbors, recipe.joint_graph)
            else:
                u_hat = self.sets[at]
                u = self.network.perturb(u_hat, _noise(u_hat, self.generator), self.x)
                graphs = self._graphs_of(self.x, u, n_neighbors, recipe.joint_graph)
            draws.append(ViewDraw(graphs, 1 - share))
        if share > 0:
            draws.append(ViewDraw(self.self_graphs(z, n_neighbors), share))
        return draws

    def self_graphs(self, z, n_neighbors):
        """Graphs on fresh anchors of the views with the unit rows of Z as one more view."""
        recipe = self.recipe
        rows = recipe.self_weight * F.normalize(z.detach(), dim=1)
        alone = not recipe.self_views and recipe.self_weight > 0
        x = rows if alone else torch.cat([self.x, rows], 1) if recipe.self_weight else self.x
        u = sampled_anchors(x, self.n_anchors, self.generator, recipe.self_iterations)
        if isinstance(self.network.perturbation, SpreadPerturbation):
            u = self.network.perturb(u, _noise(u, self.generator), x)
        return self._graphs_of(x, u, n_neighbors, recipe.joint_graph or alone)

    def anchors(self, z):
        """Anchors in the embedding, for a fitted model: means of a fresh draw's samples, (m, d)."""
        graphs = self.self_graphs(z, self.recipe.n_neighbors)
        return torch.stack([anchor_means(graph, z) for graph in graphs]).mean(0)

    def _graph(self, i, n_neighbors, joint):
        key = i, n_neighbors, joint
        if key not in self._graphs:
            self._graphs[key] = self._graphs_of(self.x, self.sets[i], n_neighbors, joint)
        return self._graphs[key]

    def _graphs_of(self, x, u, n_neighbors, joint) -> list[AnchorGraph]:
        if joint:
            return [anchor_graph(squared_distances(x, u), n_neighbors)]
        # A view's own squared distances, at the scale of that view; Z goes with each of them.
        widths = [*self.widths, x.shape[1] - sum(self.widths)]
        parts = list(zip(x.split(widths, 1), u.split(widths, 1)))
        own = [squared_distances(a, b) * len(self.widths) for a, b in parts[:-1]]
        extra = squared_distances(*parts[-1]) if widths[-1] else 0.0
        return [anchor_graph(d2 + extra, n_neighbors) for d2 in own]
