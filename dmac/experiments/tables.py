"""Tables of the experiment pages, made from frames of runs (:func:`dmac.experiments.records.runs`).

Cells read "mean ± sd" over seeds in %, and "(k)" behind them says that there are only k of the
seeds that were asked for. What is not stored is "–". Functions without such text return numbers.
"""

import numpy as np
import pandas as pd

from dmac.experiments import paper
from dmac.experiments.compare import NOTHING, best_of, list_datasets
from dmac.experiments.run import EARLY


def format_spread(values, of=0, digits=1, failed=0):
    """Mean ± sd as text, and the number of values behind it where it is less than ``of``."""
    values = np.asarray(values, dtype=float)
    values = values[~np.isnan(values)]
    text = f"{values.mean():.{digits}f}" if len(values) else NOTHING
    if len(values) > 1:
        text += f" ± {values.std(ddof=1):.{digits}f}"
    text += f" ({len(values)})" if 0 < len(values) < of - failed else ""
    return text.replace("-", "−") + (f" ({failed} failed)" if failed else "")


def format_number(x, digits=2):
    """A number in few digits: 5 rather than 5.0000, and 3 × 10⁻¹⁰ rather than 3e-10.

    Parameters
    ----------
    x : float
    digits : int
        Significant ones, from 1. Zeros at the end are left out.

    Returns
    -------
    str
        With a power of ten below 0.001 and from 100 000 on.
    """
    if not np.isfinite(x):
        return NOTHING
    mantissa, exponent = f"{x:.{digits - 1}e}".split("e")
    if x == 0 or -3 <= int(exponent) < 5:
        return f"{float(f'{x:.{digits}g}'):.10f}".rstrip("0").rstrip(".").replace("-", "−")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    power = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    factor = {"1": "", "-1": "-"}.get(mantissa, f"{mantissa} × ")
    return f"{factor}10{power}".replace("-", "−")


def _cell(runs, metric, of=0, digits=1):
    return format_spread(runs[metric], of, digits, failed=int(runs.error.notna().sum()))


def format_scores(runs, metric, rows="dataset", columns="variant", digits=1):
    """A metric of runs: one row per data set, one column per variant, or the other way round.

    Parameters
    ----------
    runs : pandas.DataFrame
    metric : str
        A column of it.
    rows, columns : {"dataset", "variant"}
    digits : int

    Returns
    -------
    pandas.DataFrame of str
    """
    groups = dict(list(runs.groupby([rows, columns], observed=True)))
    of = max([runs.attrs.get("seeds", 0), *map(len, groups.values())])
    text = {key: _cell(part, metric, of, digits) for key, part in groups.items()}
    lines, names = (
        [value for value in runs[axis].cat.categories if value in set(runs[axis])]
        for axis in (rows, columns)
    )
    values = [[text.get((line, name), NOTHING) for name in names] for line in lines]
    return pd.DataFrame(values, index=lines, columns=names, dtype=object)


def join_runs(frames):
    """Frames of runs as one, with the variants and data sets of all."""
    frame = pd.concat(
        [f.astype({"variant": str, "dataset": str}) for f in frames], ignore_index=True
    )
    for name in ("variant", "dataset"):
        order = dict.fromkeys(value for f in frames for value in f[name].cat.categories)
        frame[name] = pd.Categorical(frame[name], list(order), ordered=True)
    frame.attrs["seeds"] = max(f.attrs.get("seeds", 0) for f in frames)
    return frame


def format_paper_scores(table=paper.TABLE_2):
    """A table of the paper: one row per metric and method, the best of a column starred."""
    frames = {}
    for i, metric in enumerate(("ACC", "NMI")):
        values = np.array([row[i::2] for row in table.values()])
        best = values == values.max(axis=0)
        text = [
            [f"{x:.2f}{'*' if b else ''}" for x, b in zip(row, marks)]
            for row, marks in zip(values, best)
        ]
        frames[metric] = pd.DataFrame(text, index=list(table), columns=list(paper.DATASETS))
    return pd.concat(frames)


def compare_with_paper(runs, variant="DMAC, released", names=paper.SAME):
    """A variant under both ways of scoring, beside what the paper reports on the same data.

    Returns
    -------
    pandas.DataFrame of str
        One row per data set and metric: the paper, mean ± sd of the best epoch, the best epoch of
        the best seed, the last epoch, the number of seeds.
    """
    rows = {}
    for dataset in names:
        part = runs[(runs.dataset == dataset) & (runs.variant == variant)]
        for metric in ("acc", "nmi") if len(part) else ():
            rows[dataset, metric.upper()] = {
                "paper": f"{paper.value(dataset, metric):.2f}",
                "oracle epoch": format_spread(part[f"oracle_{metric}"]),
                "its best seed": f"{part[f'oracle_{metric}'].max():.1f}",
                "last epoch": format_spread(part[metric]),
                "seeds": len(part),
            }
    columns = ["paper", "oracle epoch", "its best seed", "last epoch", "seeds"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def format_other_systems(runs, systems, seeds):
    """ACC and NMI of the other systems: a row per data set, below it the paper's where it has it.

    Parameters
    ----------
    runs : pandas.DataFrame
        With the systems as variants; its data sets are shown, also those without a run.
    systems : iterable of str
    seeds : dict of str to int
        How many are asked for of each system.

    Returns
    -------
    pandas.DataFrame of str
    """
    systems, rows = list(systems), {}
    for metric in ("acc", "nmi"):
        for dataset in runs.dataset.cat.categories:
            part = runs[runs.dataset == dataset]
            rows[metric.upper(), dataset] = {
                name: _cell(part[part.variant == name], metric, seeds[name]) for name in systems
            }
            if dataset in paper.SAME:
                rows[metric.upper(), f"{dataset}, the paper"] = {
                    name: f"{paper.value(dataset, metric, name):.1f}" for name in systems
                }
    return pd.DataFrame.from_dict(rows, orient="index", columns=systems)


def count_stored(runs, seeds):
    """How many runs of each variant are asked for, stored, and not yet made.

    Parameters
    ----------
    runs : pandas.DataFrame
    seeds : dict of str to int
        How many are asked for of each variant, on every data set of ``runs``.

    Returns
    -------
    pandas.DataFrame of int
        One row per variant: ``seeds``, ``asked for``, ``stored``, ``not yet run``.
    """
    stored = runs.groupby("variant", observed=False).size().reindex(list(seeds), fill_value=0)
    table = pd.DataFrame({"seeds": seeds, "asked for": 0, "stored": stored}, dtype=int)
    table["asked for"] = table.seeds * len(runs.dataset.cat.categories)
    table["not yet run"] = table["asked for"] - table.stored
    return table.loc[list(seeds)].rename_axis(None)


def format_trials(runs, grid):
    """What was tried to come closer to the paper, at the oracle epoch and at the last.

    Metrics stand beside each other and data sets below each other: twice as many columns would be
    wider than a page.

    Parameters
    ----------
    runs : pandas.DataFrame
        Of RELEASED and its variants.
    grid : pandas.DataFrame
        Of the weights; the point with the best mean is added.

    Returns
    -------
    pandas.DataFrame of str
    """
    both, text = _with_best_of_grid(runs, grid), {}
    metrics = {"ACC": "oracle_acc", "NMI": "oracle_nmi", "ACC, last epoch": "acc"}
    for dataset in list_datasets(both):
        part = both[both.dataset == dataset]
        columns = [format_scores(part, metric, "variant", "dataset") for metric in metrics.values()]
        text[dataset] = pd.concat(columns, axis=1)
        text[dataset].columns = list(metrics)
    return pd.concat(text) if text else pd.DataFrame(columns=list(metrics))


def _with_best_of_grid(runs, grid):
    parts, names = [runs], []
    counts = grid.groupby("dataset", observed=True).variant.nunique()
    grid = grid[grid.dataset.isin(counts.index[counts > 1])]  # or there is nothing to choose from
    for dataset, name in best_of(grid, list(grid.variant.cat.categories), "oracle_acc").items():
        part = grid[(grid.dataset == dataset) & (grid.variant == name)]
        weights = part.settings.iloc[0]
        label = f"best of the grid, CM {weights['cm_weight']:g}, SP {weights['sp_weight']:g}"
        parts.append(part.assign(variant=label))
        names.append(label)
    if not names:
        return runs
    order = dict.fromkeys(names)
    for i, part in enumerate(parts):
        variants = order if i else runs.variant.cat.categories
        parts[i] = part.assign(variant=pd.Categorical(part.variant, list(variants), ordered=True))
    return join_runs(parts)


def find_closest(runs, grid, metric="acc", names=paper.SAME):
    """By data set: the paper's value, RELEASED, and the trial with the highest mean, oracle epochs.

    Returns
    -------
    pandas.DataFrame
        ``paper``, ``released``, ``trial`` (its name), ``best`` (its mean), ``seeds`` of it, the
        highest single run (``top``) and what it is a run of (``of``), the trial's means on the
        other data sets (``elsewhere``, a dict), and the number of ``others`` that were tried.
    """
    both, rows = _with_best_of_grid(runs, grid), {}
    for dataset in [d for d in names if d in set(both.dataset)]:
        part = both[both.dataset == dataset]
        groups = part.groupby("variant", observed=True)[f"oracle_{metric}"]
        means = groups.mean().dropna()
        rows[dataset] = {
            "paper": paper.value(dataset, metric),
            "released": means.get("RELEASED", np.nan),
            "trial": means.idxmax(),
            "best": means.max(),
            "seeds": groups.count()[means.idxmax()],
            "top": groups.max().max(),
            "of": groups.max().idxmax(),
            "elsewhere": _means_elsewhere(both, means.idxmax(), f"oracle_{metric}", dataset),
            "others": len(means) - ("RELEASED" in means),
        }
    columns = ["paper", "released", "trial", "best", "seeds", "top", "of", "elsewhere", "others"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _means_elsewhere(runs, variant, column, dataset):
    part = runs[(runs.variant == variant) & (runs.dataset != dataset)]
    return part.groupby("dataset", observed=True)[column].mean().dropna().to_dict()


def format_ablation(runs):
    """Table 3: on every data set the paper's row, ours at the oracle epoch and at the last."""
    names = [v for v in runs.variant.cat.categories if v in paper.TABLE_3]
    rows = {}
    for dataset in list_datasets(runs):
        part = runs[runs.dataset == dataset]
        of = max(runs.attrs.get("seeds", 0), part.groupby("variant", observed=True).size().max())
        known = "paper" if dataset in paper.SAME else "paper°"
        sources = {known: None, "oracle epoch": "oracle_", "last epoch": ""}
        if paper.value(dataset, "acc") is None:
            del sources[known]
        for source, prefix in sources.items():
            rows[dataset, source] = {
                (metric.upper(), name): (
                    f"{paper.value(dataset, metric, name, paper.TABLE_3):.2f}"
                    if prefix is None
                    else _cell(part[part.variant == name], f"{prefix}{metric}", of)
                )
                for metric in ("acc", "nmi")
                for name in names
            }
    return pd.DataFrame.from_dict(rows, orient="index")


def format_choices(changes):
    """What variants of RELEASED change: fields of :class:`dmac.recipes.Recipe`, before and after.

    Parameters
    ----------
    changes : dict
        Name to recipe fields, as :data:`dmac.experiments.plan.BEYOND` is.

    Returns
    -------
    pandas.DataFrame of str
    """
    rows = {}
    for name, fields in changes.items():
        before = [getattr(EARLY, field) for field in fields]
        columns = {"field": fields, "RELEASED": before, "here": fields.values()}
        rows[name] = {column: ", ".join(map(str, values)) for column, values in columns.items()}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["field", "RELEASED", "here"])
