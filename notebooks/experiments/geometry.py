"""What the anchors and the embedding look like: the paper's Figures 3 and 4, beside numbers.

Reads arrays of runs (:meth:`experiments.page.Page.arrays`) and frames of runs.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dmac.diagnostics import effective_rank, mean_cosine
from experiments.compare import NOTHING
from experiments.figures import MARKERS, plot_nothing
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


def plot_similarities(arrays, datasets):
    """Figure 3: cosines between the anchors sorted by class, raw above and centred below.

    Parameters
    ----------
    arrays : dict
        Of :meth:`experiments.page.Page.arrays`, by data set and variant.
    datasets : list of str
        One or several; each takes two rows.
    """
    variants = list(dict.fromkeys(variant for _, variant in arrays))
    names = [d for d in datasets if any((d, v) in arrays for v in variants)]
    if not names:
        return plot_nothing()
    rows = 2 * len(names)
    figure, axes = plt.subplots(
        rows,
        len(variants),
        figsize=(2 * len(variants) + 0.6, 1.95 * rows),
        squeeze=False,
        layout="constrained",
    )
    for i, name in enumerate(names):
        for j, variant in enumerate(variants):
            upper, lower = axes[2 * i : 2 * i + 2, j]
            for axis in (upper, lower):
                axis.grid(False)
                axis.set(xticks=[], yticks=[])
                axis.spines[:].set_visible(False)
            if (name, variant) not in arrays:
                continue
            run = arrays[name, variant]
            raw, centred, _ = similarity(run["anchors"], run["anchor_classes"])
            options = dict(interpolation="nearest", rasterized=True)
            first = upper.imshow(raw, vmin=0, vmax=1, cmap="viridis", **options)
            second = lower.imshow(centred, vmin=-1, vmax=1, cmap="cividis", **options)
            upper.set_title(variant if i == 0 else "")
            if j == 0:
                upper.set_ylabel(f"{name}\ncosines")
                lower.set_ylabel(f"{name}\ncentred")
        figure.colorbar(first, ax=axes[2 * i], shrink=0.8, aspect=14)
        figure.colorbar(second, ax=axes[2 * i + 1], shrink=0.8, aspect=14)
    return figure


def plot_planes(arrays, datasets):
    """Figure 4: embeddings in the plane. Up to seven classes by colour and marker; of more, each
    sample is drawn as the number of its class.
    """
    variants = list(dict.fromkeys(variant for _, variant in arrays))
    names = [d for d in datasets if any((d, v) in arrays for v in variants)]
    if not names:
        return plot_nothing()
    figure, axes = plt.subplots(
        len(names),
        len(variants),
        figsize=(6.4, 2.25 * len(names)),
        squeeze=False,
        layout="constrained",
    )
    for i, name in enumerate(names):
        for j, variant in enumerate(variants):
            axis = axes[i, j]
            axis.grid(False)
            axis.set(xticks=[], yticks=[])
            axis.spines[:].set_visible(True)
            axis.spines[:].set_color("0.8")
            if (name, variant) in arrays:
                run = arrays[name, variant]
                _plot_points(axis, run["plane"], run["classes"])
            axis.set_title(variant if i == 0 else "")
            if j == 0:
                axis.set_ylabel(name)
    return figure


def _plot_points(axis, plane, classes):
    values = np.unique(classes)
    few = len(values) <= 7
    for number, value in enumerate(values):
        marker = MARKERS[number] if few else f"${number}$"
        style = dict(s=7 if few else 9, marker=marker, color=f"C{number}")
        # each would be a drawing of its own
        axis.scatter(*plane[classes == value].T, lw=0, rasterized=True, **style)
