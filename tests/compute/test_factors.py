"""Sparse factors side by side, and their products, against dense ones."""

import numpy as np
import pytest
import scipy.sparse
import torch

from dmac.averaged_graph import AveragedGraph, draw_sets
from dmac.compute import factors
from dmac.compute.factors import Products, csr_tensor, side_by_side_factors, transposed_parts


def factor(n, m, k, seed=0):
    rng = np.random.default_rng(seed)
    indices = np.sort(np.stack([rng.choice(m, k, replace=False) for _ in range(n)]), 1)
    return scipy.sparse.csr_matrix(
        (rng.random(n * k), indices.ravel(), np.arange(0, n * k + 1, k)), (n, m)
    )


def test_side_by_side_is_a_scaled_stack():
    a, b = factor(9, 4, 2), factor(9, 6, 3, 1)
    found = side_by_side_factors([a, b], [0.5, 2])
    np.testing.assert_array_equal(found.toarray(), np.hstack([0.5 * a.toarray(), 2 * b.toarray()]))
    assert found.indices.dtype == np.int32 and found.nnz == a.nnz + b.nnz
    found.check_format(full_check=True)


def test_no_rows_stay_none():
    found = side_by_side_factors([factor(9, 4, 2)[:0], factor(9, 6, 3)[:0]], [1, 1])
    assert found.shape == (0, 10) and found.nnz == 0
    found.check_format(full_check=True)


@pytest.mark.parametrize("count", [1, 4, 12])
def test_transposed_parts_share_the_memory(count):
    b = factor(10, 7, 3)
    parts = transposed_parts(b, count)
    assert all(part.nnz == 0 or np.shares_memory(part.data, b.data) for _, part in parts)
    together = np.hstack([part.toarray() for _, part in parts])
    np.testing.assert_array_equal(together, b.toarray().T)
    assert [rows.start for rows, _ in parts[1:]] == [rows.stop for rows, _ in parts[:-1]]


@pytest.mark.parametrize("copied", [0, 2**24], ids=["in parts", "transposed copy"])
@pytest.mark.parametrize("columns", [1, 5])
def test_products(monkeypatch, copied, columns):
    monkeypatch.setattr(factors, "COPIED", copied)
    b, rng = factor(50, 8, 3), np.random.default_rng(2)
    x, y = rng.standard_normal((50, columns)), rng.standard_normal((8, columns))
    products = Products(b)
    np.testing.assert_allclose(products.forward(y), b.toarray() @ y, atol=1e-13)
    np.testing.assert_allclose(products.back(x), b.toarray().T @ x, atol=1e-13)


def test_products_do_not_depend_on_the_threads(monkeypatch):
    monkeypatch.setattr(factors, "COPIED", 0)
    b, x = factor(500, 40, 5), np.random.default_rng(0).standard_normal((500, 3))
    before, found = torch.get_num_threads(), []
    try:
        for number in (1, 2, 3):
            torch.set_num_threads(number)
            found.append(Products(b).back(x))
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


def test_csr_tensor_shares_the_memory():
    b = factor(6, 5, 2)
    tensor = csr_tensor(b)
    b.data *= 2
    np.testing.assert_array_equal(tensor.to_dense().numpy(), b.toarray())


def test_a_large_graph_has_the_eigenpairs_of_a_small_one(generator, monkeypatch):
    """Without a transposed copy, and with its connected parts sought block by block."""
    x = torch.randn(300, 4, generator=generator, dtype=torch.float64)
    x[250:] += 50
    drawn = draw_sets(x, 4, 30, 2, 4, generator)[1]
    expected = AveragedGraph([drawn], [1]).eigenpairs(6)
    monkeypatch.setattr(factors, "COPIED", 0)
    monkeypatch.setattr("dmac.averaged_graph._ROWS", 70)
    graph = AveragedGraph([drawn], [1])
    assert graph.parts(5).sum(0).tolist() == [250, 50]
    for found, whole in zip(graph.eigenpairs(6), expected):
        np.testing.assert_allclose(found, whole, atol=1e-8)
