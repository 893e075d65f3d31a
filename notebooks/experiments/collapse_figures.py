"""The figures of chapter 9: embeddings that shrink, and measures of it over the epochs.

They are drawn from the runs of :mod:`experiments.collapse`, of three seeds each.
"""

import io

import matplotlib.pyplot as plt
import numpy as np
import torch

from dmac.diagnostics import singular_values
from experiments.geometry import frame_slider

_LOOKS = (("o", "-"), ("s", "--"), ("^", ":"))  # marker and line of each of three curves
_FRAMES = (0, 1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50)


def leading_planes(embeddings):
    """Embeddings in their two leading principal directions, each turned to match the one before.

    Parameters
    ----------
    embeddings : sequence of tensor of shape (n, d)

    Returns
    -------
    list of tensor of shape (n, 2)
    """
    planes = []
    for z in embeddings:
        z = z - z.mean(0)
        plane = z @ torch.linalg.svd(z, full_matrices=False).Vh[:2].T
        if planes:
            left, _, right = torch.linalg.svd(plane.T @ planes[-1])
            plane = plane @ (left @ right)
        planes.append(plane)
    return planes


def radius(plane):
    """Root mean square distance of centred points from their mean: (n, 2) -> float."""
    return plane.square().sum(1).mean().sqrt().item()


def _draw_digits(axis, plane, truth, size):
    for digit in range(10):
        axis.plot(
            *plane[truth == digit].numpy().T,
            linestyle="",
            marker=f"${digit}$",
            markersize=4.5,
            markeredgewidth=0.3,
            color=f"C{digit % 7}",
            rasterized=True,
        )
    axis.set(xlim=(-size, size), ylim=(-size, size), xticks=[], yticks=[], aspect="equal")
    axis.spines[:].set_visible(True)


def _draw_frame(axes, planes, epoch, truth):
    """One epoch twice: at the scale of the first one, and enlarged to a radius of 1."""
    _draw_digits(axes[0], planes[epoch], truth, 1.05 * planes[0].abs().max().item())
    _draw_digits(axes[1], planes[epoch] / radius(planes[epoch]), truth, 2.8)


def plot_film(planes, truth, epochs=(0, 1, 5, 50)):
    """Some epochs beside each other, each at true scale and below it enlarged.

    Parameters
    ----------
    planes : list of tensor of shape (n, 2)
        After 0, 1, 2, ... epochs.
    truth : array of shape (n,)
        Digits.
    epochs : tuple of int
    """
    figure, axes = plt.subplots(2, len(epochs), figsize=(6.4, 3.5))
    for epoch, column in zip(epochs, axes.T):
        _draw_frame(column, planes, epoch, truth)
        column[0].set_title(f"epoch {epoch}")
    axes[0, 0].set_ylabel("true scale")
    axes[1, 0].set_ylabel("rescaled")
    return figure


def film_slider(planes, truth, epochs=_FRAMES):
    """The same with a slider over the epochs, as HTML."""
    from PIL import Image

    frames = {}
    for epoch in epochs:
        figure, axes = plt.subplots(1, 2, figsize=(6.4, 3.3))
        _draw_frame(axes, planes, epoch, truth)
        for axis, title in zip(axes, ("true scale", "rescaled")):
            axis.set_title(title)
        file = io.BytesIO()
        figure.savefig(file, dpi=200)
        plt.close(figure)
        small = Image.open(file).convert("RGB").quantize(32)  # colours
        small.save(file := io.BytesIO(), "PNG")
        frames[f"epoch {epoch}"] = file.getvalue()
    return frame_slider(frames, "Embedded numerals, true scale and rescaled.")


def plot_losses_alone(tables, least):
    """Spread and anchor learning loss over the epochs, three seeds of each variant.

    Parameters
    ----------
    tables : dict of str to pandas.DataFrame
        Of :meth:`~experiments.collapse.Numerals.runs`, by the label of the legend.
    least : float
        The least loss on the sphere over log m.
    """
    figure, axes = plt.subplots(1, 2, figsize=(6.4, 3.0))
    for i, ((name, table), (marker, line)) in enumerate(zip(tables.items(), _LOOKS)):
        look = dict(marker=marker, markevery=3, linestyle=line, color=f"C{i}", linewidth=1.2)
        axes[0].semilogy(table.spread.unstack("seed"), **look)
        axes[1].plot(table.entropy.unstack("seed"), **look, label=[name, None, None])
    axes[1].axhline(least, color="black", linewidth=0.8)
    axes[1].annotate("least on the sphere", (10, least + 0.003), ha="right")
    axes[0].set(xlabel="epoch", ylabel="spread, 1 − mean cosine")
    for axis in axes:
        axis.set_xticks([1, 4, 7, 10])
    axes[1].set(xlabel="epoch", ylabel="$L_{AL}$ / log m", ylim=(0.915, 1.004))
    axes[1].legend(loc="lower left", bbox_to_anchor=(0, 0.2))
    return figure


_PANELS = {  # column: title and limits, None for a logarithmic axis
    "spread": ("spread", None),
    "effective_rank": ("effective rank", (0, 30)),
    "empty": ("share of empty anchors", (0, 1)),
    "entropy": ("$L_{AL}$ / log m", (0.92, 1.01)),
    "structure_preservation": ("$L_{SP}$ per view", None),
    "f": ("entropy of F / log c", (0.92, 1.01)),
}


def plot_collapse(numerals, pie, least):
    """Six measures of a collapse over the epochs.

    Parameters
    ----------
    numerals : pandas.DataFrame
        Of :meth:`~experiments.collapse.Numerals.runs`.
    pie : pandas.DataFrame
        Means over the seeds by epoch; a measure that it lacks is left out.
    least : (float, float)
        The least loss on the sphere over log m, for the anchors of either.
    """
    figure, axes = plt.subplots(2, 3, figsize=(6.4, 4.2))
    for (key, (title, limits)), axis in zip(_PANELS.items(), axes.flat):
        axis.plot(numerals[key].unstack("seed"), "-", color="C0", linewidth=1.2)
        if key in pie:
            axis.plot(pie[key], "--", color="C1")
        scale = "linear" if limits else "log"
        axis.set(title=title, xscale="log", xlim=(1, 50), yscale=scale, ylim=limits)
        axis.set_xticks([1, 5, 10, 50], ["1", "5", "10", "50"])
        axis.minorticks_off()
    for height, color, line in zip(least, ("C0", "C1"), ("-", "--")):
        axes[1, 0].axhline(height, color=color, linewidth=0.8, linestyle=line)
    axes[1, 0].annotate("least on the sphere", (1.2, 0.946), fontsize=8)
    axes[0, 0].plot([], [], "-", color="C0", label="numerals")
    axes[0, 0].plot([], [], "--", color="C1", label="PIE")
    axes[0, 0].legend(loc="upper right")
    for axis in axes[1]:
        axis.set_xlabel("epoch")
    return figure


def plot_variants(tables, epochs=8):
    """The spread of nine variants, one panel each, over that of the first as a broad line.

    Parameters
    ----------
    tables : dict of str to pandas.DataFrame
        Of :meth:`~experiments.collapse.Numerals.runs`, by the panel's title.
    epochs : int
    """
    figure, axes = plt.subplots(3, 3, figsize=(6.4, 5.6), sharex=True, sharey=True)
    first = next(iter(tables.values()))
    typical = np.exp(np.log(first.spread).groupby("epoch").mean()).loc[:epochs]
    for (name, table), axis in zip(tables.items(), axes.flat):
        axis.semilogy(typical, color="0.7", linewidth=5)
        for (_, line), (_, column) in zip(_LOOKS, table.spread.unstack("seed").items()):
            axis.plot(column.loc[:epochs], line, color="C1", linewidth=1.4)
        after = table.xs(epochs, level="epoch").mean(numeric_only=True)
        text = (
            f"$L_{{AL}}$: {after.entropy:.3f} log m\n"
            f"rank {after.effective_rank:.1f}, {after.empty_anchors:.0f} empty"
        )
        axis.annotate(text, (1.3, 1.8e-7), fontsize=8)
        axis.set(title=name, ylim=(1e-7, 0.3), xlim=(1, epochs))
        axis.set_xticks([1, 3, 5, 7])
        axis.set_yticks([1e-6, 1e-4, 1e-2])
    for axis in axes[:, 0]:
        axis.set_ylabel("spread")
    for axis in axes[2]:
        axis.set_xlabel("epoch")
    return figure


def plot_residual(embeddings, numerals, pie, epochs=(1, 4, 10)):
    """Singular values of the centred embedding at some epochs, and the accuracy over all.

    Parameters
    ----------
    embeddings : pandas.Series of tensor
        By ``seed`` and ``epoch``.
    numerals : pandas.Series
        Accuracy in %, by ``seed`` and ``epoch``.
    pie : pandas.DataFrame
        Accuracy in %, one row per epoch and one column per seed.
    epochs : tuple of int
    """
    figure, axes = plt.subplots(1, 2, figsize=(6.4, 2.9))
    for epoch, (marker, line) in zip(epochs, _LOOKS):
        curves = [singular_values(z) for z in embeddings.xs(epoch, level="epoch")]
        mean = torch.stack([c / c[0] for c in curves]).mean(0)[:50]
        label = f"epoch {epoch}"
        axes[0].semilogy(range(1, 51), mean, marker + line, markevery=7, label=label)
    axes[0].set(xlabel="singular value of the centred Z", ylabel="relative to the largest")
    axes[0].set_ylim(1e-3, 1.2)
    axes[0].legend(loc="lower left")
    style = dict(color="C0", linewidth=1.2, label=["numerals", None, None])
    axes[1].plot(numerals.unstack("seed"), **style)
    mean, sd = pie.mean(axis=1), pie.std(axis=1)
    axes[1].plot(mean, "--", color="C1", label="PIE")
    axes[1].fill_between(pie.index, mean - sd, mean + sd, color="C1", alpha=0.2)
    axes[1].set(xlabel="epoch", ylabel="ACC of k-means in %", ylim=(0, 85))
    axes[1].set(xscale="log", xlim=(1, 50))
    axes[1].set_xticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    axes[1].minorticks_off()
    axes[1].legend()
    return figure
