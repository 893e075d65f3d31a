"""Sentences of the start page, the errata and the README, held against what is stored."""

from pathlib import Path

import numpy as np

from experiments import claims, paper
from experiments.compare import over_datasets
from experiments.studies import NINE

ROOT = Path(__file__).parents[2]
DEVELOPED = ("PIE", "BBC", "HandWritten", "100Leaves")


def test_readme_on_data_that_revised_was_not_developed_on():
    differences = claims.beside_shallow()
    assert list(differences.index) == list(NINE)
    others = over_datasets(differences, DEVELOPED).loc["others"]
    assert abs(others["mean"]) < others.half
    rest = differences.drop([*DEVELOPED, "Yale-3view"])
    assert abs(rest.mean()) < 0.5 and differences["Yale-3view"] > 10
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert "ties with the closed form" in text and "the one to use" not in text


def test_training_gains_on_the_developed_sets_alone():
    table = over_datasets(claims.of_training(), DEVELOPED)
    assert table["mean"]["developed on"] > table.half["developed on"]
    for row in ("all", "others"):
        assert abs(table["mean"][row]) < table.half[row]


def test_25_of_30_accuracies_are_whole_numbers_of_samples():
    table = claims.whole_samples()
    assert (len(table), table.whole.sum()) == (30, 25)
    ours = table[table.method == "DMAC"]
    assert [f"{row.hits}/{row.n}" for row in ours.itertuples()] == ["129/165", "294/680", "607/685"]
    assert ours.whole.all()
    np.testing.assert_allclose(table.chance, 0.1, atol=0.001)


def test_means_of_ten_runs_would_not_be_whole_numbers_of_samples(monkeypatch):
    rng = np.random.default_rng(0)
    names = list(paper.DATASETS)
    table = {}
    for method in range(400):
        row = [50.0] * 12
        for name in ("Yale", "PIE", "BBC"):
            n = paper.DATASETS[name][0]
            hits = rng.binomial(n, rng.uniform(0.3, 0.9), 10)
            row[2 * names.index(name)] = round(100 * hits.mean() / n, 2)
        table[f"method {method}"] = tuple(row)
    monkeypatch.setattr(paper, "TABLE_2", table)
    monkeypatch.setattr(paper, "value", lambda d, metric, m: table[m][2 * names.index(d)])
    whole = claims.whole_samples()
    assert abs(whole.whole.mean() - whole.chance.mean()) < 0.04
