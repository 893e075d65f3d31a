"""Experiments: the store of runs opened, filled and read; what every notebook starts with.

A notebook names variants (:mod:`dmac.plan`), a `Page` finds their runs in the store, makes those
that are missing where it was asked to, and :mod:`dmac.tables`, :mod:`dmac.figures` and
:mod:`dmac.findings` show them.
"""

import dataclasses
import functools
import json
import os
import shutil
import tempfile
import weakref
from pathlib import Path

import numpy as np

import dmac
from dmac import plan
from dmac.registry import DownloadError
from dmac.runs import complete_settings, make_run
from dmac.store import Store
from dmac.sweep import fill

#: Where the stored runs of this project are.
RESULTS = Path(__file__).parents[1] / "notebooks" / "results"

PROFILES = ("stored", "full", "quick")
_QUICK = {"pretrain_epochs": 5, "epochs": 3}
_SAMPLES = 500  # of the quick profile


def cache():
    """The folder of pre-trained weights, beside that of downloaded data."""
    import pooch

    return Path(os.environ.get("DMAC_CACHE") or pooch.os_cache("dmac")) / "pretrained"


def open_store(results=RESULTS):
    """The store of runs in a results folder."""
    return Store(Path(results) / "runs", complete_settings)


def arrays_path(store, key):
    """Where the arrays of a run are that has some."""
    return store.folder / "arrays" / f"{key[:32]}.npz"


def _is_done(store, spec, key):
    return key in store and not (spec.keep and not arrays_path(store, key).exists())


def missing(specs, store, load=dmac.load):
    """Those of a list of `dmac.runs.Spec` that the store lacks."""
    return [spec for spec in specs if not _is_done(store, spec, store.key(spec.identity(load)))]


def complete(specs, store, *, n_jobs=1, device="cpu", pretrained=None, load=dmac.load):
    """Make the runs that the store lacks, in the order of the list; see :func:`dmac.sweep.fill`.

    Parameters
    ----------
    specs : list of dmac.runs.Spec
    store : dmac.store.Store
    n_jobs : int
        Processes, each with one thread. A cluster takes the runs where joblib is told so, as in
        ``with joblib.parallel_config("dask"):`` around a ``dask.distributed.Client``.
    device : str
    pretrained : path, optional
        Folder of pre-trained weights, which many runs share; without one each pre-trains.
    load : callable
        Reads a data set by its name.

    Yields
    ------
    dict
        The record of every run that is made.
    """
    by_key, runs = {}, []
    for spec in specs:
        identity = spec.identity(load)
        key = store.key(identity)
        if key not in by_key or spec.keep:
            by_key[key] = spec
        runs.append((identity, key, spec))
    runs = [(i, f"{i['dataset']}/{spec.file}", by_key[key]) for i, key, spec in runs]

    def before(key, made):
        arrays = made.pop("arrays", None)
        if arrays is not None:
            path = arrays_path(store, key)
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{key[:32]}.{os.getpid()}.npz")
            np.savez_compressed(temporary, **arrays)
            os.replace(temporary, path)
        return made

    make = functools.partial(
        make_run, device=device, pretrained=pretrained, pretrained_at=plan.PRETRAINED_AT, load=load
    )
    yield from fill(
        store,
        runs,
        make,
        n_jobs=n_jobs,
        before=before,
        done=lambda key: _is_done(store.refresh(), by_key[key], key),
    )


def _name(dataset, method, settings, seed):
    return json.dumps([dataset, method, settings, seed], sort_keys=True)


def index(store):
    """The records of a store by data set, method, settings and seed: found without the data.

    Raises
    ------
    ValueError
        If two records differ in nothing but the data that went under one name.
    """
    found = {}
    for record in store.records():
        settings = complete_settings(record["method"], record["settings"])
        name = _name(record["dataset"], record["method"], settings, record["seed"])
        other = found.setdefault(name, record)
        if other["data"] != record["data"]:
            raise ValueError(
                f"{store.folder} has runs of two different data sets named {record['dataset']!r}: "
                "remove the lines of one, or keep it in another results folder"
            )
    return found


def _row(variant, record):
    """What tables need of a record; scores in %."""
    row = {"variant": variant, "dataset": record["dataset"], "seed": record["seed"]}
    row |= {name: 100 * value for name, value in record.get("scores", {}).items()}
    epochs, oracle = record.get("epochs") or {}, record.get("oracle") or {}
    for name in ("acc", "nmi"):
        row[f"oracle_{name}"] = 100 * oracle[name] if oracle else np.nan
        row[f"start_{name}"] = 100 * (record.get("start") or {}).get(name, np.nan)
    row |= record.get("embedding") or {}
    seconds = record.get("seconds")
    row["seconds"] = seconds["fit"] if isinstance(seconds, dict) else seconds
    names = ("method", "settings", "error", "key", "n_anchors")
    return row | {name: record.get(name) for name in names} | {"epochs": epochs}


_COLUMNS = (
    *("variant", "dataset", "seed", "acc", "nmi", "ari", "purity", "f1"),
    *("oracle_acc", "oracle_nmi", "start_acc", "start_nmi"),
    *("one_minus_cosine", "effective_rank", "neighbors", "silhouette"),
    *("seconds", "method", "settings", "error", "key", "n_anchors", "epochs"),
)


def runs(records, variants, datasets, seeds):
    """Stored runs of some variants, as a table.

    Parameters
    ----------
    records : dict
        What `index` returns.
    variants : dict of str to (str, dict)
        Name to method and settings, as :data:`dmac.plan.COMPARISON` is.
    datasets : list of str
    seeds : iterable of int

    Returns
    -------
    pandas.DataFrame
        A row a run that is stored, by variant, data set and seed in the given order: scores of the
        returned labels in % (``acc``, ``nmi``, ``ari``, ``purity``, ``f1``), the best over epochs
        (``oracle_acc``, ``oracle_nmi``), those after the pre-training (``start_acc``,
        ``start_nmi``), measures of the final embedding, and ``epochs``, the curves as a dict of
        lists. A failed run has an ``error`` and no scores.
    """
    import pandas as pd  # only the book needs tables

    seeds, rows = list(seeds), []
    for variant, (method, settings) in variants.items():
        for dataset in datasets:
            for seed in seeds:
                record = records.get(_name(dataset, method, settings, seed))
                if record is not None:
                    rows.append(_row(variant, record))
    frame = pd.DataFrame(rows, columns=list(_COLUMNS))
    frame["variant"] = pd.Categorical(frame.variant, list(variants), ordered=True)
    frame["dataset"] = pd.Categorical(frame.dataset, list(dict.fromkeys(datasets)), ordered=True)
    frame.attrs["seeds"] = len(seeds)  # asked for
    return frame


def stored(variants=plan.COMPARISON, datasets=plan.MAIN, seeds=range(1, 11), results=RESULTS):
    """The stored runs of some variants, for a page that makes none; see :func:`runs`."""
    return runs(index(open_store(results).refresh()), variants, datasets, seeds)


def curves(frame):
    """The epochs of the main training of some runs.

    Parameters
    ----------
    frame : pandas.DataFrame
        Of `runs`.

    Returns
    -------
    pandas.DataFrame
        A row an epoch of a run: ``variant``, ``dataset``, ``seed``, ``epoch`` from 1, the losses
        (means over the views, without their weights), ``one_minus_cosine``, ``effective_rank``,
        ``empty_anchors``, and ``acc`` and ``nmi`` in %, of k-means with one start on the embedding
        after the epoch.
    """
    import pandas as pd

    parts = []
    for run in frame.itertuples():
        if run.epochs:
            part = pd.DataFrame(run.epochs)
            part[["acc", "nmi"]] *= 100
            for place, name in enumerate(("variant", "dataset", "seed")):
                part.insert(place, name, getattr(run, name))
            part.insert(3, "epoch", np.arange(1, len(part) + 1))
            parts.append(part)
    if not parts:
        return pd.DataFrame(columns=["variant", "dataset", "seed", "epoch", "acc", "nmi"])
    joined = pd.concat(parts, ignore_index=True)
    for name in ("variant", "dataset"):
        joined[name] = pd.Categorical(joined[name], frame[name].cat.categories, ordered=True)
    return joined


def few(name):
    """A data set with every k-th of its samples, at most some hundreds: for a first look."""
    data = dmac.load(name)
    step = -(-data.n_samples // _SAMPLES)
    labels = None if data.labels is None else data.labels[::step]
    return dataclasses.replace(data, views=[x[::step] for x in data.views], labels=labels)


_TYPES = dict(
    dataset=str,
    profile=str,
    seeds=int,
    pretrain_epochs=(int, type(None)),
    epochs=(int, type(None)),
    device=str,
    n_jobs=int,
    results=str,
)


class Page:
    """What an experiment notebook shows: the runs of a store, made first where it was asked to.

    Parameters
    ----------
    parameters : dict
        ``globals()`` of the notebook, right after its parameters: ``dataset`` (names or paths,
        separated by commas; empty for those of the page), ``profile``, ``seeds``,
        ``pretrain_epochs`` and ``epochs`` (upper bounds, or None), ``device``, ``n_jobs``,
        ``results`` (folder of the store; empty for the project's, or a temporary one).
    quick_seeds : int
        Of the quick profile.
    **types
        Further parameters and their types.

    Attributes
    ----------
    profile : str
        "stored" draws what the store has; "full" makes the missing runs first; "quick" makes short
        ones of a few hundred samples.
    seeds : int
    datasets : list of str
        Those that were asked for by ``dataset``.

    Raises
    ------
    ValueError
        If a parameter is unknown, of another type, or has a value that means nothing.
    """

    def __init__(self, parameters, quick_seeds=1, **types):
        check_parameters(parameters, **_TYPES, **types)
        given = {name: parameters[name] for name in _TYPES}
        self.profile = given["profile"]
        if self.profile not in PROFILES:
            raise ValueError(f"parameter profile is {self.profile!r}, it must be one of {PROFILES}")
        for name in ("seeds", "epochs"):
            if given[name] is not None and given[name] < 1:
                raise ValueError(f"parameter {name} is {given[name]}, it must be at least 1")
        self._bounds = {name: given[name] for name in _QUICK}
        self.seeds, self._n_jobs, self._device = given["seeds"], given["n_jobs"], given["device"]
        names = [name.strip() for name in given["dataset"].split(",") if name.strip()]
        results, self._load, self._pretrained = given["results"] or RESULTS, dmac.load, None
        if self.profile == "quick":
            self._bounds |= {k: v for k, v in _QUICK.items() if self._bounds[k] is None}
            self.seeds, self._n_jobs, self._load = min(self.seeds, quick_seeds), 1, few
            names = names or ["mfeat"]
            temporary = tempfile.mkdtemp(prefix="dmac-")
            weakref.finalize(self, shutil.rmtree, temporary, ignore_errors=True)
            results = given["results"] or temporary
            self._pretrained = Path(temporary) / "pretrained"
        elif self.profile == "full":
            self._pretrained = cache()
        self._sources = dict(_resolved(name) for name in names)
        self.datasets = list(self._sources)
        self.store = open_store(results).refresh()
        self._records, self._asked, self.absent = index(self.store), {}, {}

    def fetch(self, variants, file, datasets=(), seeds=None, keep=False, quick=None, only=False):
        """Runs of some variants, made first if they are missing and the profile is not "stored".

        Parameters
        ----------
        variants : dict of str to (str, dict)
            Name to method and settings.
        file : str
            Group of records in the store.
        datasets : sequence of str
            Those of the page, where ``dataset`` names none.
        seeds : int, optional
            At most so many.
        keep : bool
            Whether arrays are needed of the first seed. Without it they are kept of those that
            :func:`dmac.plan.keeps` names, in the full profile.
        quick : sequence of str, optional
            The variants that are enough in the quick profile.
        only : bool
            Whether the variants mean something on no other data sets than these.

        Returns
        -------
        pandas.DataFrame
            As :func:`runs` makes it.
        """
        mine = self.datasets or list(datasets)
        datasets = [d for d in mine if d in datasets] if only else mine
        seeds = range(1, min(self.seeds, seeds or self.seeds) + 1)
        if self.profile == "quick" and quick is not None:
            variants = {name: variants[name] for name in quick}
        variants = {name: (m, self._bounded(m, s)) for name, (m, s) in variants.items()}
        if self.profile != "stored":
            self._make(variants, file, datasets, seeds, keep)
        for dataset in datasets:
            for method, settings in variants.values():
                for seed in seeds:
                    self._asked[_name(dataset, method, settings, seed)] = dataset
        return runs(self._records, variants, datasets, seeds)

    def _bounded(self, method, settings):
        if method != "DMAC":
            return settings
        bounds = {name: bound for name, bound in self._bounds.items() if bound is not None}
        return settings | {name: min(settings[name], bound) for name, bound in bounds.items()}

    def _make(self, variants, file, datasets, seeds, keep):
        from tqdm import tqdm

        specs = []
        for dataset in datasets:
            source = self._sources.get(dataset, dataset)
            try:
                self._load(source)
            except (DownloadError, FileNotFoundError) as error:
                self.absent[dataset] = str(error)  # what is stored of it is still shown
                continue
            here = plan.specs(variants, [source], seeds, file, keep=self.profile == "full")
            specs += [self._kept(spec) for spec in here] if keep else here
        lacking = missing(specs, self.store, self._load)
        made = complete(
            lacking,
            self.store,
            n_jobs=self._n_jobs,
            device=self._device,
            pretrained=self._pretrained,
            load=self._load,
        )
        for _ in tqdm(made, total=len(lacking), desc=file, unit="run", mininterval=5):
            pass
        self._records = index(self.store.refresh())

    @staticmethod
    def _kept(spec):
        return dataclasses.replace(spec, keep=spec.seed == 1 and spec.method == "DMAC")

    def arrays(self, frame):
        """Anchors, their classes and the embedding in the plane, of the runs that have them.

        Parameters
        ----------
        frame : pandas.DataFrame
            Of `fetch`.

        Returns
        -------
        dict of (str, str) to dict of str to array
            By data set and variant.
        """
        found, first = {}, frame[frame.seed == 1]
        for run in first.sort_values(["dataset", "variant"]).itertuples():
            path = arrays_path(self.store, run.key)
            if path.exists():
                with np.load(path) as arrays:
                    found[run.dataset, run.variant] = dict(arrays)
        return found

    def status(self):
        """How many of the runs that the page asks for it shows, and what is missing."""
        lacking = [dataset for name, dataset in self._asked.items() if name not in self._records]
        asked = len(self._asked)
        if self.profile == "quick":
            return (
                f"Quick profile: {asked} short runs of at most {_SAMPLES} samples, to see it run."
            )
        if not lacking:
            return f"This page is drawn from {asked} stored runs, all that it asks for."
        counts = ", ".join(f"{d} {lacking.count(d)}" for d in dict.fromkeys(lacking))
        absent = f" No data here for: {', '.join(self.absent)}." if self.absent else ""
        return (
            f"This page is drawn from {asked - len(lacking)} of the {asked} runs that it asks for; "
            f"not stored yet are {len(lacking)} ({counts}).{absent}"
        )


def _resolved(name):
    """How a data set is called, and where it is read from."""
    known = {known.lower(): known for known in dmac.available()}
    if name.lower() in known:
        return known[name.lower()], known[name.lower()]
    data = dmac.load(name)  # says what is wrong with a name that is none
    if data.labels is None:
        raise ValueError(f"{name} has no labels, so nothing can be scored")
    return data.name, name


def check_parameters(namespace, **types):
    """Refuse a misspelt or ill-typed papermill parameter before anything runs.

    papermill only warns of a name that the notebook does not declare, and would run the defaults.

    Parameters
    ----------
    namespace : dict
        ``globals()`` of the notebook, right after its parameters.
    **types : type or tuple of types
        The declared parameters and what each may be.

    Raises
    ------
    ValueError
        Naming the parameter, what it is and what is declared.
    """
    kernel = {"In", "Out"}
    given = {n for n, v in namespace.items() if not n.startswith("_") and not callable(v)}
    if unknown := given - kernel - set(types):
        raise ValueError(f"unknown parameter {sorted(unknown)}; there are {sorted(types)}")
    for name, kind in types.items():
        value = namespace[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            expected = kind.__name__ if isinstance(kind, type) else kind
            raise ValueError(f"parameter {name} is {value!r}, it must be {expected}")
