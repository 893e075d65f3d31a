"""The projection by its optimality conditions; the programmes against an independent solver."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from systems import minimum_on_simplex

from dmac.peers._simplex import project_rows, solve_rows

matrices = arrays(
    float,
    st.tuples(st.integers(1, 5), st.integers(1, 8)),
    elements=st.floats(-1e6, 1e6, allow_nan=False),
)


def random_programmes(n, m, rank, seed, ridge=0.01):
    """A Hessian of rank ``rank`` plus a ridge, and n linear terms."""
    generator = np.random.default_rng(seed)
    a = generator.normal(size=(m, rank))
    return a @ a.T + ridge * np.eye(m), generator.normal(size=(n, m))


def value(hessian, linear, z):
    return 0.5 * ((z @ hessian) * z).sum(1) + (linear * z).sum(1)


@given(matrices)
def test_projection_satisfies_its_optimality_conditions(x):
    before = x.copy()
    z = project_rows(x)
    np.testing.assert_array_equal(x, before)
    assert (z >= 0).all()
    np.testing.assert_allclose(z.sum(1), 1, atol=1e-12)
    # x - z is one number where z > 0, and nowhere larger.
    slack = np.where(z > 0, x - z, -np.inf).max(1, keepdims=True) - (x - z)
    assert (slack >= -1e-9 * (1 + np.abs(x).max())).all()
    assert np.abs(slack[z > 0]).max() <= 1e-9 * (1 + np.abs(x).max())


def test_projection_on_a_support_is_that_of_the_part():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(30, 9))
    support = generator.random(x.shape) < 0.5
    support[:, 4] = True
    x[0, 4] = 1e300
    z = project_rows(x, support)
    assert (z[~support] == 0).all()
    for row, mask, got in zip(x, support, z):
        np.testing.assert_allclose(got[mask], project_rows(row[None, mask])[0], atol=1e-14)


@pytest.mark.parametrize(("m", "rank", "seed"), [(2, 2, 0), (5, 5, 1), (9, 3, 2), (12, 12, 3)])
def test_programmes_agree_with_sequential_quadratic_programming(m, rank, seed):
    hessian, linear = random_programmes(6, m, rank, seed)
    found = solve_rows(hessian, linear, tol=1e-10)
    for g, z in zip(linear, found.z):
        other = minimum_on_simplex(
            lambda z: 0.5 * z @ hessian @ z + g @ z, m, jac=lambda z: hessian @ z + g
        )
        ours = value(hessian, g[None], z[None])[0]
        assert ours <= value(hessian, g[None], other[None])[0] + 1e-8
        np.testing.assert_allclose(z, other, atol=1e-4)


@given(st.integers(0, 2**31 - 1), st.floats(0.01, 100))
def test_a_certified_gap_bounds_the_distance_to_the_minimum(seed, size):
    hessian, linear = random_programmes(8, 10, 10, seed)
    rough = solve_rows(size * hessian, size * linear, tol=1e-2)
    fine = solve_rows(size * hessian, size * linear, tol=1e-12)
    assert (rough.gap <= 1e-2).all()
    above = value(hessian, linear, rough.z) - value(hessian, linear, fine.z)
    inner = hessian - hessian.mean(0) - hessian.mean(0)[:, None] + hessian.mean()
    slopes = hessian.mean(0) + linear
    scale = slopes.mean(1) - slopes.min(1) + np.trace(inner) / 10
    assert (above <= rough.gap * scale + 1e-9).all()


def test_blocks_rows_and_starts_do_not_change_the_solution():
    hessian, linear = random_programmes(1200, 6, 6, 0, ridge=1.0)
    found = solve_rows(hessian, linear, tol=1e-10)
    some = [0, 511, 512, 700, 1199]
    alone = solve_rows(hessian, linear[some], tol=1e-10)
    np.testing.assert_allclose(alone.z, found.z[some], atol=1e-6)
    short = solve_rows(hessian, linear, tol=1e-10, max_iter=3)  # says how far it came
    assert short.iterations == 3 and short.gap.max() > 1e-10 >= found.gap.max()
    np.testing.assert_allclose(short.z.sum(1), 1)
    again = solve_rows(hessian, linear, start=found.z, tol=1e-9)
    assert again.iterations == 0
    np.testing.assert_array_equal(again.z, found.z)


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-12, 1e12])
def test_degenerate_programmes_stay_finite(size):
    linear = size * np.array([[3.0, 1.0, 2.0], [1.0, 1.0, 1.0], [0.0, -5.0, 0.0]])
    found = solve_rows(np.zeros((3, 3)), linear)
    assert np.isfinite(found.z).all() and (found.gap <= 1e-6).all()
    if size > 1e-200:
        # Without a Hessian the solution is the smallest entry.
        np.testing.assert_allclose(found.z[[0, 2]], [[0, 1, 0], [0, 1, 0]])
    # A large constant Hessian matters nowhere on the simplex.
    assert np.isfinite(solve_rows(np.full((3, 3), 1e6 * size), linear).z).all()


def test_on_one_column_there_is_one_solution():
    found = solve_rows(np.array([[2.0]]), np.array([[5.0], [-1.0]]))
    np.testing.assert_array_equal(found.z, [[1], [1]])
