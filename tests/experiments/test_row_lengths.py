"""Generated groups that differ by length: what they are, and that the stored numbers are theirs."""

import json

import numpy as np
import pytest

from experiments import row_lengths

STORED = json.loads(row_lengths.FILE.read_text(encoding="utf-8"))


def test_kinds_are_what_they_say():
    for kind, (_, dims, c, n, sizes) in (row_lengths.BY_LENGTH | row_lengths.NUISANCE).items():
        views, y = row_lengths.generate(kind, sizes[-1], 0)
        again, same = row_lengths.generate(kind, sizes[-1], 0)
        assert [x.shape for x in views] == [(n, d) for d in dims] and min(map(np.min, views)) >= 0
        assert np.bincount(y).tolist() == [n // c] * c
        np.testing.assert_array_equal(
            [*map(np.sum, views), y.sum()], [*map(np.sum, again), same.sum()]
        )
        totals = [[x[y == k].sum() for k in range(c)] for x in views]
        if kind in row_lengths.BY_LENGTH:
            assert all(np.all(np.diff(x) > 0) for x in totals)
    one, other = row_lengths.generate("profiles", 0.01, 0, together=True)[0]
    assert np.corrcoef([np.log(x.mean(1)) for x in (one, other)])[0, 1] > 0.99


@pytest.mark.parametrize("kind, size", [("items of agreement", 1.0), ("profiles", 0.3)])
def test_stored_accuracies_are_made_again(kind, size):
    (stored,) = [
        one
        for one in STORED["generated"]
        if (one["kind"], one["size"], one["together"]) == (kind, size, False)
    ]
    found = row_lengths.accuracies(*row_lengths.generate(kind, size, 0), 0)
    for name, accuracy in found.items():  # of another processor perhaps
        assert accuracy == pytest.approx(stored[name][0], abs=3)
