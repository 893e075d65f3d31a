"""The runs behind CLOSED_FORM: sixteen data sets, its parts, its constants, and views that are bad.

It was developed on nine sets; seven others, looked at once on the way, are there to confirm it.
Chapters 11 and 15 show the runs, which :func:`experiments.plan.full` lists with all others.
"""

import dataclasses

from dmac.recipes import CLOSED_FORM, PUBLISHED, RELEASED, REVISED
from experiments.ideas.refinement import FORMS
from experiments.ideas.spectral_ideas import idea_of
from experiments.run import BASELINES, DISTURBED, peer_settings, settings_of
from experiments.run import disturb as disturb

#: Data sets whose labels were looked at while CLOSED_FORM was developed.
DEVELOPED = (
    *("PIE", "BBC", "HandWritten", "100Leaves"),
    *("3Sources", "CiteSeer", "Cora", "MNIST-4", "WebKB"),
)
#: The others.
CONFIRMED = ("CCV-20d", "ALOI-10", "Yale-3view", "BBCSport", "NGs", "HW2sources", "Hdigit")
SIXTEEN = (*DEVELOPED, *CONFIRMED)
#: Those that REVISED, of the first round, had not met.
NEW = ("3Sources", "CiteSeer", "Cora", "MNIST-4", "WebKB", "HW2sources", "Hdigit")

#: CLOSED_FORM with one part set otherwise. The last has the votes of the rule that it started from.
PARTS = {
    "a cut at c": dict(filter="cut"),
    "whitened level alone": dict(levels="whitened"),
    "plain level alone": dict(levels="plain"),
    "equal weights of the levels": dict(level_weight="equal"),
    "all views side by side alone": dict(blocks="joint"),
    "single views alone": dict(blocks="views"),
    "one anchor set a block": dict(anchor_sets=1),
    "no votes": dict(vote_rounds=0),
    "filtered votes alone": dict(vote_form="filtered"),
    "learned votes alone": dict(vote_form="learned"),
    "flat votes": dict(vote_form="flat"),
    "no guard": dict(guard=0.0),
    "two rounds of votes": dict(vote_rounds=2),
    "three rounds, flat votes": dict(vote_rounds=3, vote_form="flat"),
}

#: The paper's three ideas in forms whose gradient reaches the anchors, or the noise on them.
IDEAS = {form: dict(refinement=form) for forms in FORMS.values() for form in forms}
#: A network trained on the same graphs: its vote in place of the linear map's, or its embedding,
#: with the filter, in place of the eigenvectors.
TRAINED = {
    "trained votes": dict(vote_form="trained", trained_epochs=60),
    "trained embedding": dict(trained_embedding=True, trained_epochs=60),
}

#: A step on the way: filtered votes alone, without a guard, and eight anchor sets.
BEFORE = dict(vote_form="filtered", guard=0.0, anchor_sets=8)

#: Its numbers halved and doubled; half of k = 5 neighbours is 2.
CONSTANTS = {
    f"{field} x {factor:g}": {field: type(value)(factor * value)}
    for field in (
        *("n_neighbors", "anchor_factor", "anchor_share", "anchor_sets", "anchor_iterations"),
        *("components", "whitening_ridge", "plain_components"),
        *("filter_power", "filter_offset", "filter_factor", "vote_weight", "vote_ridge"),
    )
    for value in (getattr(CLOSED_FORM, field),)
    for factor in (0.5, 2.0)
    if (field, factor) != ("anchor_share", 2.0)  # as many anchors as samples
}


def variant(changes, name="variant"):
    """CLOSED_FORM with other values in some of its fields, or an idea on it."""
    own = {field.name for field in dataclasses.fields(CLOSED_FORM)}
    if set(changes) - own or changes.get("vote_form") == "trained":
        return idea_of(CLOSED_FORM, name=name, **changes)
    return dataclasses.replace(CLOSED_FORM, name=name, **changes)


def _runs_of(variants, **beside):
    return {n: ("DMAC", settings_of(variant(c), **beside)) for n, c in variants.items()}


def _group(variants, seeds, datasets=SIXTEEN):
    return dict(variants=variants, datasets=datasets, seeds=range(1, seeds + 1))


_SHALLOW = {name: (name, settings) for name, (_, settings) in BASELINES.items()}
_BAD = {k: run for kind in DISTURBED for k, run in _runs_of({kind: {}}, disturbed=kind).items()}
#: The groups of stored runs, as :data:`experiments.switches.GROUPS` has them.
GROUPS = {
    "closed form": _group(_runs_of({"closed form": {}}), 10),
    "closed form, before": _group(_runs_of({"before": BEFORE}), 9),
    "shallow, new sets": _group(_SHALLOW, 10, NEW),
    "revised, new sets": _group({"revised": ("DMAC", settings_of(REVISED))}, 3, NEW),
    "released, new sets": _group({"released": ("DMAC", settings_of(RELEASED))}, 3, NEW),
    "published, new sets": _group({"published": ("DMAC", settings_of(PUBLISHED))}, 3, NEW),
    "closed form, unseen": _group(
        _runs_of({"closed form": {}}, held_out=0.3),
        10,
        ("HandWritten", "100Leaves", "PIE", "BBC", "MNIST-4"),
    ),
    "closed form, seconds": _group(
        {
            f"{t} thread{'s' * (t > 1)}": run
            for t in (1, 2)
            for run in _runs_of({"closed form": {}}, threads=t).values()
        },
        1,
    ),
    "closed form, bad views": _group(_BAD, 3, ("PIE", "BBC", "HandWritten")),
    "closed form, parts": _group(_runs_of(PARTS), 1),
    "closed form, trained": _group(_runs_of(TRAINED), 3),
    "closed form, ideas": _group(_runs_of(IDEAS), 10),
    "closed form, constants": _group(_runs_of(CONSTANTS), 1),
}

#: Tumours, tissue, cells and web pages, whose labels may be looked at in developing a recipe.
BROUGHT = (
    *("TCGA-LGG-511", "ROSMAP-351", "CESC-124", "BreastTCGA-150"),
    *("CITEseq-PBMC-1182", "WebKB-Wisconsin-265"),
)
#: Those on which a finished recipe is reported, and by which nothing is chosen.
REPORTED = (
    *("ACM", "BDGP-1000-500", "BreastCancer-3", "Dermatology", "Digits8x8-3", "LandUse-21"),
    *("MSRC-v1-5view", "MSRC-v1-6view", "Movies", "ORL-4view", "Prokaryotic", "ProteinFold"),
    *("Reuters-1200", "Scene-15", "Synthetic3d", "WebKB-203", "Wiki", "WikipediaArticles"),
)
#: Of these pairs the second has samples of the first: a mean over data sets counts them once.
SAME_SAMPLES = {"MSRC-v1-6view": "MSRC-v1-5view", "WikipediaArticles": "Wiki"}
FURTHER = (*BROUGHT, *REPORTED)
#: The runs on all of them. GMC draws nothing, and SNF little; SNF gets features standardised, as
#: published, and as they come.
GROUPS |= {
    "further sets, closed form": _group(_runs_of({"closed form": {}}), 10, FURTHER),
    "further sets, shallow": _group(_SHALLOW, 10, FURTHER),
    "further sets, LMVSC": _group({"LMVSC": ("LMVSC", peer_settings("LMVSC"))}, 10, FURTHER),
    "further sets, SNF": _group({"SNF": ("SNF", peer_settings("SNF"))}, 3, FURTHER),
    "further sets, SNF as they come": _group(
        {"SNF, as they come": ("SNF", peer_settings("SNF", scale="none"))}, 1, FURTHER
    ),
    "further sets, GMC": _group({"GMC": ("GMC", peer_settings("GMC"))}, 1, FURTHER),
    "further sets, revised": _group({"revised": ("DMAC", settings_of(REVISED))}, 3, FURTHER),
}
