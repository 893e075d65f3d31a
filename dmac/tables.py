"""Tables of the experiment pages, made from frames of runs (:func:`dmac.experiments.runs`).

Cells read "mean ± sd" over seeds in %, and "(k)" behind them says that there are only k of the
seeds that were asked for. What is not stored is "–". Functions without such text return numbers.
"""

import numpy as np
import pandas as pd

from dmac import paper
from dmac.recipes import RELEASED

NOTHING = "–"


def spread(values, of=0, digits=1, failed=0):
    """Mean ± sd as text, and the number of values behind it where it is less than ``of``."""
    values = np.asarray(values, dtype=float)
    values = values[~np.isnan(values)]
    text = f"{values.mean():.{digits}f}" if len(values) else NOTHING
    if len(values) > 1:
        text += f" ± {values.std(ddof=1):.{digits}f}"
    text += f" ({len(values)})" if 0 < len(values) < of - failed else ""
    return text.replace("-", "−") + (f" ({failed} failed)" if failed else "")


def _cell(runs, metric, of=0, digits=1):
    return spread(runs[metric], of, digits, failed=int(runs.error.notna().sum()))


def cells(runs, metric, rows="dataset", columns="variant", digits=1):
    """A metric of some runs, a row a data set and a column a variant, or the other way round.

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
    found = [[text.get((line, name), NOTHING) for name in names] for line in lines]
    return pd.DataFrame(found, index=lines, columns=names, dtype=object)


def joined(frames):
    """Frames of runs as one, with the variants and data sets of all."""
    frame = pd.concat(
        [f.astype({"variant": str, "dataset": str}) for f in frames], ignore_index=True
    )
    for name in ("variant", "dataset"):
        order = dict.fromkeys(value for f in frames for value in f[name].cat.categories)
        frame[name] = pd.Categorical(frame[name], list(order), ordered=True)
    frame.attrs["seeds"] = max(f.attrs.get("seeds", 0) for f in frames)
    return frame


def paper_scores(table=paper.TABLE_2):
    """A table of the paper, "ACC / NMI" in every cell, the best in each column with an asterisk."""
    found = {}
    for i, name in enumerate(paper.DATASETS):
        values = np.array([row[2 * i : 2 * i + 2] for row in table.values()])
        best = values == values.max(axis=0)
        found[name] = [
            " / ".join(f"{x:.2f}{'*' if b else ''}" for x, b in zip(row, marks))
            for row, marks in zip(values, best)
        ]
    return pd.DataFrame(found, index=list(table))


def best_of(runs, variants, metric="acc"):
    """By data set, which of some variants has the highest mean."""
    some = runs[runs.variant.isin(variants)].dropna(subset=[metric])
    means = some.groupby(["dataset", "variant"], observed=True)[metric].mean()
    return {dataset: part.idxmax()[1] for dataset, part in means.groupby(level=0, observed=True)}


def paired(runs, variant, reference, metric="acc"):
    """Differences of a metric between two variants, at the same data set and seed.

    Parameters
    ----------
    runs : pandas.DataFrame
    variant : str
    reference : str or dict
        A variant, or one for every data set.
    metric : str

    Returns
    -------
    pandas.DataFrame
        A row a data set: the ``mean`` difference, the ``half`` width of Student's 95 % interval,
        ``p`` of the paired t-test, and the number of ``seeds``. With one seed there is only the
        mean; where all differences are 0, p is 1.
    """
    from scipy import stats

    rows = {}
    for dataset, part in runs.groupby("dataset", observed=True):
        other = reference if isinstance(reference, str) else reference.get(dataset)
        values = part.set_index(["variant", "seed"])[metric].dropna()
        known = values.index.get_level_values(0)
        if variant not in known or other not in known:
            continue
        change = (values[variant] - values[other]).dropna().to_numpy()
        if not len(change):
            continue
        row = {"mean": change.mean(), "half": np.nan, "p": np.nan, "seeds": len(change)}
        if len(change) > 1:
            error = change.std(ddof=1) / len(change) ** 0.5
            row["half"] = stats.t.ppf(0.975, len(change) - 1) * error
            constant = 0.0 if change.any() else 1.0
            t = change.mean() / error if error else None
            row["p"] = constant if t is None else 2 * stats.t.sf(abs(t), len(change) - 1)
        rows[dataset] = row
    return pd.DataFrame.from_dict(rows, orient="index", columns=["mean", "half", "p", "seeds"])


def holm(p):
    """P values of several tests, adjusted by Holm's method; NaN stays NaN and does not count."""
    p = np.asarray(p, dtype=float)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known])]
    adjusted = np.full(len(p), np.nan)
    steps = p[order] * (len(order) - np.arange(len(order)))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1) if len(order) else steps
    return adjusted


def significance(runs, variants, references, metric="acc"):
    """Variants less the best of some references on every data set, tested over the seeds.

    The reference is the one with the highest mean: the labels pick it, and that favours it.

    Returns
    -------
    pandas.DataFrame
        Indexed by data set and variant: the reference, the ``mean`` difference, ``half``, ``p`` as
        adjusted by Holm's method over the whole table, ``seeds``.
    """
    best = best_of(runs, references, metric)
    parts = []
    for variant in variants:
        part = paired(runs, variant, best, metric).rename_axis("dataset").reset_index()
        part.insert(1, "variant", variant)
        part.insert(2, "reference", part.dataset.map(best))
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    table["p"] = holm(table.p)
    order = list(runs.dataset.cat.categories)
    table["dataset"] = pd.Categorical(table.dataset, order, ordered=True)
    return table.sort_values(["dataset", "variant"], kind="stable").set_index(
        ["dataset", "variant"]
    )


def differences(table):
    """The table of `significance` or `paired` as text."""
    shown = pd.DataFrame(index=table.index)
    if "reference" in table:
        shown["best baseline"] = table["reference"]
    shown["difference"] = [change(m, h) for m, h in zip(table["mean"], table["half"])]
    shown["p"] = [p_text(p) for p in table.p]
    shown["seeds"] = table.seeds.astype(int) if len(table) else []
    return shown.rename_axis(index=[None] * table.index.nlevels)


def change(mean, half=np.nan):
    """A difference with its sign, and the half width of its interval if that is known."""
    text = f"{mean:+.1f}".replace("-", "−")
    text = "0.0" if text in ("+0.0", "−0.0") else text
    return text if np.isnan(half) else f"{text} ± {half:.1f}"


def p_text(p):
    """A p value for a table."""
    return NOTHING if np.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def beside_paper(runs, variant="DMAC, released", names=paper.SAME):
    """A variant under both ways of scoring, beside what the paper reports on the same data.

    Returns
    -------
    pandas.DataFrame of str
        A row a data set and metric: the paper, mean ± sd of the best epoch, the best epoch of the
        best seed, the last epoch, the number of seeds.
    """
    rows = {}
    for dataset in names:
        part = runs[(runs.dataset == dataset) & (runs.variant == variant)]
        for metric in ("acc", "nmi") if len(part) else ():
            rows[dataset, metric.upper()] = {
                "paper": f"{paper.value(dataset, metric):.2f}",
                "oracle epoch": spread(part[f"oracle_{metric}"]),
                "its best seed": f"{part[f'oracle_{metric}'].max():.1f}",
                "last epoch": spread(part[metric]),
                "seeds": len(part),
            }
    columns = ["paper", "oracle epoch", "its best seed", "last epoch", "seeds"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def trials(runs, grid, datasets=("PIE", "BBC")):
    """What was tried to come closer to the paper, at the oracle epoch and at the last.

    Parameters
    ----------
    runs : pandas.DataFrame
        Of RELEASED and its variants.
    grid : pandas.DataFrame
        Of the weights; the point with the best mean is added.
    datasets : sequence of str

    Returns
    -------
    pandas.DataFrame of str
    """
    joined = _with_best_of_grid(runs, grid)
    shown = {}
    for dataset in [d for d in joined.dataset.cat.categories if d in set(joined.dataset)]:
        part = joined[joined.dataset == dataset]
        for metric, name in (
            ("oracle_acc", "ACC"),
            ("oracle_nmi", "NMI"),
            ("acc", "ACC, last"),
        ):
            column = cells(part, metric, "variant", "dataset")
            shown[f"{dataset} {name}"] = column[dataset]
    names = [v for v in joined.variant.cat.categories if v in set(joined.variant)]
    return pd.DataFrame(shown).reindex(names).fillna(NOTHING).rename_axis(index=None)


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
    return joined(parts)


def closest(runs, grid, metric="acc", names=paper.SAME):
    """By data set: the paper's value, RELEASED, and the trial with the highest mean, oracle epochs.

    Returns
    -------
    pandas.DataFrame
        ``paper``, ``released``, ``trial`` (its name), ``best`` (its mean), ``seeds`` of it,
        and the number of ``others`` that were tried.
    """
    joined, rows = _with_best_of_grid(runs, grid), {}
    for dataset in [d for d in names if d in set(joined.dataset)]:
        part = joined[joined.dataset == dataset]
        groups = part.groupby("variant", observed=True)[f"oracle_{metric}"]
        means = groups.mean().dropna()
        rows[dataset] = {
            "paper": paper.value(dataset, metric),
            "released": means.get("RELEASED", np.nan),
            "trial": means.idxmax(),
            "best": means.max(),
            "seeds": groups.count()[means.idxmax()],
            "others": len(means) - ("RELEASED" in means),
        }
    columns = ["paper", "released", "trial", "best", "seeds", "others"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def ablation(runs):
    """Table 3: the paper's values, and ours at the oracle epoch and at the last."""
    names = [v for v in runs.variant.cat.categories if v in paper.TABLE_3]
    rows = {}
    for dataset in [d for d in runs.dataset.cat.categories if d in set(runs.dataset)]:
        part = runs[runs.dataset == dataset]
        of = max(runs.attrs.get("seeds", 0), part.groupby("variant", observed=True).size().max())
        for metric in ("acc", "nmi"):
            row = {}
            for name in names:
                known = paper.value(dataset, metric, name, paper.TABLE_3)
                mark = "" if dataset in paper.SAME else "°"
                row["paper", name] = NOTHING if known is None else f"{known:.2f}{mark}"
            for title, column in (("oracle epoch", f"oracle_{metric}"), ("last epoch", metric)):
                for name in names:
                    row[title, name] = _cell(part[part.variant == name], column, of)
            rows[dataset, metric.upper()] = row
    return pd.DataFrame.from_dict(rows, orient="index")


def changes(runs, reference="RELEASED", metric="acc"):
    """Every variant less RELEASED at the same seed: means by data set, then their mean.

    Returns
    -------
    pandas.DataFrame
        A row a variant, in points. The mean is over the data sets where every variant that is
        stored at all has runs.
    """
    found = {}
    for variant in [v for v in runs.variant.cat.categories if v != reference]:
        part = paired(runs, variant, reference, metric)
        if len(part):
            found[variant] = part["mean"]
    table = pd.DataFrame(found).T
    table = table[[d for d in runs.dataset.cat.categories if d in table]]
    if table.empty:
        return table
    common = table.columns[table.notna().all()]
    table["mean"] = table[common].mean(axis=1) if len(common) else np.nan
    return table


def changes_shown(runs, reference="RELEASED", metric="acc"):
    """The table of `changes` with the half widths of Student's 95 % intervals, as text."""
    numbers = changes(runs, reference, metric)
    shown = pd.DataFrame(NOTHING, index=numbers.index, columns=numbers.columns, dtype=object)
    for variant in numbers.index:
        for dataset, row in paired(runs, variant, reference, metric).iterrows():
            shown.loc[variant, dataset] = change(row["mean"], row["half"])
        if "mean" in numbers and not np.isnan(numbers.loc[variant, "mean"]):
            shown.loc[variant, "mean"] = change(numbers.loc[variant, "mean"])
    return shown


def similarity(anchors, classes):
    """Cosines between anchors sorted by class, as they are and after subtracting the mean anchor.

    Parameters
    ----------
    anchors : array of shape (m, d)
    classes : array of shape (m,), int

    Returns
    -------
    tuple of three arrays
        Two matrices (m, m) and the sorted classes.
    """
    order = np.argsort(classes, kind="stable")
    found = []
    for u in (anchors[order].astype(float), anchors[order] - anchors.mean(0, dtype=float)):
        unit = u / np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-300)
        found.append(unit @ unit.T)
    return *found, np.asarray(classes)[order]


def anchors(arrays):
    """Measures of the anchors of kept runs, a row a data set and variant.

    Returns
    -------
    pandas.DataFrame
        ``m``; ``1 − mean cosine`` of two anchors; ``effective rank`` of U; after subtracting the
        mean anchor the mean cosines ``within`` a class and ``between`` classes.
    """
    from dmac.diagnostics import effective_rank, mean_cosine

    rows = {}
    for (dataset, variant), kept in arrays.items():
        _, centred, classes = similarity(kept["anchors"], kept["anchor_classes"])
        same = classes[:, None] == classes
        pairs = ~np.eye(len(classes), dtype=bool)
        within, between = centred[same & pairs], centred[~same]
        rows[dataset, variant] = {
            "m": len(classes),
            "1 − mean cosine": 1 - mean_cosine(kept["anchors"]),
            "effective rank": effective_rank(kept["anchors"]),
            "within": within.mean() if within.size else np.nan,
            "between": between.mean() if between.size else np.nan,
        }
    columns = ["m", "1 − mean cosine", "effective rank", "within", "between"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return table.astype({"m": int})


def anchors_shown(table):
    """The table of `anchors` as text."""
    shown = table.map(lambda x: NOTHING if np.isnan(x) else f"{x:.2f}".replace("-", "−"))
    shown["1 − mean cosine"] = [f"{x:.1e}".replace("-", "−") for x in table["1 − mean cosine"]]
    return shown.assign(m=table.m)


def embeddings(runs):
    """Measures of the final embedding, mean ± sd over seeds, a row a data set and variant."""
    percent = runs.assign(neighbors=100 * runs.neighbors)
    rows = {}
    for (dataset, variant), part in percent.groupby(["dataset", "variant"], observed=True):
        rows[dataset, variant] = {
            "neighbours, %": spread(part.neighbors),
            "silhouette": spread(part.silhouette, digits=3),
            "1 − mean cosine": f"{part.one_minus_cosine.mean():.1e}".replace("-", "−"),
            "effective rank": spread(part.effective_rank, digits=2),
            "ACC": spread(part.acc),
            "seeds": len(part),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def grid_means(grid, dataset, metric="oracle_acc"):
    """Means over seeds on the grid: a row a weight of CM, a column one of the structure."""
    part = grid[grid.dataset == dataset]
    weights = {name: part.settings.str.get(name) for name in ("cm_weight", "sp_weight")}
    return part.assign(**weights).pivot_table(metric, "cm_weight", "sp_weight", aggfunc="mean")


def shares(means):
    """Shares of the variance over a whole grid: of its rows, its columns, and the rest."""
    values = means.to_numpy()
    if np.isnan(values).any() or min(values.shape) < 2 or np.ptp(values) == 0:
        return np.nan, np.nan, np.nan
    total = values.var()
    rows, columns = values.mean(1).var() / total, values.mean(0).var() / total
    return rows, columns, 1 - rows - columns


def sensitivity(grid, metric="oracle_acc"):
    """What the two weights do on every data set, as text."""
    rows = {}
    for dataset in [d for d in grid.dataset.cat.categories if d in set(grid.dataset)]:
        means = grid_means(grid, dataset, metric)
        cm, sp, rest = shares(means)
        best = means.stack().idxmax()
        fixed = (RELEASED.cm_weight, RELEASED.sp_weight)
        at_fixed = means.stack().get(fixed, np.nan)
        rows[dataset] = {
            "lowest": f"{means.min(axis=None):.1f}",
            "highest": f"{means.max(axis=None):.1f}",
            "at CM, SP": f"{best[0]:g}, {best[1]:g}",
            "RELEASED": NOTHING if np.isnan(at_fixed) else f"{at_fixed:.1f}",
            "share of CM": _percent(cm),
            "share of SP": _percent(sp),
            "rest": _percent(rest),
            "points": int(means.notna().sum(axis=None)),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def _percent(x):
    return NOTHING if np.isnan(x) else f"{100 * x:.0f} %"


#: The ways of scoring the same runs, from what a user can have to what the labels can pick.
PROTOCOLS = {
    "last epoch": "(a) last epoch",
    "epoch": "(b′) best epoch by ACC",
    "epoch, each metric": "(b) best epoch of each",
    "grid": "(c′) and weights by ACC",
    "grid, each metric": "(c) and weights of each",
}


def protocols(grid):
    """The runs of a grid scored in five ways, by seed.

    A point of the grid is chosen by its mean over the seeds, and only where all seeds are stored;
    of a single point nothing is chosen.

    Parameters
    ----------
    grid : pandas.DataFrame
        Runs of RELEASED over the two weights.

    Returns
    -------
    pandas.DataFrame
        ``dataset``, ``protocol`` (a key of `PROTOCOLS`), ``seed``, ``acc`` and ``nmi`` in %, and
        ``points``, the number of points chosen from. Nothing for a data set without RELEASED's own.
    """
    fixed, rows = {"cm_weight": RELEASED.cm_weight, "sp_weight": RELEASED.sp_weight}, []
    for dataset in [d for d in grid.dataset.cat.categories if d in set(grid.dataset)]:
        part = grid[(grid.dataset == dataset) & grid.oracle_acc.notna()]
        is_fixed = [all(s[k] == v for k, v in fixed.items()) for s in part.settings]
        own = part[is_fixed]
        seeds = set(own.seed)
        whole = part[part.seed.isin(seeds)]
        counts = whole.groupby("variant", observed=True).seed.nunique()
        whole = whole[whole.variant.isin(counts.index[counts == len(seeds)])]
        if not len(own):
            continue
        means = whole.groupby("variant", observed=True)[["oracle_acc", "oracle_nmi"]].mean()
        by_acc = whole[whole.variant == means.oracle_acc.idxmax()]
        by_nmi = whole[whole.variant == means.oracle_nmi.idxmax()].set_index("seed")
        for run in own.itertuples():
            rows += [
                (dataset, "last epoch", run.seed, run.acc, run.nmi, 1),
                (dataset, "epoch", run.seed, run.oracle_acc, _nmi_there(run), 1),
                (dataset, "epoch, each metric", run.seed, run.oracle_acc, run.oracle_nmi, 1),
            ]
        for run in by_acc.itertuples() if len(means) > 1 else ():
            nmi = by_nmi.oracle_nmi[run.seed]
            rows += [
                (dataset, "grid", run.seed, run.oracle_acc, _nmi_there(run), len(means)),
                (dataset, "grid, each metric", run.seed, run.oracle_acc, nmi, len(means)),
            ]
    frame = pd.DataFrame(rows, columns=["dataset", "protocol", "seed", "acc", "nmi", "points"])
    for name, order in (("dataset", grid.dataset.cat.categories), ("protocol", list(PROTOCOLS))):
        frame[name] = pd.Categorical(frame[name], order, ordered=True)
    return frame


def _nmi_there(run):
    """NMI of a run where its ACC is best: at an epoch, or of the returned labels."""
    acc, nmi = np.asarray(run.epochs["acc"]), np.asarray(run.epochs["nmi"])
    return run.nmi if run.acc > 100 * acc.max() + 1e-3 else 100 * nmi[acc.argmax()]


def protocols_shown(frame):
    """The table of `protocols` as text, with the paper's values where it has the data set."""
    shown = {}
    for dataset in [d for d in frame.dataset.cat.categories if d in set(frame.dataset)]:
        for metric in ("acc", "nmi"):
            part = frame[frame.dataset == dataset].groupby("protocol", observed=True)[metric]
            column = part.agg(spread)
            column.index = [PROTOCOLS[name] for name in column.index]
            known = paper.value(dataset, metric)
            mark = "" if dataset in paper.SAME else "°"
            column["the paper"] = NOTHING if known is None else f"{known:.2f}{mark}"
            shown[f"{dataset} {metric.upper()}"] = column
    return pd.DataFrame(shown, index=[*PROTOCOLS.values(), "the paper"]).fillna(NOTHING)


def gains(frame):
    """What each choice by the labels adds, in points, mean over the seeds: a row a data set."""
    means = frame.groupby(["dataset", "protocol"], observed=True)[["acc", "nmi"]].mean()
    rows = {}
    for dataset in [d for d in frame.dataset.cat.categories if d in set(frame.dataset)]:
        part = means.loc[dataset].reindex(list(PROTOCOLS))
        acc, nmi = part.acc, part.nmi
        rows[dataset] = {
            "epoch, ACC": acc["epoch"] - acc["last epoch"],
            "grid, ACC": acc["grid"] - acc["epoch"],
            "epoch, NMI": nmi["epoch"] - nmi["last epoch"],
            "own epoch, NMI": nmi["epoch, each metric"] - nmi["epoch"],
            "own weights, NMI": nmi["grid, each metric"] - nmi["epoch, each metric"],
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def run_times(runs, timings=(), variant="DMAC, released"):
    """The paper's seconds of a whole run on a GPU, and ours of RELEASED on a processor.

    Parameters
    ----------
    runs : pandas.DataFrame
        Whole runs with their 1000 epochs of pre-training, one thread each: their median.
    timings : list of dict
        Of :func:`dmac.scaling.measure`: 100 epochs of the main training, the paper's upper limit.
    variant : str

    Returns
    -------
    pandas.DataFrame
        A row a system, a column a data set of the paper's; NaN where there is none.
    """
    names = list(paper.RUN_TIMES_OF)
    table = pd.DataFrame(paper.RUN_TIMES, index=names).T
    epoch = {t["name"]: t["median"] for t in timings if t["system"] == "released"}
    table.loc["100 epochs here"] = [100 * epoch.get(name, np.nan) for name in names]
    mine = runs[runs.variant == variant].groupby("dataset", observed=True).seconds.median()
    own = [mine.get(name, np.nan) if name in paper.SAME else np.nan for name in names]
    table.loc["with pre-training here"] = own
    return table


def nearest(points):
    """Index of every point's nearest other point: (n, d) -> (n,)."""
    from scipy.spatial import cKDTree

    return cKDTree(points).query(points, k=2)[1][:, 1]
