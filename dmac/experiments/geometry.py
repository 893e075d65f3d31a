"""What the anchors and the embedding look like: the paper's Figures 3 and 4, beside numbers.

Reads arrays of kept runs (:meth:`dmac.experiments.page.Page.arrays`) and frames of runs.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dmac.diagnostics import effective_rank, mean_cosine
from dmac.experiments import wording
from dmac.experiments.compare import NOTHING, change, paired, present
from dmac.experiments.figures import MARKERS, nothing
from dmac.experiments.tables import spread


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
    found = []
    for u in (anchors[order].astype(float), anchors[order] - anchors.mean(0, dtype=float)):
        unit = u / np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-300)
        found.append(unit @ unit.T)
    return *found, np.asarray(classes)[order]


def anchors(arrays):
    """Measures of the anchors of kept runs, a row a data set and variant.

    Returns
    -------
    pandas.DataFrame
        ``m``; ``1 − mean cosine`` of two anchors; ``effective rank`` of U; after subtracting the
        mean anchor the mean cosines ``within`` a class and ``between`` classes.
    """
    rows = {}
    for (dataset, variant), kept in arrays.items():
        _, centred, classes = similarity(kept["anchors"], kept["anchor_classes"])
        same = classes[:, None] == classes
        pairs = ~np.eye(len(classes), dtype=bool)
        within, between = centred[same & pairs], centred[~same]
        rows[dataset, variant] = {
            "m": len(classes),
            "1 − mean cosine": 1 - mean_cosine(kept["anchors"]),
            "effective rank": effective_rank(kept["anchors"]),
            "within": within.mean() if within.size else np.nan,
            "between": between.mean() if between.size else np.nan,
        }
    columns = ["m", "1 − mean cosine", "effective rank", "within", "between"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return table.astype({"m": int})


def anchors_shown(table):
    """The table of `anchors` as text."""
    shown = table.map(lambda x: NOTHING if np.isnan(x) else f"{x:.2f}".replace("-", "−"))
    shown["1 − mean cosine"] = [f"{x:.1e}".replace("-", "−") for x in table["1 − mean cosine"]]
    return shown.assign(m=table.m)


def embeddings(runs):
    """Measures of the final embedding, mean ± sd over seeds, a row a data set and variant.

    "drawn" is the share of neighbours of the first seed, whose arrays are kept and drawn.
    """
    percent = runs.assign(neighbors=100 * runs.neighbors)
    rows = {}
    for (dataset, variant), part in percent.groupby(["dataset", "variant"], observed=True):
        rows[dataset, variant] = {
            "neighbours, %": spread(part.neighbors),
            "drawn": spread(part.neighbors[part.seed == 1]),
            "silhouette": spread(part.silhouette, digits=3),
            "1 − mean cosine": f"{part.one_minus_cosine.mean():.1e}".replace("-", "−"),
            "effective rank": spread(part.effective_rank, digits=2),
            "ACC": spread(part.acc),
            "seeds": len(part),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def empty(runs):
    """Anchors without a sample after the last epoch, in % of all, by seed: a row a run.

    Those to which no sample has an edge in the graph, in the mean over the views.
    """
    last = [e["empty_anchors"][-1] if e.get("empty_anchors") else np.nan for e in runs.epochs]
    share = 100 * np.array(last, dtype=float) / runs.n_anchors.astype(float)
    return runs[["dataset", "variant", "seed"]].assign(empty=share)


def empty_shown(runs):
    """The mean ± sd of `empty`, a row a data set and variant, beside the seed that is drawn."""
    rows = {}
    for names, part in empty(runs).groupby(["dataset", "variant"], observed=True):
        rows[names] = {
            "empty anchors, %": spread(part["empty"]),
            "drawn": spread(part["empty"][part.seed == 1]),
            "seeds": len(part),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def similarities(arrays, datasets):
    """Figure 3: cosines between the anchors sorted by class, raw above and centred below.

    Parameters
    ----------
    arrays : dict
        Of :meth:`dmac.experiments.page.Page.arrays`, by data set and variant.
    datasets : list of str
        One or several; each takes two rows.
    """
    variants = list(dict.fromkeys(variant for _, variant in arrays))
    names = [d for d in datasets if any((d, v) in arrays for v in variants)]
    if not names:
        return nothing()
    rows = 2 * len(names)
    figure, axes = plt.subplots(
        rows, len(variants), figsize=(2 * len(variants) + 0.6, 1.95 * rows), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for i, name in enumerate(names):
        for j, variant in enumerate(variants):
            upper, lower = axes[2 * i : 2 * i + 2, j]
            for axis in (upper, lower):
                axis.grid(False)
                axis.set(xticks=[], yticks=[])
                axis.spines[:].set_visible(False)
            if (name, variant) not in arrays:
                continue
            kept = arrays[name, variant]
            raw, centred, _ = similarity(kept["anchors"], kept["anchor_classes"])
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


def planes(arrays, datasets):
    """Figure 4: embeddings in the plane. Up to seven classes by colour and marker; more cannot be
    told apart, so there a sample is filled if its nearest neighbour in the plane is of its class.
    """
    variants = list(dict.fromkeys(variant for _, variant in arrays))
    names = [d for d in datasets if any((d, v) in arrays for v in variants)]
    if not names:
        return nothing()
    figure, axes = plt.subplots(
        len(names), len(variants), figsize=(6.4, 2.25 * len(names)), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for i, name in enumerate(names):
        for j, variant in enumerate(variants):
            axis = axes[i, j]
            axis.grid(False)
            axis.set(xticks=[], yticks=[])
            axis.spines[:].set_visible(True)
            axis.spines[:].set_color("0.8")
            if (name, variant) in arrays:
                kept = arrays[name, variant]
                _points(axis, kept["plane"], kept["classes"])
            axis.set_title(variant if i == 0 else "")
            if j == 0:
                axis.set_ylabel(name)
    return figure


def _points(axis, plane, classes):
    values = np.unique(classes)
    if len(values) <= 7:
        for number, value in enumerate(values):
            x, y = plane[classes == value].T
            axis.scatter(x, y, s=7, marker=MARKERS[number], color=f"C{number}", linewidths=0)
        return
    agree = classes[nearest(plane)] == classes
    axis.scatter(*plane[agree].T, s=5, color="C0", linewidths=0)
    axis.scatter(*plane[~agree].T, s=7, facecolors="none", edgecolors="C1", linewidths=0.6)


def nearest(points):
    """Index of every point's nearest other point: (n, d) -> (n,)."""
    from scipy.spatial import cKDTree

    return cKDTree(points).query(points, k=2)[1][:, 1]


def anchors_finding(table, runs=None, full="DMAC"):
    """Which of the variants has the most dissimilar anchors, and how many of those are empty."""
    sentences = []
    for dataset in dict.fromkeys(table.index.get_level_values(0)) if len(table) else ():
        part = table.loc[dataset]
        apart, rank = part["1 − mean cosine"], part["effective rank"]
        if full not in apart or len(apart) < 2:
            continue
        same = [v for v in apart.index if v != full and f"{apart[v]:.1e}" == f"{apart[full]:.1e}"]
        most = _first(apart, full, ".1e")
        text = f"On {dataset} the mean cosine between two anchors of the full model is "
        text += f"{_below_one(apart[full])}, and their effective rank {rank[full]:.2f}; "
        if most == full:
            text += "no variant has less similar anchors, as the paper's picture has it"
            text += f", but {wording.listed(same)} equals it to two digits." if same else "."
        else:
            text += f"the least similar are those of {most} ({_below_one(apart[most])}), "
            text += "unlike in the paper's picture."
        if runs is not None:
            samples = runs[
                (runs.dataset == dataset) & (runs.variant == full)
            ].one_minus_cosine.mean()
            if apart[full] > 100 * samples:
                text += f" The samples' own mean cosine is {_below_one(samples)}: the perturbation "
                text += "has moved the anchors away from them."
            means = empty(runs).groupby(["dataset", "variant"], observed=True)["empty"].mean()
            shares = [f"{means[dataset, v]:.0f} % of those of {v}" for v in apart.index]
            text += f" No sample has an edge to {wording.listed(shares)}."
        sentences.append(text)
    return wording.lines(sentences)


def _below_one(distance):
    """A cosine by its distance from 1."""
    small = f"1 but for {distance:.0e}".replace("-", "−")
    return f"{1 - distance:.2f}" if distance > 0.005 else small


def _first(values, full, digits):
    """The variant with the largest value: the full model, where none is larger as it is printed."""
    best = values.idxmax()
    return full if f"{values[best]:{digits}}" == f"{values[full]:{digits}}" else best


def embedding_finding(runs, full="DMAC"):
    """Whether the full model separates the classes better than the others, seed by seed."""
    percent = runs.assign(neighbors=100 * runs.neighbors)
    parts = [v for v in runs.variant.cat.categories if v != full]
    found = {v: paired(percent, full, v, "neighbors") for v in parts}
    sentences = []
    for dataset in present(runs):
        here = {v: table.loc[dataset] for v, table in found.items() if dataset in table.index}
        if not here:
            continue
        own = percent[(percent.dataset == dataset) & (percent.variant == full)].neighbors.mean()
        against = [f"{change(x['mean'], x.half)} points against {v}" for v, x in here.items()]
        ahead = [v for v, x in here.items() if x["mean"] > x.half]
        behind = [v for v, x in here.items() if -x["mean"] > x.half]
        text = (
            f"On {dataset} {own:.1f} % of a sample's neighbours have its class in the full model, "
            f"{wording.listed(against)}: "
        )
        if len(ahead) == len(here):
            text += "the full model separates the classes best, as in the paper."
        elif behind:
            text += (
                f"it separates them less well than {wording.listed(behind)}, unlike in the paper."
            )
        else:
            beaten = f"only {wording.listed(ahead)}" if ahead else "neither"
            text += f"it is clearly ahead of {beaten}, unlike in the paper."
        sentences.append(text)
    return wording.lines(sentences)
