"""The other systems: their stored runs, published numbers beside ours, and losses of stages."""

import pytest
from toy_frames import bold, frame, several

from experiments import field_tables


@pytest.fixture
def counted():
    """Runs of three systems, some of them missing, and how many seeds each has."""
    seeds = {"GMC": 1, "LMVSC": 3, "SURER": 2}
    rows = [
        *several("PIE", "GMC", [20.0]),
        *several("PIE", "LMVSC", [20.0, 22.0]),
        *several("mfeat", "LMVSC", [60.0, 61.0, 62.0]),
    ]
    return frame(rows, list(seeds), ["PIE", "mfeat"], seeds=10), seeds


def test_runs_are_counted_with_those_that_are_missing(counted):
    runs, seeds = counted
    counts = field_tables.count_stored(runs, seeds)
    assert counts.loc["LMVSC"].tolist() == [3, 6, 5, 1]
    assert counts.loc["SURER"].tolist() == [2, 4, 0, 4]
    assert field_tables.count_stored(runs.iloc[:0], seeds)["not yet run"].tolist() == [2, 6, 4]


def test_the_other_nine_tenths_are_worth_the_change_at_equal_seeds():
    short = frame([*several("PIE", "SURER", [30.0, 32.0]), *several("BBC", "SURER", [50.0])])
    whole = frame([*several("PIE", "SURER", [29.0, 34.0, 90.0]), *several("PIE", "CMGEC", [9.0])])
    table = field_tables.format_schedules(whole, short)
    assert list(table.index) == [("SURER", "PIE")]
    assert table.iloc[0].tolist() == ["31.0 ± 1.4", "31.5 ± 3.5", "0.5 ± 2.1"]
    assert field_tables.measure_schedules(whole, short).to_dict() == {("SURER", "PIE"): 0.5}
    by_nmi = field_tables.format_schedules(whole, short, "nmi")
    assert by_nmi.iloc[0]["a tenth"] == "41.0 ± 1.4"


def test_other_systems_stand_beside_the_paper(counted):
    runs, seeds = counted
    table = field_tables.format_other_systems(runs, seeds, seeds)
    assert bold(table) == {("PIE", "LMVSC"), ("PIE, the paper", "LMVSC"), ("mfeat", "LMVSC")}
    assert table.data.loc["PIE"].tolist() == ["20.0", "21.0 ± 1.4 (2)", "–"]
    assert table.data.loc["mfeat"].tolist() == ["–", "61.0 ± 1.0", "–"]
    by_nmi = field_tables.format_other_systems(runs, seeds, seeds, "nmi").data
    assert by_nmi.loc["PIE, the paper"].tolist() == ["44.2", "63.3", "64.2"]
