"""The filter's weights in closed form, and what it does where the cut is unstable."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmac.recipes import CLOSED_FORM
from dmac.spectral_filter import column_weights, filtered, n_columns, unit_rows


def recipe(**changes):
    return dataclasses.replace(CLOSED_FORM, **changes)


def test_weights_are_those_of_the_equation():
    values = np.array([1.0, 0.9, 0.7, 0.6, 0.2])
    found = column_weights(values, 3, recipe(filter_power=2.0, filter_offset=0.5))
    gaps = np.array([0.3, 0.1, 0.3, 0.4, 0.8])  # the first at the place of the third
    np.testing.assert_allclose(found / found[1], (0.1 + 0.2) ** 2 / (gaps + 0.2) ** 2)
    cut = recipe(filter="cut")
    np.testing.assert_array_equal(column_weights(values, 3, cut), [1, 1, 1, 0, 0])


@given(
    values=st.lists(st.floats(0, 1), min_size=4, max_size=12),
    c=st.integers(2, 12),
    power=st.floats(0.5, 4),
    offset=st.floats(0.01, 2),
)
def test_weights_fall_with_the_eigenvalue(values, c, power, offset):
    values = np.array([1.0, *sorted(values, reverse=True)])
    found = column_weights(values, c, recipe(filter_power=power, filter_offset=offset))
    assert np.isfinite(found).all() and (found > 0).all() and found.max() == 1
    assert (np.diff(found[1:]) <= 1e-12).all()
    assert found[0] == found[min(c, len(values)) - 1]


def test_numbers_of_columns():
    assert n_columns(1000, 10, recipe()) == 30
    assert n_columns(1000, 68, recipe()) == 118  # c and fifty more
    assert n_columns(20, 10, recipe()) == 18  # what Lanczos can give
    assert n_columns(1000, 10, recipe(filter="cut")) == 10


def test_order_of_two_near_eigenvalues_decides_for_the_cut_and_not_for_the_filter():
    rng = np.random.default_rng(0)
    u = np.linalg.qr(rng.normal(size=(40, 4)))[0]
    swapped = u[:, [0, 1, 3, 2]]  # the third and the fourth change places
    values = np.array([1, 0.9, 0.8, 0.8 - 1e-9])

    def angles(u, r):
        z = filtered(u, values, 3, r)
        return z @ z.T

    gap = np.abs(angles(u, recipe()) - angles(swapped, recipe())).max()
    cut = np.abs(angles(u, recipe(filter="cut")) - angles(swapped, recipe(filter="cut"))).max()
    assert gap < 1e-6 and cut > 0.5


def test_rows_have_unit_length_or_are_zero():
    u = np.array([[3.0, 4.0], [0, 0]])
    np.testing.assert_allclose(unit_rows(u), [[0.6, 0.8], [0, 0]])
    u = np.random.default_rng(1).normal(size=(30, 5))
    rows = filtered(u, np.linspace(1, 0, 5), 3, recipe())
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1)


def test_offset_must_be_positive():
    with pytest.raises(ValueError, match="filter_offset is 0"):
        recipe(filter_offset=0.0)
