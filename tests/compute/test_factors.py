"""Sparse factors side by side, and their products, against dense ones."""

import numpy as np
import pytest
import scipy.sparse
import torch

from dmac.compute import factors, parallel
from dmac.compute.factors import Products, csr_tensor, row_block, side_by_side_factors


def factor(n, m, k, seed=0):
    rng = np.random.default_rng(seed)
    indices = np.sort(np.stack([rng.choice(m, k, replace=False) for _ in range(n)]), 1)
    return scipy.sparse.csr_matrix(
        (rng.random(n * k), indices.ravel(), np.arange(0, n * k + 1, k)), (n, m)
    )


def dense(b):
    return b @ np.eye(b.shape[1])


@pytest.mark.parametrize("n", [9, 0])
def test_side_by_side_is_a_scaled_stack(n):
    a, b = factor(9, 4, 2)[:n], factor(9, 6, 3, 1)[:n]
    found = side_by_side_factors([a, b], [0.5, 2])
    np.testing.assert_array_equal(found.toarray(), np.hstack([0.5 * a.toarray(), 2 * b.toarray()]))
    assert found.indices.dtype == np.int32 and found.nnz == a.nnz + b.nnz
    found.check_format(full_check=True)


def test_columns_beyond_32_bits_are_counted_in_64():
    one = scipy.sparse.csr_matrix(([1.0], [7], [0, 1]), (1, 2**31 - 1))
    assert side_by_side_factors([one, one], [1, 1]).indices.tolist() == [7, 2**31 + 6]


def test_blocks_of_rows_and_tensors_share_the_memory():
    b = factor(10, 7, 3)
    blocks, tensor = [row_block(b, slice(i, i + 5)) for i in (0, 5)], csr_tensor(b)
    b.data *= 2
    together = np.vstack([block.toarray() for block in blocks])
    np.testing.assert_array_equal(together, b.toarray())
    np.testing.assert_array_equal(tensor.to_dense().numpy(), b.toarray())


@pytest.mark.parametrize("copied", [0, 2**24], ids=["in parts", "transposed copy"])
@pytest.mark.parametrize("columns", [1, 5, 70])
def test_products(monkeypatch, copied, columns):
    monkeypatch.setattr(factors, "COPIED", copied)
    b, rng = factor(50, 8, 3), np.random.default_rng(2)
    x, y = rng.standard_normal((50, columns)), rng.standard_normal((8, columns))
    products = Products(b)
    np.testing.assert_allclose(products.forward(y), b.toarray() @ y, atol=1e-13)
    np.testing.assert_allclose(products.back(x), b.toarray().T @ x, atol=1e-13)


@pytest.fixture
def small_blocks(monkeypatch):
    """Every factor counts as one of many samples, and is walked through seven rows at a time."""
    monkeypatch.setattr(parallel, "MANY", 0)
    monkeypatch.setattr(factors, "_ROWS", 7)


@pytest.mark.parametrize("turned", [0, 300, 2**25], ids=["one order", "some rows", "both orders"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 5, 70])
def test_products_of_many_rows(small_blocks, monkeypatch, kind, columns, turned):
    monkeypatch.setattr(factors, "TURNED", turned)
    inner = side_by_side_factors([factor(60, 5, 2), factor(60, 3, 1, 1)], [0.5, 2])
    b = side_by_side_factors([inner, factor(60, 4, 3, 2)], [3, 1])
    b.parts = [(part.astype(np.float32), scale) for part, scale in b.parts]
    rng = np.random.default_rng(2)
    x, y = (rng.standard_normal((n, columns)).astype(kind) for n in (60, 12))
    scale = rng.random(60).astype(kind)
    exact, close = dense(b), {"atol": 1e-13 if kind == np.float64 else 1e-5}
    products = Products(b)
    np.testing.assert_allclose(products.forward(y), exact @ y, **close)
    np.testing.assert_allclose(products.back(x), exact.T @ x, **close)
    some = slice(9, 40)
    np.testing.assert_allclose(products.back(x[some], some), exact[some].T @ x[some], **close)
    squared = exact.T @ (scale[:, None] * (exact @ y))
    np.testing.assert_allclose(products.square(y, scale), squared, **close)
    assert products.forward(y).dtype == kind and products.square(y, scale).dtype == float


def test_factors_of_many_rows_are_not_copied(small_blocks):
    a, b = factor(9, 4, 2).astype(np.float32), factor(9, 6, 3, 1).astype(np.float32)
    found = side_by_side_factors([side_by_side_factors([a, b], [0.5, 2]), b], [3, 1])
    assert [part for part, _ in found.parts] == [a, b, b] and found.dtype == np.float32
    expected = np.hstack([1.5 * a.toarray(), 6 * b.toarray(), b.toarray()])
    np.testing.assert_allclose(found @ np.eye(16), expected)


def test_products_do_not_depend_on_the_threads(monkeypatch):
    monkeypatch.setattr(factors, "COPIED", 0)
    b, x = factor(500, 40, 5), np.random.default_rng(0).standard_normal((500, 3))
    before, found = torch.get_num_threads(), []
    try:
        for number in (1, 2, 3):
            torch.set_num_threads(number)
            products = Products(b)
            found.append(np.vstack([products.back(x), products.square(products.back(x), x[:, 0])]))
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)
