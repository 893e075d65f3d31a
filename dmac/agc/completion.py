r"""What a sample lacks, filled in from what the others have: for the graphs of all views together.

The graph of one view needs nothing that is missing: a sample without the view has no edges there.
The graph of all views side by side compares whole rows. Where few samples are whole, a row of zeros
must not stand for a view that is missing, or samples would look alike because they lack the same
views. So the missing rows are filled in, in closed form, by what is known of a sample: filtered
eigenvectors of the average of the single views' graphs, and scores of a shrunken singular value
decomposition that knows what is missing. Rows inferred from little information are short, that is,
near the centre.

Chapter 12 of the book derives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.linalg import eigh
from sklearn.metrics import normalized_mutual_info_score
from torch import Tensor

from dmac._types import Array, Flags, Floats
from dmac._warn import warn
from dmac.agc.blocks import in_one, patterns
from dmac.data.linalg import signed
from dmac.data.whitening import RowNormalizer

# Rounds of the decomposition, and the largest factor by which a direction is kept: where nothing is
# left over, a view that is missing would have no bound.
_ROUNDS = 5
_MAX_KEPT = 0.999
# The ridge of the maps, in units of the mean of the diagonal.
_RIDGE = 0.1
# Permutations of the pattern, and by how much its mutual information must exceed all of theirs.
_PERMUTATIONS = 20
_MIN_EXCESS = 0.05


def is_needed(present: Flags) -> bool:
    """Whether fewer than half of the samples have all views.

    With more, the anchors of the joint graphs come from whole samples, and the others are compared
    in what they have (:func:`dmac.agc.anchor_sets.draw_sets`).
    """
    return 2 * int(present.all(1).sum()) < len(present)


def with_graphs(present: Flags, n_neighbors: int) -> Flags:
    """The views that enough samples have for a graph of their own: (n, v) -> (v,), bool."""
    return present.sum(0) >= 2 * (n_neighbors + 1)


@dataclass(frozen=True)
class Directions:
    """Leading directions of views side by side, found from the rows that are there.

    Attributes
    ----------
    mean : numpy.ndarray of shape (r,)
    components : numpy.ndarray of shape (r, q)
        Orthonormal columns.
    kept : numpy.ndarray of shape (q,)
        What a filled row keeps of each direction, from 0 to 1.
    widths : tuple of v int
        Columns of each view.
    """

    mean: Floats
    components: Floats
    kept: Floats
    widths: tuple[int, ...]

    def scores(self, views: Sequence[Tensor], present: Flags) -> Floats:
        r"""Coordinates of samples by the views that they have, :eq:`eq:fill-scores`: (n, q).

        What is missing is filled in by the directions themselves. That has a fixed point: with
        :math:`A_o = V_o^T V_o` over the columns o that are there and :math:`D` the diagonal of
        ``kept``,

        .. math:: t = (I - D + A_o D)^{-1} V_o^T (x_o - \mu_o),

        which is :math:`V^T (x - \mu)` for a whole sample.

        Parameters
        ----------
        views : list of v tensors of shape (n, r_a)
        present : numpy.ndarray of shape (n, v), bool
        """
        v = self.components
        t = ((in_one(views) - self.mean) * self._columns(present)) @ v
        identity = np.eye(len(self.kept))
        for pattern, rows in patterns(present):
            if not pattern.all():
                observed = v[self._columns(pattern)]
                t[rows] = np.linalg.solve(
                    identity + (observed.T @ observed - identity) * self.kept, t[rows].T
                ).T
        return t

    def filled(self, views: Sequence[Tensor], present: Flags, t: Array) -> Floats:
        """The views side by side, what is missing filled in: (n, r)."""
        guess = self.mean + (t * self.kept) @ self.components.T
        return np.where(self._columns(present), in_one(views), guess)

    def _columns(self, present: Flags) -> Flags:
        """From views to their columns: (..., v) -> (..., r)."""
        return np.repeat(present, self.widths, axis=-1)


def shrunken_svd(
    views: Sequence[Tensor], present: Flags, rank: int, rounds: int = _ROUNDS
) -> Directions:
    r"""Leading directions of views side by side, of which some rows are missing.

    A round fills in what is missing, :math:`\mu + V D t` with the scores t of a sample, and takes
    the mean and the leading directions V anew, with :math:`D_j = \max(1 - s_{q+1}^2 / s_j^2, 0)`:
    a direction that stands out little from those that are left over fills in little. With nothing
    missing one round is the singular value decomposition of the centred rows.

    Parameters
    ----------
    views : list of v tensors of shape (n, r_a)
    present : numpy.ndarray of shape (n, v), bool
    rank : int
        q; at most one less than all columns.
    rounds : int

    Returns
    -------
    Directions
    """
    widths = tuple(x.shape[1] for x in views)
    n, r = len(present), sum(widths)
    q = max(1, min(rank, r - 1))
    observed = np.repeat(present, widths, axis=1)
    mean = (in_one(views) * observed).sum(0) / np.maximum(observed.sum(0), 1)
    directions, t = Directions(mean, np.zeros((r, q)), np.zeros(q), widths), np.zeros((n, q))
    for _ in range(1 if present.all() else rounds):
        x = directions.filled(views, present, t) - directions.mean
        shift = x.sum(0) / n
        squares, v = eigh(
            x.T @ x / n - np.outer(shift, shift), subset_by_index=[max(0, r - q - 1), r - 1]
        )
        squares, v = squares[::-1].clip(0), v[:, ::-1][:, :q]
        left = squares[q] if len(squares) > q else 0.0
        kept = np.clip(1 - left / np.maximum(squares[:q], 1e-300), 0, _MAX_KEPT)
        directions = Directions(directions.mean + shift, v, kept, widths)
        t = directions.scores(views, present)
    return replace(directions, components=signed(directions.components.T).T)


def ridge_map(f: Array, x: Tensor, present: Flags, ridge: float = _RIDGE) -> Floats:
    r"""The map from what is known of samples to a view, :eq:`eq:fill-map`: (q, r_a).

    .. math:: (F^T P F + \rho \bar\mu I)^{-1} F^T P X,

    where P picks the samples that have the view, and :math:`\bar\mu` is the mean of the diagonal
    of :math:`F^T P F`. The ridge makes it short where F says little.

    Parameters
    ----------
    f : numpy.ndarray of shape (n, q)
    x : torch.Tensor of shape (n, r_a)
    present : numpy.ndarray of shape (n,), bool
    ridge : float
        :math:`\rho`.
    """
    q = f.shape[1]
    f = f[present]
    moments = f.T @ np.hstack([f, in_one([x])[present]])
    gram = moments[:, :q] + ridge * np.trace(moments[:, :q]) / q * np.eye(q)
    return np.linalg.solve(gram, moments[:, q:])


@dataclass(frozen=True)
class Completion:
    """Graphs, directions and maps that fill in the views that a fitted or a new sample lacks.

    Attributes
    ----------
    values : numpy.ndarray of shape (K,)
        Eigenvalues of the average of the single views' graphs.
    lift : numpy.ndarray of shape (M, K)
        Its eigenvectors; see :class:`dmac.agc.model.Stage`.
    directions : Directions
        Of the views' first levels.
    maps : list of v numpy.ndarray of shape (K + q + 1, r_a)
        From `ridge_map`.
    own : numpy.ndarray of shape (v,), bool
        The views with graphs of their own.
    silent : numpy.ndarray of shape (v,), bool
        The views that no fitted sample has: they say nothing, and count as present.
    """

    values: Floats
    lift: Floats
    directions: Directions
    maps: list[Floats]
    own: Flags
    silent: Flags

    def filled(self, views: Sequence[Tensor], present: Flags, phi: Array) -> list[Tensor]:
        """Prepared views (n, r_a), what is missing filled in from filtered eigenvectors (n, K)."""
        present = present | self.silent
        return fill_in(views, present, _said(self.directions, views, present, phi), self.maps)


def fit_completion(
    views: Sequence[Tensor],
    first: Sequence[int],
    present: Flags,
    phi: Array,
    rank: int,
) -> tuple[Directions, list[Floats]]:
    """Directions and maps of prepared views (n, r_a), of which ``first`` columns are one level.

    Parameters
    ----------
    views : list of v tensors of shape (n, r_a)
    first : list of v int
        Columns of the first level of each.
    present : numpy.ndarray of shape (n, v), bool
    phi : numpy.ndarray of shape (n, K)
        Filtered eigenvectors.
    rank : int
    """
    levels = [x[:, :width] for x, width in zip(views, first)]
    directions = shrunken_svd(levels, present, rank)
    f = _said(directions, levels, present, phi)
    return directions, [ridge_map(f, x, present[:, a]) for a, x in enumerate(views)]


def _said(directions: Directions, views: Sequence[Tensor], present: Flags, phi: Array) -> Floats:
    """Predictors of missing rows: filtered eigenvectors, scores as unit rows, and 1, (n, q)."""
    levels = [x[:, :width] for x, width in zip(views, directions.widths)]
    t = RowNormalizer(1e-9).transform(directions.scores(levels, present))
    return np.hstack([phi, t, np.ones((len(phi), 1))])


def fill_in(
    views: Sequence[Tensor], present: Flags, f: Array, maps: Sequence[Array]
) -> list[Tensor]:
    """Views (n, r_a) whose missing rows are those that the maps (q, r_a) give of f (n, q).

    They are not scaled to unit length: a short row says how little is known.
    """
    out = []
    for a, (x, weight) in enumerate(zip(views, maps)):
        x, lacking = x.clone(), ~present[:, a]
        x[torch.as_tensor(lacking, device=x.device)] = torch.as_tensor(f[lacking] @ weight).to(x)
        out.append(x)
    return out


def warn_of_patterns(
    present: Flags, labels: Array, n_clusters: int, n_neighbors: int, titles: Sequence[str]
) -> None:
    """Say where what is missing makes the clusters doubtful.

    Parameters
    ----------
    present : numpy.ndarray of shape (n, v), bool
    labels : numpy.ndarray of shape (n,)
    n_clusters, n_neighbors : int
        c and k.
    titles : sequence of v str
        What messages call the views.

    Warns
    -----
    UserWarning
        If fewer than 2 (k + 1) samples have all views; a view has fewer than c samples; or the
        pattern of what is missing predicts the clusters.
    """
    if present.all() or present.shape[1] == 1:
        return
    whole, few = int(present.all(1).sum()), 2 * (n_neighbors + 1)
    if whole < few:
        warn(
            f"{whole} of {len(present)} samples have all views, fewer than {few}: how the views go "
            "together rests on what was filled in. Compare with the clusters of the view that most "
            "samples have"
        )
    for title, count in zip(titles, present.sum(0)):
        if count < n_clusters:
            warn(
                f"{title} has {count} samples, fewer than the {n_clusters} clusters: it can "
                "hardly tell them apart. Leave it out"
            )
    pattern = np.unique(present, axis=0, return_inverse=True)[1].ravel()
    rng = np.random.default_rng(0)
    shared = normalized_mutual_info_score(labels, pattern)
    chance = max(
        normalized_mutual_info_score(labels, rng.permutation(pattern)) for _ in range(_PERMUTATIONS)
    )
    if shared > chance + _MIN_EXCESS:
        warn(
            f"the clusters go with what is missing: their normalised mutual information is "
            f"{shared:.2f}, and at most {chance:.2f} where the pattern is permuted. Either what is "
            "missing depends on the class, or samples were grouped by what they lack"
        )
