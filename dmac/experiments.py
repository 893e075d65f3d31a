"""Runs of methods over seeds: what the experiment notebooks share.

Only here do labels meet a fit, and only to score it: the epoch-wise scores feed the column that is
named "oracle epoch" because nobody without labels can have it.
"""

import dataclasses
import functools
import json
import platform
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from joblib import Parallel, delayed

from dmac import baselines
from dmac.anchors import kmeans
from dmac.diagnostics import mean_cosine
from dmac.estimator import DMAC
from dmac.metrics import scores
from dmac.recipes import get_recipe
from dmac.training import EpochRecord

#: The shallow pipelines of chapter 1, by the name under which a table shows them.
BASELINES = {
    "k-means, concatenated": baselines.raw_kmeans,
    "k-means, whitened": baselines.whitened_kmeans,
    "closed form, whitened": baselines.closed_form,
    "closed form, whitened, k = 10": functools.partial(baselines.closed_form, n_neighbors=10),
}


@dataclass(frozen=True)
class Run:
    """One method on one data set with one seed.

    Attributes
    ----------
    dataset, method : str
    seed : int
    scores : dict of str to float
        Of the labels the method returns: for DMAC the last epoch, k-means with the recipe's starts.
    seconds : float
        Wall-clock time of the fit, without the scoring of its epochs.
    settings : dict
        The recipe as data; empty for a baseline.
    epochs : list of dict
        One an epoch of the main training: the fields of ``EpochRecord``, and ``acc`` and ``nmi``
        of k-means with one start on the embedding *after* the epoch.
    mean_cosine : float or None
        Of the final embedding.
    threads : int
        Threads that each operation could use.
    """

    dataset: str
    method: str
    seed: int
    scores: dict
    seconds: float
    settings: dict = field(default_factory=dict)
    epochs: list = field(default_factory=list)
    mean_cosine: float | None = None
    threads: int = field(default_factory=torch.get_num_threads)

    def oracle(self, metric):
        """Return the best epoch's score, each metric at its own best epoch, picked by the labels.

        The best of the epochs and of the final labels, so never below the result; None for a
        method without epochs. This is how the paper's numbers are chosen; it is no result that a
        user can have.
        """
        if not self.epochs:
            return None
        return max(self.scores[metric], *(epoch[metric] for epoch in self.epochs))


def run_baseline(data, method, seed):
    """Run one of :data:`BASELINES` on `MultiViewData` and return its `Run`."""
    start = time.perf_counter()
    labels = BASELINES[method](data.views, data.n_clusters, seed)
    seconds = time.perf_counter() - start
    return Run(data.name, method, seed, scores(data.labels, labels), seconds)


def run_dmac(data, recipe, seed, *, device="auto"):
    """Fit DMAC, score every epoch of its main training, and return its `Run`.

    Parameters
    ----------
    data : dmac.MultiViewData
        With labels.
    recipe : str or dmac.recipes.Recipe
    seed : int
    device : str

    Returns
    -------
    Run
    """
    recipe = get_recipe(recipe)
    epochs, outside = [], 0.0

    def follow(record, embed):
        nonlocal outside
        start = time.perf_counter()
        if isinstance(record, EpochRecord):
            found = kmeans(embed().astype(np.float64), data.n_clusters, seed).labels_
            now = scores(data.labels, found)
            epochs.append(dataclasses.asdict(record) | {"acc": now["acc"], "nmi": now["nmi"]})
        outside += time.perf_counter() - start

    model = DMAC(data.n_clusters, recipe, random_state=seed, device=device)
    start = time.perf_counter()
    model.fit(data.views, callback=follow)
    seconds = time.perf_counter() - start - outside
    return Run(
        data.name,
        f"DMAC, {recipe.name}",
        seed,
        scores(data.labels, model.labels_),
        seconds,
        dataclasses.asdict(recipe),
        epochs,
        mean_cosine(model.embedding_),
    )


def run_all(data, methods, seeds, *, device="auto", n_jobs=-1):
    """Run methods with seeds, in parallel processes.

    Parameters
    ----------
    data : dmac.MultiViewData
        With labels.
    methods : list of str or dmac.recipes.Recipe
        Names in :data:`BASELINES`, and recipes for DMAC.
    seeds : iterable of int
    device : str
        For DMAC.
    n_jobs : int
        Processes, as in joblib: -1 is one a core. The cores are shared out among them, because two
        processes of one thread do more than one process of two at the sizes of these networks.
        A cluster takes the runs where joblib is told so, as in
        ``with joblib.parallel_config("dask"):`` around a ``dask.distributed.Client``.

    Yields
    ------
    Run
        In the order of the methods and, within a method, of the seeds.
    """
    tasks = [
        delayed(run_baseline)(data, method, seed)
        if isinstance(method, str)
        else delayed(run_dmac)(data, method, seed, device=device)
        for method in methods
        for seed in seeds
    ]
    return Parallel(n_jobs=n_jobs, return_as="generator")(tasks)


def summary(runs, metrics=("acc", "nmi")):
    """Mean and standard deviation over seeds, a row a method.

    Parameters
    ----------
    runs : list of Run
        Of one data set.
    metrics : sequence of str
        Which scores to show.

    Returns
    -------
    pandas.DataFrame
        Indexed by method, in the order of the runs; scores in %, as "mean ± sd" (sample standard
        deviation; without it for one seed). Columns named "oracle epoch" follow for the metrics
        that are scored every epoch, empty for methods without epochs, then the median seconds
        of a fit.

    Raises
    ------
    ValueError
        If runs of one method differ in their settings.
    """
    import pandas as pd  # only the notebooks need tables

    rows = {}
    for method in dict.fromkeys(run.method for run in runs):
        mine = [run for run in runs if run.method == method]
        if any(run.settings != mine[0].settings for run in mine):
            raise ValueError(f"runs of {method!r} have different settings: name the variants apart")
        row = {key.upper(): _spread([run.scores[key] for run in mine]) for key in metrics}
        for key in (key for key in metrics if key in ("acc", "nmi")):
            best = [run.oracle(key) for run in mine]
            row[f"{key.upper()}, oracle epoch"] = "–" if None in best else _spread(best)
        row["seconds"] = f"{np.median([run.seconds for run in mine]):.1f}"
        rows[method] = row
    return pd.DataFrame.from_dict(rows, orient="index")


def _spread(fractions):
    values = 100 * np.asarray(fractions)
    sd = f" ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
    return f"{np.mean(values):.1f}{sd}"


def save_runs(runs, path):
    """Write runs, and the versions that made them, to a JSON file that git can diff."""
    import scipy
    import sklearn

    modules = {"numpy": np, "scipy": scipy, "sklearn": sklearn, "torch": torch}
    versions = {name: module.__version__.split("+")[0] for name, module in modules.items()}
    content = {
        "versions": versions | {"python": platform.python_version()},
        "runs": [_rounded(dataclasses.asdict(run)) for run in runs],
    }
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n")


def load_runs(path):
    """Read what :func:`save_runs` wrote: a list of `Run`."""
    return [Run(**run) for run in json.loads(Path(path).read_text())["runs"]]


def _rounded(value):
    """Six significant digits: more is noise in a file that is compared by eye."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


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
    kernel = {"In", "Out", "get_ipython", "exit", "quit", "open", check_parameters.__name__}
    unknown = {name for name in namespace if not name.startswith("_")} - kernel - set(types)
    if unknown:
        raise ValueError(f"unknown parameter {sorted(unknown)}; there are {sorted(types)}")
    for name, kind in types.items():
        value = namespace[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            expected = kind.__name__ if isinstance(kind, type) else kind
            raise ValueError(f"parameter {name} is {value!r}, it must be {expected}")
