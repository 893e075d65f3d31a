"""Every run behind the experiments, as data: what ``make experiments`` makes and the pages show.

A run belongs to the first list that names it; later ones, and the pages, find it in the store.
"""

from dmac.recipes import CLOSED_FORM, PUBLISHED, RELEASED, REVISED
from experiments import changes, field, generalise, paper, switches
from experiments.libraries import ESTIMATORS, library_settings
from experiments.run import EARLY, METHODS, PEERS, Spec, peer_settings, settings_of

#: Data sets of the pages that show all of a figure's panels, and the others at hand.
MAIN = ("PIE", "Yale-3view", "mfeat", "BBC")
#: The other data sets at hand.
OTHERS = ("ALOI-10", "100Leaves", "CCV-20d", "BBCSport", "NGs")
#: Those of which arrays are kept, for figures 3 and 4.
SHOWN = ("BBC", "PIE", "mfeat")
SEEDS = 10
FEW = 3

#: The recipes as the stored runs have them; RELEASED is :data:`~experiments.run.EARLY`.
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
#: Those of them that train a network. The published rule ends DFP-GNN's last stage when no label
#: changes, or after 20000 epochs; on PIE that rule has not ended it by epoch 2000, which takes ten
#: minutes and more, and all of them would take hours.
_PAPER = [name for name in PEERS if name in paper.TABLE_2]
DEEP_PEERS = {name: (name, peer_settings(name)) for name in _PAPER if name not in paper.SHALLOW}
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
#: The same, as they are run on `SHORTENED`. A tenth of 20000 epochs hardly shortens DFP-GNN's
#: pre-training, which its 1 % rule ends after 1000 to 2000: three quarters of an hour a run on
#: 100Leaves, and hours on the other two. There a stage ends when 100 epochs lower its loss by less
#: than 5 %.
CAPPED_PEERS = SHORT_PEERS | {"DFP-GNN": ("DFP-GNN", SHORT_PEERS["DFP-GNN"][1] | {"flat": 0.05})}
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


def is_short(spec):
    """Whether a run is that of a system that trains a network, with a tenth of its epochs."""
    both = [SHORT_PEERS.get(spec.method), CAPPED_PEERS.get(spec.method)]
    return (spec.method, spec.settings) in both


def keeps(dataset, seed):
    """Whether figures 3 and 4 show the run: anchors and the embedding in the plane."""
    return seed == 1 and dataset in SHOWN


def specs(variants, datasets, seeds, file, keep=False):
    """The runs of some variants.

    Parameters
    ----------
    variants : dict of str to (str, dict)
        Name to method and settings, as `COMPARISON` is and :func:`experiments.changes.vary`
        makes them.
    datasets, seeds : iterables
    file : str
        Group of records in the store.
    keep : bool
        Whether arrays are kept of those that `keeps` names.

    Returns
    -------
    list of experiments.run.Spec
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
    wanted = changes.vary({"RELEASED": {}} | changes.ABLATION)
    return specs(wanted, datasets, seeds, "ablation", keep=True)


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


def variants(changed, datasets, seeds, file, **more):
    """RELEASED with each of some changes, as :mod:`experiments.changes` has them."""
    return specs(changes.vary(changed, **more), datasets, seeds, file)


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
    lines = [line for values in changes.LINES.values() for line in values.values()]
    gap = [d for d in main if d in ("PIE", "BBC")]
    # The last ones cannot share RELEASED's pre-training.
    shared = dict(list(changes.BEYOND.items())[: -changes.OWN_PRETRAINING])
    own = {name: fields for name, fields in changes.BEYOND.items() if name not in shared}
    # The pre-training of BBC takes as long as that of all others together: few seeds first. Runs
    # that share a pre-training do not stand side by side, or one worker would wait for the other.
    early = [spec for seed in ten for spec in comparison(main if seed <= FEW else quick, [seed])]
    stages = {
        "comparison": early,
        "ablation": ablation(quick, ten) + ablation(text, three),
        "grid": variants(changes.GRID, main, three, "grid"),
        "lines": variants(dict(enumerate(lines)), main, three, "lines"),
        "trials": variants(changes.TRIALS | changes.PAIRED_TRIALS, gap, three, "trials"),
        "BBC": comparison(text, ten) + ablation(text, ten),
        "trials, 10 seeds": variants(changes.TRIALS, gap, ten, "trials"),
        "others": comparison(others, ten) + ablation(others, ten),
        "tf-idf": [
            spec
            for change in changes.WEIGHTED_TRIALS.items()
            for spec in variants(dict([change]), text, three, "trials", weighting="tf-idf")
        ],
        "beyond": variants(changes.BEYOND, quick, three, "beyond"),
        "beyond, BBC": variants(shared, text, three, "beyond"),
        "long": variants(changes.LONG_TRIALS, [d for d in gap if d == "PIE"], ten, "trials"),
        "own pre-training": variants(own, text, three, "beyond"),
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
    both = [d for d in wanted if d in BOTH_SCHEDULES]
    capped = [d for d in wanted if d in SHORTENED]
    stages["peers, deep"] = [
        *other_systems(DEEP_PEERS, whole),
        *other_systems(SHORT_PEERS, both),
        *other_systems(CAPPED_PEERS, capped),
    ]
    stages["libraries"] = other_libraries([d for d in PEER_DATASETS if d in wanted])
    return stages
