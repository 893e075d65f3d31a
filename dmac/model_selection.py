"""Choosing without labels: a graph on which labels can be judged, and the number of clusters.

Chapter 12 of the book derives the graph and the Markov stability, "Your own data" uses this, and
"How many clusters?" says how often the suggested number is right.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from sklearn.metrics import adjusted_rand_score

from dmac._types import Array, Floats, Views
from dmac.agc.anchor_sets import Drawn, draw_graphs
from dmac.agc.averaged_graph import AveragedGraph, averaged
from dmac.agc.blocks import Block, blocks_of, single_view_blocks
from dmac.agc.completion import is_needed, with_graphs
from dmac.agc.votes import unit_rows
from dmac.compute.kmeans import kmeans
from dmac.compute.threads import threads_for
from dmac.data.checks import View, as_views, check_no_views, check_seed
from dmac.data.levels import LevelPipeline
from dmac.recipes import CLOSED_FORM, SpectralRecipe
from dmac.solvers.contract import Plan, solver_of
from dmac.solvers.preparing import prepare

# Of more samples so many are drawn, so that the answer takes seconds.
_MAX_SAMPLES = 1000
# Views count alike: their weights would depend on the number of clusters, which is sought.
_RECIPE = replace(CLOSED_FORM, view_weight="equal")
# Agreement of the labels of two graphs from which a candidate counts as reproducible, as a share of
# that of the best candidate.
_SHARE_OF_BEST = 0.9


def averaged_graph(
    views: Sequence[View],
    n_clusters: int,
    *,
    n_anchors: int,
    seed: int,
    recipe: SpectralRecipe = _RECIPE,
) -> AveragedGraph:
    """The averaged graph of some views, :eq:`eq:averaged-graph`, with CLOSED_FORM's constants.

    Parameters
    ----------
    views : list of v dmac.data.checks.View
    n_clusters : int
        c, on which the widths of the whitened views depend.
    n_anchors : int
        m.
    seed : int
        Draws the anchor sets.
    recipe : dmac.recipes.SpectralRecipe
        CLOSED_FORM with views that count alike, or what it is of few samples.

    Returns
    -------
    dmac.agc.averaged_graph.AveragedGraph
        Its rows in the order of the samples.
    """
    blocks = _blocks(views, _plan(views, n_clusters).pipelines)
    return AveragedGraph(averaged(_draw(blocks, len(views), n_anchors, seed, recipe)))


def _plan(views: Sequence[View], n_clusters: int) -> Plan:
    return solver_of(_RECIPE).plan(views[0].shape[0], [x.shape[1] for x in views], n_clusters)


def _blocks(views: Sequence[View], pipelines: list[LevelPipeline]) -> list[Block]:
    """The blocks of checked views, in the order of the samples.

    Where few samples have all views, those of the single views: each compares the samples it has.
    """
    order = np.arange(views[0].shape[0])
    prepared = prepare(views, pipelines, order, torch.device("cpu"), torch.float32)
    present = prepared.present | ~prepared.present.any(0)  # what no sample has says nothing
    if is_needed(present):
        blocks = blocks_of(prepared.views, pipelines, _RECIPE, None, present)
        if own := single_view_blocks(blocks, with_graphs(present, _RECIPE.n_neighbors)):
            return own
    return blocks_of(prepared.views, pipelines, _RECIPE)  # zeros count as values


def _draw(
    blocks: list[Block],
    n_views: int,
    n_anchors: int,
    seed: int,
    recipe: SpectralRecipe = _RECIPE,
) -> list[Drawn]:
    """The graphs of all blocks."""
    generator = torch.Generator().manual_seed(seed)
    return draw_graphs(blocks, n_views, recipe, n_anchors, generator)


@dataclass(frozen=True)
class Suggestion:
    """What :func:`dmac.suggest_n_clusters` found.

    Attributes
    ----------
    n_clusters : int
        The candidate with the highest score of the criterion that was asked for.
    candidates : tuple of int
        In rising order.
    scores : dict of str to numpy.ndarray of shape (number of candidates,)
        Of every criterion in :data:`dmac.model_selection.CRITERIA`, higher is better.
    eigenvalues : numpy.ndarray of shape (largest candidate + 1,)
        Of the averaged graph, largest first; the largest is 1.
    """

    n_clusters: int
    candidates: tuple[int, ...] = field(repr=False)
    scores: dict[str, Floats] = field(repr=False)
    eigenvalues: Floats = field(repr=False)

    def best(self, criterion: str) -> int:
        """The candidate with the highest score of one criterion; of equals the smallest.

        Parameters
        ----------
        criterion : str

        Returns
        -------
        int
        """
        return self.candidates[int(np.argmax(self.scores[criterion]))]


#: Scores of a number of clusters that need no labels; see :func:`dmac.suggest_n_clusters`.
CRITERIA = ("gap", "log gap", "reproducible", "stability", "reproducible gap")


def suggest_n_clusters(
    views: Views,
    candidates: Iterable[int] | None = None,
    *,
    criterion: str = "gap",
    random_state: int | np.random.RandomState | None = 0,
) -> Suggestion:
    r"""Suggest a number of clusters, without labels. It is a hint: read the page on it first.

    The averaged graph G of the views :eq:`eq:averaged-graph` is drawn twice, from disjoint anchor
    sets, and both are averaged. With eigenvalues
    :math:`1 = \lambda_1 \ge \lambda_2 \ge \dots` of the average, and the labels :math:`q_c` of
    k-means with c clusters on unit rows of the first c eigenvectors, the criteria of c are

    ``"gap"``
        :math:`\lambda_c - \lambda_{c+1}`, the eigengap (von Luxburg 2007).
    ``"log gap"``
        :math:`\log \frac{1 - \lambda_{c+1}}{1 - \lambda_c}`: the eigenvector of :math:`\lambda`
        is forgotten by a random walk after about :math:`1 / (1 - \lambda)` steps, so this is for
        how long, on a logarithmic scale, exactly c of them are remembered.
    ``"reproducible"``
        c where the labels on the two graphs have an adjusted Rand index of at least 0.9 times that
        of the best candidate, else 0: the finest clusters that come out twice.
    ``"stability"``
        The Markov stability :eq:`eq:markov-stability` of :math:`q_c` after t = 4 steps: modularity
        with a longer walk (Delvenne, Yaliraki and Barahona 2010).
    ``"reproducible gap"``
        That adjusted Rand index times "log gap".

    Parameters
    ----------
    views : list of v array_likes of shape (n, d_a)
        Of more than 1000 samples so many are drawn. A row of NaN is a view that a sample lacks.
    candidates : iterable of int, optional
        Numbers to choose from, at least two; by default from 2 to 20, or to a quarter of fewer than
        80 samples. The graph is made for the geometric mean of the smallest and the largest, so
        other candidates can change the answer.
    criterion : str
        One of :data:`dmac.model_selection.CRITERIA`. None is right in more than a third of the
        runs on the book's data sets.
    random_state : int, numpy.random.RandomState or None
        Draws the samples, the anchors and the starts of k-means.

    Returns
    -------
    Suggestion

    Raises
    ------
    ValueError
        If the views are not usable (:func:`dmac.data.checks.as_views`) or have fewer than 12
        samples, a candidate is not an integer from 2 to a quarter of the samples, there are fewer
        than two of them, or the criterion is not known.
    """
    if criterion not in CRITERIA:
        raise ValueError(f"criterion is {criterion!r}, it must be one of {CRITERIA}")
    check_no_views(candidates, "candidates")
    views = as_views(views, incomplete=True)
    n = views[0].shape[0]
    candidates = _checked(candidates, n)
    rng = check_seed(random_state)
    if n > _MAX_SAMPLES:
        rows = rng.permutation(n)[:_MAX_SAMPLES]
        views = [x.part(rows) for x in views]
    # The graph needs one number of clusters, and must be fair to all: the middle of a log scale.
    middle = round((candidates[0] * candidates[-1]) ** 0.5)
    plan = _plan(views, middle)
    seeds = [int(seed) for seed in rng.randint(2**31 - 1, size=3)]
    with threads_for(min(n, _MAX_SAMPLES) * plan.work):
        blocks = _blocks(views, plan.pipelines)
        halves = [_draw(blocks, len(views), plan.n_anchors, seed) for seed in seeds[:2]]
        graphs = [AveragedGraph(averaged(drawn)) for drawn in (*halves, halves[0] + halves[1])]
        spectra = []
        for graph in graphs:
            values, lift = graph.eigenpairs(candidates[-1] + 1)
            spectra.append((values, graph.to_samples(lift)))
        labels = [
            [kmeans(unit_rows(u[:, :c]), c, seeds[2]).labels_ for c in candidates]
            for _, u in spectra
        ]
    scores = _scores(candidates, *spectra[2], labels)
    best = candidates[int(np.argmax(scores[criterion]))]
    return Suggestion(best, candidates, scores, spectra[2][0])


def _checked(candidates: Iterable[int] | None, n: int) -> tuple[int, ...]:
    """The candidates in rising order, each once."""
    if n < 12:
        raise ValueError(f"{n} samples are too few to compare numbers of clusters: pass 12 or more")
    if candidates is not None and not hasattr(candidates, "__iter__"):
        raise ValueError(
            f"candidates is {candidates!r}: pass the numbers to choose from, as a range"
        )
    listed = list(range(2, min(20, n // 4) + 1) if candidates is None else candidates)
    for c in listed:
        if not isinstance(c, numbers.Integral) or isinstance(c, bool) or not 2 <= c <= n // 4:
            raise ValueError(
                f"candidates has {c!r}: of {n} samples only integers from 2 to {n // 4}, a quarter "
                "of them, can be compared"
            )
    if len(set(listed)) < 2:
        raise ValueError(f"candidates is {listed}: pass at least two numbers to choose from")
    return tuple(sorted({int(c) for c in listed}))


def _scores(
    candidates: tuple[int, ...], values: Array, u: Array, labels: list[list[Array]]
) -> dict[str, Floats]:
    """The criteria of all candidates, from the spectrum and the labels on both halves and all."""
    after = np.array(candidates)
    places = after - 1
    gap = values[places] - values[after]
    left = np.maximum(1 - values, 1e-6)
    log_gap = np.log(left[after] / left[places])
    same = np.array([adjusted_rand_score(a, b) for a, b in zip(*labels[:2])])
    finest = np.where(same >= _SHARE_OF_BEST * same.max(), candidates, 0)
    walk = np.array([_stability(values, u, one) for one in labels[2]])
    return dict(zip(CRITERIA, (gap, log_gap, finest, walk, same * log_gap)))


def _stability(values: Array, u: Array, labels: Array) -> float:
    """Markov stability from the leading eigenpairs: after some steps the others are forgotten."""
    indicator = np.eye(labels.max() + 1)[labels]
    squares = ((u.T @ indicator) ** 2).sum(1) / len(u)
    return values**_RECIPE.guard_time @ squares - (indicator.mean(0) ** 2).sum()
