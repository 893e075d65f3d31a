"""Squared distances between two sets of points, whole or block by block.

Chapter 4 of the book shows what they are for and how they keep their digits.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch
from torch import Tensor

from dmac.compute.threads import map_parts, row_slices

#: Distances in one block: on a processor, what stays in its cache; a GPU has to be filled.
BLOCK = {"cpu": 2**17, "cuda": 2**24}
# How much larger it may be on a processor where it is only searched: fewer operations, for which
# threads wait.
_SEARCHED = 8
# Numbers that NumPy sorts at once, and candidates for the smallest beyond those asked for.
_SORTED = 128
_SPARE = 2


def squared_distances(z: Tensor, u: Tensor) -> Tensor:
    r"""The squared distances :math:`d_{ij} = \|z_i - u_j\|^2` of :eq:`eq:row-problem`.

    By the Gram identity :math:`\|z_i\|^2 - 2 z_i^T u_j + \|u_j\|^2`, a matrix product: (n, d) and
    (m, d) give (n, m), non-negative and differentiable in both, with no n x m x d tensor between.
    Both point sets are first moved by the mean of the anchors, which changes no distance but keeps
    the digits: in an embedding that has collapsed to a spread of 1e-3 around a unit vector the
    plain identity loses the distances to cancellation.
    """
    centre = u.detach().mean(0)
    z, u = z - centre, u - centre
    d2 = torch.addmm(u.square().sum(1), z, u.T, alpha=-2)
    norms = z.square().sum(1, keepdim=True)
    if d2.requires_grad:
        return (d2 + norms).clamp_min(0)
    return d2.add_(norms).clamp_min_(0)  # two passes over n x m less


def row_blocks(n: int, m: int, device: torch.device, searched: bool = False) -> list[slice]:
    """Slices of n rows, such that a block of distances with m columns stays small.

    A block is larger where it is only ``searched``, with no gradient beside it.
    """
    numbers = BLOCK.get(device.type, BLOCK["cuda"]) * (
        _SEARCHED if searched and device.type == "cpu" else 1
    )
    return row_slices(n, max(1, numbers // m))


def block_distances(x: Tensor, y: Tensor, norms: Tensor) -> Tensor:
    """Squared distances of a block of rows, without the shift that keeps the digits.

    (b, d) and (m, d), whose rows have the squared lengths ``norms``, give (b, m), non-negative.
    """
    d2 = torch.addmm(norms, x, y.T, alpha=-2)
    return d2.add_(x.square().sum(1, keepdim=True)).clamp_min_(0)


def smallest(d2: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k smallest of every row (b, m), ascending, and where they are: twice (b, k).

    No entry may be negative. On a processor, NumPy sorts a few whole numbers in its registers, in
    a fraction of the time that PyTorch takes to find small numbers and their places. So the last
    bits of each number give way to its column; a row in which they could have decided is searched
    once more. Of many columns, those are sorted whose groups have the smallest minima.
    """
    m, candidates = d2.shape[1], k + _SPARE
    if d2.device.type != "cpu" or d2.dtype != torch.float32 or candidates >= m:
        values, indices = torch.topk(d2, k, dim=1, largest=False, sorted=True)
        return values, indices
    bits, place = d2.view(torch.int32), _places(m)
    groups = max(_SORTED // 2 if m <= 8 * _SORTED else _SORTED, 2 ** (4 * candidates).bit_length())
    if m <= max(_SORTED, 2 * groups):
        keys, last = (bits & ~place) | torch.arange(m, dtype=torch.int32), None
    else:
        keys, last = _of_groups(bits, groups, candidates)
    keys.numpy().sort(axis=1)
    columns, least = (keys[:, :candidates] & place).long(), keys[:, candidates - 1] & ~place
    values, order = d2.gather(1, columns).sort(dim=1, stable=True)
    values, indices = values[:, :k], columns.gather(1, order[:, :k])
    # What is no candidate is at least as large as the last one is without those bits.
    last = least if last is None else torch.minimum(last, least)
    unsure = values[:, -1].contiguous().view(torch.int32) >= last
    if unsure.any():
        again = torch.topk(d2[unsure], k, dim=1, largest=False, sorted=True)
        values[unsure], indices[unsure] = again.values, again.indices
    return values, indices


def _places(m: int) -> int:
    """The bits that hold one of m numbers."""
    return 2 ** (m - 1).bit_length() - 1


def _of_groups(bits: Tensor, groups: int, candidates: int) -> tuple[Tensor, Tensor]:
    """Keys of the columns of some groups (b, q), and a bound (b,) of what is in the others.

    The ``candidates`` smallest numbers are in as many groups, those with the smallest minima.
    """
    b, m = bits.shape
    rows, place, of_group = -(-m // groups), _places(m), _places(groups)
    whole = (rows - 1) * groups
    lowest = bits[:, :whole].unflatten(1, (rows - 1, groups)).amin(1)
    lowest[:, : m - whole] = torch.minimum(lowest[:, : m - whole], bits[:, whole:])
    lowest.bitwise_and_(~of_group).bitwise_or_(torch.arange(groups, dtype=torch.int32))
    lowest.numpy().sort(axis=1)
    chosen = (lowest[:, :candidates] & of_group).flatten()
    columns, marks = _group_columns(m, groups)
    keys = bits.gather(1, columns.index_select(0, chosen).view(b, -1))
    keys.bitwise_and_(~place).bitwise_or_(marks.index_select(0, chosen).view(b, -1))
    return keys, lowest[:, candidates - 1] & ~of_group


@functools.lru_cache(8)
def _group_columns(m: int, groups: int) -> tuple[Tensor, Tensor]:
    """The columns of every group (groups, rows), and marks: the largest number beyond the last."""
    columns = torch.arange(-(-m // groups)) * groups + torch.arange(groups)[:, None]
    marks = columns.int().masked_fill(columns >= m, torch.iinfo(torch.int32).max)
    return columns.clamp(max=m - 1).contiguous(), marks.contiguous()


def nearest(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Each row's nearest row of another set, with a block of distances at a time.

    (n, d) and (m, d) give the squared distances (n,), without gradient, and the indices (n,).
    """
    n, m = len(x), len(y)
    d2 = x.new_empty(n)
    indices = torch.empty(n, dtype=torch.long, device=x.device)
    norms = y.square().sum(1)

    def search(slices: Sequence[slice]) -> None:
        for rows in slices:
            block = x[rows]
            # ||x||^2 does not change which is nearest.
            d = torch.addmm(norms, block, y.T, alpha=-2)
            least, indices[rows] = d.min(1)
            d2[rows] = least.add_(block.square().sum(1)).clamp_min_(0)
            del d  # before the next block: the same memory is still in the cache

    map_parts(row_blocks(n, m, x.device, searched=True), search, x)
    return d2, indices
