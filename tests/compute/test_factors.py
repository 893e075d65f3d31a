"""Sparse factors side by side, and their products, against dense ones."""

import numpy as np
import pytest
import scipy.sparse

from dmac.compute.factors import Products, csr_tensor, side_by_side_factors


def factor(n, m, k, seed=0):
    rng = np.random.default_rng(seed)
    indices = np.sort(np.stack([rng.choice(m, k, replace=False) for _ in range(n)]), 1)
    return scipy.sparse.csr_matrix(
        (rng.random(n * k), indices.ravel(), np.arange(0, n * k + 1, k)), (n, m)
    )


def test_columns_beyond_32_bits_are_counted_in_64():
    one = scipy.sparse.csr_matrix(([1.0], [7], [0, 1]), (1, 2**31 - 1))
    assert side_by_side_factors([one, one], [1, 1]).indices.tolist() == [7, 2**31 + 6]


def test_tensors_share_the_memory():
    b = factor(10, 7, 3)
    tensor = csr_tensor(b)
    b.data *= 2
    np.testing.assert_array_equal(tensor.to_dense().numpy(), b.toarray())


@pytest.mark.parametrize("columns", [1, 5, 70])
def test_products(columns):
    b, rng = factor(50, 8, 3), np.random.default_rng(2)
    x, y = rng.standard_normal((50, columns)), rng.standard_normal((8, columns))
    products = Products(b)
    np.testing.assert_allclose(products.forward(y), b.toarray() @ y, atol=1e-13)
    np.testing.assert_allclose(products.back(x), b.toarray().T @ x, atol=1e-13)
