"""Normal scores in place of scaled columns, and three levels without one of them.

The record of the third level's choice measures both.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from dmac._parameters import FLAG, choice, documented, one_of, or_none
from dmac.agc.solver import SpectralSolver
from dmac.data.levels import LEVELS, ScaledColumns
from dmac.data.linalg import as_dense
from dmac.recipes import SpectralRecipe


@documented
@dataclass(frozen=True)
class LevelIdea(SpectralRecipe):
    """A spectral recipe whose scaled level may have normal scores, or that lacks a level."""

    solver: ClassVar[str] = "experiments.ideas.level_ideas:LevelIdeaSolver"

    normal_scores: bool = choice(
        False, FLAG, "Replace each entry by the normal quantile of its rank in the column."
    )
    without: str | None = choice(
        None, or_none(one_of(*LEVELS["all"])), "A level that is left out of those of ``levels``."
    )


class NormalScores(ScaledColumns):
    """The scaled level of normal scores, which no monotone change of a column moves."""

    def _logged(self, x):
        x = as_dense(super()._logged(x))
        if not hasattr(self, "sorted_"):  # the rows that are fitted come first
            self.sorted_ = np.sort(x, axis=0)
        n, out = len(self.sorted_), np.empty(x.shape)
        for j, column in enumerate(self.sorted_.T):
            below, upto = (np.searchsorted(column, x[:, j], side) for side in ("left", "right"))
            out[:, j] = ndtri(((below + upto) / 2 + 0.5) / (n + 1))
        return out

    def fit(self, x, every=None, moments_of=None):
        return super().fit(as_dense(x), every, moments_of)


class LevelIdeaSolver(SpectralSolver):
    """The spectral solver with such levels."""

    def plan(self, n_samples, widths, n_clusters):
        plan = super().plan(n_samples, widths, n_clusters)
        for pipeline in plan.pipelines:
            pipeline.scaled_level = NormalScores if self.recipe.normal_scores else ScaledColumns
            kept = [level for level in pipeline.levels if level != self.recipe.without]
            pipeline.levels = tuple(kept)
        return plan
