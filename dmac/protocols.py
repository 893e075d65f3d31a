"""The same runs under several protocols of scoring: what choosing by the labels adds to a score."""

import numpy as np
import pandas as pd

from dmac import paper
from dmac.comparisons import NOTHING, present
from dmac.recipes import RELEASED
from dmac.tables import spread

#: The ways of scoring the same runs, from what a user can have to what the labels can pick.
PROTOCOLS = {
    "last epoch": "(a) last epoch",
    "epoch": "(b′) best epoch by ACC",
    "epoch, each metric": "(b) best epoch of each",
    "grid": "(c′) and weights by ACC",
    "grid, each metric": "(c) and weights of each",
}


def scored(grid):
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
    for dataset in present(grid):
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
    for name, order in (("dataset", grid.dataset.cat.categories), ("protocol", list(PROTOCOLS))):
        frame[name] = pd.Categorical(frame[name], order, ordered=True)
    return frame


def _nmi_there(run):
    """NMI of a run where its ACC is best: at an epoch, or of the returned labels."""
    acc, nmi = np.asarray(run.epochs["acc"]), np.asarray(run.epochs["nmi"])
    return run.nmi if run.acc > 100 * acc.max() + 1e-3 else 100 * nmi[acc.argmax()]


def shown(frame):
    """The table of `scored` as text, a row a data set and metric, the paper's value at its end."""
    rows = {}
    for dataset in present(frame):
        for metric in ("acc", "nmi"):
            part = frame[frame.dataset == dataset].groupby("protocol", observed=True)[metric]
            row = {PROTOCOLS[name]: text for name, text in part.agg(spread).items()}
            known = paper.value(dataset, metric)
            mark = "" if dataset in paper.SAME else "°"
            row["the paper"] = NOTHING if known is None else f"{known:.2f}{mark}"
            rows[dataset, metric.upper()] = row
    columns = [*PROTOCOLS.values(), "the paper"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).fillna(NOTHING)


def gains(frame):
    """What each choice by the labels adds, in points, mean over the seeds: a row a data set."""
    means = frame.groupby(["dataset", "protocol"], observed=True)[["acc", "nmi"]].mean()
    rows = {}
    for dataset in present(frame):
        part = means.loc[dataset].reindex(list(PROTOCOLS))
        acc, nmi = part.acc, part.nmi
        rows[dataset] = {
            "epoch, ACC": acc["epoch"] - acc["last epoch"],
            "grid, ACC": acc["grid"] - acc["epoch"],
            "epoch, NMI": nmi["epoch"] - nmi["last epoch"],
            "own epoch, NMI": nmi["epoch, each metric"] - nmi["epoch"],
            "own weights, NMI": nmi["grid, each metric"] - nmi["epoch, each metric"],
        }
    return pd.DataFrame.from_dict(rows, orient="index")
