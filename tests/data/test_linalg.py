"""The truncated decomposition against LAPACK's, and the exact scaling."""

import numpy as np
import pytest
import scipy.sparse

from dmac.data import whitening
from dmac.data.linalg import largest_exponent, scaled_rows, shifted, top_right_singular
from dmac.data.whitening import Whitening


def sparse_view(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return scipy.sparse.random(n, d, 0.05, "csr", random_state=rng) * 5


def truncated(x, rank):
    return top_right_singular(lambda q: x @ q, lambda q: x.T @ q, x.shape, rank)


@pytest.mark.parametrize("shape", [(50, 50), (300, 40), (40, 300), (1, 5), (5, 1)])
@pytest.mark.parametrize("rank", [1, 4, 30])
def test_triplets_are_those_of_the_full_decomposition(shape, rank):
    x = np.random.default_rng(0).standard_normal(shape)
    s, vt = truncated(x, rank)
    _, full_s, full_vt = np.linalg.svd(x, full_matrices=False)
    rank = min(rank, *shape)
    np.testing.assert_allclose(s, full_s[:rank], rtol=1e-12)
    np.testing.assert_allclose(np.abs((vt * full_vt[:rank]).sum(1)), 1, rtol=1e-12)
    np.testing.assert_allclose(vt @ vt.T, np.eye(rank), atol=1e-12)


def test_repeated_singular_values_are_all_found():
    q = np.linalg.qr(np.random.default_rng(0).standard_normal((60, 60)))[0]
    values = np.repeat([3.0, 2.0, 1.0], 20)
    s, vt = truncated(q * values, 25)
    np.testing.assert_allclose(s, values[:25], rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm((q * values) @ vt.T, axis=0), s, rtol=1e-12)


def test_zero_and_rank_one():
    s, _ = truncated(np.zeros((30, 20)), 3)
    np.testing.assert_array_equal(s, 0)
    s, vt = truncated(np.ones((30, 20)), 3)
    np.testing.assert_allclose(s, [np.sqrt(600), 0, 0], atol=1e-12)
    np.testing.assert_allclose(np.abs(vt[0]), 1 / np.sqrt(20), rtol=1e-12)


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_large_views_take_the_truncated_path_and_agree(kind, monkeypatch):
    x = sparse_view(600, 900)
    dense = x.toarray()
    calls = []
    monkeypatch.setattr(
        whitening, "top_right_singular", lambda *a: calls.append(1) or top_right_singular(*a)
    )
    monkeypatch.setattr(scipy.sparse.csr_matrix, "toarray", None)  # never densified
    x = x if kind == "sparse" else dense
    h = Whitening(8).fit_transform(x)
    assert calls == [1]
    u = np.linalg.svd(dense - dense.mean(0), full_matrices=False)[0][:, :8] * np.sqrt(600)
    np.testing.assert_allclose(h * np.sign((h * u).sum(0)), u, atol=1e-6)
    np.testing.assert_array_equal(h, Whitening(8).fit_transform(x))  # the same bits twice


def test_low_rank_on_the_truncated_path():
    rng = np.random.default_rng(1)
    left, right = rng.standard_normal((80, 3)), rng.standard_normal((3, 90))
    x = scipy.sparse.csr_matrix(left @ right)
    h = Whitening(10).fit_transform(x)
    assert h.shape == (80, 3)
    np.testing.assert_allclose(h.T @ h / 80, np.eye(3), atol=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
def test_scaling_by_powers_of_two_is_exact_over_the_whole_range(kind):
    x = np.array([[1e300, -1e300], [5e-324, 0.0], [0.0, 0.0], [3.0, 4.0]])
    scaled, exponent, norms = scaled_rows(kind(x))
    assert np.abs(scaled).max() < 1
    expected = [np.hypot(1, 1), 1, 0, 5]
    with np.errstate(under="ignore"):
        np.testing.assert_allclose(np.ldexp(norms, exponent) / [1e300, 5e-324, 1, 1], expected)
    back = shifted(shifted(kind(x[[0, 3]]), -900), 900)
    np.testing.assert_array_equal(back.toarray() if kind != np.asarray else back, x[[0, 3]])
    assert largest_exponent(kind(x)) == np.frexp(1e300)[1]
    assert largest_exponent(kind(x[2:3]), x[3:]) == 3
