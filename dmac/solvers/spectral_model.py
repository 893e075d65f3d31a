"""What a fitted spectral recipe keeps, and how it embeds new samples: the fit, row by row, again.

Chapter 12 of the book derives it; :mod:`dmac.solvers.spectral` fits it.
"""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from dmac.averaged_graph import (
    AnchorSets,
    average,
    blocks_of,
    level_names,
    memberships,
    own_blocks,
    rows_on,
)
from dmac.completion import Completion, Directions, ridge_map
from dmac.votes import ballot, filtered, ratio_rows, unit_rows, voters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, Self

    import numpy.typing as npt
    from torch import Tensor

    from dmac._types import Array, Matrix
    from dmac.averaged_graph import Block
    from dmac.recipes import SpectralRecipe

# Fields of a completion that are stored under their names.
_FILLING = ("values", "lift", "own", "silent")
_DIRECTIONS = ("mean", "components", "kept")
# Length of what the linear map says beside a row of length 1.
_LINEAR = 2.0


@dataclass(frozen=True)
class Stage:
    """One graph and its eigenvectors: the first, or one with votes.

    Attributes
    ----------
    base : list of AnchorSets or None
        Of every block, without a ballot; None where those of the stage before stand.
    ballots : list of (list of AnchorSets, numpy.ndarray or None)
        Of every voter the anchor sets of all blocks, and what it has learned. Empty in the first
        stage.
    values : numpy.ndarray of shape (K,)
        Eigenvalues, largest first.
    lift : numpy.ndarray of shape (M, K)
        From a sample's row of the factor to its row of the eigenvectors
        (:meth:`dmac.averaged_graph.AveragedGraph.eigenpairs`).
    """

    base: list[AnchorSets] | None
    ballots: list[tuple[list[AnchorSets], Array | None]]
    values: Array
    lift: Array


class SpectralModel:
    """A fitted spectral recipe: what embeds samples, the fitted ones and new ones alike.

    Parameters
    ----------
    recipe : dmac.recipes.SpectralRecipe
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
        See :func:`dmac.solvers.spectral.view_agreement`. Kept as an array.
    support : array_like of shape (v,), optional
        See :func:`dmac.solvers.spectral.own_support`. Kept as an array; nan where it is not given.
    missing : array_like of shape (v,), optional
        How many fitted samples lack each view. Kept as an array.
    completion : dmac.completion.Completion, optional
        What fills in missing views for the graphs of all views.
    weights : array_like of shape (v,), optional
        See :func:`dmac.solvers.spectral.view_weights`; equal if not given. With them, as with a
        completion, the anchor sets of all views come before those of single ones.
    cut : bool
        Whether samples are embedded by the first c eigenvectors alone
        (:func:`dmac.votes.ratio_rows`), since the filter loses small groups.
    linear : array_like of shape (r + 1, K), optional
        Of a model of a part: a linear map from all features and 1 to the filtered rows.
    ends : array_like of shape (M, c), optional
        From a sample's row of the first factor to its memberships
        (:func:`dmac.averaged_graph.memberships`).
    """

    def __init__(
        self,
        recipe: SpectralRecipe,
        n_clusters: int,
        widths: Sequence[Sequence[int]],
        spreads: Sequence[float],
        stages: list[Stage],
        stabilities: Sequence[float],
        agreement: npt.ArrayLike,
        *,
        support: npt.ArrayLike | None = None,
        missing: npt.ArrayLike | None = None,
        completion: Completion | None = None,
        weights: npt.ArrayLike | None = None,
        cut: bool = False,
        linear: npt.ArrayLike | None = None,
        ends: npt.ArrayLike | None = None,
    ) -> None:
        self.recipe, self.n_clusters = recipe, n_clusters
        self.widths, self.spreads = widths, spreads
        self.stages = stages
        self.stabilities, self.agreement = tuple(stabilities), np.asarray(agreement, float)
        unknown = np.full(len(widths), np.nan)
        self.support = np.asarray(unknown if support is None else support, float)
        self.missing = np.asarray(np.zeros(len(widths)) if missing is None else missing, np.int64)
        self.completion = completion
        self.weights = None if weights is None else np.asarray(weights, float)
        self.cut = cut
        self.linear = None if linear is None else np.asarray(linear, float)
        self.ends = None if ends is None else np.asarray(ends, float)

    @property
    def device(self) -> torch.device:
        """Of the anchors."""
        return (self.stages[0].base or [])[0].u.device

    @property
    def dtype(self) -> torch.dtype:
        """Of the anchors."""
        return (self.stages[0].base or [])[0].u.dtype

    @property
    def support_of_others(self) -> Array:
        """For each view the mean ``support`` of the others, (v,); nan where there are none."""
        answers = np.isfinite(self.support)
        own = np.where(answers, self.support, 0.0)
        with np.errstate(invalid="ignore"):
            return (own.sum() - own) / (answers.sum() - answers)

    def embed_new(self, views: Sequence[Tensor]) -> tuple[Tensor, Array | None]:
        """v prepared views of any n samples -> filtered rows (n, K) or those of the cut (n, c).

        And their memberships (n, c), None of a model that was saved without.
        """
        recipe, c = self.recipe, self.n_clusters
        blocks, views = self.blocks(views)
        features = side_by_side(views)
        base: Any = None  # there is one after the first stage, and so are the next two
        u: Any = None
        values: Any = None
        shares = None
        for stage in self.stages:
            if stage.base is not None:
                base = _rows(blocks, stage.base, recipe)
                shares = None if self.ends is None else memberships(base, self.ends)
            factors = [base]
            for voter, (sets, weight) in zip(voters(recipe), stage.ballots):
                rows = ballot(voter, u, values, features, weight, c, recipe)
                factors.append(_rows(with_ballot(blocks, rows), sets, recipe))
            u, values = average(factors, [1] * len(factors)) @ stage.lift, stage.values
        rows = ratio_rows(u[:, :c]) if self.cut else filtered(u, values, c, recipe)
        return torch.as_tensor(self.voted(rows, features)), shares

    def voted(self, rows: Array, features: Array) -> Array:
        """Filtered rows (n, K) and, beside them, what the linear map says of features (n, r)."""
        if self.linear is None:
            return rows
        says = unit_rows(features @ self.linear[:-1] + self.linear[-1])
        return unit_rows(rows + _LINEAR * says)

    def blocks(self, views: Sequence[Tensor]) -> tuple[list[Block], Sequence[Tensor]]:
        """Blocks in the order of the first stage's anchor sets, and the views, filled in."""
        known, fill = (self.widths, self.spreads, self.recipe, self.weights), self.completion
        blocks = blocks_of(views, *known)
        if fill is None and self.weights is None:
            return blocks, views
        own = own_blocks(blocks, np.ones(len(views), bool) if fill is None else fill.own)
        if fill is not None:
            sets = (self.stages[0].base or [])[-len(own) :]
            u = _rows(own, sets, self.recipe) @ fill.lift
            views = fill.filled(views, filtered(u, fill.values, self.n_clusters, self.recipe))
        return [block for block in blocks_of(views, *known) if block.joint] + own, views

    def of_part(self, views: Sequence[Tensor], z: Array, count: int = 1) -> SpectralModel:
        """The model that places samples, from a part of them: ``views`` (n, r_a) and their rows z.

        It keeps the first ``count`` anchor sets of every block, weighed for all of them: a row of
        eigenvectors is a sum over sets, of which each estimates the whole. What that and a part
        lose where single samples say little, a linear map from all features to z wins back: it is
        an average over all samples of the part (:func:`dmac.completion.ridge_map`).
        """
        base: list[AnchorSets] = []
        stages = []
        for stage in self.stages:
            base = stage.base or base
            ballots = [([_first(s, count) for s in sets], w) for sets, w in stage.ballots]
            kept = None if stage.base is None else [_first(s, count) for s in base]
            every = [*base, *(s for sets, _ in stage.ballots for s in sets)]
            stages.append(
                Stage(kept, ballots, stage.values, _lift_of_first(every, stage.lift, count))
            )
        thin, fill = copy.copy(self), self.completion
        thin.stages = stages
        if self.ends is not None:
            every = self.stages[0].base or []
            thin.ends = _lift_of_first(every, self.ends, count)
        if fill is not None:  # its graphs are those of single views, which come last
            own = (self.stages[0].base or [])[len(level_names(self.recipe)) :]
            thin.completion = dataclasses.replace(fill, lift=_lift_of_first(own, fill.lift, count))
        if not self.cut:  # whose rows are ratios, of which a mean says nothing
            f = np.column_stack([side_by_side(views), np.ones(len(z))])
            thin.linear = ridge_map(f, torch.as_tensor(z), np.ones(len(z), bool))
        return thin

    def state_dict(self) -> dict[str, Tensor]:
        """Tensors by name."""
        out: dict[str, Any] = {"agreement": self.agreement, "support": self.support}
        out |= {"missing": self.missing, "cut": self.cut}
        for name in ("weights", "linear", "ends"):
            if getattr(self, name) is not None:
                out[name] = getattr(self, name)
        if self.completion is not None:
            out |= _completion_state(self.completion)
        out["stabilities"] = np.asarray(self.stabilities)
        for i, stage in enumerate(self.stages):
            out |= {f"{i}.values": stage.values, f"{i}.lift": stage.lift}
            out |= _sets_state(f"{i}.base", stage.base or [])
            for a, (sets, weight) in enumerate(stage.ballots):
                out |= _sets_state(f"{i}.{a}", sets)
                if weight is not None:
                    out[f"{i}.{a}.weight"] = weight
        return {name: torch.as_tensor(np.ascontiguousarray(value)) for name, value in out.items()}

    @classmethod
    def restore(
        cls,
        state: dict[str, Tensor],
        recipe: SpectralRecipe,
        n_clusters: int,
        widths: Sequence[Sequence[int]],
        spreads: Sequence[float],
        device: torch.device,
        dtype: torch.dtype,
    ) -> Self:
        """Rebuild a model from its `state_dict`."""

        def numbered(start: str, end: str) -> Iterator[int]:
            found = 0
            while f"{start}{found}{end}" in state:
                yield found
                found += 1

        def sets(start: str) -> Iterator[AnchorSets]:
            for b in numbered(f"{start}.", ".u"):
                u = state[f"{start}.{b}.u"].to(device, dtype)
                scale = state[f"{start}.{b}.scale"].to(device, dtype)
                of_views = state.get(f"{start}.{b}.widths", torch.empty(0))
                yield AnchorSets(u, scale, tuple(of_views.tolist()))

        stages = []
        for i in numbered("", ".values"):
            ballots = []
            for a in numbered(f"{i}.", ".0.u"):
                weight = state.get(f"{i}.{a}.weight")
                ballots.append((list(sets(f"{i}.{a}")), None if weight is None else weight.numpy()))
            values, lift = state[f"{i}.values"].numpy(), state[f"{i}.lift"].numpy()
            stages.append(Stage(list(sets(f"{i}.base")) or None, ballots, values, lift))
        stabilities, agreement = state["stabilities"].tolist(), state["agreement"].numpy()
        about = recipe, n_clusters, widths, spreads, stages, stabilities, agreement
        return cls(
            *about,
            support=state.get("support"),
            missing=state["missing"].numpy() if "missing" in state else None,
            completion=_completion_of(state, [pair[0] for pair in widths]),
            weights=state.get("weights"),
            cut=bool(state.get("cut", False)),
            linear=state.get("linear"),
            ends=state.get("ends"),
        )


def side_by_side(views: Sequence[Tensor]) -> Array:
    """Prepared views (n, r_a) side by side, divided by the root of their number: (n, r)."""
    return (torch.cat(list(views), 1).double() / len(views) ** 0.5).cpu().numpy()


def with_ballot(blocks: Sequence[Block], rows: Array) -> Iterator[Block]:
    """The blocks with the rows (n, q) of a ballot beside each, one after the other."""
    more = torch.as_tensor(rows).to(blocks[0].parts[0])
    return (block.beside(more) for block in blocks)


def _rows(blocks: Iterable[Block], sets: Sequence[AnchorSets], recipe: SpectralRecipe) -> Matrix:
    pairs = [
        (rows_on(s, block.x, recipe.n_neighbors), block.weight) for s, block in zip(sets, blocks)
    ]
    return average(*zip(*pairs))


def _first(sets: AnchorSets, count: int) -> AnchorSets:
    return dataclasses.replace(sets, u=sets.u[:count], scale=sets.scale[:count])


def _lift_of_first(sets: Sequence[AnchorSets], lift: Array, count: int) -> Array:
    """The rows of a lift (M, K) that belong to the first sets of each block, in new units.

    A factor is divided by the root of the number of its sets, so these become larger.
    """
    ends = np.cumsum([s.scale.numel() for s in sets])
    parts = []
    for s, rows in zip(sets, np.split(lift, ends[:-1])):
        t, m = s.scale.shape
        parts.append(np.sqrt(t / min(t, count)) * rows[: count * m])
    return np.concatenate(parts)


def _completion_state(found: Completion) -> dict[str, Any]:
    """By name what `_completion_of` needs."""
    out = {name: getattr(found, name) for name in _FILLING}
    out |= {name: getattr(found.directions, name) for name in _DIRECTIONS}
    out |= {f"map.{a}": weight for a, weight in enumerate(found.maps)}
    return {f"completion.{name}": value for name, value in out.items()}


def _completion_of(state: dict[str, Tensor], widths: Sequence[int]) -> Completion | None:
    start = "completion."
    parts = {k.removeprefix(start): x.numpy() for k, x in state.items() if k.startswith(start)}
    if not parts:
        return None
    directions = Directions(**{name: parts[name] for name in _DIRECTIONS}, widths=tuple(widths))
    maps = [parts[f"map.{a}"] for a in range(len(widths))]
    return Completion(**{name: parts[name] for name in _FILLING}, directions=directions, maps=maps)


def _sets_state(name: str, sets: Sequence[AnchorSets]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for b, one in enumerate(sets):
        out |= {f"{name}.{b}.u": one.u.cpu(), f"{name}.{b}.scale": one.scale.cpu()}
        if one.widths:
            out[f"{name}.{b}.widths"] = np.asarray(one.widths)
    return out
