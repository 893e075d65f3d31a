"""Every run behind the experiments, as data: what ``make experiments`` makes and the pages show.

A run belongs to the first list that names it; later ones, and the pages, find it in the store.
"""

from experiments import studies
from experiments.run import Spec
from experiments.studies import STUDIES

#: Groups of records of which arrays are kept, for figures 3 and 4.
_KEPT = ("comparison", "ablation")


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
        Whether arrays are kept of those that figures 3 and 4 show: anchors and the embedding in
        the plane.

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
            keep and method == "DMAC" and seed == 1 and dataset in studies.SHOWN,
        )
        for seed in seeds
        for dataset in datasets
        for method, settings in variants.values()
    ]


def of(name, datasets=None):
    """The runs of a study, or those on some data sets.

    What the code no longer has is in the store, but cannot be made: it is left out.
    """
    study, runs = STUDIES[name], []
    if study.retired:
        return runs
    file = study.file or name
    on = study.datasets if datasets is None else datasets
    for seed in study.all_seeds:
        here = {key: run for key, run in study.with_seed(seed).items() if "retired" not in run[1]}
        runs += specs(here, on, [seed], file, keep=file in _KEPT)
    return runs


def full(datasets=None):
    """All runs of the full profile, by study, in the order of :data:`experiments.studies.STUDIES`.

    Parameters
    ----------
    datasets : list of str, optional
        Only these; on all of them, which may be paths of files with labels, recipes are compared
        and ablated.

    Returns
    -------
    dict of str to list of Spec
    """
    runs = {}
    for name, study in STUDIES.items():
        here = [d for d in study.datasets if datasets is None or d in datasets]
        if name in _KEPT:
            here += [d for d in datasets or () if d not in here]
        runs[name] = of(name, here)
    return runs
