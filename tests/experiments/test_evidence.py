"""What chapters 11 to 13 say: missing runs, gains, choices, settings."""

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from experiments import evidence, paper, records, studies
from experiments.studies import SIXTEEN, STUDIES

ALL = studies.shown_on("12_recipes", "11_network", "13_evidence")


def frame(name, *lacking):
    """Runs of a study, all with 70 %, but for some (dataset, seed) of its first variant."""
    study = ALL[name]
    first = next(iter(study.variants))
    stored = (
        dict(dataset=dataset, method=method, settings=settings, seed=seed)
        for key, (method, settings) in study.variants.items()
        for dataset, seed in itertools.product(study.datasets, study.all_seeds)
        if key != first or (dataset, seed) not in lacking
    )
    scores = {"scores": {"acc": 0.7, "nmi": 0.7}}
    by_name = {records.run_name(**what): what | scores for what in stored}
    return records.runs(by_name, study.variants, study.datasets, study.all_seeds)


def test_studies_with_missing_runs_are_refused():
    """What the tables say of whole studies is asserted by chapters 11 to 13, on the stored runs."""
    names = {study for studies_of in evidence.METHODS.values() for study in studies_of}
    whole = {name: frame(name) for name in names}
    walk, revised = frame("walk", ("BBC", 1), ("BBC", 2)), whole["revised"]
    closed = whole | {"closed form": frame("closed form", ("Cora", 1))}
    snf = whole | {"further sets, SNF": frame("further sets, SNF", ("ACM", 1))}
    both = (evidence.CLOSED, "SNF")
    for missing, call in (
        ("2 of [0-9]+", lambda: evidence.by_variant(walk, revised)),
        ("2 of [0-9]+", lambda: evidence.over_datasets(walk, revised)),
        ("1 of 160", lambda: evidence.beside(closed)),
        ("1 of 6", lambda: evidence.scores_of(snf, both, ["ACM", "Wiki"])),
    ):
        with pytest.raises(ValueError, match=f"^{missing} runs are not stored"):
            call()
    assert len(evidence.scores_of(snf, both, ["Wiki", "CKM-246"])) == 2
    with pytest.raises(ValueError, match="no runs are stored on CKM-246"):
        evidence.scores_of(whole, ("NEMO",), ["Wiki", "CKM-246"])


def test_a_tool_of_a_study_of_several_is_read_by_its_name_and_compared_by_group_and_kind():
    whole = {name: frame(name) for names in evidence.METHODS.values() for name in names}
    standard = whole["field, standard"]
    for points, tool in enumerate(evidence.field.STANDARD):
        standard.loc[standard.variant == tool, "acc"] = 50.0 + points
    table = evidence.beside_field(whole)
    for points, tool in enumerate(evidence.field.STANDARD):
        assert np.allclose(table.acc[tool], 20 - points) and np.allclose(table.nmi[tool], 0)
        assert set(table.n[tool].index) == {"all", "held out", *studies.GROUPS, *evidence.KINDS}
        # Two pairs of sets with the same samples each count once.
        assert table.n[tool, "all"] == len(studies.EVERY) - 2
    kinds = Counter(evidence.DATASETS[name].kind for name in studies.EVERY)
    for tool in evidence.field.CELLS_ONLY:
        found = {kind: table.n[tool, kind] for kind in kinds if kind in table.n[tool]}
        assert found == {kind: kinds[kind] for kind in ("cells", "omics")}
        assert np.allclose(table.acc[tool], 0)
    with pytest.raises(ValueError, match="1 of [0-9]+ runs are not stored"):
        evidence.beside_field(whole | {"field, standard": frame("field, standard", ("Cora", 1))})


def test_gains_count_sets_with_the_same_samples_once():
    names = ["MSRC-v1-5view", "MSRC-v1-6view", "PIE", "BBC"]
    columns = pd.MultiIndex.from_product([[evidence.CLOSED, "best single"], ["acc", "nmi"]])
    scores = pd.DataFrame(50.0, names, columns)
    scores.loc[["MSRC-v1-5view", "MSRC-v1-6view"], (evidence.CLOSED, "acc")] = [52, 56]
    scores.loc[["PIE", "BBC"], ("best single", "acc")] = 60, 90
    groups = {"all": names, "PIE": ["PIE"], "faces and objects": names[:3]}
    table = evidence.gains(scores, "best single", groups=groups)
    assert list(table.n) == [3, 1, 2]
    assert list(table.acc) == pytest.approx([(4 - 10 - 40) / 3, -10, (4 - 10) / 2])
    assert evidence.means_of(scores, groups).loc["all", ("best single", "acc")] == 200 / 3


def test_the_best_single_pipeline_is_the_best_on_the_sets_the_recipe_was_chosen_on():
    scores = evidence.scores_of(evidence.read_runs(), (), list(studies.GROUPS["chosen on"]))
    means = scores[list(evidence.BASELINES)].xs("acc", axis=1, level=1).mean()
    assert means.idxmax() == evidence.BEST_SINGLE
    assert scores[evidence.SINGLE].equals(scores[evidence.BEST_SINGLE])


def test_no_set_has_a_say_in_its_own_choice():
    scores = pd.DataFrame(
        {"a": [10.0, 0.0, 4.0], "b": [0.0, 5.0, 4.0], "c": [0.0, 5.0, 4.0]},
        index=["wins on a", "wins elsewhere", "even"],
    )
    table = evidence.leave_one_out(scores)[["variant", "acc"]]
    expected = ("wins elsewhere", 0), ("wins on a", 0), ("wins on a", 0)
    assert tuple(table.itertuples(index=False, name=None)) == expected


def test_means_of_ten_runs_would_not_be_whole_numbers_of_samples(monkeypatch):
    rng, n = np.random.default_rng(0), paper.DATASETS["PIE"][0]
    hits = rng.binomial(n, rng.uniform(0.3, 0.9, (1200, 1)), (1200, 10)).mean(1)
    made = dict(enumerate((100 * hits / n).round(2)))
    monkeypatch.setattr(paper, "TABLE_2", made)
    monkeypatch.setattr(paper, "value", lambda dataset, metric, method: made[method])
    table = evidence.whole_samples(("PIE",))
    assert abs(table.whole.mean() - table.chance.mean()) < 0.04


def test_a_method_has_the_same_settings_in_all_its_studies():
    assert set(SIXTEEN) - set(studies.SQUARE) == {"CCV-20d", "Hdigit"}
    for method, names in evidence.METHODS.items():
        studies_of = [STUDIES[name].variants for name in names]
        runs = [[run[method]] if method in run else list(run.values()) for run in studies_of]
        assert all(len(run) == 1 and run == runs[0] for run in runs)
    assert STUDIES["further sets, NEMO"].variants["NEMO"] == studies.LIBRARIES["iMML, NEMO"]


def stored(name, datasets, **scores):
    """Records of a study on some of its data sets, by name."""
    study = STUDIES[name]
    named = (
        dict(dataset=dataset, method=method, settings=settings, seed=seed)
        for method, settings in study.variants.values()
        for dataset, seed in itertools.product(datasets, study.all_seeds)
    )
    return {records.run_name(**what): what | scores for what in named}


def test_only_data_sets_with_all_seeds_are_whole():
    some = frame("held out, released", ("NCI60-60", 1), ("PoliticsUK-419", 3))
    found = records.whole(some)
    assert set(studies.HELD_OUT) - set(found.dataset) == {"NCI60-60", "PoliticsUK-419"}
    assert len(found) == 3 * 24 and len(records.whole(some, 2)) == len(some) == 76
    some.loc[some.dataset == "Ads-998", "acc"] = [50, 60, np.nan]  # a fit that failed
    assert "Ads-998" not in set(records.whole(some).dataset)


def test_a_study_is_beside_what_is_stored_where_all_its_runs_are(monkeypatch):
    index = stored(studies.DEFAULT, ["PIE", "Cora"], scores={"acc": 0.7, "nmi": 0.6})
    index.popitem()  # a seed of the last
    monkeypatch.setattr(records, "index", lambda store: index)
    columns = pd.MultiIndex.from_product([[evidence.CLOSED], ["acc", "nmi"]])
    both = evidence.with_study(pd.DataFrame(60.0, ["Cora", "PIE"], columns), studies.DEFAULT)
    assert list(both.index) == ["PIE"]
    assert np.allclose(both[studies.DEFAULT], [[70, 60]])
    groups = evidence.within(both, {"a": ["Cora", "PIE"], "b": ["Cora"]})
    assert groups == {"a": ["PIE"], "b": []}
