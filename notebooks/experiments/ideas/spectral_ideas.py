"""The closed form with anchors that learn (:mod:`experiments.ideas.refinement`).

The record of the evidence derives and measures them.
"""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import torch

from dmac.averaged_graph import (
    AveragedGraph,
    average,
    blocks_of,
    draw_graphs,
    graph_on,
    joined_sets,
    n_sets,
    set_draws,
    whole_samples,
)
from dmac.compute import parallel
from dmac.recipes import SpectralRecipe, at_least, choice, documented, one_of
from dmac.solvers.contract import UNWATCHED
from dmac.solvers.spectral import SpectralSolver, own_support, view_agreement
from dmac.solvers.spectral_model import Features, SpectralModel, Stage, with_ballot
from dmac.votes import ballot, learned_map, n_columns, voters
from experiments.ideas.refinement import FORMS, Targets, refine, soft_assignments


@documented
@dataclass(frozen=True)
class SpectralIdea(SpectralRecipe):
    """CLOSED_FORM_2026_11, in which views weigh the same, with anchors that learn."""

    solver: ClassVar[str] = "experiments.ideas.spectral_ideas:SpectralIdeaSolver"

    refinement: str = choice(
        "none",
        one_of("none", *(form for forms in FORMS.values() for form in forms)),
        """
        What trains the anchors of the first graph, or noise on them, after its eigenvectors are
        known.""",
    )
    refinement_steps: int = choice(10, at_least(1), "Steps of that training.")

    def __post_init__(self):
        super().__post_init__()
        if self.view_weight != "equal":
            raise ValueError(
                f"recipe field view_weight is {self.view_weight!r}, but ideas have views of equal "
                "weight: start from CLOSED_FORM_2026_11"
            )
        if self.refinement != "none" and not self.vote_rounds:
            raise ValueError(
                f"recipe field refinement is {self.refinement!r}, which needs vote_rounds above 0: "
                "the refined anchors stand in the graph of the votes"
            )


def idea_of(recipe, **changes):
    """A `SpectralIdea` that is a recipe with other values in some fields."""
    fields = {f.name: getattr(recipe, f.name) for f in dataclasses.fields(recipe)}
    return SpectralIdea(**fields | changes)


class SpectralIdeaSolver(SpectralSolver):
    """The spectral solver, where something is trained between its first graph and its votes."""

    def solve(self, prepared, n_clusters, n_anchors, generator, watch=UNWATCHED):
        recipe, views, c = self.recipe, prepared.views, n_clusters
        widths = [pipeline.widths_ for pipeline in prepared.pipelines]
        spreads = [pipeline.spread_ for pipeline in prepared.pipelines]
        blocks, v = blocks_of(views, widths, spreads, recipe), len(views)
        weights, features = [block.weight for block in blocks], Features(views)
        count = n_columns(parallel.count(len(views[0])), c, recipe)

        sets, factors = draw_graphs(blocks, v, recipe, n_anchors, generator)
        graph = first = AveragedGraph(factors, weights)
        base, stages, outcomes, ballots = first.rows, [], [], []
        u = values = None
        for i in range(recipe.vote_rounds + 1):
            if i:
                sets, ballots = None, []
                if i == 1 and recipe.refinement != "none":
                    drawn = self.refined(outcomes[0], factors, blocks, v, n_anchors, generator)
                    sets, refined = zip(*drawn)
                    base = average(refined, weights)
                voted = [base]
                for voter in voters(recipe):
                    learned = None
                    if voter == "learned":
                        learned = learned_map(features, graph, c, recipe.vote_ridge)
                    rows = ballot(voter, u, values, features, learned, c, recipe)
                    beside = with_ballot(blocks, rows)
                    of_voter, votes = draw_graphs(
                        beside, v, recipe, n_anchors, generator, voting=True
                    )
                    ballots.append((of_voter, learned))
                    voted.append(average(votes, weights))
                graph = AveragedGraph(voted, [1] * len(voted))
            values, lift = graph.eigenpairs(count)
            stages.append(Stage(sets and list(sets), ballots, values, lift))
            u = graph.rows @ lift
            if not i:
                agreement = view_agreement(u[:, 1:c], graph, factors, blocks, v)
            if i in (0, recipe.vote_rounds):
                outcomes.append(self.cluster(u, values, c, generator))
        taken, stabilities = self.guard(first, outcomes)
        if recipe.vote_rounds and not taken:
            stages = stages[:1]
        support = own_support(outcomes[taken][1].labels_, factors, blocks, v)
        about = recipe, c, widths, spreads, stages, stabilities, agreement
        model = SpectralModel(*about, support=support)
        return self.outcome(model, first, outcomes[taken], prepared)

    def refined(self, outcome, factors, blocks, n_views, n_anchors, generator):
        """Anchor sets and factors of blocks whose anchors the outcome without votes trains."""
        recipe = self.recipe
        if parallel.shards():
            raise ValueError(
                f"refinement={recipe.refinement!r} needs all samples in one process: "
                "fit without shards"
            )
        z, clusters = outcome
        like = blocks[0].x
        rows = torch.as_tensor(z).to(like)
        shares = soft_assignments(rows, torch.as_tensor(clusters.cluster_centers_).to(like))
        carried = [
            block.weight
            * torch.as_tensor(AveragedGraph([factor], [1]) @ shares.double().cpu().numpy())
            for block, factor in zip(blocks, factors)
        ]
        k = recipe.n_neighbors
        for block in blocks:
            others = [
                part
                for other, part in zip(blocks, carried)
                if len(blocks) == 1 or _apart(block, other)
            ]
            others = sum(others, start=others[0].new_zeros(())).to(like)
            others = others / others.sum(1, keepdim=True).clamp_min(1e-12)
            whole, _ = whole_samples(block.x, block.widths, k)
            at = slice(None) if whole is None else whole
            targets = Targets(rows[at], shares[at], others[at])
            drawn = []
            for _ in range(n_sets(block, n_views, recipe, False)):
                (draw,), compared, used = set_draws(
                    block.x, 1, n_anchors, recipe.anchor_iterations, k, generator, block.widths
                )
                form, steps = recipe.refinement, recipe.refinement_steps
                u = refine(block.x[at], draw(), k, form, targets, steps, generator)
                drawn.append((u, graph_on(block.x, u, k, compared)))
            yield joined_sets(drawn, used)


def _apart(block, other):
    """Whether no view is in both, or else both hold all of them."""
    if block.joint:
        return True
    return not other.joint and block.name.split()[1] != other.name.split()[1]
