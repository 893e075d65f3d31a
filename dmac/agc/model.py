"""What a fit of AGC keeps, and how it embeds new samples: the fit, row by row, again.

Chapter 12 of the book derives it; :mod:`dmac.agc.solver` fits it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from dmac._types import Array, Flags, Integers, Matrix
from dmac.agc.anchor_sets import AnchorSets, Drawn, placed
from dmac.agc.averaged_graph import average, averaged
from dmac.agc.blocks import (
    beside,
    blocks_of,
    joint_blocks,
    side_by_side,
    single_view_blocks,
)
from dmac.agc.completion import Completion, ridge_map
from dmac.agc.membership import memberships
from dmac.agc.votes import ballot, filtered, ratio_rows, unit_rows, voters
from dmac.compute.files import leaves
from dmac.data.levels import LevelPipeline
from dmac.recipes import SpectralRecipe

# Fields that a stored model gets from elsewhere.
_GIVEN = ("recipe", "n_clusters", "pipelines")
# Weight of the linear map's unit rows relative to the filtered rows.
_LINEAR = 2.0
# A model fitted on a part keeps one third of each block's anchor sets, and at least one.
_FEWER = 3


@dataclass(frozen=True)
class Ballot:
    """The graphs of a voter.

    Attributes
    ----------
    sets : list of AnchorSets
        Of every block, with the ballot beside it.
    learned : numpy.ndarray of shape (r + 1, c) or None
        From :func:`dmac.agc.votes.learned_map`.
    """

    sets: list[AnchorSets]
    learned: Array | None = None


@dataclass(frozen=True)
class Stage:
    """One graph and its eigenvectors: the first, or one with votes.

    Attributes
    ----------
    values : numpy.ndarray of shape (K,)
        Eigenvalues, largest first.
    lift : numpy.ndarray of shape (M, K)
        From a sample's row of the factor to its row of the eigenvectors
        (:meth:`dmac.agc.averaged_graph.AveragedGraph.eigenpairs`).
    base : list of AnchorSets
        Of every block, without a ballot; empty where those of the stage before stand.
    ballots : list of Ballot
        One a voter; empty in the first stage, and in a model of a part.
    """

    values: Array
    lift: Array
    base: list[AnchorSets] = field(default_factory=list)
    ballots: list[Ballot] = field(default_factory=list)


@dataclass
class SpectralModel:
    """A fitted AGC: what embeds samples, the fitted ones and new ones alike.

    Parameters
    ----------
    recipe : dmac.recipes.SpectralRecipe
    n_clusters : int
    pipelines : list of v fitted dmac.data.levels.LevelPipeline
        They know the columns of the levels of every view, and its spread.
    stages : list of Stage
        The first graph, then one for every round of votes that was kept; `of_part` says which a
        model of a part has.
    ends : numpy.ndarray of shape (M, c)
        See :func:`dmac.agc.membership.link_ends`.
    stabilities : tuple of float
        Markov stability of the labels without votes and with them, on the graph without; one
        number where the recipe has no votes.
    agreement : numpy.ndarray of shape (v,)
        See :func:`dmac.agc.support.view_agreement`.
    support : numpy.ndarray of shape (v,)
        See :func:`dmac.agc.support.view_support`.
    missing : numpy.ndarray of shape (v,), int64
        How many fitted samples lack each view.
    completion : dmac.agc.completion.Completion, optional
        What fills in missing views for the graphs of all views.
    weights : numpy.ndarray of shape (v,), optional
        See :func:`dmac.agc.support.view_weights`; equal if not given. With them, as with a
        completion, the anchor sets of all views come before those of single ones.
    cut : bool
        Whether samples are embedded by the first c eigenvectors alone
        (:func:`dmac.agc.votes.ratio_rows`), since the filter loses small groups.
    linear : numpy.ndarray of shape (r + 1, K), optional
        Of a model of a part: a linear map from all features and 1 to the filtered rows.
    """

    recipe: SpectralRecipe
    n_clusters: int
    pipelines: list[LevelPipeline]
    stages: list[Stage]
    ends: Array
    stabilities: tuple[float, ...]
    agreement: Array
    support: Array
    missing: Integers
    completion: Completion | None = None
    weights: Array | None = None
    cut: bool = False
    linear: Array | None = None

    @property
    def device(self) -> torch.device:
        """Of the anchors."""
        return self.stages[0].base[0].u.device

    @property
    def dtype(self) -> torch.dtype:
        """Of the anchors."""
        return self.stages[0].base[0].u.dtype

    @property
    @np.errstate(invalid="ignore")
    def support_of_others(self) -> Array:
        """For each view the mean ``support`` of the others, (v,); nan where there are none."""
        answers = np.isfinite(self.support)
        answered = np.where(answers, self.support, 0.0)
        return (answered.sum() - answered) / (answers.sum() - answers)

    def embed_new(self, views: Sequence[Tensor], present: Flags) -> tuple[Tensor, Array]:
        """v prepared views of any n samples -> filtered rows (n, K) or those of the cut (n, c).

        And their memberships (n, c). ``present`` (n, v) marks which views they have.
        """
        features, rows, u = self.samples(views, present)
        if self.cut:
            z = ratio_rows(u[:, : self.n_clusters])
        else:
            z = filtered(u, self.stages[-1].values, self.n_clusters, self.recipe)
        return torch.as_tensor(self.with_linear(z, features)), memberships(rows, self.ends)

    def with_linear(self, rows: Array, features: Array) -> Array:
        """Filtered rows (n, K) and, beside them, what the linear map says of features (n, r)."""
        if self.linear is None:
            return rows
        says = unit_rows(features @ self.linear[:-1] + self.linear[-1])
        return unit_rows(rows + _LINEAR * says)

    def samples(self, views: Sequence[Tensor], present: Flags) -> tuple[Array, Matrix, Array]:
        """Any n samples of v prepared views in the last stage, stage by stage, as the fit went.

        The views side by side, what is missing filled in, (n, r); their rows of the factor of the
        first graph, that without votes, (n, M); and their rows of the eigenvectors, times the roots
        of their shares, (n, K).
        """
        k = self.recipe.n_neighbors
        drawn, views = self.on_first_graph(views, present)
        blocks = [item.block for item in drawn]
        features = side_by_side(views, self.recipe)
        first = base = averaged(drawn)
        u = first @ self.stages[0].lift
        for before, stage in zip(self.stages, self.stages[1:]):
            if stage.base:
                base = averaged(placed(blocks, stage.base, k))
            factors = [base]
            for voter, vote in zip(voters(self.recipe), stage.ballots):
                about = vote.learned, self.n_clusters, self.recipe
                said = ballot(voter, u, before.values, features, *about)
                factors.append(averaged(placed(beside(blocks, said), vote.sets, k)))
            u = average(factors, [1] * len(factors)) @ stage.lift
        return features, first, u

    def on_first_graph(
        self, views: Sequence[Tensor], present: Flags
    ) -> tuple[list[Drawn], Sequence[Tensor]]:
        """Samples on the anchor sets of the first stage, and their views, filled in."""
        fill, sets, k = self.completion, self.stages[0].base, self.recipe.n_neighbors
        blocks = blocks_of(views, self.pipelines, self.recipe, self.weights, present)
        if fill is None and self.weights is None:
            return placed(blocks, sets, k), views
        single = single_view_blocks(blocks, np.ones(len(views), bool) if fill is None else fill.own)
        of_single = placed(single, sets[-len(single) :], k)
        if fill is not None:
            u = averaged(of_single) @ fill.lift
            phi = filtered(u, fill.values, self.n_clusters, self.recipe)
            views = fill.filled(views, present, phi)
            present = np.ones_like(present)
            blocks = blocks_of(views, self.pipelines, self.recipe, self.weights, present)
        return placed(joint_blocks(blocks), sets, k) + of_single, views

    def of_part(self, views: Sequence[Tensor], z: Array) -> SpectralModel:
        """The model that places samples, from a part of them: ``views`` (n, r_a) and their rows z.

        A row of eigenvectors is a sum over anchor sets, with ballots and without, of which each
        estimates the whole, but for its length: the model keeps a third of the sets of every block
        without a ballot, weighed for all. What that and a part lose where single samples say
        little, a linear map from all features to z wins back: it is an average over all samples of
        the part (:func:`dmac.agc.completion.ridge_map`).
        """
        base, fill, linear = self.stages[0].base, self.completion, None
        ends, stages = _lift_of_first(base, self.ends), list[Stage]()
        for stage in self.stages:
            if not stage.base:  # what votes have made of the graph before stands in its place
                stages.pop()
            base = stage.base or base
            stages.append(Stage(stage.values, _lift_of_first(base, stage.lift), _first(base)))
        if fill is not None:  # its graphs are those of single views, which come last
            single = self.stages[0].base[len(self.pipelines[0].levels) :]
            fill = replace(fill, lift=_lift_of_first(single, fill.lift))
        if not self.cut:  # whose rows are ratios, of which a mean says nothing
            f = np.column_stack([side_by_side(views, self.recipe), np.ones(len(z))])
            linear = ridge_map(f, torch.as_tensor(z), np.ones(len(z), bool))
        return replace(self, stages=stages, completion=fill, linear=linear, ends=ends)

    def state_dict(self) -> dict[str, Tensor]:
        """Tensors by name, of which the solver makes the model again."""
        return dict(leaves({name: x for name, x in vars(self).items() if name not in _GIVEN}))


def _n_placing(sets: AnchorSets) -> int:
    """How many anchor sets of a block place."""
    return max(1, len(sets.u) // _FEWER)


def _first(every: Sequence[AnchorSets]) -> list[AnchorSets]:
    """The first anchor sets of every block, those that place."""
    return [replace(s, u=s.u[: _n_placing(s)], scale=s.scale[: _n_placing(s)]) for s in every]


def _lift_of_first(sets: Sequence[AnchorSets], lift: Array) -> Array:
    """The rows of a lift (M, K) that belong to the first sets of each block, in new units.

    A factor is divided by the root of the number of its sets, so these become larger. Further rows,
    those of ballots, are left out.
    """
    ends = np.cumsum([s.scale.numel() for s in sets])
    parts = []
    for s, rows in zip(sets, np.split(lift, ends)):
        (t, m), few = s.scale.shape, _n_placing(s)
        parts.append(np.sqrt(t / few) * rows[: few * m])
    return np.concatenate(parts)
