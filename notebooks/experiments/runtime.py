"""The run-time page: the paper's Figure 2 beside our seconds, their growth, and whole fits.

All of it reads stored numbers; :mod:`experiments.bench` and
:mod:`experiments.bench_simplex` measure them, and whole fits are those of the store of runs.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from experiments import paper
from experiments.figures import MARKERS, STYLES


def run_times(runs, timings=(), variant="RELEASED"):
    """The paper's seconds of a whole run on a GPU, and ours of RELEASED on a processor.

    Parameters
    ----------
    runs : pandas.DataFrame
        Whole runs with their 1000 epochs of pre-training, one thread each: their median.
    timings : list of dict
        Of :func:`experiments.bench.measure`: 100 epochs of the main training, the paper's
        upper limit.
    variant : str

    Returns
    -------
    pandas.DataFrame
        One row per system, one column per data set of the paper; NaN where there is none.
    """
    names = list(paper.RUN_TIMES_OF)
    table = pd.DataFrame(paper.RUN_TIMES, index=names).T
    epoch = {t["name"]: t["median"] for t in timings if t["system"] == "released"}
    table.loc["100 epochs here"] = [100 * epoch.get(name, np.nan) for name in names]
    mine = runs[runs.variant == variant].groupby("dataset", observed=True).seconds.median()
    own = [mine.get(name, np.nan) if name in paper.SAME else np.nan for name in names]
    table.loc["with pre-training here"] = own
    return table


def plot_run_times(table):
    """Figure 2: seconds of a whole run on a logarithmic axis, the paper's and ours."""
    figure, axis = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
    for number, (name, row) in enumerate(table.iterrows()):
        style = dict(marker=MARKERS[number], linestyle=STYLES[number % len(STYLES)])
        if name.endswith("here"):
            style["color"] = "black"
        axis.plot(range(len(row)), row, label=name, **style)
    axis.set_yscale("log", base=2)
    axis.set_xticks(range(len(table.columns)), table.columns)
    axis.set_ylabel("seconds")
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def plot_seconds(timings):
    """Seconds of an epoch by system and shape, as :mod:`experiments.bench` measured them."""
    from experiments.bench import SYSTEMS

    frame = pd.DataFrame([r for r in timings if r["name"] != "growth" and "median" in r])
    names = list(dict.fromkeys(frame.name))
    figure, axis = plt.subplots(figsize=(6.4, 0.8 + 0.3 * len(names)), layout="constrained")
    for system, marker in zip(SYSTEMS[:4], "so^D"):
        part = frame[frame.system == system]
        axis.plot(part["median"], [names.index(n) for n in part.name], marker, label=system)
    axis.set_xscale("log")
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.set_xlabel("seconds per epoch")
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def plot_growth(timings):
    """Seconds of an epoch over the number of samples, with fitted powers, and their table."""
    from experiments.bench import growth_exponent

    points = pd.DataFrame([r for r in timings if r["name"] == "growth"])
    figure, axis = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
    fits = {}
    for fixed, label, marker in ((True, "m = 512", "o"), (False, "m = √(n c)", "s")):
        part = points[(points.m == 512) == fixed].sort_values("n")
        axis.loglog(part.n, part["median"], marker, label=label)
        large = part[part.n >= 10_000]
        slope, half = growth_exponent(large.n, large["median"])
        fits[label] = {"exponent": slope, "±": half}
        middle = np.exp(np.log(large[["n", "median"]]).mean())
        ends = np.array([large.n.min(), large.n.max()])
        fit = middle["median"] * (ends / middle["n"]) ** slope
        axis.loglog(ends, fit, color="grey", linewidth=1)
    axis.set(xlabel="samples n", ylabel="seconds per epoch")
    axis.legend()
    return figure, pd.DataFrame(fits).T


def format_programmes(measured):
    """LMVSC's programmes at once and one by one, by :mod:`experiments.bench_simplex`.

    Parameters
    ----------
    measured : dict
        What :func:`experiments.bench_simplex.measure` returns.

    Returns
    -------
    pandas.DataFrame
        One row per view: its width ``d``; ``clock, s`` and ``processor, s`` of all n programmes at
        once; milliseconds of the processor that one sample takes at once and by either solver; and
        how many times faster the first is (``times SLSQP``, ``times active set``).
    """
    rows = {}
    for number, view in enumerate(measured["views"], 1):
        here = view["processor_seconds"] / measured["n"]
        each = {name: one["processor_seconds"] for name, one in view["one_by_one"].items()}
        rows[f"view {number}"] = {
            "d": view["d"],
            "clock, s": view["seconds"],
            "processor, s": view["processor_seconds"],
            "ms, at once": 1e3 * here,
            **{f"ms, {name}": 1e3 * seconds for name, seconds in each.items()},
            **{f"times {name}": seconds / here for name, seconds in each.items()},
        }
    return pd.DataFrame.from_dict(rows, orient="index").astype({"d": int})


def whole_fits(runs):
    """Seconds from arrays to labels, medians over the stored runs, and how many these are.

    Parameters
    ----------
    runs : pandas.DataFrame

    Returns
    -------
    seconds : pandas.DataFrame
        One row per variant that has a run, one column per data set; NaN where there is none.
    counts : pandas.DataFrame of int
    """
    done = runs.dropna(subset=["acc", "fit_seconds"])
    groups = done.groupby(["variant", "dataset"], observed=False).fit_seconds
    seconds, counts = groups.median().unstack(), groups.count().unstack()
    some = counts.sum(axis=1) > 0
    frames = (frame[some].rename(index=str, columns=str) for frame in (seconds, counts))
    return tuple(frame.rename_axis(None).rename_axis(None, axis=1) for frame in frames)


def format_whole_fits(runs):
    """The table of `whole_fits` as text; a single run is in brackets, and – where there is none."""
    seconds, counts = whole_fits(runs)

    def cell(value, count):
        if not count:
            return "–"
        text = f"{value:.2g}" if value < 10 else f"{value:.0f}"
        return f"({text})" if count == 1 else text

    values = [
        [cell(*pair) for pair in zip(*rows)]
        for rows in zip(seconds.to_numpy(dtype=float), counts.to_numpy())
    ]
    return pd.DataFrame(values, seconds.index, seconds.columns)
