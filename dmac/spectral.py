"""Clustering in closed form: averaged anchor graphs, a spectral filter, guarded votes. No network.

Chapter 11 of the book derives the recipe, chapter 15 measures it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from dmac.averaged_graph import AveragedGraph, average, joined_sets, set_draws
from dmac.blocks import blocks_of
from dmac.compute import parallel
from dmac.compute.kmeans import kmeans
from dmac.compute.progress_bar import announce
from dmac.compute.threads import side_by_side
from dmac.refinement import Targets, refine, soft_assignments
from dmac.spectral_filter import filtered, n_columns
from dmac.spectral_model import Features, SpectralModel, Stage, with_ballot
from dmac.trained_map import trained_map
from dmac.votes import ballot, learned_map, markov_stability, voters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from sklearn.cluster import KMeans
    from torch import Tensor

    from dmac._types import Array, Matrix
    from dmac.averaged_graph import Adjust, AnchorSets, DrawnSet
    from dmac.blocks import Block
    from dmac.recipes import Recipe
    from dmac.spectral_model import Learned
    from dmac.trained_map import TrainedMap

#: Entries of a block up to which all anchor sets are computed side by side: each copies its block.
SIDE_BY_SIDE = 2**24


@dataclass(frozen=True)
class SpectralFit:
    """What `fit_spectral` leaves, of the samples of all processes, in the order of the fit."""

    model: SpectralModel
    embedding: np.ndarray
    labels: np.ndarray
    centers: np.ndarray
    anchors: np.ndarray


def n_sets(block: Block, n_views: int, recipe: Recipe, voting: bool) -> int:
    """Anchor sets of a block: T for all views together, T / v for one; half of them in a vote."""
    t = max(1, recipe.anchor_sets // 2) if voting else recipe.anchor_sets
    return t if block.joint else max(1 if voting else min(2, t), t // n_views)


def fit_spectral(
    views: Sequence[Tensor],
    widths: Sequence[Sequence[int]],
    spreads: Sequence[float],
    n_clusters: int,
    recipe: Recipe,
    *,
    n_anchors: int,
    generator: torch.Generator,
) -> SpectralFit:
    r"""Cluster prepared views by the eigenvectors of their averaged graph.

    1. Anchor sets in every block, and the averaged graph G (:mod:`dmac.averaged_graph`).
    2. The leading eigenvectors of G, weighed by the filter; unit rows; k-means.
    3. Rounds of votes (:mod:`dmac.votes`): graphs of the blocks with a ballot beside them join G in
       equal parts, and step 2 is done again on that.
    4. The labels with votes are taken if their Markov stability on G is at least ``guard`` times
       that of the labels without.

    Beside the labels it measures how well each view agrees with the result,
    :math:`\mathrm{Tr}(U^T G_a U) / (c - 1)` over the leading c eigenvectors but the constant one,
    with :math:`G_a` the average of the graphs of view a: 1 where its graph supports them fully.

    Parameters
    ----------
    views : list of v tensors of shape (n, r_a)
        As :class:`dmac.data.levels.LevelPipeline` gives them, in random order.
    widths : list of v tuples of int
    spreads : list of v floats
    n_clusters : int
    recipe : dmac.recipes.Recipe
    n_anchors : int
    generator : torch.Generator
        On the CPU.

    Returns
    -------
    SpectralFit
    """
    c, v = n_clusters, len(views)
    n = parallel.count(len(views[0]))
    blocks = blocks_of(views, widths, spreads, recipe)
    count = n_columns(n, c, recipe)
    large = max(block.x.numel() for block in blocks) > SIDE_BY_SIDE or views[0].is_cuda

    def draw(
        blocks: Iterable[Block], voting: bool, adjust: Callable[[Block], Adjust] | None = None
    ) -> tuple[list[AnchorSets], Sequence[Matrix]]:
        def planned(block: Block) -> tuple[list[Callable[[], DrawnSet]], tuple[int, ...]]:
            return set_draws(
                block.x,
                n_sets(block, v, recipe, voting),
                n_anchors,
                0 if voting else recipe.anchor_iterations,
                recipe.n_neighbors,
                generator,
                block.widths,
                adjust and adjust(block),
            )

        if large or adjust is not None or parallel.shards():
            pairs = []
            for block in blocks:  # in order: they take memory, draw, or wait for others
                draws, used = planned(block)
                pairs.append(joined_sets([one() for one in draws], used))
                del block, draws
        else:
            plans = [planned(block) for block in blocks]
            found = iter(side_by_side([one for draws, _ in plans for one in draws]))
            pairs = [joined_sets([next(found) for _ in draws], used) for draws, used in plans]
        sets, factors = zip(*pairs)
        return list(sets), factors

    weights = [block.weight for block in blocks]
    announce("graphs")
    sets, factors = draw(blocks, False)
    graph = first = AveragedGraph(factors, weights)
    m = sets[0].u.shape[1]  # fewer than asked for where many samples lack a view
    features, base = Features(views), first.rows
    stages: list[Stage] = []
    ballots: list[tuple[list[AnchorSets], Learned]] = []
    outcomes: list[tuple[Array, KMeans]] = []
    u: Any = None  # there are eigenvectors before anything votes with them
    values: Any = None
    trained: tuple[TrainedMap, Array] | None = None
    for i in range(recipe.vote_rounds + 1):
        announce(f"votes {i}" if i else "eigenvectors")
        if i:
            sets, ballots = None, []
            if i == 1 and recipe.refinement != "none":
                adjust = _refinement(outcomes[0], factors, blocks, recipe, generator)
                sets, refined = draw(blocks, False, adjust)
                base = average(refined, weights)
            voted = [base]
            for voter in voters(recipe):
                learned = None
                if voter == "learned":
                    learned = learned_map(features, graph, c, recipe.vote_ridge)
                if voter == "trained":
                    given = c, recipe.vote_ridge, recipe.trained_epochs, generator
                    learned = trained_map(features[:], graph, *given)[0]
                rows = ballot(voter, u, values, features, learned, c, recipe)
                of_voter, votes = draw(with_ballot(blocks, rows), True)
                ballots.append((of_voter, learned))
                voted.append(average(votes, weights))
                del votes  # a graph takes some kilobytes a sample
            graph = AveragedGraph(voted, [1] * len(voted))
            del voted
        values, lift = graph.eigenpairs(count)
        stages.append(Stage(sets, ballots, values, lift))
        u = graph.rows @ lift
        if not i:
            agreement = _agreement(u[:, 1:c], graph, factors, blocks, v)
            if recipe.refinement == "none":
                factors = ()
        last = i == recipe.vote_rounds
        if last and recipe.trained_embedding:
            given = count, recipe.vote_ridge, recipe.trained_epochs, generator
            trained = trained_map(features[:], graph, *given)
            u, values = trained[0](features[:]), trained[1]
        if i == 0 or last:
            z = _gather(filtered(u, values, c, recipe))
            outcomes.append((z, _cluster(z, c, recipe, generator)))
    mine = parallel.my_rows(n)
    stabilities = [
        markov_stability(first, clusters.labels_[mine], recipe.guard_time)
        for _, clusters in outcomes
    ]
    voted = len(outcomes) > 1 and stabilities[1] >= recipe.guard * stabilities[0]
    z, clusters = outcomes[-1 if voted else 0]
    if recipe.vote_rounds and not voted:
        stages, trained = stages[:1], None
    model = SpectralModel(recipe, c, widths, spreads, stages, trained, stabilities, agreement)
    anchors = _anchor_means(first, z[mine], m)
    return SpectralFit(model, z, clusters.labels_, clusters.cluster_centers_, anchors)


def _refinement(
    outcome: tuple[Array, KMeans],
    factors: Sequence[Matrix],
    blocks: Sequence[Block],
    recipe: Recipe,
    generator: torch.Generator,
) -> Callable[[Block], Adjust]:
    """What trains the anchors of a block by the outcome without votes."""
    if parallel.shards():
        raise ValueError(
            f"refinement={recipe.refinement!r} needs all samples in one process: fit without shards"
        )
    z, clusters = outcome
    like = blocks[0].x
    rows = torch.as_tensor(z).to(like)
    shares = soft_assignments(rows, torch.as_tensor(clusters.cluster_centers_).to(like))
    carried = [
        block.weight * torch.as_tensor(AveragedGraph([factor], [1]) @ shares.double().cpu().numpy())
        for block, factor in zip(blocks, factors)
    ]

    def adjust(block: Block) -> Adjust:
        others = [
            part for other, part in zip(blocks, carried) if len(blocks) == 1 or _apart(block, other)
        ]
        others = sum(others, start=others[0].new_zeros(())).to(like)
        targets = Targets(rows, shares, others / others.sum(1, keepdim=True).clamp_min(1e-12))

        def of_set(u: Tensor, whole: Tensor | None) -> Tensor:
            at = slice(None) if whole is None else whole
            own = Targets(*(part[at] for part in vars(targets).values()))
            given = recipe.n_neighbors, recipe.refinement, own, recipe.refinement_steps, generator
            return refine(block.x[at], u, *given)

        return of_set

    return adjust


def _apart(block: Block, other: Block) -> bool:
    """Whether no view is in both, or else both hold all of them."""
    if block.joint:
        return True
    return not other.joint and block.name.split()[1] != other.name.split()[1]


def _anchor_means(graph: AveragedGraph, z: Array, m: int) -> Array:
    """Means of the samples of the first anchor set: (n, K) -> (m, K)."""
    columns = graph.rows[:, :m].T
    sums = columns @ np.column_stack([z, np.ones(len(z))])
    sums = parallel.total(torch.as_tensor(sums)).numpy()
    return sums[:, :-1] / np.maximum(sums[:, -1:], np.finfo(float).tiny)


def _cluster(z: Array, c: int, recipe: Recipe, generator: torch.Generator) -> KMeans:
    seed = int(torch.randint(2**31 - 1, (), generator=generator))
    return kmeans(z, c, seed, n_init=recipe.final_n_init)


def _gather(x: Array) -> Array:
    return parallel.gather(torch.as_tensor(x)).numpy()


def _agreement(
    u: Array, graph: AveragedGraph, factors: Sequence[Matrix], blocks: Sequence[Block], n_views: int
) -> Array:
    """Of every view with the leading eigenvectors; nan without blocks of its own.

    ``u`` (n, q) are the eigenvectors times the roots of the shares; a view answers for the samples
    that it has.
    """
    y = np.divide(u, graph.shares[:, None], out=np.zeros_like(u), where=graph.shares[:, None] > 0)
    found = np.zeros((n_views, 2))
    for block, factor in zip(blocks, factors):
        if not block.joint:
            own = AveragedGraph([factor], [1])
            sums = np.vstack([own.shares @ y, own.shares.sum() * np.ones(y.shape[1])])
            sums = parallel.total(torch.as_tensor(sums)).numpy()
            y_own = y - np.divide(sums[0], sums[1], out=np.zeros_like(sums[0]), where=sums[1] > 0)
            whole = own.shares @ (y_own**2).sum(1)
            whole = float(parallel.total(torch.as_tensor(whole)))
            squares = (own.to_anchors(own.shares[:, None] * y_own) ** 2).sum()
            found[int(block.name.split()[1])] += squares / max(whole, 1e-300), 1
    with np.errstate(invalid="ignore"):
        return found[:, 0] / found[:, 1]
