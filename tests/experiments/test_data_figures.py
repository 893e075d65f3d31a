"""The figures of chapter 1, and its table of data sets."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import dmac
from dmac.data.datasets import DATASETS
from dmac.data.whitening import normalize_rows
from experiments import data_figures
from experiments.generalise import SIXTEEN


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    return dmac.load("mfeat")


def test_numerals_are_ten_of_each_digit(data):
    (axis,) = data_figures.plot_numerals(data.views[3]).axes
    mosaic = axis.images[0].get_array()
    assert mosaic.shape == (160, 150)
    np.testing.assert_array_equal(mosaic[16:32, :15], data.views[3][200].reshape(16, 15))


def test_views_are_bars_but_for_the_pixels(data):
    axes = data_figures.plot_views(data.views, {"a 3": 620, "an 8": 1650}).axes
    assert [len(axis.images) for axis in axes] == 2 * [1, 0, 0, 0, 0, 0]
    assert [len(axis.patches) for axis in axes[:6]] == [0, 76, 216, 64, 47, 6]
    assert [axis.get_title() for axis in axes[:6]] == ["pix", "fou", "fac", "kar", "zer", "mor"]


def test_every_data_set_has_one_row_under_one_name():
    table = data_figures.describe_sets()
    assert [row.split(":")[0] for row in table.index] == list(SIXTEEN)
    assert not table.index.str.startswith("mfeat").any()
    assert list(table.n) == [DATASETS[name].n_samples for name in SIXTEEN]
    acc = pd.DataFrame({"one": [20.0, 30.0], "two": [40.0, 25.0]}, index=["PIE", "HandWritten"])
    (axis,) = data_figures.plot_sets(acc).axes
    assert list(axis.lines[-1].get_xdata()) == [100 / 68, 10]


def test_whitened_points_stand_beside_the_centred(data):
    x = np.random.default_rng(0).standard_normal((50, 2)) @ [[3.0, 1.0], [0.0, 1.0]]
    x -= x.mean(0)
    left, s, vt = np.linalg.svd(x, full_matrices=False)
    before, after = data_figures.plot_whitening(x, vt, s, np.sqrt(50) * left).axes
    assert len(before.texts) == 2  # the arrows
    np.testing.assert_allclose(before.collections[0].get_offsets(), x)
    unit = [normalize_rows(view) for view in data.views]
    (axis,) = data_figures.plot_spectra(unit, 20).axes
    assert [line.get_label() for line in axis.lines[:6]] == list(data_figures.VIEWS)
    assert {line.get_ydata()[0] for line in axis.lines[:6]} == {1}
    figure = data_figures.plot_similarity({"unit rows": unit}, every=100)
    assert {axis.images[0].get_array().shape for axis in figure.axes} == {(20, 20)}


def test_random_clusters_are_pure_where_they_are_many(data):
    (axis,) = data_figures.plot_random_scores(data.labels, (2, 2000)).axes
    ends = {line.get_label(): line.get_ydata()[-1] for line in axis.lines[:4]}
    assert ends["purity"] == 1 and ends["acc"] < 0.01 and abs(ends["ari"]) < 0.01


def test_baselines_have_a_mark_for_every_seed():
    runs = {
        "HandWritten": pd.DataFrame({"method": ["a", "a", "b"], "acc": [50.0, 60, 70]}),
        "PIE": pd.DataFrame({"method": ["a", "b"], "acc": [20.0, 30]}),
    }
    left, right = data_figures.plot_baselines(runs, 43.0, [1, 2], [80.0, 90.0]).axes
    assert [len(line.get_xdata()) for line in left.lines] == [3, 2, 2]
    assert left.lines[2].get_label() == "paper's DMAC, PIE"
    assert "HandWritten" in right.get_ylabel()
