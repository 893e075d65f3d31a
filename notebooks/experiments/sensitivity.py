"""What the numbers of RELEASED do: the grid of the two weights (Figure 5), then one at a time.

Reads frames of runs (:func:`experiments.records.runs`). Functions without text in their cells
return numbers.
"""

import numpy as np
import pandas as pd

from experiments.compare import (
    blocked_f_test,
    holm,
    list_datasets,
    mean_and_sd,
)
from experiments.figures import MARKERS, STYLES
from experiments.tables import format_number


def grid_means(grid, dataset, metric="oracle_acc"):
    """Means over seeds on the grid: one row per weight of CM, one column per structure weight."""
    part = grid[grid.dataset == dataset]
    weights = {name: part.settings.str.get(name) for name in ("cm_weight", "sp_weight")}
    return part.assign(**weights).pivot_table(metric, "cm_weight", "sp_weight", aggfunc="mean")


def shares(means):
    """Shares of the variance over a whole grid: of its rows, its columns, and the rest."""
    values = means.to_numpy()
    if np.isnan(values).any() or min(values.shape) < 2 or np.ptp(values) == 0:
        return np.nan, np.nan, np.nan
    total = values.var()
    rows, columns = values.mean(1).var() / total, values.mean(0).var() / total
    return rows, columns, max(0.0, 1 - rows - columns)


def spreads(runs, groups):
    """How far one number of the recipe moves ACC, beside the scatter of the seeds.

    Parameters
    ----------
    runs : pandas.DataFrame
        Whose variants are named "what = value".
    groups : dict of str to iterable
        What is varied, and its values: :data:`experiments.studies.LINES`.

    Returns
    -------
    pandas.DataFrame
        One row per number and data set: the ``spread`` of the means over the seeds in points, the
        value with the ``best`` one (text), and ``p`` of `blocked_f_test`, as adjusted by Holm's
        method over the table. The runs of one seed start from the same weights, so the seed is a
        block; only seeds that all values have are tested.
    """
    rows = {}
    for what, values in groups.items():
        names = [f"{what} = {value}" for value in values]
        for dataset in list_datasets(runs):
            part = runs[(runs.dataset == dataset) & runs.variant.isin(names)]
            scores = part.astype({"variant": str}).pivot_table("acc", "seed", "variant")
            scores = scores[[name for name in names if name in scores]]
            if scores.shape[1] < 2:
                continue
            means = scores.mean()
            rows[what, dataset] = {
                "spread": means.max() - means.min(),
                "best": format_number(list(values)[names.index(means.idxmax())]),
                "p": blocked_f_test(scores.dropna())[1],
            }
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["spread", "best", "p"])
    return table.assign(p=holm(table.p))


def draw_weights(axis, grid, metric="acc"):
    """A score over the structure weight: one line per data set, with a band for the CM weight.

    The line is the mean over the CM weights, the band goes from the worst of them to the best.
    """
    for number, name in enumerate(list_datasets(grid)):
        means = grid_means(grid, name, metric)
        style = dict(color=f"C{number}", marker=MARKERS[number], linestyle=STYLES[number])
        axis.plot(means.columns, means.mean(), label=name, **style)
        band = dict(color=f"C{number}", alpha=0.2, linewidth=0)
        axis.fill_between(means.columns, means.min(), means.max(), **band)
    axis.set(xscale="log", xlabel="weight of the structure loss", ylabel="ACC, %")


def draw_values(axis, runs, what, values):
    """ACC over one number of the recipe, mean and standard deviation: a line per data set.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
    runs : pandas.DataFrame
        Whose variants are named "what = value".
    what : str
    values : iterable of float
    """
    for number, name in enumerate(list_datasets(runs)):
        part = runs[runs.dataset == name]
        scores = [part.loc[part.variant == f"{what} = {v}", "acc"].dropna() for v in values]
        place = [i for i, x in enumerate(scores) if len(x)]
        means, sds = zip(*(mean_and_sd(scores[i]) for i in place)) if place else ((), ())
        style = dict(linestyle=STYLES[number], marker=MARKERS[number], capsize=2)
        axis.errorbar(place, means, yerr=sds, label=name, **style)
    axis.set_xticks(range(len(values)), [np.format_float_positional(v, trim="-") for v in values])
    axis.set(xlabel=what, ylabel="ACC, %")
