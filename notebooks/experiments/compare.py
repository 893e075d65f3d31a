"""The statistics of all tables and figures: variants at the same data set and seed, in points.

Means have Student's 95 % interval, over the seeds of a data set or over data sets. Functions
without text in their cells return numbers.
"""

import warnings

import numpy as np
import pandas as pd
from scipy import stats

from experiments.studies import DEVELOPMENT, SAME_SAMPLES

#: What a table has where nothing is stored.
NOTHING = "–"


def list_datasets(runs):
    """Data sets that have a run, in order."""
    return [d for d in runs.dataset.cat.categories if d in set(runs.dataset)]


def mean_and_sd(values):
    """Mean and standard deviation of the known values; the latter is 0 for a single one."""
    values = pd.Series(values, dtype=float).dropna()
    return values.mean(), values.std() if len(values) > 1 else 0.0


def t_test(values):
    """Mean, half width of Student's 95 % interval, and p of the t-test that the mean is 0.

    A single value has only the mean; where all values are 0, p is 1. Without a value all are NaN.
    """
    x = np.asarray(values, dtype=float)
    if not len(x):
        return np.nan, np.nan, np.nan
    # Of one value, and of values that are all the same.
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        test = stats.ttest_1samp(x, 0)
    low, high = test.confidence_interval(0.95)
    return x.mean(), (high - low) / 2, 1.0 if len(x) > 1 and not x.any() else test.pvalue


def interval(values):
    """Mean of some values and the half width of Student's 95 % interval; NaN for a single one."""
    return t_test(values)[:2]


def holm(p):
    """P values of several tests, adjusted by Holm's method; NaN stays NaN and does not count."""
    known = pd.Series(p, dtype=float).reset_index(drop=True).dropna().sort_values(kind="stable")
    steps = (known * np.arange(len(known), 0, -1)).cummax().clip(upper=1)
    return steps.reindex(range(len(p))).to_numpy()


def blocked_f_test(scores):
    r"""Whether the columns of a table have the same mean, with its rows as blocks.

    The two-way additive model :math:`y_{ij} = \mu + \beta_i + \tau_j + \varepsilon_{ij}` has b
    blocks and t treatments, with one value each. What the blocks differ by is taken out first, and

    .. math::

        F = \frac{b \sum_j (\bar y_{\cdot j} - \bar y)^2 / (t - 1)}
                 {\sum_{ij} (y_{ij} - \bar y_{i \cdot} - \bar y_{\cdot j} + \bar y)^2
                  / ((b - 1)(t - 1))}

    has the F distribution with t − 1 and (b − 1)(t − 1) degrees of freedom where all
    :math:`\tau_j` are 0.

    Parameters
    ----------
    scores : array of shape (b, t)
        One row per block, here a seed, and one column per treatment, here a value of a number.

    Returns
    -------
    f, p : float
        NaN with fewer than two blocks or treatments, or where all values are equal. F is 0 where
        the treatments' means are equal, and infinite where only the residuals vanish.
    """
    y = np.asarray(scores, dtype=float)
    b, t = y.shape
    if min(b, t) < 2 or np.ptp(y) == 0:
        return np.nan, np.nan
    treatments = y.mean(axis=0) - y.mean()
    residuals = y - y.mean(axis=1, keepdims=True) - treatments
    freedom = (b - 1) * (t - 1)
    between, within = b * (treatments**2).sum() / (t - 1), (residuals**2).sum() / freedom
    rounding = 1e-24 * (y**2).mean()
    if between < rounding:
        return 0.0, 1.0
    f = between / within if within > rounding else np.inf
    return f, stats.f.sf(f, t - 1, freedom)


def growth_exponent(sizes, seconds):
    """The exponent of n in the seconds, and the half width of its 95 % interval.

    The slope of their logarithms by least squares, from at least three points.
    """
    fit = stats.linregress(np.log(sizes), np.log(seconds))
    return fit.slope, stats.t.ppf(0.975, len(sizes) - 2) * fit.stderr


def best_of(runs, variants, metric="acc"):
    """By data set, which of some variants has the highest mean."""
    candidates = runs[runs.variant.isin(variants)].dropna(subset=[metric])
    means = candidates.groupby(["dataset", "variant"], observed=True)[metric].mean()
    return {dataset: part.idxmax()[1] for dataset, part in means.groupby(level=0, observed=True)}


def differences(runs, reference, metrics=("acc", "nmi")):
    """Metrics of runs minus those of others at the same data set and seed.

    Returns
    -------
    pandas.DataFrame
        One row per run: ``variant``, ``dataset``, ``seed``, and the differences of the metrics.
    """
    keys, metrics = ["dataset", "seed"], list(metrics)
    both = runs.merge(reference[[*keys, *metrics]], on=keys, suffixes=("", "_other"))
    for name in metrics:
        both[name] -= both[f"{name}_other"]
    return both[["variant", *keys, *metrics]]


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
    wanted = reference if isinstance(reference, str) else runs.dataset.astype(str).map(reference)
    others = runs[runs.variant.astype(str) == wanted]
    moved = differences(runs[runs.variant == variant], others, [metric])
    return tested(dict(list(moved.groupby("dataset", observed=True)[metric])))


def tested(groups):
    """By group, the mean of some differences with its interval and t-test, and their number."""
    known = {dataset: values.dropna() for dataset, values in groups.items()}
    rows = {dataset: (*t_test(x), len(x)) for dataset, x in known.items() if len(x)}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["mean", "half", "p", "seeds"])


def each_once(scores, same=SAME_SAMPLES):
    """Scores of data sets of which some count as one, by their mean.

    Parameters
    ----------
    scores : pandas.Series or pandas.DataFrame
        A row for each data set.
    same : dict of str to str
        Names of such data sets to one name.
    """
    return scores.groupby([same.get(name, name) for name in scores.index], sort=False).mean()


def lead(scores, method, other, same=SAME_SAMPLES):
    """How far a method is ahead of another by data set, in points; see `each_once`.

    Data sets on which one of them has no score are left out.
    """
    return each_once((scores[method] - scores[other]).dropna(), same)


def lead_over_sets(change):
    """The numbers of a `lead` in ``acc`` and ``nmi`` over the data sets.

    Returns
    -------
    dict of str to float
        The number ``n`` of data sets, on how many the method is ``ahead`` in ACC, and of each score
        the mean ``acc``, the half width ``±acc`` of Student's 95 % interval, and ``p acc``.
    """
    row = {"n": len(change), "ahead": (change.acc > 0).sum()}
    for metric in ("acc", "nmi"):
        row |= dict(zip((metric, f"±{metric}", f"p {metric}"), t_test(change[metric])))
    return row


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
    table = tested({name: part.acc - part.start_acc for name, part in groups.items()})
    table.insert(0, "before", [groups[dataset].start_acc.mean() for dataset in table.index])
    table.insert(1, "after", [groups[dataset].acc.mean() for dataset in table.index])
    return table.assign(p=holm(table.p))


def compare_repeats(runs, again, metric="acc"):
    """How far runs made a second time are from the first, with the same data, settings and seed.

    Returns
    -------
    pandas.DataFrame
        One row per variant and data set that both have, in points: the ``mean`` and the ``largest``
        distance of two runs, the distance of the two means over the seeds (``of means``), the
        standard deviation over the seeds of the first (``sd``), and the number of ``seeds``.
    """
    names = ["variant", "dataset", "seed"]
    both = runs[[*names, metric]].merge(again[[*names, metric]], on=names, suffixes=("", "_again"))
    both = both.dropna().assign(far=lambda x: x[f"{metric}_again"] - x[metric])
    both = both.astype({name: runs[name].dtype for name in names[:2]})
    groups = both.groupby(names[:2], observed=True)
    table = pd.DataFrame(
        {
            "mean": groups.far.agg(lambda far: far.abs().mean()),
            "largest": groups.far.agg(lambda far: far.abs().max()),
            "of means": groups.far.mean().abs(),
            "sd": groups[metric].std(),
            "seeds": groups.size(),
        }
    )
    return table.rename_axis([None, None])


def over_datasets(means, developed=DEVELOPMENT):
    """The mean of several data sets' means, with Student's 95 % interval over the data sets.

    Seeds say how far a result holds on one data set; this says how far it holds on another one.

    Parameters
    ----------
    means : pandas.Series
        By data set, in points.
    developed : sequence of str
        The data sets that REVISED was chosen on, by the names of the page.

    Returns
    -------
    pandas.DataFrame
        ``mean``, ``half`` width and the number of ``sets``: one row for all data sets, one for
        those that a recipe was chosen on, and one for those that were looked at.
    """
    means = means.dropna()
    seen = means.index.isin(developed)
    groups = {"all": means, "chosen on": means[seen], "looked at": means[~seen]}
    return tested(groups).drop(columns="p").rename(columns={"seeds": "sets"})


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
    parts = {name: paired_differences(runs, name, best, metric) for name in variants}
    table = pd.concat(parts, names=["variant", "dataset"]).reset_index()
    table.insert(2, "reference", table.dataset.map(best))
    table = table.assign(p=holm(table.p)).astype({"dataset": runs.dataset.dtype})
    names = ["dataset", "variant"]
    return table.sort_values(names, kind="stable").set_index(names)


def changes(runs, reference="RELEASED", metric="acc"):
    """Differences between every variant and RELEASED at the same seed, in points.

    Returns
    -------
    pandas.DataFrame
        One row per variant: the mean over the seeds on every data set, then the ``mean`` over the
        data sets where every variant that is stored at all has runs.
    """
    others, own = runs[runs.variant != reference], runs[runs.variant == reference]
    moved = differences(others, own, [metric]).dropna()
    table = moved.groupby(["variant", "dataset"], observed=True)[metric].mean().unstack()
    table = table.set_axis(list(table.index)).set_axis(list(table), axis=1)
    return table.assign(mean=table.dropna(axis=1).mean(axis=1))


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


def format_change(mean, half=np.nan):
    """A difference with its sign, and the half width of its interval if that is known."""
    if np.isnan(mean):
        return NOTHING
    text = f"{mean:+.1f}".replace("-", "−")
    text = "0.0" if text in ("+0.0", "−0.0") else text
    return text if np.isnan(half) else f"{text} ± {half:.1f}"


def format_p(p):
    """A p value for a table."""
    return NOTHING if np.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"
