"""Tables of chapter 15: CLOSED_FORM beside REVISED and the shallow pipelines, on sixteen data sets.

They read frames of :mod:`experiments.studies`.
"""

import pandas as pd

from experiments import records, studies, switch_tables
from experiments.compare import over_datasets
from experiments.studies import DEVELOPED, SIXTEEN

#: The methods of `beside`, in the order of its columns.
CLOSED, TRAINED, SINGLE, PICKED = "CLOSED_FORM", "REVISED", "best single", "best of four"


def read_runs(results=records.RESULTS):
    """The stored runs of all groups that chapters 11 and 15 show, by the group's name; scores in %.

    Parameters
    ----------
    results : str or path
        Folder of the store.

    Returns
    -------
    dict of str to pandas.DataFrame
        As :func:`experiments.records.runs` returns them, to two decimals, as the oldest runs
        are stored.
    """
    store = records.index(records.open_store(results).refresh())
    return {
        name: records.runs_of(store, name).round({"acc": 2, "nmi": 2})
        for name in studies.shown_on("11_recipes", "14_network", "15_evidence")
    }


def _together(*frames):
    for frame in frames:
        switch_tables.check_complete(frame)
    both = pd.concat([frame.astype({"variant": str, "dataset": str}) for frame in frames])
    both["dataset"] = pd.Categorical(both.dataset, SIXTEEN, ordered=True)
    return both


def shallow_scores(runs):
    """The four shallow pipelines on sixteen data sets.

    Parameters
    ----------
    runs : dict of str to pandas.DataFrame
        Of `read_runs`.

    Returns
    -------
    pandas.DataFrame
        Mean ``acc`` and ``nmi`` over the seeds, by ``variant`` and ``dataset``.

    Raises
    ------
    ValueError
        If runs are missing.
    """
    frame = _together(runs["baselines"], runs["shallow, new sets"])
    return frame.groupby(["variant", "dataset"], observed=True)[["acc", "nmi"]].mean()


def beside(runs):
    """CLOSED_FORM, REVISED and the shallow pipelines on sixteen data sets.

    Parameters
    ----------
    runs : dict of str to pandas.DataFrame
        Of `read_runs`.

    Returns
    -------
    pandas.DataFrame
        Means over the seeds in %, a row for each data set. The columns are pairs of a method and
        "acc" or "nmi": CLOSED_FORM, REVISED, the one shallow pipeline with the best mean ACC over
        the sixteen sets ("best single"), and the best of the four for each set and score, which
        the labels pick ("best of four").

    Raises
    ------
    ValueError
        If runs are missing.
    """
    grid = shallow_scores(runs)
    single = grid.acc.groupby("variant").mean().idxmax()
    frames = {
        CLOSED: _together(runs["closed form"]),
        TRAINED: _together(runs["revised"], runs["revised, new sets"]),
    }
    scores = {
        name: frame.groupby("dataset", observed=True)[["acc", "nmi"]].mean()
        for name, frame in frames.items()
    }
    scores[SINGLE] = grid.loc[single]
    scores[PICKED] = grid.groupby("dataset", observed=True).max()
    return pd.concat(scores, axis=1).loc[list(SIXTEEN)]


def in_short(differences, developed=DEVELOPED):
    """Mean and interval over data sets as text, in points: for all, developed on, and others.

    Parameters
    ----------
    differences : pandas.Series
        By data set.
    developed : sequence of str

    Returns
    -------
    dict of str to str
        "all", "developed on" and "others" to "mean ± half".
    """
    table = over_datasets(differences, developed)
    return {
        name: f"{row['mean']:.1f} ± {row['half']:.1f}".replace("-", "−")
        for name, row in table.iterrows()
    }


def by_part(runs, reference):
    """What CLOSED_FORM's variants change, one row each.

    Parameters
    ----------
    runs, reference : pandas.DataFrame
        A group of variants, and the group "closed form".

    Returns
    -------
    pandas.DataFrame
        In points, against CLOSED_FORM at the same seeds: the mean ``ACC`` over the data sets with
        the half width ``±`` of Student's 95 % interval over them, the means over the sets that it
        was ``developed on`` and over the ``others``, then ``NMI`` and its ``± (NMI)``.

    Raises
    ------
    ValueError
        If runs are missing.
    """
    acc = switch_tables.over_datasets(runs, reference, developed=DEVELOPED)
    nmi = switch_tables.over_datasets(runs, reference, "nmi", DEVELOPED)
    columns = {"NMI": nmi["mean"], "± (NMI)": nmi["±"]}
    return acc.rename(columns={"mean": "ACC"}).assign(**columns)


def choices(runs, seeds=(1,)):
    """Mean accuracy of CLOSED_FORM and of all its variants, at seeds that all of them have.

    Parameters
    ----------
    runs : dict of str to pandas.DataFrame
        Of `read_runs`.
    seeds : tuple of int

    Returns
    -------
    pandas.DataFrame
        In %, a row for each variant, CLOSED_FORM first, and a column for each data set.

    Raises
    ------
    ValueError
        If runs are missing.
    """
    groups = ("closed form", "closed form, parts", "closed form, constants")
    frame = _together(*(runs[group] for group in groups))
    frame = frame[frame.seed.isin(seeds)]
    means = frame.groupby(["variant", "dataset"], observed=True, sort=False).acc.mean()
    return means.unstack()[list(SIXTEEN)].rename({"closed form": CLOSED})


def leave_one_out(scores):
    """For each data set, the variant that has the best mean on all the others, and its score here.

    Parameters
    ----------
    scores : pandas.DataFrame
        Of variants, by data set: of `choices`.

    Returns
    -------
    pandas.DataFrame
        A row for each data set: the ``variant`` and its ``acc``.
    """
    rows = {}
    for dataset in scores:
        best = scores.drop(columns=dataset).mean(axis=1).idxmax()
        rows[dataset] = {"variant": best, "acc": scores.loc[best, dataset]}
    return pd.DataFrame.from_dict(rows, orient="index")
