"""Lloyd's iterations, in which only what moved is compared again.

After the first pass most anchors stay where they are: no sample came to them or left. A sample
whose anchor stayed can only change to an anchor that moved, so it is compared with those alone. The
result is that of comparing all with all, for a part of the work that shrinks from pass to pass.

The page on costs in the record of the book says why, and counts what is left to compare.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dmac.compute.distances import nearest
from dmac.compute.threads import row_slices

# With more than this share of the anchors moved, all samples are compared with all anchors.
_ALL = 0.7
# Samples at a time, whose copies are small beside all of them.
_ROWS = 2**16


def lloyd(
    x: Tensor,
    centres: Tensor,
    max_iter: int,
    threshold: float | Tensor,
    assigned: Tensor | None = None,
    *,
    relocate: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Lloyd's iterations from given centres.

    Parameters
    ----------
    x : torch.Tensor of shape (n, d)
    centres : torch.Tensor of shape (m, d)
    max_iter : int
    threshold : float or torch.Tensor of shape ()
        The iterations end when the centres' squared moves sum to no more than this.
    assigned : torch.Tensor of shape (n,), int64, optional
        An assignment; if the first pass finds the same, nothing is left to do.
    relocate : bool
        Move a centre without samples to the sample farthest from its own; else it stays.

    Returns
    -------
    centres : torch.Tensor of shape (m, d)
    assigned : torch.Tensor of shape (n,), int64, or None
        The centre of every sample in the last pass; as given if there was no pass.
    """
    before = centres
    known: tuple[Tensor, Tensor] | None = None
    for _ in range(max_iter):
        d2, indices = known = _reassign(x, centres, before, known)
        if assigned is not None and torch.equal(indices, assigned):
            break
        assigned = indices
        moved, counts = means(x, assigned, centres)
        if relocate:
            moved = _relocate(x, d2, moved, (counts == 0).nonzero()[:, 0])
        shift = (moved - centres).square().sum()
        before, centres = centres, moved
        if shift <= threshold:
            break
    return centres, assigned


def means(x: Tensor, assigned: Tensor, centres: Tensor) -> tuple[Tensor, Tensor]:
    """The mean (m, d) of every anchor's samples, and how many they are; without any it stays."""
    counts = torch.bincount(assigned, minlength=len(centres))[:, None]
    sums = torch.zeros_like(centres).index_add_(0, assigned, x)
    return torch.where(counts > 0, sums / counts.clamp_min(1), centres), counts[:, 0]


def _reassign(
    x: Tensor, centres: Tensor, before: Tensor, known: tuple[Tensor, Tensor] | None
) -> tuple[Tensor, Tensor]:
    """Every sample's nearest centre and its squared distance, from those to the centres before.

    Let j be a sample's nearest centre before, at distance d. No centre that stayed is nearer than
    d. So if j stayed, or came no farther than d, only centres that moved have to be compared; else
    all.
    """
    moved = (centres != before).any(1)
    if known is None or moved.sum() > _ALL * len(centres):
        return nearest(x, centres)
    d2, indices = known[0].clone(), known[1].clone()
    if moved.any():
        among = moved.nonzero()[:, 0]
        for rows in row_slices(len(x), _ROWS):
            _compare(x[rows], centres, moved, among, d2[rows], indices[rows])
    return d2, indices


def _compare(
    x: Tensor, centres: Tensor, moved: Tensor, among: Tensor, d2: Tensor, indices: Tensor
) -> None:
    """`_reassign` for some samples: their distances and centres are overwritten."""
    own = moved[indices].nonzero()[:, 0]
    now = (x[own] - centres[indices[own]]).square().sum(1)
    farther = own[now > d2[own]]
    d2[own] = now
    to_moved, place = nearest(x, centres[among])
    closer = (to_moved < d2).nonzero()[:, 0]
    d2[closer], indices[closer] = to_moved[closer], among[place[closer]]
    if len(farther):
        d2[farther], indices[farther] = nearest(x[farther], centres)


def _relocate(x: Tensor, d2: Tensor, centres: Tensor, empty: Tensor) -> Tensor:
    """Centres, of which the empty ones move to the samples farthest from their anchors."""
    if not len(empty):
        return centres
    far = torch.topk(d2, min(len(empty), len(x)))
    indices = far.indices[far.values > 0]
    moved = centres.clone()
    moved[empty[: len(indices)]] = x[indices]
    return moved
