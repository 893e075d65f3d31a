"""Figures of the other systems: what each builds and learns, and where pre-training flattens."""

import matplotlib.pyplot as plt

#: The ten systems of the paper's Table 2 by what they build and what they learn.
SYSTEMS = {
    ("sample graph", "weights of a graph"): ["GMC"],
    ("anchor graph", "weights of a graph"): ["LMVSC", "MSGL", "UDBGL"],
    ("sample graph", "a network"): ["CMGEC", "DFP-GNN", "SURER"],
    ("features and labels", "a network"): ["DealMVC", "GCFAggMVC"],
    ("anchor graph", "a network"): ["DMAC"],
}
#: The baselines of chapter 1, which learn nothing.
BASELINES = {
    ("features and labels", "nothing"): ["k-means, raw", "k-means, whitened"],
    ("anchor graph", "nothing"): ["closed form"],
}
BUILDS = ["sample graph", "anchor graph", "features and labels"]
LEARNS = ["nothing", "weights of a graph", "a network"]


def plot_map():
    """The ten systems and the baselines on a grid of what they build and what they learn.

    DMAC is bold, and the baselines are grey.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure, axis = plt.subplots(figsize=(5, 3.2))
    for places, color in ((SYSTEMS, "black"), (BASELINES, "#666666")):
        for (build, learn), names in places.items():
            weight = "bold" if names == ["DMAC"] else "normal"
            style = dict(ha="center", va="center", color=color, weight=weight)
            at = BUILDS.index(build), LEARNS.index(learn)
            axis.text(*at, "\n".join(names).replace(", ", ",\n"), **style)
    axis.set(xlim=(-0.5, 2.5), ylim=(-0.5, 2.5))
    axis.set(xlabel="what it builds", ylabel="what it learns")
    axis.set_xticks(range(3), [name.replace(" and ", "\nand ") for name in BUILDS])
    axis.set_yticks(range(3), [name.replace(" of ", "\nof ") for name in LEARNS])
    axis.set_xticks([0.5, 1.5], minor=True)
    axis.set_yticks([0.5, 1.5], minor=True)
    axis.grid(False)
    axis.grid(which="minor", linewidth=1)
    axis.tick_params(which="both", length=0)
    return figure


def plot_flattening(stopped, endless):
    """The loss of a pre-training that goes on, and where a rule would have ended it.

    Parameters
    ----------
    stopped, endless : dict of str to dict
        Curves of one seed, as :func:`experiments.measure.curves_of` returns them, of a run
        that the rule ended and of one that it did not; stages that both have are drawn.

    Returns
    -------
    matplotlib.figure.Figure
    """
    names = [name for name in endless if name in stopped and name.startswith("view")]
    figure, axis = plt.subplots(figsize=(5, 2.6))
    for name in names:
        _plot_shares(axis, endless[name], stopped[name], name)
    return _finish_shares(figure, axis)


def plot_last_stages(curves):
    """The loss of a last stage, with a dot where it ended.

    Parameters
    ----------
    curves : dict of str to dict
        By data set, as :func:`experiments.field_runs.read_last_stages` returns them.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure, axis = plt.subplots(figsize=(5, 2.6))
    for dataset, curve in curves.items():
        _plot_shares(axis, curve, curve, dataset)
    return _finish_shares(figure, axis)


def _plot_shares(axis, curve, ended, label):
    """A curve as shares of its first value, and a dot where the other one of the two ends."""
    first = curve["loss"][0]
    (line,) = axis.plot(curve["epoch"], [x / first for x in curve["loss"]], label=label)
    axis.plot(ended["epochs"], ended["loss"][-1] / first, "o", color=line.get_color())


def _finish_shares(figure, axis):
    axis.set(xscale="log", xlabel="epoch", ylabel="loss, share of the first")
    axis.set_ylim(bottom=0)
    if axis.lines:
        axis.legend(frameon=False)
    return figure
