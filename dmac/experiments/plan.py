"""Every run behind the experiments, as data: what ``make experiments`` makes and the pages show.

A run belongs to the first list that names it; later ones, and the pages, find it in the store.
"""

import dataclasses

from dmac.experiments import field, generalise, paper, switches
from dmac.experiments.libraries import ESTIMATORS, library_settings
from dmac.experiments.run import EARLY, METHODS, PEERS, Spec, peer_settings, settings_of
from dmac.recipes import CLOSED_FORM, PUBLISHED, RELEASED, REVISED

#: Data sets of the pages that show all of a figure's panels, and the others at hand.
MAIN = ("PIE", "Yale-3view", "mfeat", "BBC")
#: The other data sets at hand.
OTHERS = ("ALOI-10", "100Leaves", "CCV-20d", "BBCSport", "NGs")
#: Those of which arrays are kept, for figures 3 and 4.
SHOWN = ("BBC", "PIE", "mfeat")
SEEDS = 10
FEW = 3

#: The recipes as the stored runs have them; RELEASED is :data:`~dmac.experiments.run.EARLY`.
RECIPES = {
    "published": PUBLISHED,
    "released": EARLY,
    "revised": REVISED,
    "closed_form": CLOSED_FORM,
}
#: RELEASED with the authors' schedule of k, of which fewer seeds are stored.
SCHEDULE = {"k as the authors change it": ("DMAC", settings_of(RELEASED))}
SCHEDULE_SEEDS = 2

#: Table 2. A variant is a name, under which tables show it, and what is run: method and settings.
COMPARISON = {
    **{name: (name, settings) for name, (_, settings) in METHODS.items()},
    **{name.upper(): ("DMAC", settings_of(recipe)) for name, recipe in RECIPES.items()},
}

#: The other systems of Table 2, as published: those that train no network.
SHALLOW_PEERS = {name: (name, peer_settings(name)) for name in PEERS if name in paper.SHALLOW}
#: Those of them that train a network. DFP-GNN's last stage ends when no label changes, after 20000
#: epochs at the latest; on PIE some label still changed after thousands, at a loss that had
#: flattened.
DEEP_PEERS = {name: (name, peer_settings(name)) for name in PEERS if name not in paper.SHALLOW}
DEEP_PEERS["DFP-GNN"] = ("DFP-GNN", peer_settings("DFP-GNN", epochs=2000))
#: The data sets on which they are run.
PEER_DATASETS = (
    *("PIE", "BBC", "mfeat", "100Leaves", "NGs", "BBCSport"),
    *("Yale-3view", "3Sources", "MNIST-4"),
)
#: Those on which the systems that train a network get a tenth of their epochs: with all of them,
#: three seeds there would take one core a day and a half.
SHORTENED = ("mfeat", "100Leaves", "MNIST-4")
#: Those on which they get both, to see what the other nine tenths are worth.
BOTH_SCHEDULES = ("PIE", "BBCSport", "Yale-3view", "3Sources")


def _tenth(name):
    """A tenth of all epochs, and of those between two refreshes of graphs or pseudo-labels."""
    settings = DEEP_PEERS[name][1]
    fewer = {
        key: max(1, value // 10)
        for key, value in settings.items()
        if key.endswith("epochs") or key == "refresh"
    }
    return settings | fewer


#: `DEEP_PEERS` with a tenth of their schedules.
SHORT_PEERS = {name: (name, _tenth(name)) for name in DEEP_PEERS}
#: Seeds of each: GMC draws nothing, and the order of the samples changes nothing but ties; the
#: published schedules of the deep ones take hours.
PEER_SEEDS = dict.fromkeys(SHALLOW_PEERS, SEEDS) | {"GMC": 1} | dict.fromkeys(DEEP_PEERS, FEW)

#: What people would install instead, each with its own defaults, on the same data sets.
LIBRARIES = {name: (name, library_settings(name)) for name in ESTIMATORS}
#: Takes two views, and its documentation gives it the first two of more.
TWO_VIEWS = "mvlearn, spherical k-means"
LIBRARIES[TWO_VIEWS] = (TWO_VIEWS, library_settings(TWO_VIEWS, first_views=2))
#: The same with all views, which it refuses: one seed, for its error.
REFUSED = {f"{TWO_VIEWS}, all views": (TWO_VIEWS, library_settings(TWO_VIEWS))}

#: Ten minutes for the 2,000 samples of mfeat, and n^3: one run would take more than an hour.
TOO_LONG = (("MNIST-4", "mvlearn, co-trained spectral"),)

#: Stages whose runs are still being made. Pages show what is stored of them and say what is not;
#: the test that no run of the plan is missing leaves them out. A stage that is complete has to be
#: taken off this list.
FILLING = (
    "DealMVC, calibration",
    "DFP-GNN, sums",
    "GCFAggMVC on texts",
    "SURER, ten repeats",
    "libraries",
    "peers, deep",
)

#: Table 3: what is taken out of RELEASED.
ABLATION = {
    "wo/PD": dict(perturbation=False, al_weight=0.0),
    "wo/CM": dict(cm_weight=0.0),
}

#: The grid of the two weights, as the paper has it.
WEIGHTS = tuple(10.0**power for power in range(-3, 4))
GRID = {(cm, sp): dict(cm_weight=cm, sp_weight=sp) for cm in WEIGHTS for sp in WEIGHTS}

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
LONG_TRIALS = {"2000 epochs of pre-training": dict(pretrain_epochs=2000)}
#: Beside the recipe: the term counts of BBC weighted first.
WEIGHTED_TRIALS = {f"tf-idf, lr {lr:g}": dict(lr=lr) for lr in (5e-3, 1e-3, 1e-4, 1e-5)}

#: Every choice of RELEASED that the book decides by experiment, one at a time.
BEYOND = {
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
    "views whitened to 2c": dict(components=2.0),
    "d = c": dict(embedding_dim=None),
    "ReLU": dict(negative_slope=0.0),
    "linear map plus MLP": dict(encoder="residual"),
    "square root of the views": dict(root=True),
    "nothing normalised in the network": dict(normalize_embedding=False, normalize_anchors=False),
}
#: As many of them, the last ones, cannot share RELEASED's pre-training.
OWN_PRETRAINING = 6


def vary(changes, **more):
    """Variants that are RELEASED with other values in some fields.

    Parameters
    ----------
    changes : dict
        Name to recipe fields; a name may be anything that has a text.
    **more
        As in :func:`dmac.experiments.run.settings_of`.

    Returns
    -------
    dict of str to (str, dict)
        Name to method and settings.
    """
    return {
        str(name): ("DMAC", settings_of(dataclasses.replace(EARLY, **fields), **more))
        for name, fields in changes.items()
    }


def line_variants(lines=LINES):
    """The variants of `LINES`, named "what = value"."""
    return vary(
        {
            f"{what} = {value}": fields
            for what, values in lines.items()
            for value, fields in values.items()
        }
    )


#: Table 3 as a table has it.
ABLATED = vary(ABLATION | {"RELEASED": {}})

#: What was tried to come closer to the paper, as arguments of
#: :meth:`dmac.experiments.page.Page.fetch`.
ATTEMPTS = (
    dict(variants=vary({"RELEASED": {}} | TRIALS), datasets=("PIE", "BBC")),
    dict(variants=vary(PAIRED_TRIALS), datasets=("PIE", "BBC"), seeds=FEW),
    dict(variants=vary(LONG_TRIALS), datasets=("PIE",), only=True),
    dict(variants=vary(LONG_TRIALS), datasets=("BBC",), seeds=FEW, only=True),
    dict(
        variants=vary(WEIGHTED_TRIALS, weighting="tf-idf"),
        datasets=("BBC",),
        seeds=FEW,
        only=True,
    ),
)


def keeps(dataset, seed):
    """Whether figures 3 and 4 show the run: anchors and the embedding in the plane."""
    return seed == 1 and dataset in SHOWN


def specs(variants, datasets, seeds, file, keep=False):
    """The runs of some variants.

    Parameters
    ----------
    variants : dict of str to (str, dict)
        Name to method and settings, as `COMPARISON` is and `vary` makes them.
    datasets, seeds : iterables
    file : str
        Group of records in the store.
    keep : bool
        Whether arrays are kept of those that `keeps` names.

    Returns
    -------
    list of dmac.experiments.run.Spec
    """
    return [
        Spec(
            dataset,
            method,
            settings,
            seed,
            file,
            keep and method == "DMAC" and keeps(dataset, seed),
        )
        for seed in seeds
        for dataset in datasets
        for method, settings in variants.values()
    ]


def comparison(datasets, seeds):
    """Table 2: the baselines and the recipes of DMAC."""
    return specs(COMPARISON, datasets, seeds, "comparison", keep=True)


def ablation(datasets, seeds):
    """Table 3, beside RELEASED itself."""
    return specs(vary({"RELEASED": {}} | ABLATION), datasets, seeds, "ablation", keep=True)


def other_systems(systems, datasets):
    """Runs of `SHALLOW_PEERS` or `DEEP_PEERS`, with their numbers of seeds."""
    most = range(1, max(PEER_SEEDS[name] for name in systems) + 1)
    return [
        spec
        for seed in most
        for spec in specs(
            {name: run for name, run in systems.items() if seed <= PEER_SEEDS[name]},
            datasets,
            [seed],
            "peers",
        )
    ]


def other_libraries(datasets):
    """Runs of `LIBRARIES`, and one of each of `REFUSED`: those that take seconds first.

    With ten seeds; three on the larger sets, where dense eigenvectors of n x n matrices take
    minutes, and none of `TOO_LONG`.
    """
    runs = specs(REFUSED, datasets, [1], "libraries")
    small = [d for d in datasets if d not in SHORTENED]
    runs += specs(LIBRARIES, small, range(1, SEEDS + 1), "libraries")
    for dataset in sorted((d for d in datasets if d in SHORTENED), key=SHORTENED.index):
        possible = {name: run for name, run in LIBRARIES.items() if (dataset, name) not in TOO_LONG}
        runs += specs(possible, [dataset], range(1, FEW + 1), "libraries")
    return runs


def variants(changes, datasets, seeds, file, **more):
    """RELEASED with each of some changes."""
    return specs(vary(changes, **more), datasets, seeds, file)


def full(datasets=None):
    """All runs of the full profile, by stage, in the order in which they should be made.

    Parameters
    ----------
    datasets : list of str, optional
        Only these; further ones (paths of files with labels) join `OTHERS`. The groups of chapter
        11, on their own data sets, and the other systems come last.

    Returns
    -------
    dict of str to list of Spec
    """
    ten, three = range(1, SEEDS + 1), range(1, FEW + 1)
    chosen = [*MAIN, *OTHERS] if datasets is None else list(datasets)
    main = [d for d in MAIN if d in chosen]
    quick, text = [d for d in main if d != "BBC"], [d for d in main if d == "BBC"]
    others = [d for d in chosen if d not in MAIN]
    lines = [line for values in LINES.values() for line in values.values()]
    gap, beyond = [d for d in main if d in ("PIE", "BBC")], list(BEYOND.items())
    # The pre-training of BBC takes as long as that of all others together: few seeds first. Runs
    # that share a pre-training do not stand side by side, or one worker would wait for the other.
    early = [spec for seed in ten for spec in comparison(main if seed <= FEW else quick, [seed])]
    stages = {
        "comparison": early,
        "ablation": ablation(quick, ten) + ablation(text, three),
        "grid": variants(GRID, main, three, "grid"),
        "lines": variants(dict(enumerate(lines)), main, three, "lines"),
        "trials": variants(TRIALS | PAIRED_TRIALS, gap, three, "trials"),
        "BBC": comparison(text, ten) + ablation(text, ten),
        "trials, 10 seeds": variants(TRIALS, gap, ten, "trials"),
        "others": comparison(others, ten) + ablation(others, ten),
        "tf-idf": [
            spec
            for change in WEIGHTED_TRIALS.items()
            for spec in variants(dict([change]), text, three, "trials", weighting="tf-idf")
        ],
        "beyond": variants(BEYOND, quick, three, "beyond"),
        "beyond, BBC": variants(dict(beyond[:-OWN_PRETRAINING]), text, three, "beyond"),
        "long": variants(LONG_TRIALS, [d for d in gap if d == "PIE"], ten, "trials"),
        "own pre-training": variants(dict(beyond[-OWN_PRETRAINING:]), text, three, "beyond"),
        "schedule": specs(SCHEDULE, chosen, range(1, SCHEDULE_SEEDS + 1), "schedule"),
    }
    for group, asked in (switches.GROUPS | generalise.GROUPS).items():
        wanted = [d for d in asked["datasets"] if datasets is None or d in datasets]
        # What the code no longer has is in the store, but cannot be made.
        runs = {k: run for k, run in asked["variants"].items() if "retired" not in run[1]}
        stages[group] = specs(runs, wanted, asked["seeds"], group)
    wanted = PEER_DATASETS if datasets is None else chosen
    for group, asked in field.GROUPS.items():
        here = [d for d in asked["datasets"] if d in wanted]
        stages[group] = specs(asked["variants"], here, asked["seeds"], group)
    stages["peers, shallow"] = other_systems(SHALLOW_PEERS, wanted)
    whole = [d for d in wanted if d not in SHORTENED]
    short = [d for d in wanted if d in (*BOTH_SCHEDULES, *SHORTENED)]
    stages["peers, deep"] = other_systems(DEEP_PEERS, whole) + other_systems(SHORT_PEERS, short)
    stages["libraries"] = other_libraries([d for d in PEER_DATASETS if d in wanted])
    return stages
