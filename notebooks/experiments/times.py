"""What it costs: the paper's Figure 2 beside our seconds, epochs, whole fits, their growth.

All of it reads stored numbers: runs, and what :func:`experiments.bench.measuring.measured` gives.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dmac.data.datasets import title_of
from experiments.bench.epochs import SYSTEMS
from experiments.compare import growth_exponent
from experiments.figures import MARKERS
from experiments.run import BASELINES
from experiments.studies import CLOSED, DEFAULT


def epochs_by_system(runs, column):
    """A number of every system's epochs, a row for each shape; NaN where the memory ran out."""
    timed = [r for r in runs if r["name"] != "growth" and r["system"] in SYSTEMS[:4]]
    frame = pd.DataFrame([r for r in timed if "error" not in r])
    frame["name"] = frame["name"].map(title_of)
    grid = frame.pivot(index="name", columns="system", values=column)
    order = [name for name in SYSTEMS if name in grid]
    grid = grid.loc[list(dict.fromkeys(frame["name"])), order]
    return grid.rename_axis(None).rename_axis(None, axis=1)


def epochs_table(runs):
    """Seconds of an epoch by system, with sizes and the ratio of the dense reading to RELEASED."""
    seconds = epochs_by_system(runs, "median")
    own = {title_of(r["name"]): r for r in runs if r["system"] == "released"}
    sizes = [[own[name]["n"], own[name]["m"]] for name in seconds.index]
    table = pd.DataFrame(sizes, seconds.index, ["n", "m"]).join(seconds)
    table["ratio"] = seconds.dense / seconds.released
    return table


def _draw_power(axis, n, seconds, **style):
    """Draw the power of n that fits the seconds, and return it."""
    slope, half = growth_exponent(n, seconds)
    ends = np.array([n.min(), n.max()])
    middle, height = np.exp(np.log(n).mean()), np.exp(np.log(seconds).mean())
    axis.loglog(ends, height * (ends / middle) ** slope, **style)
    return {"exponent": slope, "±": half}


def _draw_constants(axis, n, seconds, **style):
    """Draw what fits the seconds, a constant and a number a sample, and return the latter."""
    slope, offset = np.polyfit(n, seconds, 1)
    along = np.geomspace(n.min(), n.max(), 50)
    axis.loglog(along, offset + slope * along, **style)
    return {"s for a million more": 1e6 * slope}


def fits_frame(stored, threads):
    """The fits with a number of threads that came to an end; ``acc`` in percent."""
    shown = {method: name for name, (method, _) in BASELINES.items()}
    rows = [
        {
            "variant": shown.get(one["system"], one["system"]),
            "dataset": title_of(one["dataset"]),
            "acc": 100 * one["acc"],
            "fit_seconds": one["seconds"],
        }
        for one in stored["fits"]
        if "error" not in one and one["threads"] == threads
    ]
    return pd.DataFrame(rows)


def relative_to(stored, reference):
    """Every system beside one, on the data sets that it finished with one thread.

    ``sets`` says how many these are, ``seconds`` is the geometric mean of the ratios, ``acc`` the
    mean difference in points.
    """
    frame = fits_frame(stored, 1)
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


def growth_frame(stored, recipe=None, fixed=None):
    """The fits of "growth", or those of a recipe, by the number of samples."""
    frame = pd.DataFrame(stored["fits"]).sort_values("n", kind="stable")
    return frame if recipe is None else frame[(frame.recipe == recipe) & (frame.fixed == fixed)]


def plot_fit_growth(stored):
    """Seconds of whole fits over the number of samples, with fitted lines, and their table.

    Beyond the part that is fitted a line is straight, so not in logarithms, and else a power of n.
    """
    figure, axis = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
    rows = {}
    groups = growth_frame(stored).groupby(["recipe", "fixed"], sort=False)
    for number, ((name, fixed), part) in enumerate(groups):
        label = f"{name}, " + ("m = 512" if fixed else "its own m")
        line = axis.loglog(part.n, part.seconds, MARKERS[number], label=label)[0]
        draw, least = (_draw_constants, 20_000) if name == CLOSED else (_draw_power, 1000)
        large = part[part.n >= least]
        style = dict(color=line.get_color(), linewidth=0.8)
        last = part.iloc[-1]
        rows[label] = draw(axis, large.n, large.seconds, **style)
        rows[label] |= {"n": last.n, "seconds": last.seconds, "GB": last.peak_gb}
    axis.set(xlabel="samples n", ylabel="seconds of a fit")
    axis.legend()
    return figure, pd.DataFrame.from_dict(rows, orient="index").astype({"n": int})


def baselines_table(stored):
    """Seconds of whole fits, (numbers of samples, systems); of those that were stopped nan."""
    frame = pd.DataFrame(stored["fits"])
    table = frame.pivot(index="n", columns="system", values="seconds")
    return table[sorted(frame.system.unique(), key=CLOSED.__ne__)]  # ours first


def levels_table(stored):
    """Three levels beside two: seconds of the processor, medians; ratios in a turn; peak GB."""
    frame = pd.DataFrame(stored["fits"])
    by = frame.pivot(index=["n", "turn"], columns="recipe")
    of = by.groupby("n").median()[["processor_seconds", "peak_gb"]]
    ratio = by.processor_seconds[DEFAULT] / by.processor_seconds[CLOSED]
    columns = {
        **{f"{name}, s": of["processor_seconds", name] for name in (CLOSED, DEFAULT)},
        "ratio": ratio.groupby("n").median(),
        **{f"{name}, GB": of["peak_gb", name] for name in (CLOSED, DEFAULT)},
    }
    return pd.DataFrame(columns)


def plot_baselines(stored):
    """Seconds of whole fits of generated views over the number of samples, by system."""
    figure, axis = plt.subplots(figsize=(4.8, 3.4), layout="constrained")
    for marker, (name, seconds) in zip(MARKERS, baselines_table(stored).items()):
        axis.loglog(seconds.index, seconds, f"{marker}-", label=name, linewidth=1)
    axis.set(xlabel="samples n", ylabel="seconds of a fit")
    axis.legend(fontsize=9)
    return figure


def constants(stored, recipe=CLOSED, above=20_000):
    """What one more sample costs on a fixed number of anchors, and what there is without any.

    Seconds of a fit or an epoch, and GB: two pairs, by least squares above some samples.
    """
    frame = growth_frame(stored, recipe, True)
    frame = frame[frame.n > above]
    seconds, memory = (np.polyfit(frame.n, frame[x], 1) for x in ("seconds", "peak_gb"))
    return tuple(map(float, seconds)), tuple(map(float, memory))


def placed_table(stored):
    """Measured fits of views on disk, beside what `constants` says."""
    (slope, offset), _ = constants(stored)
    rows = [
        {
            "n": one["n"],
            "s, measured": one["seconds"],
            "s, computed": offset + slope * one["n"],
            "GB": one["peak_gb"],
        }
        for one in stored["on_disk"]
    ]
    return pd.DataFrame(rows).set_index("n").rename_axis(None)


def samples_table(stored):
    """ACC in % of a fit of all samples, means over seeds, and what fewer fitted ones lose."""
    frame = pd.DataFrame(stored["fits"])
    share = (frame.fitted / frame.n).map("{:.2f} n".format).where(frame.fitted.notna(), "all")
    grid = 100 * frame.assign(share=share).pivot_table("acc", "name", "share", sort=False)
    for name in grid.columns.difference(["all"]):
        grid[name] -= grid["all"]
    return grid.sort_index(axis=1, ascending=False).rename_axis(None).rename_axis(None, axis=1)


def parts_table(stored):
    """Seconds of the parts of an epoch, its floor, and how many times that it takes."""
    rows = {
        shape_of(one): one["parts"]
        | {
            "seconds": one["seconds"],
            "floor": one["floor"],
            "times": one["seconds"] / one["floor"],
        }
        for one in stored["epochs"]
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def called(on):
    """A shape's name in a table: that of its data set, or its number of samples."""
    return f"n = {on:,}" if isinstance(on, int) else title_of(on)


def shape_of(one):
    return called(one["n"] if one["name"] == "growth" else one["name"])
