"""Variants compared at the same data set and seed: differences, intervals and paired tests.

Functions without text in their cells return numbers, in points.
"""

import numpy as np
import pandas as pd

#: What a table has where nothing is stored.
NOTHING = "–"


def present(runs):
    """Data sets that have a run, in order."""
    return [d for d in runs.dataset.cat.categories if d in set(runs.dataset)]


def repeated(runs, again, metric="acc"):
    """How far runs made a second time are from the first, with the same data, settings and seed.

    Parameters
    ----------
    runs, again : pandas.DataFrame
        Of :func:`dmac.experiments.records.runs`.
    metric : str

    Returns
    -------
    pandas.DataFrame
        A row a variant and data set that both have, in points: the ``mean`` and the ``largest``
        distance of two runs, the distance of the two means over the seeds (``of means``), the
        standard deviation over the seeds of the first (``sd``), and the number of ``seeds``.
    """
    names, rows = ["variant", "dataset", "seed"], {}
    both = runs[[*names, metric]].merge(again[[*names, metric]], on=names, suffixes=("", "_again"))
    both = both.dropna()
    for variant in [v for v in runs.variant.cat.categories if v in set(both.variant)]:
        for dataset in [d for d in runs.dataset.cat.categories if d in set(both.dataset)]:
            part = both[(both.variant == variant) & (both.dataset == dataset)]
            if len(part):
                far = part[f"{metric}_again"] - part[metric]
                rows[variant, dataset] = {
                    "mean": far.abs().mean(),
                    "largest": far.abs().max(),
                    "of means": abs(far.mean()),
                    "sd": part[metric].std(),
                    "seeds": len(part),
                }
    columns = ["mean", "largest", "of means", "sd", "seeds"]
    index = pd.MultiIndex.from_arrays(list(zip(*rows)) or [[], []])  # two levels in any case
    return pd.DataFrame(list(rows.values()), index, columns)


def best_of(runs, variants, metric="acc"):
    """By data set, which of some variants has the highest mean."""
    some = runs[runs.variant.isin(variants)].dropna(subset=[metric])
    means = some.groupby(["dataset", "variant"], observed=True)[metric].mean()
    return {dataset: part.idxmax()[1] for dataset, part in means.groupby(level=0, observed=True)}


def interval(values):
    """Mean of some values and the half width of Student's 95 % interval; NaN for a single one."""
    from scipy import stats

    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return values.mean(), np.nan
    error = values.std(ddof=1) / len(values) ** 0.5
    return values.mean(), stats.t.ppf(0.975, len(values) - 1) * error


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
        mean, half = interval(change)
        row = {"mean": mean, "half": half, "p": np.nan, "seeds": len(change)}
        if len(change) > 1:
            error = change.std(ddof=1) / len(change) ** 0.5
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
