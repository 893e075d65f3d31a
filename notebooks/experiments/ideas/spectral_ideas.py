"""The closed form with anchors that learn, or with a network trained on its graph.

Chapter 16 of the book derives both (:mod:`experiments.ideas.refinement`,
:mod:`experiments.ideas.trained_map`), chapter 18 measures them.
"""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import torch

from dmac._parameters import FLAG, at_least, choice, documented, one_of
from dmac.averaged_graph import (
    AveragedGraph,
    average,
    blocks_of,
    draw_graphs,
    graph_on,
    joined_sets,
    n_sets,
    rows_on,
    set_draws,
    whole_samples,
)
from dmac.recipes import SpectralRecipe
from dmac.solvers.spectral import SpectralSolver, own_support, view_agreement
from dmac.solvers.spectral_model import SpectralModel, Stage, side_by_side, with_ballot
from dmac.votes import ballot, filtered, learned_map, n_columns, unit_rows, voters
from experiments.ideas.refinement import FORMS, Targets, refine, soft_assignments
from experiments.ideas.trained_map import TrainedMap, trained_map


@documented
@dataclass(frozen=True)
class SpectralIdea(SpectralRecipe):
    """CLOSED_FORM_2026_11, in which views weigh the same, with something trained in it."""

    solver: ClassVar[str] = "experiments.ideas.spectral_ideas:SpectralIdeaSolver"

    vote_form: str = choice(
        "both",
        one_of("flat", "filtered", "learned", "both", "trained"),
        "As in a recipe; or the filtered rows, and linear functions with a trained correction.",
    )
    trained_epochs: int = choice(0, at_least(0), "Epochs of the map that is trained on the graph.")
    trained_embedding: bool = choice(
        False, FLAG, "Whether that map, and not the eigenvectors, embeds the samples in the end."
    )
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
        if (self.vote_form == "trained" or self.trained_embedding) and not self.trained_epochs:
            raise ValueError("recipe field trained_epochs is 0, but a map is to be trained")
        if self.refinement != "none" and not self.vote_rounds:
            raise ValueError(
                f"recipe field refinement is {self.refinement!r}, which needs vote_rounds above 0: "
                "the refined anchors stand in the graph of the votes"
            )


def idea_of(recipe, **changes):
    """A `SpectralIdea` that is a recipe with other values in some fields."""
    fields = {f.name: getattr(recipe, f.name) for f in dataclasses.fields(recipe)}
    return SpectralIdea(**fields | changes)


def _voters(recipe):
    return ("filtered", "trained") if recipe.vote_form == "trained" else voters(recipe)


def _ballot(voter, u, values, features, weight, c, recipe):
    if voter != "trained":
        return ballot(voter, u, values, features, weight, c, recipe)
    return recipe.vote_weight * unit_rows(weight(features))


class SpectralIdeaSolver(SpectralSolver):
    """The spectral solver, where something is trained between its first graph and its votes."""

    def _solve(self, prepared, n_clusters, n_anchors, generator):
        recipe, views, c = self.recipe, prepared.views, n_clusters
        widths = [pipeline.widths_ for pipeline in prepared.pipelines]
        spreads = [pipeline.spread_ for pipeline in prepared.pipelines]
        blocks, v = blocks_of(views, widths, spreads, recipe), len(views)
        weights, features = [block.weight for block in blocks], side_by_side(views)
        count = n_columns(len(views[0]), c, recipe)
        train = recipe.vote_ridge, recipe.trained_epochs, generator

        sets, factors = draw_graphs(blocks, v, recipe, n_anchors, generator)
        graph = first = AveragedGraph(factors, weights)
        base, trained, stages, found, ballots = first.rows, None, [], [], []
        u = values = None
        for i in range(recipe.vote_rounds + 1):
            if i:
                sets, ballots = None, []
                if i == 1 and recipe.refinement != "none":
                    drawn = self.refined(found[0], factors, blocks, v, n_anchors, generator)
                    sets, refined = zip(*drawn)
                    base = average(refined, weights)
                voted = [base]
                for voter in _voters(recipe):
                    learned = None
                    if voter == "learned":
                        learned = learned_map(features, graph, c, recipe.vote_ridge)
                    elif voter == "trained":
                        learned = trained_map(features, graph, c, *train)[0]
                    rows = _ballot(voter, u, values, features, learned, c, recipe)
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
            last = i == recipe.vote_rounds
            if last and recipe.trained_embedding:
                trained = trained_map(features, graph, count, *train)
                u, values = trained[0](features), trained[1]
            if not i or last:
                found.append(self.cluster(u, values, c, generator))
        taken, stabilities = self.guard(first, found)
        if recipe.vote_rounds and not taken:
            stages, trained = stages[:1], None
        support = own_support(found[taken][1].labels_, factors, blocks, v)
        about = recipe, c, widths, spreads, stages, stabilities, agreement
        model = SpectralIdeaModel(*about, support=support)
        model.trained = trained
        return self.outcome(model, first, found[taken], prepared)

    def refined(self, outcome, factors, blocks, n_views, n_anchors, generator):
        """Anchor sets and factors of blocks whose anchors the outcome without votes trains."""
        recipe = self.recipe
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

    def restore(self, state, pipelines, n_clusters, device, dtype):
        widths = [pipeline.widths_ for pipeline in pipelines]
        spreads = [pipeline.spread_ for pipeline in pipelines]
        return SpectralIdeaModel.restore(
            state, self.recipe, n_clusters, widths, spreads, device, dtype
        )


def _apart(block, other):
    """Whether no view is in both, or else both hold all of them."""
    if block.joint:
        return True
    return not other.joint and block.name.split()[1] != other.name.split()[1]


_PARTS = [field.name for field in dataclasses.fields(TrainedMap)]


def _map_state(name, found):
    return {f"{name}.{part}": torch.as_tensor(getattr(found, part)) for part in _PARTS}


def _map_of(name, state):
    if f"{name}.{_PARTS[0]}" not in state:
        return None
    return TrainedMap(*(state[f"{name}.{part}"].numpy() for part in _PARTS))


class SpectralIdeaModel(SpectralModel):
    """A fitted idea: refined anchors, trained votes, or a map that embeds instead of the stages."""

    trained = None

    def embed_new(self, views):
        recipe, c, features = self.recipe, self.n_clusters, side_by_side(views)
        if self.trained is not None:
            mapping, ritz = self.trained
            return torch.as_tensor(filtered(mapping(features), ritz, c, recipe))
        blocks = blocks_of(views, self.widths, self.spreads, recipe)

        def rows(blocks, sets):
            pairs = [(rows_on(s, b.x, recipe.n_neighbors), b.weight) for s, b in zip(sets, blocks)]
            return average(*zip(*pairs))

        u = values = None
        for stage in self.stages:
            if stage.base is not None:
                base = rows(blocks, stage.base)
            factors = [base]
            for voter, (sets, weight) in zip(_voters(recipe), stage.ballots):
                vote = _ballot(voter, u, values, features, weight, c, recipe)
                factors.append(rows(with_ballot(blocks, vote), sets))
            u, values = average(factors, [1] * len(factors)) @ stage.lift, stage.values
        return torch.as_tensor(filtered(u, values, c, recipe))

    def state_dict(self):
        maps, stages = {}, []
        for i, stage in enumerate(self.stages):
            ballots = []
            for a, (sets, weight) in enumerate(stage.ballots):
                if isinstance(weight, TrainedMap):
                    maps |= _map_state(f"{i}.{a}", weight)
                    weight = None
                ballots.append((sets, weight))
            stages.append(dataclasses.replace(stage, ballots=ballots))
        if self.trained is not None:
            maps |= _map_state("trained", self.trained[0])
            maps["trained.values"] = torch.as_tensor(self.trained[1].copy())
        about = self.recipe, self.n_clusters, self.widths, self.spreads, stages
        plain = SpectralModel(*about, self.stabilities, self.agreement, support=self.support)
        return plain.state_dict() | {k: v.contiguous() for k, v in maps.items()}

    @classmethod
    def restore(cls, state, *about):
        model = super().restore(state, *about)
        for i, stage in enumerate(model.stages):
            for a, (sets, weight) in enumerate(stage.ballots):
                stage.ballots[a] = sets, _map_of(f"{i}.{a}", state) or weight
        if "trained.values" in state:
            model.trained = _map_of("trained", state), state["trained.values"].numpy()
        return model
