"""The figures of chapter 6: one model twice, and what symmetrising a table lets in."""

import matplotlib.pyplot as plt
import numpy as np


def plot_changes(changes):
    """How far runs are from those that they are compared with, epoch by epoch.

    Parameters
    ----------
    changes : dict of str to list of array
        Relative changes of a loss, one array for each seed. No change is drawn at 1e-17.
    """
    figure, axis = plt.subplots(figsize=(6.4, 3.1))
    lines = []
    for curves, style in zip(changes.values(), ["C0o-", "C1s--", "C2^:", "C3x-."]):
        for y in curves:
            line = axis.semilogy(range(1, len(y) + 1), np.maximum(y, 1e-17), style, linewidth=1)
        lines += line
    axis.set(xlabel="epoch", ylabel="relative change of\nthe structure loss")
    axis.set_xticks(range(2, 13, 2))
    axis.legend(lines, changes, loc="lower center", bbox_to_anchor=(0.45, 1), ncols=2)
    return figure


def plot_readings(curves):
    """Readings of the mutual information while one of them is maximised.

    Parameters
    ----------
    curves : dict of str to list of pandas.DataFrame
        One panel for each reading that was maximised. A table for each seed has one row for each
        step that was recorded, and one column for each of three readings, in nats.
    """
    figure, axes = plt.subplots(1, 2, figsize=(6.4, 2.7), sharey=True)
    for axis, (name, tables) in zip(axes, curves.items()):
        for table in tables:
            styles = zip(table, ["C0-", "C1--", "k:"])
            lines = [axis.plot(table[reading], style)[0] for reading, style in styles]
        axis.set(title=f"trained on {name}", xlabel="step")
    axes[0].set_ylabel("MI in nats,\nmean over three pairs of views")
    axes[0].legend(lines, table.columns)
    return figure


def plot_joint(tables, row, column):
    """Joint distributions of the labels of two views, as maps of grey.

    Parameters
    ----------
    tables : dict of str to array of shape (c, c)
        By their titles. Each sums to 1.
    row, column : str
        Names of the view whose label gives the row, and of the other one.
    """
    figure, axes = plt.subplots(1, 3, figsize=(6.4, 2.5))
    ticks = {"xticks": [0, 3, 6, 9], "yticks": [0, 3, 6, 9]}
    for axis, (title, table) in zip(axes, tables.items()):
        image = axis.imshow(table, cmap="Greys", vmax=0.2)
        axis.set(title=title, xlabel=f"label in {column}", **ticks)
        axis.grid(False)
    axes[0].set_ylabel(f"label in {row}")
    figure.colorbar(image, ax=axes, shrink=0.7, label="share of anchors", extend="max")
    return figure
