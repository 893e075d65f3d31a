"""The paper's perturbation and anchor learning loss in other forms, for any recipe of a network.

Chapters 3 and 11 of the book derive them; chapter 13 measures what they gain.
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from dmac._parameters import choice, documented, one_of
from dmac.anchors import neighbor_bandwidth
from dmac.compute.distances import nearest
from dmac.compute.kmeans import sample_anchors
from dmac.network import Network
from dmac.recipes import NetworkRecipe
from dmac.sampling import Draw, EmbeddingAnchors, ViewAnchors, noise_like
from dmac.scaling import assign, assignment_entropy
from dmac.solvers.network_solver import NetworkSolver


@documented
@dataclass(frozen=True)
class NetworkIdea(NetworkRecipe):
    """A recipe of a network whose noise has the size of the cells, or that keeps anchors in use."""

    solver: ClassVar[str] = "experiments.ideas.network_ideas:NetworkIdeaSolver"

    sigma: str = choice(
        "relu",
        one_of("relu", "softplus", "spread"),
        """
        As in a recipe; "spread" takes a learned share of the anchor's own cell and no shift
        (:eq:`eq:smoothed-graph`).""",
    )
    al_form: str = choice(
        "entropy",
        one_of("entropy", "balanced"),
        """
        The paper's entropy :eq:`eq:anchor-learning`, or with a bandwidth from the data and all
        anchors kept in use (:func:`dmac.anchors.anchor_learning_loss`).""",
    )


class SpreadPerturbation(nn.Module):
    r"""Perturbed anchors whose noise has the size of the anchor's own cell.

    :math:`u_j = \hat u_j + e^{\theta} \omega_j \epsilon_j`, where :math:`\omega_j` is the root mean
    squared deviation, a feature, of the samples nearest to :math:`\hat u_j`, and :math:`\theta` is
    one learnable number: :math:`e^\theta` says in units of the cells how far the graph is averaged.

    Parameters
    ----------
    scale : float
        :math:`e^\theta` at the start.
    """

    def __init__(self, scale=0.5):
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(math.log(scale)))

    def forward(self, u_hat, noise, x):
        """(m, d) anchors, (m, d) standard normal noise, (n, d) samples -> (m, d) anchors."""
        d2, cell = nearest(x.detach(), u_hat.detach())
        counts = torch.bincount(cell, minlength=len(u_hat)).clamp_min(1)
        variance = torch.zeros_like(u_hat[:, 0]).index_add_(0, cell, d2) / counts
        spread = (variance / x.shape[1]).sqrt()
        return u_hat + self.log_scale.exp() * spread[:, None] * noise


class IdeaNetwork(Network):
    """A network that perturbs by `SpreadPerturbation` where the recipe says so."""

    samples = None  # among which the anchors lie: a source of anchors says it

    def __init__(self, dims, n_clusters, recipe, *, generator):
        spread = recipe.perturbation and recipe.sigma == "spread"
        plain = dataclasses.replace(recipe, perturbation=False) if spread else recipe
        super().__init__(dims, n_clusters, plain, generator=generator)
        if spread:
            self.perturbation = SpreadPerturbation()

    def perturb(self, u_hat, noise):
        if isinstance(self.perturbation, SpreadPerturbation):
            return self.perturbation(u_hat, noise, self.samples)
        return super().perturb(u_hat, noise)


class IdeaDraw(Draw):
    """A draw with the balanced form of the anchor learning loss."""

    def anchor_learning(self, z, recipe):
        losses = []
        for x, u in self.pairs(z):
            k = min(recipe.n_neighbors, len(u) - 1)
            bandwidth = neighbor_bandwidth(assign(x.detach(), u.detach(), k + 1).distances, k)
            losses.append(assignment_entropy(x, u, bandwidth, balanced=True))
        return losses


class _Idea:
    """What both sources of anchors do otherwise."""

    def draws(self, zs, z, n_neighbors):
        draws = super().draws(zs, z, n_neighbors)
        balanced = self.recipe.al_form == "balanced"
        return [IdeaDraw(**vars(draw)) for draw in draws] if balanced else draws


class IdeaEmbeddingAnchors(_Idea, EmbeddingAnchors):
    """Anchors in the embedding, with the noise of their cells."""

    def anchors(self, z):
        self.network.samples = z.detach()
        return super().anchors(z)


class IdeaViewAnchors(_Idea, ViewAnchors):
    """Anchors in the views, with the noise of their cells, also where Z votes."""

    def draws(self, zs, z, n_neighbors):
        self.network.samples = self.x
        return super().draws(zs, z, n_neighbors)

    def vote_graphs(self, z, n_neighbors):
        perturbation = self.network.perturbation
        if not isinstance(perturbation, SpreadPerturbation):
            return super().vote_graphs(z, n_neighbors)
        rows = self.recipe.vote_weight * nn.functional.normalize(z.detach(), dim=1)
        x = torch.cat([self.x, rows], 1) if self.recipe.vote_weight else self.x
        u = sample_anchors(x, self.n_anchors, self.generator, iterations=0)
        u = perturbation(u, noise_like(u, self.generator), x)
        return self._graphs_of(x, u, n_neighbors, self.recipe.joint_graph)


class NetworkIdeaSolver(NetworkSolver):
    """The network's solver with the other forms."""

    def network(self, widths, n_clusters, generator):
        return IdeaNetwork(widths, n_clusters, self.recipe, generator=generator)

    def source(self, network, views, n_anchors, generator):
        if self.recipe.anchor_space == "embedding":
            return IdeaEmbeddingAnchors(network, n_anchors, self.recipe, generator)
        return IdeaViewAnchors(network, views, n_anchors, self.recipe, generator)
