"""Other last steps: neighbours by weight, labels of one fit, and rules that take one of them."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import dmac
from dmac.agc.averaged_graph import AveragedGraph
from experiments import field, last_step, libraries
from experiments.ideas.last_step import GRAPH, OWN, ROWS, SPECTRAL, neighbours


def made(n=90):
    """Two views of three groups."""
    rng, labels = np.random.default_rng(0), np.arange(n) % 3
    views = [4 * np.eye(3)[labels] @ rng.normal(size=(3, d)) for d in (8, 12)]
    return dmac.MultiViewData(
        "made", [x + rng.normal(size=x.shape) for x in views], labels, n_clusters=3
    )


def test_neighbours_have_the_largest_weights_of_the_graph(monkeypatch):
    monkeypatch.setattr("experiments.ideas.last_step._BLOCK", 7)
    factor = scipy.sparse.random(20, 9, 0.5, "csr", rng=np.random.default_rng(0))
    dense = (factor @ factor.T).toarray()
    np.fill_diagonal(dense, 0)
    least = np.sort(dense, axis=1)[:, [-4]]
    kept = np.where(dense >= least, dense, 0)
    found = neighbours(AveragedGraph(factor), 4).toarray()
    np.testing.assert_allclose(found, np.maximum(kept, kept.T))


def test_every_last_step_finds_clear_groups():
    if not libraries.is_runnable("PCA + Leiden", field.field_settings("PCA + Leiden")):
        pytest.skip("the extra field is not installed")
    with warnings.catch_warnings(action="ignore"):
        stored = last_step.measured("made", load=lambda _: made())
    assert set(stored["scores"]) == {OWN, ROWS, GRAPH, SPECTRAL}
    assert all(found == [3, 3] for found in stored["clusters"].values())
    scores = last_step.read({"made": stored})
    assert (scores > 95).all(axis=None)
    assert min(stored["repeats"].values()) > 0.9


def test_rules_take_the_labels_that_their_criterion_says():
    scores = {OWN: [[0.2, 0.2], [0.4, 0.4]], GRAPH: [[0.6, 0.6], [0.8, 0.8]]}
    one = {"scores": scores, "association": {OWN: [0.5, 0.3], GRAPH: [0.4, 0.4]}}
    found = last_step.read(
        {
            "a": one | {"repeats": {OWN: 0.5, GRAPH: 0.5}},
            "b": one | {"repeats": {OWN: 0.5, GRAPH: 0.6}},
        }
    ).xs("acc", axis=1, level=1)
    assert found["by association"].tolist() == pytest.approx([50, 50])  # the second seed's alone
    assert found["by repetition"].tolist() == pytest.approx([30, 70])


def test_gains_are_over_sets_of_a_size_and_the_rule_asks_both():
    columns = {(OWN, "acc"): [1.0] * 4, (GRAPH, "acc"): [3.0, 4, 1, 1], (ROWS, "acc"): [3, 4, 0, 0]}
    scores = pd.DataFrame(columns, list("abcd"), dtype=float)
    samples = pd.Series([4000, 3001, 3000, 20], list("abcd"))
    whole = last_step.gains(scores, samples)
    assert whole.xs("mean", axis=1, level=1).loc[GRAPH].tolist() == [2.5, 0, 1.25]
    whole[last_step.GROUPS[0], "half"] = [2.4, 2.4]
    assert last_step.passing(whole) == ([GRAPH, ROWS], [GRAPH])
    whole.loc[GRAPH, (last_step.GROUPS[0], "half")] = 2.6
    assert last_step.passing(whole) == ([ROWS], [])
    assert len(last_step.sizes()) == 100


def test_what_is_stored_is_of_all_sets():
    stored = json.loads(last_step.FILE.read_text(encoding="utf-8"))
    assert set(stored) == set(last_step.level_choice.SETS)
    assert last_step.read(stored).notna().all(axis=None)
