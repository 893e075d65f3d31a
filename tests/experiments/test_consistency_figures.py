"""The figures of chapter 6."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from experiments import consistency_figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_no_change_is_drawn_at_the_bottom_and_each_run_is_named_once():
    changes = {"first": [np.array([0, 1e-3]), np.array([0, 2e-3])], "second": [np.ones(2)]}
    (axis,) = consistency_figures.plot_changes(changes).axes
    assert [line.get_ydata().tolist() for line in axis.lines] == [
        [1e-17, 1e-3],
        [1e-17, 2e-3],
        [1, 1],
    ]
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["first", "second"]


def test_a_reading_has_one_style_in_every_seed_and_its_own_name():
    table = pd.DataFrame({"plain": [0, 1], "symmetrised": [1, 2], "per row": 0.0}, [0, 4])
    both = consistency_figures.plot_readings({"plain": [table, table], "symmetrised": [table]})
    left, right = both.axes
    assert [line.get_linestyle() for line in left.lines] == 2 * ["-", "--", ":"]
    assert right.lines[1].get_xdata().tolist() == [0, 4]
    assert right.lines[1].get_ydata().tolist() == [1, 2]
    assert [text.get_text() for text in left.get_legend().get_texts()] == list(table)


def test_joint_tables_are_drawn_under_their_titles():
    tables = {name: np.full((10, 10), share) for name, share in zip("abc", (0.01, 0.02, 0.03))}
    axes = consistency_figures.plot_joint(tables, "fou", "kar").axes[:3]
    assert [axis.get_title() for axis in axes] == list(tables)
    assert [axis.images[0].get_array().max() for axis in axes] == [0.01, 0.02, 0.03]
    assert (axes[0].get_ylabel(), axes[0].get_xlabel()) == ("label in fou", "label in kar")
