"""Tables of chapters 11 to 13 and of the start page: the book's recipes and what they hold on.

They read frames of :mod:`experiments.studies`, in which no run may be missing: means compare only
where every variant has all of them.
"""

import pandas as pd

from dmac.data.datasets import DATASETS, KINDS
from experiments import compare, field, paper, records, studies
from experiments.run import BASELINES
from experiments.studies import CLOSED, DEVELOPED, DEVELOPMENT, SIXTEEN

#: The methods of `beside` after `CLOSED`, in the order of its columns.
TRAINED, SINGLE, PICKED = "REVISED", "best single", "best of four"
#: The best single pipeline of all pages: of the four without training the one with the best mean
#: accuracy over the sets that CLOSED_FORM was chosen on. No page picks it by scores that it shows.
BEST_SINGLE = "landmark spectral clustering"
#: From so many sets on a mean has an interval: of fewer it says little more than that.
FEWEST = 5
#: The recipe that parts were taken out of: all views count alike.
DATED = "CLOSED_FORM_2026_11"


def read_runs(results=records.RESULTS):
    """The stored runs of the studies that chapters 11 to 13 show, by name; scores in %.

    To two decimals, as the oldest runs are stored.
    """
    return {
        name: records.read_study(name, results).round({"acc": 2, "nmi": 2})
        for name in studies.shown_on("12_recipes", "11_network", "13_evidence")
    }


def read_lacking():
    """The stored runs on samples that lack views.

    Returns
    -------
    pandas.DataFrame
        A row for each run: ``recipe``, ``data``, ``pattern``, ``rate``, ``seed``, and ``acc`` and
        ``nmi`` in %, which are NaN where a fit failed or was stopped.
    """
    names = [name for name in studies.STUDIES if name.startswith("lacking views")]
    runs = pd.concat([records.read_study(name) for name in names], ignore_index=True)
    runs[["recipe", "pattern", "rate"]] = runs.variant.str.rsplit(", ", n=2, expand=True)
    runs = runs.rename(columns={"dataset": "data"}).astype({"rate": float, "data": str})
    return runs.round({"acc": 2, "nmi": 2})


def with_study(scores, name):
    """Scores with those of a study of one variant, on the data sets that have all its runs.

    Parameters
    ----------
    scores : pandas.DataFrame
        Of `scores_of`.
    name : str
        In :data:`experiments.studies.STUDIES`; its runs may still be coming in.
    """
    study = studies.STUDIES[name]
    (variant,) = study.variants
    runs = records.whole(records.read_study(name), study.seeds).astype({"dataset": str})
    means = runs.groupby("dataset")[["acc", "nmi"]].mean()
    return scores.join(pd.concat({variant: means}, axis=1), how="inner")


def within(scores, groups):
    """Groups of data sets without those that a table has not."""
    return {name: [x for x in names if x in scores.index] for name, names in groups.items()}


def check_complete(runs):
    """Refuse a study with missing runs.

    Raises
    ------
    ValueError
        If runs are missing, as in all functions below that take runs.
    """
    counts = runs.groupby(["variant", "dataset"], observed=False).acc.count()
    if lacking := int((runs.attrs["seeds"] - counts).sum()):
        raise ValueError(
            f"{lacking} of {runs.attrs['seeds'] * len(counts)} runs are not stored: make them with "
            "scripts/run_experiments.py"
        )


def by_variant(runs, reference):
    """Mean changes against a recipe, one row per variant, in points.

    Returns
    -------
    pandas.DataFrame
        Changes of ACC by data set; then the means of ACC and NMI over the data sets, each with the
        half width of Student's 95 % interval over the seeds.
    """
    check_complete(runs)
    moved, grouped = compare.differences(runs, reference), dict(observed=True)
    table = moved.groupby(["variant", "dataset"], **grouped).acc.mean().unstack()
    for key in ("acc", "nmi"):
        seeds = moved.groupby(["variant", "seed"], **grouped)[key].mean().unstack()
        means = {variant: compare.interval(row) for variant, row in seeds.iterrows()}
        table[f"mean {key.upper()}"] = {variant: mean for variant, (mean, _) in means.items()}
        table[f"± ({key})"] = {variant: half for variant, (_, half) in means.items()}
    return table


def over_datasets(runs, reference, metric="acc", developed=DEVELOPMENT):
    """How far mean changes against a recipe hold on other data sets, one row per variant.

    Returns
    -------
    pandas.DataFrame
        In points: the ``mean`` over the data sets with the half width ``±`` of Student's 95 %
        interval over them, and the means over those that the recipe was ``chosen on`` and over
        those that were ``looked at``.
    """
    check_complete(runs)
    moved = compare.differences(runs, reference)
    means = moved.groupby(["variant", "dataset"], observed=True)[metric].mean().unstack()
    groups = {variant: compare.over_datasets(row, developed) for variant, row in means.iterrows()}
    rows = {
        variant: {"mean": table["mean"]["all"], "±": table.half["all"]}
        | table["mean"].drop("all").to_dict()
        for variant, table in groups.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def by_part(runs, reference):
    """What variants of the closed form change: `over_datasets` of ACC, ``NMI`` and ``± (NMI)``."""
    acc = over_datasets(runs, reference, developed=DEVELOPED)
    nmi = over_datasets(runs, reference, "nmi", DEVELOPED)
    columns = {"NMI": nmi["mean"], "± (NMI)": nmi["±"]}
    return acc.rename(columns={"mean": "ACC"}).assign(**columns)


def beside(runs):
    """`scores_of` CLOSED_FORM and REVISED on the sixteen sets, beside the pipelines in short."""
    return scores_of(runs, (CLOSED, TRAINED), SIXTEEN)[[CLOSED, TRAINED, SINGLE, PICKED]]


def choices(runs):
    """ACC of CLOSED_FORM_2026_11, first, and its variants, at the seed that all of them have."""
    groups = ("closed form, 2026-11", "closed form, parts", "closed form, constants")
    frame = _runs_on(SIXTEEN, *(runs[group] for group in groups))
    frame = frame[frame.seed == 1]
    means = frame.groupby(["variant", "dataset"], sort=False).acc.mean()
    return means.unstack()[list(SIXTEEN)].rename({"closed form, 2026-11": DATED})


def leave_one_out(scores):
    """For each data set of `choices`, the variant that is best on all others, and its ACC here."""
    rows = {}
    for dataset in scores:
        best = scores.drop(columns=dataset).mean(axis=1).idxmax()
        rows[dataset] = {"variant": best, "acc": scores.loc[best, dataset]}
    return pd.DataFrame.from_dict(rows, orient="index")


def beside_shallow():
    """REVISED minus the best single pipeline on its nine sets: ACC by data set."""
    revised = records.read_study("revised").groupby("dataset", observed=True).acc.mean()
    names = ["variant", "dataset"]
    shallow = records.read_study("baselines").groupby(names, observed=True).acc.mean()
    return revised - shallow[BEST_SINGLE]


def whole_samples(datasets=("Yale", "PIE", "BBC")):
    """Which accuracies of the paper's Table 2 are those of a whole number of samples.

    Of n samples a single run gets a whole number right. The mean of ten runs is a multiple of
    1 / (10 n), and one in ten of those is a multiple of 1 / n.

    Parameters
    ----------
    datasets : tuple of str
        Of the paper, small enough that the two decimals of the table tell.

    Returns
    -------
    pandas.DataFrame
        A row for each method and data set: ``method``, ``dataset``, ``acc`` as printed, in %, the
        nearest number of samples ``hits`` of ``n``, whether that is the accuracy as printed
        (``whole``), and the ``chance`` of this for a mean of ten runs, all multiples of
        1 / (10 n) being equally likely.
    """
    rows = []
    for dataset in datasets:
        n = paper.DATASETS[dataset][0]
        printed = {f"{100 * hits / n:.2f}" for hits in range(n + 1)}
        means = [f"{10 * hits / n:.2f}" for hits in range(10 * n + 1)]
        chance = sum(mean in printed for mean in means) / len(means)
        for method in paper.TABLE_2:
            acc = paper.value(dataset, "acc", method)
            whole = f"{acc:.2f}" in printed
            rows.append((method, dataset, acc, round(acc * n / 100), n, whole, chance))
    columns = ["method", "dataset", "acc", "hits", "n", "whole", "chance"]
    return pd.DataFrame(rows, columns=columns)


#: The studies that have a method's runs, each on other data sets. Where a study has several
#: methods, its variants have their names.
METHODS = {
    CLOSED: ("closed form", "further sets, closed form", "held out, closed form"),
    DATED: (
        *("closed form, 2026-11", "further sets, closed form, 2026-11"),
        "held out, closed form, 2026-11",
    ),
    TRAINED: (
        *("revised", "revised, new sets", "further sets, revised"),
        "held out, revised",
    ),
    "SNF": ("sixteen sets, SNF", "further sets, SNF", "held out, SNF"),
    "NEMO": ("sixteen sets, NEMO", "further sets, NEMO"),
    "LMVSC": ("further sets, LMVSC", "held out, LMVSC"),
    "GMC": ("further sets, GMC", "held out, GMC"),
    "SNF as they come": ("further sets, SNF as they come",),
    **dict.fromkeys(
        BASELINES, ("baselines", "shallow, new sets", "further sets, shallow", "held out, shallow")
    ),
    **dict.fromkeys(field.STANDARD, ("field, standard",)),
    **dict.fromkeys(field.CELLS_ONLY, ("field, cells and omics",)),
}


def scores_of(runs, methods, datasets):
    """Means over the seeds on some data sets, in %.

    Parameters
    ----------
    runs : dict of str to pandas.DataFrame
        Of `read_runs`.
    methods : sequence of str
        Keys of `METHODS`; the four shallow pipelines are always there.
    datasets : sequence of str

    Returns
    -------
    pandas.DataFrame
        A row for each data set. The columns are pairs of a method and "acc" or "nmi": the methods,
        the pipelines, `BEST_SINGLE` again as "best single", and the best of the pipelines for each
        set and score, which the labels pick ("best of four").

    Raises
    ------
    ValueError
        If runs are missing.
    """
    scores = {}
    for name in (*methods, *BASELINES):
        frame = _runs_on(datasets, *map(runs.get, METHODS[name]))
        frame = frame[frame.variant == name] if name in set(frame.variant) else frame
        scores[name] = frame.groupby("dataset")[["acc", "nmi"]].mean()
    pipelines = pd.concat([scores[name] for name in BASELINES])
    scores[SINGLE], scores[PICKED] = scores[BEST_SINGLE], pipelines.groupby("dataset").max()
    table = pd.concat(scores, axis=1).reindex(list(datasets))
    if table.isna().any(axis=None):
        raise ValueError(
            f"no runs are stored on {', '.join(table.index[table.isna().any(axis=1)])}"
        )
    return table


def _runs_on(datasets, *frames):
    """The runs of several studies on some data sets, by the names of these."""
    here = []
    for frame in frames:
        some = frame[frame.dataset.isin(datasets)].copy()
        some["dataset"] = some.dataset.cat.remove_unused_categories()
        check_complete(some)
        here.append(some.astype({"variant": str, "dataset": str}))
    return pd.concat(here)


def by_kind(datasets):
    """Data sets by kind of data."""
    kinds = {kind: [n for n in datasets if DATASETS[n].kind == kind] for kind in KINDS}
    return {kind: names for kind, names in kinds.items() if names}


def gains(scores, reference, method=CLOSED, groups=studies.GROUPS):
    """What a method gains over another on groups of data sets, with intervals over the sets.

    Parameters
    ----------
    scores : pandas.DataFrame
        Of `scores_of`.
    reference : str
        A method of its columns.
    method : str
    groups : dict of str to sequence of str

    Returns
    -------
    pandas.DataFrame
        A row for each of the groups, in points: the mean difference of ``acc`` and of
        ``nmi``, the half widths ``±acc`` and ``±nmi`` of Student's 95 % intervals over the data
        sets, and ``n``, how many these are: two sets with the same samples in one group are one,
        with their mean. On ``ahead`` of them the method has the higher ACC.
    """
    rows = {
        name: compare.lead_over_sets(compare.lead(scores.loc[list(names)], method, reference))
        for name, names in groups.items()
    }
    columns = ["n", "ahead", "acc", "±acc", "nmi", "±nmi"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def beside_field(runs):
    """What the closed form gains over the tools of the field, by group and by kind of data.

    Parameters
    ----------
    runs : dict of str to pandas.DataFrame
        Of `read_runs`.

    Returns
    -------
    pandas.DataFrame
        The columns of `gains`, with a row for each pair of a tool and a group or kind: the standard
        pipeline on every data set, WNN and MOFA+ on those of cells and omics.
    """
    tables, every = {}, {"all": studies.EVERY, **studies.GROUPS, "held out": studies.HELD_OUT}
    for tool in field.EVERY:
        here = studies.STUDIES[METHODS[tool][0]].datasets
        groups = {name: [n for n in names if n in here] for name, names in every.items()}
        groups = {name: names for name, names in groups.items() if names} | by_kind(here)
        tables[tool] = gains(scores_of(runs, (CLOSED, tool), here), tool, groups=groups)
    return pd.concat(tables, names=["tool", "data"])


def means_of(scores, groups=studies.GROUPS):
    """Means over the data sets of each group, two sets with the same samples as one.

    Parameters
    ----------
    scores : pandas.DataFrame
        Of `scores_of`.
    groups : dict of str to sequence of str

    Returns
    -------
    pandas.DataFrame
        A row for each group, with the columns of ``scores``.
    """
    rows = {
        name: compare.each_once(scores.loc[list(names)]).mean() for name, names in groups.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def format_gains(table):
    """The gains of `gains` as text, each with its half width where `FEWEST` sets or more count.

    Returns
    -------
    pandas.DataFrame of str
        The columns ``ACC`` and ``NMI``, in points.
    """
    text = pd.DataFrame(index=table.index)
    for metric in ("acc", "nmi"):
        rows = zip(table[metric], table[f"±{metric}"].where(table.n >= FEWEST))
        text[metric.upper()] = [compare.format_change(*row) for row in rows]
    return text
