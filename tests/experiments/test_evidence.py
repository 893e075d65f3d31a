"""Tables of chapters 11 to 13: paired changes, intervals, walks, choices, and missing runs."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments import evidence, paper, records, studies
from experiments.compare import over_datasets
from experiments.studies import DEVELOPMENT, SIXTEEN, STUDIES, WALK

ROOT = Path(__file__).parents[2]
ALL = studies.shown_on("12_recipes", "11_network", "13_evidence")
TWO = {"PIE": 90, "BBC": 60}


def frame(name, accuracy, lacking=(), nmi=None, names=None, datasets=None, seeds=None):
    """Runs of a study with ACC of ``accuracy(variant, dataset, seed)`` and NMI 10 below."""
    study = ALL[name]
    variants = {key: run for key, run in study.variants.items() if names is None or key in names}
    datasets, seeds = datasets or study.datasets, seeds or study.all_seeds
    by_name = {}
    for key, (method, settings) in variants.items():
        for dataset in datasets:
            for seed in seeds:
                if (key, dataset, seed) in lacking:
                    continue
                acc = accuracy(key, dataset, seed)
                scores = {"acc": acc / 100, "nmi": (acc - 10 if nmi is None else nmi) / 100}
                what = dict(dataset=dataset, method=method, settings=settings, seed=seed)
                by_name[records.run_name(**what)] = what | {"scores": scores}
    return records.runs(by_name, variants, datasets, seeds)


def two(name, accuracy, lacking=()):
    """The same on two data sets, above 90 and 60, with three seeds and equal NMI."""

    def found(key, dataset, seed):
        return TWO[dataset] + accuracy[key](dataset, seed)

    return frame(name, found, lacking, 50, accuracy, tuple(TWO), (1, 2, 3))


@pytest.fixture
def revised():
    """REVISED at 90 and 60, and a point more with each seed."""
    return two("revised", {"revised": lambda dataset, seed: seed})


WALKED = {name: lambda dataset, seed, i=i: i for i, name in enumerate(list(WALK)[:-1])}
CONSISTENCY = {"consistency": lambda dataset, seed: 2 * seed + (dataset == "PIE")}


def test_changes_are_paired_by_set_and_seed(revised):
    row = evidence.by_variant(two("ideas", CONSISTENCY), revised).loc["consistency"]
    expected = (3.0, 2.0, 2.5, 4.303 / 3**0.5)  # the last of 1.5, 2.5, 3.5
    columns = ["PIE", "BBC", "mean ACC", "± (acc)"]
    assert list(row[columns]) == pytest.approx(expected, rel=1e-3)
    assert row["mean NMI"] == row["± (nmi)"] == 0


def test_interval_over_data_sets_is_students(revised):
    table = evidence.over_datasets(two("ideas", CONSISTENCY), revised, developed=("PIE",))
    row = table.loc["consistency", ["mean", "±", "chosen on", "looked at"]]
    assert list(row) == pytest.approx((2.5, 12.706 * 0.5, 3.0, 2.0), rel=1e-3)  # of 3 and 2 points
    by_nmi = evidence.over_datasets(two("ideas", CONSISTENCY), revised, "nmi")
    assert by_nmi.loc["consistency", "mean"] == 0


def test_studies_with_missing_runs_are_refused(revised):
    """What the tables say of whole studies is asserted by chapters 11 to 13, on the stored runs."""
    names = {study for studies_of in evidence.METHODS.values() for study in studies_of}
    names |= {"baselines", "shallow, new sets", "further sets, shallow", "never touched, shallow"}
    whole = {name: frame(name, lambda *which: 70) for name in names}

    def lacking(name, dataset, seed=1):
        (variant,) = ALL[name].variants
        return whole | {name: frame(name, lambda *which: 70, [(variant, dataset, seed)])}

    walk = two("walk", WALKED, [("start", "BBC", 1), ("+ ridge", "BBC", 3)])
    closed, snf = lacking("closed form", "Cora"), lacking("further sets, SNF", "ACM")
    both = ("CLOSED_FORM", "SNF")
    for missing, call in (
        ("2 of 36", lambda: evidence.steps(walk, WALK, revised)),
        ("2 of 36", lambda: evidence.by_variant(walk, revised)),
        ("2 of 36", lambda: evidence.over_datasets(walk, revised)),
        ("1 of 160", lambda: evidence.beside(closed)),
        ("1 of 6", lambda: evidence.scores_of(snf, both, ["ACM", "Wiki"])),
    ):
        with pytest.raises(ValueError, match=f"{missing} runs are not stored"):
            call()
    assert len(evidence.scores_of(snf, both, ["Wiki", "CKM-246"])) == 2
    with pytest.raises(ValueError, match="no runs are stored on CKM-246"):
        evidence.scores_of(whole, ("NEMO",), ["Wiki", "CKM-246"])


def test_gains_count_sets_with_the_same_samples_once_and_take_the_best_single_of_each_group():
    names = ["MSRC-v1-5view", "MSRC-v1-6view", "PIE", "BBC"]
    methods = ["CLOSED_FORM", *evidence.BASELINES]
    columns = pd.MultiIndex.from_product([methods, ["acc", "nmi"]])
    scores = pd.DataFrame(50.0, names, columns)
    scores.loc[["MSRC-v1-5view", "MSRC-v1-6view"], ("CLOSED_FORM", "acc")] = [52, 56]
    first, second = list(evidence.BASELINES)[:2]
    scores.loc["PIE", (first, "acc")], scores.loc["BBC", (second, "acc")] = 60, 90
    groups = {"all": names, "PIE": ["PIE"], "faces and objects": names[:3]}
    table = evidence.gains(scores, "best single", groups=groups)
    assert list(table.n) == [3, 1, 2]
    assert table.acc["PIE"] == -10 and table.acc["faces and objects"] == (4 - 10) / 2
    assert table.acc["all"] == pytest.approx((4 + 0 - 40) / 3)
    assert evidence.means_of(scores, groups).loc["all", ("best single", "acc")] == 190 / 3


def test_gains_are_written_with_intervals_where_three_sets_count():
    rows = {"acc": [1.25, -1.0], "±acc": [0.5, 9], "nmi": [0.0, 2], "±nmi": [1.0, 9], "n": [3, 2]}
    text = evidence.format_gains(pd.DataFrame(rows, ["three", "two"]))
    assert text.ACC.tolist() == ["+1.2 ± 0.5", "−1.0"]
    assert text.NMI.tolist() == ["0.0 ± 1.0", "+2.0"]


def test_no_set_has_a_say_in_its_own_choice():
    scores = pd.DataFrame(
        {"a": [10.0, 0.0, 4.0], "b": [0.0, 5.0, 4.0], "c": [0.0, 5.0, 4.0]},
        index=["wins on a", "wins elsewhere", "even"],
    )
    table = evidence.leave_one_out(scores)
    assert list(table.variant) == ["wins elsewhere", "wins on a", "wins on a"]
    assert list(table.acc) == [0, 0, 0]


def test_readme_on_data_that_revised_was_not_developed_on():
    differences = evidence.beside_shallow()
    assert list(differences.index) == list(studies.NINE)
    others = over_datasets(differences, DEVELOPMENT).loc["looked at"]
    assert abs(others["mean"]) < others.half
    rest = differences.drop([*DEVELOPMENT, "Yale-3view"])
    assert abs(rest.mean()) < 0.5 and differences["Yale-3view"] > 10
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert "ties with the best single one" in text and "the one to use" not in text


def test_readme_has_the_gains_on_data_that_nobody_had_touched():
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    methods, groups = (evidence.CLOSED, evidence.TRAINED), {"": studies.NEVER_TOUCHED}
    scores = evidence.scores_of(evidence.read_runs(), methods, studies.NEVER_TOUCHED)
    gain = evidence.gains(scores, evidence.SINGLE, groups=groups).loc[""]
    said = "gains {:.1f} ± {:.1f} points of accuracy and {:.1f} ± {:.1f} of NMI"
    assert said.format(*gain[["acc", "±acc", "nmi", "±nmi"]]) in text
    gain = evidence.gains(scores, evidence.TRAINED, groups=groups).loc[""]
    assert "{:.1f} ± {:.1f} points ahead of it".format(*gain[["acc", "±acc"]]) in text


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
    for names in evidence.METHODS.values():
        runs = [list(STUDIES[name].variants.values()) for name in names]
        assert all(len(run) == 1 and run == runs[0] for run in runs)
    assert STUDIES["further sets, NEMO"].variants["NEMO"] == studies.LIBRARIES["iMML, NEMO"]
