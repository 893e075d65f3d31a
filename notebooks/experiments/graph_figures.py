"""The figures of chapter 4: an anchor graph in the plane, its row problem, its blocks.

Its table of how many neighbours the released schedule gives is made here too.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dmac.anchors import n_anchors_for
from dmac.data.datasets import DATASETS
from dmac.recipes import RELEASED
from dmac.training import neighbors_at
from experiments.bench import SHAPES

#: The data sets of `count_neighbors` that the registry knows.
KNOWN = (
    *("PIE", "HandWritten", "Yale-3view", "100Leaves", "NGs"),
    *("ALOI-10", "BBCSport", "BBC", "CCV-20d"),
)
#: The others: the paper's sizes.
OF_THE_PAPER = ("NUS", "ALOI")


def plot_plane(samples, anchors, graph):
    """Samples and anchors of the plane, joined by lines as thick as the weights are large.

    Parameters
    ----------
    samples, anchors : torch.Tensor of shape (n, 2) and (m, 2)
    graph : dmac.anchor_graph.AnchorGraph
    """
    figure, axis = plt.subplots(figsize=(5.4, 2.9))
    line = {"color": "0.55", "zorder": 1, "solid_capstyle": "round"}
    for z, near, weights in zip(samples, graph.indices, graph.weights):
        for u, weight in zip(anchors[near], weights):
            axis.plot(*zip(z, u), linewidth=5 * weight, **line)
    axis.plot(*samples.T, "o", markersize=6, color="C0", label="samples")
    axis.plot(*anchors.T, "s", markersize=9, color="C1", label="anchors")
    axis.set(aspect="equal", xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
    figure.legend(ncols=2, loc="outside lower center")
    return figure


def plot_water(d, solutions):
    """A row of distances as floors, and the water on them, for some values of gamma.

    Parameters
    ----------
    d : array of shape (m,)
        Squared distances.
    solutions : dict of float to tuple
        The weights (m,) and the water level, by gamma.
    """
    figure, axes = plt.subplots(1, len(solutions), figsize=(6.4, 2.5), sharey=True, squeeze=False)
    x = np.arange(1, len(d) + 1)
    for axis, (gamma, (s, level)) in zip(axes[0], solutions.items()):
        axis.bar(x, d, width=1, color="0.75", edgecolor="white")
        axis.bar(x, np.maximum(level - d, 0), 1, d, color="C5", hatch="//", edgecolor="white")
        axis.axhline(level, color="black", linewidth=1, linestyle="--")
        for place, weight, top in zip(x, s, np.maximum(d, level)):
            label = f"{weight:.2f}" if weight > 0 else "0"
            axis.text(place, top + 0.15, label, ha="center", fontsize=8)
        axis.set(title=f"γ = {gamma:g}", xlabel="anchor j", xticks=x, ylim=(0, max(d) + 1))
        axis.grid(False)
    axes[0, 0].set_ylabel("squared distance")
    return figure


def count_neighbors():
    """The number of neighbours that RELEASED gives on eleven data sets.

    Returns
    -------
    pandas.DataFrame
        One row per data set, sorted by the ceiling: n, c, m, floor(m / c), and k in three spans of
        epochs.
    """
    sizes = {name: (DATASETS[name].n_samples, DATASETS[name].n_clusters) for name in KNOWN}
    sizes |= {name: SHAPES[name][::2] for name in OF_THE_PAPER}
    table = pd.DataFrame(sizes, ["n", "c"]).T
    table["m"] = [n_anchors_for(n, c) for n, c in sizes.values()]
    table["floor(m / c)"] = table.m // table.c
    for column, epoch in {"epochs 1 to 21": 1, "22 to 41": 22, "42 to 50": 42}.items():
        table[column] = [neighbors_at(epoch, RELEASED, m, c) for m, c in zip(table.m, table.c)]
    return table.sort_values("floor(m / c)")


def plot_blocks(graphs, labels, anchor_labels, every=16):
    """Some rows of anchor graphs, samples and anchors sorted by class.

    Parameters
    ----------
    graphs : list of dmac.anchor_graph.AnchorGraph
        One panel for each; the title is its number of neighbours.
    labels, anchor_labels : array of shape (n,) and (m,)
        Classes of the samples and of the anchors: ten digits.
    every : int
        Which samples are shown.
    """
    order = np.argsort(labels, kind="stable")[::every]
    by_class = np.argsort(anchor_labels, kind="stable")
    figure, axes = plt.subplots(1, len(graphs), figsize=(6.4, 3.4), sharey=True, squeeze=False)
    for axis, graph in zip(axes[0], graphs):
        s = graph.to_dense().numpy()[order][:, by_class].T
        axis.imshow(s / s.max(0), cmap="Greys", aspect="auto")
        axis.set(title=f"k = {graph.indices.shape[1]}", xlabel="samples, by digit")
        axis.grid(False)
        for classes, line, ticks in (
            (labels[order], axis.axvline, axis.xaxis),
            (anchor_labels, axis.axhline, axis.yaxis),
        ):
            counts = np.bincount(classes)
            ends = counts.cumsum() - 0.5
            for end in ends[:-1]:
                line(end, color="0.7", linewidth=0.6)
            ticks.set_ticks(ends - counts / 2, range(len(counts)))
    axes[0, 0].set_ylabel("anchors, by their most frequent digit")
    return figure
