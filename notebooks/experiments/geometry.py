"""What the anchors and the embedding look like: the paper's Figures 3 and 4, beside numbers.

Reads arrays of runs (:meth:`experiments.page.Page.arrays`) and frames of runs.
"""

import numpy as np
import pandas as pd

from dmac.diagnostics import effective_rank, mean_cosine
from experiments.compare import NOTHING
from experiments.tables import format_number, format_spread


def similarity(anchors, classes):
    """Cosines between anchors sorted by class, as they are and after subtracting the mean anchor.

    Parameters
    ----------
    anchors : array of shape (m, d)
    classes : array of shape (m,), int

    Returns
    -------
    tuple of three arrays
        Two matrices (m, m) and the sorted classes.
    """
    order = np.argsort(classes, kind="stable")
    cosines = []
    for u in (anchors[order].astype(float), anchors[order] - anchors.mean(0, dtype=float)):
        unit = u / np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-300)
        cosines.append(unit @ unit.T)
    return *cosines, np.asarray(classes)[order]


def measure_anchors(arrays):
    """Measures of the anchors of runs with arrays: one row per data set and variant.

    Returns
    -------
    pandas.DataFrame
        ``m``; ``1 − mean cosine`` of two anchors; ``effective rank`` of U; after subtracting the
        mean anchor the mean cosines ``within`` a class and ``between`` classes.
    """
    rows = {}
    for (dataset, variant), run in arrays.items():
        _, centred, classes = similarity(run["anchors"], run["anchor_classes"])
        same = classes[:, None] == classes
        pairs = ~np.eye(len(classes), dtype=bool)
        within, between = centred[same & pairs], centred[~same]
        rows[dataset, variant] = {
            "m": len(classes),
            "1 − mean cosine": 1 - mean_cosine(run["anchors"]),
            "effective rank": effective_rank(run["anchors"]),
            "within": within.mean() if within.size else np.nan,
            "between": between.mean() if between.size else np.nan,
        }
    columns = ["m", "1 − mean cosine", "effective rank", "within", "between"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return table.astype({"m": int})


def format_anchors(table):
    """The table of `measure_anchors` as text."""
    text = table.map(lambda x: NOTHING if np.isnan(x) else f"{x:.2f}".replace("-", "−"))
    text["1 − mean cosine"] = [format_number(x, 2) for x in table["1 − mean cosine"]]
    return text.assign(m=table.m)


def format_embeddings(runs):
    """Measures of the final embedding, mean ± sd over seeds: one row per data set and variant.

    "in the map" is the share of neighbours of the first seed, the one that the figure shows.
    """
    percent = runs.assign(neighbors=100 * runs.neighbors)
    rows = {}
    for (dataset, variant), part in percent.groupby(["dataset", "variant"], observed=True):
        rows[dataset, variant] = {
            "neighbours, %": format_spread(part.neighbors),
            "in the map": format_spread(part.neighbors[part.seed == 1]),
            "silhouette": format_spread(part.silhouette, digits=3),
            "1 − mean cosine": format_number(part.one_minus_cosine.mean(), 2),
            "effective rank": format_spread(part.effective_rank, digits=2),
            "ACC": format_spread(part.acc),
            "seeds": len(part),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def empty_shares(runs):
    """Anchors without a sample after the last epoch, in % of all: one row per run.

    Those to which no sample has an edge in the graph, in the mean over the views.
    """
    last = [e["empty_anchors"][-1] if e.get("empty_anchors") else np.nan for e in runs.epochs]
    share = 100 * np.array(last, dtype=float) / runs.n_anchors.astype(float)
    return runs[["dataset", "variant", "seed"]].assign(empty=share)


def format_empty_shares(runs):
    """Mean ± sd of `empty_shares` by data set and variant, beside the seed that a figure shows."""
    rows = {}
    for names, part in empty_shares(runs).groupby(["dataset", "variant"], observed=True):
        rows[names] = {
            "empty anchors, %": format_spread(part["empty"]),
            "in the figure": format_spread(part["empty"][part.seed == 1]),
            "seeds": len(part),
        }
    return pd.DataFrame.from_dict(rows, orient="index")
