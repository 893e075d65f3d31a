"""What the numbers of RELEASED do: the grid of the two weights (Figure 5), then one at a time.

Reads frames of runs (:func:`dmac.experiments.records.runs`). Functions without text in their cells return
numbers.
"""

import numpy as np
import pandas as pd

from dmac.experiments import wording
from dmac.experiments.compare import NOTHING, holm, p_text, present
from dmac.recipes import RELEASED


def grid_means(grid, dataset, metric="oracle_acc"):
    """Means over seeds on the grid: a row a weight of CM, a column one of the structure."""
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


def weights(grid, metric="oracle_acc"):
    """What the two weights do on every data set, as text; ties of the best are all named."""
    rows = {}
    for dataset in present(grid):
        means = grid_means(grid, dataset, metric)
        cm, sp, rest = shares(means)
        best = means.columns[(means == means.max(axis=None)).any()]
        fixed = (RELEASED.cm_weight, RELEASED.sp_weight)
        at_fixed = means.stack().get(fixed, np.nan)
        rows[dataset] = {
            "lowest": f"{means.min(axis=None):.1f}",
            "highest": f"{means.max(axis=None):.1f}",
            "at structure weight": ", ".join(f"{weight:g}" for weight in best),
            "RELEASED": NOTHING if np.isnan(at_fixed) else f"{at_fixed:.1f}",
            "share of CM": _percent(cm),
            "share of structure": _percent(sp),
            "rest": _percent(rest),
            "points": int(means.notna().sum(axis=None)),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def _percent(x):
    return NOTHING if np.isnan(x) else wording.percent(x)


def finding(grid, metric="oracle_acc"):
    """Whether the structure's weight matters more, and large ones are good, as in the paper."""
    sentences = []
    for dataset in present(grid):
        means = grid_means(grid, dataset, metric)
        cm, sp, _ = shares(means)
        if np.isnan(cm):
            continue
        column = means.mean()
        best, largest = column.idxmax(), column.index[-1]
        agrees = "as in the paper" if sp > cm else "unlike in the paper"
        text = (
            f"On {dataset} the weight of the structure accounts for {wording.percent(sp)} of the "
            f"variance over the grid and that of CM for {wording.percent(cm)}, {agrees}. "
            "In the mean over the weights of CM "
        )
        if best == largest:
            text += f"the largest structure weight, {best:g}, is the best, as in the paper."
        else:
            text += (
                f"the best structure weight is {best:g}, and the largest, {largest:g}, is "
                f"{wording.points(column[best] - column[largest])} below; the paper finds large "
                "weights good."
            )
        sentences.append(text)
    if not sentences:
        return wording.NOTHING if not len(grid) else "No data set has the whole grid yet."
    return wording.lines(sentences)


def spreads(runs, groups, metric="acc"):
    """How far one number of the recipe moves a score, beside the scatter of the seeds.

    Parameters
    ----------
    runs : pandas.DataFrame
        Whose variants are named "what = value".
    groups : dict of str to iterable
        What is varied, and its values: :data:`dmac.experiments.plan.LINES`.
    metric : str

    Returns
    -------
    pandas.DataFrame
        A row a number and data set: the ``spread`` of the means over the seeds in points, the
        value with the ``best`` one (text), and ``p`` of a one-way analysis of variance, that all
        values have the same mean, as adjusted by Holm's method over the table.
    """
    from scipy import stats

    rows = {}
    for what, values in groups.items():
        for dataset in present(runs):
            part = runs[runs.dataset == dataset]
            found = {v: part.loc[part.variant == f"{what} = {v}", metric].dropna() for v in values}
            found = {v: x for v, x in found.items() if len(x)}
            if len(found) < 2:
                continue
            means = {v: x.mean() for v, x in found.items()}
            best = max(means, key=means.get)
            tested = min(map(len, found.values())) > 1 and any(np.ptp(x) for x in found.values())
            rows[what, dataset] = {
                "spread": means[best] - min(means.values()),
                "best": f"{best:g}",
                "p": stats.f_oneway(*found.values()).pvalue if tested else np.nan,
            }
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["spread", "best", "p"])
    return table.assign(p=holm(table.p))


def spreads_shown(table):
    """The table of `spreads` as text."""
    p = [p_text(value) for value in table.p]
    return table.assign(spread=table.spread.map("{:.1f}".format), p=p)


def lines_finding(table, level=0.05):
    """By number of the recipe, its largest spread, and where the seeds' scatter is smaller."""
    sentences = []
    for what in dict.fromkeys(table.index.get_level_values(0)) if len(table) else ():
        part = table.loc[what]
        where = part.spread.idxmax()
        text = (
            f"The choice of the {what if len(what) > 1 else f'number {what}'} moves the mean "
            f"accuracy by up to {wording.points(part.spread[where])} (on {where}, best at "
            f"{part.best[where]}); "
        )
        clear, tested = list(part.index[part.p < level]), part.p.notna()
        if not tested.any():
            text += "one seed cannot tell that from chance."
        elif clear:
            text += f"that is more than the scatter of the seeds on {wording.listed(clear)}."
        else:
            text += "these seeds cannot tell that from their scatter on any data set."
        sentences.append(text)
    return wording.lines(sentences)
