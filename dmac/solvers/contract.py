"""What a solver takes, does and leaves: the contract between the estimators and their solvers.

A fit checks the views, prepares them (:mod:`dmac.solvers.preparing`), solves, and puts the samples
back into their order. Only the solver that a recipe names knows what kind of recipe it is.
"""

from __future__ import annotations

import importlib
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor

from dmac._types import Array, Flags, Floats
from dmac.data.checks import View
from dmac.data.whitening import RowNormalizer
from dmac.recipes import BaseRecipe

#: Called with an epoch's record and a function that embeds the samples as they are now.
Callback: TypeAlias = Callable[[Any, Callable[[], Any]], object]


@dataclass(frozen=True)
class Prepared:
    """Views as a solver takes them, and the way back to the order in which they came.

    Attributes
    ----------
    sources : list of v dmac.data.checks.View
        As they came, (n, d_a); without rows where they were released.
    pipelines : list of v fitted pipelines
    views : list of v tensors, SparseViews or StreamedViews of shape (n, r_a)
        In the order of the fit.
    present : numpy.ndarray of shape (n, v), bool
        Which samples have which views, in the order of the fit; rows of others are zeros in
        ``views``. All True for a solver that takes no samples that lack views.
    order : numpy.ndarray of shape (n,)
        The permutation by which the samples were shuffled.
    device : torch.device
    dtype : torch.dtype
    """

    sources: Sequence[View]
    pipelines: list[Any]
    views: list[Any]
    present: Flags
    order: Array
    device: torch.device
    dtype: torch.dtype

    @property
    def is_part(self) -> bool:
        """Whether there are more samples than those in ``order``."""
        return len(self.order) < self.sources[0].shape[0]

    @property
    def back(self) -> Array:
        """Takes rows in the order of the fit to that of ``sources``."""
        return np.argsort(self.order)


@dataclass(frozen=True)
class Plan:
    """Sizes, steps and approximate cost of a fit, made before it from the number of samples.

    Attributes
    ----------
    recipe : dmac.recipes.BaseRecipe
        That of the fit.
    n_clusters : int
        c.
    n_fitted : int
        How many of the samples are fitted; the others are placed as new ones are.
    n_anchors : int
        m.
    pipelines : list of v pipelines
        Not fitted.
    work : int
        Multiplications of an epoch a sample, about, for the choice of threads.
    n_steps : int
        Steps that are announced, without those of the views.
    epochs : dict of str to int
        Lengths of the phases, by the names of their records.
    """

    recipe: Any
    n_clusters: int
    n_fitted: int
    n_anchors: int
    pipelines: list[Any]
    work: int
    n_steps: int = 0
    epochs: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """The result of a solver, samples in the order of the fit.

    Attributes
    ----------
    labels : numpy.ndarray of shape (n,)
    z : numpy.ndarray of shape (n, d)
    anchors : numpy.ndarray of shape (m, d)
    centers : numpy.ndarray of shape (c, d)
    model : Model
    pretrain_history, history : list
        One record an epoch.
    membership : numpy.ndarray of shape (n, c) or None
        The share of a sample's links in each cluster, of a solver that has a graph of samples.
    """

    labels: Array
    z: Floats
    anchors: Floats
    centers: Floats
    model: Any
    pretrain_history: list[Any] = field(default_factory=list)
    history: list[Any] = field(default_factory=list)
    membership: Array | None = None


class Model(Protocol):
    """What a fit keeps of its solver: it embeds samples, and can be stored."""

    @property
    def device(self) -> torch.device: ...

    @property
    def dtype(self) -> torch.dtype: ...

    def embed_new(self, views: Sequence[Any], present: Flags) -> tuple[Tensor, Array | None]:
        """v prepared views of any number of samples -> Z (n, d), each sample by itself.

        And their memberships (n, c), None where there are none. ``present`` (n, v) marks which
        views they have.
        """

    def state_dict(self) -> Mapping[str, Tensor]:
        """Tensors by name; `Solver.restore` is the inverse."""


class Solver(Protocol):
    """A way from views to labels.

    Parameters
    ----------
    recipe : dmac.recipes.BaseRecipe
        What it is made of.
    """

    recipe: Any
    #: Whether samples may lack views.
    takes_incomplete: bool = False
    #: Whether views may be Dask arrays.
    takes_lazy: bool = False

    def __init__(self, recipe: Any) -> None:
        self.recipe = recipe

    def plan(self, n_samples: int, widths: Sequence[int], n_clusters: int) -> Plan:
        """For a fit of views of those sizes; sizes that do not fit are refused."""

    def solve(
        self,
        prepared: Prepared,
        plan: Plan,
        generator: torch.Generator,
    ) -> Outcome:
        """From prepared views to labels; ``generator``, on the CPU, draws all that is random."""

    def restore(
        self,
        state: dict[str, Tensor],
        pipelines: list[Any],
        n_clusters: int,
        device: torch.device,
        dtype: torch.dtype,
    ) -> Model:
        """A model from its `Model.state_dict` and the fitted pipelines of its views."""


def solver_of(recipe: BaseRecipe) -> Solver:
    """The solver that a recipe names, made of it."""
    module, name = recipe.solver.split(":")
    return getattr(importlib.import_module(module), name)(recipe)


def check_clusters(n_samples: int, n_clusters: Any) -> None:
    """Refuse a number of clusters that is none, or more than the samples."""
    if not isinstance(n_clusters, numbers.Integral) or isinstance(n_clusters, bool):
        advice = ": pass its .n_clusters" * hasattr(n_clusters, "n_clusters")
        raise ValueError(f"n_clusters is {n_clusters!r:.60}, it must be an integer{advice}")
    if int(n_clusters) < 2:
        raise ValueError(f"n_clusters is {n_clusters}, it must be at least 2")
    if n_samples < int(n_clusters):
        raise ValueError(f"n_clusters is {n_clusters}, but there are only {n_samples} samples")


def check_anchors(n_samples: int, n_anchors: int, n_neighbors: int) -> None:
    """Refuse m anchors that are more than the samples, or too few for k neighbours."""
    if n_anchors > n_samples:
        raise ValueError(f"n_anchors is {n_anchors}, but there are only {n_samples} samples")
    if n_anchors <= n_neighbors:
        ways = []
        if n_anchors >= 2:
            ways.append(f"n_neighbors to at most {n_anchors - 1}")
        if n_neighbors < n_samples:
            ways.append(f"n_anchors to at least {n_neighbors + 1}")
        both = f"n_anchors to {n_samples} and n_neighbors to at most {n_samples - 1}"
        raise ValueError(
            f"{n_anchors} anchor{'s are' if n_anchors > 1 else ' is'} too few for {n_neighbors} "
            f"neighbours (k + 1 <= m): set {' or '.join(ways) or both} in the recipe"
        )


def final_rows(z: Array, recipe: BaseRecipe) -> Floats:
    """What the final k-means sees of an embedding (n, d): float64, of unit length if asked for."""
    z = z.astype(np.float64)
    return RowNormalizer(1e-9).transform(z) if recipe.final_unit_rows else z
