"""Paired comparisons over seeds, against scipy and on runs whose answers are known."""

import numpy as np
import pytest
from scipy import stats
from toy_frames import frame, several, three_variants

from dmac.experiments import compare as comparisons
from dmac.experiments import findings, wording


@pytest.fixture
def runs():
    return three_variants()


def test_paired_is_the_paired_t_test(runs):
    found = comparisons.paired(runs, "DMAC", "closed").loc["PIE"]
    expected = stats.ttest_rel([30, 35, 34], [70, 71, 75])
    assert found["mean"] == pytest.approx(-39) and found.p == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval()
    assert (found["mean"] - found.half, found["mean"] + found.half) == pytest.approx((low, high))
    assert comparisons.paired(runs, "DMAC", "closed").loc["BBC"].seeds == 2
    one = comparisons.paired(runs[runs.seed == 1], "DMAC", "closed").loc["PIE"]
    assert one["mean"] == -40 and np.isnan(one.p) and np.isnan(one.half)
    assert comparisons.paired(runs, "closed", "closed").p.tolist() == [1.0, 1.0]
    assert comparisons.paired(runs, "DMAC", "absent").empty


def test_interval_is_student_s():
    mean, half = comparisons.interval([1.0, 2.0, 4.0])
    low, high = stats.t.interval(0.95, 2, loc=mean, scale=stats.sem([1, 2, 4]))
    assert (mean - half, mean + half) == (pytest.approx(low), pytest.approx(high))
    assert np.isnan(comparisons.interval([3.0])[1])


def test_holm_is_monotone_and_leaves_out_what_is_not_tested():
    found = comparisons.holm([0.01, 0.04, np.nan, 0.03, 0.9])
    np.testing.assert_allclose(found, [0.04, 0.09, np.nan, 0.09, 0.9])
    assert comparisons.holm([0.5, 0.6]).tolist() == [1.0, 1.0]


def test_significance_takes_the_best_baseline_of_each_data_set(runs):
    table = comparisons.significance(runs, ["DMAC"], ["k-means", "closed"])
    assert table["reference"].tolist() == ["closed", "k-means"]
    assert table["mean"].tolist() == [pytest.approx(-39), pytest.approx(18)]
    shown = comparisons.differences(table)
    assert shown.difference.iloc[0].startswith("−39.0 ±") and shown.seeds.tolist() == [3, 2]
    assert "1 is a loss" not in findings.significance(table, "DMAC")
    assert "0 are gains and 1 a loss" in findings.significance(table, "DMAC")
    apart = findings.development(table, "DMAC")
    assert apart.startswith("On PIE and BBC, which it was developed on: 2 differences")
    assert "The mean difference is −10.5 points" in apart and "not developed" not in apart
    assert findings.development(table, "none") == wording.NOTHING
    text = findings.comparison(runs, ["k-means", "closed"], ["DMAC"])
    assert "on 1 of 2 data sets (BBC)" in text and "−39.0 points, on PIE" in text
    assert findings.significance(table, "none") == wording.NOTHING


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
    assert comparisons.changes_shown(frame(rows)).loc["up", "PIE"] == "+2.0 ± 0.0"
    text = findings.beyond(table)
    assert '"up" raises the accuracy most' in text and '"down" lowers it most' in text
    assert "no variant raises" in findings.beyond(-table.loc[["up"]])
    assert comparisons.changes(frame(rows[:2])).empty


def test_repeated_runs_are_compared_seed_by_seed():
    first = frame([*several("PIE", "DMAC", [30.0, 36.0, 33.0]), *several("BBC", "DMAC", [50.0])])
    again = frame(several("PIE", "DMAC", [34.0, 33.0]))
    table = comparisons.repeated(first, again)
    assert list(table.index) == [("DMAC", "PIE")]
    mean, largest, of_means, sd, seeds = table.iloc[0]
    assert (mean, largest, of_means, seeds) == (3.5, 4.0, 0.5, 2)
    assert sd == pytest.approx(np.std([30, 36], ddof=1))
    said = findings.repeated(table)
    assert "up to 4.0 points away (on PIE)" in said and "the seeds up to 0.5 points" in said
    same = comparisons.repeated(first, first)
    assert same.largest.tolist() == [0, 0]
    assert 'Every run of "DMAC" came out within half a point' in findings.repeated(same)
    assert findings.repeated(comparisons.repeated(first, again.iloc[:0])) == wording.NOTHING
