"""Clustering in closed form: averaged anchor graphs, a spectral filter, guarded votes. No network.

Chapter 11 of the book derives the recipe and measures it.
"""

from dataclasses import dataclass

import numpy as np
import torch

from dmac.averaged_graph import AnchorSets, AveragedGraph, average, draw_sets, rows_on
from dmac.blocks import blocks_of
from dmac.compute import parallel
from dmac.compute.kmeans import kmeans
from dmac.compute.progress_bar import announce
from dmac.spectral_filter import filtered, n_columns
from dmac.votes import ballot, beside, learned_map, markov_stability, voters


@dataclass(frozen=True)
class Stage:
    """One graph and its eigenvectors: the first, or one with votes.

    Attributes
    ----------
    ballots : list of (list of AnchorSets, numpy.ndarray or None)
        Of every voter the anchor sets of all blocks, and the weights of the learned functions,
        (r + 1, c). The first stage has one entry, without votes.
    values : numpy.ndarray of shape (K,)
        Eigenvalues, largest first.
    lift : numpy.ndarray of shape (M, K)
        From a sample's row of the factor to its row of the eigenvectors
        (:meth:`dmac.averaged_graph.AveragedGraph.eigenpairs`).
    """

    ballots: list
    values: np.ndarray
    lift: np.ndarray


class SpectralModel:
    """A fitted spectral recipe: what embeds samples, the fitted ones and new ones alike.

    Parameters
    ----------
    recipe : dmac.recipes.Recipe
    n_clusters : int
    widths : list of v tuples of int
        Columns of the levels of every view.
    spreads : list of v floats
    stages : list of Stage
        The first graph, then one for every round of votes that was kept.
    stabilities : sequence of float
        Markov stability of the labels without votes and with them, on the graph without; one
        number where the recipe has no votes. Kept as it is.
    agreement : array_like of shape (v,)
        See `fit_spectral`. Kept as an array.
    """

    def __init__(self, recipe, n_clusters, widths, spreads, stages, stabilities=(), agreement=()):
        self.recipe, self.n_clusters = recipe, n_clusters
        self.widths, self.spreads, self.stages = widths, spreads, stages
        self.stabilities, self.agreement = tuple(stabilities), np.asarray(agreement, float)

    @property
    def device(self):
        """Of the anchors."""
        return self.stages[0].ballots[0][0][0].u.device

    @property
    def dtype(self):
        """Of the anchors."""
        return self.stages[0].ballots[0][0][0].u.dtype

    def embed_new(self, views):
        """v prepared views of any number of samples -> their filtered rows (n, K), a tensor."""
        recipe, c = self.recipe, self.n_clusters
        blocks = blocks_of(views, self.widths, self.spreads, recipe)
        features = all_features(views)
        first = u = values = None
        for stage in self.stages:
            if first is None:
                factor = first = _rows(blocks, stage.ballots[0][0], recipe)
            else:
                factors = [first]
                for voter, (sets, weight) in zip(voters(recipe), stage.ballots):
                    rows = ballot(voter, u, values, features, weight, c, recipe)
                    factors.append(_rows(_with(blocks, rows), sets, recipe))
                factor = average(factors, [1] * len(factors))
            u, values = factor @ stage.lift, stage.values
        return torch.as_tensor(filtered(u, values, c, recipe))

    def state_dict(self):
        """Tensors by name."""
        out = {"agreement": self.agreement, "stabilities": np.asarray(self.stabilities)}
        for i, stage in enumerate(self.stages):
            out |= {f"{i}.values": stage.values, f"{i}.lift": stage.lift}
            for a, (sets, weight) in enumerate(stage.ballots):
                if weight is not None:
                    out[f"{i}.{a}.weight"] = weight
                for b, one in enumerate(sets):
                    out |= {f"{i}.{a}.{b}.u": one.u, f"{i}.{a}.{b}.scale": one.scale}
        return {name: torch.as_tensor(value) for name, value in out.items()}

    @classmethod
    def restore(cls, state, recipe, n_clusters, widths, spreads, device, dtype):
        """Rebuild a model from its `state_dict`."""

        def numbered(start, end):
            found = 0
            while f"{start}{found}{end}" in state:
                yield found
                found += 1

        def sets(start):
            for b in numbered(start, ".u"):
                names = (f"{start}{b}.u", f"{start}{b}.scale")
                yield AnchorSets(*(state[name].to(device, dtype) for name in names))

        stages = []
        for i in numbered("", ".values"):
            ballots = []
            for a in numbered(f"{i}.", ".0.u"):
                weight = state.get(f"{i}.{a}.weight")
                weight = None if weight is None else weight.numpy()
                ballots.append((list(sets(f"{i}.{a}.")), weight))
            stages.append(Stage(ballots, state[f"{i}.values"].numpy(), state[f"{i}.lift"].numpy()))
        stabilities, agreement = state["stabilities"].tolist(), state["agreement"].numpy()
        return cls(recipe, n_clusters, widths, spreads, stages, stabilities, agreement)


@dataclass(frozen=True)
class SpectralFit:
    """What `fit_spectral` leaves, of the samples of all processes, in the order of the fit."""

    model: SpectralModel
    embedding: np.ndarray
    labels: np.ndarray
    centers: np.ndarray
    anchors: np.ndarray


def n_sets(block, n_views, recipe, voting):
    """Anchor sets of a block: T for all views together, T / v for one; half of them in a vote."""
    t = max(1, recipe.anchor_sets // 2) if voting else recipe.anchor_sets
    return t if block.joint else max(1 if voting else min(2, t), t // n_views)


def fit_spectral(views, widths, spreads, n_clusters, recipe, *, n_anchors, generator):
    r"""Cluster prepared views by the eigenvectors of their averaged graph.

    1. Anchor sets in every block, and the averaged graph G (:mod:`dmac.averaged_graph`).
    2. The leading eigenvectors of G, weighed by the filter; unit rows; k-means.
    3. Rounds of votes (:mod:`dmac.votes`): graphs of the blocks with a ballot beside them join G in
       equal parts, and step 2 is done again on that.
    4. The labels with votes are taken if their Markov stability on G is at least ``guard`` times
       that of the labels without.

    Beside the labels it measures how well each view agrees with the result,
    :math:`\mathrm{Tr}(U^T G_a U) / (c - 1)` over the leading c eigenvectors but the constant one,
    with :math:`G_a` the average of the graphs of view a: 1 where the view's graph supports them fully.

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

    def draw(blocks, voting):
        found = [
            draw_sets(
                block.x,
                n_sets(block, v, recipe, voting),
                n_anchors,
                0 if voting else recipe.anchor_iterations,
                recipe.n_neighbors,
                generator,
            )
            for block in blocks
        ]
        sets, factors = zip(*found)
        return list(sets), factors

    weights = [block.weight for block in blocks]
    announce("graphs")
    sets, factors = draw(blocks, False)
    first = AveragedGraph(factors, weights)
    features, ballots = all_features(views), [(sets, None)]
    graph, stages, outcomes, u, values = first, [], [], None, None
    for i in range(recipe.vote_rounds + 1):
        announce(f"votes {i}" if i else "eigenvectors")
        if i:
            ballots, voted = [], [first.rows]
            for voter in voters(recipe):
                weight = None
                if voter == "learned":
                    weight = learned_map(features, graph, c, recipe.vote_ridge)
                rows = ballot(voter, u, values, features, weight, c, recipe)
                sets, votes = draw(_with(blocks, rows), True)
                ballots.append((sets, weight))
                voted.append(average(votes, weights))
            graph = AveragedGraph(voted, [1] * len(voted))
        values, lift = graph.eigenpairs(count)
        stages.append(Stage(ballots, values, lift))
        u = graph.rows @ lift
        if not i:
            agreement = _agreement(u[:, 1:c], factors, blocks, v)
        if i in (0, recipe.vote_rounds):
            z = _gather(filtered(u, values, c, recipe))
            outcomes.append((z, _cluster(z, c, recipe, generator)))
    mine = parallel.my_rows(n)
    stabilities = [
        markov_stability(first, found.labels_[mine], recipe.guard_time) for _, found in outcomes
    ]
    voted = len(outcomes) > 1 and stabilities[1] >= recipe.guard * stabilities[0]
    z, found = outcomes[-1 if voted else 0]
    stages = stages if voted else stages[:1]
    model = SpectralModel(recipe, c, widths, spreads, stages, stabilities, agreement)
    anchors = _anchor_means(first, z[mine], n_anchors)
    return SpectralFit(model, z, found.labels_, found.cluster_centers_, anchors)


def _anchor_means(graph, z, m):
    """Means of the samples of the first anchor set: (n, K) -> (m, K)."""
    columns = graph.rows[:, :m].T
    sums = columns @ np.column_stack([z, np.ones(len(z))])
    sums = parallel.total(torch.as_tensor(sums)).numpy()
    return sums[:, :-1] / np.maximum(sums[:, -1:], np.finfo(float).tiny)


def _cluster(z, c, recipe, generator):
    seed = int(torch.randint(2**31 - 1, (), generator=generator))
    return kmeans(z, c, seed, n_init=recipe.final_n_init)


def all_features(views):
    """Prepared views side by side, divided by the root of their number: float64, (n, r)."""
    return (torch.cat(list(views), 1).double() / len(views) ** 0.5).cpu().numpy()


def _with(blocks, rows):
    return [type(b)(b.name, beside(b.x, rows), b.weight, b.joint) for b in blocks]


def _rows(blocks, sets, recipe):
    factors = [rows_on(s, block.x, recipe.n_neighbors) for s, block in zip(sets, blocks)]
    return average(factors, [block.weight for block in blocks])


def _gather(x):
    return parallel.gather(torch.as_tensor(x)).numpy()


def _agreement(u, factors, blocks, n_views):
    """Of every view with the leading eigenvectors U (n, q); nan without blocks of its own."""
    found = np.zeros((n_views, 2))
    for block, factor in zip(blocks, factors):
        if not block.joint:
            squares = (AveragedGraph([factor], [1]).to_anchors(u) ** 2).sum()
            found[int(block.name.split()[1])] += squares / max(1, u.shape[1]), 1
    with np.errstate(invalid="ignore"):
        return found[:, 0] / found[:, 1]
