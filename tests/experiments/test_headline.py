"""The start page's figure: what it takes from where, and that it draws what it was given."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from dmac.recipes import CLOSED_FORM
from experiments import headline, paper, records, studies
from experiments.run import settings_of


@pytest.fixture(scope="module")
def scores():
    return headline.headline_scores()


def test_columns_are_pie_and_those_that_nobody_had_touched(scores):
    assert list(scores.columns) == ["PIE", *studies.NEVER_TOUCHED]
    assert scores.PIE["paper"] == paper.TABLE_2["DMAC"][2] == 43.24
    assert scores.drop(columns="PIE").loc["paper"].isna().all()
    assert scores.drop(index=["paper", "RELEASED", "pre-trained"]).notna().all(axis=None)


@pytest.mark.parametrize("dataset", ["PIE", "Leaf-340", "CKM-246"])
def test_our_rows_are_means_over_stored_seeds(scores, dataset):
    frame = records.read_runs({"it": ("DMAC", settings_of(CLOSED_FORM))}, [dataset])
    assert len(frame) == 10
    assert scores[dataset]["CLOSED_FORM"] == pytest.approx(frame.acc.mean(), abs=0.01)


def test_figure_shows_each_value_once_and_no_mean_over_some_of_the_sets():
    table = pd.DataFrame(50.0, list(headline.ROWS), ["PIE", "a", "b", "c"])
    table.loc["paper", ["a", "b", "c"]] = np.nan
    table.loc["RELEASED"] = [10, 20, 30, np.nan]
    figure = headline.plot_headline(table)
    bars = [[bar.get_width() for bar in axis.patches] for axis in figure.axes]
    assert bars == [[50, 50, 10, 50, 50, 50], [0, 50, 0, 50, 50, 50]]
    words = [[text.get_text() for text in axis.texts] for axis in figure.axes]
    assert words[0] == ["50.0", "50.0", "10.0", "50.0", "50.0", "50.0"]
    assert words[1] == ["no value", "50.0", "no value", "50.0", "50.0", "50.0"]
    assert [list(line.get_xdata()) for line in figure.axes[1].lines] == [[50] * 3] * 4
    plt.close(figure)
