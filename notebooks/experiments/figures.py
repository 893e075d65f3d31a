"""Figures of the experiment pages, from frames of runs (:func:`experiments.records.runs`).

Each function returns a matplotlib figure; the style is that of whoever calls. Colours are told
apart by markers or line styles too. A figure of which nothing is stored says so.
"""

import matplotlib.pyplot as plt
import numpy as np

from experiments import paper
from experiments.compare import over_datasets

MARKERS = "osD^vP*X<>"
STYLES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
_GREY = "0.35"


def plot_nothing():
    """A figure that says only that it has nothing to show."""
    figure, axes = plt.subplots(figsize=(4, 1))
    axes.text(0.5, 0.5, "no runs of this are stored yet", ha="center", va="center")
    axes.set_axis_off()
    return figure


def make_panels(names, height=2.3, columns=2, **options):
    """A figure with a panel for each name, in so many columns, and its axes in that order."""
    rows = -(-len(names) // columns)
    columns = min(columns, len(names))
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(4.8 if columns == 1 else 6.4, height * rows),
        squeeze=False,
        layout="constrained",
        **options,
    )
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    return figure, list(axes.flat[: len(names)])


def draw_paper(axis, dataset, value, along="y"):
    """The paper's value as a line, dotted where its views are not ours."""
    if value is None:
        return
    same = dataset in paper.SAME
    line = axis.axhline if along == "y" else axis.axvline
    label = "the paper" if same else "the paper, other views"
    line(value, color="black", linewidth=1, linestyle="-" if same else ":", label=label)


def add_legend(figure, axes):
    """One legend above all panels, of what any of them shows."""
    entries = {}
    for axis in axes:
        handles, labels = axis.get_legend_handles_labels()
        entries = dict(zip(labels, handles)) | entries
    figure.legend(entries.values(), entries, loc="outside upper center", ncols=5, fontsize=8)


def plot_forest(panels, over=(), marks=None, label="difference in ACC, points", columns=2):
    """Mean differences with their intervals: one panel per comparison, one row per data set.

    A marker is filled where p is below 0.05, or the interval leaves out 0 where there is no p, and
    open where it is not.

    Parameters
    ----------
    panels : dict of str to (dict of str to pandas.DataFrame)
        By title and by the label of the legend: tables with ``mean``, ``half`` and ``p``, as
        :func:`experiments.compare.paired_differences` gives them.
    over : sequence of str
        Rows of :func:`experiments.compare.over_datasets` that stand below a line: "all",
        "chosen on", "looked at". Their markers are filled where the interval leaves out 0.
    marks : dict of str to (str, pandas.Series), optional
        By title: a label and values by data set, drawn as crosses, such as the paper's.
    label : str
        Of the horizontal axis.
    columns : int
        Panels beside each other.
    """
    tables = [table for series in panels.values() for table in series.values()]
    names = list(dict.fromkeys(name for table in tables for name in table.index))
    if not names:
        return plot_nothing()
    rows = [*names, *(_summary_name(group) for group in over)]
    most = max(map(len, panels.values()))
    height = 0.75 + (0.17 + 0.08 * most) * len(rows)
    figure, axes = make_panels(list(panels), height=height, columns=columns, sharex="row")
    for i, ((title, series), axis) in enumerate(zip(panels.items(), axes)):
        axis.axvline(0, color="black", linewidth=0.8)
        for number, (name, table) in enumerate(series.items()):
            shift = 0.3 * (number - (len(series) - 1) / 2)
            style = dict(color=f"C{number}", fmt=MARKERS[number], markersize=4.5)
            for row, mean, half, clear in _intervals(table, over):
                _draw_interval(axis, mean, half, rows.index(row) + shift, clear, style)
            axis.plot([], [], MARKERS[number], color=f"C{number}", label=name)
        if title in (marks or {}):
            name, values = marks[title]
            places = [rows.index(key) for key in values.index if key in rows]
            axis.plot(values[[rows[i] for i in places]], places, "x", color="black", label=name)
        if over:
            axis.axhline(len(names) - 0.5, color=_GREY, linewidth=0.8)
        axis.set_yticks(range(len(rows)), rows if i % columns == 0 else [])
        axis.set_ylim(len(rows) - 0.4, -0.6)
        axis.set_title(title)
        if i >= len(panels) - columns:
            axis.set_xlabel(label)
    if most > 1 or marks:
        add_legend(figure, axes)
    return figure


def _intervals(table, over):
    """Each row's name, mean, half width, and whether it is clear; then those of the means."""
    for row in table.itertuples():
        clear = abs(row.mean) > row.half if np.isnan(row.p) else row.p < 0.05
        yield row.Index, row.mean, row.half, clear
    groups = over_datasets(table["mean"])
    for group in [group for group in over if group in groups.index]:
        mean, half = groups.loc[group, ["mean", "half"]]
        yield _summary_name(group), mean, half, abs(mean) > half


def _summary_name(group):
    return "mean of all" if group == "all" else f"mean, {group}"


def _draw_interval(axis, mean, half, place, filled, style):
    face = style["color"] if filled else "white"
    half = np.nan_to_num(half)  # one value has no interval
    axis.errorbar(mean, place, xerr=half, capsize=2, markerfacecolor=face, **style)
