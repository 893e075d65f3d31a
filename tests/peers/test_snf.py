"""SNF: its matrices against plain loops, what every round keeps, and how good it is."""

import functools
import math

import numpy as np
import pytest
import systems

from dmac.peers import snf
from dmac.peers.snf import SNF, similarities

easy_views = functools.partial(systems.easy_views, n=40, noise=1.5, spread=2.0)


def by_hand(views, k, mu, rounds, scale):
    """The fused matrix, sample by sample, as the paper writes it, with the width squared."""
    n, full, near_only = len(views[0]), [], []
    for x in views:
        z = (x - x.mean(0)) / (x.std(0) if scale == "standard" else 1)
        rho = [[math.dist(z[i], z[j]) for j in range(n)] for i in range(n)]
        near = [
            sorted((j for j in range(n) if j != i), key=rho[i].__getitem__)[:k] for i in range(n)
        ]
        local = [sum(rho[i][j] for j in near[i]) / k for i in range(n)]
        w, s = np.zeros((n, n)), np.zeros((n, n))
        for i, j in np.ndindex(n, n):
            width = (local[i] + local[j] + rho[i][j]) / 3
            w[i, j] = math.exp(-(rho[i][j] ** 2) / (mu * width**2))
        for i in range(n):
            own = [i, *near[i]]
            s[i, own] = w[i, own] / sum(w[i, own])
        full.append(w)
        near_only.append(s)

    def rows(w):
        others = w * ~np.eye(n, dtype=bool)
        return others / (2 * others.sum(1, keepdims=True)) + np.eye(n) / 2

    full = [rows(w) for w in full]
    for _ in range(rounds):
        others = [sum(full[u] for u in range(len(full)) if u != v) for v in range(len(full))]
        full = [rows(s @ (o / (len(full) - 1)) @ s.T) for s, o in zip(near_only, others)]
    fused = sum(full) / len(full)
    return (fused + fused.T) / 2


@pytest.mark.parametrize("scale", ["standard", "none"])
@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_the_fused_matrix_is_that_of_plain_loops(rounds, scale):
    views = [x[:14] * np.arange(1, 1 + x.shape[1]) for x in easy_views()[0]]
    settings = dict(n_neighbors=4, mu=0.4, n_iterations=rounds, scale=scale)
    model = SNF(3, random_state=0, **settings).fit(views)
    expected = by_hand(views, 4, 0.4, rounds, scale)
    np.testing.assert_allclose(model.graph_, expected, rtol=1e-9, atol=1e-12)
    assert len(model.history_) == rounds


def test_samples_that_are_the_same_are_not_told_apart_by_rounding():
    views = [np.repeat(1e3 + np.random.default_rng(0).normal(size=(2, 50)), 12, 0)] * 2
    w, _ = similarities(views[0], 5, 0.5)
    assert (w[:12, :12] == 1).all() and (w[12:, 12:] == 1).all()
    labels = SNF(2, n_neighbors=5, random_state=0).fit_predict(views)
    assert len(set(labels[:12])) == len(set(labels[12:])) == 1 and labels[0] != labels[-1]


@pytest.mark.parametrize("scale", ["standard", "none"])
def test_the_size_of_numbers_does_not_matter(scale):
    views, _ = easy_views()
    tiny, usual, huge = (
        SNF(3, scale=scale, random_state=0).fit([factor * x for x in views]).graph_
        for factor in (1e-250, 1, 1e250)
    )
    for graph in (tiny, huge):
        np.testing.assert_allclose(graph, usual, rtol=1e-6)


def test_labels_of_a_graph_in_pieces_come_without_a_warning(monkeypatch):
    pieces = np.kron(np.eye(3), np.ones((10, 10)))
    monkeypatch.setattr(snf, "similarities", lambda x, k, mu: (pieces, np.arange(30)[:, None]))
    labels = SNF(3, random_state=0)._solve(easy_views(n=30)[0], np.random.default_rng(0)).labels
    assert sorted(np.bincount(labels)) == [10, 10, 10] and len(set(labels[:10])) == 1
