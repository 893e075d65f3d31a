"""What the averaged graph is averaged over: views side by side and each view alone, at two levels.

Chapter 11 of the book says why an average over kinds of features is safer than a choice of one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from dmac.recipes import Recipe


@dataclass(frozen=True)
class Block:
    """Features in which anchor sets are drawn.

    Attributes
    ----------
    name : str
        The level, and the view's number from 0 where it is one view's: "plain", "whitened 2".
    x : torch.Tensor of shape (n, r)
    weight : float
        Of its graph in the average, not normalised.
    joint : bool
        Whether all views are in it.
    widths : tuple of int
        Columns of each of its views. Further columns are a ballot's.
    """

    name: str
    x: torch.Tensor
    weight: float
    joint: bool
    widths: tuple[int, ...]


def level_names(recipe: Recipe) -> tuple[str, ...]:
    """The levels of a recipe, in the order of their columns."""
    return ("whitened", "plain") if recipe.levels == "both" else (recipe.levels,)


def blocks_of(
    views: Sequence[Tensor],
    widths: Sequence[Sequence[int]],
    spreads: Sequence[float],
    recipe: Recipe,
) -> list[Block]:
    r"""The blocks of v prepared views, with the weights of their graphs.

    Views side by side are divided by :math:`\sqrt v`, so that a squared distance is the mean of the
    views'. At the whitened level the graph of all views weighs 1 and that of each view 1/v. At the
    plain level, with ``level_weight="spread"``, these are multiplied by the spread
    :math:`s_a = 1 - \|\bar x_a\|^2` of the view's unit rows, their mean for all views: where all
    rows are nearly parallel, plain distances say little.

    Parameters
    ----------
    views : list of v tensors of shape (n, sum of the view's widths)
        As :class:`dmac.data.levels.LevelPipeline` gives them.
    widths : list of v tuples of int
        Columns of each level.
    spreads : list of v floats
    recipe : dmac.recipes.Recipe

    Returns
    -------
    list of Block
    """
    v = len(views)
    by_view = [x.split(list(w), 1) for x, w in zip(views, widths)]
    blocks = []
    for level, name in enumerate(level_names(recipe)):
        parts = [levels[level] for levels in by_view]
        weighs = name == "plain" and recipe.level_weight == "spread"
        shares = list(spreads) if weighs else [1.0] * v
        if recipe.blocks in ("joint", "both") or v == 1:
            joint = torch.cat(parts, 1) / math.sqrt(v)
            of_views = tuple(part.shape[1] for part in parts)
            blocks.append(Block(name, joint, sum(shares) / v, True, of_views))
        if recipe.blocks in ("views", "both") and v > 1:
            blocks += [
                Block(f"{name} {a}", part, share / v, False, (part.shape[1],))
                for a, (part, share) in enumerate(zip(parts, shares))
            ]
    return blocks
