"""LMVSC: its weights against a general solver, its fusion against a singular value decomposition,
the whole on easy and on degenerate views."""

import numpy as np
import pytest
from systems import close_views, minimum_on_simplex

from dmac.compute.kmeans import kmeans
from dmac.data.whitening import RowNormalizer
from dmac.peers.lmvsc import LMVSC


def weights_of(model, views):
    """The graph that the paper's formulas give with the anchors that the model draws."""
    generator = np.random.default_rng(np.random.RandomState(model.random_state).randint(2**31 - 1))
    order = generator.permutation(len(views[0]))
    m, parts = model.n_anchors, []
    for x in views:
        x = RowNormalizer().fit_transform(x[order])
        a = kmeans(x, m, int(generator.integers(2**31)), 10).cluster_centers_
        rows = [
            minimum_on_simplex(
                lambda z: ((sample - z @ a) ** 2).sum() + model.alpha * z @ z,
                m,
                lambda z: -2 * a @ (sample - z @ a) + 2 * model.alpha * z,
            )
            for sample in x
        ]
        parts.append(np.array(rows)[np.argsort(order)])
    return np.hstack(parts) / np.sqrt(len(views))


def test_weights_and_embedding_are_those_of_the_formulas():
    views, _ = close_views(n=30)
    model = LMVSC(3, n_anchors=6, alpha=0.5, random_state=3).fit(views)
    expected = weights_of(model, views)
    np.testing.assert_allclose(model.graph_, expected, atol=2e-3)
    assert [record.view for record in model.history_] == [1, 2, 3]
    assert all(0 < record.gap <= 1e-6 for record in model.history_)
    u, s, _ = np.linalg.svd(model.graph_, full_matrices=False)
    # The same subspace, and orthonormal: signs are free.
    np.testing.assert_allclose(np.abs(u[:, :3].T @ model.embedding_), np.eye(3), atol=1e-6)
    assert s[2] > s[3]


def test_unit_rows_make_the_scale_of_a_view_irrelevant():
    views, _ = close_views()
    fresh = LMVSC(4, n_anchors=10, random_state=0)
    large = [1000 * views[0], *views[1:]]
    graph, other = (fresh.fit(x).graph_ for x in (views, large))
    np.testing.assert_allclose(graph, other, atol=1e-6)
    assert np.abs(fresh.set_params(normalize=False).fit(large).graph_ - other).max() > 0.1


@pytest.mark.parametrize("n, c, m", [(130, 3, 100), (130, 110, 110), (50, 3, 50)])
def test_default_anchors(n, c, m):
    views, _ = close_views(n=n, c=3)
    assert LMVSC(c, random_state=0).fit(views[:1]).graph_.shape == (n, m)
