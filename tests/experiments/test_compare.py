"""Paired comparisons over seeds, against scipy and on runs whose answers are known."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from toy_frames import frame, several, three_variants

from experiments import compare as comparisons


def test_paired_is_the_paired_t_test():
    runs = three_variants()
    table = comparisons.paired_differences(runs, "DMAC", "closed")
    row, expected = table.loc["PIE"], stats.ttest_rel([30, 35, 34], [70, 71, 75])
    assert row["mean"] == pytest.approx(-39) and row.p == pytest.approx(expected.pvalue)
    interval = tuple(expected.confidence_interval())
    assert (row["mean"] - row.half, row["mean"] + row.half) == pytest.approx(interval)
    assert table.loc["BBC"].seeds == 2
    one = comparisons.paired_differences(runs[runs.seed == 1], "DMAC", "closed").loc["PIE"]
    assert one["mean"] == -40 and np.isnan(one.p) and np.isnan(one.half)
    assert comparisons.paired_differences(runs, "closed", "closed").p.tolist() == [1.0, 1.0]
    assert comparisons.paired_differences(runs, "DMAC", "absent").empty


def test_holm_is_monotone_and_leaves_out_what_is_not_tested():
    adjusted = comparisons.holm([0.01, 0.04, np.nan, 0.03, 0.9])
    np.testing.assert_allclose(adjusted, [0.04, 0.09, np.nan, 0.09, 0.9])
    assert comparisons.holm([0.5, 0.6]).tolist() == [1.0, 1.0]


def test_means_over_data_sets_keep_the_developed_ones_apart():
    means = pd.Series({"PIE": 10.0, "BBC": 14.0, "NGs": 1.0, "ALOI-10": -2.0, "BBCSport": np.nan})
    table = comparisons.over_datasets(means)
    assert table.sets.tolist() == [4, 2, 2]
    assert table["mean"].tolist() == [5.75, 12, -0.5]
    assert table.half["chosen on"] == comparisons.interval([10, 14])[1]
    alone = comparisons.over_datasets(means[["NGs"]])
    assert list(alone.index) == ["all", "looked at"] and alone.half.isna().all()


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
    assert comparisons.changes(frame(rows[:2])).empty


def test_repeated_runs_are_compared_seed_by_seed():
    first = frame([*several("PIE", "DMAC", [30.0, 36.0, 33.0]), *several("BBC", "DMAC", [50.0])])
    table = comparisons.compare_repeats(first, frame(several("PIE", "DMAC", [34.0, 33.0])))
    assert list(table.index) == [("DMAC", "PIE")]
    assert table.iloc[0].tolist() == [3.5, 4.0, 0.5, pytest.approx(np.std([30, 36], ddof=1)), 2]
    assert comparisons.compare_repeats(first, first).largest.tolist() == [0, 0]


def least_squares(scores):
    """The same F-test by two regressions on dummies: with the treatments, and without them."""
    b, t = scores.shape
    block, treatment = np.kron(np.eye(b), np.ones((t, 1))), np.kron(np.ones((b, 1)), np.eye(t))
    y, designs = scores.ravel(), (np.hstack([block, treatment[:, 1:]]), block)
    full, reduced = (((y - x @ np.linalg.lstsq(x, y, rcond=None)[0]) ** 2).sum() for x in designs)
    freedom = (b - 1) * (t - 1)
    f = (reduced - full) / (t - 1) / (full / freedom)
    return f, stats.f.sf(f, t - 1, freedom)


@given(st.integers(2, 6), st.integers(2, 6), st.integers(0, 2**31 - 1))
def test_blocked_f_test_is_that_of_least_squares(b, t, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(b, t)) + 10 * rng.normal(size=(b, 1)) + rng.normal(size=t)
    f, p = comparisons.blocked_f_test(scores)
    assert (f, p) == (pytest.approx(least_squares(scores), rel=1e-6))
    # What the blocks differ by does not matter.
    assert comparisons.blocked_f_test(scores + rng.normal(size=(b, 1)))[0] == pytest.approx(f)


def test_blocked_f_test_says_where_it_cannot_tell():
    for scores in ([[1.0, 2.0]], [[1.0], [2.0]], [[3.0, 3.0], [3.0, 3.0]]):
        assert np.isnan(comparisons.blocked_f_test(scores)).all()
    assert comparisons.blocked_f_test([[1.0, 3.0], [2.0, 4.0]]) == (np.inf, 0)
    assert comparisons.blocked_f_test([[1.0, 1.0], [2.0, 2.0]])[1] == 1
