"""How far the graphs of single views support eigenvectors, each other, and the clusters.

Chapter 12 of the book derives the weights, "Your own data" reads the support of clusters.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from dmac._types import Array
from dmac._warn import warn
from dmac.agc.anchor_sets import Drawn
from dmac.agc.averaged_graph import AveragedGraph
from dmac.agc.votes import association
from dmac.compute.threads import run_in_threads

# A view decides alone if its own graph's support is at least _MIN_ALONE and every other view's is
# below _MAX_OTHERS. In generated data in which random categories took over, the other views had at
# most 0.10; on the book's sixteen data sets the second view has at least 0.22.
_MIN_ALONE, _MAX_OTHERS = 0.4, 0.1


def single_view_graphs(drawn: Iterable[Drawn]) -> Iterator[tuple[int, AveragedGraph]]:
    """The graphs of single views, each with the number of its view, one after the other."""
    graphs = ((one.block.view, one.factor) for one in drawn)
    return ((view, AveragedGraph(factor)) for view, factor in graphs if view is not None)


@np.errstate(invalid="ignore")
def _means(of_graphs: Iterable[tuple[int, float]], n_views: int) -> Array:
    """Means over the graphs of each view, (v,); nan where there are none."""
    sums = np.zeros((n_views, 2))
    for view, value in of_graphs:
        sums[view] += value, 1
    return sums[:, 0] / sums[:, 1]


def _chance(graph: AveragedGraph) -> float | None:
    """A graph's support by chance; None if samples are all alike, or no step leads to others.

    A view answers for the samples that it has.
    """
    n, more = int((graph.shares > 0).sum()), graph.trace() - 1  # of the other eigenvalues
    return more / (n - 1) if 1e-3 < more < 0.999 * (n - 1) else None


def view_agreement(u: Array, graph: AveragedGraph, drawn: Iterable[Drawn], n_views: int) -> Array:
    r"""How well each view's own graphs support eigenvectors of all; nan without blocks of its own.

    It is :math:`\mathrm{Tr}(U^T G_a U) / (c - 1)` over the leading c eigenvectors but the constant
    one, with :math:`G_a` the average of the graphs of view a: 1 where its graph supports them
    fully. A view answers for the samples that it has.

    Parameters
    ----------
    u : numpy.ndarray of shape (n, q)
        Eigenvectors times the roots of the shares.
    graph : dmac.agc.averaged_graph.AveragedGraph
        Theirs.
    drawn : list of dmac.agc.anchor_sets.Drawn
        Of all blocks, without votes.
    n_views : int

    Returns
    -------
    numpy.ndarray of shape (v,)
    """
    return _means(
        ((a, _agreement(u, graph, of_view)) for a, of_view in single_view_graphs(drawn)), n_views
    )


def _agreement(u: Array, graph: AveragedGraph, of_view: AveragedGraph) -> float:
    """How well a view's own graph supports the eigenvectors of another: see `view_agreement`."""
    y = np.divide(u, graph.shares[:, None], out=np.zeros_like(u), where=graph.shares[:, None] > 0)
    centred = y - of_view.shares @ y / max(of_view.shares.sum(), 1e-300)
    whole = of_view.shares @ (centred**2).sum(1)
    squares = (of_view.to_anchors(of_view.shares[:, None] * centred) ** 2).sum()
    return float(squares / max(whole, 1e-300))


def view_weights(drawn: Iterable[Drawn], n_views: int, n_clusters: int) -> Array:
    r"""Weights of views: how far the graphs of the others support its own, :eq:`eq:view-weight`.

    A graph of view a alone has leading eigenvectors :math:`U`, c - 1 beside the constant one. The
    graph :math:`G_b` of another view supports them by

    .. math:: S_b(U) = \frac{\mathrm{Tr}(U^T G_b U) / (c - 1) - \chi_b}{1 - \chi_b} , \qquad
        \chi_b = \frac{\mathrm{Tr}\, G_b - 1}{n - 1} ,

    1 fully and 0 no more than a random U. The support :math:`S_a` of the view is the mean over the
    graphs of all other views, and of its levels' the largest, at least 0. Its weight is

    .. math:: V_a = \frac{S_a + \psi}{\max_b S_b + \psi} , \qquad
        \psi = \sqrt{\frac{2 \bar\chi}{(v - 1)(c - 1)(n - 1)}} .

    The scale of what chance gives, :math:`\psi` keeps such differences from deciding. It bounds
    one standard deviation of :math:`S_a` for random U, were the views independent. Graphs of
    samples that are all alike, or without a step to another sample, neither answer nor count.

    Parameters
    ----------
    drawn : list of dmac.agc.anchor_sets.Drawn
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
    answering = [(a, graph, _chance(graph)) for a, graph in single_view_graphs(drawn)]
    answering = [(a, graph, chance) for a, graph, chance in answering if chance is not None]
    count = len({a for a, _, _ in answering})
    if count < 3 or n_clusters < 2:
        return np.ones(n_views)
    support, n = np.zeros(n_views), len(answering[0][1].shares)

    def by_others(a: int, graph: AveragedGraph) -> float:
        u = graph.to_samples(graph.eigenpairs(min(n_clusters, n - 2))[1])[:, 1:]
        others = [(other, chance) for b, other, chance in answering if b != a]
        found = [(_agreement(u, graph, other) - x) / (1 - x) for other, x in others]
        return float(np.mean(found))

    pieces = [functools.partial(by_others, a, graph) for a, graph, _ in answering]
    for (a, _, _), value in zip(answering, run_in_threads(pieces)):
        support[a] = max(support[a], value)
    mean = np.mean([chance for _, _, chance in answering])
    least = np.sqrt(2 * mean / ((count - 1) * (n_clusters - 1) * (n - 1)))
    return (support + least) / (support.max() + least)


def view_support(labels: Array, drawn: Iterable[Drawn], n_views: int) -> Array:
    r"""How far each view's own graphs support the clusters: 1 fully, 0 no more than by chance.

    A step of the walk on a view's graph :math:`G_a` starts at each of the :math:`n_k` samples of
    cluster k in turn, and ends in it with the probability

    .. math:: p_k = 1_k^T G_a 1_k / n_k , \qquad s = (\textstyle\sum_k p_k - 1) / (c - 1) ,

    where s (:func:`dmac.agc.votes.association`) is 1 if no step leaves a cluster. Labels
    dealt out at random have the mean :math:`s_0 = (\mathrm{Tr}\, G_a - 1) / (n - 1)`, since a step
    may end where it began. The support is :math:`(s - s_0) / (1 - s_0)`, the mean over the graphs
    of the view. A view answers for the samples that it has.

    Parameters
    ----------
    labels : numpy.ndarray of shape (n,)
    drawn : list of dmac.agc.anchor_sets.Drawn
        Of all blocks, without votes.
    n_views : int
        v.

    Returns
    -------
    numpy.ndarray of shape (v,)
        nan for a view without graphs of its own, or whose graphs are of samples that are all alike.
    """
    supports = []
    for a, graph in single_view_graphs(drawn):
        c, chance = len(np.unique(labels[graph.shares > 0])), _chance(graph)
        if c >= 2 and chance is not None:
            supports.append((a, (association(graph, labels, c) - chance) / (1 - chance)))
    return np.minimum(_means(supports, n_views), 1)  # weights in float32 add up to a bit more


def warn_of_one_view(support: Array, titles: Sequence[str]) -> None:
    """Warn where a view's own graph supports the clusters and that of no other view (v,) does."""
    if np.isfinite(support).sum() < 2:
        return
    first, second = np.argsort(-np.nan_to_num(support, nan=-np.inf))[:2]
    own, others = support[first], max(support[second], 0.0)
    if own >= _MIN_ALONE and others < _MAX_OTHERS:
        warn(
            f"{titles[first]} decides alone: its own graph supports the clusters by {own:.2f}, "
            f"that of no other view by more than {others:.2f} (0 is chance). Fit without it, and "
            "compare; leave it out if it says where samples come from"
        )
