"""Every list of variants: what is run, on which data sets, with how many seeds, for which pages.

A variant is a name, under which tables show it, and what is run: method and settings. A `Study` is
some variants with their data sets and seeds; :mod:`experiments.plan` puts the studies in order.
"""

import itertools
import operator
from dataclasses import dataclass, replace

from dmac.data.datasets import DATASETS
from dmac.recipes import (
    CLOSED_FORM,
    CLOSED_FORM_0_2,
    CLOSED_FORM_2026_11,
    PUBLISHED,
    RELEASED,
    REVISED,
    NetworkRecipe,
)
from experiments import field, incomplete, paper
from experiments.libraries import ESTIMATORS, library_settings
from experiments.run import (
    ALONE,
    BASELINES,
    DISTURBED,
    PEERS,
    SUGGESTED,
    SURE,
    peer_settings,
    retired_settings,
    settings_of,
)

#: Data sets of the pages that show all of a figure's panels, and the others of the first nine.
MAIN = ("PIE", "Yale-3view", "mfeat", "BBC")
OTHERS = ("ALOI-10", "100Leaves", "CCV-20d", "BBCSport", "NGs")
#: Those of which arrays are kept, for figures 3 and 4.
SHOWN = ("BBC", "PIE", "mfeat")
#: The nine of REVISED, in the order of its tables, and those whose labels were used to develop it.
NINE = (
    *("PIE", "BBC", "CCV-20d", "ALOI-10", "Yale-3view"),
    *("BBCSport", "NGs", "HandWritten", "100Leaves"),
)
DEVELOPMENT = ("PIE", "BBC", "HandWritten", "100Leaves")
#: Data sets whose labels were looked at while AGC of 0.2.0 was developed, and those to confirm it.
DEVELOPED = (*DEVELOPMENT, "3Sources", "CiteSeer", "Cora", "MNIST-4", "WebKB")
CONFIRMED = ("CCV-20d", "ALOI-10", "Yale-3view", "BBCSport", "NGs", "HW2sources", "Hdigit")
SIXTEEN = (*DEVELOPED, *CONFIRMED)
#: Those that REVISED had not met.
NEW = tuple(name for name in SIXTEEN if name not in NINE)
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
#: Held out: no part or constant of AGC of 0.2.0 was chosen by them. Ten had been scored once by
#: an earlier recipe, and the scores said on which kinds of data to work next; on sixteen nothing
#: had been scored when AGC of 0.2.0 was finished. It is frozen by these: what computes something
#: else gets another name, and needs other data sets.
SCORED_BEFORE = (
    *("TCGA-BRCA-769", "TCGA-KIPAN-633"),
    *("sciCAR-A549-2641", "SNAREseq-1047", "scGEM-177"),
    *("Reuters-600", "WebKB-Cornell-195"),
    *("CUB-600", "Caltech101-10-2906", "MNIST-10-2000"),
)
NEVER_SCORED = (
    *("NCI60-60", "LiverTox-64", "TARA-139", "scMT-mESC-77"),
    *("Ads-998", "WebKB-Texas-187", "CKM-246", "TIMME-PureP-583"),
    *("PoliticsUK-419", "Yelp-business-1448"),
    *("COIL20-1440", "Segmentation-2100", "Leaf-340"),
    *("BasicMotions-80", "Libras-360", "RobotFailure-LP5-164"),
)
HELD_OUT = (*SCORED_BEFORE, *NEVER_SCORED)
#: Of these, two whose views look reduced by the labels.
REDUCED = ("COIL20-1440", "MNIST-10-2000")
_LOOKED_AT = (
    *("ALOI-10", "HW2sources", "Hdigit"),
    *("LandUse-21", "MSRC-v1-5view", "ORL-4view", "ProteinFold", "Scene-15"),
)
_TOUCHED_ONCE = (
    *("ACM", "BreastCancer-3", "Dermatology", "Digits8x8-3"),
    *("MSRC-v1-6view", "Movies", "Synthetic3d", "WikipediaArticles"),
)
#: Every data set, by what had happened to its labels before AGC of 0.2.0 was finished: the recipe,
#: or its first rule, was chosen with them in view; variants were looked at on them; the finished
#: rule was scored on them once; an earlier recipe was; nothing.
GROUPS = {
    "chosen on": tuple(
        name for name in (*SIXTEEN, *FURTHER) if name not in (*_LOOKED_AT, *_TOUCHED_ONCE)
    ),
    "looked at": _LOOKED_AT,
    "touched once": _TOUCHED_ONCE,
    "scored before": SCORED_BEFORE,
    "never scored": NEVER_SCORED,
}
#: All of them.
EVERY = tuple(name for group in GROUPS.values() for name in group)
#: Of the sixteen, those on which NEMO and SNF are run, which hold n x n matrices: with more than
#: 5000 samples a fit takes minutes and several GB.
SQUARE = tuple(name for name in SIXTEEN if name not in ("CCV-20d", "Hdigit"))
#: Those on which the other systems are run.
PEER_DATASETS = (
    *("PIE", "BBC", "mfeat", "100Leaves", "NGs", "BBCSport"),
    *("Yale-3view", "3Sources", "MNIST-4"),
)
#: Those on which the systems that train a network get a tenth of their epochs: with all of them,
#: three seeds there would take one core a day and a half.
SHORTENED = ("mfeat", "100Leaves", "MNIST-4")
#: Those on which they get both, to see what the other nine tenths are worth.
BOTH_SCHEDULES = ("PIE", "BBCSport", "Yale-3view", "3Sources")
#: Clusters of the data sets that are the paper's.
CLUSTERS = {name: paper.DATASETS[theirs][1] for name, theirs in paper.SAME.items()}
SEEDS = 10
FEW = 3

#: What tables call anchor-graph clustering: of 0.2.0, whose runs are stored, and the default.
CLOSED, DEFAULT = "AGC 0.2.0", "AGC 0.3.0"
#: The four recipes of which runs are stored, by their names in tables.
RECIPES = {
    "PUBLISHED": PUBLISHED,
    "RELEASED": RELEASED,
    "REVISED": REVISED,
    CLOSED: CLOSED_FORM_0_2,
}
#: What tables call a recipe, by its name in code.
TITLES = {recipe.name: name for name, recipe in RECIPES.items()} | {"closed_form": DEFAULT}


@dataclass(frozen=True)
class Study:
    """Variants that are run together, and the pages that show them."""

    variants: dict  # name to (method, settings)
    datasets: tuple
    seeds: int | range  # from 1 to it; or these
    pages: str  # names of files in notebooks and book, by blanks
    file: str = ""  # group of records in the store; empty for the study's name
    retired: str = ""  # why its runs can be found, and not be made

    @property
    def all_seeds(self):
        """The seeds that each of the variants has."""
        return self.seeds if isinstance(self.seeds, range) else range(1, self.seeds + 1)


def _changed(base, changes, **beside):
    """Settings of a recipe with other values in some fields, or of the idea that had them."""
    if changes.keys() <= vars(base).keys() and changes.get("sigma") != "spread":
        return settings_of(replace(base, **changes), **beside)
    kind = "NetworkIdea" if isinstance(base, NetworkRecipe) else "SpectralIdea"
    return retired_settings(kind, base, changes, **beside)


def vary(changes, base=RELEASED, **beside):
    """Variants that are a recipe with other values in some fields.

    Parameters
    ----------
    changes : dict
        Name to fields; a name may be anything that has a text.
    base : NetworkRecipe or SpectralRecipe
    **beside
        As in :func:`experiments.run.settings_of`.

    Returns
    -------
    dict of str to (str, dict)
        Name to method and settings.
    """
    return {
        str(name): ("DMAC", _changed(base, fields, **beside)) for name, fields in changes.items()
    }


def _scaled(recipe, *names):
    """Numbers of a recipe halved and doubled; half of k = 5 neighbours is 2."""
    return {
        f"{name} x {factor:g}": {name: type(value)(factor * value)}
        for name in names
        for value in (getattr(recipe, name),)
        for factor in (0.5, 2.0)
    }


#: RELEASED without its training: k-means with ten starts on what the pre-training embeds.
PRETRAINED = replace(RELEASED, name="RELEASED, pre-trained", epochs=0, final_n_init=10)

# What RELEASED is changed to in the ablation, the sensitivity analysis and the trials.

#: Table 3: what is taken out of RELEASED.
ABLATION = {
    "wo/PD": dict(perturbation=False, al_weight=0.0),
    "wo/CM": dict(cm_weight=0.0),
}
#: Table 3 as a table has it.
ABLATED = vary(ABLATION | {"RELEASED": {}})

#: The grid of the two weights, as the paper has it.
WEIGHTS = tuple(10.0**power for power in range(-3, 4))
GRID = vary({(cm, sp): dict(cm_weight=cm, sp_weight=sp) for cm in WEIGHTS for sp in WEIGHTS})
#: The corners of the grid: enough for a first look.
CORNERS = [str((cm, sp)) for cm in WEIGHTS[::6] for sp in WEIGHTS[::6]]

#: One number of RELEASED at other values; k without the schedule that would override it.
LINES = {
    "m": {factor: dict(anchor_factor=factor) for factor in (0.25, 0.5, 1.0, 2.0, 3.0)},
    "k": {k: dict(n_neighbors=k, neighbor_period=0) for k in (2, 3, 5, 10)},
    "learning rate": {lr: dict(lr=lr) for lr in (1e-5, 1e-4, 1e-3, 5e-3, 1e-2)},
    "pre-training epochs": {e: dict(pretrain_epochs=e) for e in (0, 100, 300, 1000, 2000)},
}
#: Lengths at which a pre-training's state is kept on the way, for the shorter ones.
PRETRAINED_AT = (100, 300)


def line_variants(lines=LINES):
    """The variants of `LINES`, named "what = value"."""
    named = ((f"{what} = {x}", f) for what, values in lines.items() for x, f in values.items())
    return vary(dict(named))


#: What was tried to close the gap to the paper's values on PIE and BBC.
TRIALS = {
    **{f"lr {lr:g}": dict(lr=lr) for lr in (1e-5, 3e-5, 1e-4, 3e-4, 1e-3)},
    **{f"{e} epochs of pre-training": dict(pretrain_epochs=e) for e in (0, 100, 300)},
    "k-means++ in every epoch": dict(anchor_start="kmeans"),
    "100 epochs": dict(epochs=100),
}
PAIRED_TRIALS = {
    f"lr {lr:g}, {e} epochs of pre-training": dict(lr=lr, pretrain_epochs=e)
    for lr in (1e-5, 3e-5, 1e-4)
    for e in (100, 300)
}
#: Also one of `LINES`, with few seeds; on PIE, where it takes minutes and not hours, with ten.
LONG_TRIALS = vary({"2000 epochs of pre-training": dict(pretrain_epochs=2000)})
#: Beside the recipe: the term counts of BBC weighted first.
WEIGHTED_TRIALS = vary(
    {f"tf-idf, lr {lr:g}": dict(lr=lr) for lr in (5e-3, 1e-3, 1e-4, 1e-5)}, weighting="tf-idf"
)
#: All of them, as arguments of :meth:`experiments.page.Page.fetch`.
ATTEMPTS = (
    dict(variants=vary({"RELEASED": {}} | TRIALS), datasets=tuple(CLUSTERS)),
    dict(variants=vary(PAIRED_TRIALS), datasets=tuple(CLUSTERS), seeds=FEW),
    dict(variants=LONG_TRIALS, datasets=("PIE",), only=True),
    dict(variants=LONG_TRIALS, datasets=("BBC",), seeds=FEW, only=True),
    dict(variants=WEIGHTED_TRIALS, datasets=("BBC",), seeds=FEW, only=True),
)

#: Every choice of RELEASED that the book decides by experiment, one at a time.
BEYOND = {
    # What shares its pre-training.
    "no pre-training": dict(pretrain_epochs=0),
    "Adam": dict(optimizer="adam"),
    "step falls to 0": dict(schedule="cosine"),
    "twice the anchors": dict(anchor_factor=2.0),
    "k-means++ in every epoch": dict(anchor_start="kmeans"),
    "sampled anchors": dict(anchor_start="sample"),
    "softplus": dict(sigma="softplus"),
    "spread of the cell": dict(sigma="spread"),
    "anchors not normalised": dict(normalize_anchors=False),
    "k constant": dict(neighbor_period=0),
    "graph held constant": dict(detach_graph=True),
    "one joint graph": dict(joint_graph=True),
    "joint mutual information": dict(mutual_information="joint"),
    "balanced anchor learning": dict(al_form="balanced"),
    "structure loss over n": dict(sp_form="mean"),
    "structure loss over pairs": dict(sp_form="pairs"),
    "orthonormal fusion": dict(orthonormal=True),
    "10 starts of the last k-means": dict(final_n_init=10),
    "unit rows before the last k-means": dict(final_unit_rows=True),
    # What needs its own.
    "views whitened to 2c": dict(components=2.0),
    "d = c": dict(embedding_dim=None),
    "ReLU": dict(negative_slope=0.0),
    "linear map plus MLP": dict(encoder="residual"),
    "square root of the views": dict(root=True),
    "nothing normalised in the network": dict(normalize_embedding=False, normalize_anchors=False),
}

# The way to REVISED, and REVISED with single switches set otherwise.

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
_FROM_RELEASED = {
    "no pre-training": ("pretrain_epochs",),
    "roots and ridged whitening": ("root", "components", "whitening_ridge"),
    "linear map plus MLP, d = c": ("encoder", "negative_slope", "embedding_dim"),
    "orthonormal fusion": ("orthonormal", "normalize_embedding"),
    "k constant": ("neighbor_period", "neighbor_delay"),
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


#: From the start to REVISED, each row one step further than the one above; the last *is* REVISED.
WALK = dict(
    zip(
        ["start", *(f"+ {name}" for name in _STEPS)],
        itertools.accumulate([START, *_STEPS.values()], operator.or_),
    )
)
#: From RELEASED to REVISED, one switch a row; the first *is* RELEASED, the last *is* REVISED.
FROM_RELEASED = {
    name: {
        key: value
        for key, value in vars(RELEASED).items()
        if key not in ("name", *taken) and value != vars(REVISED)[key]
    }
    for name, taken in zip(
        ["RELEASED", *(f"+ {name}" for name in _FROM_RELEASED)],
        itertools.accumulate(_FROM_RELEASED.values(), initial=()),  # all names up to a row
    )
}

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
    "graph with Z only": dict(vote_share=1.0),
    "a graph a view": dict(joint_graph=False),
    "not orthonormal, unit rows": dict(orthonormal=False, normalize_embedding=True),
    "perturbation learned through the graph": dict(
        perturbation=True, sigma="spread", detach_graph=False
    ),
    "anchor learning, weight 1": dict(al_weight=1.0, al_form="balanced"),
    "consistency, weight 1": dict(cm_weight=1.0),
}
#: In place of the vote, which the code no longer has.
_Z_ALONE = {"graph of Z alone beside": ("DMAC", settings_of(REVISED, retired="graph of Z alone"))}
ROBUSTNESS = _scaled(
    REVISED, "components", "anchor_factor", "n_neighbors", "lr", "epochs", "hidden_dim"
)

# CLOSED_FORM_0_2, as it was before views were weighed, with single parts set otherwise.

#: The last has the votes of the rule that it started from.
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
#: What came after the recipe of November 2026, taken out of today's.
VIEW_WEIGHTS = {
    "equal weights of the views": dict(view_weight="equal"),
    "plain rows of unit length side by side": dict(plain_scale="rows"),
}
CONSTANTS = _scaled(
    CLOSED_FORM_2026_11,
    *("n_neighbors", "anchor_factor", "anchor_share", "anchor_sets", "anchor_iterations"),
    *("components", "whitening_ridge", "plain_components"),
    *("filter_power", "filter_offset", "filter_factor", "vote_weight", "vote_ridge"),
)
del CONSTANTS["anchor_share x 2"]  # as many anchors as samples
#: A step on the way: filtered votes alone, without a guard, and eight anchor sets.
BEFORE = dict(vote_form="filtered", guard=0.0, anchor_sets=8)
#: The paper's three ideas in forms whose gradient reaches the anchors, or the noise on them.
SPECTRAL_IDEAS = {
    form: dict(refinement=form)
    for form in (
        *("noise by prediction", "noise by agreement"),
        *("prediction", "balanced entropy"),
        *("cross-entropy", "information"),
    )
}
#: A network trained on the same graphs: its vote in place of the linear map's, or its embedding,
#: with the filter, in place of the eigenvectors. `AT_TAG` says where its code is.
TRAINED = {
    "trained votes": dict(vote_form="trained", trained_epochs=60),
    "trained embedding": dict(trained_embedding=True, trained_epochs=60),
}

# What failed, or served its purpose, and left the code.

#: Where the code of retired runs is, in this repository.
AT_TAG = "its code is at commit 1931a8f"
AT_COMMIT = "its code is at commit 748f2882"
#: Why the others cannot be made again.
NOT_KEPT = "made by a script that was not kept"
#: The search before there was a network, on spectral embeddings of averaged anchor graphs: the
#: settings from which each variant differs, and those that do.
SEARCH = dict(
    power=1.0, components=2.0, ridge=0.0, factor=1.0, k=5, sets=30, lloyd=5, joint=True, again=0
)
SEARCHED = {
    "one anchor set": dict(sets=1),
    "5 anchor sets": dict(sets=5),
    "30 anchor sets": dict(),
    "a graph a view": dict(joint=False),
    "random samples as anchors": dict(lloyd=0),
    "k = 10": dict(k=10),
    "components x 0.5": dict(components=1.0),
    "components x 2": dict(components=4.0),
    "no whitening": dict(ridge=1e6),
    "twice the anchors": dict(factor=2.0),
    "three times the anchors": dict(factor=3.0),
    "twice, ridge 0.03": dict(factor=2.0, ridge=0.03),
    "twice, ridge 0.1": dict(factor=2.0, ridge=0.1),
    "twice, ridge 0.3": dict(factor=2.0, ridge=0.3),
    "twice, signed power 0.7": dict(factor=2.0, power=0.7),
    "twice, signed root": dict(factor=2.0, power=0.5),
    "twice, signed power 0.33": dict(factor=2.0, power=1 / 3),
    "twice, signed root, ridge 0.03": dict(factor=2.0, power=0.5, ridge=0.03),
    "the same, graph of Z mixed in once": dict(factor=2.0, power=0.5, ridge=0.03, again=1),
    "the same, twice": dict(factor=2.0, power=0.5, ridge=0.03, again=2),
    "the same, four times": dict(factor=2.0, power=0.5, ridge=0.03, again=4),
}

# The other systems, and libraries.

#: Those of the paper's Table 2 that train no network, as published.
SHALLOW_PEERS = {name: (name, peer_settings(name)) for name in PEERS if name in paper.SHALLOW}
#: Those that train a network. The published rule ends DFP-GNN's last stage when no label changes,
#: or after 20000 epochs; on PIE that rule has not ended it by epoch 2000, which takes ten minutes
#: and more, and all of them would take hours.
_PAPER = [name for name in PEERS if name in paper.TABLE_2]
DEEP_PEERS = {
    **{name: (name, peer_settings(name)) for name in _PAPER if name not in paper.SHALLOW},
    "DFP-GNN": ("DFP-GNN", peer_settings("DFP-GNN", epochs=2000)),
}
#: Seeds of each: GMC draws nothing, and the order of the samples changes nothing but ties; the
#: published schedules of the deep ones take hours.
PEER_SEEDS = dict.fromkeys(SHALLOW_PEERS, SEEDS) | {"GMC": 1} | dict.fromkeys(DEEP_PEERS, FEW)


def _tenth(settings):
    """A tenth of all epochs, and of those between two refreshes of graphs or pseudo-labels."""
    spans = [key for key in settings if key.endswith("epochs") or key == "refresh"]
    return settings | {key: max(1, settings[key] // 10) for key in spans}


#: `DEEP_PEERS` with a tenth of their schedules.
SHORT_PEERS = {name: (name, _tenth(settings)) for name, (_, settings) in DEEP_PEERS.items()}
#: The same, as they are run on `SHORTENED`. A tenth of 20000 epochs hardly shortens DFP-GNN's
#: pre-training, which its 1 % rule ends after 1000 to 2000: three quarters of an hour a run on
#: 100Leaves, and hours on the other two. There a stage ends when 100 epochs lower its loss by less
#: than 5 %.
CAPPED_PEERS = SHORT_PEERS | {"DFP-GNN": ("DFP-GNN", SHORT_PEERS["DFP-GNN"][1] | {"flat": 0.05})}

#: Takes two views, and its documentation gives it the first two of more.
TWO_VIEWS = "mvlearn, spherical k-means"
#: What people would install instead, each with its own defaults.
LIBRARIES = {
    **{name: (name, library_settings(name)) for name in ESTIMATORS},
    TWO_VIEWS: (TWO_VIEWS, library_settings(TWO_VIEWS, first_views=2)),
}
#: The same with all views, which it refuses: one seed, for its error.
REFUSED = {f"{TWO_VIEWS}, all views": (TWO_VIEWS, library_settings(TWO_VIEWS))}
#: Ten minutes for the 2,000 samples of mfeat, and n^3: on MNIST-4 a run would take over an hour.
_SLOW = "mvlearn, co-trained spectral"
#: It draws nothing, whatever its seed.
NEMO = {"NEMO": ("iMML, NEMO", library_settings("iMML, NEMO"))}


def grid(c):
    """The settings from which a published number may have been chosen, for data with c clusters.

    LMVSC has the grid of its public demonstration; fewer anchors than clusters are left out. MSGL
    has the values of alpha that the paper of DMAC names and those of gamma in its own
    demonstration, whose values of beta go with features that are not scaled; with unit rows beta
    is n / c. Of UDBGL only one point is published; here are powers of ten around it. GMC has
    nothing to choose.
    """
    points = {
        "LMVSC": [
            dict(n_anchors=m, alpha=alpha)
            for m in sorted({c, 50, 100})
            if m >= c
            for alpha in (0.01, 1.0, 100.0)
        ],
        "MSGL": [
            dict(alpha=alpha, gamma=gamma)
            for alpha in (0.001, 0.01, 0.1, 1.0, 10.0, 50.0)
            for gamma in (-5.0, -3.0, -1.0)
        ]
        + [
            dict(alpha=alpha, beta=beta, normalize=False)
            for alpha in (1.0, 10.0)
            for beta in (5e4, 1e5, 5e5)
        ],
        "UDBGL": [
            dict(alpha=alpha, beta=beta)
            for alpha in (1e-5, 1e-3, 1e-1, 10.0)
            for beta in (1e-7, 1e-5, 1e-3, 1e-1)
        ],
    }
    fixed = {"MSGL": {"beta": None}}
    return {
        f"{system}, {', '.join(f'{k} {v:g}' for k, v in changes.items())}": (
            system,
            peer_settings(system, **(fixed.get(system, {}) | changes)),
        )
        for system, choices in points.items()
        for changes in choices
    }


def _trial(datasets, seeds, named, pages="08_other_systems"):
    """Variants of other systems: name, which begins with the system's, to changes of settings."""
    systems = {name: name.split(", ")[0] for name in named}
    runs = {name: (systems[name], peer_settings(systems[name], **c)) for name, c in named.items()}
    return Study(runs, datasets, seeds, pages)


_TEN = dict(n_neighbors=10, n_fused_neighbors=10)
#: What was tried where a system is away from its published number.
PEER_TRIALS = {
    # Rows of unit length in place of standardised features, or of features from 0 to 1.
    "GMC, unit rows": _trial(("PIE", "BBC"), 1, {"GMC, unit rows": dict(scale="rows")}),
    "UDBGL, unit rows": _trial(("PIE", "BBC"), SEEDS, {"UDBGL, unit rows": dict(scale="rows")}),
    # More steps, or a lower temperature.
    "GCFAggMVC, trials": _trial(
        ("PIE",),
        1,
        {
            "GCFAggMVC, batches of 64": dict(batch_size=64),
            "GCFAggMVC, temperature 0.1": dict(temperature=0.1),
        },
    ),
    # In place of features from 0 to 1.
    "standardised features": _trial(
        ("PIE",),
        FEW,
        {f"{name}, standardised": dict(scale="standard") for name in ("DealMVC", "GCFAggMVC")},
    ),
    "GCFAggMVC on texts": _trial(("BBC",), 1, {"GCFAggMVC, standardised": dict(scale="standard")}),
    # What DealMVC's calibration, 100 epochs by default, does to what pre-training gave.
    "DealMVC, calibration": _trial(
        ("PIE",),
        FEW,
        {
            f"DealMVC, standardised, {epochs} epochs of calibration": dict(
                scale="standard", calibration_epochs=epochs
            )
            for epochs in (0, 2, 5)
        },
    ),
    # Pre-training's loss as a sum over the features, whose mean stands on a plateau on BBC.
    "DFP-GNN, sums": _trial(("BBC",), 1, {"DFP-GNN, sums": dict(reduction="sum", epochs=2000)}),
    # Past that plateau with the mean: ten times the rate, or the published end of a stage.
    "DFP-GNN, plateau": _trial(
        ("BBC",),
        1,
        {
            "DFP-GNN, ten times the rate": dict(lr=1e-4, pretrain_epochs=300, epochs=0),
            "DFP-GNN, the published end": dict(flat=None, pretrain_epochs=2000, epochs=2000),
        },
    ),
    # Without the second stage: labels by the centres with which that would begin.
    "SURER, first stage": _trial(("PIE", "BBC"), FEW, {"SURER, first stage alone": dict(epochs=0)}),
    # Pseudo-labels from the spectral clustering of the refined graphs in place of those from
    # k-means, which on BBC splits the largest class and joins two others.
    "SURER, spectral pseudo-labels": _trial(
        ("BBC",), FEW, {"SURER, spectral pseudo-labels": dict(initial="spectral")}
    ),
    # The public code repeats its run ten times, each with the weights of the one before.
    "SURER, ten repeats": _trial(
        ("PIE",),
        1,
        {"SURER, first stage ten times as long": dict(pretrain_epochs=4500, epochs=0)},
    ),
    # Without the last stage, with either number of neighbours, to tell the two apart.
    "DFP-GNN, pre-training alone": _trial(
        ("PIE",),
        FEW,
        {
            "DFP-GNN, pre-training alone": dict(epochs=0),
            "DFP-GNN, 10 neighbours, pre-training alone": dict(epochs=0, **_TEN),
        },
    ),
    # PIE has n / c = 10 samples per class; graphs have 25 neighbours, those of DFP-GNN 50 and 40.
    "fewer neighbours": _trial(
        ("PIE",),
        1,
        {f"SURER, {k} neighbours": dict(n_neighbors=k) for k in (10, 5)}
        | {"DFP-GNN, 10 neighbours": dict(epochs=2000, **_TEN)},
    ),
}
_EUCLIDEAN = peer_settings("CMGEC", metric="euclidean")
#: What was the default before.
PEER_DEFAULTS = {
    # A graph as heavy as the fit.
    "MSGL, n / c": _trial(PEER_DATASETS, SEEDS, {"MSGL, n / c": dict(beta=None)}),
    # Neighbours by the Euclidean distance.
    "CMGEC, Euclidean": Study(
        {"CMGEC, Euclidean": ("CMGEC", _EUCLIDEAN)},
        tuple(d for d in PEER_DATASETS if d not in SHORTENED),
        FEW,
        "08_other_systems",
    ),
    "CMGEC, Euclidean, a tenth": Study(
        {"CMGEC, Euclidean, a tenth": ("CMGEC", _tenth(_EUCLIDEAN))},
        (*BOTH_SCHEDULES, *SHORTENED),
        FEW,
        "",
    ),
}
# The studies.

#: Table 2.
COMPARISON = {
    **BASELINES,
    **{name: ("DMAC", settings_of(recipe)) for name, recipe in RECIPES.items()},
}
#: What was made again to see what rounding does: RELEASED with k one epoch early.
REPEATED = COMPARISON | vary({"RELEASED": dict(neighbor_delay=0)})
_ALL, _GAP = (*MAIN, *OTHERS), tuple(CLUSTERS)
_FURTHER_ON = "13_evidence"


def _of(recipe, name, **beside):
    return vary({name: {}}, recipe, **beside)


def _lacking(methods, pattern, rates):
    """Variants of some methods where samples lack views: "method, pattern, rate"."""
    runs = {}
    for name, rate in itertools.product(methods, rates):
        about = {"lacking": {"pattern": pattern, "rate": rate}}
        if name in incomplete.OURS:
            run = "DMAC", settings_of(incomplete.OURS[name], **about)
        elif name in incomplete.IMML:
            run = name, library_settings(name, limit=incomplete.LIMIT, **about)
        else:
            run = name, about
        runs[f"{name}, {pattern}, {rate:g}"] = run
    return runs


STUDIES = {
    "comparison": Study(
        COMPARISON, _ALL, SEEDS, "01_comparison 07_protocols 08_other_systems index"
    ),
    "ablation": Study(ABLATED, _ALL, SEEDS, "02_ablation 03_anchor_similarity 04_embedding"),
    "grid": Study(GRID, MAIN, FEW, "01_comparison 06_sensitivity 07_protocols"),
    "lines": Study(line_variants(), MAIN, FEW, "06_sensitivity"),
    "trials": Study(vary(TRIALS | PAIRED_TRIALS), _GAP, FEW, "01_comparison"),
    "trials, 10 seeds": Study(vary(TRIALS), _GAP, SEEDS, "01_comparison", "trials"),
    "tf-idf": Study(WEIGHTED_TRIALS, ("BBC",), FEW, "01_comparison", "trials"),
    "beyond": Study(vary(BEYOND), MAIN, FEW, "02_ablation"),
    "long": Study(LONG_TRIALS, ("PIE",), SEEDS, "01_comparison", "trials"),
    "repeated": Study(REPEATED, MAIN, FEW, "07_protocols"),
    # REVISED; walks leave out their last row, which is REVISED.
    "revised": Study(_of(REVISED, "revised"), NINE, 10, "11_network 13_evidence index"),
    "baselines": Study(BASELINES, NINE, 10, "12_recipes 13_evidence index"),
    "unseen": Study(
        _of(REVISED, "revised", held_out=0.3),
        ("CCV-20d", "HandWritten", "100Leaves"),
        10,
        "13_evidence",
    ),
    "ideas": Study(vary(IDEAS, REVISED), NINE, 10, "13_evidence"),
    "switches": Study(vary(SWITCHES, REVISED) | _Z_ALONE, NINE, 3, "11_network 13_evidence index"),
    "robustness": Study(vary(ROBUSTNESS, REVISED), NINE, 3, "11_network"),
    "search": Study(
        {name: ("spectral search", SEARCH | changes) for name, changes in SEARCHED.items()},
        DEVELOPMENT,
        3,
        "11_network",
        retired=AT_TAG,
    ),
    "walk": Study(vary(dict(list(WALK.items())[:-1]), REVISED), DEVELOPMENT, 3, "11_network"),
    "released": Study(
        vary(dict(list(FROM_RELEASED.items())[:-1]), REVISED), ("PIE", "100Leaves"), 3, "11_network"
    ),
    "seconds": Study(_of(REVISED, "revised", threads=2), NINE, 3, "13_evidence"),
    # CLOSED_FORM_0_2, and what it is compared with on the sets that REVISED had not met.
    "closed form": Study(
        _of(CLOSED_FORM_0_2, "closed form"), SIXTEEN, 10, "12_recipes 13_evidence index"
    ),
    "closed form, 2026-11": Study(
        _of(CLOSED_FORM_2026_11, "closed form, 2026-11"),
        SIXTEEN,
        10,
        "12_recipes 13_evidence index",
    ),
    "closed form, weights": Study(
        vary(VIEW_WEIGHTS, CLOSED_FORM_0_2), (*SIXTEEN, *BROUGHT), 3, "13_evidence"
    ),
    "closed form, before": Study(
        vary({"before": BEFORE}, CLOSED_FORM_2026_11), SIXTEEN, 9, "13_evidence"
    ),
    "shallow, new sets": Study(BASELINES, NEW, 10, "12_recipes 13_evidence index"),
    "revised, new sets": Study(_of(REVISED, "revised"), NEW, 3, "12_recipes 13_evidence index"),
    "released, new sets": Study(_of(RELEASED, "released"), NEW, 3, "01_comparison 13_evidence"),
    "published, new sets": Study(_of(PUBLISHED, "published"), NEW, 3, "01_comparison 13_evidence"),
    "closed form, unseen": Study(
        _of(CLOSED_FORM_0_2, "closed form", held_out=0.3),
        ("HandWritten", "100Leaves", "PIE", "BBC", "MNIST-4"),
        10,
        "13_evidence",
    ),
    "closed form, seconds": Study(
        {
            k: run
            for k, t in {"1 thread": 1, "2 threads": 2}.items()
            for run in _of(CLOSED_FORM_2026_11, k, threads=t).values()
        },
        SIXTEEN,
        1,
        "13_evidence",
    ),
    "closed form, bad views": Study(
        {k: run for k in DISTURBED for run in _of(CLOSED_FORM_0_2, k, disturbed=k).values()},
        ("PIE", "BBC", "HandWritten"),
        3,
        "13_evidence",
    ),
    "closed form, parts": Study(
        vary(PARTS, CLOSED_FORM_2026_11), SIXTEEN, 1, "12_recipes 13_evidence index"
    ),
    "closed form, trained": Study(
        vary(TRAINED, CLOSED_FORM_2026_11),
        SIXTEEN,
        3,
        "13_evidence",
        retired=AT_TAG,
    ),
    "closed form, ideas": Study(
        vary(SPECTRAL_IDEAS, CLOSED_FORM_2026_11), SIXTEEN, 10, "13_evidence"
    ),
    "closed form, constants": Study(
        vary(CONSTANTS, CLOSED_FORM_2026_11), SIXTEEN, 1, "13_evidence"
    ),
    # Recipes, pipelines and systems on the data sets that came last. GMC draws nothing, and SNF
    # little; SNF gets features standardised, as published, and as they come.
    "further sets, closed form": Study(
        _of(CLOSED_FORM_0_2, "closed form"), FURTHER, 10, _FURTHER_ON
    ),
    "further sets, closed form, 2026-11": Study(
        _of(CLOSED_FORM_2026_11, "closed form, 2026-11"),
        FURTHER,
        10,
        _FURTHER_ON,
    ),
    "further sets, shallow": Study(BASELINES, FURTHER, 10, _FURTHER_ON),
    "further sets, LMVSC": _trial(FURTHER, 10, {"LMVSC": {}}, _FURTHER_ON),
    "further sets, SNF": _trial(FURTHER, FEW, {"SNF": {}}, _FURTHER_ON),
    "further sets, SNF as they come": _trial(
        FURTHER, 1, {"SNF, as they come": dict(scale="none")}, _FURTHER_ON
    ),
    "further sets, NEMO": Study(NEMO, FURTHER, 1, _FURTHER_ON),
    "further sets, GMC": _trial(FURTHER, 1, {"GMC": {}}, _FURTHER_ON),
    "further sets, revised": Study(_of(REVISED, "revised"), FURTHER, 3, _FURTHER_ON),
    # The default of today on all of them.
    DEFAULT: Study(_of(CLOSED_FORM, DEFAULT), EVERY, SEEDS, "record_evidence"),
    # On the 26 that were held out. GMC draws nothing, whatever its seed.
    "held out, closed form": Study(
        _of(CLOSED_FORM_0_2, "closed form"), HELD_OUT, SEEDS, _FURTHER_ON
    ),
    "held out, shallow": Study(BASELINES, HELD_OUT, SEEDS, _FURTHER_ON),
    "held out, closed form, 2026-11": Study(
        _of(CLOSED_FORM_2026_11, "closed form, 2026-11"), HELD_OUT, SEEDS, _FURTHER_ON
    ),
    "held out, single views": Study(
        {
            k: run
            for k in ("left out", ALONE)
            for run in _of(CLOSED_FORM_0_2, k, disturbed=k).values()
        },
        HELD_OUT,
        FEW,
        _FURTHER_ON,
    ),
    "held out, SNF": _trial(HELD_OUT, FEW, {"SNF": {}}, _FURTHER_ON),
    "held out, LMVSC": _trial(HELD_OUT, FEW, {"LMVSC": {}}, _FURTHER_ON),
    "held out, GMC": _trial(HELD_OUT, FEW, {"GMC": {}}, _FURTHER_ON),
    "held out, revised": Study(_of(REVISED, "revised"), HELD_OUT, SEEDS, _FURTHER_ON),
    "held out, released": Study(_of(RELEASED, "released"), HELD_OUT, FEW, _FURTHER_ON),
    # Small sets first: a run takes from seconds to hours.
    "pre-trained": Study(
        _of(PRETRAINED, PRETRAINED.name),
        tuple(sorted(EVERY, key=lambda name: DATASETS[name].n_samples)),
        FEW,
        _FURTHER_ON,
    ),
    # The same two on the sixteen sets; some of NEMO's runs are those of "libraries".
    "sixteen sets, NEMO": Study(NEMO, SQUARE, 1, _FURTHER_ON),
    "sixteen sets, SNF": _trial(SQUARE, FEW, {"SNF": {}}, _FURTHER_ON),
    # What people of the field run: on every set, and on those that the tools are made for.
    "field, standard": Study(
        {name: (name, field.field_settings(name)) for name in field.STANDARD},
        EVERY,
        FEW,
        "13_evidence record_evidence your_data",
    ),
    "field, cells and omics": Study(
        {name: (name, field.field_settings(name)) for name in field.CELLS_ONLY},
        tuple(name for name in EVERY if DATASETS[name].kind in ("cells", "omics")),
        FEW,
        "13_evidence record_evidence your_data",
    ),
    # Samples that lack views. Without any lacking there is nothing to fill in.
    "lacking views": Study(
        _lacking(("closed_form",), "random", (0.0,))
        | _lacking(incomplete.OURS, "random", incomplete.RATES[1:]),
        incomplete.SETS,
        range(3),
        "record_evidence your_data",
    ),
    "lacking views, others": Study(
        _lacking(incomplete.OTHERS, "random", incomplete.RATES[1:]),
        incomplete.SMALL,
        range(3),
        "record_evidence your_data",
    ),
    **{
        f"lacking views, by {pattern}": Study(
            _lacking(incomplete.OURS, pattern, (0.5,)),
            incomplete.SETS,
            range(3),
            "record_evidence",
        )
        for pattern in ("class", "batch")
    },
    # All small numbers, then steps of a half.
    "number of clusters": Study(
        {SUGGESTED: (SUGGESTED, {"candidates": [*range(2, 13), 15, 20, 30, 45, 68, 100]})},
        SIXTEEN,
        range(3),
        "how_many_clusters",
    ),
    "number of clusters, held out": Study(
        {SUGGESTED: (SUGGESTED, {"candidates": [*range(2, 13), 15, 20, 30, 45, 68, 100]})},
        HELD_OUT,
        range(3),
        "how_many_clusters",
    ),
    # Each candidate fitted by the default, on the data and on permuted columns.
    "number of clusters, by fits": Study(
        {
            SUGGESTED: (
                SUGGESTED,
                settings_of(CLOSED_FORM_0_2, candidates=[*range(2, 13), 15, 20, 30, 45, 68, 100]),
            )
        },
        (*SIXTEEN, *HELD_OUT),
        range(1),
        "how_many_clusters",
        retired=AT_COMMIT,
    ),
    # How sure labels are, on all data sets; GMC and SNF up to 2,100 samples.
    "how sure": Study(
        {"closed_form": (SURE, settings_of(CLOSED_FORM_0_2, of="DMAC", fits=10))},
        EVERY,
        range(1),
        "your_data",
    ),
    "how sure, others": Study(
        {name: (SURE, peer_settings(name) | {"of": name, "fits": 1}) for name in ("SNF", "GMC")},
        tuple(name for name in EVERY if DATASETS[name].n_samples <= 2100),
        range(1),
        "your_data",
        "how sure",
    ),
    # The labels of one thread beside those of two; REVISED trains, so on small sets alone.
    "threads": Study(
        _of(CLOSED_FORM_0_2, "closed_form", compared=[1, 2]),
        ("mfeat", *SIXTEEN),
        range(1),
        "inputs",
    ),
    "threads, revised": Study(
        _of(REVISED, "revised", compared=[1, 2]),
        ("Yale-3view", "3Sources", "NGs", "BBCSport"),
        range(1),
        "inputs",
    ),
    # Scored with labels while CLOSED_FORM_0_2 was developed: what they were is in the store.
    "closed form, trials": Study({}, (), range(4), "record_trials", retired=NOT_KEPT),
    "view weights, trials": Study({}, (), range(4), "record_trials", retired=NOT_KEPT),
    "kinds of data, ideas": Study({}, (), range(4), "record_trials", retired=AT_TAG),
    # The other systems, and libraries.
    "other systems, grid of PIE": Study(grid(CLUSTERS["PIE"]), ("PIE",), 1, "08_other_systems"),
    "other systems, grid of BBC": Study(grid(CLUSTERS["BBC"]), ("BBC",), 1, "08_other_systems"),
    **PEER_TRIALS,
    **PEER_DEFAULTS,
    # How DFP-GNN ends.
    # Pre-training, which ``flat`` ends early, going on: its loss, and no clustering.
    "DFP-GNN, on and on": _trial(
        ("Yale-3view",),
        1,
        {"DFP-GNN, on and on": dict(flat=None, pretrain_epochs=5000, epochs=0)},
    ),
    # The last stage until no label changes, which `DEEP_PEERS` end after 2000 epochs.
    "DFP-GNN, to the end": _trial(("Yale-3view", "BBC"), 1, {"DFP-GNN, to the end": {}}),
    # A tenth of its epochs with the 1 % rule, where `CAPPED_PEERS` end a stage at 5 %.
    "DFP-GNN, a tenth": _trial(
        ("100Leaves",),
        1,
        {"DFP-GNN, a tenth, to 1 %": dict(pretrain_epochs=2000, epochs=200, refresh=5)},
    ),
    "peers, GMC": Study(
        {"GMC": SHALLOW_PEERS["GMC"]},
        PEER_DATASETS,
        PEER_SEEDS["GMC"],
        "08_other_systems record_costs",
        "peers",
    ),
    "peers, shallow": Study(
        {name: run for name, run in SHALLOW_PEERS.items() if name != "GMC"},
        PEER_DATASETS,
        SEEDS,
        "08_other_systems record_costs",
        "peers",
    ),
    "peers, deep": Study(
        DEEP_PEERS,
        tuple(d for d in PEER_DATASETS if d not in SHORTENED),
        FEW,
        "08_other_systems record_costs",
        "peers",
    ),
    "peers, a tenth": Study(SHORT_PEERS, BOTH_SCHEDULES, FEW, "08_other_systems", "peers"),
    "peers, a tenth at most": Study(
        CAPPED_PEERS, SHORTENED, FEW, "08_other_systems record_costs", "peers"
    ),
    "libraries, refused": Study(REFUSED, PEER_DATASETS, 1, "08_other_systems", "libraries"),
    "libraries": Study(
        LIBRARIES, tuple(d for d in PEER_DATASETS if d not in SHORTENED), SEEDS, "08_other_systems"
    ),
    # Dense eigenvectors of n x n matrices take minutes there.
    "libraries, larger sets": Study(
        LIBRARIES, ("mfeat", "100Leaves"), FEW, "08_other_systems", "libraries"
    ),
    "libraries, MNIST-4": Study(
        {name: run for name, run in LIBRARIES.items() if name != _SLOW},
        ("MNIST-4",),
        FEW,
        "08_other_systems",
        "libraries",
    ),
}


def shown_on(*pages):
    """The studies that a page shows, by name."""
    return {name: s for name, s in STUDIES.items() if set(pages) & set(s.pages.split())}
