"""The truncated decomposition against LAPACK's, and the exact scaling."""

import itertools

import numpy as np
import pytest
import scipy.sparse

from dmac.data import linalg
from dmac.data.linalg import lanczos
from dmac.data.whitening import Whitening


def leading(x, rank):
    return lanczos([x], np.zeros(x.shape[1]), rank)


def assert_leading(x, rank):
    """The triplets found are as large as those of the full decomposition, and are triplets."""
    s, vt = leading(x, rank)
    np.testing.assert_allclose(s, np.linalg.svd(x, compute_uv=False)[:rank], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(vt @ vt.T, np.eye(len(s)), atol=1e-12)
    np.testing.assert_allclose(x.T @ (x @ vt.T), vt.T * s**2, atol=1e-9 * s[0] ** 2)
    again = leading(x, rank)
    assert np.array_equal(s, again[0]) and np.array_equal(vt, again[1])


@pytest.mark.parametrize("shape", [(50, 50), (300, 40), (40, 300)])
@pytest.mark.parametrize("rank", [1, 4, 30])
def test_triplets_are_those_of_the_full_decomposition(shape, rank):
    assert_leading(np.random.default_rng(0).standard_normal(shape), rank)


@pytest.mark.parametrize("rank", [1, 19, 25, 40, 59])
def test_repeated_singular_values_are_all_found(rank):
    q = np.linalg.qr(np.random.default_rng(0).standard_normal((60, 60)))[0]
    assert_leading(q * np.repeat([3.0, 2.0, 1.0], 20), rank)
    assert_leading(np.diag(np.repeat([3.0, 2.0, 1.0], 20)), rank)
    assert_leading(2 * q, rank)


@pytest.mark.parametrize("sizes", list(itertools.product((4, 6, 8), (3, 5), (2, 4))))
def test_classes_of_equal_size_within_groups_of_equal_size(sizes):
    """ARPACK by itself misses copies of repeated singular values in most of these views."""
    n, (groups, parts, _) = np.prod(sizes), sizes
    group = np.arange(n) % groups
    part = group * parts + np.arange(n) // groups % parts
    view = np.hstack([np.eye(groups)[group], np.eye(groups * parts)[part], np.eye(n)])
    for rank in (groups - 1, groups * parts - 1, groups * parts, groups * parts + 3):
        assert_leading(view, rank)
        assert_leading(view - view.mean(0), rank)


def test_slow_decay_and_steep_decay():
    rng = np.random.default_rng(2)
    q = [np.linalg.qr(rng.standard_normal((n, 90)))[0] for n in (110, 90)]
    steep = 0.5 ** np.arange(90)
    for values in (np.linspace(10, 9.9, 90), steep, np.repeat(steep[:15], 6)):
        assert_leading(q[0] * values @ q[1].T, 21)


def test_zero_and_rank_one():
    s, vt = leading(np.zeros((30, 20)), 3)
    assert s.shape == (0,) and vt.shape == (0, 20)
    s, vt = leading(np.ones((30, 20)), 3)
    np.testing.assert_allclose(s, [np.sqrt(600), 0, 0], atol=1e-12)
    np.testing.assert_allclose(np.abs(vt[0]), 1 / np.sqrt(20), rtol=1e-12)
    assert Whitening(3).fit_transform(scipy.sparse.csr_matrix((30, 20))).shape == (30, 0)


def test_without_convergence_everything_is_decomposed(monkeypatch):
    def fail(*args, **options):
        raise linalg.ArpackError(-9999)

    monkeypatch.setattr(linalg, "eigsh", fail)
    assert_leading(np.random.default_rng(0).standard_normal((40, 30)), 4)


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_large_views_take_the_truncated_path_and_agree(kind, monkeypatch):
    rng = np.random.default_rng(0)
    x = scipy.sparse.random(600, 900, 0.05, "csr", random_state=rng) * 5
    dense = x.toarray()
    calls = []
    monkeypatch.setattr(linalg, "lanczos", lambda *a: calls.append(1) or lanczos(*a))
    monkeypatch.setattr(scipy.sparse.csr_matrix, "toarray", None)  # never densified
    x = x if kind == "sparse" else dense
    h = Whitening(8).fit_transform(x)
    assert calls == [1]
    u = np.linalg.svd(dense - dense.mean(0), full_matrices=False)[0][:, :8] * np.sqrt(600)
    np.testing.assert_allclose(h * np.sign((h * u).sum(0)), u, atol=1e-6)
    np.testing.assert_array_equal(h, Whitening(8).fit_transform(x))  # the same bits twice
