"""Tables of chapter 15 over sixteen data sets: which runs they take, means, intervals, choices."""

import pandas as pd
import pytest

from experiments import generalise_tables as tables
from experiments import records, studies
from experiments.studies import CONFIRMED, DEVELOPED, NEW, SIXTEEN, STUDIES

ALL = studies.shown_on("11_recipes", "14_network", "15_evidence")
SHALLOW = list(STUDIES["shallow, new sets"].variants)


def frame(group, accuracy, lacking=()):
    """Runs of a group with ACC of ``accuracy(variant, dataset, seed)`` and NMI 10 below."""
    asked = ALL[group]
    by_name = {
        records.run_name(dataset, method, settings, seed): dict(
            dataset=dataset,
            method=method,
            settings=settings,
            seed=seed,
            scores={
                "acc": accuracy(name, dataset, seed) / 100,
                "nmi": accuracy(name, dataset, seed) / 100 - 0.1,
            },
        )
        for name, (method, settings) in asked.variants.items()
        for dataset in asked.datasets
        for seed in asked.all_seeds
        if (name, dataset, seed) not in lacking
    }
    return records.runs(by_name, asked.variants, asked.datasets, asked.all_seeds)


def shallow(name, dataset, seed):
    """The first is best on one set, the second on all others."""
    return {SHALLOW[0]: 95 if dataset == "PIE" else 40, SHALLOW[1]: 60}.get(name, 50)


@pytest.fixture(scope="module")
def runs():
    found = {
        "closed form": frame("closed form", lambda name, dataset, seed: 70 + seed),
        "revised": frame("revised", lambda name, dataset, seed: 80),
        "revised, new sets": frame("revised, new sets", lambda name, dataset, seed: 50 + seed),
        "baselines": frame("baselines", shallow),
        "shallow, new sets": frame("shallow, new sets", shallow),
    }
    for group in ("closed form, parts", "closed form, constants"):
        found[group] = frame(group, part)
    return found


def part(name, dataset, seed):
    """One variant gains three points on a single set, another a point on all, others lose one."""
    gain = {"no votes": 3 if dataset == "PIE" else -1, "no guard": 1}.get(name, -1)
    return 70 + seed + gain


def test_methods_stand_side_by_side_on_all_sets(runs):
    table = tables.beside(runs)
    assert list(table.index) == list(SIXTEEN)
    methods = ["CLOSED_FORM", "REVISED", "best single", "best of four"]
    assert list(table.columns) == [(m, key) for m in methods for key in ("acc", "nmi")]
    acc = table.xs("acc", axis=1, level=1)
    assert (acc.CLOSED_FORM - 75.5).abs().max() < 1e-9  # the mean of ten seeds
    assert (acc.REVISED[list(NEW)] - 52).abs().max() < 1e-9  # of three
    assert (acc.REVISED[list(studies.NINE)] - 80).abs().max() < 1e-9
    assert (acc["best single"] - 60).abs().max() < 1e-9
    assert acc["best of four"]["PIE"] == pytest.approx(95)
    assert acc["best of four"].drop("PIE").tolist() == pytest.approx([60] * 15)
    nmi = table.xs("nmi", axis=1, level=1)
    assert ((acc - nmi) - 10).abs().max().max() < 1e-9


def test_missing_runs_are_refused(runs):
    absent = [("closed form", "Cora", 3), ("closed form", "BBC", 1)]
    lacking = frame("closed form", lambda name, dataset, seed: 70, absent)
    with pytest.raises(ValueError, match="2 of 160 runs are not stored"):
        tables.beside(runs | {"closed form": lacking})


def test_parts_are_compared_at_equal_seeds_with_the_sets_apart(runs):
    table = tables.by_part(runs["closed form, parts"], runs["closed form"])
    assert list(table.columns) == ["ACC", "±", "developed on", "others", "NMI", "± (NMI)"]
    assert list(table.index) == list(STUDIES["closed form, parts"].variants)
    assert tuple(table.loc["no guard"]) == pytest.approx((1, 0, 1, 1, 1, 0), abs=1e-6)
    row = table.loc["no votes"]  # 3 on PIE, -1 on fifteen
    assert row.ACC == pytest.approx(-0.75) and row["±"] == pytest.approx(2.1314 / 4, rel=1e-3)
    assert row["developed on"] == pytest.approx(-5 / 9) and row.others == pytest.approx(-1)


def test_intervals_as_text_are_over_data_sets():
    differences = pd.Series(-2.0, SIXTEEN)
    differences[list(CONFIRMED)] = 1.0
    short = tables.in_short(differences)
    assert short["developed on"] == "−2.0 ± 0.0" and short["others"] == "1.0 ± 0.0"
    assert short["all"].startswith("−0.7 ± 0.8")
    assert tables.in_short(differences, DEVELOPED[:2])["developed on"] == "−2.0 ± 0.0"


def test_choices_are_all_variants_at_seeds_that_all_have(runs):
    scores = tables.choices(runs)
    groups = (STUDIES[f"closed form, {name}"].variants for name in ("parts", "constants"))
    assert set(scores.index) == {"CLOSED_FORM", *(name for group in groups for name in group)}
    assert list(scores) == list(SIXTEEN)
    assert scores.loc["CLOSED_FORM"].tolist() == pytest.approx([71.0] * 16)  # of seed 1
    assert scores.loc["no guard"].tolist() == pytest.approx([72.0] * 16)


def test_no_set_has_a_say_in_its_own_choice():
    scores = pd.DataFrame(
        {"a": [10.0, 0.0, 4.0], "b": [0.0, 5.0, 4.0], "c": [0.0, 5.0, 4.0]},
        index=["wins on a", "wins elsewhere", "even"],
    )
    table = tables.leave_one_out(scores)
    assert list(table.index) == ["a", "b", "c"]
    assert list(table.variant) == ["wins elsewhere", "wins on a", "wins on a"]
    assert list(table.acc) == [0, 0, 0]


def test_stored_runs_are_read_by_group(tmp_path):
    found = tables.read_runs(tmp_path)
    assert set(found) == set(ALL)
    assert all(len(runs) == 0 for runs in found.values())
