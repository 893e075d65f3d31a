"""The solver of :class:`dmac.recipes.SpectralRecipe`: averaged graphs, a filter, guarded votes.

Chapter 12 of the book derives the recipe, chapter 13 measures it.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import torch

from dmac._warn import warn
from dmac.anchors import n_anchors_for
from dmac.averaged_graph import (
    AveragedGraph,
    average,
    blocks_of,
    draw_graphs,
    memberships,
    own_blocks,
)
from dmac.completion import (
    Completion,
    fit_completion,
    is_needed,
    present_views,
    silent_views,
    warn_of_patterns,
    with_graphs,
)
from dmac.compute import parallel
from dmac.compute.kmeans import kmeans
from dmac.compute.progress_bar import announce
from dmac.data.levels import LevelPipeline
from dmac.solvers.contract import UNWATCHED, Outcome, check_anchors, check_clusters
from dmac.solvers.spectral_model import SpectralModel, Stage, side_by_side, with_ballot
from dmac.votes import (
    association,
    ballot,
    filtered,
    learned_map,
    markov_stability,
    n_columns,
    ratio_rows,
    voters,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sklearn.cluster import KMeans
    from torch import Tensor

    from dmac._types import Array, Flags, Matrix
    from dmac.averaged_graph import AnchorSets, Block
    from dmac.recipes import SpectralRecipe
    from dmac.solvers.contract import Prepared, Watch

# Where one view decides alone: its own graph supports the clusters at least so far, and no other
# view's so far. In generated data in which random categories took over, the other views had 0.10 at
# most; on the book's sixteen data sets the second view has 0.22 at least.
_ALONE, _CHANCE = 0.4, 0.1
# What an outcome has beside its model.
_ARRAYS = ("labels", "z", "anchors", "centers", "membership")

# Where the cut is taken: what it lacks of the bound, and a little, times 1 - lambda_c, is below so
# much of what the filter lacks, times 1 - lambda_(c+1). On the 66 data sets at hand it is 0.26 at
# least, and 0.35 on all but one.
_LACKING, _LITTLE = 0.22, 0.01


class SpectralSolver:
    """Eigenvectors of the views' averaged graph, weighed by a filter, then k-means; no epochs.

    Parameters
    ----------
    recipe : dmac.recipes.SpectralRecipe
    """

    epochs: dict[str, int] = {"PretrainRecord": 0, "EpochRecord": 0}  # noqa: RUF012
    takes_incomplete = True

    def __init__(self, recipe: SpectralRecipe) -> None:
        self.recipe = recipe

    @property
    def stages(self) -> int:
        """Graphs, eigenvectors and every round of votes."""
        return 2 + self.recipe.vote_rounds

    def n_fitted(self, n_samples: int, n_clusters: int) -> int:
        """All samples, or ``fit_samples`` of more."""
        check_clusters(n_samples, n_clusters)
        most, more = self.recipe.fit_samples, self.recipe.fit_of_cluster * n_clusters
        return n_samples if most is None else min(n_samples, max(most, more))

    def check(self, n_samples: int, n_clusters: int) -> int:
        """Check c, m and k against n samples; return m.

        Where m is free and too small for k, the recipe becomes one for so few samples: k + 1
        anchors, or all n samples and n - 1 neighbours.
        """
        recipe, n, c = self.recipe, n_samples, n_clusters
        check_clusters(n, c)
        m, k = recipe.n_anchors, recipe.n_neighbors
        if m is None:
            m = n_anchors_for(n, c, recipe.anchor_factor, recipe.anchor_share)
            if m <= k:
                if n < 2 * c:
                    fewer = f", or ask for at most {n // 2} clusters" * (n >= 4)
                    raise ValueError(
                        f"{n} samples are too few for n_clusters = {c}: pass at least two a "
                        f"cluster, {2 * c}{fewer}"
                    )
                m = min(n, k + 1)
                self.recipe = dataclasses.replace(recipe, n_anchors=m, n_neighbors=m - 1)
        check_anchors(n, m, self.recipe.n_neighbors)
        return m

    def work(self, n_samples: int, widths: Sequence[int], n_anchors: int, n_clusters: int) -> int:
        """Multiplications of two Lloyd steps and of the graph, all sets."""
        recipe = self.recipe
        components = max(1, round(recipe.components * n_clusters))
        widths = [min(w, components) + min(w, recipe.plain_components) for w in widths]
        return 3 * n_samples * n_anchors * sum(widths) * recipe.anchor_sets

    def pipelines(self, n_views: int, n_clusters: int) -> list[LevelPipeline]:
        """One a view, with the levels of the recipe."""
        recipe = self.recipe
        width = max(1, round(recipe.components * n_clusters)) if recipe.components else None
        return [
            LevelPipeline(
                recipe.root, recipe.levels, width, recipe.whitening_ridge, recipe.plain_components
            )
            for _ in range(n_views)
        ]

    def solve(
        self,
        prepared: Prepared,
        n_clusters: int,
        n_anchors: int,
        generator: torch.Generator,
        watch: Watch = UNWATCHED,
    ) -> Outcome:
        r"""Cluster prepared views by the eigenvectors of their averaged graph.

        1. Anchor sets in every block, and the averaged graph G (:mod:`dmac.averaged_graph`).
        2. The leading eigenvectors of G, weighed by the filter; unit rows; k-means.
        3. Rounds of votes (:mod:`dmac.votes`): graphs of the blocks with a ballot beside them join
           G in equal parts, and step 2 is done again on that.
        4. The guard: labels with votes are taken if their Markov stability on G is at least
           ``guard`` times that of the labels without.
        5. The cut at c eigenvectors takes their place where they lose small groups that it keeps
           (`rare_groups`).

        Of several processes the first does that, and the others get what it has found.
        """
        about = prepared, n_clusters, n_anchors, generator
        if parallel.shards() is None:
            return self._solve(*about)
        tensors: dict[str, Tensor] = {}
        if parallel.my_rank() == 0:
            with parallel.alone():
                outcome = self._solve(*about)
            tensors = {name: torch.as_tensor(getattr(outcome, name)) for name in _ARRAYS}
            tensors |= outcome.model.state_dict()
        tensors = parallel.from_first(tensors)
        arrays = {name: tensors.pop(name).numpy() for name in _ARRAYS}
        like = prepared.device, prepared.dtype
        model = self.restore(tensors, prepared.pipelines, n_clusters, *like)
        return Outcome(model=model, **arrays)

    def _solve(
        self, prepared: Prepared, n_clusters: int, n_anchors: int, generator: torch.Generator
    ) -> Outcome:
        recipe, views, c = self.recipe, prepared.views, n_clusters
        widths = [pipeline.widths_ for pipeline in prepared.pipelines]
        spreads = [pipeline.spread_ for pipeline in prepared.pipelines]
        blocks, v = blocks_of(views, widths, spreads, recipe), len(views)
        count = n_columns(len(views[0]), c, recipe)
        present, completion, of_views = present_views(views), None, None

        announce("graphs")
        if self.completes(blocks, present) or self.weighs(v):
            completion, of_views, views, blocks, sets, factors = self.own_first(
                blocks, present, prepared, c, n_anchors, generator
            )
        else:
            sets, factors = draw_graphs(blocks, v, recipe, n_anchors, generator)
        weights = [block.weight for block in blocks]
        graph = first = AveragedGraph(factors, weights)
        announce("eigenvectors")
        values, lift = graph.eigenpairs(count)
        u = graph.to_samples(lift)
        stages, found = [Stage(sets, [], values, lift)], [self.cluster(u, values, c, generator)]
        agreement = view_agreement(u[:, 1:c], graph, factors, blocks, v)
        for i in range(recipe.vote_rounds):
            announce(f"votes {i + 1}")
            ballots, voted, features = [], [first.rows], side_by_side(views)
            for voter in voters(recipe):
                learned = None
                if voter == "learned":
                    learned = learned_map(features, graph, c, recipe.vote_ridge)
                rows = ballot(voter, u, values, features, learned, c, recipe)
                beside = with_ballot(blocks, rows)
                sets, votes = draw_graphs(beside, v, recipe, n_anchors, generator, voting=True)
                ballots.append((sets, learned))
                voted.append(average(votes, weights))
            graph = AveragedGraph(voted, [1] * len(voted))
            values, lift = graph.eigenpairs(count)
            u = graph.to_samples(lift)
            stages.append(Stage(None, ballots, values, lift))
        if recipe.vote_rounds:
            found.append(self.cluster(u, values, c, generator))
        taken, stabilities = self.guard(first, found)
        rare = self.rare_groups(first, stages[0], found[taken][1].labels_, c, generator)
        if rare is not None:
            taken, found = 0, [rare]
        support = own_support(found[taken][1].labels_, factors, blocks, v)
        titles = [pipeline.title for pipeline in prepared.pipelines]
        warn_of_one_view(support, titles)
        warn_of_patterns(present, found[taken][1].labels_, c, recipe.n_neighbors, titles)
        model = SpectralModel(
            recipe,
            c,
            widths,
            spreads,
            stages if taken else stages[:1],
            stabilities,
            agreement,
            support=support,
            missing=(~present).sum(0),
            completion=completion,
            weights=of_views,
            cut=rare is not None,
            ends=first.ends(found[taken][1].labels_, c),
        )
        return self.outcome(model, first, found[taken], prepared)

    def completes(self, blocks: Sequence[Block], present: Flags) -> bool:
        """Whether what is missing is filled in: too few samples are whole, and a view has enough.

        ``blocks="joint"`` and ``"views"`` are ablations, and take the samples as they are.
        """
        both, own = {block.joint for block in blocks}, with_graphs(present, self.recipe.n_neighbors)
        return len(both) == 2 and is_needed(present) and bool(own.any())

    def weighs(self, n_views: int) -> bool:
        """Whether views count as the others support them: of two, each supports the other alike.

        ``blocks="joint"`` and ``"views"`` are ablations, in which they count the same.
        """
        return self.recipe.view_weight == "support" and n_views > 2 and self.recipe.blocks == "both"

    def own_first(
        self,
        blocks: Sequence[Block],
        present: Flags,
        prepared: Prepared,
        n_clusters: int,
        n_anchors: int,
        generator: torch.Generator,
    ) -> tuple[
        Completion | None, Array | None, list[Tensor], list[Block], list[AnchorSets], list[Matrix]
    ]:
        """Draw the graphs of the single views; weigh views by them, fill in; draw those of all.

        Returns what fills in, where samples lack views, the weights of the views, where these are
        not equal, the views, their blocks (those of all views first), and the anchor sets and
        factors of these.
        """
        recipe, views, c = self.recipe, prepared.views, n_clusters
        widths = [pipeline.widths_ for pipeline in prepared.pipelines]
        spreads = [pipeline.spread_ for pipeline in prepared.pipelines]
        fills, v = self.completes(blocks, present), len(views)
        enough = with_graphs(present, recipe.n_neighbors) if fills else np.ones(v, bool)
        own = own_blocks(blocks, enough)
        sets, factors = draw_graphs(own, v, recipe, n_anchors, generator)
        weights = view_weights(factors, own, v, c) if self.weighs(v) else None
        if weights is not None:
            own = own_blocks(blocks_of(views, widths, spreads, recipe, weights), enough)
        found = None
        if fills:
            graph = AveragedGraph(factors, [block.weight for block in own])
            values, lift = graph.eigenpairs(n_columns(len(present), c, recipe))
            phi = filtered(graph.to_samples(lift), values, c, recipe)
            directions, maps = fit_completion(views, [w[0] for w in widths], present, phi, c)
            found = Completion(values, lift, directions, maps, enough, silent_views(views))
            views = found.filled(views, phi)
        every = blocks_of(views, widths, spreads, recipe, weights)
        joint = [block for block in every if block.joint]
        more, of_all = draw_graphs(joint, v, recipe, n_anchors, generator)
        return found, weights, list(views), joint + own, more + sets, of_all + factors

    def cluster(
        self, u: Array, values: Array, n_clusters: int, generator: torch.Generator
    ) -> tuple[Array, KMeans]:
        """Filtered rows (n, K), and their k-means."""
        z = filtered(u, values, n_clusters, self.recipe)
        seed = int(torch.randint(2**31 - 1, (), generator=generator))
        return z, kmeans(z, n_clusters, seed, n_init=self.recipe.final_n_init)

    def guard(
        self, graph: AveragedGraph, found: Sequence[tuple[Array, KMeans]]
    ) -> tuple[int, list[float]]:
        """Which outcome is taken, that without votes (0) or the last; and how stable each is.

        ``graph`` is the one without votes.
        """
        time = self.recipe.guard_time
        stable = [markov_stability(graph, last.labels_, time) for _, last in found]
        return int(len(found) > 1 and stable[-1] >= self.recipe.guard * stable[0]), stable

    def rare_groups(
        self,
        graph: AveragedGraph,
        stage: Stage,
        labels: Array,
        n_clusters: int,
        generator: torch.Generator,
    ) -> tuple[Array, KMeans] | None:
        r"""Rows and k-means of the cut, where ``labels`` lose groups that it keeps; else None.

        A group of few samples has an eigenvector of its own, but the filter's rows of unit length
        leave no more of it than of noise in a large group. Two things tell: the association of the
        cut is much nearer to its bound (:func:`dmac.votes.association`), and a gap follows the
        eigenvectors that it takes.
        """
        c, values = n_clusters, stage.values
        bound = values[1:c].sum() / (c - 1)
        before, after = 1 - values[min(c, len(values)) - 1], 1 - values[min(c, len(values) - 1)]
        most = _LACKING * after * (bound - association(graph, labels, c))
        if self.recipe.filter == "cut" or _LITTLE * before >= most:
            return None
        z = ratio_rows(graph.to_samples(stage.lift[:, :c]))
        seed = int(torch.randint(2**31 - 1, (), generator=generator))
        last = kmeans(z, c, seed, n_init=self.recipe.final_n_init)
        lacks = bound - association(graph, last.labels_, c)
        return (z, last) if (lacks + _LITTLE) * before < most else None

    def outcome(
        self,
        model: SpectralModel,
        graph: AveragedGraph,
        found: tuple[Array, KMeans],
        prepared: Prepared,
    ) -> Outcome:
        """What is left of the outcome that was taken; anchors are those of the first set.

        The model of a part places samples, with a linear map unless the guard refuses it, too.
        """
        z, last = found
        kind = torch.empty(0, dtype=prepared.dtype).numpy().dtype
        shares = memberships(graph.rows, model.ends).astype(kind)
        if prepared.is_part:
            model = model.of_part(prepared.views, z)
            labels = last.predict(model.voted(z, side_by_side(prepared.views)))
            stable = [
                markov_stability(graph, found, self.recipe.guard_time)
                for found in (last.labels_, labels)
            ]
            if stable[1] < self.recipe.guard * stable[0]:
                model.linear = None
        m = (model.stages[0].base or [])[0].u.shape[1]  # fewer where many samples lack a view
        anchors = _anchor_means(graph, z, m)
        parts = z.astype(kind), anchors.astype(kind), last.cluster_centers_
        return Outcome(last.labels_, *parts, model, membership=shares)

    def restore(
        self,
        state: dict[str, Tensor],
        pipelines: list[LevelPipeline],
        n_clusters: int,
        device: torch.device,
        dtype: torch.dtype,
    ) -> SpectralModel:
        """A model from what it stored."""
        widths = [pipeline.widths_ for pipeline in pipelines]
        spreads = [pipeline.spread_ for pipeline in pipelines]
        return SpectralModel.restore(state, self.recipe, n_clusters, widths, spreads, device, dtype)


def _anchor_means(graph: AveragedGraph, z: Array, m: int) -> Array:
    """Means of the samples of the first anchor set: (n, K) -> (m, K)."""
    sums = graph.rows[:, :m].T @ np.column_stack([z, np.ones(len(z))])
    return sums[:, :-1] / np.maximum(sums[:, -1:], np.finfo(float).tiny)


def view_agreement(
    u: Array, graph: AveragedGraph, factors: Sequence[Matrix], blocks: Sequence[Block], n_views: int
) -> Array:
    r"""How well each view's own graphs support eigenvectors of all; nan without blocks of its own.

    It is :math:`\mathrm{Tr}(U^T G_a U) / (c - 1)` over the leading c eigenvectors but the constant
    one, with :math:`G_a` the average of the graphs of view a: 1 where its graph supports them
    fully. A view answers for the samples that it has.

    Parameters
    ----------
    u : numpy.ndarray of shape (n, q)
        Eigenvectors times the roots of the shares.
    graph : dmac.averaged_graph.AveragedGraph
        Theirs.
    factors : list of scipy.sparse.csr_matrix
        Of the blocks.
    blocks : list of dmac.averaged_graph.Block
    n_views : int

    Returns
    -------
    numpy.ndarray of shape (v,)
    """
    found = np.zeros((n_views, 2))
    for block, factor in zip(blocks, factors):
        if not block.joint:
            found[view_of(block)] += _agreement(u, graph, AveragedGraph([factor], [1])), 1
    with np.errstate(invalid="ignore"):
        return found[:, 0] / found[:, 1]


def _agreement(u: Array, graph: AveragedGraph, own: AveragedGraph) -> float:
    """How well a view's own graph supports the eigenvectors of another: see `view_agreement`."""
    y = np.divide(u, graph.shares[:, None], out=np.zeros_like(u), where=graph.shares[:, None] > 0)
    y_own = y - own.shares @ y / max(own.shares.sum(), 1e-300)
    whole = own.shares @ (y_own**2).sum(1)
    squares = (own.to_anchors(own.shares[:, None] * y_own) ** 2).sum()
    return float(squares / max(whole, 1e-300))


def view_weights(
    factors: Sequence[Matrix], blocks: Sequence[Block], n_views: int, n_clusters: int
) -> Array:
    r"""Weights of views: how far the graphs of the others support its own, :eq:`eq:view-weight`.

    A graph of view a alone has leading eigenvectors :math:`U`, c - 1 beside the constant one. The
    graph :math:`G_b` of another view supports them by

    .. math:: s_b(U) = \frac{\mathrm{Tr}(U^T G_b U) / (c - 1) - \chi_b}{1 - \chi_b} , \qquad
        \chi_b = \frac{\mathrm{Tr}\, G_b - 1}{n - 1} ,

    1 fully and 0 no more than a random U. The support :math:`S_a` of the view is the mean over the
    graphs of all other views, and of its levels' the largest, at least 0. Its weight is

    .. math:: V_a = \frac{S_a + \delta}{\max_b S_b + \delta} , \qquad
        \delta = \sqrt{\frac{2 \bar\chi}{(v - 1)(c - 1)(n - 1)}} .

    A bound on the deviation of :math:`S_a` by chance, :math:`\delta` keeps differences that chance
    makes from deciding. Graphs of samples that are all alike, or without a step to another sample,
    neither answer nor count.

    Parameters
    ----------
    factors : list of scipy.sparse.csr_matrix
        Of the blocks.
    blocks : list of dmac.averaged_graph.Block
        Of single views.
    n_views : int
        v.
    n_clusters : int
        c.

    Returns
    -------
    numpy.ndarray of shape (v,)
        Above 0, the largest 1; all 1 where fewer than three views have a graph that counts.
    """
    graphs, of, chance = [], [], []
    for block, factor in zip(blocks, factors):
        graph = AveragedGraph([factor], [1])
        trace, n = graph.trace(), int((graph.shares > 0).sum())
        if 1e-3 < trace - 1 < 0.999 * (n - 1):
            graphs.append(graph)
            of.append(view_of(block))
            chance.append((trace - 1) / (n - 1))
    c, n = n_clusters, len(graphs[0].shares) if graphs else 0
    if len(set(of)) < 3 or c < 2:
        return np.ones(n_views)
    support = np.zeros(n_views)
    for a, graph in zip(of, graphs):
        u = graph.to_samples(graph.eigenpairs(min(c, n - 2))[1])[:, 1:]
        others = [b for b, view in enumerate(of) if view != a]
        found = [(_agreement(u, graph, graphs[b]) - chance[b]) / (1 - chance[b]) for b in others]
        support[a] = max(support[a], np.mean(found))
    least = np.sqrt(2 * np.mean(chance) / ((len(set(of)) - 1) * (c - 1) * (n - 1)))
    return (support + least) / (support.max() + least)


def view_of(block: Block) -> int:
    """The number of the view, from 0, that a block of a single view is of."""
    return int(block.name.split()[1])


def own_support(labels: Array, factors: Sequence[Matrix], blocks: Sequence[Block], v: int) -> Array:
    r"""How far each view's own graphs support the clusters: 1 fully, 0 no more than by chance.

    A step of the walk on a view's graph :math:`G_a` starts at each of the :math:`n_k` samples of
    cluster k in turn, and ends in it with the probability

    .. math:: p_k = 1_k^T G_a 1_k / n_k , \qquad s = (\textstyle\sum_k p_k - 1) / (c - 1) ,

    where s is 1 if no step leaves a cluster. Labels dealt out at random have the mean
    :math:`s_0 = (\mathrm{Tr}\, G_a - 1) / (n - 1)`, since a step may end where it began. The
    support is :math:`(s - s_0) / (1 - s_0)`, the mean over the graphs of the view. A view answers
    for the samples that it has.

    Parameters
    ----------
    labels : numpy.ndarray of shape (n,)
    factors : list of scipy.sparse.csr_matrix
        Of the blocks, without votes.
    blocks : list of dmac.averaged_graph.Block
    v : int

    Returns
    -------
    numpy.ndarray of shape (v,)
        nan for a view without graphs of its own, or whose graphs are of samples that are all alike.
    """
    indicator = np.eye(int(labels.max()) + 1)[labels]
    found = np.zeros((v, 2))
    for block, factor in zip(blocks, factors):
        if block.joint:
            continue
        graph = AveragedGraph([factor], [1])
        steps, more = graph.to_anchors(indicator), graph.trace() - 1  # of the other eigenvalues
        sizes = (graph.shares > 0) @ indicator
        c, n = np.count_nonzero(sizes), sizes.sum()
        if c < 2 or not 1e-3 < more < 0.999 * (n - 1):
            continue  # all samples are alike, or no step leads to another one
        stays = np.divide((steps**2).sum(0), sizes, out=np.zeros(len(sizes)), where=sizes > 0)
        s, chance = (stays.sum() - 1) / (c - 1), more / (n - 1)
        found[view_of(block)] += (s - chance) / (1 - chance), 1
    with np.errstate(invalid="ignore"):
        return np.minimum(found[:, 0] / found[:, 1], 1)  # weights in float32 add up to a bit more


def warn_of_one_view(support: Array, titles: Sequence[str]) -> None:
    """Warn where a view's own graph supports the clusters and that of no other view (v,) does."""
    if np.isfinite(support).sum() < 2:
        return
    first, second = np.argsort(-np.nan_to_num(support, nan=-np.inf))[:2]
    own, others = support[first], max(support[second], 0.0)
    if own >= _ALONE and others < _CHANCE:
        warn(
            f"{titles[first]} decides alone: its own graph supports the clusters by {own:.2f}, "
            f"that of no other view by more than {others:.2f} (0 is chance). Fit without it, and "
            "compare; leave it out if it says where samples come from"
        )
