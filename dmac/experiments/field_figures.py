"""The map of the ten systems: what each builds, and what it learns."""

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
