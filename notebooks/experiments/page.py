"""What an experiment notebook starts with: its parameters checked, its runs found or made.

A notebook names variants (:mod:`experiments.studies`), a `Page` finds their runs in the store and
makes those that are missing where it was asked to. :mod:`experiments.tables` and
:mod:`experiments.figures` show them; the notebook's author writes what they mean.
"""

import dataclasses
import shutil
import tempfile
import weakref
from pathlib import Path

import numpy as np
import pandas as pd

import dmac
from dmac.data.registry import DownloadError
from experiments import plan, records, studies

PROFILES = ("stored", "full", "quick")
_QUICK = {"pretrain_epochs": 5, "epochs": 3}
_SAMPLES = 500  # of the quick profile


def load_subset(name):
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
        "stored" shows what the store has; "full" makes the missing runs first; "quick" makes short
        ones of a few hundred samples.
    seeds : int
    datasets : list of str
        Those that were asked for by ``dataset``.
    results : pathlib.Path
        Folder of the store.

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
        results = given["results"] or records.RESULTS
        self._load, self._pretrained = dmac.load, None
        if self.profile == "quick":
            self._bounds |= {k: v for k, v in _QUICK.items() if self._bounds[k] is None}
            self.seeds, self._n_jobs, self._load = min(self.seeds, quick_seeds), 1, load_subset
            names = names or ["mfeat"]
            temporary = tempfile.mkdtemp(prefix="dmac-")
            weakref.finalize(self, shutil.rmtree, temporary, ignore_errors=True)
            results = given["results"] or temporary
            self._pretrained = Path(temporary) / "pretrained"
        elif self.profile == "full":
            self._pretrained = records.cache()
        self._sources = dict(_resolve(name) for name in names)
        self.datasets = list(self._sources)
        self.results = Path(results)
        self.store = records.open_store(results).refresh()
        self._records, self._asked, self.absent = records.index(self.store), {}, {}

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
            :func:`experiments.plan.specs` names, in the full profile.
        quick : sequence of str, optional
            The variants that are enough in the quick profile.
        only : bool
            Whether the variants mean something on no other data sets than these.

        Returns
        -------
        pandas.DataFrame
            As :func:`experiments.records.runs` makes it.
        """
        mine = self.datasets or list(datasets)
        datasets = [d for d in mine if d in datasets] if only else mine
        seeds = range(1, min(self.seeds, seeds or self.seeds) + 1)
        if self.profile == "quick" and quick is not None:
            variants = {name: variants[name] for name in quick}
        variants = {name: (m, self._bound(m, s)) for name, (m, s) in variants.items()}
        if self.profile != "stored":
            self._make(variants, file, datasets, seeds, keep)
        self._asked |= {
            records.run_name(dataset, *run, seed): dataset
            for dataset in datasets
            for run in variants.values()
            for seed in seeds
        }
        return records.runs(self._records, variants, datasets, seeds)

    def look_up(self, variants, datasets, seeds=None):
        """Runs of some variants that are stored: none is made, and none is missed.

        For runs that take hours, as those of the other systems do; `is_whole` and `status` do not
        count them.

        Parameters
        ----------
        variants : dict of str to (str, dict)
            Name to method and settings.
        datasets : sequence of str
            Those of the page, where ``dataset`` names none.
        seeds : int, optional
            At most so many.

        Returns
        -------
        pandas.DataFrame
            As :func:`experiments.records.runs` makes it.
        """
        seeds = range(1, min(self.seeds, seeds or self.seeds) + 1)
        return records.runs(self._records, variants, self.datasets or list(datasets), seeds)

    def _bound(self, method, settings):
        if method != "DMAC":
            return settings
        bounds = {k: b for k, b in self._bounds.items() if b is not None and k in settings}
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
            shown = [dataclasses.replace(s, keep=s.seed == 1 and s.method == "DMAC") for s in here]
            specs += shown if keep else here
        lacking = records.missing(specs, self.store, self._load)
        made = records.complete(
            lacking,
            self.store,
            n_jobs=self._n_jobs,
            device=self._device,
            pretrained=self._pretrained,
            load=self._load,
        )
        for _ in tqdm(made, total=len(lacking), desc=file, unit="run", mininterval=5):
            pass
        self._records = records.index(self.store.refresh())

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
        by_run, first = {}, frame[frame.seed == 1]
        for run in first.sort_values(["dataset", "variant"]).itertuples():
            path = records.arrays_path(self.store, run.key)
            if path.exists():
                with np.load(path, allow_pickle=False) as arrays:
                    by_run[run.dataset, run.variant] = dict(arrays)
        return by_run

    @property
    def is_whole(self):
        """Whether the page shows what its author wrote about: all runs of the full profile.

        Its own data sets, all seeds, no bound on the epochs, and nothing missing of what was
        fetched so far. Cells that glue numbers into the text and assert what it claims ask this
        first: a quick or partial page has other numbers, and shows only tables and figures.
        """
        return (
            self.profile != "quick"
            and not self.datasets
            and self.seeds == studies.SEEDS
            and not any(bound is not None for bound in self._bounds.values())
            and all(name in self._records for name in self._asked)
        )

    def status(self):
        """How many runs the page asks for, and how many of them it has.

        Returns
        -------
        pandas.DataFrame
            One row per data set and a last one for "all" of them: the runs ``asked for`` and those
            ``stored``; and the ``data``, "not here" where runs could not be made for want of them.
        """
        called = records.titles(self._asked.values())
        rows = [(called[dataset], run in self._records) for run, dataset in self._asked.items()]
        frame = pd.DataFrame(rows, columns=["dataset", "stored"])
        groups = frame.groupby("dataset", sort=False).stored
        names = ["asked for", "stored"]
        table = groups.agg(["size", "sum"]).set_axis(names, axis=1).rename_axis(None)
        table.loc["all"] = table.sum()
        if self.absent:
            absent = {called[name] for name in self.absent}
            table["data"] = ["not here" if name in absent else "" for name in table.index]
        return table


def _resolve(name):
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
