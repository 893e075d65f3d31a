"""The solver of :class:`dmac.recipes.SpectralRecipe`: averaged graphs, a filter, guarded votes.

Chapter 12 of the book derives the recipe, chapter 13 measures it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from sklearn.cluster import KMeans
from torch import Tensor

from dmac._types import Array, Flags, Matrix
from dmac.agc.anchor_sets import AnchorSets, Drawn, draw_graphs
from dmac.agc.averaged_graph import AveragedGraph, average, averaged
from dmac.agc.blocks import (
    Block,
    beside,
    blocks_of,
    given_weights,
    joint_blocks,
    side_by_side,
    single_view_blocks,
)
from dmac.agc.completion import (
    Completion,
    fit_completion,
    is_needed,
    warn_of_patterns,
    with_graphs,
)
from dmac.agc.membership import link_ends, memberships
from dmac.agc.model import Ballot, SpectralModel, Stage
from dmac.agc.support import view_agreement, view_support, view_weights, warn_of_one_view
from dmac.agc.votes import (
    association,
    ballot,
    filtered,
    learned_map,
    markov_stability,
    n_columns,
    ratio_rows,
    voters,
)
from dmac.anchors import n_anchors_for
from dmac.compute.files import built, tree_of
from dmac.compute.kmeans import kmeans
from dmac.compute.progress_bar import announce
from dmac.data.levels import LEVELS, SCALED_COLUMNS, LevelPipeline
from dmac.solvers.contract import (
    Outcome,
    Plan,
    Prepared,
    Solver,
    check_anchors,
    check_clusters,
)

# The cut replaces the filter if its gap to the Ky Fan bound (plus _LITTLE), times 1 - lambda_c, is
# below _LACKING times the filter's gap, times 1 - lambda_(c+1). On 66 data sets the ratio is at
# least 0.26, and at least 0.35 on all but one.
_LACKING, _LITTLE = 0.22, 0.01

# A walk on a part's graph that remembers less of where it began says nothing about a linear map. It
# does on fifty noisy clusters (0.0008), and remembers 0.09 or more of a quarter of the real sets.
_MIN_STABILITY = 0.01


@dataclass(frozen=True)
class Fit:
    """The state of a fit; `SpectralSolver.ready` makes the last six fields.

    Attributes
    ----------
    prepared : dmac.solvers.contract.Prepared
    plan : dmac.solvers.contract.Plan
    generator : torch.Generator
        Draws all that is random, step after step.
    views : list of v tensors of shape (n, r_a)
        Prepared, and what is missing filled in, if it is.
    present : numpy.ndarray of shape (n, v), bool
        Which samples have which views; a view that none has says nothing, and counts as present.
    blocks : list of dmac.agc.blocks.Block
        In which anchor sets are still to be drawn.
    single : list of dmac.agc.anchor_sets.Drawn
        Of single views, where they had to be drawn before.
    weights : numpy.ndarray of shape (v,) or None
        Of the views; None if they are equal.
    completion : dmac.agc.completion.Completion or None
        What has filled in.
    """

    prepared: Prepared
    plan: Plan
    generator: torch.Generator
    views: Sequence[Tensor]
    present: Flags
    blocks: list[Block]
    single: Sequence[Drawn] = ()
    weights: Array | None = None
    completion: Completion | None = None

    def draw(self, blocks: Sequence[Block], voting: bool = False) -> list[Drawn]:
        """Anchor sets and graphs of some blocks."""
        about = len(self.views), self.plan.recipe, self.plan.n_anchors, self.generator
        return draw_graphs(blocks, *about, voting)

    def clustered(self, spectrum: Spectrum) -> Clustered:
        """A spectrum with the k-means of its rows."""
        seed = int(torch.randint(2**31 - 1, (), generator=self.generator))
        found = kmeans(spectrum.z, self.plan.n_clusters, seed, n_init=self.plan.recipe.final_n_init)
        return Clustered(spectrum.stage, spectrum.u, spectrum.z, found)


@dataclass(frozen=True)
class Spectrum:
    """The leading eigenvectors of one graph of a fit.

    Attributes
    ----------
    stage : dmac.agc.model.Stage
        What new samples need of it.
    u : numpy.ndarray of shape (n, K)
        Eigenvectors, times the roots of the samples' shares.
    z : numpy.ndarray of shape (n, d)
        What k-means sees: filtered rows, or those of the cut.
    """

    stage: Stage
    u: Array
    z: Array


@dataclass(frozen=True)
class Clustered(Spectrum):
    """A `Spectrum` with its clusters."""

    clusters: KMeans


class SpectralSolver(Solver):
    """Eigenvectors of the views' averaged graph, weighed by a filter, then k-means; no epochs.

    Parameters
    ----------
    recipe : dmac.recipes.SpectralRecipe
    """

    takes_incomplete = True
    takes_lazy = True

    def plan(self, n_samples: int, widths: Sequence[int], n_clusters: int) -> Plan:
        """The plan of a fit: of all samples, or of ``fit_samples`` of more; others are refused.

        Where m is free and too small for k, its recipe is one for so few samples: k + 1 anchors, or
        all n samples and n - 1 neighbours. The work is that of two Lloyd steps and of the graph,
        all sets; steps are the graphs, the eigenvectors and every round of votes.
        """
        recipe, n = self.recipe, n_samples
        check_clusters(n, n_clusters)
        if recipe.fit_samples is not None:
            n = min(n, max(recipe.fit_samples, recipe.fit_of_cluster * n_clusters))
            check_clusters(n, n_clusters)
        m = recipe.n_anchors
        if m is None:
            m = n_anchors_for(n, n_clusters, recipe.anchor_factor, recipe.anchor_share)
            if m <= recipe.n_neighbors:
                if n < 2 * n_clusters:
                    fewer = f", or ask for at most {n // 2} clusters" if n >= 4 else ""
                    raise ValueError(
                        f"{n} samples are too few for n_clusters = {n_clusters}: of so few pass "
                        f"at least two a cluster, {2 * n_clusters}{fewer}"
                    )
                m = min(n, recipe.n_neighbors + 1)
                recipe = replace(recipe, n_anchors=m, n_neighbors=m - 1)
        check_anchors(n, m, recipe.n_neighbors)
        if len(widths) != len(weights := given_weights(recipe, len(widths))):
            raise ValueError(
                f"view_weight has {len(weights)} weights, and there are {len(widths)} views"
            )
        most = max(1, round(recipe.components * n_clusters))
        columns = [most, recipe.plain_components]
        columns += [SCALED_COLUMNS] * ("scaled" in LEVELS[recipe.levels])
        return Plan(
            recipe=recipe,
            n_clusters=n_clusters,
            n_fitted=n,
            n_anchors=m,
            pipelines=[
                LevelPipeline(
                    recipe.root,
                    recipe.levels,
                    most if recipe.components else None,
                    recipe.whitening_ridge,
                    recipe.plain_components,
                    recipe.columns,
                    n_clusters=n_clusters,
                    scaled_components=recipe.scaled_components,
                    halves=recipe.level_weight == "halves",
                )
                for _ in widths
            ],
            work=3 * m * sum(min(w, r) for w in widths for r in columns) * recipe.anchor_sets,
            n_steps=2 + recipe.vote_rounds,
        )

    def solve(
        self,
        prepared: Prepared,
        plan: Plan,
        generator: torch.Generator,
    ) -> Outcome:
        r"""Cluster prepared views by the eigenvectors of their averaged graph.

        1. Anchor sets in every block, and the averaged graph G
           (:mod:`dmac.agc.averaged_graph`).
        2. The leading eigenvectors of G, weighed by the filter; unit rows; k-means.
        3. Rounds of votes (:mod:`dmac.agc.votes`): graphs of the blocks with a ballot
           beside them join G in equal parts, and step 2 is done again on that.
        4. The guard: labels with votes are taken if their Markov stability on G is at least
           ``guard`` times that of the labels without.
        5. The cut at c eigenvectors takes their place where they lose small groups that it keeps
           (`rare_groups`).
        """
        announce("graphs")
        fit = self.ready(prepared, plan, generator)
        drawn = [*fit.draw(fit.blocks), *fit.single]
        announce("eigenvectors")
        graph = AveragedGraph(averaged(drawn))
        first = fit.clustered(self.eigen(fit, graph, [item.sets for item in drawn], []))
        stages, last = self.voted(fit, drawn, graph, first)
        return self.outcome(fit, drawn, graph, stages, first, last)

    def ready(self, prepared: Prepared, plan: Plan, generator: torch.Generator) -> Fit:
        """Weigh the views by the graphs of each alone, and fill in what samples lack, if needed."""
        recipe, pipelines = self.recipe, prepared.pipelines
        v = len(pipelines)
        given = prepared.present
        fit = Fit(
            prepared=prepared,
            plan=plan,
            generator=generator,
            views=prepared.views,
            present=given | ~given.any(0),
            blocks=blocks_of(prepared.views, pipelines, recipe, present=given),
        )
        fills = self.completes(fit.present)
        if not (fills or self.weighs(v)):
            return fit
        enough = with_graphs(fit.present, recipe.n_neighbors) if fills else np.ones(v, bool)
        single = fit.draw(single_view_blocks(fit.blocks, enough))
        if self.weighs(v):
            weights = view_weights(single, v, plan.n_clusters)
            blocks = blocks_of(fit.views, pipelines, recipe, weights, given)
            fit = replace(fit, blocks=blocks, weights=weights)
            weighed = single_view_blocks(blocks, enough)
            single = [replace(item, block=block) for block, item in zip(weighed, single)]
        if fills:
            completion, views = self.filled(fit, single, enough)
            blocks = blocks_of(views, pipelines, recipe, fit.weights, np.ones_like(given))
            fit = replace(fit, views=views, blocks=blocks, completion=completion)
        return replace(fit, blocks=joint_blocks(fit.blocks), single=single)

    def filled(
        self, fit: Fit, single: list[Drawn], enough: Flags
    ) -> tuple[Completion, list[Tensor]]:
        """The completion, fitted on the graphs of single views, and the views filled in by it."""
        spectrum = self.eigen(fit, AveragedGraph(averaged(single)), [], [])
        widths = [pipeline.widths_[0] for pipeline in fit.prepared.pipelines]
        directions, maps = fit_completion(
            fit.views, widths, fit.present, spectrum.z, fit.plan.n_clusters
        )
        completion = Completion(
            values=spectrum.stage.values,
            lift=spectrum.stage.lift,
            directions=directions,
            maps=maps,
            own=enough,
            silent=np.asarray(~fit.prepared.present.any(0)),
        )
        return completion, completion.filled(fit.views, fit.present, spectrum.z)

    def eigen(
        self,
        fit: Fit,
        graph: AveragedGraph,
        base: list[AnchorSets],
        ballots: list[Ballot],
    ) -> Spectrum:
        """The leading eigenvectors of a graph, weighed by the filter."""
        c = fit.plan.n_clusters
        values, lift = graph.eigenpairs(n_columns(len(graph.shares), c, self.recipe))
        u = graph.to_samples(lift)
        z = filtered(u, values, c, self.recipe)
        return Spectrum(Stage(values, lift, base, ballots), u, z)

    def voted(
        self, fit: Fit, drawn: Sequence[Drawn], graph: AveragedGraph, first: Clustered
    ) -> tuple[list[Stage], Clustered]:
        """The stages of the first graph, and of those in which votes join that of ``drawn``.

        And the last spectrum: rounds in between need no clusters.
        """
        base = averaged(drawn)
        blocks = [item.block for item in drawn]
        features = side_by_side(fit.views, self.recipe)
        stages = [first.stage]
        last: Spectrum = first
        for i in range(self.recipe.vote_rounds):
            announce(f"votes {i + 1}")
            cast = [
                self.vote(fit, blocks, voter, features, graph, last)
                for voter in voters(self.recipe)
            ]
            factors, ballots = [base, *(factor for factor, _ in cast)], [vote for _, vote in cast]
            graph = AveragedGraph(average(factors, [1] * len(factors)))
            del cast, factors  # which are as large as the graph
            last = self.eigen(fit, graph, [], ballots)
            stages.append(last.stage)
        return stages, first if last is first else fit.clustered(last)

    def vote(
        self,
        fit: Fit,
        blocks: Sequence[Block],
        voter: str,
        features: Array,
        graph: AveragedGraph,
        last: Spectrum,
    ) -> tuple[Matrix, Ballot]:
        """The graph of all blocks with a ballot beside them, and what new samples need of it."""
        recipe, c = self.recipe, fit.plan.n_clusters
        learns = voter == "learned"
        learned = learned_map(features, graph, c, recipe.vote_ridge) if learns else None
        said = ballot(voter, last.u, last.stage.values, features, learned, c, recipe)
        votes = fit.draw(beside(blocks, said), voting=True)
        return averaged(votes), Ballot([item.sets for item in votes], learned)

    def outcome(
        self,
        fit: Fit,
        drawn: Sequence[Drawn],
        graph: AveragedGraph,
        stages: list[Stage],
        first: Clustered,
        last: Clustered,
    ) -> Outcome:
        """Labels of the spectrum that the guard takes, or of the cut, and the model that places."""
        prepared = fit.prepared
        c = fit.plan.n_clusters
        both = [first] if last is first else [first, last]
        taken, stabilities = self.guard(graph, [spectrum.clusters.labels_ for spectrum in both])
        rare = self.rare_groups(fit, graph, first, both[taken].clusters.labels_)
        end = rare or both[taken]
        labels = end.clusters.labels_
        v = len(prepared.views)
        model = SpectralModel(
            recipe=self.recipe,
            n_clusters=c,
            pipelines=prepared.pipelines,
            stages=stages if taken and not rare else stages[:1],
            ends=link_ends(graph, labels, c),
            stabilities=tuple(stabilities),
            agreement=view_agreement(first.u[:, 1:c], graph, drawn, v),
            support=view_support(labels, drawn, v),
            missing=(~fit.present).sum(0),
            completion=fit.completion,
            weights=fit.weights,
            cut=rare is not None,
        )
        titles = [x.where for x in prepared.sources]
        warn_of_one_view(model.support, titles)
        warn_of_patterns(fit.present, labels, c, self.recipe.n_neighbors, titles)
        shares = memberships(graph.rows, model.ends)
        if prepared.is_part:
            model = self.of_part(fit, model, graph, end)
        anchors = _anchor_means(graph, end.z, drawn[0].sets.u.shape[1])
        kind = torch.empty(0, dtype=prepared.dtype).numpy().dtype
        z, anchors, shares = (x.astype(kind) for x in (end.z, anchors, shares))
        centers = end.clusters.cluster_centers_
        return Outcome(labels, z, anchors, centers, model, membership=shares)

    def completes(self, present: Flags) -> bool:
        """Whether what is missing is filled in: too few samples are whole, and a view has enough.

        ``blocks="joint"`` and ``"views"`` are ablations, and take the samples as they are.
        """
        several = sum(map(bool, given_weights(self.recipe, present.shape[1]))) > 1
        both = self.recipe.blocks == "both" and several
        single = with_graphs(present, self.recipe.n_neighbors)
        return both and is_needed(present) and bool(single.any())

    def weighs(self, n_views: int) -> bool:
        """Whether views count as the others support them: of two, each supports the other alike.

        ``blocks="joint"`` and ``"views"`` are ablations, in which they count the same.
        """
        return self.recipe.view_weight == "support" and n_views > 2 and self.recipe.blocks == "both"

    def guard(self, graph: AveragedGraph, labels: Sequence[Array]) -> tuple[int, list[float]]:
        """Which labels (n,) are taken, those without votes (0) or with them; and their stability.

        ``graph`` is the one without votes; where there are no others, the first are taken.
        """
        stable = [markov_stability(graph, found, self.recipe.guard_time) for found in labels]
        return int(len(stable) > 1 and stable[1] >= self.recipe.guard * stable[0]), stable

    def rare_groups(
        self, fit: Fit, graph: AveragedGraph, first: Spectrum, labels: Array
    ) -> Clustered | None:
        r"""The first graph with the cut, where ``labels`` lose groups that it keeps; else None.

        A group of few samples has an eigenvector of its own, but the filter's rows of unit length
        leave no more of it than of noise in a large group. Two things tell: the association of the
        cut is much nearer to its bound (:func:`dmac.agc.votes.association`), and a gap
        follows the eigenvectors that it takes.
        """
        c, values = fit.plan.n_clusters, first.stage.values
        bound = values[1:c].sum() / (c - 1)
        before, after = 1 - values[min(c, len(values)) - 1], 1 - values[min(c, len(values) - 1)]
        most = _LACKING * after * (bound - association(graph, labels, c))
        if self.recipe.filter == "cut" or _LITTLE * before >= most:
            return None
        z = ratio_rows(graph.to_samples(first.stage.lift[:, :c]))
        cut = fit.clustered(replace(first, z=z))
        lacks = bound - association(graph, cut.clusters.labels_, c)
        return None if (lacks + _LITTLE) * before >= most else cut

    def of_part(
        self, fit: Fit, model: SpectralModel, graph: AveragedGraph, end: Clustered
    ) -> SpectralModel:
        """The model that places samples, with a linear map unless the guard refuses it."""
        model = model.of_part(fit.prepared.views, end.z)
        features = side_by_side(fit.prepared.views, self.recipe)
        labels = end.clusters.predict(model.with_linear(end.z, features))
        taken, stable = self.guard(graph, [end.clusters.labels_, labels])
        return model if taken or stable[0] < _MIN_STABILITY else replace(model, linear=None)

    def restore(
        self,
        state: dict[str, Tensor],
        pipelines: list[LevelPipeline],
        n_clusters: int,
        device: torch.device,
        dtype: torch.dtype,
    ) -> SpectralModel:
        """A model from what it stored."""
        given = {"recipe": self.recipe, "n_clusters": n_clusters, "pipelines": pipelines}
        tensor = functools.partial(torch.as_tensor, device=device, dtype=dtype)
        return built(SpectralModel, tree_of(state) | given, tensor)


def _anchor_means(graph: AveragedGraph, z: Array, m: int) -> Array:
    """Means of the samples of the first anchor set: (n, K) -> (m, K)."""
    sums = graph.rows[:, :m].T @ np.column_stack([z, np.ones(len(z))])
    return sums[:, :-1] / np.maximum(sums[:, -1:], np.finfo(float).tiny)
