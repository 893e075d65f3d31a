"""Experiments: the store of runs opened, filled, and read as tables.

What is run is listed in :mod:`experiments.studies`, one run is made by
:mod:`experiments.run`, and a notebook asks for its runs through
:class:`experiments.page.Page`.
"""

import functools
import itertools
import os
import weakref
from collections import Counter
from pathlib import Path

import numpy as np

import dmac
from dmac.compute.files import replacing
from dmac.data.datasets import title_of
from experiments import studies
from experiments.run import complete_settings, make_run, run_name
from experiments.store import Store, fill, key_of, slug

#: Where the stored runs of this project are.
RESULTS = Path(__file__).parents[1] / "results"


def cache():
    """The folder of pre-trained weights, beside that of downloaded data."""
    import pooch

    return Path(os.environ.get("DMAC_CACHE") or pooch.os_cache("dmac")) / "pretrained"


def open_store(results=RESULTS):
    """The store of runs in a results folder, one for all who ask: reading it takes seconds."""
    return _store(Path(results).absolute() / "runs")


@functools.cache
def _store(folder):
    return Store(folder, complete_settings)


def open_repeated(results, name):
    """The store of runs that were made again, on another machine or with other instructions."""
    return Store(Path(results) / "repeated" / name, complete_settings)


def arrays_path(store, key):
    """Where the arrays of a run are that has some."""
    written = store.records.get(key, {"key": key})["key"]  # before a parameter was added
    return store.folder / "arrays" / f"{written[:32]}.npz"


def _is_done(store, key, spec):
    return key in store.records and (not spec.keep or arrays_path(store, key).exists())


def missing(specs, store, load=dmac.load):
    """Those of a list of `experiments.run.Spec` that the store lacks."""
    return [spec for spec in specs if not _is_done(store, key_of(spec.identity(load)), spec)]


def complete(specs, store, *, n_jobs=1, device="cpu", pretrained=None, load=dmac.load):
    """Make the runs that the store lacks, in the order of the list, those with arrays first.

    It is :func:`experiments.store.fill`, with the arrays of runs that figures need.

    Parameters
    ----------
    specs : list of experiments.run.Spec
    store : experiments.store.Store
    n_jobs : int
        Processes, each with one thread. A cluster takes the runs where joblib is told so, as in
        ``with joblib.parallel_config("dask"):`` around a ``dask.distributed.Client``.
    device : str
    pretrained : path, optional
        Folder of pre-trained weights, for runs that share them; without one each pre-trains.
    load : callable
        Reads a data set by its name.

    Yields
    ------
    dict
        The record of every run that is made.
    """
    specs = sorted(specs, key=lambda spec: not spec.keep)  # the first of equal ones is made
    runs = [(spec.identity(load), slug(spec.file), spec) for spec in specs]

    def keep_arrays(key, record):
        arrays = record.pop("arrays", None)
        if arrays is not None:
            path = arrays_path(store, key)
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as temporary, open(temporary, "wb") as file:
                np.savez_compressed(file, **arrays)
        return record

    more = dict(pretrained=pretrained, pretrained_at=studies.PRETRAINED_AT)
    make = functools.partial(make_run, device=device, load=load, **more)
    yield from fill(store, runs, make, n_jobs=n_jobs, before=keep_arrays, done=_is_done)


_INDEXED = weakref.WeakKeyDictionary()


def index(store):
    """The records of a store by data set, method, settings and seed: found without the data.

    Raises
    ------
    ValueError
        If two records differ in nothing but the data that went under one name.
    """
    records, by_name = _INDEXED.get(store, (None, {}))
    if records is store.records:  # another object once something changed
        return by_name
    records, by_name = store.records, {}
    for record in records.values():
        name = run_name(*(record[part] for part in ("dataset", "method", "settings", "seed")))
        other = by_name.setdefault(name, record)
        if other["data"] != record["data"]:
            raise ValueError(
                f"{store.folder} has runs of two different data sets named {record['dataset']!r}: "
                "remove the lines of one, or keep it in another results folder"
            )
    _INDEXED[store] = records, by_name
    return by_name


#: Prefixes of columns in %, and the entries of a record that have them.
_PERCENT = {"": "scores", "oracle_": "oracle", "start_": "start", "fitted_": "fitted"}


def _row(variant, record):
    percent = {
        f"{prefix}{name}": 100 * value
        for prefix, part in _PERCENT.items()
        for name, value in (record.get(part) or {}).items()
        if value is not None
    }
    seconds = record.get("seconds", np.nan)
    if not isinstance(seconds, dict):
        seconds = {"fit": seconds, "pretraining": 0, "training": seconds}
    names = ("dataset", "seed", "method", "settings", "error", "key", "n_anchors")
    return {
        **{name: record.get(name) for name in names},
        **percent,
        **(record.get("embedding") or {}),
        "variant": variant,
        "seconds": seconds.get("pretraining", np.nan) + seconds.get("training", np.nan),
        "fit_seconds": seconds["fit"],
        "epochs": record.get("epochs") or {},
        "record": record,
    }


_COLUMNS = (
    *("variant", "dataset", "seed", "acc", "nmi", "ari", "purity", "f1", "nmi_max"),
    *("kmeans_acc", "kmeans_nmi"),
    *("oracle_acc", "oracle_nmi", "start_acc", "start_nmi", "fitted_acc", "fitted_nmi"),
    *("one_minus_cosine", "effective_rank", "neighbors", "silhouette"),
    *("seconds", "fit_seconds", "method", "settings", "error", "key", "n_anchors", "epochs"),
    "record",
)


def titles(datasets):
    """What tables and figures call some data sets, by the names under which their runs are stored.

    It is :func:`dmac.data.datasets.title_of`, so that one set has one name on all pages. Where both
    copies of a set are asked for, each keeps its own name: their runs must not be mixed.
    """
    shown = {name: title_of(name) for name in datasets}
    counts = Counter(shown.values())
    return {name: title if counts[title] == 1 else name for name, title in shown.items()}


def runs(records, variants, datasets, seeds):
    """Stored runs of some variants, as a table.

    Parameters
    ----------
    records : dict
        What `index` returns.
    variants : dict of str to (str, dict)
        Name to method and settings, as :data:`experiments.studies.COMPARISON` is.
    datasets : list of str
    seeds : iterable of int

    Returns
    -------
    pandas.DataFrame
        One row per stored run, by variant, data set and seed in the given order: scores of the
        returned labels in % (``acc``, ``nmi``, ``ari``, ``purity``, ``f1``, and of the other
        systems ``nmi_max``, by the larger entropy and not by the mean), those of k-means on the
        embedding beside an arg-max (``kmeans_acc``, ``kmeans_nmi``), the best over epochs
        (``oracle_acc``, ``oracle_nmi``), those after the pre-training (``start_acc``,
        ``start_nmi``), those of the fitted samples where others were held out (``fitted_acc``,
        ``fitted_nmi``), measures of the final embedding, ``seconds`` of the epochs alone and
        ``fit_seconds`` of all, ``epochs``, the curves as a dict of lists, and the whole ``record``.
        A failed run has an ``error`` and no scores. Data sets have the names of `titles`.
    """
    import pandas as pd  # only the book needs tables

    seeds = list(seeds)
    found = (
        (variant, records.get(run_name(dataset, *run, seed)))
        for (variant, run), dataset, seed in itertools.product(variants.items(), datasets, seeds)
    )
    rows = [_row(variant, record) for variant, record in found if record is not None]
    frame = pd.DataFrame(rows, columns=list(_COLUMNS))
    frame["variant"] = pd.Categorical(frame.variant, list(variants), ordered=True)
    names = titles(datasets)
    frame["dataset"] = pd.Categorical(frame.dataset.map(names), list(names.values()), ordered=True)
    frame.attrs["seeds"] = len(seeds)  # asked for
    return frame


def runs_of(records, name):
    """The runs of a study in an index of records; see :func:`runs`.

    Of trials that nobody can make again the index says what they were.
    """
    study = studies.STUDIES[name]
    variants, datasets = study.variants, study.datasets
    if not variants:
        mine = [r for r in records.values() if r["settings"].get("study") == name]
        variants = {r["settings"]["variant"]: (r["method"], r["settings"]) for r in mine}
        datasets = list(dict.fromkeys(r["dataset"] for r in mine))
    return runs(records, variants, datasets, study.all_seeds)


def read_runs(
    variants=studies.COMPARISON, datasets=studies.MAIN, seeds=range(1, 11), results=RESULTS
):
    """The stored runs of some variants, for a page that makes none; see :func:`runs`."""
    return runs(index(open_store(results).refresh()), variants, datasets, seeds)


def read_study(name, results=RESULTS):
    """The stored runs of a study, by its name in :data:`experiments.studies.STUDIES`."""
    return runs_of(index(open_store(results).refresh()), name)


def whole(frame, seeds=studies.FEW):
    """The runs of those variants and data sets that have at least so many seeds stored.

    Parameters
    ----------
    frame : pandas.DataFrame
        Of `runs`. What is filled in run by run is shown when a data set has all seeds.
    seeds : int
    """
    scored = frame.dropna(subset="acc")
    counts = scored.groupby(["variant", "dataset"], observed=True).seed.transform("nunique")
    return scored[counts >= seeds]


def curves(frame):
    """The epochs of the main training of some runs.

    Parameters
    ----------
    frame : pandas.DataFrame
        Of `runs`.

    Returns
    -------
    pandas.DataFrame
        One row per epoch of a run: ``variant``, ``dataset``, ``seed``, ``epoch`` from 1, the losses
        (means over the views, without their weights), ``one_minus_cosine``, ``effective_rank``,
        ``empty_anchors``, and ``acc`` and ``nmi`` in %, of k-means with one start on the embedding
        after the epoch. Some of the oldest runs have every tenth epoch, and no scores on the way.
    """
    import pandas as pd

    names = ["variant", "dataset", "seed"]
    frame = frame.reset_index(drop=True)
    some = {i: pd.DataFrame(epochs, dtype=float) for i, epochs in frame.epochs.items() if epochs}
    if not some:
        return pd.DataFrame(columns=[*names, "epoch", "acc", "nmi"])
    columns = pd.concat(some, names=["run", "epoch"]).reset_index(level="epoch")
    columns["epoch"] += 1
    for name in ("acc", "nmi"):
        columns[name] = 100 * columns[name] if name in columns else np.nan
    return frame[names].join(columns, how="right").reset_index(drop=True)
