"""How often the suggested number of clusters is right: the runs and tables of a page at the end.

    python -m experiments.n_clusters

writes ``notebooks/results/n_clusters.csv`` anew, with a row for every data set, seed and criterion.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from dmac.model_selection import CRITERIA, suggest_n_clusters
from dmac.views import available, load
from experiments.studies import GROUPS, SIXTEEN

#: Where the runs lie.
PATH = Path(__file__).resolve().parents[1] / "results" / "n_clusters.csv"
#: The same for every data set: all small numbers, then steps of a half.
CANDIDATES = (*range(2, 13), 15, 20, 30, 45, 68, 100)
SEEDS = (0, 1, 2)


def measure(datasets=SIXTEEN, seeds=SEEDS):
    """Ask for the number of clusters of every data set that is there; yields rows."""
    for name in datasets:
        if name not in available():
            continue
        data = load(name)
        n = data.views[0].shape[0]
        candidates = [c for c in CANDIDATES if c <= n // 4]
        for seed in seeds:
            found = suggest_n_clusters(data.views, candidates, random_state=seed)
            for criterion in CRITERIA:
                yield dict(
                    dataset=name,
                    samples=n,
                    clusters=data.n_clusters,
                    seed=seed,
                    criterion=criterion,
                    suggested=found.best(criterion),
                )


def read_runs(path=PATH):
    """The stored runs, with how far off each is, as a factor.

    Beside the columns of `measure` there are ``right``, ``factor`` (the larger of both numbers over
    the smaller, at least 1) and ``group``: "chosen on" or "looked at".
    """
    runs = pd.read_csv(path)
    runs["right"] = runs.suggested == runs.clusters
    ratio = runs.suggested / runs.clusters
    runs["factor"] = np.maximum(ratio, 1 / ratio)
    runs["group"] = np.where(runs.dataset.isin(GROUPS["chosen on"]), "chosen on", "looked at")
    return runs


def summary(runs):
    """How often each criterion is right, and how far off it is, in both groups of data sets.

    Parameters
    ----------
    runs : pandas.DataFrame
        From `read_runs`.

    Returns
    -------
    pandas.DataFrame
        A row for every criterion; for both groups the share of the runs that are right, of those
        off by at most a factor of 1.5, and the median factor.
    """
    grouped = runs.groupby(["group", "criterion"])
    table = pd.DataFrame(
        {
            "right": grouped.right.mean(),
            "within 1.5": grouped.factor.apply(lambda x: (x <= 1.5).mean()),
            "median factor": grouped.factor.median(),
        }
    )
    return table.unstack("group").swaplevel(axis=1).sort_index(axis=1).loc[list(CRITERIA)]


if __name__ == "__main__":
    rows = []
    for row in measure(sys.argv[1:] or SIXTEEN):
        rows.append(row)
        if row["criterion"] == CRITERIA[-1]:
            same = rows[-len(CRITERIA) :]
            told = ", ".join(f"{one['criterion']} {one['suggested']}" for one in same)
            print(row["dataset"], row["clusters"], told, file=sys.stderr, flush=True)
            pd.DataFrame(rows).to_csv(PATH, index=False)
