"""What it costs: the paper's Figure 2 beside our seconds, epochs, whole fits, their growth.

All of it reads stored numbers: the runs of the store, and the .json files of
:mod:`experiments.bench`, which says what the names in them are.
"""

import json
import math
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dmac.data.datasets import title_of
from experiments import paper
from experiments.bench import ON_A_DEVICE, SYSTEMS
from experiments.compare import NOTHING, growth_exponent
from experiments.figures import MARKERS, STYLES


def run_times(runs, timings=(), variant="RELEASED"):
    """The paper's seconds of a whole run on a GPU, and ours of RELEASED on a processor.

    By system and data set of the paper; ``runs`` are whole ones with their 1000 epochs of
    pre-training, one thread each, and ``timings`` give 100 epochs, the paper's upper limit.
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
    axis.yaxis.set_major_formatter(lambda seconds, _: f"{seconds:g}")
    axis.set_xticks(range(len(table.columns)), table.columns)
    axis.set_ylabel("seconds")
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def epochs_by_system(runs, column):
    """A number of every system's epochs, a row for each shape; NaN where the memory ran out."""
    frame = pd.DataFrame([r for r in runs if r["name"] != "growth" and r["system"] in SYSTEMS[:4]])
    if "error" in frame:
        frame.loc[frame.error.notna(), column] = np.nan
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


def whole_fits(runs):
    """Seconds from arrays to labels, medians over the stored runs, and how many these are."""
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


def fits_frame(stored, threads):
    """The fits with a number of threads that came to an end; ``acc`` in percent."""
    rows = [
        {
            "variant": one["system"],
            "dataset": title_of(one["dataset"]),
            "acc": 100 * one["acc"],
            "fit_seconds": one["seconds"],
        }
        for one in stored["fits"]
        if "error" not in one and one["threads"] == threads
    ]
    return pd.DataFrame(rows)


def recipes_table(stored, names, sizes):
    """Seconds of some systems on every data set, "one thread / two" in a cell."""
    frames = [fits_frame(stored, threads) for threads in (1, 2)]
    seconds = [f.pivot(index="dataset", columns="variant", values="fit_seconds") for f in frames]
    table = pd.DataFrame({"n": sizes}).sort_values("n", kind="stable").rename(title_of)
    for name in names:
        pairs = zip(*(frame[name].reindex(table.index) for frame in seconds))
        table[name] = [" / ".join(map(_seconds, pair)) for pair in pairs]
    return table


def _seconds(value):
    if pd.isna(value):
        return NOTHING
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def systems_table(stored, sizes, threads=1):
    """Seconds of every system on every data set.

    A fit that was stopped is "> 40", an error "×", and – was not run.
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

    ``sets`` says how many these are, ``seconds`` is the geometric mean of the ratios, ``acc`` the
    mean difference in points.
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
    """`relative_to` by kinds of systems; one that finished fewer data sets is drawn hollow."""
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


def growth_frame(stored, recipe=None, fixed=None):
    """The fits of "growth", by the number of samples; of one thread, the seconds of the processor.

    These say what a fit takes where nothing else runs, also if something did.
    """
    frame = pd.DataFrame(stored["fits"]).sort_values("n", kind="stable")
    if "processor_seconds" in frame:
        busy = (frame.threads == 1) & frame.processor_seconds.notna()
        frame["seconds"] = frame.seconds.where(~busy, frame.processor_seconds)
    if recipe is not None:
        frame = frame[(frame.recipe == recipe) & (frame.fixed == fixed)]
    return frame


def plot_fit_growth(stored):
    """Seconds of whole fits over the number of samples, with fitted powers, and their table."""
    figure, axis = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
    rows = {}
    groups = growth_frame(stored).groupby(["recipe", "fixed"], sort=False)
    for number, ((name, fixed), part) in enumerate(groups):
        label = f"{name}, " + ("m = 512" if fixed else "its own m")
        line = axis.loglog(part.n, part.seconds, MARKERS[number], label=label)[0]
        large = part[part.n >= 10_000] if (part.n >= 10_000).sum() > 3 else part[part.n >= 1000]
        style = dict(color=line.get_color(), linewidth=0.8)
        last = part.iloc[-1]
        rows[label] = _draw_power(axis, large.n, large.seconds, **style)
        rows[label] |= {"n": last.n, "seconds": last.seconds, "GB": last.peak_gb}
    axis.set(xlabel="samples n", ylabel="seconds of a fit")
    axis.legend()
    return figure, pd.DataFrame.from_dict(rows, orient="index").astype({"n": int})


def constants(stored, recipe="CLOSED_FORM", above=20_000):
    """What one more sample costs on a fixed number of anchors, and what there is without any.

    Seconds of a fit or an epoch, and GB: two pairs, by least squares above some samples.
    """
    frame = growth_frame(stored, recipe, True)
    frame = frame[frame.n > above]
    seconds, memory = (np.polyfit(frame.n, frame[x], 1) for x in ("seconds", "peak_gb"))
    return tuple(map(float, seconds)), tuple(map(float, memory))


def costs_table(growing, runs, sizes, gb=16):
    """What numbers of samples cost with 512 anchors, from what one more sample costs.

    Of a whole fit of CLOSED_FORM the seconds, and its memory where the views are in it; of an
    epoch of RELEASED the same, and how many machines of so many GB hold that.
    """
    epochs = [r | {"seconds": r["median"]} for r in runs if r["name"] == "growth"]
    epochs = [r | {"recipe": "RELEASED", "fixed": r["m"] == 512} for r in epochs]
    columns = {}
    for recipe, fits, above in (
        ("CLOSED_FORM", growing["fits"], 20_000),
        ("RELEASED", epochs, 5_000),
    ):
        for name, (slope, offset) in zip(
            ("seconds", "GB"), constants({"fits": fits}, recipe, above)
        ):
            columns[recipe, name] = [max(offset, 0) + slope * n for n in sizes]
    columns["RELEASED", "machines"] = [math.ceil(x / gb) for x in columns["RELEASED", "GB"]]
    return pd.DataFrame(columns, sizes)


def placed_table(stored):
    """Measured fits of views on disk, by one process or several, beside what `constants` says.

    Every process places its own samples, and the first fits the part before.
    """
    (slope, offset), _ = constants(stored)
    rows = []
    for one in [*stored["on_disk"], *stored.get("sharded", ())]:
        processes = one.get("processes", 1)
        alone = one.get("threads", 1) == 1
        rows.append(
            {
                "n": one["n"],
                "processes": processes,
                "s, measured": one["processor_seconds"] if alone else one["seconds"],
                "s, computed": offset + slope * one["n"] / processes,
                "GB": np.max(one["peak_gb"]),
            }
        )
    return pd.DataFrame(rows).set_index("n").rename_axis(None)


def plot_profile(profile):
    """One bar of the stages of a fit, from {stage: seconds}."""
    figure, axis = plt.subplots(figsize=(6.4, 1.3), layout="constrained")
    left = 0.0
    colours = plt.get_cmap("Blues")(np.linspace(0.15, 0.5, len(profile)))  # text is black on them
    for (name, seconds), colour in zip(profile.items(), colours):
        bar = axis.barh([0], [seconds], left=left, color=colour, edgecolor="white")
        if seconds > 0.06 * sum(profile.values()):
            axis.bar_label(bar, [f"{name}\n{seconds:.0f} s"], label_type="center", fontsize=7)
        left += seconds
    axis.set(yticks=[], xlabel="seconds")
    return figure


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
        _shape(one): one["parts"]
        | {
            "seconds": one["seconds"],
            "floor": one["floor"],
            "times": one["seconds"] / one["floor"],
        }
        for one in stored["epochs"]
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def _called(on):
    """A shape's name in a table: that of its data set, or its number of samples."""
    return f"n = {on:,}" if isinstance(on, int) else title_of(on)


def _shape(one):
    return _called(one["n"] if one["name"] == "growth" else one["name"])


def plot_parts(stored):
    """The parts of an epoch as bars, in units of the floor, from the most samples up."""
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


def _digits(value):
    return NOTHING if pd.isna(value) else f"{value:.3g}"


def read_gpu(path):
    """The stored file of a full run on a GPU."""
    path = Path(path)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        card, profile = found["card"], found["profile"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a file of `make gpu`: {error!r}; remove it") from error
    if card is None or profile != "full":
        raise ValueError(
            f"{path} has the profile {profile!r} of {card or found.get('processor')!r}; the page "
            "shows a full run on a GPU: run `make gpu` there, or remove the file"
        )
    return found


def gpu_table(found, stored):
    """Seconds of an epoch on the GPU beside those of the processor, and the GPU's peak memory.

    One row per shape; where there is no number, – stands, or the reason if it is the memory.
    """
    systems, rows = {name: system for system, name in ON_A_DEVICE.items()}, {}
    for one in stored:
        if one["name"].endswith("views") or (one["name"] == "growth" and one["m"] != 512):
            continue
        column = f"{systems.get(one['system'])}, processor"
        rows.setdefault(_shape(one), {})[column] = _digits(one.get("median"))
    for one in found["epochs"]:
        row = rows.setdefault(_called(one["on"]), {})
        row[f"{one['system']}, GPU"] = "memory" if "error" in one else _digits(one["epoch_s"])
        row["GPU, GB"] = np.fmax(one.get("peak_gb", np.nan), row.get("GPU, GB", np.nan))
    table = pd.DataFrame.from_dict(rows, orient="index")
    return table.assign(**{"GPU, GB": table["GPU, GB"].map(_digits)}).fillna(NOTHING)


def gpu_scores(found, stored):
    """ACC in % of fits on the GPU beside that of stored runs, by system and data set.

    Of three seeds there; of the frame ``stored`` here, the mean and the standard deviation.
    """
    rows = {}
    for one in found["scores"]:
        if "error" in one:
            continue
        name = "HandWritten" if one["on"] == "mfeat" else one["on"]
        here = stored.query("dataset == @name and variant == @one['system']").acc
        rows[one["system"], name] = {
            "GPU": 100 * one["acc"],
            "processor": here.mean(),
            "sd": here.std(),
            "s, GPU": one["fit_s"],
        }
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis(["system", "data set"])
    return table.assign(difference=table.GPU - table.processor)
