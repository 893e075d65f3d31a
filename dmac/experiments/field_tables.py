"""Published numbers of the other systems beside ours and the best of a grid, for page 01.

What a fit of each takes, and what was tried where a published number is missed, are here too.
Functions that format return text; the others return numbers, in %.
"""

import pandas as pd

from dmac import peers
from dmac.experiments import field, paper, plan, records
from dmac.experiments.compare import NOTHING
from dmac.experiments.tables import format_number, format_spread


def beside_published(runs, grids, metric="acc"):
    """What is published of the other systems, ours at fixed settings, and the best of the grid.

    Parameters
    ----------
    runs : pandas.DataFrame
        Of the systems at their defaults, as variants of their names.
    grids : dict of str to pandas.DataFrame
        By data set, runs of the points of :func:`dmac.experiments.field.grid`.
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

    Parameters
    ----------
    runs : pandas.DataFrame
    grids : dict of str to pandas.DataFrame
    trials : pandas.DataFrame
        As `read_published` returns them.

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

    Parameters
    ----------
    runs : pandas.DataFrame
    grids : dict of str to pandas.DataFrame
        As there.

    Returns
    -------
    pandas.DataFrame of str
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


def format_trials(trials):
    """Means over the seeds of what was tried, in %, and how many seeds there are.

    Parameters
    ----------
    trials : pandas.DataFrame
        As `read_published` returns them.

    Returns
    -------
    pandas.DataFrame
        One row per variant and data set, as text; – where a score is not stored.
    """
    groups = trials.groupby(["variant", "dataset"], observed=True)
    names = {"acc": "ACC", "nmi": "NMI", "nmi_max": "NMI, by max"}
    means = groups[list(names)].mean().rename(columns=names)
    text = means.map("{:.2f}".format).replace("nan", NOTHING)
    return text.join(groups.size().rename("seeds")).rename_axis([None, None])


def format_schedules(whole, short, metric="acc"):
    """What the epochs that a short schedule leaves out are worth, where both are stored.

    Parameters
    ----------
    whole, short : pandas.DataFrame
        Runs of the same systems with all their epochs, and with a tenth of them.
    metric : str

    Returns
    -------
    pandas.DataFrame of str
        One row per system and data set, in %: ``a tenth``, ``all`` and, over the seeds that both
        have, the ``change``.
    """
    parts = ["variant", "dataset", "seed"]
    both = [runs.dropna(subset=[metric]).set_index(parts)[metric] for runs in (short, whole)]
    scores = pd.concat(both, axis=1, join="inner", keys=["a tenth", "all"])
    scores["change"] = scores["all"] - scores["a tenth"]
    groups = scores.groupby(level=parts[:2], observed=True)
    return groups.agg(format_spread).rename_axis([None, None])


def estimate_memory(sizes, n_features, n_clusters=10):
    """What a fit of each of the nine systems will take, in GiB.

    Parameters
    ----------
    sizes : iterable of int
        Numbers of samples.
    n_features : list of int
        Of each view.
    n_clusters : int

    Returns
    -------
    pandas.DataFrame
        One row per system, one column per size.
    """
    return pd.DataFrame({
        n: {
            name: system(n_clusters).memory(n, n_features) / 2**30
            for name, system in peers.ALL.items()
        }
        for n in sizes
    })


def format_memory(memory):
    """The table of `estimate_memory` as text: three digits above 1 GiB, else two decimals.

    Parameters
    ----------
    memory : pandas.DataFrame

    Returns
    -------
    pandas.DataFrame of str
    """
    shown = memory.rename(columns="n = {:,}".format)
    return shown.map(lambda x: format_number(x, 3) if x > 1 else f"{x:.2f}")


def read_published(results=records.RESULTS):
    """The stored runs behind the table of `format_published`.

    Parameters
    ----------
    results : path

    Returns
    -------
    runs : pandas.DataFrame
        Of the nine systems as the plan has them, on the data sets that are the paper's.
    grids : dict of str to pandas.DataFrame
    trials : pandas.DataFrame
        Of what was tried where a number is missed.
    """
    stored = records.index(records.open_store(results).refresh())
    systems = plan.SHALLOW_PEERS | plan.DEEP_PEERS
    runs = records.runs(stored, systems, list(field.CLUSTERS), range(1, 11))
    grids = {
        d: records.runs(stored, field.grid(c), [d], field.SEEDS) for d, c in field.CLUSTERS.items()
    }
    tried = field.GMC_ROWS | field.UNIT_ROWS | field.COSINE | field.AGGREGATION
    tried |= field.STANDARDISED | field.CALIBRATION | field.SUMS | field.FIRST_STAGE
    tried |= field.TEN_REPEATS | field.FEWER_NEIGHBOURS
    return runs, grids, records.runs(stored, tried, list(field.CLUSTERS), range(1, 11))


def read_flattening(results=records.RESULTS, dataset="Yale-3view", seed=1):
    """Curves of DFP-GNN by its own rules, and of its pre-training going on.

    Parameters
    ----------
    results : path
    dataset : str
    seed : int

    Returns
    -------
    stopped, endless : dict of str to dict
        As :func:`dmac.experiments.measure.curves_of` returns them; empty where no run is stored.
    """
    stored = records.index(records.open_store(results).refresh())
    asked = [*field.TO_THE_END.values(), *field.ON_AND_ON.values()]
    names = [records.run_name(dataset, method, settings, seed) for method, settings in asked]
    return tuple(stored.get(name, {}).get("curves", {}) for name in names)


def read_ends(results=records.RESULTS, seed=1):
    """After how many epochs DFP-GNN's last stage ended.

    Parameters
    ----------
    results : path
    seed : int

    Returns
    -------
    dict of str to int
        By data set: of the runs that go on until no label changes, and on PIE of the plan's run.
        Data sets of which none is stored are left out.
    """
    stored = records.index(records.open_store(results).refresh())
    ((method, settings),) = field.TO_THE_END.values()
    asked = dict.fromkeys(("Yale-3view", "BBC"), settings) | {"PIE": plan.DEEP_PEERS[method][1]}
    found = {d: stored.get(records.run_name(d, method, s, seed)) for d, s in asked.items()}
    return {d: run["curves"]["tuning"]["epochs"] for d, run in found.items() if run}


def measure_flattening(stopped, endless):
    """Where pre-training ended, and what of the loss it left.

    Parameters
    ----------
    stopped, endless : dict of str to dict
        As `read_flattening` returns them.

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
