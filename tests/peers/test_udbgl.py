"""UDBGL: each block's update by itself, its co-clustering on planted graphs, then the whole."""

import numpy as np
import pytest
from systems import close_views, minimum_on_simplex, same_partition

from dmac.peers._spectral import bipartite_embedding
from dmac.peers.udbgl import (
    UDBGL,
    _fused,
    _nearest_anchors,
    _view_weights,
    bipartite_components,
    cocluster,
)


def problem(seed, n=12, m=5):
    """Two views with anchors, graphs, weights and a fused graph."""
    generator = np.random.default_rng(seed)
    views = [generator.normal(size=(n, d)) for d in (4, 6)]
    anchors = [generator.normal(size=(m, d)) for d in (4, 6)]
    z = [generator.dirichlet(np.ones(m), n) for _ in views]
    p = generator.dirichlet(np.full(m, 0.2), n)
    return views, anchors, z, np.array([0.3, 0.7]), p


def test_rows_of_a_view_are_minimisers():
    views, anchors, z, delta, p = problem(5)
    model = UDBGL(3, alpha=0.1, beta=3.0)
    gram, products = anchors[1] @ anchors[1].T, views[1] @ anchors[1].T
    found = model._graph(z, delta, p, 1, gram, products).z
    for i in range(len(p)):

        def part(row):
            fused = sum(d * t for d, t in zip(delta, [z[0][i], row])) - p[i]
            fit = ((views[1][i] - row @ anchors[1]) ** 2).sum()
            return fit + 0.1 * row @ row + 3 * fused @ fused

        other = minimum_on_simplex(part, 5)
        assert part(found[i]) <= part(other) + 1e-5
        np.testing.assert_allclose(found[i], other, atol=5e-3)


@pytest.mark.parametrize("seed", range(3))
def test_view_weights_are_those_of_a_grid_search(seed):
    *_, z, _, p = problem(seed)
    found = _view_weights(z, p)
    assert found.min() >= 0 and found.sum() == pytest.approx(1)
    np.testing.assert_allclose(_fused(z, [0.3, 0.7]), 0.3 * z[0] + 0.7 * z[1])
    steps = np.linspace(0, 1, 2001)
    values = [((t * z[0] + (1 - t) * z[1] - p) ** 2).sum() for t in steps]
    assert found[0] == pytest.approx(steps[np.argmin(values)], abs=1e-3)


def planted_bipartite(c, n=60, m=12, noise=0.0, seed=0):
    """A row-stochastic graph with c blocks, and a weak link from every row elsewhere."""
    generator = np.random.default_rng(seed)
    rows, columns = generator.permutation(np.arange(n) % c), np.arange(m) % c
    graph = generator.random((n, m)) * (rows[:, None] == columns)
    graph[np.arange(n), rows] += 0.5
    graph += noise * generator.random((n, m))
    return graph / graph.sum(1, keepdims=True), rows


@pytest.mark.parametrize("c", [2, 4])
@pytest.mark.parametrize("noise", [0.0, 0.15])
def test_coclustering_finds_exactly_the_planted_components(c, noise):
    graph, rows = planted_bipartite(c, noise=noise)
    if noise:
        assert bipartite_components(graph).max() == 0
    p, iterations = cocluster(graph, c)
    assert same_partition(bipartite_components(p), rows)
    assert iterations < 50
    assert (p >= 0).all() and (p[graph == 0] == 0).all()
    np.testing.assert_allclose(p.sum(1), 1)
    s = bipartite_embedding(p, c)[2]
    assert s[:c].sum() == pytest.approx(c) and s[c] < 1 - 1e-6


def test_bipartite_components_count_samples_alone():
    graph = np.zeros((5, 4))
    graph[[0, 1, 1, 2, 4], [3, 3, 1, 0, 0]] = 0.5
    # Sample 3 is alone, and so is anchor 2, which must leave no gap in the numbers.
    found = bipartite_components(graph)
    assert same_partition(found, [0, 0, 1, 2, 1])
    assert set(found) == {0, 1, 2}


def test_coclustering_cannot_join_components_and_ends():
    graph, rows = planted_bipartite(4)
    p, iterations = cocluster(graph, 2)
    assert iterations == 50
    assert same_partition(bipartite_components(p), rows)
    assert cocluster(planted_bipartite(3)[0], 3)[1] == 1  # there is nothing to do
    graph = np.hstack([planted_bipartite(3, noise=0.1)[0], np.zeros((60, 2))])
    p, _ = cocluster(graph, 3)  # columns without links stay so
    assert np.isfinite(p).all() and (p[:, -2:] == 0).all()


def test_graphs_start_at_the_nearest_anchors():
    generator = np.random.default_rng(0)
    x, anchors = generator.random((20, 3)), generator.random((8, 3))
    graph = _nearest_anchors(x, anchors)
    d2 = ((x[:, None] - anchors) ** 2).sum(2)
    for row, distances in zip(graph, d2):
        near = np.argsort(distances)[:5]
        weights = np.exp(-distances[near] / (2 * d2.mean() ** 2))
        np.testing.assert_allclose(row[near], weights / weights.sum())
        assert (row > 0).sum() == 5
    # Where every weight would underflow, the nearest anchor is left.
    graph = _nearest_anchors(np.array([[1e-3]]), np.array([[0.0], [0.0095]]))
    np.testing.assert_array_equal(graph, [[1, 0]])
    np.testing.assert_allclose(_nearest_anchors(np.zeros((3, 2)), np.zeros((2, 2))), 0.5)


@pytest.mark.parametrize("m", [4, 12])  # also more anchors than clusters
def test_finds_easy_clusters_as_components(m):
    views, classes = close_views()
    model = UDBGL(4, n_anchors=m, random_state=0).fit(views)
    assert model.graph_.shape == (120, m) and same_partition(model.labels_, classes)
    assert same_partition(model.labels_, bipartite_components(model.graph_))
    assert model.history_[-1].n_components == 4
    assert all(record.gap <= 1e-6 for record in model.history_)
    assert all(sum(record.weights) == pytest.approx(1) for record in model.history_)
