"""What :mod:`experiments.bench_fits` measured: whole fits as tables and as a scatter.

``stored`` is what its .json file holds.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dmac.data.datasets import title_of
from experiments.figures import MARKERS


def fits_frame(stored, threads):
    """The fits with a number of threads that came to an end.

    Parameters
    ----------
    stored : dict
        Of :func:`experiments.bench_fits.measure`.
    threads : int

    Returns
    -------
    pandas.DataFrame
        Columns ``variant``, ``dataset``, ``acc`` and ``nmi`` in percent, and ``fit_seconds``.
    """
    rows = [
        {
            "variant": one["system"],
            "dataset": title_of(one["dataset"]),
            "acc": 100 * one["acc"],
            "nmi": 100 * one["nmi"],
            "fit_seconds": one["seconds"],
        }
        for one in stored["fits"]
        if "error" not in one and one["threads"] == threads
    ]
    return pd.DataFrame(rows)


def recipes_table(stored, names, sizes):
    """Seconds of some systems on every data set, "one thread / two" in a cell.

    Parameters
    ----------
    stored : dict
    names : list of str
    sizes : dict of str to int
        Samples, by data set.

    Returns
    -------
    pandas.DataFrame of str
        One row per data set, from few samples to many, with their number ``n``.
    """
    cells = {}
    for threads in (1, 2):
        frame = fits_frame(stored, threads)
        for row in frame[frame.variant.isin(names)].itertuples():
            cells.setdefault((row.dataset, row.variant), {})[threads] = row.fit_seconds
    table = {
        title_of(dataset): {"n": n}
        | {
            name: " / ".join(
                _seconds(cells.get((title_of(dataset), name), {}).get(threads))
                for threads in (1, 2)
            )
            for name in names
        }
        for dataset, n in sorted(sizes.items(), key=lambda item: item[1])
    }
    return pd.DataFrame.from_dict(table, orient="index")


def _seconds(value):
    if value is None:
        return "–"
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def systems_table(stored, sizes, threads=1):
    """Seconds of every system on every data set.

    Parameters
    ----------
    stored : dict
    sizes : dict of str to int
        Samples, by data set.
    threads : int

    Returns
    -------
    pandas.DataFrame of str
        One row per system. A fit that was stopped is "> 60", an error "×", and – was not run.
    """
    datasets = [name for name, _ in sorted(sizes.items(), key=lambda item: item[1])]
    rows = {}
    for one in stored["fits"]:
        if one["threads"] != threads:
            continue
        error = one.get("error")
        limit = "> " + error.split()[2] if error and error.startswith("more than") else "×"
        text = limit if error else _seconds(one["seconds"])
        rows.setdefault(one["system"], {})[title_of(one["dataset"])] = text
    table = pd.DataFrame.from_dict(rows, orient="index")
    return table.reindex(columns=[title_of(name) for name in datasets]).fillna("–")


def errors_of(stored):
    """The errors of the fits that failed by themselves: by system, the data sets and the text."""
    found = {}
    for one in stored["fits"]:
        error = one.get("error", "")
        if error and not error.startswith("more than"):
            found.setdefault((one["system"], error), []).append(title_of(one["dataset"]))
    return found


def relative_to(stored, reference, threads=1):
    """Every system beside one, on the data sets that it finished.

    Parameters
    ----------
    stored : dict
    reference : str
        A system that finished all data sets.
    threads : int

    Returns
    -------
    pandas.DataFrame
        By system: ``sets``, how many data sets it finished; ``seconds``, the geometric mean of its
        seconds over those of the reference; ``acc``, the mean of its accuracy less that of the
        reference, in points.
    """
    frame = fits_frame(stored, threads)
    seconds = frame.pivot(index="variant", columns="dataset", values="fit_seconds")
    acc = frame.pivot(index="variant", columns="dataset", values="acc")
    order = list(dict.fromkeys(frame.variant))
    ratio = np.log(seconds / seconds.loc[reference])
    table = pd.DataFrame(
        {
            "sets": seconds.notna().sum(axis=1),
            "seconds": np.exp(ratio.mean(axis=1)),
            "acc": (acc - acc.loc[reference]).mean(axis=1),
        }
    )
    return table.loc[order]


def plot_relative(table, kinds, n_sets):
    """Accuracy over seconds, both beside the reference, which is at (1, 0).

    Parameters
    ----------
    table : pandas.DataFrame
        Of `relative_to`.
    kinds : dict of str to list of str
        What kinds of systems there are.
    n_sets : int
        How many data sets there are; a system that finished fewer is drawn hollow.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure, axis = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    axis.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    axis.axvline(1, color="0.8", linewidth=0.8, zorder=0)
    for number, (kind, names) in enumerate(kinds.items()):
        part = table.reindex(names).dropna(subset=["acc"])
        whole = part.sets == n_sets
        style = dict(marker=MARKERS[number], linestyle="", color=f"C{number}")
        axis.plot(part.seconds[whole], part.acc[whole], label=kind, **style)
        axis.plot(part.seconds[~whole], part.acc[~whole], fillstyle="none", **style)
    named = sorted(table.itertuples(), key=lambda row: row.acc)
    free = -np.inf
    step = (table.acc.max() - table.acc.min()) / 24
    for row in named:
        at = max(free, row.acc)
        free = at + step
        text = row.Index if row.sets == n_sets else f"{row.Index} ({row.sets})"
        axis.annotate(
            text,
            (row.seconds, row.acc),
            (1.02, at),
            textcoords=axis.get_yaxis_transform(),
            va="center",
            fontsize=7,
            arrowprops=dict(
                arrowstyle="-", color="0.75", linewidth=0.5, shrinkA=1, shrinkB=3, relpos=(0, 0.5)
            ),
        )
    axis.set(xscale="log", xlabel="seconds, as a multiple", ylabel="accuracy, difference in points")
    figure.legend(loc="outside lower center", ncols=4)
    return figure
