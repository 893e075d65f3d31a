"""Eigenpairs in blocks against LAPACK's: copies, small matrices, residuals, the same bits."""

import numpy as np
import pytest

from dmac.compute.krylov import _corrected, largest_eigenpairs

SIZE, COUNT = 700, 20


def operator(values, seed=0, size=SIZE):
    """A dense symmetric matrix with given leading eigenvalues and a bulk below, as a product."""
    rng = np.random.default_rng(seed)
    q = np.linalg.qr(rng.standard_normal((size, size)))[0]
    whole = np.concatenate([values, np.linspace(0.1, 0, size - len(values))])
    matrix = (q * whole) @ q.T
    single = matrix.astype(np.float32)
    seen = []

    def product(x):
        seen.append(x.dtype)
        return (single if x.dtype == np.float32 else matrix) @ x

    return matrix, q, product, seen


@pytest.mark.parametrize(
    "values, most",
    [
        (np.linspace(1, 0.2, 30), 20),
        (np.concatenate([np.ones(6), np.full(9, 0.5), np.linspace(0.3, 0.1, 15)]), 20),
        (np.ones(3), 100),  # the others are within the bulk, one close to the next
    ],
    ids=["spread", "copies", "in the bulk"],
)
def test_pairs_are_those_of_lapack(values, most):
    matrix, _, product, seen = operator(values)
    found, vectors = largest_eigenpairs(product, np.empty((SIZE, 0)), COUNT)
    expected = np.linalg.eigvalsh(matrix)[::-1][:COUNT]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    residual = np.linalg.norm(matrix @ vectors - vectors * found, axis=0)
    assert (residual <= 5.1e-8 * found).all()
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(COUNT), atol=1e-12)
    # One product in double precision; of the corrections, of four products each, one or two.
    assert seen.count(np.float64) == 1 and len(seen) < most


def test_known_vectors_are_left_out():
    matrix, q, product, _ = operator(np.concatenate([np.ones(4), np.linspace(0.9, 0.3, 20)]))
    found, vectors = largest_eigenpairs(product, q[:, :3], COUNT)
    np.testing.assert_allclose(found[:2], [1, 0.9], atol=1e-12)
    np.testing.assert_allclose(q[:, :3].T @ vectors, 0, atol=1e-12)
    residual = np.linalg.norm(matrix @ vectors - vectors * found, axis=0)
    assert (residual <= 5.1e-8 * found).all()


@pytest.mark.parametrize("size", [12, 24 * 16 + 1 + 2 * 16])  # the last of which a basis is no less
def test_small_matrices_are_solved_whole(size):
    matrix, q, product, seen = operator(np.linspace(1, 0.5, 10), size=size)
    found, vectors = largest_eigenpairs(product, q[:, :1], COUNT)
    assert set(seen) == {np.dtype(float)}
    exact = np.linalg.eigvalsh(matrix)[::-1][1 : COUNT + 1]
    np.testing.assert_allclose(found[: len(exact)], exact, atol=1e-12)
    np.testing.assert_allclose(matrix @ vectors, vectors * found, atol=1e-12)
    assert not found[len(exact) :].any() and not vectors[:, size - 1 :].any()
    assert vectors.shape == (size, COUNT)


def test_fewer_eigenvalues_than_are_wanted():
    rng = np.random.default_rng(1)
    q = np.linalg.qr(rng.standard_normal((SIZE, 5)))[0]
    matrix = (q * [1, 0.8, 0.8, 0.5, 0.01]) @ q.T
    found, vectors = largest_eigenpairs(lambda x: matrix @ x, np.empty((SIZE, 0)), COUNT)
    np.testing.assert_allclose(found, [1, 0.8, 0.8, 0.5, 0.01] + 15 * [0], atol=1e-10)
    np.testing.assert_allclose(q @ (q.T @ vectors[:, :5]), vectors[:, :5], atol=1e-8)


def test_large_corrections_are_not_trusted_to_single_precision():
    values = np.linspace(1, 0.5, COUNT + 4)
    matrix, _, product, seen = operator(values)
    start = np.random.default_rng(3).standard_normal((SIZE, COUNT + 16), np.float32)
    found, vectors = _corrected(product, np.empty((SIZE, 0)), start, COUNT, 1e-8)
    np.testing.assert_allclose(found, values[:COUNT], atol=1e-12)
    residual = np.linalg.norm(matrix @ vectors - vectors * found, axis=0)
    assert (residual <= 1.1e-8 * found).all() and seen.count(np.float64) > 1


def test_the_same_bits_again():
    product = operator(np.linspace(1, 0.2, 30))[2]
    first, second = (largest_eigenpairs(product, np.empty((SIZE, 0)), COUNT) for _ in range(2))
    for one, other in zip(first, second):
        np.testing.assert_array_equal(one, other)


def test_more_copies_than_a_basis_is_cut_to():
    """Forty pairs, most of them copies, by a basis that has to be cut."""
    values = np.concatenate([np.repeat([1, 0.9, 0.8], 12), np.linspace(0.7, 0.6, 160)])
    matrix, _, product, _ = operator(values, size=900)
    found, _ = largest_eigenpairs(product, np.empty((900, 0)), 150)
    np.testing.assert_allclose(found, np.linalg.eigvalsh(matrix)[::-1][:150], atol=1e-11)
