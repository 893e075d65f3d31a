"""The same runs under several protocols of scoring: what choosing by the labels adds to a score."""

import numpy as np
import pandas as pd

from dmac.recipes import RELEASED
from experiments.compare import NOTHING, format_change, list_datasets, tested
from experiments.tables import format_paper, format_spread

#: The ways of scoring the same runs, from what a user can have to what the labels can pick.
PROTOCOLS = {
    "last epoch": "(a) last epoch",
    "epoch": "(b′) best epoch by ACC",
    "epoch, each metric": "(b) best epoch of each",
    "grid": "(c′) and weights by ACC",
    "grid, each metric": "(c) and weights of each",
}


def score_runs(grid):
    """The runs of a grid scored in five ways, by seed.

    A point of the grid is chosen by its mean over the seeds, and only where all seeds are stored;
    of a single point nothing is chosen.

    Parameters
    ----------
    grid : pandas.DataFrame
        Runs of RELEASED over the two weights.

    Returns
    -------
    pandas.DataFrame
        ``dataset``, ``protocol`` (a key of `PROTOCOLS`), ``seed``, ``acc`` and ``nmi`` in %, and
        ``points``, the number of points chosen from. Nothing for a data set without RELEASED's own.
    """
    fixed, rows = {"cm_weight": RELEASED.cm_weight, "sp_weight": RELEASED.sp_weight}, []
    for dataset in list_datasets(grid):
        part = grid[(grid.dataset == dataset) & grid.oracle_acc.notna()]
        is_fixed = [all(s[k] == v for k, v in fixed.items()) for s in part.settings]
        own = part[is_fixed]
        seeds = set(own.seed)
        whole = part[part.seed.isin(seeds)]
        counts = whole.groupby("variant", observed=True).seed.nunique()
        whole = whole[whole.variant.isin(counts.index[counts == len(seeds)])]
        if not len(own):
            continue
        means = whole.groupby("variant", observed=True)[["oracle_acc", "oracle_nmi"]].mean()
        by_acc = whole[whole.variant == means.oracle_acc.idxmax()]
        by_nmi = whole[whole.variant == means.oracle_nmi.idxmax()].set_index("seed")
        for run in own.itertuples():
            rows += [
                (dataset, "last epoch", run.seed, run.acc, run.nmi, 1),
                (dataset, "epoch", run.seed, run.oracle_acc, _nmi_there(run), 1),
                (dataset, "epoch, each metric", run.seed, run.oracle_acc, run.oracle_nmi, 1),
            ]
        for run in by_acc.itertuples() if len(means) > 1 else ():
            nmi = by_nmi.oracle_nmi[run.seed]
            rows += [
                (dataset, "grid", run.seed, run.oracle_acc, _nmi_there(run), len(means)),
                (dataset, "grid, each metric", run.seed, run.oracle_acc, nmi, len(means)),
            ]
    frame = pd.DataFrame(rows, columns=["dataset", "protocol", "seed", "acc", "nmi", "points"])
    protocols = pd.CategoricalDtype(list(PROTOCOLS), ordered=True)
    return frame.astype({"dataset": grid.dataset.dtype, "protocol": protocols})


def _nmi_there(run):
    """NMI of a run where its ACC is best: at an epoch, or of the returned labels."""
    acc, nmi = np.asarray(run.epochs["acc"]), np.asarray(run.epochs["nmi"])
    return run.nmi if run.acc > 100 * acc.max() + 1e-3 else 100 * nmi[acc.argmax()]


def format_protocols(frame):
    """The table of `score_runs` as text: by data set and metric, the paper's value at the end."""
    rows = {}
    for dataset in list_datasets(frame):
        for metric in ("acc", "nmi"):
            part = frame[frame.dataset == dataset].groupby("protocol", observed=True)[metric]
            row = {PROTOCOLS[name]: text for name, text in part.agg(format_spread).items()}
            row["the paper"] = format_paper(dataset, metric)
            rows[dataset, metric.upper()] = row
    columns = [*PROTOCOLS.values(), "the paper"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).fillna(NOTHING)


#: What each choice by the labels adds: a metric, and the protocols with and without it.
CHOICES = {
    "epoch, ACC": ("acc", "epoch", "last epoch"),
    "grid, ACC": ("acc", "grid", "epoch"),
    "epoch, NMI": ("nmi", "epoch", "last epoch"),
    "grid, NMI": ("nmi", "grid", "epoch"),
    "own place, NMI": ("nmi", "grid, each metric", "grid"),
    "own epoch, NMI": ("nmi", "epoch, each metric", "epoch"),
}


def gains(frame):
    """What each of `CHOICES` adds to the scores of `score_runs`, in points, by seed."""
    table = frame.set_index(["dataset", "seed", "protocol"])[["acc", "nmi"]].unstack()
    columns = {
        name: table[metric, upper] - table[metric, lower]
        for name, (metric, upper, lower) in CHOICES.items()
        if (metric, upper) in table
    }
    return pd.DataFrame(columns, index=table.index).reset_index()


def average_gains(frame):
    """Means of `gains` over the seeds, with Student's 95 % intervals.

    Parameters
    ----------
    frame : pandas.DataFrame
        Of `score_runs`.

    Returns
    -------
    dict of str to pandas.DataFrame
        For each of `CHOICES` the columns of :func:`experiments.compare.tested`, one row per data
        set.
    """
    table = gains(frame)
    groups = table.groupby("dataset", observed=True)
    return {name: tested(dict(list(groups[name]))) for name in CHOICES if name in table}


def format_gains(frame):
    """The tables of `average_gains` as text, one row per data set and one column per choice."""
    columns = {
        choice: {d: format_change(*row[["mean", "half"]]) for d, row in table.iterrows()}
        for choice, table in average_gains(frame).items()
    }
    return pd.DataFrame(columns).reindex(list_datasets(frame)).fillna(NOTHING)
