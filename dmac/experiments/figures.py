"""Figures of the experiment pages, from frames of runs (:func:`dmac.experiments.records.runs`).

Each function returns a matplotlib figure; the style is that of whoever calls. Colours are told
apart by markers or line styles too. A figure of which nothing is stored says so.
"""

import math

import matplotlib.pyplot as plt
import numpy as np

from dmac.experiments import paper
from dmac.experiments.compare import list_datasets
from dmac.experiments.records import curves
from dmac.experiments.sensitivity import grid_means
from dmac.recipes import RELEASED

MARKERS = "osD^vP*X<>"
STYLES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
_GREY = "0.35"


def plot_nothing(text="no runs of this are stored yet"):
    """A figure that says only that it has nothing to show."""
    figure, axes = plt.subplots(figsize=(4, 1))
    axes.text(0.5, 0.5, text, ha="center", va="center")
    axes.set_axis_off()
    return figure


def _panels(names, width=6.4, height=2.3, columns=2, **options):
    rows = -(-len(names) // columns)
    columns = min(columns, len(names))
    figure, axes = plt.subplots(
        rows, columns, figsize=(width * columns / 2 if columns == 1 else width, height * rows),
        squeeze=False, layout="constrained", **options,
    )  # fmt: skip
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    return figure, list(axes.flat[: len(names)])


def _paper_line(axis, dataset, value, along="y"):
    """The paper's value as a line, dotted where its views are not ours."""
    if value is None:
        return
    same = dataset in paper.SAME
    line = axis.axhline if along == "y" else axis.axvline
    label = "the paper" if same else "the paper, other views"
    line(value, color="black", linewidth=1, linestyle="-" if same else ":", label=label)


def plot_accuracy(runs, metric="acc"):
    """Every method's mean and standard deviation on every data set; the paper's DMAC as a line."""
    names = list_datasets(runs)
    if not names:
        return plot_nothing()
    variants = [v for v in runs.variant.cat.categories if v in set(runs.variant)]
    columns = min(3, len(names))
    figure, axes = _panels(names, height=0.55 + 0.19 * len(variants), columns=columns)
    for i, (name, axis) in enumerate(zip(names, axes)):
        part = runs[runs.dataset == name]
        for j, variant in enumerate(variants):
            values = part.loc[part.variant == variant, metric].dropna()
            if len(values):
                sd = values.std() if len(values) > 1 else 0
                deep = variant.startswith("DMAC")
                axis.errorbar(
                    values.mean(), j, xerr=sd, fmt="D" if deep else "o", capsize=2,
                    color="C1" if deep else "C0", markersize=5,
                )  # fmt: skip
        _paper_line(axis, name, paper.value(name, metric), along="x")
        axis.set_title(name)
        axis.set_yticks(range(len(variants)), variants if i % columns == 0 else [])
        axis.set_ylim(len(variants) - 0.5, -0.5)
        if i >= len(names) - columns:
            axis.set_xlabel(f"{metric.upper()}, %")
    return figure


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
    figure, axes = _panels(names)
    for name, axis in zip(names, axes):
        part = lines[lines.dataset == name]
        for number, variant in enumerate(dict.fromkeys(part.variant)):
            _band(axis, part[part.variant == variant], "acc", variant, number)
        if baselines and name in baselines:
            axis.axhline(
                baselines[name], color=_GREY, linewidth=1, linestyle="--", label="best baseline"
            )
        _paper_line(axis, name, paper.value(name, "acc"))
        axis.set(title=name, xlabel="epoch", ylabel="ACC, %")
    _common_legend(figure, axes)
    return figure


def _common_legend(figure, axes):
    """One legend above all panels, of what any of them shows."""
    entries = {}
    for axis in axes:
        handles, labels = axis.get_legend_handles_labels()
        entries = dict(zip(labels, handles)) | entries
    figure.legend(entries.values(), entries, loc="outside upper center", ncols=5, fontsize=8)


def plot_collapse(runs):
    """Structure loss, anchor learning loss, distance from one point, effective rank, by data set.

    The anchor learning loss is drawn as its share of log m, which is its maximum.
    """
    lines = curves(runs)
    if lines.empty:
        return plot_nothing()
    lines = lines.merge(runs[["dataset", "seed", "variant", "n_anchors"]])
    lines["share"] = lines.anchor_learning / np.log(lines.n_anchors.astype(float))
    panels = {
        "structure_preservation": "structure loss",
        "share": "anchor learning loss / log m",
        "one_minus_cosine": "1 − mean cosine of Z",
        "effective_rank": "effective rank of Z",
    }
    figure, axes = _panels(list(panels))
    for (column, title), axis in zip(panels.items(), axes):
        for number, name in enumerate(list_datasets(runs)):
            part = lines[lines.dataset == name].groupby("epoch")[column].median()
            if column in ("structure_preservation", "one_minus_cosine"):
                part = part.clip(lower=1e-9)
                axis.set_yscale("log")
            axis.plot(part, linestyle=STYLES[number], label=name)
        axis.set(title=title, xlabel="epoch")
    axes[0].legend(fontsize=7.5)
    return figure


def plot_changes(table):
    """Changes against RELEASED by variant: one marker per data set, and a bar for their mean."""
    if table.empty:
        return plot_nothing()
    order = table["mean"].sort_values(na_position="first").index
    figure, axis = plt.subplots(figsize=(6.4, 0.9 + 0.21 * len(order)), layout="constrained")
    axis.axvline(0, color="black", linewidth=0.8)
    axis.barh(range(len(order)), table.loc[order, "mean"], color="0.85", label="mean")
    for number, name in enumerate(c for c in table.columns if c != "mean"):
        axis.plot(
            table.loc[order, name], range(len(order)), MARKERS[number], label=name,
            color=f"C{number}", markersize=4.5, fillstyle="full" if number % 2 else "none",
        )  # fmt: skip
    axis.set_yticks(range(len(order)), order, fontsize=8)
    axis.set_xlabel("change of ACC against RELEASED, points")
    axis.set_ylim(-0.7, len(order) - 0.3)
    figure.legend(loc="outside upper center", ncols=6, fontsize=8)
    return figure


def plot_grids(grid, metric="oracle_acc"):
    """Figure 5: means over the grid of the two weights, one panel per data set.

    RELEASED is circled, and stars are at the best points, several where they are equal.
    """
    names = list_datasets(grid)
    if not names:
        return plot_nothing()
    figure, axes = _panels(names, height=2.7)
    for name, axis in zip(names, axes):
        means = grid_means(grid, name, metric)
        image = axis.imshow(means, origin="lower", aspect="auto", rasterized=True)
        axis.grid(False)
        for i, j in np.argwhere((means == means.max(axis=None)).to_numpy()):
            axis.plot(j, i, "*", color="white", markeredgecolor="black", markersize=10)
        fixed = (RELEASED.cm_weight, RELEASED.sp_weight)
        if fixed[0] in means.index and fixed[1] in means.columns:
            axis.plot(
                means.columns.get_loc(fixed[1]), means.index.get_loc(fixed[0]), "o",
                markerfacecolor="none", markeredgecolor="white", markersize=13, markeredgewidth=1.5,
            )  # fmt: skip
        axis.set_xticks(range(len(means.columns)), [_power(x) for x in means.columns])
        axis.set_yticks(range(len(means.index)), [_power(x) for x in means.index])
        axis.set(
            title=name, xlabel="$\\log_{10}$ structure weight", ylabel="$\\log_{10}$ CM weight"
        )
        figure.colorbar(image, ax=axis, label="ACC, %")
    return figure


def _power(x):
    return str(round(math.log10(x))).replace("-", "−")


def plot_lines(runs, groups, metric="acc"):
    """A score over one number of the recipe at a time: a panel for each, one line per data set.

    Parameters
    ----------
    runs : pandas.DataFrame
        Whose variants are named "what = value".
    groups : dict of str to list
        What is varied, and its values: :data:`dmac.experiments.plan.LINES`.
    metric : str
    """
    if runs.empty:
        return plot_nothing()
    figure, axes = _panels(list(groups))
    for (what, values), axis in zip(groups.items(), axes):
        for number, name in enumerate(list_datasets(runs)):
            part = runs[runs.dataset == name]
            scores = [part.loc[part.variant == f"{what} = {v}", metric].dropna() for v in values]
            place = [i for i, x in enumerate(scores) if len(x)]
            axis.errorbar(
                place, [scores[i].mean() for i in place],
                yerr=[scores[i].std() if len(scores[i]) > 1 else 0 for i in place],
                linestyle=STYLES[number], marker=MARKERS[number], capsize=2, label=name,
            )  # fmt: skip
        axis.set_xticks(range(len(values)), [f"{v:g}" for v in values])
        axis.set(title=what, ylabel="ACC, %")
    _common_legend(figure, axes)
    return figure


def plot_protocols(frame):
    """ACC of the same runs under three protocols, one panel per data set, the paper as a line."""
    names = list_datasets(frame)
    if not names:
        return plot_nothing()
    kinds = {"last epoch": "(a) last epoch", "epoch": "(b) oracle epoch", "grid": "(c) and grid"}
    figure, axes = _panels(names, height=1.5)
    for name, axis in zip(names, axes):
        part = frame[frame.dataset == name]
        for j, kind in enumerate(kinds):
            values = part.loc[part.protocol == kind, "acc"]
            if not len(values):
                continue
            sd = values.std() if len(values) > 1 else 0
            axis.errorbar(values.mean(), j, xerr=sd, fmt=MARKERS[j], color=f"C{j}", capsize=2)
            axis.plot(values, [j + 0.25] * len(values), "|", color="0.5", markersize=5)
        _paper_line(axis, name, paper.value(name, "acc"), along="x")
        axis.set_yticks(range(len(kinds)), list(kinds.values()))
        axis.set_ylim(len(kinds) - 0.4, -0.6)
        axis.set(title=name, xlabel="ACC, %")
    if any(axis.get_legend_handles_labels()[0] for axis in axes):
        _common_legend(figure, axes)
    return figure
