"""Figures of the experiment pages, from frames of runs (:func:`experiments.records.runs`).

Each function returns a matplotlib figure; the style is that of whoever calls. Colours are told
apart by markers or line styles too. A figure of which nothing is stored says so.
"""

import matplotlib.pyplot as plt
import numpy as np

from experiments import paper, studies
from experiments.compare import list_datasets, mean_and_sd, over_datasets
from experiments.records import curves
from experiments.tables import typeset

MARKERS = "osD^vP*X<>"
STYLES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
_GREY = "0.35"


def plot_nothing(text="no runs of this are stored yet"):
    """A figure that says only that it has nothing to show."""
    figure, axes = plt.subplots(figsize=(4, 1))
    axes.text(0.5, 0.5, text, ha="center", va="center")
    axes.set_axis_off()
    return figure


def make_panels(names, width=6.4, height=2.3, columns=2, **options):
    """A figure with a panel for each name, in so many columns, and its axes in that order."""
    rows = -(-len(names) // columns)
    columns = min(columns, len(names))
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(0.75 * width if columns == 1 else width, height * rows),
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


def plot_scores(runs, metric="acc", marks=None, limits=None):
    """Every variant's mean and standard deviation, one panel per data set.

    Recipes of DMAC are diamonds.

    Parameters
    ----------
    runs : pandas.DataFrame
    metric : str
        A column of it.
    marks : callable, optional
        Of a data set and a variant: a value to mark with a cross, or None. Without it the paper's
        DMAC is a line.
    limits : (float, float), optional
        Of the horizontal axes, so that panels can be compared.
    """
    names = list_datasets(runs)
    if not names:
        return plot_nothing()
    variants = [v for v in runs.variant.cat.categories if v in set(runs.variant)]
    columns = min(3, len(names))
    figure, axes = make_panels(names, height=0.55 + 0.19 * len(variants), columns=columns)
    recipes = {name.upper() for name in studies.RECIPES}
    for i, (name, axis) in enumerate(zip(names, axes)):
        part = runs[runs.dataset == name]
        for j, variant in enumerate(variants):
            own = variant in recipes
            style = dict(fmt="D" if own else "o", color="C1" if own else "C0", capsize=2)
            mine = part[part.variant == variant]
            mean, sd = mean_and_sd(mine[metric])
            if not np.isnan(mean):
                axis.errorbar(mean, j, xerr=sd, markersize=5, **style)
            if marks is not None and (value := marks(name, variant)) is not None:
                axis.plot(value, j, "x", color="black", markersize=6)
        if marks is None:
            draw_paper(axis, name, paper.value(name, metric.removeprefix("oracle_")), along="x")
        axis.set_title(name)
        axis.set_yticks(range(len(variants)), map(typeset, variants) if i % columns == 0 else [])
        axis.set_ylim(len(variants) - 0.5, -0.5)
        axis.set_xlim(limits)
        if i >= len(names) - columns:
            axis.set_xlabel(f"{metric.removeprefix('oracle_').upper()}, %")
    return figure


def plot_beside(means, spread, other, baselines, line):
    """Two methods on every data set, and several baselines as ticks.

    Parameters
    ----------
    means, spread : pandas.Series
        Of the method in question, by data set: the mean over seeds and the standard deviation.
    other : pandas.Series
        Means of another method; its name is the label.
    baselines : pandas.Series
        Means, one level of whose index is ``dataset``.
    line : int
        A dotted line stands below so many data sets.

    Returns
    -------
    matplotlib.figure.Figure
    """
    names = means.index[::-1]
    figure, axis = plt.subplots(figsize=(6.4, 1 + 0.2 * len(names)))
    for y, name in enumerate(names):
        points = baselines.xs(name, level="dataset")
        axis.plot(points, [y] * len(points), "|", color="grey", markersize=9)
    places = range(len(names))
    axis.plot(other[names], places, "D", mfc="white", markersize=5, label=other.name)
    style = dict(fmt="o", capsize=2, markersize=5, label=means.name)
    axis.errorbar(means[names], places, xerr=spread[names], **style)
    axis.plot([], [], "|", color="grey", markersize=9, label="shallow pipelines")
    axis.axhline(len(names) - line - 0.5, color="black", linewidth=0.8, linestyle=":")
    axis.set_yticks(places, names)
    axis.set(xlabel="ACC in %", xlim=(0, 102))
    axis.legend(loc="lower left")
    return figure


def plot_groups(values, groups, order, label, title):
    """Bars of data sets, sorted within groups, with the names beside the line of 0.

    Parameters
    ----------
    values, groups : pandas.Series
        By data set: a difference, and the name of its group.
    order : list of str
        The groups, from below.
    label : str
        Of the horizontal axis.
    title : str
        Of the legend.

    Returns
    -------
    matplotlib.figure.Figure
    """
    height = 0.9 + 0.17 * (len(values) + len(order))
    figure, axis = plt.subplots(figsize=(6.4, height), layout="constrained")
    place = 0
    for number, name in enumerate(order):
        part = values[groups == name].sort_values()
        rows = range(place, place + len(part))
        axis.barh(rows, part, color=f"C{number}", label=name)
        for row, dataset in zip(rows, part.index):
            left = part[dataset] > 0
            style = dict(textcoords="offset points", va="center", fontsize=8)
            side = dict(ha="right" if left else "left")
            axis.annotate(dataset, (0, row), (-4 if left else 4, 0), **style, **side)
        place += len(part) + 1
    axis.axvline(0, color="black", linewidth=0.8)
    axis.set(xlabel=label, yticks=[])
    axis.spines["left"].set_visible(False)  # names may be there
    figure.legend(loc="outside upper center", ncols=4, fontsize=8, title=title)
    return figure


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


def _band(axis, part, column, label, number):
    """Mean over the seeds of a column of `curves`, and a band of one standard deviation."""
    wide = part.pivot_table(column, "epoch", "seed")
    mean, sd = wide.mean(axis=1), wide.std(axis=1).fillna(0)
    color, style = f"C{number}", STYLES[number % len(STYLES)]
    axis.plot(mean.index, mean, linestyle=style, color=color, label=label)
    axis.fill_between(mean.index, mean - sd, mean + sd, color=color, alpha=0.15, linewidth=0)


def plot_epochs(runs, baselines=None):
    """ACC after every epoch, mean and sd over seeds, with lines for baseline and paper.

    Parameters
    ----------
    runs : pandas.DataFrame
        Of one or several variants with epochs.
    baselines : dict of str to float, optional
        By data set, the mean ACC of the best pipeline without training.
    """
    lines = curves(runs)
    names = [d for d in list_datasets(runs) if d in set(lines.dataset)]
    if not names:
        return plot_nothing()
    figure, axes = make_panels(names)
    for name, axis in zip(names, axes):
        part = lines[lines.dataset == name]
        for number, variant in enumerate(dict.fromkeys(part.variant)):
            _band(axis, part[part.variant == variant], "acc", variant, number)
        if baselines and name in baselines:
            axis.axhline(
                baselines[name], color=_GREY, linewidth=1, linestyle="--", label="best baseline"
            )
        draw_paper(axis, name, paper.value(name, "acc"))
        axis.set(title=name, xlabel="epoch", ylabel="ACC, %")
    add_legend(figure, axes)
    return figure
