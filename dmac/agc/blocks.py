"""Features in which anchor sets are drawn: views side by side and each alone, at every level.

Chapter 12 of the book says why there are three levels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from dmac._types import Array, Flags, Floats, Integers
from dmac.data.levels import LevelPipeline
from dmac.recipes import SpectralRecipe

# Rows that are more alike than this are not drawn apart further: rounding is among what they have.
_SPREAD = 1e-3


@dataclass(frozen=True)
class Block:
    """Features in which anchor sets are drawn.

    Attributes
    ----------
    level : str
        "whitened", "plain" or "scaled".
    view : int or None
        The number of its view, from 0; None where all views stand side by side.
    x : torch.Tensor of shape (n, r)
    weight : float
        Of its graph in the average, not normalised.
    widths : tuple of int
        Columns of each of its views. Further columns are a ballot's.
    present : numpy.ndarray of shape (n, number of widths), bool, or None
        Which of these views each sample has; None if all have all.
    """

    level: str
    view: int | None
    x: torch.Tensor
    weight: float
    widths: tuple[int, ...]
    present: Flags | None = None


def blocks_of(
    views: Sequence[Tensor],
    pipelines: Sequence[LevelPipeline],
    recipe: SpectralRecipe,
    weights: Sequence[float] | Array | None = None,
    present: Flags | None = None,
) -> list[Block]:
    r"""The blocks of v prepared views, with the weights of their graphs.

    Views side by side are divided by :math:`\sqrt v`, so that a squared distance is the mean of the
    views'. At the whitened level the graph of all views weighs 1 and that of each view 1/v. At the
    other levels, without ``level_weight="equal"``, these are multiplied by the weight of the view's
    level (:class:`dmac.data.levels.LevelPipeline`), its mean over all views: at the plain level by
    the spread :math:`s_a = 1 - \|\bar x_a\|^2` of the view's unit rows, since plain distances say
    little where all rows are nearly parallel. Two rows are :math:`2 s_a` apart in the mean of their
    squared distances; with ``plain_scale="spread"`` plain rows side by side are divided by
    :math:`\sqrt{s_a}` too, or the view of the largest spread would decide alone.

    With weights :math:`V_a` of the views, 1/v becomes :math:`V_a / \sum_b V_b` in all of this:
    the mean of the distances, the mean of the spreads, and the weight of a view's own graph. A view
    of weight 0 is in no block.

    Parameters
    ----------
    views : list of v tensors of shape (n, sum of the view's widths)
        As the pipelines give them.
    pipelines : list of v fitted dmac.data.levels.LevelPipeline
        They know the columns of each level, and the spreads.
    recipe : dmac.recipes.SpectralRecipe
    weights : list of v floats, optional
        By default those of the recipe, or equal.
    present : numpy.ndarray of shape (n, v), bool, optional
        Which views each sample has; by default all, and rows of zeros are values. With it, a
        sample lacks a view at a level whose directions leave nothing of its row.

    Returns
    -------
    list of Block
        Level by level, that of all views first; one view is all views.
    """
    weights = given_weights(recipe, len(views)) if weights is None else list(weights)
    kept = [a for a, weight in enumerate(weights) if weight]
    views, pipelines = [views[a] for a in kept], [pipelines[a] for a in kept]
    weights, v, whole = [weights[a] for a in kept], len(kept), sum(weights)
    by_view = [x.split(list(p.widths_), 1) for x, p in zip(views, pipelines)]
    blocks = []
    for level, parts in zip(pipelines[0].levels, zip(*by_view)):
        equal = recipe.level_weight == "equal"
        shares = [1.0 if equal else p.weights_[level] for p in pipelines]
        has = _has(present, kept, parts, [p.measured_ for p in pipelines])
        singly = [None] * v if has is None else np.hsplit(has, v)
        if recipe.blocks != "views" or v == 1:
            spreads = level == "plain" and recipe.plain_scale == "spread"
            units = [p.spread_ if spreads else 1.0 for p in pipelines]
            widths = tuple(part.shape[1] for part in parts)
            share = sum(w * s for w, s in zip(weights, shares)) / whole
            x = _joint(parts, weights, units)
            blocks.append(Block(level, None, x, share, widths, has))
        if recipe.blocks != "joint" and v > 1:
            blocks += [
                Block(level, a, x, weight * share / whole, (x.shape[1],), one)
                for a, x, weight, share, one in zip(kept, parts, weights, shares, singly)
            ]
    return blocks


def _has(
    present: Flags | None, views: Sequence[int], parts: Sequence[Tensor], values: Sequence[bool]
) -> Flags | None:
    """Which of some views samples have at a level: (n, v).

    A row (n, r_a) that its directions lost says nothing, unless rows of zeros are ``values`` (v,).
    """
    if present is None:
        return None
    told = torch.stack([(x != 0).any(1) for x in parts], 1).cpu().numpy()
    return present[:, views] & (told | np.asarray(values))


def given_weights(recipe: SpectralRecipe, n_views: int) -> list[float]:
    """The weights of v views that a recipe gives; equal ones where it gives none."""
    weights = recipe.view_weight
    return [1.0] * n_views if isinstance(weights, str) else list(weights)


def _joint(parts: Sequence[Tensor], weights: Sequence[float], units: Sequence[float]) -> Tensor:
    """Parts (n, r_a) side by side, so that squared distances are weighed means; one as it is."""
    if len(parts) == 1:
        return parts[0]
    scales = [sum(weights) / w * max(unit, _SPREAD) for w, unit in zip(weights, units)]
    return torch.cat([part / math.sqrt(scale) for part, scale in zip(parts, scales)], 1)


def joint_blocks(blocks: Iterable[Block]) -> list[Block]:
    """The blocks of all views."""
    return [block for block in blocks if block.view is None]


def single_view_blocks(blocks: Iterable[Block], views: Flags) -> list[Block]:
    """The blocks of single views, of those that a mask (v,) picks."""
    return [block for block in blocks if block.view is not None and views[block.view]]


def beside(blocks: Iterable[Block], rows: Array) -> list[Block]:
    """The blocks with the rows (n, q) of a ballot beside the features of each."""
    return [
        replace(block, x=torch.cat([block.x, torch.as_tensor(rows).to(block.x)], 1))
        for block in blocks
    ]


def in_one(views: Sequence[Tensor]) -> Floats:
    """Prepared views (n, r_a) in one array, in double precision: (n, r)."""
    return torch.cat(list(views), 1).double().cpu().numpy()


def side_by_side(views: Sequence[Tensor], recipe: SpectralRecipe) -> Floats:
    """Prepared views (n, r_a) side by side, times the roots of their weights, of sum 1: (n, r)."""
    v = len(views)
    if isinstance(recipe.view_weight, str):
        return in_one(views) / v**0.5
    weights = given_weights(recipe, v)
    return in_one([x * (weight / sum(weights)) ** 0.5 for x, weight in zip(views, weights)])


def patterns(present: Flags) -> Iterator[tuple[Flags, Integers]]:
    """Which views (v,) some samples have, of (n, v), and which samples those are."""
    every, of_sample = np.unique(present, axis=0, return_inverse=True)
    return ((x, np.flatnonzero(of_sample.ravel() == i)) for i, x in enumerate(every))
