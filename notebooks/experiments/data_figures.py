"""The figures of chapter 1: the numerals, whitening, scores that mislead, and the baselines.

Its table of the sixteen data sets is made here too.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import dmac
from dmac.data.datasets import DATASETS
from dmac.data.whitening import Whitening
from experiments import paper
from experiments.generalise import DEVELOPED, SIXTEEN

#: The views of the numerals.
VIEWS = {
    "fou": "Fourier coefficients of the shape",
    "fac": "correlations of profiles",
    "kar": "Karhunen-Loève coefficients",
    "pix": "pixels, 16 x 15",
    "zer": "Zernike moments",
    "mor": "morphology, e.g. number of holes",
}
_RED = "#d55e00"


def plot_numerals(pixels):
    """Ten numerals of each digit.

    Parameters
    ----------
    pixels : array of shape (2000, 240)
        Sorted by digit.
    """
    tiles = pixels.reshape(10, 200, 16, 15)[:, ::20].transpose(0, 2, 1, 3)
    figure, axis = plt.subplots(figsize=(4.2, 4.4))
    axis.imshow(tiles.reshape(160, 150), cmap="Greys", interpolation="none")
    axis.set_yticks(range(8, 160, 16), range(10))
    axis.set(xticks=[], ylabel="digit")
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    axis.grid(False)
    return figure


def plot_views(views, samples):
    """Some numerals in all six views: the pixels as an image, the others as bars.

    Parameters
    ----------
    views : list of array
    samples : dict of str to int
        Rows by their labels.
    """
    figure, axes = plt.subplots(len(samples), 6, figsize=(6.4, 3.1), sharey="col", squeeze=False)
    names, order = list(VIEWS), [3, 0, 1, 2, 4, 5]  # the pixels first
    for axis, a in zip(axes[0], order):
        axis.set_title(names[a])
    for row, (label, i) in zip(axes, samples.items()):
        row[0].set_ylabel(label)
        for axis, a in zip(row, order):
            x = views[a][i]
            if names[a] == "pix":
                axis.imshow(x.reshape(16, 15), cmap="Greys")
            else:
                axis.bar(range(x.size), x, width=1)
            axis.set(xticks=[], yticks=[])
            axis.grid(False)
    return figure


def describe_sets():
    """The sixteen data sets: what they hold, their sizes, and whether recipes were tuned on them.

    Returns
    -------
    pandas.DataFrame
    """
    in_paper = dict.fromkeys(paper.SAME, "same") | dict.fromkeys(paper.ALIKE, "other views")
    rows = {}
    for name in SIXTEEN:
        entry = DATASETS[name]
        rows[f"{name}: {entry.description.split(',')[0]}"] = {
            "n": entry.n_samples,
            "v": len(entry.dims),
            "c": entry.n_clusters,
            "features of the views": ", ".join(map(str, entry.dims)),
            "tuned on": "yes" if name in DEVELOPED else "no",
            "in the paper": in_paper.get(name, "–"),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def plot_sets(acc):
    """Two accuracies of every data set, joined by a bar, and what one class of all would give.

    Parameters
    ----------
    acc : pandas.DataFrame
        In %, one row per data set and one column per method.
    """
    figure, axis = plt.subplots(figsize=(6.2, 3.9))
    axis.hlines(acc.index, acc.min(axis=1), acc.max(axis=1), color="0.8", linewidth=3)
    for (name, values), marker in zip(acc.items(), "so"):
        axis.plot(values, acc.index, marker, markersize=6, label=name)
    chance = [100 / DATASETS[name].n_clusters for name in acc.index]
    axis.plot(chance, acc.index, "|", color="black", markersize=8, label="100 / c")
    axis.set(xlim=(0, 101), xlabel="ACC in %, mean over the stored seeds")
    axis.legend(loc="upper left", bbox_to_anchor=(0, 1.12), ncols=3)
    return figure


def plot_whitening(centred, vt, s, h):
    """Points of the plane with their principal directions, and the same points whitened.

    Parameters
    ----------
    centred, h : array of shape (n, 2)
        Before and after.
    vt, s : array of shape (2, 2) and (2,)
        Right singular vectors and singular values of ``centred``.
    """
    figure, (before, after) = plt.subplots(1, 2, figsize=(6.4, 2.9))
    before.scatter(*centred.T, s=8, alpha=0.4)
    arrow = {"width": 2, "headwidth": 8, "color": _RED}
    for end in np.sign(vt[:, :1]) * vt * 2 * s[:, None] / np.sqrt(len(h)):
        before.annotate("", end, (0, 0), arrowprops=arrow)
    after.scatter(*h.T, s=8, alpha=0.4)
    angle = np.linspace(0, 2 * np.pi, 100)
    after.plot(2 * np.cos(angle), 2 * np.sin(angle), color=_RED)
    before.set(title="centred", xlim=(-10, 10), ylim=(-7.5, 7.5), aspect="equal")
    after.set(title="whitened", xlim=(-4, 4), ylim=(-3, 3), aspect="equal")
    return figure


def plot_spectra(views, r):
    """Standard deviations along the principal directions of the numerals' views.

    Parameters
    ----------
    views : list of array
    r : int
        A direction to mark.
    """
    figure, axis = plt.subplots(figsize=(6.4, 3))
    for name, x, marker in zip(VIEWS, views, "os^vDX"):
        scale = Whitening().fit(x).scale_
        places = range(1, len(scale) + 1)
        axis.semilogy(places, scale / scale[0], marker=marker, markevery=9, label=name)
    axis.axvline(r, color="black", linestyle="--", linewidth=1)
    axis.annotate("r = 2c", (r + 1, 2e-4))
    axis.set(xlim=(0, 100), ylim=(1e-4, 1.5), xlabel="principal direction")
    axis.set_ylabel("standard deviation\n(largest = 1)")
    axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def plot_similarity(rows, every=10):
    """Cosines of some numerals with each other, one picture per view.

    Parameters
    ----------
    rows : dict of str to list of array
        Views with rows of unit length, by the label of the row of pictures.
    every : int
        Which samples are shown.
    """
    figure, axes = plt.subplots(len(rows), 6, figsize=(6.4, 2.6), squeeze=False)
    for axis, name in zip(axes[0], VIEWS):
        axis.set_title(name)
    for row, (label, views) in zip(axes, rows.items()):
        row[0].set_ylabel(label)
        for axis, x in zip(row, views):
            x = x[::every]
            axis.imshow(x @ x.T, cmap="Greys", vmin=0, vmax=1, interpolation="none")
            axis.set(xticks=[], yticks=[])
            axis.grid(False)
    return figure


def plot_random_scores(labels, counts=(2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)):
    """Scores of clusterings at random, over their numbers of clusters.

    Parameters
    ----------
    labels : array of shape (n,)
        The classes, whose number is marked.
    counts : sequence of int
    """
    rng, n, c = np.random.default_rng(0), len(labels), len(np.unique(labels))
    drawn = [dmac.scores(labels, rng.permutation(n) % count) for count in counts]
    figure, axis = plt.subplots(figsize=(6.4, 2.8))
    styles = {"purity": "s-", "nmi": "^-", "acc": "o--", "ari": "X:"}
    for score, style in styles.items():
        axis.semilogx(counts, [scores[score] for scores in drawn], style, label=score)
    axis.axvline(c, color="grey", linewidth=1)
    label = f"number of random clusters (the line marks the {c} classes)"
    axis.set(xlabel=label, ylabel="score")
    axis.legend()
    return figure


def plot_baselines(runs, reported, ratios, sweep):
    """Accuracy of the baselines on two data sets, and that of k-means over r / c.

    Parameters
    ----------
    runs : dict of str to pandas.DataFrame
        By data set: runs with ``method`` and ``acc`` in %.
    reported : float
        The paper's value for the last data set.
    ratios, sweep : list of float
        r / c, and the accuracies in % on the first data set.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.4, 2.8), width_ratios=[3, 2])
    for (name, table), marker in zip(runs.items(), "os"):
        style = dict(fillstyle="none", markersize=7, label=name)
        left.plot(table.acc, table.method.astype(str), marker, **style)
    first, last = runs
    line = dict(color="black", linestyle="--", linewidth=1)
    left.axvline(reported, label=f"paper's DMAC, {last}", **line)
    left.set(xlim=(0, 102), ylim=(2.5, -0.5), xlabel="ACC in %, one mark per seed")
    left.legend(loc="upper center", bbox_to_anchor=(0.2, -0.25), ncols=3, columnspacing=0.8)
    right.semilogx(ratios, sweep, "o-", base=2)
    right.set(xlabel="r / c", ylabel=f"ACC in % on {first}", ylim=(50, 100))
    right.set_xticks(ratios, [f"{ratio:g}" for ratio in ratios])
    right.axvline(2, color="grey", linewidth=1)
    return figure
