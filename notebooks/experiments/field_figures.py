"""Figures of the other systems: where pre-training flattens, and where a last stage ends."""

import matplotlib.pyplot as plt


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
