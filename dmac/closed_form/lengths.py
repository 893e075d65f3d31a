r"""Whether the rows of a view differ by their length alone: then it is kept, and not divided out.

Rows are divided by their lengths, since two documents on one subject differ by theirs. Groups that
differ by nothing else, as answers on a scale, loads or brightness do, would be lost. Of such a view
the length is a sufficient statistic: given the length, its columns say nothing of each other, and
what they say of other views. That is tested here, without labels and without a draw of the fit.

Chapter 12 of the book derives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from dmac._types import Array, Integers, Matrix, Views
from dmac._warn import ViewWarning, warn
from dmac.anchors import n_anchors_for
from dmac.closed_form.anchor_sets import draw_graphs
from dmac.closed_form.averaged_graph import AveragedGraph, averaged
from dmac.closed_form.blocks import blocks_of
from dmac.data.checks import NARROW, as_views
from dmac.data.levels import LevelPipeline
from dmac.data.linalg import as_dense, leading_by_products, on_entries, stored
from dmac.data.source import View, filled
from dmac.recipes import CLOSED_FORM_2026_11

# So many samples say it, and fewer than the other number cannot.
_MOST, _FEWEST = 1000, 25
# The graphs are those of a fit with so many clusters, whatever the fit is asked for.
_CLUSTERS, _RECIPE = 4, CLOSED_FORM_2026_11
# Random halves of the columns, and orders of the samples that are compared with their own.
_SPLITS, _ORDERS = 2, 99
# Standard deviations above these that are no accident.
_SURE = 4.0


@dataclass(frozen=True)
class RowLengths:
    r"""What the lengths of a view's rows are, along the unit mean row :math:`\bar u`.

    Attributes
    ----------
    along : float
        The mean cosine of a row and :math:`\bar u`.
    share : float
        Share of the variance that is along it: how much of what varies is the length.
    shared : float
        The variance of the length in units of what it would be if columns were independent.
    leads : float
        The same in units of the largest variance across :math:`\bar u`.
    halves : tuple of two floats
        How well the graph of one half of the columns tells the leading eigenvector of the other's,
        :eq:`eq:row-lengths`: of rows without their length, and with it. 0 where lengths do not
        vary.
    directions : float
        How far rows without their length tell those of the other views (of one view, of the other
        half), given the length: standard deviations above samples of nearly the same length in
        another order. nan where it was not looked at.
    agrees : float
        How far the other views tell the length: standard deviations above another order of the
        samples; nan for one view.
    """

    along: float = 0.0
    share: float = 0.0
    shared: float = 0.0
    leads: float = 0.0
    halves: tuple[float, float] = (0.0, 0.0)
    directions: float = np.nan
    agrees: float = np.nan

    @property
    def vary(self) -> bool:
        """Whether rows point one way, columns rise together, and nothing else varies as much.

        More than half of a row's length lies along the mean row, more than a third of the variance
        of that is what columns share, as is half of two such views, and no direction across it
        varies more.
        """
        return self.along > 0.5 and self.shared > 1.5 and self.leads > 1

    @property
    def lost(self) -> bool:
        """Whether less than half of what columns say of each other is left without the length."""
        return 2 * self.halves[0] < self.halves[1]

    @property
    def kept(self) -> bool:
        """Whether the length says all, and another view, where there is one, knows it."""
        told = np.isnan(self.agrees) or self.agrees > _SURE
        return self.lost and self.directions < _SURE and bool(told)


def keep_lengths(views: list[View], pipelines: Sequence[LevelPipeline], warns: bool = True) -> None:
    """Set which views' pipelines keep the lengths of rows.

    Parameters
    ----------
    views : list of v checked views of shape (n, d_a)
    pipelines : list of v dmac.data.levels.LevelPipeline
        Not fitted.
    warns : bool
        Whether to warn.

    Warns
    -----
    UserWarning
        Where lengths are kept; and where they are divided out, though they are more than half of
        what varies in a view.
    """
    for x, pipeline, found in zip(views, pipelines, row_lengths(views, pipelines[0].root)):
        if found.kept:
            pipeline.keeps_lengths = True
            message = (
                f"the rows of {x.where} differ by their length alone, as answers on a scale "
                "do: it is kept. length_guard=False in the recipe divides it out"
            )
        elif found.vary and found.share > 0.5:
            message = (
                f"{found.share:.0%} of what varies in {x.where} is the length of its rows, "
                "which is divided out, since their directions differ too. Where groups differ by "
                "the length, pass x - x.mean(0) in its place, which keeps it"
            )
        else:
            continue
        if warns:
            warn(message, ViewWarning)


def row_lengths(views: Views, root: bool = True) -> list[RowLengths]:
    """What the lengths of rows are in each of v views (n, d_a), by 1000 samples at most.

    Parameters
    ----------
    views : list of v array_likes of shape (n, d_a), or of checked views
    root : bool
        Whether the square root of views without negative entries is taken first.

    Returns
    -------
    list of v RowLengths
    """
    views = as_views(views, incomplete=True)
    rng, generator = np.random.default_rng(0), torch.Generator().manual_seed(0)
    some = np.sort(rng.permutation(views[0].shape[0])[:_MOST])
    drawn = [_scaled(x.rows(some), root) for x in views]
    found = [_first_half(x[filled(x)]) for x in drawn]
    halves = {}
    for a, x in enumerate(drawn):
        if found[a].vary:
            explained, halves[a] = _of_halves(x, rng, generator)
            found[a] = replace(found[a], halves=explained)
    lost = [a for a, one in enumerate(found) if one.lost]
    if not lost:
        return found
    without = [_leading(x, None, generator) for x in drawn]
    used = [_leading(x, True, generator) if a in lost else without[a] for a, x in enumerate(drawn)]
    for a in lost:
        length, (directions, agrees) = _lengths(drawn[a]), np.zeros((2, 1 + _ORDERS))
        others = [b for b in range(len(drawn)) if b != a]
        for b in others:
            both = without[a].any(1) & without[b].any(1)
            orders = _orders(length[both], rng)
            directions += _told(without[a][both], without[b][both], orders)
            orders = _orders(np.zeros(both.sum()), rng, 1)
            deviation = length[both, None] - length[both].mean()
            agrees += _told(deviation / np.linalg.norm(deviation), used[b][both], orders)
        if not others:
            directions = _told(halves[a][0], halves[a][1], _orders(length, rng))
        found[a] = replace(found[a], directions=_above(directions), agrees=_above(agrees))
    return found


def _scaled(x: Matrix, root: bool) -> Matrix:
    """A view in units of its largest entry, after the root if it is taken."""
    values = stored(x)
    exponent = -np.frexp(np.abs(values).max(initial=0))[1]
    x = on_entries(lambda entries: np.ldexp(entries, exponent), x)
    return on_entries(np.sqrt, x) if root and values.min(initial=0) >= 0 else x


def _lengths(x: Matrix) -> Array:
    """The lengths of rows (n, d) along their mean, in units of its length: (n,)."""
    return np.asarray(x @ np.asarray(x.mean(0)).ravel())


def _first_half(x: Matrix) -> RowLengths:
    """What a view says alone, of rows (n, d) with values: all but `RowLengths.halves` and on."""
    n, d = x.shape
    if d <= NARROW or n < _FEWEST:
        return RowLengths()
    mean = np.asarray(x.mean(0)).ravel()
    squares = on_entries(np.square, x)
    variances = (np.asarray(squares.mean(0)).ravel() - mean**2).clip(0)
    norm = np.linalg.norm(mean)
    if variances.sum() <= 1e-12 * norm**2 or norm <= 1e-6 * np.sqrt(variances.sum()):
        return RowLengths()
    direction = mean / norm
    length = np.asarray(x @ direction)
    variance, independent = length.var(), direction**2 @ variances
    whole = np.sqrt(np.asarray(squares.sum(1)).ravel()).clip(1e-100)
    found = RowLengths(
        along=float((length / whole).mean()),
        share=float(variance / variances.sum()),
        shared=float(variance / max(independent, 1e-300)),
        leads=np.inf,
    )
    if not found.vary:
        return replace(found, leads=0.0)
    across = leading_by_products(as_dense(x) - np.outer(length, direction), 1)[0]
    return replace(found, leads=float(variance * n / max((across**2).sum(), 1e-300)))


def _leading(x: Matrix, keeps: bool | None, generator: torch.Generator) -> Array:
    """Leading eigenvectors of the graph of rows with their lengths or without: (n, 3).

    Rows of zeros have none, nor have all where too few are others.
    """
    rows = filled(x)
    out = np.zeros((len(rows), _CLUSTERS - 1))
    if rows.sum() < _FEWEST:
        return out
    width, recipe = round(_RECIPE.components * _CLUSTERS), _RECIPE
    pipeline = LevelPipeline(
        False, recipe.levels, width, recipe.whitening_ridge, recipe.plain_components
    )
    pipeline.keeps_lengths = keeps
    view = torch.as_tensor(pipeline.fit_transform(x[rows])).float()
    m = n_anchors_for(len(view), _CLUSTERS, recipe.anchor_factor, recipe.anchor_share)
    drawn = draw_graphs(blocks_of([view], [pipeline], recipe), 1, recipe, m, generator)
    graph = AveragedGraph(averaged(drawn))
    out[rows] = graph.to_samples(graph.eigenpairs(_CLUSTERS)[1])[:, 1:]
    return out


def _of_halves(
    x: Matrix, rng: np.random.Generator, generator: torch.Generator
) -> tuple[tuple[float, float], list[Array]]:
    """`RowLengths.halves`, and eigenvectors of two halves without their length, (n, 3) each."""
    explained, first = np.zeros(2), list[Array]()
    for _ in range(_SPLITS):
        parts = np.array_split(rng.permutation(x.shape[1]), 2)
        for keeps in (False, True):
            half, other = (_leading(x[:, part], keeps, generator) for part in parts)
            first = first or [half, other]
            explained[int(keeps)] += sum(
                _told(u[:, :1], v, [np.arange(len(u))])[0]
                for u, v in ((half, other), (other, half))
            )
    without, with_length = (explained / (2 * _SPLITS)).tolist()
    return (without, with_length), first


def _orders(length: Array, rng: np.random.Generator, n_bins: int = 0) -> list[Integers]:
    """Orders of samples, their own first, then others among those of nearly the same length."""
    by_length = np.argsort(length, kind="stable")
    bins = np.array_split(by_length, n_bins or round(len(by_length) ** 0.5))
    return [
        by_length,
        *(np.concatenate([rng.permutation(b) for b in bins]) for _ in range(_ORDERS)),
    ]


def _told(u: Array, others: Array, orders: Sequence[Integers]) -> Array:
    """Mean R^2 of unit columns (n, p) by orthonormal ones (n, q), in orders against the first."""
    first = u[orders[0]].T
    return np.array([((first @ others[order]) ** 2).sum() for order in orders]) / u.shape[1]


def _above(values: Array) -> float:
    """How many standard deviations the first is above the others; nan where all are alike."""
    with np.errstate(invalid="ignore"):
        return float((values[0] - values[1:].mean()) / values[1:].std())
