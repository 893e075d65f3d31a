"""The closed form with anchors that learn (:mod:`experiments.ideas.refinement`).

The record of the evidence derives and measures them.
"""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import torch

from dmac._parameters import at_least, choice, documented, one_of
from dmac.agc.anchor_sets import (
    Drawn,
    deferred_sets,
    graph_on,
    joined_sets,
    n_sets,
    whole_samples,
)
from dmac.agc.averaged_graph import AveragedGraph
from dmac.agc.solver import SpectralSolver
from dmac.recipes import SpectralRecipe
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


class SpectralIdeaSolver(SpectralSolver):
    """The spectral solver, where something is trained between its first graph and its votes."""

    def voted(self, fit, drawn, graph, first):
        if self.recipe.refinement == "none":
            return super().voted(fit, drawn, graph, first)
        refined = list(self.refined(fit, drawn, first))
        stages, last = super().voted(fit, refined, graph, first)
        stages[1] = dataclasses.replace(stages[1], base=[one.sets for one in refined])
        return stages, last

    def refined(self, fit, drawn, first):
        """The blocks with other anchor sets, whose anchors the outcome without votes trains."""
        recipe, k, generator = self.recipe, self.recipe.n_neighbors, fit.generator
        like = drawn[0].block.x
        rows = torch.as_tensor(first.z).to(like)
        shares = soft_assignments(rows, torch.as_tensor(first.clusters.cluster_centers_).to(like))
        of_shares = shares.double().cpu().numpy()
        carried = [
            one.block.weight * torch.as_tensor(AveragedGraph(one.factor) @ of_shares)
            for one in drawn
        ]
        for block in (one.block for one in drawn):
            others = [
                part
                for other, part in zip(drawn, carried)
                if len(drawn) == 1 or _apart(block, other.block)
            ]
            others = sum(others, start=others[0].new_zeros(())).to(like)
            others = others / others.sum(1, keepdim=True).clamp_min(1e-12)
            whole, _ = whole_samples(block.x, block.widths, block.present, k)
            at = slice(None) if whole is None else whole
            targets = Targets(rows[at], shares[at], others[at])
            sets = []
            for _ in range(n_sets(block, len(fit.prepared.views), recipe, False)):
                about = recipe.anchor_iterations, k, generator, block.widths, block.present
                (draw,), widths = deferred_sets(block.x, 1, fit.plan.n_anchors, *about)
                form, steps = recipe.refinement, recipe.refinement_steps
                u = refine(block.x[at], draw()[0], k, form, targets, steps, generator)
                sets.append((u, graph_on(block.x, u, k, widths, block.present)))
            yield Drawn(block, *joined_sets(sets, widths))


def _apart(block, other):
    """Whether no view is in both, or else both hold all of them."""
    return block.view is None or other.view not in (None, block.view)
