"""Other last steps: rules that take one of them, and what they gain."""

import json

import pandas as pd
import pytest

from experiments import last_step
from experiments.last_step import GRAPH, OWN

ROWS = "Leiden, rows"


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
