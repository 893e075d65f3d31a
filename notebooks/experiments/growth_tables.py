"""How fits grow, what many machines need, and where an epoch's time goes: figures and tables.

``stored`` is what the .json files of :mod:`~experiments.bench_growth` and
:mod:`~experiments.epoch_parts` hold.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dmac.data.datasets import title_of
from experiments.bench import growth_exponent
from experiments.figures import MARKERS


def growth_frame(stored):
    """The fits of :func:`experiments.bench_growth.measure` as a frame."""
    return pd.DataFrame(stored["fits"])


def plot_fit_growth(stored):
    """Seconds of whole fits over the number of samples, with fitted powers.

    Parameters
    ----------
    stored : dict
        Of :func:`experiments.bench_growth.measure`.

    Returns
    -------
    figure : matplotlib.figure.Figure
    exponents : pandas.DataFrame
        By recipe and anchors: ``exponent``, ``±``, half of its 95 % interval, and the ``seconds``
        and ``GB`` of the fit with most samples, ``n``.
    """
    frame = growth_frame(stored)
    figure, axis = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
    rows = {}
    for number, ((name, fixed), part) in enumerate(frame.groupby(["recipe", "fixed"], sort=False)):
        label = f"{name}, " + ("m = 512" if fixed else "its own m")
        part = part.sort_values("n")
        line = axis.loglog(part.n, part.seconds, MARKERS[number], label=label)[0]
        large = part[part.n >= 10_000] if (part.n >= 10_000).sum() > 2 else part[part.n >= 1000]
        slope, half = growth_exponent(large.n, large.seconds)
        middle = np.exp(np.log(large[["n", "seconds"]]).mean())
        ends = np.array([large.n.min(), large.n.max()])
        fit = middle.seconds * (ends / middle.n) ** slope
        axis.loglog(ends, fit, color=line.get_color(), linewidth=0.8)
        last = part.iloc[-1]
        rows[label] = {"exponent": slope, "±": half, "n": last.n, "seconds": last.seconds}
        rows[label]["GB"] = last.peak_gb
    axis.set(xlabel="samples n", ylabel="seconds of a fit")
    axis.legend()
    return figure, pd.DataFrame.from_dict(rows, orient="index").astype({"n": int})


def constants(stored, recipe="CLOSED_FORM"):
    """What one more sample costs a fit on a fixed number of anchors.

    Parameters
    ----------
    stored : dict
        Of :func:`experiments.bench_growth.measure`.
    recipe : str

    Returns
    -------
    seconds : float
        A sample, of the fit with most samples, on one machine's two cores.
    gigabytes : tuple of float
        A sample's, and those of a process without any, by least squares from 10,000 samples on.
    """
    frame = growth_frame(stored)
    frame = frame[(frame.recipe == recipe) & frame.fixed & (frame.n >= 10_000)].sort_values("n")
    slope, offset = np.polyfit(frame.n, frame.peak_gb, 1)
    return float(frame.seconds.iloc[-1] / frame.n.iloc[-1]), (float(slope), float(offset))


def machines_table(stored, n_samples, machines):
    """Hours and memory of a fit on several machines of two cores, one process each.

    Parameters
    ----------
    stored : dict
    n_samples : int
    machines : sequence of int

    Returns
    -------
    pandas.DataFrame
        By the number of machines: ``hours``, and ``GB`` on each.
    """
    seconds, (slope, offset) = constants(stored)
    rows = {
        number: {
            "hours": seconds * n_samples / number / 3600,
            "GB": offset + slope * n_samples / number,
        }
        for number in machines
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def sharded_table(stored):
    """The measured fits of several processes, beside what the constants say of them.

    Parameters
    ----------
    stored : dict

    Returns
    -------
    pandas.DataFrame
        By the number of samples: ``seconds`` and ``GB`` of the largest process, measured and
        computed. The processes share one machine's cores, so their number does not divide the time.
    """
    seconds, (slope, offset) = constants(stored)
    rows = {
        one["n"]: {
            "processes": one["processes"],
            "s, measured": one["seconds"],
            "s, computed": seconds * one["n"],
            "GB, measured": max(one["peak_gb"]),
            "GB, computed": offset + slope * one["n"] / one["processes"],
        }
        for one in stored["sharded"]
    }
    return pd.DataFrame.from_dict(rows, orient="index").astype({"processes": int})


def parts_table(stored):
    """Seconds of the parts of an epoch.

    Parameters
    ----------
    stored : dict
        Of :func:`experiments.epoch_parts.measure`.

    Returns
    -------
    pandas.DataFrame
        One row per data set or shape: the parts, ``seconds`` of the epoch, the ``floor``, and how
        many ``times`` the floor it takes.
    """
    rows = {
        _shape(one): one["parts"]
        | {
            "seconds": one["seconds"],
            "floor": one["floor"],
            "times": one["seconds"] / one["floor"],
        }
        for one in stored["epochs"]
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def _shape(one):
    return f"n = {one['n']:,}" if one["name"] == "growth" else title_of(one["name"])


def plot_parts(stored):
    """The parts of an epoch as bars, in units of the floor, from the most samples up.

    Parameters
    ----------
    stored : dict

    Returns
    -------
    matplotlib.figure.Figure
    """
    table = parts_table(stored)
    parts = table.drop(columns=["seconds", "floor", "times"]).div(table.floor, axis=0)
    figure, axis = plt.subplots(figsize=(6.4, 0.9 + 0.36 * len(table)), layout="constrained")
    left = np.zeros(len(table))
    for number, (name, values) in enumerate(parts.items()):
        axis.barh(range(len(table)), values, left=left, label=name, color=f"C{number}")
        left += values.to_numpy()
    axis.axvline(1, color="black", linewidth=1)
    axis.set_yticks(range(len(table)), table.index)
    axis.set_ylim(len(table) - 0.5, -0.5)
    axis.set_xlabel("times the floor (the black line)")
    figure.legend(loc="outside lower center", ncols=6, fontsize=7)
    return figure
