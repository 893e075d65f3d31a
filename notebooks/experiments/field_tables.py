"""The other systems on page 01: their runs read and counted, their tables, their losses drawn.

Functions that format return text; the others return numbers, in %.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from experiments import paper, records, studies
from experiments.compare import NOTHING
from experiments.tables import format_cell, format_spread, mark_best


def count_stored(runs, seeds):
    """How many runs of each variant are asked for on every data set, stored, and not yet run."""
    stored = runs.groupby("variant", observed=False).size().reindex(list(seeds), fill_value=0)
    table = pd.DataFrame({"seeds": seeds, "asked for": 0, "stored": stored}, dtype=int)
    table["asked for"] = table.seeds * len(runs.dataset.cat.categories)
    table["not yet run"] = table["asked for"] - table.stored
    return table.loc[list(seeds)].rename_axis(None)


def read_published(results=records.RESULTS):
    """The stored runs behind `format_published`.

    Returns
    -------
    runs : pandas.DataFrame
        Of the nine systems as the plan has them, on the data sets that are the paper's.
    grids : dict of str to pandas.DataFrame
        By data set, of the points of :func:`experiments.studies.grid`.
    trials : pandas.DataFrame
        Of what was tried where a number is missed.
    """
    stored = records.index(records.open_store(results).refresh())
    systems = studies.SHALLOW_PEERS | studies.DEEP_PEERS
    runs = records.runs(stored, systems, list(studies.CLUSTERS), range(1, 11))
    grids = {d: records.runs_of(stored, f"other systems, grid of {d}") for d in studies.CLUSTERS}
    tried = {name: run for s in studies.PEER_TRIALS.values() for name, run in s.variants.items()}
    return runs, grids, records.runs(stored, tried, list(studies.CLUSTERS), range(1, 11))


def read_flattening(results=records.RESULTS, dataset="Yale-3view", seed=1):
    """Curves of DFP-GNN by its own rules, and of its pre-training going on, if stored."""
    stored = records.index(records.open_store(results).refresh())
    ends = [studies.STUDIES[f"DFP-GNN, {name}"].variants for name in ("to the end", "on and on")]
    asked = [run for variants in ends for run in variants.values()]
    names = [records.run_name(dataset, method, settings, seed) for method, settings in asked]
    return tuple(stored.get(name, {}).get("curves", {}) for name in names)


def read_fast(results=records.RESULTS, dataset="BBC", seed=1):
    """Curves of DFP-GNN's pre-training at ten times its rate."""
    stored = records.index(records.open_store(results).refresh())
    run = studies.STUDIES["DFP-GNN, plateau"].variants["DFP-GNN, ten times the rate"]
    return stored[records.run_name(dataset, *run, seed)]["curves"]


def read_last_stages(results=records.RESULTS, seed=1):
    """By data set, the curve of DFP-GNN's last stage to its end, and on PIE of the plan's run."""
    stored = records.index(records.open_store(results).refresh())
    ((method, settings),) = studies.STUDIES["DFP-GNN, to the end"].variants.values()
    asked = dict.fromkeys(("Yale-3view", "BBC"), settings) | {"PIE": studies.DEEP_PEERS[method][1]}
    found = {d: stored.get(records.run_name(d, method, s, seed)) for d, s in asked.items()}
    return {d: run["curves"]["tuning"] for d, run in found.items() if run and "curves" in run}


def measure_flattening(stopped, endless):
    """Where the pre-training of each view ended, and what of the loss it left.

    Returns
    -------
    pandas.DataFrame
        One row per view: ``epochs`` until the end, and in % of the first epoch's loss what it was
        ``then`` and ``later``, after the last epoch of the run that went on.
    """
    rows = {}
    for stage in [name for name in endless if name in stopped and name.startswith("view")]:
        first, last = endless[stage]["loss"][0], endless[stage]["loss"][-1]
        then = stopped[stage]["loss"][-1]
        shares = {"then": 100 * then / first, "later": 100 * last / first}
        rows[stage] = {"epochs": stopped[stage]["epochs"], **shares}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["epochs", "then", "later"])


def beside_published(runs, grids, metric="acc"):
    """What is published of the other systems, ours at fixed settings, and the best of the grid.

    Parameters
    ----------
    runs, grids
        Of `read_published`.
    metric : {"acc", "nmi"}

    Returns
    -------
    pandas.DataFrame
        One row per system and data set, in %: ``published``, ``fixed`` (the mean over the seeds),
        ``oracle`` (the point of the grid with the highest mean, chosen with the labels; the
        defaults are one of the points), its name (``point``), and how many ``seeds`` the second
        has. NaN where nothing is stored.
    """
    rows = {}
    for system in [name for name in paper.TABLE_2 if name != "DMAC"]:
        for dataset in paper.SAME:
            mine = runs[(runs.variant == system) & (runs.dataset == dataset)][metric].dropna()
            row = {
                "published": paper.value(dataset, metric, system),
                "fixed": mine.mean(),
                "oracle": float("nan"),
                "point": "",
                "seeds": len(mine),
            }
            points = grids.get(dataset)
            if points is not None:
                points = points[points.method == system].dropna(subset=[metric])
                means = points.groupby("variant", observed=True)[metric].mean()
                means.index = means.index.astype(str)
                means["the defaults"] = mine.mean()
                if len(means) > 1:
                    row |= {"oracle": means.max(), "point": means.idxmax()}
            rows[system, dataset] = row
    columns = ["published", "fixed", "oracle", "point", "seeds"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def measure_gaps(runs, grids, trials):
    """How far ours are from what is published, and the runs that explain three of the gaps.

    Returns
    -------
    off : pandas.DataFrame
        One row per system and data set, in points: ``acc`` and ``nmi`` at fixed settings minus
        the published ones, ``best_acc`` and ``best_nmi`` of the best of the grid minus those.
    small : pandas.Series
        NMI of MSGL on PIE where rows have unit length and alpha is below 1.
    unit : pandas.DataFrame
        Runs of UDBGL on BBC with unit rows.
    gmc : pandas.DataFrame
        ``acc`` and ``nmi_max`` of GMC with unit rows, and what is published (``published_acc``,
        ``published_nmi``), one row per data set.
    """
    off = {}
    for metric in ("acc", "nmi"):
        table = beside_published(runs, grids, metric)
        off[metric] = table.fixed - table.published
        off[f"best_{metric}"] = table.oracle - table.published
    points = grids["PIE"][grids["PIE"].method == "MSGL"]
    small = points[[s["normalize"] and s["alpha"] < 1 for s in points.settings]].nmi
    unit = trials[(trials.variant == "UDBGL, unit rows") & (trials.dataset == "BBC")]
    gmc = trials[trials.variant == "GMC, unit rows"].set_index("dataset")[["acc", "nmi_max"]]
    for metric in ("acc", "nmi"):
        gmc[f"published_{metric}"] = [paper.value(d, metric, "GMC") for d in gmc.index]
    return pd.DataFrame(off), small, unit, gmc


def format_published(runs, grids):
    """The tables of `beside_published` for both metrics, as text; – where nothing is stored.

    "by max" is the NMI at fixed settings that divides by the larger entropy.
    """
    columns = {}
    for metric in ("acc", "nmi"):
        table = beside_published(runs, grids, metric)
        for name in ("published", "fixed", "oracle"):
            text = table[name].map("{:.2f}".format).replace("nan", NOTHING)
            columns[metric.upper(), name] = text
    by_max = runs.groupby(["variant", "dataset"], observed=True).nmi_max.mean()
    by_max = by_max.reindex(pd.MultiIndex.from_tuples(table.index))
    columns["NMI", "fixed, by max"] = by_max.map("{:.2f}".format).replace("nan", NOTHING)
    columns["", "seeds"] = table.seeds
    return pd.DataFrame(columns)


def format_others_code():
    """What the public code of the other systems gave on the same arrays, and ours.

    Returns
    -------
    pandas.DataFrame of str
        One row per system and data set of :data:`experiments.paper.OTHERS_CODE`: what was run,
        ACC / NMI in % that are published, of the public code and of ours, what was compared.
    """
    rows = {}
    for (system, dataset), (what, theirs, ours, compared) in paper.OTHERS_CODE.items():
        published = [paper.value(dataset, metric, system) for metric in ("acc", "nmi")]
        scores = [published, theirs, ours]
        texts = ["{:.2f}\u00a0/\u00a0{:.2f}".format(*pair) for pair in scores]
        rows[f"{system}, {dataset}"] = [what, *texts, compared]
    columns = ["run", "published", "public code", "ours", "compared"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def format_trials(trials):
    """Means over the seeds of what was tried, in %, and how many seeds there are, as text."""
    groups = trials.groupby(["variant", "dataset"], observed=True)
    names = {"acc": "ACC", "nmi": "NMI", "nmi_max": "NMI, by max"}
    means = groups[list(names)].mean().rename(columns=names)
    text = means.map("{:.2f}".format).replace("nan", NOTHING)
    return text.join(groups.size().rename("seeds")).rename_axis([None, None])


def format_other_systems(runs, systems, seeds, metric="acc"):
    """A score of the other systems: a row per data set, below it the paper's where it has it.

    Parameters
    ----------
    runs : pandas.DataFrame
        With the systems as variants; its data sets are shown, also those without a run.
    systems : iterable of str
        A system that the paper does not have has no value there.
    seeds : dict of str to int
        How many are asked for of each system.
    metric : {"acc", "nmi"}

    Returns
    -------
    pandas.io.formats.style.Styler
        The best system of every row is bold.
    """
    systems, rows, means = list(systems), {}, {}
    for dataset in runs.dataset.cat.categories:
        parts = {x: runs[(runs.dataset == dataset) & (runs.variant == x)] for x in systems}
        rows[dataset] = {x: format_cell(part, metric, seeds[x]) for x, part in parts.items()}
        means[dataset] = {x: part[metric].mean() for x, part in parts.items()}
        known = {
            x: paper.value(dataset, metric, x)
            for x in systems
            if dataset in paper.SAME and x in paper.TABLE_2
        }
        if known:
            row = f"{dataset}, the paper"
            means[row] = {x: known.get(x, np.nan) for x in systems}
            rows[row] = {x: f"{known[x]:.1f}" if x in known else NOTHING for x in systems}
    text = pd.DataFrame.from_dict(rows, orient="index", columns=systems)
    return mark_best(text, pd.DataFrame.from_dict(means, orient="index", columns=systems))


def measure_schedules(whole, short, metric="acc"):
    """What the epochs that a short schedule leaves out are worth, in points."""
    groups = _join_schedules(whole, short, metric).groupby(level=[0, 1], observed=True)
    return groups.change.mean()


def format_schedules(whole, short, metric="acc"):
    """The same systems with a tenth of their epochs and with all; the change is at equal seeds."""
    groups = _join_schedules(whole, short, metric).groupby(level=[0, 1], observed=True)
    return groups.agg(format_spread).rename_axis([None, None])


def _join_schedules(whole, short, metric):
    parts = ["variant", "dataset", "seed"]
    both = [runs.dropna(subset=[metric]).set_index(parts)[metric] for runs in (short, whole)]
    scores = pd.concat(both, axis=1, join="inner", keys=["a tenth", "all"])
    scores["change"] = scores["all"] - scores["a tenth"]
    return scores


def plot_flattening(stopped, endless):
    """The loss of a pre-training that goes on, and where a rule would have ended it."""
    names = [name for name in endless if name in stopped and name.startswith("view")]
    figure, axis = plt.subplots(figsize=(5, 2.6))
    for name in names:
        _plot_shares(axis, endless[name], stopped[name], name)
    return _finish_shares(figure, axis)


def plot_last_stages(curves):
    """The loss of a last stage, with a dot where it ended; see `read_last_stages`."""
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
