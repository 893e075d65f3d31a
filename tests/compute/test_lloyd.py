"""Lloyd's iterations: those that compare all with all, and what they leave out."""

from unittest.mock import Mock

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dmac.compute import lloyd


def plain(x, centres, passes):
    """Every pass compares all with all."""
    for _ in range(passes):
        indices = torch.cdist(x, centres).argmin(1)
        centres = torch.stack(
            [x[indices == j].mean(0) if (indices == j).any() else u for j, u in enumerate(centres)]
        )
    return centres, indices


def points(seed, n, d):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, d, generator=generator, dtype=torch.float64)


@given(st.integers(0, 10**6), st.integers(20, 300), st.integers(1, 6), st.integers(1, 12))
def test_the_iterations_are_those_that_compare_all_with_all(seed, n, d, passes):
    x = points(seed, n, d)
    start = x[-(n // 5 + 1) :]
    centres, assigned = lloyd.lloyd(x, start, passes, -1.0)
    by_all, indices = plain(x, start, passes)
    assert torch.equal(assigned, indices)
    torch.testing.assert_close(centres, by_all)


@pytest.mark.parametrize("rows", [7, 64])
def test_blocks_of_samples_change_nothing(rows, monkeypatch):
    x = points(0, 300, 3)
    whole = lloyd.lloyd(x, x[:40], 30, 0.0)
    monkeypatch.setattr(lloyd, "_ROWS", rows)
    for got, expected in zip(lloyd.lloyd(x, x[:40], 30, 0.0), whole):
        torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("threshold, passes", [(2.0, 1), (1.99, 2)])
def test_it_ends_when_the_squared_moves_sum_to_no_more_than_the_threshold(
    threshold, passes, monkeypatch
):
    seen = Mock(wraps=lloyd._reassign)
    monkeypatch.setattr(lloyd, "_reassign", seen)
    x = torch.tensor([[0.0], [2.0], [10.0], [12.0]])  # both centres move by 1
    centres, _ = lloyd.lloyd(x, x[::2], 9, threshold)
    assert (centres.flatten().tolist(), seen.call_count) == ([1, 11], passes)


def test_duplicate_samples_and_centres_lose_nothing():
    x = points(2, 10, 2).repeat(6, 1)
    centres, assigned = lloyd.lloyd(x, torch.cat([x[:10], x[:3]]), 20, 0.0)
    torch.testing.assert_close(centres[assigned], x)


def test_a_centre_without_samples_moves_to_the_farthest_one_if_it_shall():
    x = torch.tensor([[0.0], [0.1], [5.0], [5.1], [20.0]])
    start = torch.tensor([[0.0], [5.0], [100.0]])
    stays, _ = lloyd.lloyd(x, start, 10, 0.0)
    moves, _ = lloyd.lloyd(x, start, 10, 0.0, relocate=True)
    unmoved, assigned = lloyd.lloyd(x, start, 0, 0.0)  # without a pass
    assert stays[2, 0] == 100 and torch.equal(unmoved, start) and assigned is None
    torch.testing.assert_close(moves.sort(0).values[:, 0], torch.tensor([0.05, 5.05, 20.0]))
    # No more than there are samples, and none to a sample that a centre is at.
    start = torch.tensor([[0.0], [7.0], [8.0], [9.0]])
    found, _ = lloyd.lloyd(torch.tensor([[0.0], [1.0]]), start, 1, 0.0, relocate=True)
    assert found.flatten().tolist() == [0.5, 1, 8, 9]
