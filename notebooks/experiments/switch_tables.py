"""Tables of chapters 14 and 15: what REVISED's parts and ideas are worth, and the way to it.

They read frames of :mod:`experiments.studies`.
"""

import pandas as pd
from scipy import stats

from experiments import compare
from experiments.studies import DEVELOPMENT, NINE


def check_complete(runs):
    """Refuse a group with missing runs: means compare only where every variant has all of them.

    Parameters
    ----------
    runs : pandas.DataFrame
        Of :func:`experiments.records.runs`.

    Raises
    ------
    ValueError
        If runs are missing.
    """
    counts = runs.groupby(["variant", "dataset"], observed=False).acc.count()
    if lacking := int((runs.attrs["seeds"] - counts).sum()):
        raise ValueError(
            f"{lacking} of {runs.attrs['seeds'] * len(counts)} runs are not stored: make them with "
            "scripts/run_experiments.py"
        )


def changes(runs, revised):
    """The differences between runs and REVISED's at the same data set and seed.

    Parameters
    ----------
    runs, revised : pandas.DataFrame
        Of :func:`experiments.records.runs`: a group, and the group "revised".

    Returns
    -------
    pandas.DataFrame
        One row per run: ``variant``, ``dataset``, ``seed``, and the changes of ``acc`` and ``nmi``.
    """
    keys, scores = ["dataset", "seed"], ["acc", "nmi"]
    both = runs.merge(revised[[*keys, *scores]], on=keys, suffixes=("", "_revised"))
    for key in scores:
        both[key] -= both[f"{key}_revised"]
    return both[["variant", *keys, *scores]]


def by_variant(runs, revised):
    """Mean changes against REVISED, one row per variant.

    Parameters
    ----------
    runs, revised
        As in `changes`.

    Returns
    -------
    pandas.DataFrame
        Changes of ACC by data set, in points; then the means of ACC and NMI over the data sets,
        each with the half width of Student's 95 % interval over the seeds.

    Raises
    ------
    ValueError
        If runs are missing.
    """
    check_complete(runs)
    differences, grouped = changes(runs, revised), dict(observed=True)
    table = differences.groupby(["variant", "dataset"], **grouped).acc.mean().unstack()
    for key in ("acc", "nmi"):
        seeds = differences.groupby(["variant", "seed"], **grouped)[key].mean().unstack()
        quantile = stats.t.ppf(0.975, seeds.shape[1] - 1)
        table[f"mean {key.upper()}"] = seeds.mean(axis=1)
        table[f"± ({key})"] = quantile * seeds.sem(axis=1)
    return table


def over_datasets(runs, reference, metric="acc", developed=DEVELOPMENT):
    """How far mean changes against a recipe hold on other data sets, one row per variant.

    Parameters
    ----------
    runs, reference
        As in `changes`; the reference is REVISED, or the recipe that the variants are variants of.
    metric : {"acc", "nmi"}
    developed : sequence of str
        The data sets that this recipe was developed on.

    Returns
    -------
    pandas.DataFrame
        In points: the ``mean`` over the data sets with the half width ``±`` of Student's 95 %
        interval over them, and the means over those that were ``developed on`` and over the
        ``others``.

    Raises
    ------
    ValueError
        If runs are missing.
    """
    check_complete(runs)
    differences = changes(runs, reference).groupby(["variant", "dataset"], observed=True)[metric]
    table = differences.mean().unstack()
    rows = {}
    for variant, row in table.iterrows():
        groups = compare.over_datasets(row, developed)
        rows[variant] = {"mean": groups["mean"]["all"], "±": groups.half["all"]}
        rows[variant] |= groups["mean"].drop("all").to_dict()
    return pd.DataFrame.from_dict(rows, orient="index")


def steps(runs, walk, revised):
    """Scores along a walk that ends at REVISED, on the data sets and seeds of its runs.

    Parameters
    ----------
    runs, revised
        As in `changes`.
    walk : dict
        :data:`~experiments.studies.WALK` or the walk from RELEASED; the last row is REVISED.

    Returns
    -------
    pandas.DataFrame
        One row per step: ACC by data set, and the means of ACC and NMI, in %.

    Raises
    ------
    ValueError
        If runs are missing.
    """
    check_complete(runs)
    arrived = revised[revised.seed.isin(runs.seed) & revised.dataset.isin(runs.dataset)]
    both = pd.concat([runs.astype({"variant": str}), arrived.assign(variant=list(walk)[-1])])
    both["dataset"] = pd.Categorical(both.dataset, NINE, ordered=True)
    means = both.groupby(["variant", "dataset"], observed=True)[["acc", "nmi"]].mean().unstack()
    table = means.acc.loc[list(walk)]
    table["mean ACC"], table["mean NMI"] = means.acc.mean(axis=1), means.nmi.mean(axis=1)
    return table
