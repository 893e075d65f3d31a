"""The truncated decomposition against LAPACK's, and the exact scaling."""

import itertools
from unittest.mock import Mock

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
    for once, again in zip((s, vt), leading(x, rank)):
        np.testing.assert_array_equal(once, again)


def normal(*shape):
    return np.random.default_rng(0).standard_normal(shape)


Q, STEEP = np.linalg.qr(normal(60, 60))[0], 0.5 ** np.arange(60)
THRICE = np.repeat([3.0, 2.0, 1.0], 20)
MATRICES = {
    "square": normal(50, 50),
    "high": normal(300, 40),
    "wide": normal(40, 300),
    "repeated": Q * THRICE,
    "repeated, a diagonal": np.diag(THRICE),
    "all equal": 2 * Q,
}
DECAYS = {
    "slow decay": Q * np.linspace(10, 9.9, 60),
    "steep decay": Q * STEEP,
    "steep decay, repeated": Q * np.repeat(STEEP[:10], 6),
}


@pytest.mark.parametrize(
    "name, rank",
    [
        *itertools.product(MATRICES, (1, 4, 19, 25, 39)),
        *itertools.product(("repeated", "repeated, a diagonal", "all equal"), (40, 59)),
        *itertools.product(DECAYS, (21,)),
    ],
)
def test_triplets_are_those_of_the_full_decomposition(name, rank):
    assert_leading((MATRICES | DECAYS)[name], rank)


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


def test_nearly_equal_values_are_found_where_lapack_finds_none_of_them():
    s, vt = linalg.leading_of_gram(np.eye(209) - 1 / 419, 4)
    np.testing.assert_allclose(s, 1)
    np.testing.assert_allclose(vt @ vt.T, np.eye(4), atol=1e-12)


def test_zero_and_rank_one():
    s, vt = leading(np.zeros((30, 20)), 3)
    assert s.shape == (0,) and vt.shape == (0, 20)
    s, vt = leading(np.ones((30, 20)), 3)
    np.testing.assert_allclose(s, [np.sqrt(600), 0, 0], atol=1e-12)
    np.testing.assert_allclose(np.abs(vt[0]), 1 / np.sqrt(20), rtol=1e-12)
    assert Whitening(3).fit_transform(scipy.sparse.csr_matrix((30, 20))).shape == (30, 0)


def test_without_convergence_everything_is_decomposed(monkeypatch):
    monkeypatch.setattr(linalg, "eigsh", Mock(side_effect=linalg.ArpackError(-9999)))
    assert_leading(normal(40, 30), 4)


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_large_views_take_the_truncated_path_and_agree(kind, monkeypatch):
    x = scipy.sparse.random(600, 900, 0.05, "csr", random_state=np.random.default_rng(0)) * 5
    dense = x.toarray()
    truncated = Mock(wraps=lanczos)
    monkeypatch.setattr(linalg, "lanczos", truncated)
    monkeypatch.setattr(scipy.sparse.csr_matrix, "toarray", None)  # never densified
    x = x if kind == "sparse" else dense
    h = Whitening(8).fit_transform(x)
    truncated.assert_called_once()
    u = np.linalg.svd(dense - dense.mean(0), full_matrices=False)[0][:, :8] * np.sqrt(600)
    np.testing.assert_allclose(h * np.sign((h * u).sum(0)), u, atol=1e-6)
    np.testing.assert_array_equal(h, Whitening(8).fit_transform(x))  # the same bits twice
