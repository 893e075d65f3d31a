"""What the anchors and the embedding look like: the paper's Figures 3 and 4, beside numbers.

Reads arrays of runs (:meth:`experiments.page.Page.arrays`) and frames of runs.
"""

import numpy as np
import pandas as pd

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
