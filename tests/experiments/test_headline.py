"""The start page's figure: what it takes from where, and that it draws what it was given."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from dmac.recipes import CLOSED_FORM, RELEASED
from experiments import headline, paper, records, studies
from experiments.run import settings_of


@pytest.fixture(scope="module")
def scores():
    return headline.headline_scores()


def test_columns_are_those_that_nothing_was_developed_on(scores):
    assert list(scores.columns) == ["PIE", *studies.CONFIRMED]
    assert not set(studies.CONFIRMED) & {*studies.DEVELOPED, *studies.DEVELOPMENT}
    assert scores.PIE["paper"] == paper.TABLE_2["DMAC"][2] == 43.24
    assert scores.drop(columns="PIE").loc["paper"].isna().all()
    assert scores.drop(index="paper").notna().all(axis=None)


@pytest.mark.parametrize("dataset", ["PIE", "NGs", "Hdigit"])
def test_our_rows_are_means_over_stored_seeds(scores, dataset):
    for row, recipe, seeds in (("RELEASED", RELEASED, 2), ("CLOSED_FORM", CLOSED_FORM, 10)):
        frame = records.read_runs({row: ("DMAC", settings_of(recipe))}, [dataset])
        assert len(frame) >= seeds
        assert scores[dataset][row] == pytest.approx(frame.acc.mean(), abs=0.01)
        if row == "RELEASED":
            assert scores[dataset]["pre-trained"] == pytest.approx(frame.start_acc.mean(), abs=0.01)


def test_figure_shows_each_value_once_and_says_what_is_missing():
    table = pd.DataFrame(50.0, list(headline.ROWS), ["PIE", "a", "b", "c"])
    table.loc["paper", ["a", "b", "c"]] = np.nan
    table.loc["RELEASED"] = [10, 20, 30, np.nan]
    figure = headline.plot_headline(table)
    bars = [[bar.get_width() for bar in axis.patches] for axis in figure.axes]
    assert bars == [[50, 50, 10, 50, 50, 50], [0, 50, 25, 50, 50, 50]]
    words = [[text.get_text() for text in axis.texts] for axis in figure.axes]
    assert words[0] == ["50.0", "50.0", "10.0", "50.0", "50.0", "50.0"]
    assert words[1] == ["no such data", "50.0", "25.0", "50.0", "50.0", "50.0", "2 of them"]
    dots = [line.get_xdata() for line in figure.axes[1].lines]
    assert [list(x) for x in dots] == [[], [50] * 3, [20, 30], *[[50] * 3] * 3]
    plt.close(figure)
