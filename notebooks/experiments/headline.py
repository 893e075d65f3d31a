"""The start page's one figure: PIE, and the data sets that no recipe was chosen on.

It sets the paper's value beside RELEASED, the paper's setting as run here, before and after its
main training, beside the shallow baseline, and beside the book's two recipes.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from experiments import evidence, paper, records
from experiments.studies import COMPARISON, CONFIRMED

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
    """Mean accuracy of each method on PIE and on the data sets that nothing was chosen on.

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
        :data:`experiments.studies.CONFIRMED`; NaN where the paper has no such data or
        nothing is stored.
    """
    runs = evidence.read_runs(results) if runs is None else runs
    columns = ["PIE", *CONFIRMED]
    scores = evidence.beside(runs).xs("acc", axis=1, level=1).T[columns]
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
        Two panels of bars: PIE, and the mean over the others with a dot for each data set. Where
        something is stored for some of them only, the figure says for how many.
    """
    figure, (above, below) = plt.subplots(2, 1, figsize=(4.7, 4), sharex=True)
    rows = np.arange(len(ROWS))
    names, colours = zip(*ROWS.values())
    others = scores.drop(columns="PIE")
    size = len(others.columns)
    for axis, values in ((above, scores.PIE), (below, others.mean(axis=1))):
        values = values.loc[list(ROWS)]
        axis.barh(rows, values.fillna(0), height=0.62, color=colours, alpha=0.75)
        for row, value in enumerate(values):
            text = "no such data" if np.isnan(value) else f"{value:.1f}"
            place = 2 if np.isnan(value) else 104
            axis.text(place, row, text, va="center", clip_on=False)
        axis.set_yticks(rows, names)
        axis.tick_params(axis="y", length=0)
        axis.grid(axis="y", visible=False)
        axis.invert_yaxis()
    for row, method in enumerate(ROWS):
        dots = others.loc[method].dropna()
        below.plot(dots, np.full(len(dots), row), "o", color="black", markersize=3, alpha=0.55)
        if 0 < len(dots) < size:
            below.text(dots.max() + 4, row, f"{len(dots)} of them", va="center", color="0.3")
    above.set_title("PIE: faces of 68 people")
    below.set_title(f"Mean over {size} sets that no recipe was chosen on")
    below.set(xlim=(0, 102), xlabel="accuracy in %")
    return figure
