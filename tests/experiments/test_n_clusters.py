"""The runs behind the page on the number of clusters."""

import numpy as np
import pandas as pd
import pytest

from dmac.model_selection import CRITERIA
from experiments import n_clusters
from experiments.studies import GROUPS, SIXTEEN


def test_every_data_set_seed_and_criterion_is_stored():
    runs = n_clusters.read_runs()
    assert set(runs.dataset) == set(SIXTEEN)
    assert len(runs) == 16 * runs.seed.nunique() * len(CRITERIA) == len(runs.drop_duplicates())
    assert runs[["clusters", "suggested"]].isin(n_clusters.CANDIDATES).all(axis=None)
    assert set(runs.dataset[runs.group == "looked at"]) == {*GROUPS["looked at"]} & {*SIXTEEN}


def test_summary(tmp_path):
    rows = [
        dict(dataset=name, samples=90, clusters=6, seed=0, criterion=criterion, suggested=found)
        for name in ("PIE", "Hdigit")
        for criterion in CRITERIA
        for found in ((6, 8) if name == "PIE" else (3, 3))
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "runs.csv", index=False)
    table = n_clusters.summary(n_clusters.read_runs(tmp_path / "runs.csv"))
    assert list(table.index) == list(CRITERIA)
    assert (table["chosen on", "right"] == 0.5).all()
    assert (table["chosen on", "within 1.5"] == 1).all()
    assert (table["looked at", "right"] == 0).all()
    assert (table["looked at", "median factor"] == 2).all()


def test_measure_asks_for_every_criterion(monkeypatch, small_views):
    class Data:
        views, labels = small_views
        n_clusters = 3

    monkeypatch.setattr(n_clusters, "available", lambda: ["PIE"])
    monkeypatch.setattr(n_clusters, "load", lambda name: Data)
    rows = list(n_clusters.measure(("PIE", "NGs"), seeds=(0,)))
    assert [row["criterion"] for row in rows] == list(CRITERIA)
    assert {row["dataset"] for row in rows} == {"PIE"}
    assert np.median([row["suggested"] for row in rows]) == 3


def test_runs_can_be_made_again(data_folder):
    runs = n_clusters.read_runs().set_index(["dataset", "seed", "criterion"]).suggested
    made = pd.DataFrame(n_clusters.measure(("3Sources",), seeds=(0,)))
    if made.empty:
        pytest.skip("3Sources is not there")
    for _, row in made.iterrows():
        assert runs[row.dataset, row.seed, row.criterion] == row.suggested
