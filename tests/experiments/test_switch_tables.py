"""Tables of chapter 15: paired changes, intervals over seeds and data sets, steps of a walk."""

import pytest

from experiments import records
from experiments.studies import STUDIES, WALK
from experiments.switch_tables import by_variant, over_datasets, steps

SETS = {"PIE": 0.9, "BBC": 0.6}


def frame(group, accuracies, lacking=()):
    """Runs of some variants on two sets and three seeds, as the store's reader returns them."""
    variants = {name: STUDIES[group].variants[name] for name in accuracies}
    by_name = {
        records.run_name(dataset, method, settings, seed): dict(
            dataset=dataset,
            method=method,
            settings=settings,
            seed=seed,
            scores={"acc": start + accuracies[name](dataset, seed) / 100, "nmi": start},
        )
        for name, (method, settings) in variants.items()
        for dataset, start in SETS.items()
        for seed in (1, 2, 3)
        if (name, dataset, seed) not in lacking
    }
    return records.runs(by_name, variants, list(SETS), (1, 2, 3))


@pytest.fixture
def revised():
    """REVISED at 90 and 60, and a point more with each seed."""
    return frame("revised", {"revised": lambda dataset, seed: seed})


WALKED = {name: lambda dataset, seed, i=i: i for i, name in enumerate(list(WALK)[:-1])}
CONSISTENCY = {"consistency": lambda dataset, seed: 2 * seed + (dataset == "PIE")}


def test_changes_are_paired_by_set_and_seed(revised):
    table = by_variant(frame("ideas", CONSISTENCY), revised)
    assert list(table.index) == ["consistency"]
    row = table.loc["consistency"]
    expected = (3.0, 2.0, 2.5, 4.303 / 3**0.5)  # the last of 1.5, 2.5, 3.5
    columns = ["PIE", "BBC", "mean ACC", "± (acc)"]
    assert list(row[columns]) == pytest.approx(expected, rel=1e-3)
    assert row["mean NMI"] == row["± (nmi)"] == 0


def test_interval_over_data_sets_is_students(revised):
    table = over_datasets(frame("ideas", CONSISTENCY), revised, developed=("PIE",))
    expected = (2.5, 12.706 * 0.5, 3.0, 2.0)  # of 3 and 2 points
    assert tuple(table.loc["consistency"]) == pytest.approx(expected, rel=1e-3)
    assert list(table.columns) == ["mean", "±", "developed on", "others"]
    by_nmi = over_datasets(frame("ideas", CONSISTENCY), revised, "nmi")
    assert by_nmi.loc["consistency", "mean"] == 0


@pytest.mark.parametrize("lacking", [1, 3, 6])
def test_groups_with_missing_runs_are_refused(revised, lacking):
    absent = [(name, "BBC", seed) for name in ("start", "+ ridge") for seed in (1, 2, 3)][:lacking]
    runs = frame("walk", WALKED, absent)
    for table in (lambda: steps(runs, WALK, revised), lambda: by_variant(runs, revised)):
        with pytest.raises(ValueError, match=f"{lacking} of 36 runs are not stored"):
            table()


def test_steps_end_at_revised(revised):
    table = steps(frame("walk", WALKED), WALK, revised)
    assert list(table.index) == list(WALK)
    assert list(table["mean ACC"]) == pytest.approx([75, 76, 77, 78, 79, 80, 77])
    assert list(table.columns) == ["PIE", "BBC", "mean ACC", "mean NMI"]
