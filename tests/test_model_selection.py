"""Choosing without labels: the graph of some views, and a number of clusters."""

import numpy as np
import pytest
from helpers import planted

import dmac
from dmac.agc.averaged_graph import AveragedGraph
from dmac.agc.votes import markov_stability
from dmac.compute.kmeans import kmeans
from dmac.data.checks import as_views
from dmac.model_selection import CRITERIA, _stability, averaged_graph, suggest_n_clusters


@pytest.mark.parametrize("c", [3, 5, 8])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_clear_clusters_are_counted(c, criterion):
    views, _ = planted(240, c, (8, 12), 6, 1, seed=c)
    found = suggest_n_clusters(views, [*range(12, 1, -1), 5], criterion=criterion)
    if criterion == "reproducible":  # a cluster more, cut out of one, changes few pairs
        assert found.n_clusters >= c
    else:
        assert found.n_clusters == c == found.best(criterion)
    assert found.candidates == tuple(range(2, 13)) and set(found.scores) == set(CRITERIA)


def test_a_suggestion_is_no_number_and_names_its_own(views):
    found = suggest_n_clusters(views, range(2, 8))
    assert repr(found) == "Suggestion(n_clusters=3)"
    says = r"n_clusters is Suggestion\(n_clusters=3\), it must be an integer"
    of_its_own = f"{says}: pass its .n_clusters$"
    for model, message in (
        (dmac.AnchorGraphClustering(found), of_its_own),
        (dmac.DMAC(found), of_its_own),
        (dmac.peers.LMVSC(found), f"{says} of at least 2"),
        (dmac.AnchorGraphClustering(np.arange(1000)), "must be an integer$"),
    ):
        with pytest.raises(ValueError, match=message) as refused:
            model.fit(views)
        assert len(str(refused.value)) < 120


def test_only_some_of_many_samples_are_looked_at(monkeypatch, views):
    seen = []
    monkeypatch.setattr("dmac.model_selection._MAX_SAMPLES", 60)
    whole = AveragedGraph.eigenpairs
    monkeypatch.setattr(AveragedGraph, "eigenpairs", lambda s, k: seen.append(s) or whole(s, k))
    found = suggest_n_clusters(views, range(2, 8))
    assert found.n_clusters == 3
    np.testing.assert_allclose(found.eigenvalues, whole(seen[2], 8)[0])  # that of both halves
    assert [graph.rows.shape[0] for graph in seen] == [60, 60, 60]
    x = np.random.default_rng(0).normal(size=(60, 3))
    first, second, both = (graph @ x for graph in seen)
    np.testing.assert_allclose(both, (first + second) / 2, atol=1e-6)
    assert abs(first - second).max() > 1e-3  # of other anchors


def test_c_clusters_are_those_of_unit_rows_of_c_eigenvectors(monkeypatch, views):
    seen = []

    def spy(rows, c, seed):
        seen.append((c, rows.shape[1]))
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1)
        return kmeans(rows, c, seed)

    monkeypatch.setattr("dmac.model_selection.kmeans", spy)
    suggest_n_clusters(views, range(2, 5))
    assert seen == 3 * [(2, 2), (3, 3), (4, 4)]  # on both halves and all


def test_stability_of_the_leading_eigenpairs_is_that_of_the_walk(small_views):
    views, classes = small_views
    graph = averaged_graph(as_views(views), 3, n_anchors=20, seed=0)
    values, lift = graph.eigenpairs(60)
    found = _stability(values, graph.rows @ lift, classes)
    assert found == pytest.approx(markov_stability(graph, classes, 4), abs=0.005)


def test_few_samples_have_few_candidates():
    views = [np.random.default_rng(a).normal(size=(90, 4)) for a in range(2)]
    for n, most in ((90, 20), (79, 19), (12, 3)):
        assert suggest_n_clusters([x[:n] for x in views]).candidates == tuple(range(2, most + 1))
    with pytest.raises(ValueError, match="11 samples are too few"):
        dmac.suggest_n_clusters([x[:11] for x in views])


@pytest.mark.parametrize(
    "candidates, settings, message",
    [
        ([3], {}, "pass at least two"),
        ([], {}, "pass at least two"),
        ([1, 2], {}, "candidates has 1: of 90 samples only integers from 2 to 22"),
        ([2, 23], {}, "candidates has 23"),
        ([2, 3.0], {}, "candidates has 3.0"),
        ([2, 3], {"criterion": "best"}, "criterion is 'best'"),
        (10, {}, "candidates is 10: pass the numbers to choose from"),
    ],
)
def test_bad_questions_are_refused(views, candidates, settings, message):
    with pytest.raises(ValueError, match=message):
        dmac.suggest_n_clusters(views, candidates, **settings)
