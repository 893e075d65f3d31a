"""Every run behind the experiments, as data: what ``make experiments`` makes and the pages show.

A run belongs to the first list that names it; later ones, and the pages, find it in the store.
"""

from experiments import studies
from experiments.run import Spec
from experiments.studies import FEW, MAIN, OTHERS, PEER_DATASETS, SEEDS, SHORTENED, STUDIES

#: Groups of records of which arrays are kept, for figures 3 and 4.
_KEPT = ("comparison", "ablation")


def keeps(dataset, seed):
    """Whether figures 3 and 4 show the run: anchors and the embedding in the plane."""
    return seed == 1 and dataset in studies.SHOWN


def specs(variants, datasets, seeds, file, keep=False):
    """The runs of some variants.

    Parameters
    ----------
    variants : dict of str to (str, dict)
        Name to method and settings, as in a :class:`experiments.studies.Study`.
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


def of(name, datasets=None, seeds=None, variants=None):
    """The runs of a study, or those of some of its data sets, seeds and variants.

    What the code no longer has is in the store, but cannot be made: it is left out.
    """
    study = STUDIES[name]
    file = study.file or name
    runs = []
    if study.retired:
        return runs
    for seed in study.all_seeds if seeds is None else seeds:
        here = {
            key: run
            for key, run in study.with_seed(seed).items()
            if "retired" not in run[1] and (variants is None or key in variants)
        }
        on = study.datasets if datasets is None else datasets
        runs += specs(here, on, [seed], file, keep=file in _KEPT)
    return runs


def full(datasets=None):
    """All runs of the full profile, by stage, in the order in which they should be made.

    Parameters
    ----------
    datasets : list of str, optional
        Only these; further ones (paths of files with labels) join `OTHERS`. The studies of REVISED
        and CLOSED_FORM, on their own data sets, and the other systems come last.

    Returns
    -------
    dict of str to list of Spec
    """
    ten, few = range(1, SEEDS + 1), range(1, FEW + 1)
    chosen = [*MAIN, *OTHERS] if datasets is None else list(datasets)
    main, others = [d for d in MAIN if d in chosen], [d for d in chosen if d not in MAIN]
    quick, text = [d for d in main if d != "BBC"], [d for d in main if d == "BBC"]
    # The pre-training of BBC takes as long as that of all others together: few seeds first. Runs
    # that share a pre-training do not stand side by side, or one worker would wait for the other.
    stages = {
        "comparison": [
            spec
            for seed in ten
            for spec in of("comparison", main if seed <= FEW else quick, [seed])
        ],
        "ablation": of("ablation", quick) + of("ablation", text, few),
        "grid": of("grid", main),
        "lines": of("lines", main),
        "trials": of("trials", [d for d in main if d in studies.CLUSTERS]),
        "BBC": of("comparison", text) + of("ablation", text),
        "trials, 10 seeds": of("trials, 10 seeds", [d for d in main if d in studies.CLUSTERS]),
        "others": of("comparison", others) + of("ablation", others),
        "tf-idf": [
            spec
            for name in STUDIES["tf-idf"].variants
            for spec in of("tf-idf", text, variants=[name])
        ],
        "beyond": of("beyond", quick),
        "beyond, BBC": of("beyond", text, variants=studies.SHARING),
        "long": of("long", [d for d in main if d == "PIE"]),
        "own pre-training": of("beyond", text, variants=studies.OWN_PRETRAINING),
    }
    wanted = PEER_DATASETS if datasets is None else chosen
    small = [d for d in wanted if d not in SHORTENED]
    last = {
        "peers, shallow": of("peers, shallow", wanted),
        "peers, deep": of("peers, deep", small)
        + of("peers, a tenth", [d for d in wanted if d in studies.BOTH_SCHEDULES])
        + of("peers, a tenth at most", [d for d in wanted if d in SHORTENED]),
        # Those that take seconds first.
        "libraries": [
            spec
            for name, study in STUDIES.items()
            if name.startswith("libraries")
            for spec in of(name, [d for d in study.datasets if d in wanted])
        ],
    }
    for name, study in STUDIES.items():
        if name not in stages and name not in last and not study.file:
            here = [d for d in study.datasets if datasets is None or d in datasets]
            stages[name] = of(name, here)
    return stages | last
