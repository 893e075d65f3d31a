"""Every run behind the experiments, as data: what ``make experiments`` makes and the pages show.

A run belongs to the first list that names it; later ones, and the pages, find it in the store.
"""

from experiments import studies
from experiments.run import Spec
from experiments.studies import STUDIES

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
