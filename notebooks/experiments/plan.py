"""Every run behind the experiments, as data: what ``make experiments`` makes and the pages show.

A run belongs to the first list that names it; later ones, and the pages, find it in the store.
``python -m experiments.plan`` writes ``results/README.md``, which says what each file holds.
"""

from experiments import studies
from experiments.records import RESULTS
from experiments.run import Spec, is_retired
from experiments.store import slug
from experiments.studies import STUDIES

#: What says which file holds what, and how it begins and ends.
CATALOGUE = RESULTS / "README.md"
_BEGINS = """\
# The stored runs

`python -m experiments.plan`, in the folder above, writes this page. Every run is a line of JSON in
`runs/`: data and their hash, every parameter, seed, scores or the error, memory, machine, versions,
date, and the hash of the code that made it. A run that is stored is not made again; a changed
parameter is a new run. `experiments.store` reads and writes the files.

- `runs/retired.jsonl.gz` has the runs whose code is gone, and those that were stored before a run
  named its code. They can be read, and not be made again. A file of the table that is not there has
  all its runs here.
- `runs/bench-*.jsonl` has measurements of seconds and memory, for scaling and record_costs.
- `runs/sealed.jsonl` has the runs of the sealed test, for record_sealed, and
  `runs/level-choice.jsonl` those by which the third level was chosen, for record_levels.
- Runs of the kinds `NetworkIdea`, `SpectralIdea` and `LevelIdea`, and the numbers of clusters by
  fits, can be made at commit 748f2882, and not since.
- `runs/arrays/` has what figures 3 and 4 draw, and `repeated/` runs that were made again.
- `one_page.json`, `repair.json` and `row_lengths.json` have the few numbers that chapters carry
  along; the modules of these names in `experiments` write them. `units.json`, for a section of
  chapter 13, and `last_step.json`, for one of record_trials, were written at commit 748f2882.

| file in `runs/` | studies in it | pages that show them | runs that they list |
|:--|:--|:--|--:|
"""

#: Groups of records of which arrays are kept, for figures 3 and 4.
_KEPT = ("comparison", "ablation")


def specs(variants, datasets, seeds, file, keep=False):
    """The runs of some variants, but for those that the code cannot make any more.

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
        if not is_retired(settings)
    ]


def of(name, datasets=None):
    """The runs of a study, or those on some data sets.

    What the code no longer has is in the store, but cannot be made: it is left out.
    """
    study = STUDIES[name]
    if study.retired:
        return []
    file = study.file or name
    on = study.datasets if datasets is None else datasets
    return specs(study.variants, on, study.all_seeds, file, keep=file in _KEPT)


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


def catalogue():
    """The text of `CATALOGUE`: a row for every file, from the studies that name it."""
    files = {}
    for name, study in STUDIES.items():
        files.setdefault(f"{slug(study.file or name)}.jsonl", {})[name] = study
    rows = []
    for file, here in sorted(files.items()):
        pages = {page: None for study in here.values() for page in study.pages.split()}
        listed = sum(
            len(study.variants) * len(study.datasets) * len(study.all_seeds)
            for study in here.values()
        )
        rows.append(f"| `{file}` | {'; '.join(here)} | {', '.join(pages)} | {listed:,} |\n")
    return _BEGINS + "".join(rows)


if __name__ == "__main__":
    CATALOGUE.write_text(catalogue(), encoding="utf-8")
