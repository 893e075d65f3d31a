"""The paper's run times beside stored ones."""

import pytest
from toy_frames import frame, several

from dmac.experiments import paper, wording
from dmac.experiments import runtime as timings


def test_run_times_have_the_paper_s_and_ours():
    rows = [
        row | {"seconds": s}
        for row, s in zip(several("BBC", "DMAC, released", [1.0, 1.0, 1.0]), (5.0, 9.0, 7.0))
    ]
    epochs = [
        {"name": "ALOI", "system": "released", "median": 2.0249},
        {"name": "ALOI", "system": "dense", "error": "more than 20 GB"},
    ]
    table = timings.table(frame(rows), epochs)
    assert table.loc["DMAC", "ALOI"] == paper.RUN_TIMES["DMAC"][3]
    assert table.loc["with pre-training here", "BBC"] == 7
    assert table.loc["with pre-training here"].isna().sum() == 3
    assert table.loc["100 epochs here"].dropna().to_dict() == {"ALOI": pytest.approx(202.49)}
    said = timings.finding(table)
    assert "50 % on ALOI" in said and "39 % on BBC" in said
    slow = table.copy()
    slow.loc["with pre-training here"] *= 10
    assert "4 times as long on BBC" in timings.finding(slow)
    assert timings.finding(table.iloc[:6].reindex([*table.index])) == wording.NOTHING
