"""The runs behind REVISED: the way there, each switch by itself, its ideas, and its robustness.

Every variant is a set of recipe fields, so that all of them are points in the same space. Chapter
11 shows their runs, which :func:`dmac.experiments.plan.full` lists with all others.
"""

import dataclasses

from dmac.experiments import search
from dmac.experiments.compare import interval
from dmac.experiments.run import BASELINES, settings_of
from dmac.recipes import RELEASED, REVISED, Recipe

#: The data sets of chapter 11, in the order of its tables.
DATASETS = (
    "PIE",
    "BBC",
    "CCV-20d",
    "ALOI-10",
    "Yale-3view",
    "BBCSport",
    "NGs",
    "HandWritten",
    "100Leaves",
)
#: Those whose labels were used to develop REVISED.
DEVELOPMENT = ("PIE", "BBC", "HandWritten", "100Leaves")

#: Where the search began: whitening, the orthonormal network and anchors resampled every epoch.
START = dict(
    root=False,
    whitening_ridge=0.0,
    anchor_factor=1.0,
    anchor_share=1.0,
    anchor_sets=200,
    anchor_iterations=5,
    vote_weight=0.0,
    vote_share=0.0,
    epochs=200,
    lr=1e-2,
)

_STEPS = {
    "twice the anchors, at most half of the samples": dict(anchor_factor=2.0, anchor_share=0.5),
    "square root": dict(root=True),
    "ridge": dict(whitening_ridge=0.03),
    "graph with Z as one more view": dict(vote_weight=1.0, vote_share=0.5),
    "60 anchor sets, 2 iterations": dict(anchor_sets=60, anchor_iterations=2),
    "120 epochs, a step larger by a quarter": dict(epochs=120, lr=1.25e-2),
}


def _walk():
    changes, walk = dict(START), {"start": dict(START)}
    for name, step in _STEPS.items():
        changes = changes | step
        walk[f"+ {name}"] = dict(changes)
    return walk


#: From the start to REVISED, each row one step further than the one above; the last *is* REVISED.
WALK = _walk()

_FROM_RELEASED = {
    "no pre-training": ("pretrain_epochs",),
    "roots and ridged whitening": ("root", "components", "whitening_ridge"),
    "linear map plus MLP, d = c": ("encoder", "negative_slope", "embedding_dim"),
    "orthonormal fusion": ("orthonormal", "normalize_embedding"),
    "k constant": ("neighbor_period",),
    "no perturbation": ("perturbation", "sigma"),
    "structure loss alone": (
        *("al_weight", "cm_weight", "sp_weight"),
        *("sp_form", "mutual_information", "detach_graph"),
    ),
    "Adam, cosine, 120 epochs": ("optimizer", "schedule", "lr", "epochs"),
    "twice the anchors": ("anchor_factor", "anchor_share"),
    "one joint graph": ("joint_graph",),
    "60 anchor sets in the views": (
        *("anchor_space", "anchor_start", "anchor_iterations", "anchor_sets"),
    ),
    "closed-form start": ("closed_form_start",),
    "graph with Z": ("vote_weight", "vote_share"),
    "unit rows, 10 starts": ("final_unit_rows", "final_n_init"),
}


def _from_released():
    old, new = dataclasses.asdict(RELEASED), dataclasses.asdict(REVISED)
    changes = {key: old[key] for key in old if key != "name" and old[key] != new[key]}
    walk = {"RELEASED": dict(changes)}
    for name, names in _FROM_RELEASED.items():
        changes = {key: value for key, value in changes.items() if key not in names}
        walk[f"+ {name}"] = changes
    return walk


#: From RELEASED to REVISED, one switch a row; the first *is* RELEASED, the last *is* REVISED.
FROM_RELEASED = _from_released()

#: The paper's three ideas, each in a form that could work here, switched on in REVISED. In none of
#: these forms are anchors learned: no gradient reaches the size of the noise, since REVISED holds
#: the graph constant, and the anchor learning loss takes its anchors as constants.
IDEAS = {
    "perturbation": dict(perturbation=True),
    "anchor learning": dict(al_weight=0.1, al_form="balanced"),
    "consistency": dict(cm_weight=0.1),
    "all three": dict(perturbation=True, al_weight=0.1, al_form="balanced", cm_weight=0.1),
}

#: REVISED with one switch set otherwise: what each part is worth, and dead ends.
SWITCHES = {
    "nothing trained (0 epochs)": dict(epochs=0),
    "linear view embeddings": dict(encoder="linear"),
    "no closed-form start": dict(closed_form_start=False),
    "no square root": dict(root=False),
    "no whitening": dict(whitening_ridge=1e6),
    "no ridge": dict(whitening_ridge=0.0),
    "one anchor set": dict(anchor_sets=1),
    "no graph with Z": dict(vote_share=0.0, vote_weight=0.0),
    "graph of Z alone beside": dict(retired="graph of Z alone"),  # in place of the vote
    "graph with Z only": dict(vote_share=1.0),
    "a graph a view": dict(joint_graph=False),
    "not orthonormal, unit rows": dict(orthonormal=False, normalize_embedding=True),
    "perturbation learned through the graph": dict(perturbation=True, detach_graph=False),
    "anchor learning, weight 1": dict(al_weight=1.0, al_form="balanced"),
    "consistency, weight 1": dict(cm_weight=1.0),
}

#: Numbers of REVISED halved and doubled; half of k = 5 neighbours is 2.
ROBUSTNESS = {
    f"{field} x {factor:g}": {field: type(value)(factor * value)}
    for field in ("components", "anchor_factor", "n_neighbors", "lr", "epochs", "hidden_dim")
    for value in (getattr(REVISED, field),)
    for factor in (0.5, 2.0)
}


def variant(changes, name="variant") -> Recipe:
    """REVISED with other values in some of its fields.

    Parameters
    ----------
    changes : dict
        Fields of :class:`dmac.recipes.Recipe` and their values.
    name : str

    Returns
    -------
    dmac.recipes.Recipe
    """
    return dataclasses.replace(REVISED, name=name, **changes)


def _runs_of(variants, **beside):
    """Name to method and settings of the variants of REVISED; ``retired`` is no field."""
    runs = {}
    for name, changes in variants.items():
        fields, retired = dict(changes), {}
        if "retired" in fields:
            retired["retired"] = fields.pop("retired")
        runs[name] = "DMAC", settings_of(variant(fields), **retired, **beside)
    return runs


def _group(variants, seeds, datasets=DATASETS):
    return dict(variants=variants, datasets=datasets, seeds=range(1, seeds + 1))


_SHALLOW = {name: (name, settings) for name, (_, settings) in BASELINES.items()}
_SEARCHED = {name: (search.METHOD, search.BASE | c) for name, c in search.VARIANTS.items()}
#: The groups of stored runs: ``variants`` (name to method and settings), ``datasets`` and
#: ``seeds``, as :func:`dmac.experiments.records.runs` takes them. Walks leave out their last row,
#: which is REVISED.
GROUPS = {
    "revised": _group(_runs_of({"revised": {}}), 10),
    "baselines": _group(_SHALLOW, 10),
    "unseen": _group(
        _runs_of({"revised": {}}, held_out=0.3), 10, ("CCV-20d", "HandWritten", "100Leaves")
    ),
    "ideas": _group(_runs_of(IDEAS), 10),
    "switches": _group(_runs_of(SWITCHES), 3),
    "robustness": _group(_runs_of(ROBUSTNESS), 3),
    "search": _group(_SEARCHED, 3, DEVELOPMENT),
    "walk": _group(_runs_of(dict(list(WALK.items())[:-1])), 3, DEVELOPMENT),
    "released": _group(_runs_of(dict(list(FROM_RELEASED.items())[:-1])), 3, ("PIE", "100Leaves")),
    "seconds": _group(_runs_of({"revised": {}}, threads=2), 3),
}


def _check_complete(runs):
    """Means over sets and seeds compare only where every variant has all of them."""
    counts = runs.groupby(["variant", "dataset"], observed=False).acc.count()
    if lacking := int((runs.attrs["seeds"] - counts).sum()):
        raise ValueError(
            f"{lacking} of {runs.attrs['seeds'] * len(counts)} runs are not stored: make them with "
            "scripts/run_experiments.py"
        )


def changes(runs, revised):
    """The differences between runs and REVISED's at the same data set and seed.

    Parameters
    ----------
    runs, revised : pandas.DataFrame
        Of :func:`dmac.experiments.records.runs`: a group, and the group "revised".

    Returns
    -------
    pandas.DataFrame
        One row per run: ``variant``, ``dataset``, ``seed``, and the changes of ``acc`` and ``nmi``.
    """
    keys, scores = ["dataset", "seed"], ["acc", "nmi"]
    both = runs.merge(revised[[*keys, *scores]], on=keys, suffixes=("", "_revised"))
    for key in scores:
        both[key] -= both[f"{key}_revised"]
    return both[["variant", *keys, *scores]]


def by_variant(runs, revised):
    """Mean changes against REVISED, one row per variant.

    Parameters
    ----------
    runs, revised
        As in `changes`.

    Returns
    -------
    pandas.DataFrame
        Changes of ACC by data set, in points; then the means of ACC and NMI over the data sets,
        each with the half width of Student's 95 % interval over the seeds.

    Raises
    ------
    ValueError
        If runs are missing.
    """
    from scipy import stats

    _check_complete(runs)
    differences, grouped = changes(runs, revised), dict(observed=True)
    table = differences.groupby(["variant", "dataset"], **grouped).acc.mean().unstack()
    for key in ("acc", "nmi"):
        seeds = differences.groupby(["variant", "seed"], **grouped)[key].mean().unstack()
        quantile = stats.t.ppf(0.975, seeds.shape[1] - 1)
        table[f"mean {key.upper()}"] = seeds.mean(axis=1)
        table[f"± ({key})"] = quantile * seeds.sem(axis=1)
    return table


def over_datasets(runs, revised, metric="acc"):
    """How far mean changes against REVISED hold on other data sets, one row per variant.

    Parameters
    ----------
    runs, revised
        As in `changes`.
    metric : {"acc", "nmi"}

    Returns
    -------
    pandas.DataFrame
        In points: the ``mean`` over the data sets with the half width ``±`` of Student's 95 %
        interval over them, and the means over those that REVISED was ``developed on`` and over the
        ``others``.

    Raises
    ------
    ValueError
        If runs are missing.
    """
    import pandas as pd  # only the book needs tables

    _check_complete(runs)
    differences = changes(runs, revised).groupby(["variant", "dataset"], observed=True)[metric]
    table = differences.mean().unstack()
    seen = table.columns.isin(DEVELOPMENT)
    intervals = [interval(row) for _, row in table.iterrows()]
    means = pd.DataFrame(intervals, index=table.index, columns=["mean", "±"])
    means["developed on"] = table.loc[:, seen].mean(axis=1)
    means["others"] = table.loc[:, ~seen].mean(axis=1)
    return means


def steps(runs, walk, revised):
    """Scores along a walk that ends at REVISED, on the data sets and seeds of its runs.

    Parameters
    ----------
    runs, revised
        As in `changes`.
    walk : dict
        `WALK` or `FROM_RELEASED`, whose last row is REVISED.

    Returns
    -------
    pandas.DataFrame
        One row per step: ACC by data set, and the means of ACC and NMI, in %.

    Raises
    ------
    ValueError
        If runs are missing.
    """
    import pandas as pd  # only the book needs tables

    _check_complete(runs)
    arrived = revised[revised.seed.isin(runs.seed) & revised.dataset.isin(runs.dataset)]
    both = pd.concat([runs.astype({"variant": str}), arrived.assign(variant=list(walk)[-1])])
    both["dataset"] = pd.Categorical(both.dataset, DATASETS, ordered=True)
    means = both.groupby(["variant", "dataset"], observed=True)[["acc", "nmi"]].mean().unstack()
    table = means.acc.loc[list(walk)]
    table["mean ACC"], table["mean NMI"] = means.acc.mean(axis=1), means.nmi.mean(axis=1)
    return table
