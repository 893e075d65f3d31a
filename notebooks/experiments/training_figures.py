"""The figures of chapters 2 and 8: untrained encoders, steps of RMSprop, and losses over epochs."""

import matplotlib.pyplot as plt
import numpy as np


def plot_cosine_map(before, after, cosines, curves):
    """Cosines of pairs of rows after some random encoders over those before, and curves.

    Parameters
    ----------
    before : array of shape (n_pairs,)
    after : list of array of shape (n_pairs,)
        One per encoder, at most three.
    cosines : array of shape (n_points,)
        Where the curves are known.
    curves : list of array of shape (n_points,)
        What is predicted with biases and without them.
    """
    figure, axis = plt.subplots(figsize=(4.6, 3.4))
    for out, color in zip(after, ["#56b4e9", "#e69f00", "#999999"]):
        axis.plot(before, out, "o", markersize=2, alpha=0.3, color=color, rasterized=True)
    axis.plot(cosines, curves[0], color="black", label="predicted")
    axis.plot(cosines, curves[1], "--", label="without biases")
    axis.plot(cosines, cosines, ":", color="black", label="unchanged")
    axis.set(xlabel="cosine of two numerals in kar", ylim=(-0.6, 1.03))
    axis.set_ylabel("cosine after an encoder")
    axis.legend(loc="lower right")
    return figure


def plot_pretraining(trace, levels):
    """Loss, mean cosine and agreement over the epochs of a pre-training, three seeds each.

    Parameters
    ----------
    trace : pandas.DataFrame
        Three columns, and rows by seed and epoch.
    levels : list of dict of str to float
        Heights to mark in each panel, by their label.
    """
    figure, axes = plt.subplots(1, 3, figsize=(6.4, 2.7))
    for axis, column, marked in zip(axes, trace, levels):
        for seed, style in enumerate(["-", "--", ":"]):
            axis.plot(trace.loc[seed, column].dropna(), style, label=f"seed {seed}")
        place = dict(va="top", size=8, textcoords="offset points")
        for text, level in marked.items():
            axis.axhline(level, color="grey", linewidth=0.8)
            axis.annotate(text, (1, level), (0, -2), **place)
        axis.set(xlabel="epoch", title=column)
    for axis, limits in zip(axes, ((0, 0.06), (0.6, 1.01), (0, 1))):
        axis.set_ylim(limits)
    axes[2].legend(loc="upper right")
    return figure


def plot_step_lengths(gradients, lengths):
    """Lengths of the steps of RMSprop under constant gradients.

    Parameters
    ----------
    gradients : sequence of float
        At most three.
    lengths : array of shape (n_steps, n_gradients)
        In units of the step size.
    """
    figure, axis = plt.subplots(figsize=(4.6, 2.8))
    looks = (
        {"linewidth": 5, "alpha": 0.5},
        {"linestyle": "--"},
        {"linestyle": "", "marker": "o", "color": "black", "markevery": 12},
    )
    t = np.arange(1, len(lengths) + 1)
    for g, curve, look in zip(gradients, lengths.T, looks):
        axis.plot(t, curve, **look, label=f"gradient {g:g}")
    axis.set(xlabel="step", ylabel="length of the step\nin units of η")
    axis.set(xlim=(1, len(t)), ylim=(0, 10.5), yticks=[1, 4, 7, 10])
    axis.set_xticks([1, *range(50, len(t) + 1, 50)])
    axis.legend()
    return figure


def plot_losses(logs, history, largest):
    """The reconstruction loss of a pre-training and the three losses of the main training.

    Parameters
    ----------
    logs : list of list of dmac.embedding.PretrainRecord
        The pre-trainings of at most three seeds.
    history : pandas.DataFrame
        Fields of :class:`~dmac.training.EpochRecord`, by ``seed`` and ``epoch``.
    largest : float
        The maximum of the anchor learning loss, log m.
    """
    figure, axes = plt.subplots(2, 2, figsize=(6.4, 4.4))
    columns = {
        "structure_preservation": ("structure preservation", "$L_{SP}$ per view"),
        "anchor_learning": ("anchor learning", "$L_{AL}$ per view"),
        "consistency": ("consistency", "$L_{CM}$ per view"),
    }
    first, structure, anchor, consistency = axes.flat
    structure.set_yscale("log")
    for seed, (log, line, marker) in enumerate(zip(logs, ("-", "--", ":"), "os^")):
        epochs, losses = zip(*((record.epoch, record.loss) for record in log))
        first.plot(epochs, losses, line, label=f"seed {seed}")
        for axis, column in zip(axes.flat[1:], columns):
            axis.plot(history.loc[seed, column], line, marker=marker)
    anchor.axhline(largest, color="black", linewidth=0.8)
    anchor.annotate("log m", (9, largest - 0.06), ha="center")
    first.set(title="pre-training", ylabel="reconstruction", xlabel="epoch", ylim=(0, None))
    for axis, (title, label) in zip(axes.flat[1:], columns.values()):
        axis.set(title=title, ylabel=label, xlabel="epoch")
        axis.set_xticks([1, 4, 7, 10])
    anchor.set_ylim(4.5, 5.0)
    consistency.set_ylim(-0.1, 0.1)
    first.legend()
    return figure
