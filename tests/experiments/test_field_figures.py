"""Losses of the other systems, and where a stage ended."""

import matplotlib.pyplot as plt

from experiments import field_figures


def test_a_dot_stands_where_the_rule_ended_a_stage():
    endless = {
        "view 1": {"epochs": 100, "epoch": [1, 10, 100], "loss": [4.0, 2.0, 1.0]},
        "shared": {"epochs": 100, "epoch": [1, 100], "loss": [2.0, 1.0]},
    }
    stopped = {"view 1": {"epochs": 10, "epoch": [1, 10], "loss": [4.0, 2.0]}}
    (axis,) = field_figures.plot_flattening(stopped | {"shared": {}}, endless).axes
    line, dot = axis.lines
    assert line.get_ydata().tolist() == [1.0, 0.5, 0.25]
    assert (dot.get_xdata()[0], dot.get_ydata()[0]) == (10, 0.5)
    (axis,) = field_figures.plot_flattening({}, endless).axes
    assert not axis.lines
    plt.close("all")


def test_a_last_stage_is_drawn_to_its_own_end():
    curve = {"epochs": 20, "epoch": [1, 20], "loss": [0.5, 0.75]}
    (axis,) = field_figures.plot_last_stages({"PIE": curve}).axes
    line, dot = axis.lines
    assert line.get_ydata().tolist() == [1.0, 1.5] and axis.get_xscale() == "log"
    assert (dot.get_xdata()[0], dot.get_ydata()[0]) == (20, 1.5)
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["PIE"]
    (axis,) = field_figures.plot_last_stages({}).axes
    assert not axis.lines
    plt.close("all")
