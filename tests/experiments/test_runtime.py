"""The paper's run times beside stored ones."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from toy_frames import frame, several

from dmac.experiments import paper, runtime


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
