"""GMC: its row updates against a general solver, its components against planted ones."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from systems import close_views, minimum_on_simplex, planted_graph, same_partition

from dmac.metrics import scores
from dmac.peers import gmc
from dmac.peers.gmc import (
    GMC,
    laplacian,
    smallest_eigenvectors,
)


def programme(costs, curvature):
    """min costs'z + curvature ||z||^2 over the simplex."""
    return minimum_on_simplex(
        lambda z: costs @ z + curvature * z @ z, len(costs), lambda z: costs + 2 * curvature * z
    )


def test_an_iteration_is_that_of_the_dense_equations(monkeypatch):
    """Every step of the docstring with whole matrices; the graph of U has one component."""
    for name, value in (("_ITERATIONS", 1), ("_BLOCK", 7), ("_LINKS", 7)):  # several blocks
        monkeypatch.setattr(gmc, name, value)
    rng, (n, k, c, v) = np.random.default_rng(0), (24, 5, 3, 3)
    views = [rng.normal(size=(n, d)) for d in (6, 9, 7)]
    found = GMC(c, n_neighbors=k)._solve(views, np.random.default_rng(0))
    zs = [(x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True) for x in views]
    d2 = [((z[:, None] - z) ** 2).sum(2) + np.diag(np.full(n, np.inf)) for z in zs]

    def own(d2, u, w):
        """A view's graph, and its curvature: the largest that leaves k neighbours."""
        s, a = np.zeros((n, n)), np.zeros(n)
        for i, row in enumerate(d2):
            near = np.argsort(row)[: k + 1]
            costs = row[near] - 2 * w * u[i, near]
            gaps = costs.max() - costs
            s[i, near], a[i] = gaps / gaps.sum(), gaps.sum() / 2
        return s, a

    def spectrum(u):
        both = (u + u.T) / 2
        return np.linalg.eigh(np.diag(both.sum(1)) - both)

    u = sum(own(d, np.zeros((n, n)), 0)[0] for d in d2) / v
    f = spectrum(u)[1][:, :c]
    graphs = [own(d, u, 1 / v) for d in d2]
    weights = [1 / (2 * np.linalg.norm(u - s)) for s, _ in graphs]
    mean, e = sum(s for s, _ in graphs) / v, ((f[:, None] - f) ** 2).sum(2)
    step, fused = np.mean([1 / w for w in weights]) / (2 * v), np.zeros((n, n))
    for i, on in enumerate(mean > 0):
        fused[i, on] = programme(2 * (step * e[i, on] - mean[i, on]), 1.0)
    np.testing.assert_allclose(found.graph.toarray(), fused, atol=1e-5)
    smallest = spectrum(found.graph.toarray())[0][: c + 1]
    total = 2 * smallest[:c].sum()
    for d, (s, a), w in zip(d2, graphs, weights):
        total += (
            d[s > 0] @ s[s > 0]
            + ((a - 1 / v) @ s**2).sum()
            + w * np.linalg.norm(found.graph.toarray() - s) ** 2
        )
    (record,) = found.history
    assert record.objective == pytest.approx(total) and record.laplacian_weight == 1
    assert record.smallest == pytest.approx(smallest[:c].sum())
    assert record.next_smallest == pytest.approx(smallest.sum())


@pytest.mark.parametrize("sizes", [(40,), (5, 50, 8), (17, 17, 17, 17)])
@pytest.mark.parametrize("k", [2, 6])
@pytest.mark.parametrize("dense", [True, False])
def test_smallest_eigenvectors_are_those_of_the_whole_matrix(sizes, k, dense, monkeypatch):
    if not dense:
        monkeypatch.setattr(gmc, "_DENSE", 0)
    graph, _ = planted_graph(sizes, seed=sum(sizes))
    matrix = laplacian(graph)
    values, vectors = smallest_eigenvectors(matrix, k, np.random.default_rng(0))
    np.testing.assert_allclose(values, scipy.linalg.eigvalsh(matrix.toarray())[:k], atol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-8)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-8)
    assert (values == 0).sum() == min(k, len(sizes))


def test_links_between_the_clusters_are_cut_by_a_growing_weight():
    # Few samples a cluster, so that some of the 15 neighbours are of another one.
    views, classes = close_views(n=48, c=4)
    model = GMC(4, random_state=0).fit(views)
    assert [record.laplacian_weight for record in model.history_[:2]] == [1, 2]
    assert scores(classes, model.labels_)["acc"] > 0.95
    np.testing.assert_allclose(model.graph_.sum(1), 1)
    # The labels are the components: no link leaves a cluster.
    rows, columns = model.graph_.nonzero()
    np.testing.assert_array_equal(model.labels_[rows], model.labels_[columns])
    assert model.history_[-1].smallest == 0 < model.history_[-1].next_smallest


def test_too_many_components_halve_the_weight_and_are_left_alone():
    views, classes = close_views(n=120, c=4, noise=0.05)
    model = GMC(2, random_state=0).fit(views)
    weights = [record.laplacian_weight for record in model.history_]
    np.testing.assert_allclose(weights, 0.5 ** np.arange(20))
    assert same_partition(model.labels_, classes)


def test_few_samples_cut_the_neighbours_down_and_say_so():
    views, classes = close_views(n=8, c=2)
    with pytest.warns(UserWarning, match="needs 17 samples, there are 8: 6 are taken"):
        model = GMC(2, random_state=0).fit(views)
    assert np.diff(model.graph_.indptr).max() <= 7
    model = GMC(2, n_neighbors=2, random_state=0).fit(views)
    assert scores(classes, model.labels_)["acc"] == 1
    with pytest.raises(ValueError, match="at least 3 samples, there are 2"):
        GMC(2).fit([np.eye(2)])
