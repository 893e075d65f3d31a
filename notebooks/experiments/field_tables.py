"""Published numbers of the other systems beside ours and the best of a grid, for page 01.

What was tried where a published number is missed is here too; the runs are read by
:mod:`experiments.field_runs`. Functions that format return text; the others return numbers, in %.
"""

import numpy as np
import pandas as pd

from experiments import paper
from experiments.compare import NOTHING
from experiments.tables import format_cell, format_spread, mark_best


def beside_published(runs, grids, metric="acc"):
    """What is published of the other systems, ours at fixed settings, and the best of the grid.

    Parameters
    ----------
    runs : pandas.DataFrame
        Of the systems at their defaults, as variants of their names.
    grids : dict of str to pandas.DataFrame
        By data set, runs of the points of :func:`experiments.studies.grid`.
    metric : {"acc", "nmi"}

    Returns
    -------
    pandas.DataFrame
        One row per system and data set, in %: ``published``, ``fixed`` (the mean over the seeds),
        ``oracle`` (the point of the grid with the highest mean, chosen with the labels; the
        defaults are one of the points), its name (``point``), and how many ``seeds`` the second
        has. NaN where nothing is stored.
    """
    rows = {}
    for system in [name for name in paper.TABLE_2 if name != "DMAC"]:
        for dataset in paper.SAME:
            mine = runs[(runs.variant == system) & (runs.dataset == dataset)][metric].dropna()
            row = {
                "published": paper.value(dataset, metric, system),
                "fixed": mine.mean(),
                "oracle": float("nan"),
                "point": "",
                "seeds": len(mine),
            }
            points = grids.get(dataset)
            if points is not None:
                points = points[points.method == system].dropna(subset=[metric])
                means = points.groupby("variant", observed=True)[metric].mean()
                means.index = means.index.astype(str)
                means["the defaults"] = mine.mean()
                if len(means) > 1:
                    row |= {"oracle": means.max(), "point": means.idxmax()}
            rows[system, dataset] = row
    columns = ["published", "fixed", "oracle", "point", "seeds"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def measure_gaps(runs, grids, trials):
    """How far ours are from what is published, and the runs that explain three of the gaps.

    Parameters
    ----------
    runs : pandas.DataFrame
    grids : dict of str to pandas.DataFrame
    trials : pandas.DataFrame
        As :func:`experiments.field_runs.read_published` returns them.

    Returns
    -------
    off : pandas.DataFrame
        One row per system and data set, in points: ``acc`` and ``nmi`` at fixed settings minus
        the published ones, ``best_acc`` and ``best_nmi`` of the best of the grid minus those.
    small : pandas.Series
        NMI of MSGL on PIE where rows have unit length and alpha is below 1.
    unit : pandas.DataFrame
        Runs of UDBGL on BBC with unit rows.
    gmc : pandas.DataFrame
        ``acc`` and ``nmi_max`` of GMC with unit rows, and what is published (``published_acc``,
        ``published_nmi``), one row per data set.
    """
    off = {}
    for metric in ("acc", "nmi"):
        table = beside_published(runs, grids, metric)
        off[metric] = table.fixed - table.published
        off[f"best_{metric}"] = table.oracle - table.published
    points = grids["PIE"][grids["PIE"].method == "MSGL"]
    small = points[[s["normalize"] and s["alpha"] < 1 for s in points.settings]].nmi
    unit = trials[(trials.variant == "UDBGL, unit rows") & (trials.dataset == "BBC")]
    gmc = trials[trials.variant == "GMC, unit rows"].set_index("dataset")[["acc", "nmi_max"]]
    for metric in ("acc", "nmi"):
        gmc[f"published_{metric}"] = [paper.value(d, metric, "GMC") for d in gmc.index]
    return pd.DataFrame(off), small, unit, gmc


def format_published(runs, grids):
    """The tables of `beside_published` for both metrics, as text; – where nothing is stored.

    "by max" is the NMI at fixed settings that divides by the larger entropy.

    Parameters
    ----------
    runs : pandas.DataFrame
    grids : dict of str to pandas.DataFrame
        As there.

    Returns
    -------
    pandas.DataFrame of str
    """
    columns = {}
    for metric in ("acc", "nmi"):
        table = beside_published(runs, grids, metric)
        for name in ("published", "fixed", "oracle"):
            text = table[name].map("{:.2f}".format).replace("nan", NOTHING)
            columns[metric.upper(), name] = text
    by_max = runs.groupby(["variant", "dataset"], observed=True).nmi_max.mean()
    by_max = by_max.reindex(pd.MultiIndex.from_tuples(table.index))
    columns["NMI", "fixed, by max"] = by_max.map("{:.2f}".format).replace("nan", NOTHING)
    columns["", "seeds"] = table.seeds
    return pd.DataFrame(columns)


def format_trials(trials):
    """Means over the seeds of what was tried, in %, and how many seeds there are.

    Parameters
    ----------
    trials : pandas.DataFrame
        As :func:`experiments.field_runs.read_published` returns them.

    Returns
    -------
    pandas.DataFrame
        One row per variant and data set, as text; – where a score is not stored.
    """
    groups = trials.groupby(["variant", "dataset"], observed=True)
    names = {"acc": "ACC", "nmi": "NMI", "nmi_max": "NMI, by max"}
    means = groups[list(names)].mean().rename(columns=names)
    text = means.map("{:.2f}".format).replace("nan", NOTHING)
    return text.join(groups.size().rename("seeds")).rename_axis([None, None])


def format_other_systems(runs, systems, seeds, metric="acc"):
    """A score of the other systems: a row per data set, below it the paper's where it has it.

    Parameters
    ----------
    runs : pandas.DataFrame
        With the systems as variants; its data sets are shown, also those without a run.
    systems : iterable of str
        A system that the paper does not have has no value there.
    seeds : dict of str to int
        How many are asked for of each system.
    metric : {"acc", "nmi"}

    Returns
    -------
    pandas.io.formats.style.Styler
        The best system of every row is bold.
    """
    systems, rows, means = list(systems), {}, {}
    for dataset in runs.dataset.cat.categories:
        parts = {x: runs[(runs.dataset == dataset) & (runs.variant == x)] for x in systems}
        rows[dataset] = {x: format_cell(part, metric, seeds[x]) for x, part in parts.items()}
        means[dataset] = {x: part[metric].mean() for x, part in parts.items()}
        known = {
            x: paper.value(dataset, metric, x)
            for x in systems
            if dataset in paper.SAME and x in paper.TABLE_2
        }
        if known:
            row = f"{dataset}, the paper"
            means[row] = {x: known.get(x, np.nan) for x in systems}
            rows[row] = {x: f"{known[x]:.1f}" if x in known else NOTHING for x in systems}
    text = pd.DataFrame.from_dict(rows, orient="index", columns=systems)
    return mark_best(text, pd.DataFrame.from_dict(means, orient="index", columns=systems))


def measure_schedules(whole, short, metric="acc"):
    """What the epochs that a short schedule leaves out are worth, in points.

    Parameters
    ----------
    whole, short : pandas.DataFrame
        As `format_schedules` takes them.
    metric : str

    Returns
    -------
    pandas.Series
        By system and data set, the mean over the seeds that both have.
    """
    groups = _join_schedules(whole, short, metric).groupby(level=[0, 1], observed=True)
    return groups.change.mean()


def format_schedules(whole, short, metric="acc"):
    """What the epochs that a short schedule leaves out are worth, where both are stored.

    Parameters
    ----------
    whole, short : pandas.DataFrame
        Runs of the same systems with all their epochs, and with a tenth of them.
    metric : str

    Returns
    -------
    pandas.DataFrame of str
        One row per system and data set, in %: ``a tenth``, ``all`` and, over the seeds that both
        have, the ``change``.
    """
    groups = _join_schedules(whole, short, metric).groupby(level=[0, 1], observed=True)
    return groups.agg(format_spread).rename_axis([None, None])


def _join_schedules(whole, short, metric):
    parts = ["variant", "dataset", "seed"]
    both = [runs.dropna(subset=[metric]).set_index(parts)[metric] for runs in (short, whole)]
    scores = pd.concat(both, axis=1, join="inner", keys=["a tenth", "all"])
    scores["change"] = scores["all"] - scores["a tenth"]
    return scores
