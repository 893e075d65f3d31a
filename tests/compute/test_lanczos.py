"""Block Lanczos finds the eigenpairs that LAPACK finds, repeated ones too."""

from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmac.compute.lanczos import leading_eigenpairs


def symmetric(values, seed=0):
    """A symmetric matrix with some eigenvalues."""
    q = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    return (q * values) @ q.T


def assert_leading(matrix, values, count):
    """The eigenpairs; returned is how many vectors the matrix was multiplied by."""
    product = Mock(wraps=matrix.__matmul__)
    theta, u = leading_eigenpairs(product, len(matrix), count, 1e-9, np.random.default_rng(0))
    np.testing.assert_allclose(theta, np.sort(values)[::-1][:count], atol=1e-9)
    np.testing.assert_allclose(u.T @ u, np.eye(count), atol=1e-9)
    np.testing.assert_allclose(matrix @ u, u * theta, atol=1e-7)
    return sum(x.shape[1] for (x,), _ in product.call_args_list)


@given(st.integers(2, 90), st.integers(1, 40), st.integers(0, 9))
def test_eigenpairs_are_those_of_a_dense_solver(n, count, seed):
    values = np.random.default_rng(seed).uniform(-1, 1, n)
    assert_leading(symmetric(values, seed), values, min(count, n - 1))


@pytest.mark.parametrize(
    "values",
    [
        np.r_[np.ones(20), np.zeros(100)],
        np.repeat([1.0, 0.5, 0.25, 0.1], 30),
        np.zeros(120),
        np.r_[np.linspace(1, 0.5, 6), np.zeros(114)],  # fewer than are asked for
    ],
)
def test_eigenvalues_that_come_more_often_than_a_block_has_vectors(values):
    assert_leading(symmetric(values), values, 25)


def test_a_restart_keeps_what_was_found():
    values = np.linspace(0, 1, 900) ** 0.5  # no gap: many blocks are needed
    assert assert_leading(np.diag(values), values, 12) > 2 * (4 * 12 + 20 * 8)
