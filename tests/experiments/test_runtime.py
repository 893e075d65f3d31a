"""The paper's run times beside stored ones."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from toy_frames import frame, several

from experiments import paper, runtime


def test_run_times_have_the_paper_s_and_ours():
    rows = [
        row | {"seconds": s}
        for row, s in zip(several("BBC", "RELEASED", [1.0, 1.0, 1.0]), (5.0, 9.0, 7.0))
    ]
    epochs = [
        {"name": "ALOI", "system": "released", "median": 2.0249},
        {"name": "ALOI", "system": "dense", "error": "more than 20 GB"},
    ]
    table = runtime.run_times(frame(rows), epochs)
    assert table.loc["DMAC", "ALOI"] == paper.RUN_TIMES["DMAC"][3]
    assert table.loc["with pre-training here", "BBC"] == 7
    assert table.loc["with pre-training here"].isna().sum() == 3
    assert table.loc["100 epochs here"].dropna().to_dict() == {"ALOI": pytest.approx(202.49)}
    axis = runtime.plot_run_times(table).axes[0]
    values_of = {line.get_label(): line.get_ydata() for line in axis.lines}
    np.testing.assert_array_equal(values_of["DMAC"], paper.RUN_TIMES["DMAC"])
    assert {line.get_color() for line in axis.lines if "here" in line.get_label()} == {"black"}
    plt.close("all")


def test_growth_is_fitted_from_ten_thousand_samples_on():
    rows = [
        {"name": "growth", "n": n, "m": m, "median": 1e-6 * n**power + (1 if n < 10_000 else 0)}
        for n in (1000, 10_000, 100_000, 1_000_000)
        for m, power in ((512, 1.0), (n // 10, 1.5))
    ]
    figure, table = runtime.plot_growth(rows)
    assert table.exponent.tolist() == [pytest.approx(1), pytest.approx(1.5)]
    assert table["±"].max() < 1e-6 and len(figure.axes[0].lines) == 4
    plt.close("all")


def test_whole_fits_are_medians_and_say_where_there_is_one_run_or_none():
    rows = [
        *(r | {"fit_seconds": s} for r, s in zip(several("PIE", "A", [1, 2, 3]), (5.0, 90.0, 7.0))),
        *(r | {"fit_seconds": 0.123} for r in several("BBC", "A", [50])),
        {"dataset": "PIE", "variant": "B", "seed": 1, "fit_seconds": 4.0, "error": "no"},
    ]
    runs = frame(rows, variants=["A", "B"], datasets=["PIE", "BBC", "NGs"])
    seconds, counts = runtime.whole_fits(runs)
    assert seconds.loc["A"].tolist()[:2] == [7.0, 0.123] and np.isnan(seconds.loc["A", "NGs"])
    assert counts.loc["A"].tolist() == [3, 1, 0] and list(seconds.index) == ["A"]
    assert runtime.format_whole_fits(runs).loc["A"].tolist() == ["7", "(0.12)", "–"]


def test_programmes_are_compared_by_the_seconds_of_a_sample():
    solver = {"seconds": 1.0, "gap": 1e-9}
    view = {
        "d": 7,
        "seconds": 3.0,
        "processor_seconds": 2.0,
        "gap": 1e-7,
        "iterations": 9,
        "one_by_one": {
            "SLSQP": solver | {"processor_seconds": 0.2},
            "active set": solver | {"processor_seconds": 0.002},
        },
    }
    table = runtime.format_programmes({"n": 1000, "views": [view, view]})
    row = table.loc["view 2"]
    assert row["ms, at once"] == pytest.approx(2) and row["ms, SLSQP"] == pytest.approx(200)
    assert row["times SLSQP"] == pytest.approx(100)
    assert row["times active set"] == pytest.approx(1) and row["clock, s"] == 3
