"""Squared distances: whole, and the nearest of them in blocks."""

import pytest
import torch
from helpers import assert_matches, problems, random_points
from hypothesis import given

from dmac import reference
from dmac.compute import distances
from dmac.compute.distances import (
    block_distances,
    nearest,
    smallest,
    squared_distances,
)


@given(problems)
def test_distances_match_the_reference(problem):
    n, m, d, seed, _ = problem
    z, u = random_points(n, m, d, seed)
    assert_matches(squared_distances, reference.squared_distances, z, u)
    of_block = block_distances(z.detach(), u.detach(), u.detach().square().sum(1))
    torch.testing.assert_close(of_block, reference.squared_distances(z, u).detach())


@pytest.mark.parametrize("m", [1, 31, 32, 33, 100])
@pytest.mark.parametrize("block", [1, 500, 2**17])
def test_nearest_is_the_least_of_all(m, block, monkeypatch):
    monkeypatch.setitem(distances.BLOCK, "cpu", block)
    z, u = (x.detach() for x in random_points(70, m, 3, m))
    d2, indices = nearest(z, u)
    exact = reference.squared_distances(z, u).min(1)
    assert torch.equal(indices, exact.indices)
    torch.testing.assert_close(d2, exact.values, rtol=0, atol=1e-12)


@pytest.mark.parametrize("m", [6, 100, 192, 282, 383, 384, 900])
def test_smallest_are_those_of_a_full_sort(m):
    d2 = torch.rand(50, m, generator=torch.Generator().manual_seed(m))
    d2[:9] = 2 + d2[:9] * 2e-6  # numbers that their last bits alone tell apart
    d2[9] = 0
    d2[10, -1] = torch.inf
    if m > 9:  # one number more than there are candidates has the same first bits
        d2[11] = 1 + d2[11]
        d2[11, :9] = 0.375 + torch.arange(9, 0, -1) * 2**-24
    values, indices = smallest(d2, 6)
    wanted = d2.sort(1).values[:, :6]
    assert torch.equal(values, wanted) and torch.equal(d2.gather(1, indices), wanted)
    assert all(len(set(row)) == 6 for row in indices.tolist())


def test_of_equal_numbers_the_first_columns_are_the_smallest():
    d2 = torch.full((1, 300), 3.0)
    d2[0, [5, 130, 299, 64, 200, 17]] = 1.0
    assert smallest(d2, 6)[1].tolist() == [[5, 17, 64, 130, 200, 299]]
