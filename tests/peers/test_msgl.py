"""MSGL: each block's update by itself, then the whole on easy and on degenerate views."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from systems import close_views, minimum_on_simplex

from dmac.metrics import scores
from dmac.peers import msgl
from dmac.peers._spectral import bipartite_embedding
from dmac.peers.msgl import MSGL, _Fit


@pytest.fixture(autouse=True)
def fewer_starts(monkeypatch):
    monkeypatch.setattr(msgl, "_LABEL_STARTS", 10)


def problem(seed, n=15, m=6):
    """Two views with anchors, a graph and its W, weights."""
    generator = np.random.default_rng(seed)
    views = [generator.normal(size=(n, d)) for d in (4, 5)]
    anchors = [generator.normal(size=(m, d)) for d in (4, 5)]
    z = generator.dirichlet(np.ones(m), n)
    fits = [_Fit(x, a) for x, a in zip(views, anchors)]
    return views, anchors, fits, z, bipartite_embedding(z, 3)[3], generator.random(2) + 0.2


def objective(model, views, anchors, z, weights, w):
    """Term by term, as it is written."""
    fit = sum(a * ((x - z @ b) ** 2).sum() for a, x, b in zip(weights, views, anchors))
    graph = sum(w[i, j] * z[i, j] for i in range(z.shape[0]) for j in range(z.shape[1]))
    return (
        fit + model.alpha * (z**2).sum() + model.beta * graph + sum(a**model.gamma for a in weights)
    )


def test_the_objective_is_what_is_written_and_rows_of_the_graph_are_minimisers():
    views, anchors, fits, z, w, weights = problem(0)
    model = MSGL(3, alpha=0.7, beta=11.0, gamma=-2.0)
    expected = objective(model, views, anchors, z, weights, w)
    assert model._objective(fits, z, weights, w) == pytest.approx(expected)
    new = model._graph(fits, weights, w, z).z
    for i in range(len(z)):

        def part(row):
            fit = sum(a * ((x[i] - row @ b) ** 2).sum() for a, x, b in zip(weights, views, anchors))
            return fit + model.alpha * row @ row + model.beta * w[i] @ row

        other = minimum_on_simplex(part, 6)
        assert part(new[i]) <= part(other) + 1e-6
        np.testing.assert_allclose(new[i], other, atol=5e-3)


@pytest.mark.parametrize("gamma", [-5.0, -1.0, -0.3])
def test_weights_are_minimisers(gamma):
    views, anchors, fits, z, *_ = problem(1)
    for a, x, b in zip(MSGL(3, gamma=gamma)._weights(fits, z), views, anchors):
        residual = ((x - z @ b) ** 2).sum()
        other = minimize_scalar(
            lambda t: np.exp(t) * residual + np.exp(gamma * t), bounds=(-9, 9), method="bounded"
        )
        assert np.log(a) == pytest.approx(other.x, abs=1e-3)


def test_it_ends_when_the_graph_no_longer_moves():
    model = MSGL(4, n_anchors=12, random_state=0).fit(close_views()[0])
    assert (model.graph_.shape, model.embedding_.shape) == ((120, 12), (120, 4))
    np.testing.assert_allclose(model.graph_.sum(1), 1)
    assert all(record.gap <= 1e-6 for record in model.history_)
    assert 6 <= len(model.history_) <= 30
    assert all(record.change >= 1e-3 for record in model.history_[5:-1])


def test_the_graph_term_does_not_decide_alone_among_many_clusters():
    views, classes = close_views(n=150, c=20, noise=1.0)
    settings = ({}, {"beta": None}, {"beta": 150 / 20})
    models = [MSGL(20, n_anchors=60, random_state=0, **some).fit(views) for some in settings]
    good, bad, same = (scores(classes, model.labels_)["acc"] for model in models)
    assert good > 0.95 > 0.9 > bad == same
