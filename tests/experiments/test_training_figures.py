"""The figures of chapters 2 and 8."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from experiments import training_figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_encoders_are_dots_and_predictions_are_curves():
    before, cosines = np.array([0.1, 0.2]), np.linspace(-0.5, 1, 4)
    after = [before + shift for shift in (0.3, 0.4, 0.5)]
    curves = [cosines**2, cosines / 2]
    (axis,) = training_figures.plot_cosine_map(before, after, cosines, curves).axes
    *dots, predicted, without, unchanged = axis.lines
    assert [line.get_marker() for line in dots] == ["o"] * 3
    np.testing.assert_array_equal(dots[2].get_ydata(), after[2])
    np.testing.assert_array_equal(predicted.get_ydata(), cosines**2)
    np.testing.assert_array_equal(without.get_ydata(), cosines / 2)
    np.testing.assert_array_equal(unchanged.get_ydata(), cosines)
    assert len({line.get_color() for line in dots}) == 3
    assert len(axis.get_legend().texts) == 3


def test_pretraining_has_a_line_for_each_seed_and_level():
    index = pd.MultiIndex.from_product([range(3), range(4)])
    trace = pd.DataFrame(np.arange(36.0).reshape(12, 3), index, ["loss", "cosine", "agreement"])
    trace.loc[(1, 3), "loss"] = np.nan  # not measured after the last step
    levels = [{"rank 0": 0.04, "rank 2": 0.02}, {"the views": 0.7}, {}]
    axes = training_figures.plot_pretraining(trace, levels).axes
    assert [axis.get_title() for axis in axes] == list(trace)
    assert [len(axis.lines) for axis in axes] == [5, 4, 3]
    assert [text.get_text() for text in axes[0].texts] == ["rank 0", "rank 2"]
    assert list(axes[0].lines[1].get_ydata()) == [12, 15, 18]
    assert list(axes[1].lines[3].get_ydata()) == [0.7, 0.7]


def test_steps_are_counted_from_one():
    lengths = np.arange(10.0, 0, -1)[:, None] * [1, 1, 0.5]
    (axis,) = training_figures.plot_step_lengths([1e-3, 1.0, 1e3], lengths).axes
    assert [line.get_label() for line in axis.lines] == [
        "gradient 0.001",
        "gradient 1",
        "gradient 1000",
    ]
    assert list(axis.lines[2].get_xdata()) == list(range(1, 11))
    np.testing.assert_array_equal(axis.lines[2].get_ydata(), lengths[:, 2])


def test_each_loss_has_its_panel():
    logs = [[SimpleNamespace(epoch=e, loss=1 / (e + s)) for e in (1, 2)] for s in range(3)]
    index = pd.MultiIndex.from_product([range(3), range(1, 5)], names=["seed", "epoch"])
    columns = ["structure_preservation", "anchor_learning", "consistency"]
    values = np.random.default_rng(0).random((12, 3))
    history = pd.DataFrame(values, index, columns)
    first, *others = training_figures.plot_losses(logs, history, 4.9).axes
    assert list(first.lines[1].get_ydata()) == [1 / 2, 1 / 3]
    for axis, column in zip(others, columns):
        assert axis.get_title() == column.replace("_", " ")
        np.testing.assert_array_equal(axis.lines[2].get_ydata(), history.loc[2, column])
    assert [axis.get_yscale() for axis in others] == ["log", "linear", "linear"]
    assert list(others[1].lines[-1].get_ydata()) == [4.9, 4.9]
