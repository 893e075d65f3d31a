"""Variants compared at the same data set and seed: differences, intervals and paired tests.

Functions without text in their cells return numbers, in points.
"""

import numpy as np
import pandas as pd

from experiments.studies import DEVELOPMENT

#: What a table has where nothing is stored.
NOTHING = "–"


def list_datasets(runs):
    """Data sets that have a run, in order."""
    return [d for d in runs.dataset.cat.categories if d in set(runs.dataset)]


def compare_repeats(runs, again, metric="acc"):
    """How far runs made a second time are from the first, with the same data, settings and seed.

    Parameters
    ----------
    runs, again : pandas.DataFrame
        Of :func:`experiments.records.runs`.
    metric : str

    Returns
    -------
    pandas.DataFrame
        One row per variant and data set that both have, in points: the ``mean`` and the ``largest``
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
    candidates = runs[runs.variant.isin(variants)].dropna(subset=[metric])
    means = candidates.groupby(["dataset", "variant"], observed=True)[metric].mean()
    return {dataset: part.idxmax()[1] for dataset, part in means.groupby(level=0, observed=True)}


def interval(values):
    """Mean of some values and the half width of Student's 95 % interval; NaN for a single one."""
    from scipy import stats

    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return values.mean(), np.nan
    error = values.std(ddof=1) / len(values) ** 0.5
    return values.mean(), stats.t.ppf(0.975, len(values) - 1) * error


def paired_differences(runs, variant, reference, metric="acc"):
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
        One row per data set: the ``mean`` difference, the ``half`` width of Student's 95 %
        interval, ``p`` of the paired t-test, and the number of ``seeds``. With one seed there is
        only the mean; where all differences are 0, p is 1.
    """
    rows = {}
    for dataset, part in runs.groupby("dataset", observed=True):
        other = reference if isinstance(reference, str) else reference.get(dataset)
        values = part.set_index(["variant", "seed"])[metric].dropna()
        known = values.index.get_level_values(0)
        if variant in known and other in known:
            rows[dataset] = values[variant] - values[other]
    return _test_differences(rows)


def training_changes(runs):
    """What the main training adds to the accuracy that the pre-training has, seed by seed.

    Parameters
    ----------
    runs : pandas.DataFrame
        Of one variant with a pre-training.

    Returns
    -------
    pandas.DataFrame
        One row per data set: the mean accuracies ``before`` and ``after`` the main training, then
        the columns of `paired_differences`, with p adjusted over the table by Holm's method.
    """
    both = runs.dropna(subset=["start_acc", "acc"])
    groups = dict(list(both.groupby("dataset", observed=True)))
    table = _test_differences({name: part.acc - part.start_acc for name, part in groups.items()})
    table.insert(0, "before", [groups[dataset].start_acc.mean() for dataset in table.index])
    table.insert(1, "after", [groups[dataset].acc.mean() for dataset in table.index])
    return table.assign(p=holm(table.p))


def _test_differences(differences):
    """By data set, some seeds' differences as a row with a mean, an interval and a t-test."""
    from scipy import stats

    rows = {}
    for dataset, values in differences.items():
        x = values.dropna().to_numpy()
        if not len(x):
            continue
        mean, half = interval(x)
        rows[dataset] = row = {"mean": mean, "half": half, "p": np.nan, "seeds": len(x)}
        if len(x) > 1:
            error = x.std(ddof=1) / len(x) ** 0.5
            constant = 0.0 if x.any() else 1.0
            row["p"] = 2 * stats.t.sf(abs(mean / error), len(x) - 1) if error else constant
    return pd.DataFrame.from_dict(rows, orient="index", columns=["mean", "half", "p", "seeds"])


def over_datasets(means, developed=DEVELOPMENT):
    """The mean of several data sets' means, with Student's 95 % interval over the data sets.

    Seeds say how far a result holds on one data set; this says how far it holds on another one.

    Parameters
    ----------
    means : pandas.Series
        By data set, in points.
    developed : sequence of str
        The data sets that REVISED was developed on, by the names of the page.

    Returns
    -------
    pandas.DataFrame
        ``mean``, ``half`` width and the number of ``sets``: one row for all data sets, one for
        those that REVISED was developed on, and one for the others.
    """
    means = means.dropna()
    seen = means.index.isin(developed)
    groups = {"all": means, "developed on": means[seen], "others": means[~seen]}
    rows = {name: (*interval(x), len(x)) for name, x in groups.items() if len(x)}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["mean", "half", "sets"])


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
    """Differences between variants and the best of some references, tested over the seeds.

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
        part = paired_differences(runs, variant, best, metric).rename_axis("dataset").reset_index()
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


def format_differences(table):
    """The table of `significance`, `paired_differences` or `training_changes` as text."""
    text = pd.DataFrame(index=table.index)
    for column in [name for name in ("before", "after") if name in table]:
        text[f"{column}, %"] = table[column].map("{:.1f}".format)
    if "reference" in table:
        text["best baseline"] = table["reference"]
    text["difference"] = [format_change(m, h) for m, h in zip(table["mean"], table["half"])]
    text["p"] = [format_p(p) for p in table.p]
    text["seeds"] = table.seeds.astype(int) if len(table) else []
    return text.rename_axis(index=[None] * table.index.nlevels)


def format_over_datasets(table):
    """The means of a table of `significance` over data sets, as text; see `over_datasets`.

    Returns
    -------
    pandas.DataFrame of str
        One row per variant: mean and half width over all data sets, over those that REVISED was
        developed on, and over the others, with their numbers in brackets.
    """
    rows = {}
    for variant in dict.fromkeys(table.index.get_level_values("variant")):
        groups = over_datasets(table["mean"].xs(variant, level="variant"))
        rows[variant] = {
            f"{group} ({row.sets:.0f})": format_change(row["mean"], row.half)
            for group, row in groups.iterrows()
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def format_change(mean, half=np.nan):
    """A difference with its sign, and the half width of its interval if that is known."""
    text = f"{mean:+.1f}".replace("-", "−")
    text = "0.0" if text in ("+0.0", "−0.0") else text
    return text if np.isnan(half) else f"{text} ± {half:.1f}"


def format_p(p):
    """A p value for a table."""
    return NOTHING if np.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def changes(runs, reference="RELEASED", metric="acc"):
    """Differences between every variant and RELEASED at the same seed, in points.

    Returns
    -------
    pandas.DataFrame
        One row per variant: the mean over the seeds on every data set, then the ``mean`` over the
        data sets where every variant that is stored at all has runs.
    """
    means = {}
    for variant in [v for v in runs.variant.cat.categories if v != reference]:
        part = paired_differences(runs, variant, reference, metric)
        if len(part):
            means[variant] = part["mean"]
    table = pd.DataFrame(means).T
    table = table[[d for d in runs.dataset.cat.categories if d in table]]
    if table.empty:
        return table
    common = table.columns[table.notna().all()]
    table["mean"] = table[common].mean(axis=1) if len(common) else np.nan
    return table


def format_changes(runs, reference="RELEASED", metric="acc"):
    """The table of `changes` with the half widths of Student's 95 % intervals, as text."""
    numbers = changes(runs, reference, metric)
    text = pd.DataFrame(NOTHING, index=numbers.index, columns=numbers.columns, dtype=object)
    for variant in numbers.index:
        for dataset, row in paired_differences(runs, variant, reference, metric).iterrows():
            text.loc[variant, dataset] = format_change(row["mean"], row["half"])
        if "mean" in numbers and not np.isnan(numbers.loc[variant, "mean"]):
            text.loc[variant, "mean"] = format_change(numbers.loc[variant, "mean"])
    return text
