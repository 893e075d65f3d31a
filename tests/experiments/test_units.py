"""What unit rows do to views in units of their own, on data that are made for it."""

import json

import numpy as np
import pytest

import dmac
from experiments import sealed, units


def made(scale, noise=0.02):
    """Two views of groups that differ by the length of rows; ``scale`` multiplies one column."""
    rng, labels = np.random.default_rng(0), np.repeat([0, 1, 2], 40)
    views = [(1 + labels)[:, None] * (1 + noise * rng.normal(size=(120, 5))) for _ in range(2)]
    views = [x * [scale, 1, 1, 1, 1] for x in views]
    return dmac.MultiViewData("made", views, labels, n_clusters=3)


def test_unit_rows_lose_what_the_length_says():
    acc = units.measured("made", load=lambda name: made(1))["acc"]
    assert acc["row lengths alone"] == acc["as given"] == acc["scaled columns"] == 100
    assert acc["unit rows"] < 60


@pytest.mark.parametrize("scale, columns", [(1, 5), (1e9, 1)])
def test_a_column_in_a_large_unit_makes_the_row(scale, columns):
    found = units.measured("made", load=lambda name: made(scale))
    assert found["columns that make 99 %"] == [columns] * 2 and found["columns"] == [5, 5]
    assert found["largest share"] == pytest.approx([1 / columns] * 2, abs=0.01)
    assert units.shares(made(scale).views[0]).sum() == pytest.approx(1)


def test_rows_of_zeros_and_constant_columns_stay_finite():
    x = np.array([[0.0, 0, 7], [3, 4, 7], [6, 1, 7]])
    np.testing.assert_array_equal(units.unit_rows(x[:, :2])[0], 0)
    assert units.scaled_columns(x).shape == (3, 2)


def test_what_is_stored_is_of_the_sets_that_are_shown():
    stored = json.loads(units.FILE.read_text(encoding="utf-8"))
    assert tuple(stored) == units.SHOWN
    for name, about in stored.items():
        assert about["columns"] == list(sealed.SETS[name].columns)
        assert set(about["acc"]) == set(units.FORMS)
