"""What it costs: the paper's Figure 2 beside our seconds, epochs, whole fits, their growth.

All of it reads stored numbers: the runs of the store, and in its folder ``times`` the measurements
of :mod:`experiments.bench`, which says what the names in them are.
"""

import json
import math
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dmac.data.datasets import title_of
from experiments import paper
from experiments.bench import GPU_SYSTEMS, SYSTEMS
from experiments.compare import NOTHING, growth_exponent
from experiments.figures import MARKERS, STYLES


def read(path):
    """The measurements of a file, of the machine and the code that came last: a list of dicts.

    Each has its settings and what was found side by side, ``system`` and ``on``, what it ran on.
    """
    records = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]

    def made_by(record):
        return record["settings"]["machine"], record["settings"]["commit"]

    last = [record for record in records if made_by(record) == made_by(records[-1])]
    return [r["settings"] | {"system": r["method"], "on": r["dataset"]} | r for r in last]


def run_times(runs, timings=(), variant="RELEASED"):
    """The paper's seconds of a whole run on a GPU, and ours of RELEASED on a processor.

    By system and data set of the paper; ``runs`` are whole ones with their 1000 epochs of
    pre-training, one thread each, and ``timings`` give 100 epochs, the paper's upper limit.
    """
    names = list(paper.RUN_TIMES_OF)
    table = pd.DataFrame(paper.RUN_TIMES, index=names).T
    epoch = {t["on"]: t["median"] for t in timings if t["system"] == "released"}
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
    frame = pd.DataFrame([r for r in runs if r["on"] != "growth" and r["system"] in SYSTEMS[:4]])
    if "error" in frame:
        frame.loc[frame.error.notna(), column] = np.nan
    frame["on"] = frame["on"].map(title_of)
    grid = frame.pivot(index="on", columns="system", values=column)
    order = [name for name in SYSTEMS if name in grid]
    grid = grid.loc[list(dict.fromkeys(frame["on"])), order]
    return grid.rename_axis(None).rename_axis(None, axis=1)


def epochs_table(stored):
    """Seconds of an epoch by system, with the sizes, the floor and the ratios of RELEASED.

    ``ratio`` is how many times longer the dense reading takes, ``floor`` the seconds of the matrix
    products alone, and ``times`` how many times the floor an epoch takes.
    """
    seconds = epochs_by_system(stored, "median")
    own = {title_of(r["on"]): r for r in stored if r["system"] == "released"}
    sizes = [[own[name]["n"], own[name]["m"]] for name in seconds.index]
    table = pd.DataFrame(sizes, seconds.index, ["n", "m"]).join(seconds)
    table["ratio"] = seconds.dense / seconds.released
    rate = matrix_rate(stored)
    table["floor"] = [own[name]["operations"] / rate for name in seconds.index]
    table["times"] = seconds.released / table.floor
    return table


def matrix_rate(stored):
    """Operations a second of the products of matrices beside which epochs were timed."""
    return next(r["rate"] for r in stored if r["system"] == "matrix product")


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
            "variant": record["system"],
            "dataset": title_of(record["on"]),
            "acc": 100 * record["acc"],
            "fit_seconds": record["seconds"],
        }
        for record in stored
        if "error" not in record and record["threads"] == threads
    ]
    return pd.DataFrame(rows)


def recipes_table(stored, names, sizes):
    """Seconds of some systems on every data set, "one thread / two" in a cell."""
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

    A fit that was stopped is "> 40", an error "×", and – was not run.
    """
    datasets = [name for name, _ in sorted(sizes.items(), key=lambda item: item[1])]
    rows = {}
    for record in stored:
        if record["threads"] != threads:
            continue
        error = record.get("error")
        limit = "> " + error.split()[2] if error and error.startswith("more than") else "×"
        text = limit if error else _seconds(record["seconds"])
        rows.setdefault(record["system"], {})[title_of(record["on"])] = text
    table = pd.DataFrame.from_dict(rows, orient="index")
    return table.reindex(columns=[title_of(name) for name in datasets]).fillna("–")


def errors_of(stored):
    """The errors of the fits that failed by themselves: by system, the data sets and the text."""
    errors = {}
    for record in stored:
        error = record.get("error", "")
        if error and not error.startswith("more than"):
            errors.setdefault((record["system"], error), []).append(title_of(record["on"]))
    return errors


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


def plot_fit_growth(stored):
    """Seconds of whole fits over the number of samples, with fitted powers, and their table."""
    frame = pd.DataFrame([record for record in stored if "processes" not in record])
    figure, axis = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
    rows = {}
    for number, ((name, fixed), part) in enumerate(frame.groupby(["system", "fixed"], sort=False)):
        label = f"{name}, " + ("m = 512" if fixed else "its own m")
        part = part.sort_values("n")
        line = axis.loglog(part.n, part.seconds, MARKERS[number], label=label)[0]
        large = part[part.n >= 10_000] if (part.n >= 10_000).sum() > 3 else part[part.n >= 1000]
        style = dict(color=line.get_color(), linewidth=0.8)
        last = part.iloc[-1]
        rows[label] = _draw_power(axis, large.n, large.seconds, **style)
        rows[label] |= {"n": last.n, "seconds": last.seconds, "GB": last.peak_gb}
    axis.set(xlabel="samples n", ylabel="seconds of a fit")
    axis.legend()
    return figure, pd.DataFrame.from_dict(rows, orient="index").astype({"n": int})


def constants(stored, recipe="CLOSED_FORM"):
    """What one more sample costs a fit, or an epoch, on a fixed number of anchors.

    Its seconds in the fit with most samples, on two cores; its GB, and those of a process without
    any, by least squares from 10,000 samples on.
    """
    mine = [record for record in stored if record["system"] == recipe and record.get("fixed")]
    frame = pd.DataFrame(mine).query("n >= 10_000").sort_values("n")
    slope, offset = np.polyfit(frame.n, frame.peak_gb, 1)
    return float(frame.seconds.iloc[-1] / frame.n.iloc[-1]), (float(slope), float(offset))


def costs_table(growing, runs, sizes, gb=16):
    """What numbers of samples cost with 512 anchors on two cores, from what one more sample costs.

    Seconds, memory, and how many machines of so many GB hold that, of a whole fit of CLOSED_FORM,
    and of an epoch of RELEASED.
    """
    epochs = [r for r in runs if r["on"] == "growth" and "median" in r]
    epochs = [r | {"seconds": r["median"], "fixed": r["m"] == 512} for r in epochs]
    columns = {}
    for recipe, system, fits in (
        ("CLOSED_FORM", "CLOSED_FORM", growing),
        ("RELEASED", "released", epochs),
    ):
        seconds, (slope, offset) = constants(fits, system)
        memory = [offset + slope * n for n in sizes]
        columns[recipe, "seconds"] = [seconds * n for n in sizes]
        columns[recipe, "GB"] = memory
        columns[recipe, "machines"] = [math.ceil(need / gb) for need in memory]
    return pd.DataFrame(columns, sizes)


def sharded_table(stored):
    """The measured fits of several processes, beside what `constants` says of them.

    They share one machine's cores, so their number does not divide the time.
    """
    seconds, (slope, offset) = constants(stored)
    rows = {
        record["n"]: {
            "processes": record["processes"],
            "s, measured": record["seconds"],
            "s, computed": seconds * record["n"],
            "GB, measured": max(record["peak_gb"]),
            "GB, computed": offset + slope * record["n"] / record["processes"],
        }
        for record in stored
        if "processes" in record
    }
    return pd.DataFrame.from_dict(rows, orient="index").astype({"processes": int})


def parts_table(stored):
    """Seconds of the parts of an epoch, its floor, and how many times that it takes."""
    rows = {
        _shape(record): record["parts"]
        | {
            "seconds": record["seconds"],
            "floor": record["floor"],
            "times": record["seconds"] / record["floor"],
        }
        for record in stored
        if "parts" in record
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def _called(on):
    """A shape's name in a table: that of its data set, or its number of samples."""
    return f"n = {on:,}" if isinstance(on, int) else title_of(on)


def _shape(record):
    return _called(
        record.get("n", record.get("n_samples")) if record["on"] == "growth" else record["on"]
    )


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
    return NOTHING if value is None else f"{value:.3g}"


def gpu_table(on_gpu, stored):
    """Seconds of an epoch on the GPU beside those of the processor, and the GPU's peak memory.

    One row per shape; where there is no number, – stands, or "memory" if that is why.
    """
    places = {"processor": stored, "GPU": on_gpu}
    cells, peaks = {}, {}
    for place, records in places.items():
        for record in records:
            own_m = record["on"] == "growth" and record.get("m", 512) != 512
            if own_m or record["system"] not in GPU_SYSTEMS or record["on"].endswith("views"):
                continue
            text = (
                "memory" if "error" in record and place == "GPU" else _digits(record.get("median"))
            )
            cells.setdefault(_shape(record), {})[f"{record['system']}, {place}"] = text
            if place == "GPU" and "peak_gb" in record:
                peaks[_shape(record)] = max(record["peak_gb"], peaks.get(_shape(record), 0))
    names = {system: system.upper() for system in GPU_SYSTEMS}
    columns = {
        f"{system}, {place}": f"{names[system]}, {place}"
        for system in names
        for place in ("GPU", "processor")
    }
    table = pd.DataFrame.from_dict(cells, orient="index").reindex(columns=list(columns))
    table = table.rename(columns=columns).fillna(NOTHING)
    return table.assign(**{"GPU, GB": [_digits(peaks.get(shape)) for shape in table.index]})


def gpu_scores(on_gpu, stored):
    """ACC in % of fits on the GPU beside that of stored runs, by system and data set.

    Of three seeds there; of the frame ``stored`` here, the mean and the standard deviation.
    """
    rows = {}
    for record in on_gpu:
        name = "HandWritten" if record["on"] == "mfeat" else record["on"]
        here = stored.query("dataset == @name and variant == @record['system']").acc
        rows[record["system"], name] = {
            "GPU": 100 * record["acc"],
            "processor": here.mean(),
            "sd": here.std(),
            "s, GPU": record["fit_s"],
        }
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis(["system", "data set"])
    return table.assign(difference=table.GPU - table.processor)
