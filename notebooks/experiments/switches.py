"""The runs behind REVISED: the way there, each switch by itself, its ideas, and its robustness.

Every variant is a set of recipe fields, so that all of them are points in the same space. Chapter
11 shows their runs, which :func:`experiments.plan.full` lists with all others.
"""

import dataclasses

from dmac.recipes import REVISED, Recipe
from experiments.ideas import search
from experiments.ideas.network_ideas import change
from experiments.run import BASELINES, EARLY, settings_of

#: The data sets of chapter 15, in the order of its tables.
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
    old, new = dataclasses.asdict(EARLY), dataclasses.asdict(REVISED)
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
    "perturbation": dict(perturbation=True, sigma="spread"),
    "anchor learning": dict(al_weight=0.1, al_form="balanced"),
    "consistency": dict(cm_weight=0.1),
    "all three": dict(
        perturbation=True, sigma="spread", al_weight=0.1, al_form="balanced", cm_weight=0.1
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
    "no graph with Z": dict(vote_share=0.0, vote_weight=0.0),
    "graph of Z alone beside": dict(retired="graph of Z alone"),  # in place of the vote
    "graph with Z only": dict(vote_share=1.0),
    "a graph a view": dict(joint_graph=False),
    "not orthonormal, unit rows": dict(orthonormal=False, normalize_embedding=True),
    "perturbation learned through the graph": dict(
        perturbation=True, sigma="spread", detach_graph=False
    ),
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
    return change(REVISED, name=name, **changes)


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
#: ``seeds``, as :func:`experiments.records.runs` takes them. Walks leave out their last row,
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
