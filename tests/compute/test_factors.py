"""Sparse factors side by side, and their products, against dense ones."""

import numpy as np
import pytest
import scipy.sparse
import torch

from dmac.averaged_graph import AveragedGraph, draw_sets
from dmac.compute import factors, parallel
from dmac.compute.factors import Products, csr_tensor, row_block, side_by_side_factors


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


def test_blocks_of_rows_share_the_memory():
    b = factor(10, 7, 3)
    blocks = [row_block(b, slice(i, i + 5)) for i in (0, 5)]
    assert all(np.shares_memory(block.data, b.data) for block in blocks)
    together = np.vstack([block.toarray() for block in blocks])
    np.testing.assert_array_equal(together, b.toarray())


@pytest.mark.parametrize("copied", [0, 2**24], ids=["in parts", "transposed copy"])
@pytest.mark.parametrize("columns", [1, 5])
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


@pytest.mark.parametrize("turned", [0, 2**25], ids=["one order", "both orders"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 5])
def test_products_of_many_rows(small_blocks, monkeypatch, kind, columns, turned):
    monkeypatch.setattr(factors, "TURNED", turned)
    b, rng = factor(60, 8, 3).astype(np.float32), np.random.default_rng(2)
    x, y = (rng.standard_normal((n, columns)).astype(kind) for n in (60, 8))
    scale = rng.random(60).astype(kind)
    exact, close = b.toarray().astype(float), {"atol": 1e-13 if kind == np.float64 else 1e-5}
    products = Products(b)
    np.testing.assert_allclose(products.forward(y), exact @ y, **close)
    np.testing.assert_allclose(products.back(x), exact.T @ x, **close)
    some = slice(9, 40)
    np.testing.assert_allclose(products.back(x[some], some), exact[some].T @ x[some], **close)
    squared = exact.T @ (scale[:, None] * (exact @ y))
    np.testing.assert_allclose(products.square(y, scale), squared, **close)
    assert products.forward(y).dtype == kind and products.square(y, scale).dtype == float


def test_large_factors_stay_in_single_precision(small_blocks):
    a, b = factor(9, 4, 2).astype(np.float32), factor(9, 6, 3, 1).astype(np.float32)
    found = side_by_side_factors([a, b], np.sqrt([0.5, 2]))
    assert found.dtype == np.float32 and found.indices.dtype == np.int32


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


@pytest.mark.parametrize("turned", [0, 2**25], ids=["one order", "both orders"])
def test_eigenpairs_of_many_samples_are_those_of_lapack(
    generator, small_blocks, monkeypatch, turned
):
    """In single precision, with three parts and samples that one block does not know."""
    monkeypatch.setattr(factors, "TURNED", turned)
    x = torch.randn(900, 5, generator=generator, dtype=torch.float64)
    x[300:600] += 50
    x[600:] -= 50
    x[:90, :2] = 0
    own = [
        draw_sets(x[:, :2], 4, 60, 1, 4, generator, widths=(2,))[1],
        draw_sets(x, 4, 60, 1, 4, generator, widths=(2, 3))[1],
    ]
    graph = AveragedGraph(own, [1, 3])
    assert graph.rows.dtype == np.float32
    np.testing.assert_allclose(graph.shares, np.r_[np.full(90, 0.75), np.ones(810)])
    exact = graph.rows.toarray().astype(float)
    root = np.sqrt(graph.shares)[:, None]
    expected, vectors = np.linalg.eigh(exact @ exact.T / root / root.T)
    values, lift = graph.eigenpairs(10)
    np.testing.assert_allclose(values, expected[::-1][:10], atol=1e-7)
    np.testing.assert_allclose(values[:3], 1, atol=1e-7)
    u = graph.to_samples(lift) / root
    np.testing.assert_allclose(u.T @ u, np.eye(10), atol=1e-6)
    g = exact @ (exact.T @ (u / root)) / root
    assert (np.linalg.norm(g - u * values, axis=0) < 1e-7 * values).all()
    np.testing.assert_allclose(u[:, 0] / root[:, 0], u[0, 0] / root[0, 0], rtol=1e-5)
    overlap = np.linalg.norm(vectors[:, ::-1][:, :10].T @ u, axis=0)
    np.testing.assert_allclose(overlap, 1, atol=1e-6)


def test_many_samples_on_few_anchors(generator, small_blocks):
    """Fewer anchors than eigenvectors: those beyond have the eigenvalue 0 and no direction."""
    x = torch.randn(90, 2, generator=generator, dtype=torch.float64)
    graph = AveragedGraph([draw_sets(x, 1, 5, 0, 2, generator)[1]], [1])
    values, lift = graph.eigenpairs(8)
    exact = graph.rows.toarray().astype(float)
    np.testing.assert_allclose(values[:5], np.linalg.eigvalsh(exact.T @ exact)[::-1], atol=1e-7)
    assert (values[5:] == 0).all() and not lift[:, 5:].any()
