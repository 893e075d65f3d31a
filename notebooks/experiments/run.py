"""One run of one method on one data set with one seed, and all that a record says of it.

Only here do labels meet a fit, and only to score it.
"""

import contextlib
import dataclasses
import datetime
import functools
import time
from dataclasses import dataclass

import torch
from sklearn.metrics import normalized_mutual_info_score
from threadpoolctl import threadpool_limits

import dmac
from dmac import baselines, peers
from dmac.compute.threads import exactly
from dmac.metrics import scores
from dmac.recipes import RELEASED, Recipe
from experiments import libraries, pretraining, provenance, search
from experiments.measure import curves_of, measure, measure_held_out
from experiments.store import round_floats

#: The shallow pipelines of chapter 1: name in a table, function, settings.
BASELINES = {
    "k-means, concatenated": (baselines.raw_kmeans, {}),
    "k-means, whitened": (baselines.whitened_kmeans, {}),
    "closed form, whitened": (baselines.closed_form, {"n_neighbors": 5}),
    "closed form, whitened, k = 10": (baselines.closed_form, {"n_neighbors": 10}),
}
#: Every method that is a function of views, number of clusters and seed, and returns labels, and of
#: which the comparison page asks for all runs: its name in a table, the function, its settings.
METHODS = dict(BASELINES)
#: What settings of a system of `dmac.peers` do not hold: a run has a seed and a device of its own,
#: and the budget decides whether there is a result, and not which.
_NO_SETTINGS = ("n_clusters", "random_state", "device", "memory_budget")


def _fit_peer(system, views, n_clusters, seed, device="cpu", **settings):
    """One of the other systems, fitted."""
    model = system(n_clusters, random_state=seed, **settings)
    if "device" in model.get_params():
        model.set_params(device=device)
    return model.fit(views)


#: The nine other systems, those of ``dmac.peers.ALL``: name in a table, function of views, number
#: of clusters, seed and settings, which returns the fitted system. They are not among `METHODS`:
#: they take hours, so a page shows their stored runs and makes none.
PEERS = {name: functools.partial(_fit_peer, system) for name, system in peers.ALL.items()}
#: Estimators of other libraries: name in a table, function of views, number of clusters, seed and
#: settings. They need what ``pip install "dmac[libraries]"`` brings.
LIBRARIES = {name: functools.partial(libraries.fit_library, name) for name in libraries.ESTIMATORS}
#: RELEASED as most stored runs have it: k changes an epoch earlier than in the authors'
#: implementation. The comparison page measures what that epoch is worth.
EARLY = dataclasses.replace(RELEASED, neighbor_delay=0)
_FLOATS = {field.name for field in dataclasses.fields(Recipe) if field.type is float}
#: What computes and scores all runs but those of the search.
_CODE = ("estimator", "baselines", "metrics")
#: What settings of DMAC say beside the recipe; see `settings_of`.
_BESIDE = ("weighting", "held_out", "disturbed", "threads", "retired")


@dataclass(frozen=True)
class Spec:
    """A run to be made.

    Attributes
    ----------
    dataset : str
        A name in ``dmac.available()``, or the path of a file.
    method : str
        "DMAC", a key of `METHODS`, `PEERS` or `LIBRARIES`, or
        :data:`experiments.search.METHOD`.
    settings : dict
        Every parameter of the method; for DMAC what `settings_of` returns, for a system of `PEERS`
        what `peer_settings` does, for `LIBRARIES`
        :func:`experiments.libraries.library_settings`.
    seed : int
    file : str
        Group of records in the store.
    keep : bool
        Whether the anchors and a map of the embedding in the plane are kept for the figures.
    """

    dataset: str
    method: str
    settings: dict
    seed: int
    file: str
    keep: bool = False

    def identity(self, load=dmac.load):
        """What names the run in a store; it reads the data, for their hash."""
        name, data_hash = _name_and_hash(self.dataset, load)
        return dict(
            dataset=name,
            data=data_hash,
            method=self.method,
            settings=self.settings,
            seed=self.seed,
        )


@functools.lru_cache(maxsize=4)
def _data(source, load):
    return load(source)


@functools.cache
def _name_and_hash(source, load):
    data = _data(source, load)
    if data.labels is None:
        raise ValueError(f"{source} has no labels, so nothing can be scored")
    return data.name, provenance.data_hash(data)


def settings_of(recipe, **beside):
    """The settings of a DMAC run: a recipe's fields without its name, and what is beside them.

    Parameters
    ----------
    recipe : dmac.recipes.Recipe
    **beside
        ``weighting="tf-idf"``: views of counts are weighted by term first. ``held_out``: the share
        of the samples that is not fitted but predicted. ``threads``: that a fit may take, where the
        run is timed with more than one. ``retired``: a choice that the code no longer has; such
        runs are found in the store, and cannot be made.

    Returns
    -------
    dict
    """
    fields = dataclasses.asdict(recipe)
    del fields["name"]
    # 1000 and 1000.0 are the same weight, and must not be two runs.
    return {k: float(v) if k in _FLOATS else v for k, v in fields.items()} | beside


@functools.cache
def _peer_defaults(name):
    return {k: v for k, v in peers.ALL[name](2).get_params().items() if k not in _NO_SETTINGS}


def peer_settings(name, **changes):
    """The settings of a run of one of `PEERS`: its defaults, which are the published ones.

    Parameters
    ----------
    name : str
    **changes
        Parameters with other values.

    Returns
    -------
    dict
        All parameters but the number of clusters, the seed, the device and the memory budget.

    Raises
    ------
    TypeError
        If a change is none of them.
    """
    settings = _peer_defaults(name)
    if unknown := set(changes) - set(settings):
        raise TypeError(f"{name} has no setting {sorted(unknown)}; there are {sorted(settings)}")
    return settings | changes


def complete_settings(method, settings):
    """Settings of a stored record, with parameters added since at their defaults."""
    if method == "DMAC":
        return _defaults() | settings
    return _peer_defaults(method) | settings if method in PEERS else settings


@functools.cache
def _defaults():
    return settings_of(Recipe(name=""))


def recipe_of(settings, name="variant"):
    """The recipe of a DMAC run's settings."""
    return Recipe(name=name, **{k: v for k, v in settings.items() if k not in _BESIDE})


def make_run(spec, device="cpu", threads=1, pretrained=None, pretrained_at=(), load=dmac.load):
    """Make a run and return the part of its record that its identity does not hold.

    Parameters
    ----------
    spec : Spec
    device : str
    threads : int
        Of each operation: rounding, and so the last digits of a result, depends on it. The
        settings of a timed run have their own.
    pretrained : path, optional
        Where pre-trained weights are kept (:func:`experiments.pretraining.share`).
    pretrained_at : sequence of int
        See there.
    load : callable
        Reads the data set.

    Returns
    -------
    dict
        ``scores`` of the returned labels, for `PEERS` and `LIBRARIES` with ``nmi_max``, the mutual
        information over the larger entropy, and how many ``clusters`` they name, for `PEERS` that
        train a network the ``curves`` of :func:`experiments.measure.curves_of`, and for DMAC
        what :func:`experiments.measure.measure` adds; what the run cost and what made it.
        A fit that failed by its own doing has ``error`` instead of scores. With ``spec.keep`` also
        ``arrays``.

    Raises
    ------
    ValueError
        If the settings name a retired choice.
    ImportError
        If the run needs a library that is not installed.
    """
    if retired := spec.settings.get("retired"):
        raise ValueError(
            f"this run cannot be made any more, only found in the store: {retired!r} was taken out "
            "of the code"
        )
    data = _data(spec.dataset, load)
    if spec.settings.get("weighting") == "tf-idf":
        data = dataclasses.replace(data, views=[tf_idf(x) for x in data.views])
    if kind := spec.settings.get("disturbed"):
        from experiments.generalise import disturb  # which lists runs, and imports this file

        data = dataclasses.replace(data, views=disturb(data.views, kind, spec.seed))
    threads, before = spec.settings.get("threads", threads), torch.get_num_threads()
    torch.set_num_threads(threads)
    provenance.reset_peak_memory()
    keeping = contextlib.nullcontext()
    if pretrained is not None:
        keeping = pretraining.share(pretrained, pretrained_at)
    # Where threads are the question, a fit chooses among them as a user's does.
    number = contextlib.nullcontext() if "threads" in spec.settings else exactly(threads)
    try:
        with threadpool_limits(threads), number, keeping:
            fit = _dmac if spec.method == "DMAC" else _labels
            outcome = fit(data, spec, device)
    except libraries.LibraryError as error:
        outcome = {"error": str(error)}
    except (FloatingPointError, torch.linalg.LinAlgError) as error:
        outcome = {"error": f"{type(error).__name__}: {error}"}
    finally:
        torch.set_num_threads(before)
    code = provenance.code_identity(_code_of(spec.method))
    return outcome | {
        "peak_mb": provenance.peak_memory(),
        "device": torch.cuda.get_device_name(device) if "cuda" in device else device,
        "processor": provenance.processor(),
        "arithmetic": provenance.arithmetic(),
        "threads": threads,
        "versions": provenance.versions() | _library_version(spec.method),
        "code": {"sha256": code, "commit": provenance.commit()},
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def tf_idf(counts):
    """Counts of terms times the logarithm of how rare each is: n documents by d terms."""
    from sklearn.feature_extraction.text import TfidfTransformer

    return TfidfTransformer(norm=None).fit_transform(counts)


def _dmac(data, spec, device):
    recipe, held_out = recipe_of(spec.settings), spec.settings.get("held_out")
    if held_out:
        return measure_held_out(data, recipe, spec.seed, held_out, device=device)
    return measure(data, recipe, spec.seed, device=device, keep=spec.keep)


def _library_version(method):
    """Name and version of the library that a method is of, if it is of one."""
    if method not in LIBRARIES:
        return {}
    name = libraries.ESTIMATORS[method].library
    return {name: libraries.installed_version(name)}


def _code_of(method):
    """The modules that compute and score a method's runs."""
    if method in LIBRARIES:
        return "experiments.libraries", "metrics"
    if method == search.METHOD:
        return "experiments.search", "metrics"
    if method in PEERS:
        return peers.ALL[method].__module__.removeprefix("dmac."), "metrics"
    return _CODE


def _labels(data, spec, device):
    """Scores and seconds of a method that is a function."""
    functions = {name: function for name, (function, _) in METHODS.items()}
    functions |= LIBRARIES | {search.METHOD: search.spectral_search}
    asked, found = (data.views, data.n_clusters, spec.seed), {}
    start = time.perf_counter()
    if spec.method in PEERS:
        model = PEERS[spec.method](*asked, device=device, **spec.settings)
        labels = model.labels_
    else:
        labels = functions[spec.method](*asked, **spec.settings)
    seconds = time.perf_counter() - start
    scored = scores(data.labels, labels)
    if spec.method in PEERS and (curves := curves_of(model.history_)):
        found = {"curves": curves}
    if spec.method in PEERS or spec.method in LIBRARIES:
        found |= {"clusters": len(set(labels.tolist()))}
        by_larger = normalized_mutual_info_score(data.labels, labels, average_method="max")
        scored["nmi_max"] = float(by_larger)
    return found | {
        "scores": round_floats(scored),
        "seconds": round(seconds, 3),
    }
