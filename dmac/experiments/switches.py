"""The runs behind REVISED: the way there, each switch by itself, its ideas, and its robustness.

Every variant is a set of recipe fields, so that all of them are points in the same space.
``scripts/run_recipes.py`` makes the stored runs; chapter 11 shows those that are complete.
"""

import dataclasses
import json
from pathlib import Path

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

#: Where the search began: whitening, the orthonormal network and anchors resampled every epoch.
START = dict(
    root=False,
    whitening_ridge=0.0,
    anchor_factor=1.0,
    anchor_share=1.0,
    anchor_sets=200,
    anchor_iterations=5,
    self_weight=0.0,
    self_share=0.0,
    epochs=200,
    lr=1e-2,
)

_STEPS = {
    "twice the anchors, at most half of the samples": dict(anchor_factor=2.0, anchor_share=0.5),
    "square root": dict(root=True),
    "ridge": dict(whitening_ridge=0.03),
    "graph with Z as one more view": dict(self_weight=1.0, self_share=0.5),
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
    "graph with Z": ("self_weight", "self_share", "self_iterations"),
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

#: The paper's three ideas, each in a form that could work here, switched on in REVISED.
IDEAS = {
    "perturbation": dict(perturbation=True, spread=0.5),
    "anchor learning": dict(al_weight=0.1, al_form="balanced"),
    "consistency": dict(cm_weight=0.1),
    "all three": dict(
        perturbation=True, spread=0.5, al_weight=0.1, al_form="balanced", cm_weight=0.1
    ),
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
    "no graph with Z": dict(self_share=0.0, self_weight=0.0),
    "graph of Z alone beside": dict(self_views=False),
    "graph with Z only": dict(self_share=1.0),
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

#: Group of stored runs: its variants by name, and the number of seeds.
GROUPS = {
    "revised": ({"revised": {}}, 10),
    "ideas": (IDEAS, 10),
    "robustness": (ROBUSTNESS, 3),
    "switches": (SWITCHES, 3),
    "walk": (dict(list(WALK.items())[:-1]), 3),
    "released": (dict(list(FROM_RELEASED.items())[:-1]), 3),
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


def stored(group, folder):
    """Read a group of stored runs.

    Parameters
    ----------
    group : str
        A name in `GROUPS`, or "baselines", "unseen", "seconds", "search".
    folder : str or path
        ``notebooks/results/recipes``.

    Returns
    -------
    pandas.DataFrame
        A row a run, by variant, data set (in the order of `DATASETS`) and seed: ``acc`` and ``nmi``
        in %, and whatever else the group keeps.
    """
    import pandas as pd  # only the book needs tables

    lines = (Path(folder) / f"{group}.jsonl").read_text().splitlines()
    runs = pd.DataFrame([json.loads(line) for line in lines])
    # Runs are stored as they finish; the order must not depend on that.
    variants = list(GROUPS[group][0]) if group in GROUPS else list(dict.fromkeys(runs.variant))
    runs["variant"] = pd.Categorical(runs.variant, variants, ordered=True)
    runs["dataset"] = pd.Categorical(runs.dataset, DATASETS, ordered=True)
    return runs.sort_values(["variant", "dataset", "seed"], ignore_index=True)


def changes(group, folder):
    """Stored runs less REVISED's at the same data set and seed.

    Parameters
    ----------
    group, folder
        As in `stored`.

    Returns
    -------
    pandas.DataFrame
        A row a run: ``variant``, ``dataset``, ``seed``, and the changes of ``acc`` and ``nmi``.
    """
    keys, scores = ["dataset", "seed"], ["acc", "nmi"]
    reference = stored("revised", folder)[[*keys, *scores]]
    both = stored(group, folder).merge(reference, on=keys, suffixes=("", "_revised"))
    for key in scores:
        both[key] -= both[f"{key}_revised"]
    return both[["variant", *keys, *scores]]


def _check_complete(runs, group):
    """Means over sets and seeds compare only where every variant has all of them."""
    seeds = runs.groupby(["variant", "dataset"], observed=True).seed.nunique().unstack()
    if seeds.isna().any(axis=None) or len(set(seeds.to_numpy().ravel())) != 1:
        raise ValueError(f"the stored runs of {group!r} are not complete: make the missing ones")


def by_variant(group, folder):
    """Mean changes against REVISED, a row a variant.

    Parameters
    ----------
    group, folder
        As in `stored`.

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

    runs, grouped = changes(group, folder), dict(observed=True)
    _check_complete(runs, group)
    table = runs.groupby(["variant", "dataset"], **grouped).acc.mean().unstack()
    for key in ("acc", "nmi"):
        seeds = runs.groupby(["variant", "seed"], **grouped)[key].mean().unstack()
        quantile = stats.t.ppf(0.975, seeds.shape[1] - 1)
        table[f"mean {key.upper()}"] = seeds.mean(axis=1)
        table[f"± ({key})"] = quantile * seeds.sem(axis=1)
    return table


def steps(group, walk, folder):
    """Scores along a walk that ends at REVISED, on the data sets and seeds of the stored runs.

    Parameters
    ----------
    group, folder
        As in `stored`.
    walk : dict
        `WALK` or `FROM_RELEASED`, whose last row is REVISED.

    Returns
    -------
    pandas.DataFrame
        A row a step: ACC by data set, and the means of ACC and NMI, in %.
    """
    import pandas as pd

    runs, arrived = stored(group, folder), stored("revised", folder)
    _check_complete(runs, group)
    arrived = arrived[arrived.seed.isin(runs.seed) & arrived.dataset.isin(runs.dataset)]
    runs = pd.concat([runs.astype({"variant": str}), arrived.assign(variant=list(walk)[-1])])
    runs["dataset"] = pd.Categorical(runs.dataset, DATASETS, ordered=True)
    means = runs.groupby(["variant", "dataset"], observed=True)[["acc", "nmi"]].mean().unstack()
    table = means.acc.loc[list(walk)]
    table["mean ACC"], table["mean NMI"] = means.acc.mean(axis=1), means.nmi.mean(axis=1)
    return table
