"""K-means: the anchors' own against scikit-learn's, warm starts, cheap draws, the final one."""

from unittest.mock import Mock

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans, kmeans_plusplus

import dmac.compute.kmeans
from dmac.compute import threads
from dmac.compute.distances import nearest, squared_distances
from dmac.compute.kmeans import (
    WarmAnchors,
    drawn_order,
    improved_anchors,
    kmeans,
    kmeans_anchors,
    representative_centers,
    sample_anchors,
)


def inertia(z, centres):
    return float(squared_distances(z, torch.as_tensor(centres)).min(1).values.sum())


def test_kmeans_anchors_are_as_good_as_scikit_learns(generator):
    z = torch.randn(400, 5, generator=generator)
    fits = (KMeans(30, n_init=1, random_state=seed).fit(z.numpy()) for seed in range(10))
    theirs = sum(inertia(z, fit.cluster_centers_) for fit in fits)
    assert sum(inertia(z, kmeans_anchors(z, 30, generator)) for _ in range(10)) < 1.02 * theirs


@pytest.mark.parametrize(
    "draw",
    [
        kmeans_anchors,
        lambda z, m, generator: WarmAnchors(m, generator)(z),
        lambda z, m, generator: sample_anchors(z, m, generator, 2),
    ],
    ids=["k-means", "warm", "sampled"],
)
def test_anchors_are_fresh_repeat_with_the_seed_and_follow_a_shift_and_a_unit(draw, generator):
    z = torch.randn(100, 4, generator=generator, dtype=torch.float64)
    given = z, z, z + 50, 1e-3 * z
    u, *others = (draw(x, 11, torch.Generator().manual_seed(5)) for x in given)
    torch.testing.assert_close(others, [u, u + 50, 1e-3 * u])
    assert torch.equal(others[0], u) and not torch.allclose(draw(z, 11, generator), u)


def test_seeds_are_as_good_as_scikit_learns_who_takes_the_best_of_its_draws_too(generator):
    x = torch.randn(300, 2, generator=generator, dtype=torch.float64)
    ours, theirs, single = (
        np.mean([inertia(x, draw(seed)) for seed in range(20)])
        for draw in (
            lambda seed: dmac.compute.kmeans._seed_anchors(x, 12, generator),
            lambda seed: kmeans_plusplus(x.numpy(), 12, random_state=seed)[0],
            lambda seed: kmeans_plusplus(x.numpy(), 12, random_state=seed, n_local_trials=1)[0],
        )
    )
    assert abs(ours / theirs - 1) < 0.05 < single / theirs - 1


def test_of_centres_that_coincide_the_one_with_most_labels_stands_for_all():
    centres = np.array([[0.0], [0.0], [5.0], [7.0], [7.0]])
    found = representative_centers(centres, np.array([1, 0, 1, 1, 2]))
    assert found.tolist() == [1, 1, 2, 3, 3]  # and the first one where none has any


def test_kmeans_anchors_of_identical_samples_and_no_gradient(generator):
    same, warm = torch.ones(10, 3, requires_grad=True), WarmAnchors(4, generator)
    for _ in range(2):
        for anchors in (
            kmeans_anchors(same, 4, generator),
            sample_anchors(same, 4, generator, 2),
            warm(same.detach()),
        ):
            torch.testing.assert_close(anchors, torch.ones(4, 3))
            assert not anchors.requires_grad


def test_sampled_anchors_are_distinct_samples_and_then_the_means_of_their_cells():
    x = torch.randn(60, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 3
    start, moved = (sample_anchors(x, 7, torch.Generator().manual_seed(1), i) for i in (0, 1))
    d2, rows = squared_distances(start, x).min(1)
    assert float(d2.max()) < 1e-12 and len(set(rows.tolist())) == 7
    assigned = squared_distances(x, start).argmin(1)
    means = torch.stack([x[assigned == j].mean(0) for j in range(7)])
    torch.testing.assert_close(moved, means)


def test_anchors_of_many_samples_come_from_a_part_of_them(generator, monkeypatch):
    x = torch.randn(400, 4, generator=generator)

    def drawn(many, share):
        monkeypatch.setattr(threads, "MANY", many)
        monkeypatch.setattr("dmac.compute.kmeans._SEED_SAMPLES", share)
        return sample_anchors(x, 5, torch.Generator().manual_seed(1), 2)

    whole, part = drawn(10**6, 32), drawn(0, 32)
    assert torch.equal(part, drawn(0, 32)) and not torch.equal(part, whole)
    assert all(torch.equal(whole, drawn(0, share)) for share in (400 // 5, 400))
    spread = [torch.cdist(x, u).min(1).values.square().mean() for u in (whole, part)]
    assert spread[1] < 1.1 * spread[0]


def test_a_part_is_of_the_samples_that_are_marked(monkeypatch):
    monkeypatch.setattr(threads, "MANY", 0)
    marked = torch.arange(400) % 2 == 0
    x = torch.where(marked, torch.arange(400.0), 1e6)[:, None]
    order = drawn_order(400, 5, torch.Generator().manual_seed(1), marked)
    assert improved_anchors(x, order, 5, 2, marked).max() < 400


def blobs(generator, n=400, d=5):
    return torch.randn(n, d, generator=generator, dtype=torch.float64)


def test_warm_anchors_begin_with_kmeans_and_cost_one_pass_where_nothing_changed(
    generator, monkeypatch
):
    z = blobs(generator)
    warm = WarmAnchors(30, torch.Generator().manual_seed(5))
    first = warm(z, tol=0)
    assert torch.equal(first, kmeans_anchors(z, 30, torch.Generator().manual_seed(5), tol=0))
    passes = Mock(wraps=nearest)
    monkeypatch.setattr("dmac.compute.lloyd.nearest", passes)
    torch.testing.assert_close(warm(2 * z + 1), 2 * first + 1)  # no assignment changes
    passes.assert_called_once()


def test_warm_anchors_are_centres_of_their_samples_and_as_good_as_fresh_ones(generator):
    z, drift = blobs(generator), 0.3 * blobs(generator)
    warm, ours, theirs = WarmAnchors(30, generator), 0.0, 0.0
    for step in range(4):
        x = z + step * drift
        u = warm(x, tol=0)
        ours += inertia(x, u)
        theirs += sum(inertia(x, kmeans_anchors(x, 30, generator)) for _ in range(10)) / 10
        assigned = squared_distances(x, u).argmin(1)
        for j in range(30):
            torch.testing.assert_close(u[j], x[assigned == j].mean(0))
    assert ours < 1.03 * theirs


def test_warm_anchor_that_loses_its_samples_moves_to_the_farthest_one(generator):
    z = torch.zeros(40, 2, dtype=torch.float64)
    z[:, 0] = torch.arange(40) // 10  # four points of ten samples
    warm = WarmAnchors(4, generator)
    assert len(set(warm(z)[:, 0].tolist())) == 4
    moved = torch.where(z == 3, 0.0, z)  # two of the points meet, and one sample goes far away
    moved[0] = 9
    assert sorted(warm(moved).round().tolist()) == [[0, 0], [1, 0], [2, 0], [9, 9]]


def test_seeds_from_a_part_of_many_samples_are_as_good(generator, monkeypatch):
    z, inertias = blobs(generator, 4000), []
    for share in (10**9, 32):
        monkeypatch.setattr("dmac.compute.kmeans._SEED_SAMPLES", share)
        inertias.append(sum(inertia(z, kmeans_anchors(z, 20, generator)) for _ in range(10)))
    assert inertias[1] < 1.02 * inertias[0]


def test_the_final_kmeans_of_fewer_distinct_rows_than_clusters_is_no_error():
    assert len(np.unique(kmeans(np.repeat(np.eye(3), 5, 0), 6, 0, n_init=3).labels_)) == 3
