"""Paired comparisons over seeds, against scipy and on runs whose answers are known."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from toy_frames import frame, several, three_variants

from experiments import compare as comparisons


@pytest.fixture
def runs():
    return three_variants()


def test_paired_is_the_paired_t_test(runs):
    row = comparisons.paired_differences(runs, "DMAC", "closed").loc["PIE"]
    expected = stats.ttest_rel([30, 35, 34], [70, 71, 75])
    assert row["mean"] == pytest.approx(-39) and row.p == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval()
    assert (row["mean"] - row.half, row["mean"] + row.half) == pytest.approx((low, high))
    assert comparisons.paired_differences(runs, "DMAC", "closed").loc["BBC"].seeds == 2
    one = comparisons.paired_differences(runs[runs.seed == 1], "DMAC", "closed").loc["PIE"]
    assert one["mean"] == -40 and np.isnan(one.p) and np.isnan(one.half)
    assert comparisons.paired_differences(runs, "closed", "closed").p.tolist() == [1.0, 1.0]
    assert comparisons.paired_differences(runs, "DMAC", "absent").empty


def test_interval_is_student_s():
    mean, half = comparisons.interval([1.0, 2.0, 4.0])
    low, high = stats.t.interval(0.95, 2, loc=mean, scale=stats.sem([1, 2, 4]))
    assert (mean - half, mean + half) == (pytest.approx(low), pytest.approx(high))
    assert np.isnan(comparisons.interval([3.0])[1])


def test_holm_is_monotone_and_leaves_out_what_is_not_tested():
    adjusted = comparisons.holm([0.01, 0.04, np.nan, 0.03, 0.9])
    np.testing.assert_allclose(adjusted, [0.04, 0.09, np.nan, 0.09, 0.9])
    assert comparisons.holm([0.5, 0.6]).tolist() == [1.0, 1.0]


def test_significance_takes_the_best_baseline_of_each_data_set(runs):
    table = comparisons.significance(runs, ["DMAC"], ["k-means", "closed"])
    assert table["reference"].tolist() == ["closed", "k-means"]
    assert table["mean"].tolist() == [pytest.approx(-39), pytest.approx(18)]
    shown = comparisons.format_differences(table)
    assert shown.difference.iloc[0].startswith("−39.0 ±") and shown.seeds.tolist() == [3, 2]
    assert comparisons.format_over_datasets(table).loc["DMAC"].tolist() == ["−10.5 ± 362.1"] * 2


def test_means_over_data_sets_keep_the_developed_ones_apart():
    means = pd.Series({"PIE": 10.0, "BBC": 14.0, "NGs": 1.0, "ALOI-10": -2.0, "BBCSport": np.nan})
    table = comparisons.over_datasets(means)
    assert table.sets.tolist() == [4, 2, 2]
    assert table["mean"].tolist() == [5.75, 12, -0.5]
    for name, values in {"all": [10, 14, 1, -2], "developed on": [10, 14]}.items():
        low, high = stats.t.interval(
            0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values)
        )
        assert table.half[name] == pytest.approx((high - low) / 2)
    alone = comparisons.over_datasets(means[["NGs"]])
    assert list(alone.index) == ["all", "others"] and alone.half.isna().all()
    assert comparisons.over_datasets(means[:0]).empty


def test_training_changes_are_the_paired_t_test_of_a_run_with_itself():
    before, after = [50.0, 52.0, 54.0], [40.0, 45.0, 41.0]
    rows = [row | {"start_acc": start} for row, start in zip(several("PIE", "DMAC", after), before)]
    rows += several("BBC", "DMAC", [30.0, 31.0])  # without a pre-training
    table = comparisons.training_changes(frame(rows))
    assert list(table.index) == ["PIE"]
    row = table.loc["PIE"]
    assert (row.before, row.after, row["mean"], row.seeds) == (52, 42, -10, 3)
    assert row.p == pytest.approx(stats.ttest_rel(after, before).pvalue)
    text = comparisons.format_differences(table).loc["PIE"]
    assert text[["before, %", "after, %"]].tolist() == ["52.0", "42.0"]
    assert comparisons.training_changes(frame(rows[3:])).empty


def test_changes_are_paired_and_averaged_over_common_data_sets():
    rows = [
        *several("PIE", "RELEASED", [30.0, 40.0]),
        *several("PIE", "up", [32.0, 42.0]),
        *several("PIE", "down", [29.0, 39.0]),
        *several("BBC", "RELEASED", [60.0]),
        *several("BBC", "up", [64.0]),
    ]
    table = comparisons.changes(frame(rows))
    assert table.loc["up"].tolist() == [2, 4, 2] and table.loc["down", "mean"] == -1
    assert comparisons.format_changes(frame(rows)).loc["up", "PIE"] == "+2.0 ± 0.0"
    assert comparisons.changes(frame(rows[:2])).empty


def test_repeated_runs_are_compared_seed_by_seed():
    first = frame([*several("PIE", "DMAC", [30.0, 36.0, 33.0]), *several("BBC", "DMAC", [50.0])])
    again = frame(several("PIE", "DMAC", [34.0, 33.0]))
    table = comparisons.compare_repeats(first, again)
    assert list(table.index) == [("DMAC", "PIE")]
    mean, largest, of_means, sd, seeds = table.iloc[0]
    assert (mean, largest, of_means, seeds) == (3.5, 4.0, 0.5, 2)
    assert sd == pytest.approx(np.std([30, 36], ddof=1))
    same = comparisons.compare_repeats(first, first)
    assert same.largest.tolist() == [0, 0]
    assert comparisons.compare_repeats(first, again.iloc[:0]).empty
