"""Choosing without labels: the graph of some views."""

import numpy as np

from dmac.data.checks import check_views
from dmac.model_selection import averaged_graph
from dmac.votes import markov_stability


def test_graph_is_that_of_the_views(small_views):
    views, classes = small_views
    graph = averaged_graph(check_views(views), 3, n_anchors=20, seed=0)
    dense = (graph.rows @ graph.rows.T).toarray()
    np.testing.assert_allclose(dense.sum(1), 1, atol=1e-6)
    assert dense[classes[:, None] != classes].sum() < 0.05 * dense.sum()
    again = averaged_graph(check_views(views), 3, n_anchors=20, seed=0)
    np.testing.assert_array_equal(again.rows.toarray(), graph.rows.toarray())
    wrong = np.random.default_rng(0).permutation(classes)
    assert markov_stability(graph, classes, 4) > 0.5 > markov_stability(graph, wrong, 4)
