"""Anchors that learn, in the plane and on the sphere: the runs and figures of chapter 3."""

import math

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from matplotlib.patches import Ellipse

from dmac.anchors import PerturbationGenerator, anchor_learning_loss
from dmac.compute.distances import squared_distances
from dmac.compute.kmeans import kmeans_anchors
from dmac.diagnostics import mean_cosine
from dmac.recipes import RELEASED


def train_in_plane(steps=200, n_anchors=9):
    """Let the perturbation of anchors among 180 points of the plane learn.

    Parameters
    ----------
    steps, n_anchors : int

    Returns
    -------
    tuple
        The points (180, 2), the k-means anchors, and for each of ``steps + 1`` states, before its
        step, the anchors without noise, their deviation and the loss.
    """
    generator = torch.Generator().manual_seed(1)
    corners = torch.tensor([[0, 2.2], [-2, -1], [2, -1]]).repeat_interleave(60, 0)
    points = corners + 0.45 * torch.randn(180, 2, generator=generator)
    first = kmeans_anchors(points, n_anchors, generator)
    perturb = PerturbationGenerator(2, "softplus", generator=generator)
    optimiser = torch.optim.RMSprop(perturb.parameters(), lr=0.005)
    states, still = [], torch.zeros(n_anchors, 2)
    for _ in range(steps + 1):
        with torch.no_grad():
            u = perturb(first, still)  # without noise
            deviation = perturb(first, still + 1) - u
        noise = torch.randn(n_anchors, 2, generator=generator)
        loss = anchor_learning_loss(squared_distances(points, perturb(first, noise)))
        states.append((u, deviation, loss.item()))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return points, first, states


def plot_in_plane(points, first, states, steps=(0, 200)):
    """Points, k-means anchors, and their shift and deviation as arrows and ellipses.

    Parameters
    ----------
    points, first, states
        Of `train_in_plane`.
    steps : tuple of int
        A panel for each.
    """
    figure, axes = plt.subplots(1, len(steps), figsize=(6.4, 3.1), sharex=True, sharey=True)
    arrow = {"arrowstyle": "-|>", "color": "C1", "shrinkA": 0, "shrinkB": 0}
    for axis, step in zip(axes, steps):
        axis.plot(*points.T, "o", markersize=2, color="0.7", label="samples")
        axis.plot(*first.T, "s", color="C0", label="k-means anchors")
        for old, new, deviation in zip(first, *states[step][:2]):
            axis.annotate("", new.tolist(), old.tolist(), arrowprops=arrow)
            axis.add_patch(Ellipse(new, *(2 * deviation).tolist(), color="C1", alpha=0.25))
        title = f"after {step} steps" if step else "before learning"
        axis.set(title=title, aspect="equal", xlim=(-5, 5), ylim=(-7, 4))
    axes[0].plot([], [], "-", color="C1", label="μ, and one σ around it")
    entries = axes[0].get_legend_handles_labels()
    figure.legend(*entries, ncols=3, loc="outside lower center")
    return figure


def plot_mean_digits(views, labels, nearest, shape=(7, 9)):
    """Every anchor as the mean of the pixels of the numerals nearest to it, sorted by digit.

    Parameters
    ----------
    views : list of array
        Of the numerals; the fourth has the pixels.
    labels : array of shape (n,)
    nearest : tensor of shape (n,)
        Each sample's anchor; there are as many as tiles.
    shape : (int, int)
        Rows and columns of tiles.
    """
    pixels, digits = torch.tensor(views[3]).reshape(-1, 16, 15), torch.tensor(labels)
    m = math.prod(shape)
    usual = [digits[nearest == j].mode().values.item() for j in range(m)]
    tiles = [pixels[nearest == j].mean(0) for j in np.argsort(usual)]
    height, width = 16 * shape[0], 15 * shape[1]
    mosaic = torch.stack(tiles).reshape(*shape, 16, 15).transpose(1, 2).reshape(height, width)
    figure, axis = plt.subplots(figsize=(4.4, 3.6))
    axis.imshow(mosaic.numpy(), cmap="Greys", interpolation="none")
    axis.set_xticks(np.arange(15, width, 15) - 0.5, [])
    axis.set_yticks(np.arange(16, height, 16) - 0.5, [])
    axis.tick_params(length=0)
    return figure


def loss_with_near(p, m, r=5.0):
    """The anchor learning loss where p of m anchors are near, with r times the weight of the rest.

    Parameters
    ----------
    p, m : int or array
    r : float
        5 between unit vectors, with p anchors at the samples and the others opposite.

    Returns
    -------
    float or array
        In nats.
    """
    total = m + (r - 1) * p
    return np.log(total) - r * p * np.log(r) / total


def least_loss(m, r=5.0):
    """The least anchor learning loss of m anchors between unit vectors: :eq:`eq:sphere-minimum`.

    Parameters
    ----------
    m : int
    r : float
        The largest ratio of two weights.

    Returns
    -------
    (float, int)
        The loss in nats, and how many anchors are near there.
    """
    values = loss_with_near(np.arange(m + 1), m, r)
    return values.min(), int(values.argmin())


def descend(z, u, steps=200):
    """Let samples and anchors move freely on the sphere, down the anchor learning loss.

    Parameters
    ----------
    z : tensor of shape (n, d)
    u : tensor of shape (m, d)
    steps : int

    Returns
    -------
    tuple
        The loss over log m and the mean cosine of the samples before each step, an array of shape
        (steps, 2), and the last samples and anchors.
    """
    points = [z.clone().requires_grad_(), u.clone().requires_grad_()]
    optimiser, trace = torch.optim.Adam(points, lr=0.02), []
    for _ in range(steps):
        z, u = [F.normalize(x, dim=1) for x in points]
        loss = anchor_learning_loss(squared_distances(z, u))
        trace.append([loss.item() / math.log(len(u)), mean_cosine(z)])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return np.array(trace), z.detach(), u.detach()


def plot_descents(traces, bound):
    """Loss and mean cosine over the steps of several descents.

    Parameters
    ----------
    traces : dict of str to list of array
        Of `descend`, by the label of the legend.
    bound : float
        The least loss over log m.
    """
    figure, axes = plt.subplots(1, 2, figsize=(6.4, 2.8))
    for i, ((label, runs), style) in enumerate(zip(traces.items(), ("-", "--", ":"))):
        for axis, values in zip(axes, np.transpose(runs)):
            lines = axis.plot(values, style, color=f"C{i}")
        lines[0].set_label(label)
    axes[0].axhline(bound, color="black", linewidth=1)
    axes[0].annotate("bound", (200, 0.922), ha="right", va="top")
    axes[0].set(xlabel="step", title="loss / log m", ylim=(0.9, 1.005))
    axes[1].set(xlabel="step", title="mean cosine of the samples")
    axes[1].legend(loc="center right")
    return figure


def _below_log_m(z, u):
    """How far the loss is below its maximum, in thousandths of a nat."""
    loss = anchor_learning_loss(squared_distances(z, F.normalize(u, dim=1)))
    return 1000 * (math.log(len(u)) - loss.item())


def _dead_features(module, u_hat):
    """Features whose deviation is 0 for all anchors, so that no gradient brings it back."""
    return (module.sigma_activation(module.sigma(u_hat)) == 0).all(0).sum().item()


@torch.no_grad()
def measure_untrained(z, generator, u_hat, kind):
    """How far a perturbation moves anchors before anything is learned.

    Parameters
    ----------
    z, u_hat : tensor of shape (n, d) and (m, d)
    generator : torch.Generator
    kind : {"relu", "softplus"}
        The activation of the deviation.

    Returns
    -------
    dict of str to float
        Mean lengths, the number of features without a deviation, and how far the loss is below
        log m, in thousandths of a nat.
    """
    module = PerturbationGenerator(u_hat.shape[1], kind, generator=generator)
    noise = torch.randn(u_hat.shape, generator=generator)
    mu, u = module(u_hat, 0 * noise) - u_hat, module(u_hat, noise)
    gap = torch.cdist(u_hat, u_hat).fill_diagonal_(torch.inf).amin(1)
    return {
        "distance to the nearest other anchor": gap.mean().item(),
        "length of μ": mu.norm(dim=1).mean().item(),
        "length of σ ⊙ ε": (u - u_hat - mu).norm(dim=1).mean().item(),
        "features with σ = 0": _dead_features(module, u_hat),
        "loss below log m, k-means": _below_log_m(z, u_hat),
        "loss below log m, perturbed": _below_log_m(z, u),
    }


def learn_perturbation(z, generator, u_hat, kind, steps=2 * RELEASED.epochs):
    """Hold the samples fixed, and let the perturbation alone lower the loss.

    Parameters
    ----------
    z, u_hat : tensor of shape (n, d) and (m, d)
    generator : torch.Generator
    kind : {"relu", "softplus"}
        The activation of the deviation.
    steps : int

    Returns
    -------
    dict of str to float
        How far the last loss is below log m, in thousandths of a nat; the numbers of anchors
        opposite to the samples' mean, and of those that are nearest to a sample; and the number of
        features without a deviation.
    """
    module = PerturbationGenerator(u_hat.shape[1], kind, generator=generator)
    optimiser = torch.optim.RMSprop(module.parameters(), lr=RELEASED.lr)
    for _ in range(steps):
        noise = torch.randn(u_hat.shape, generator=generator)
        u = F.normalize(module(u_hat, noise), dim=1)
        optimiser.zero_grad()
        anchor_learning_loss(squared_distances(z, u)).backward()
        optimiser.step()
    u = u.detach()
    return {
        "loss below log m": _below_log_m(z, u),
        "anchors on the far side": (u @ z.mean(0) < 0).sum().item(),
        "anchors nearest to a sample": len(squared_distances(z, u).argmin(1).unique()),
        "features with σ = 0": _dead_features(module, u_hat),
    }


def plot_bandwidths(grid, smallest, ours, marked):
    """The anchor learning loss over log m, over the bandwidth.

    Parameters
    ----------
    grid : array
        Bandwidths.
    smallest : dict of int to list of float
        The least values on the sphere, by the number of anchors.
    ours : (int, list of float)
        Those of the numerals: the number of anchors, and the values.
    marked : float
        A bandwidth to mark, that of the sixth anchor.
    """
    figure, axis = plt.subplots(figsize=(5.2, 3))
    for (m, values), style in zip(smallest.items(), ("-", "--", ":")):
        axis.semilogx(grid, values, style, label=f"smallest, m = {m}")
    axis.semilogx(grid, ours[1], "ko-", markevery=6, label=f"numerals, m = {ours[0]}")
    axis.axvline(marked, color="grey", linewidth=1)
    axis.annotate("sixth anchor", (marked, 0.05), rotation=90, ha="right")
    axis.set(xlabel="bandwidth τ", ylabel="loss / log m", ylim=(0, 1.02))
    axis.legend(loc="lower right")
    return figure
