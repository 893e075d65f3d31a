"""The start page's one figure: PIE, and the data sets that nobody had touched.

It sets the paper's value beside RELEASED, the paper's setting as run here, before and after its
main training, beside the shallow baseline, and beside the book's two recipes.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from experiments import evidence, paper, records
from experiments.studies import COMPARISON, NEVER_TOUCHED

#: The rows, from above: the method, its text in the figure, its colour.
ROWS = {
    "paper": ("paper's value", "0.55"),
    "pre-trained": ("RELEASED, pre-trained", "C4"),
    "RELEASED": ("RELEASED, trained", "C1"),
    "best single": ("shallow baseline", "C5"),
    "CLOSED_FORM": ("CLOSED_FORM", "C0"),
    "REVISED": ("REVISED", "C2"),
}


def released_runs(datasets, results=records.RESULTS):
    """The stored runs of RELEASED."""
    variants = {"RELEASED": COMPARISON["RELEASED"]}
    return records.read_runs(variants, datasets, results=results)


def headline_scores(runs=None, results=records.RESULTS):
    """Mean accuracy of each method on PIE and on the data sets that nobody had touched.

    Parameters
    ----------
    runs : dict of str to pandas.DataFrame, optional
        Of :func:`experiments.evidence.read_runs`; without it they are read.
    results : str or path
        Folder of the store.

    Returns
    -------
    pandas.DataFrame
        ACC in %, a row for each of `ROWS` and a column for PIE and each of
        :data:`experiments.studies.NEVER_TOUCHED`; NaN where the paper has no such data or
        nothing is stored. The baseline is the pipeline that is best on average over the sixteen
        sets on PIE, and over the others there.
    """
    runs = evidence.read_runs(results) if runs is None else runs
    columns = ["PIE", *NEVER_TOUCHED]
    methods = (evidence.CLOSED, evidence.TRAINED)
    others = evidence.scores_of(runs, methods, NEVER_TOUCHED)
    others[evidence.SINGLE, "acc"] = others[evidence.best_single(others), "acc"]
    scores = pd.concat([evidence.beside(runs).loc[["PIE"]], others], join="inner")
    scores = scores.xs("acc", axis=1, level=1).T
    released = released_runs(columns, results).groupby("dataset", observed=True)
    scores.loc["RELEASED"] = released.acc.mean()
    scores.loc["pre-trained"] = released.start_acc.mean()
    scores.loc["paper"] = pd.Series({"PIE": paper.value("PIE", "acc")})
    return scores.loc[list(ROWS)]


def plot_headline(scores):
    """The figure.

    Parameters
    ----------
    scores : pandas.DataFrame
        Of `headline_scores`.

    Returns
    -------
    matplotlib.figure.Figure
        Two panels of bars: PIE, and the mean over the others with a dot for each data set. There
        is no bar where not all of them have runs.
    """
    figure, (above, below) = plt.subplots(2, 1, figsize=(4.7, 4), sharex=True)
    rows = np.arange(len(ROWS))
    names, colours = zip(*ROWS.values())
    others = scores.drop(columns="PIE")
    size = len(others.columns)
    for axis, values in ((above, scores.PIE), (below, others.mean(axis=1, skipna=False))):
        values = values.loc[list(ROWS)]
        axis.barh(rows, values.fillna(0), height=0.62, color=colours, alpha=0.75)
        for row, value in enumerate(values):
            text = "no value" if np.isnan(value) else f"{value:.1f}"
            place = 2 if np.isnan(value) else 104
            axis.text(place, row, text, va="center", clip_on=False)
        axis.set_yticks(rows, names)
        axis.tick_params(axis="y", length=0)
        axis.grid(axis="y", visible=False)
        axis.invert_yaxis()
    for row, method in enumerate(ROWS):
        if others.loc[method].notna().all():
            dots = others.loc[method]
            below.plot(dots, np.full(size, row), "o", color="black", markersize=3, alpha=0.55)
    above.set_title("PIE: faces of 68 people")
    below.set_title(f"Mean over {size} data sets that nobody had touched")
    below.set(xlim=(0, 102), xlabel="accuracy in %")
    return figure
