"""One run of one method on one data set with one seed, and all that a record says of it.

Only here do labels meet a fit, and only to score it.
"""

import contextlib
import dataclasses
import datetime
import functools
import os
import time
import warnings
from dataclasses import dataclass
from unittest import mock

import numpy as np
import torch
from sklearn.metrics import normalized_mutual_info_score
from threadpoolctl import threadpool_limits

import dmac
from dmac import baselines, peers
from dmac.compute.kmeans import kmeans
from dmac.compute.threads import VARIABLE
from dmac.estimators import CollapseWarning
from dmac.metrics import scores
from dmac.model_selection import CRITERIA, suggest_n_clusters
from dmac.recipes import NetworkRecipe, SpectralRecipe
from experiments import field, incomplete, libraries, pretraining, provenance
from experiments.measure import (
    compare_threads,
    curves_of,
    measure,
    measure_held_out,
    measure_sureness,
)
from experiments.store import canonical, round_floats

#: The shallow pipelines of chapter 1 by their names in the store: functions of views, number of
#: clusters, seed and settings, which return labels.
PIPELINES = {
    "k-means, concatenated": baselines.raw_kmeans,
    "k-means, whitened": baselines.whitened_kmeans,
    "closed form, whitened": baselines.landmark_spectral_clustering,
    "closed form, whitened, k = 10": baselines.landmark_spectral_clustering,
}
#: The same by their names in tables: name in the store, and settings. Where the two differ, the
#: first runs were stored before another method was called the closed form.
BASELINES = {
    "k-means, concatenated": ("k-means, concatenated", {}),
    "k-means, whitened": ("k-means, whitened", {}),
    "landmark spectral clustering": ("closed form, whitened", {"n_neighbors": 5}),
    "landmark spectral clustering, k = 10": ("closed form, whitened, k = 10", {"n_neighbors": 10}),
}
#: What settings of a system of `dmac.peers` do not hold: a run has a seed and a device of its own,
#: and the budget decides whether there is a result, and not which.
_NO_SETTINGS = ("n_clusters", "random_state", "device", "memory_budget")


def _fit_peer(system, views, n_clusters, seed, device="cpu", **settings):
    model = system(n_clusters, random_state=seed, **settings)
    if "device" in model.get_params():
        model.set_params(device=device)
    return model.fit(views)


#: The other systems, those of ``dmac.peers.ALL``: name in a table, function of views, number
#: of clusters, seed and settings, which returns the fitted system. They are not among `PIPELINES`:
#: they take hours, so a page shows their stored runs and makes none.
PEERS = {name: functools.partial(_fit_peer, system) for name, system in peers.ALL.items()}
#: Those of them whose labels are the arg-max of soft assignments, beside which a record has the
#: scores of k-means on the embedding.
BY_ARGMAX = ("DFP-GNN", "SURER")
#: Estimators of other libraries: name in a table, function of views, number of clusters, seed and
#: settings. They need what ``pip install "dmac[libraries]"`` brings, and the tools of the field
#: what ``pip install "dmac[field]"`` does.
LIBRARIES = {
    **{name: functools.partial(libraries.fit_library, name) for name in libraries.EVERY},
    **{name: functools.partial(field.fit_field, name) for name in field.EVERY},
}
#: Which number of clusters :func:`dmac.suggest_n_clusters` says: a method without labels.
SUGGESTED = "suggested number of clusters"
#: How sure the labels of a method are, in several fits.
SURE = "how sure"
#: What a run's settings call its kind of recipe, and the recipe.
KINDS = {
    "Recipe": NetworkRecipe,  # its name when the first runs were stored
    "SpectralRecipe": SpectralRecipe,
    "Unfilled": incomplete.Unfilled,
}
#: Ideas that gained nothing, whose code left after commit 748f2882: by their kind, the recipe that
#: they changed, and the fields that they added to it. Their runs are found, and not made.
RETIRED_KINDS = {
    "NetworkIdea": (NetworkRecipe, {"al_form": "entropy"}),
    "SpectralIdea": (SpectralRecipe, {"refinement": "none", "refinement_steps": 10}),
    "LevelIdea": (SpectralRecipe, {"normal_scores": False, "without": None}),
}
#: What settings of DMAC say beside the recipe; see `settings_of`.
_BESIDE = (
    *("weighting", "held_out", "disturbed", "lacking", "sealed", "threads", "compared"),
    "retired",
)


@dataclass(frozen=True)
class Spec:
    """A run to be made; its settings hold every parameter of the method."""

    dataset: str  # a name in ``dmac.available()``, or the path of a file
    method: str  # "DMAC", `SUGGESTED`, `SURE`, a key of `PIPELINES`, `PEERS`, `LIBRARIES` or others
    settings: dict  # of `settings_of`, `peer_settings`, `library_settings`, `field_settings`
    seed: int
    file: str  # group of records in the store
    keep: bool = False  # anchors and a map of the embedding in the plane, for the figures

    def identity(self, load=dmac.load):
        """What names the run in a store; it reads the data, for their hash."""
        name, data_hash = _name_and_hash(self.dataset, load)
        run = dict(method=self.method, settings=self.settings, seed=self.seed)
        return dict(dataset=name, data=data_hash) | run


def run_name(dataset, method, settings, seed):
    """What tells a run from all others by its data set's name."""
    return canonical([dataset, method, settings, seed])


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

    ``weighting="tf-idf"``: views of counts are weighted by term first. ``disturbed``: what
    `disturb` does to them. ``lacking``: which samples lack views, the pattern and the rate of
    :func:`experiments.incomplete.lacking`. ``held_out``: the share of the samples that is not
    fitted but predicted. ``threads``: that a fit may take, where the run is timed with more than
    one. ``compared``: two numbers of threads whose labels are compared. ``sealed``: the samples are
    shuffled by the seed, and a fit that fails for whatever reason is a record
    (:mod:`experiments.sealed`). ``retired``: a choice that the code no longer has; such runs are
    found in the store, and cannot be made.
    """
    kind = next(name for name, kind in KINDS.items() if kind is type(recipe))
    fields = dataclasses.asdict(recipe) | {"kind": kind}
    del fields["name"]
    return fields | beside


def retired_settings(kind, recipe, changes, **beside):
    """The settings of a run by one of `RETIRED_KINDS`: a recipe's, with other values in fields."""
    return settings_of(recipe, **beside) | RETIRED_KINDS[kind][1] | changes | {"kind": kind}


def is_retired(settings):
    """Whether a run with these settings can be found in the store, and not be made."""
    return "retired" in settings or settings.get("kind") in RETIRED_KINDS


@functools.cache
def _peer_defaults(name):
    return {k: v for k, v in peers.ALL[name](2).get_params().items() if k not in _NO_SETTINGS}


def peer_settings(name, **changes):
    """The settings of a run of one of `PEERS`: its defaults, the published ones, but for changes.

    All parameters but the number of clusters, the seed, the device and the memory budget.
    """
    settings = _peer_defaults(name)
    if unknown := set(changes) - set(settings):
        raise TypeError(f"{name} has no setting {sorted(unknown)}; there are {sorted(settings)}")
    return settings | changes


def complete_settings(method, settings):
    """Settings of a stored record, with parameters added since at their defaults."""
    if "kind" in settings:
        return _defaults(settings["kind"]) | _in_fields_of_today(settings)
    return _peer_defaults(method) | settings if method in PEERS else settings


def _in_fields_of_today(settings):
    """Settings of a stored record of DMAC without fields that are gone."""
    settings = dict(settings)
    settings.pop("length_guard", None)  # a guard that acted on none of the sets
    # A field while the weight of the scaled level was chosen; before, and of two levels, nothing.
    weight = settings.pop("scaled_weight", "equal")
    if settings.get("levels") == "all" and weight == "halves":
        settings["level_weight"] = "halves"
    elif settings.get("levels") == "all" and weight != "equal":
        settings["retired"] = f"scaled weight {weight}"
    if settings.get("columns") == "centred":  # columns without their means, in their own units
        settings |= {"columns": "given", "retired": "columns centred"}
    return settings


@functools.cache
def _defaults(kind):
    if kind in RETIRED_KINDS:
        return retired_settings(kind, RETIRED_KINDS[kind][0](name=""), {})
    return settings_of(KINDS[kind](name=""))


def recipe_of(settings, name="variant"):
    """The recipe of a DMAC run's settings."""
    fields = {k: v for k, v in settings.items() if k not in ("kind", *_BESIDE)}
    return KINDS[settings["kind"]](name=name, **fields)


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
        information over the larger entropy, for `BY_ARGMAX` with ``kmeans_acc`` and
        ``kmeans_nmi``, and how many ``clusters`` they name, for `PEERS` that train a network the
        ``curves`` of :func:`experiments.measure.curves_of`, and for DMAC what
        :func:`experiments.measure.measure` adds; what the run cost and what made it.
        A fit that failed by its own doing has ``error`` instead of scores; a sealed one also has
        the scores of ``one_cluster`` with all samples.
    """
    if is_retired(spec.settings):
        retired = spec.settings.get("retired", spec.settings["kind"])
        raise ValueError(
            f"this run cannot be made any more, only found in the store: {retired!r} was taken out "
            "of the code"
        )
    threads, before = spec.settings.get("threads", threads), torch.get_num_threads()
    data = _changed(_data(spec.dataset, load), spec)
    make = {"DMAC": _dmac, SUGGESTED: _suggested, SURE: _sure}.get(spec.method, _labels)
    # What is timed with a number of threads of its own chooses them as a user's fit does.
    chosen = {} if "threads" in spec.settings else {VARIABLE: str(threads)}
    kept = pretraining.share(pretrained, pretrained_at) if pretrained else contextlib.nullcontext()
    # What collapses is measured, and shown in the book.
    quiet = warnings.catch_warnings(action="ignore", category=CollapseWarning)
    torch.set_num_threads(threads)
    provenance.reset_peak_memory()
    start = time.process_time()
    try:
        with threadpool_limits(threads), quiet, mock.patch.dict(os.environ, chosen), kept:
            outcome = make(data, spec, device)
    except Exception as error:  # most are raised again
        outcome = _failure(error, data, spec)
    finally:
        torch.set_num_threads(before)
    code = provenance.code_hash(provenance.PACKAGE, provenance.HERE)
    return outcome | {
        "cpu_seconds": round(time.process_time() - start, 3),
        "peak_mb": provenance.peak_memory(),
        "device": torch.cuda.get_device_name(device) if "cuda" in device else device,
        "processor": provenance.processor(),
        "arithmetic": provenance.arithmetic(),
        "threads": threads,
        "versions": provenance.versions() | libraries.versions_of(spec.method, spec.settings),
        "code": {"sha256": code, "commit": provenance.commit()},
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def _failure(error, data, spec):
    """What a record says of a fit that failed; an error that no record has is raised again."""
    failures = (libraries.LibraryError, FloatingPointError, torch.linalg.LinAlgError)
    if spec.settings.get("sealed") and not isinstance(error, ImportError):
        one = scores(data.labels, np.zeros(data.n_samples, dtype=np.int64))
        record = {"one_cluster": round_floats(one)}
    elif isinstance(error, failures):
        record = {}
    else:
        raise error
    named = "" if isinstance(error, libraries.LibraryError) else f"{type(error).__name__}: "
    return {"error": f"{named}{error}"} | record


def _changed(data, spec):
    """The data as the settings want them: shuffled, weighted, with a bad view, or lacking views.

    Samples are shuffled with their labels. In the rows of what is missing DMAC gets zeros, and the
    others NaN.
    """
    if spec.settings.get("sealed"):
        order = np.random.default_rng(spec.seed).permutation(data.n_samples)
        views, labels = [x[order] for x in data.views], data.labels[order]
        data = dataclasses.replace(data, views=views, labels=labels, samples=None)
    views = data.views
    if spec.settings.get("weighting") == "tf-idf":
        views = [tf_idf(x) for x in views]
    if kind := spec.settings.get("disturbed"):
        views = disturb(views, kind, spec.seed)
    if missing := spec.settings.get("lacking"):
        empty = 0 if spec.method == "DMAC" else np.nan
        views = incomplete.lacking(data, spec.seed, empty=empty, **missing)
    return dataclasses.replace(data, views=views)


def tf_idf(counts):
    """Counts of terms times the logarithm of how rare each is: n documents by d terms."""
    from sklearn.feature_extraction.text import TfidfTransformer

    return TfidfTransformer(norm=None).fit_transform(counts)


#: What is done to the first view; see `disturb`.
DISTURBED = ("duplicate", "noise", "shuffled", "empty rows", "left out")
#: What else `disturb` takes: the first view and nothing beside it.
ALONE = "alone"


def disturb(views, kind, seed):
    """A new list of views of which one is bad, by a kind of `DISTURBED`.

    The first view a second time; a view of 64 columns of Gaussian noise more; the first view once
    more, its samples in another order; the first view with 40 % of its rows 0; all but the first;
    or, with `ALONE`, the first and no other.
    """
    rng, n = np.random.default_rng(seed), views[0].shape[0]
    match kind:
        case "duplicate":
            return [*views, views[0]]
        case "noise":
            return [*views, rng.standard_normal((n, 64))]
        case "shuffled":
            return [*views, views[0][rng.permutation(n)]]
        case "empty rows":
            keep = rng.permutation(n) >= round(0.4 * n)
            return [*incomplete.without(views[:1], keep[:, None]), *views[1:]]
        case "left out":
            return list(views[1:])
        case "alone":
            return list(views[:1])
    raise ValueError(f"kind is {kind!r}, it must be one of {(*DISTURBED, ALONE)}")


def _dmac(data, spec, device):
    recipe, held_out = recipe_of(spec.settings), spec.settings.get("held_out")
    if held_out:
        return measure_held_out(data, recipe, spec.seed, held_out, device=device)
    if threads := spec.settings.get("compared"):
        return compare_threads(data, recipe, spec.seed, threads)
    return measure(data, recipe, spec.seed, device=device, keep=spec.keep)


def _sure(data, spec, device):
    """How sure the labels of DMAC or of one of `PEERS` are."""
    settings = dict(spec.settings)
    of, fits, c = settings.pop("of"), settings.pop("fits"), data.n_clusters

    def fit(seed):
        if of == "DMAC":
            recipe = recipe_of(settings)
            return dmac.AnchorGraphClustering(c, recipe, seed, device).fit(data.views)
        return PEERS[of](data.views, c, seed, **settings)

    return measure_sureness(fit, data, spec.seed, fits)


def _suggested(data, spec, device):
    """The number of clusters by each criterion, of candidates with four samples each."""
    candidates = [c for c in spec.settings["candidates"] if c <= data.n_samples // 4]
    suggestion = suggest_n_clusters(data.views, candidates, random_state=spec.seed)
    return {"suggested": {criterion: suggestion.best(criterion) for criterion in CRITERIA}}


def _labels(data, spec, device):
    """Scores and seconds of a method that is a function."""
    functions = PIPELINES | PEERS | LIBRARIES | incomplete.BASELINES
    more = {"device": device} if spec.method in PEERS else {}
    settings = {k: v for k, v in spec.settings.items() if k not in ("lacking", "sealed")} | more
    start = time.perf_counter()
    fitted = functions[spec.method](data.views, data.n_clusters, spec.seed, **settings)
    seconds = round(time.perf_counter() - start, 3)
    labels = fitted.labels_ if spec.method in PEERS else fitted
    scored, record = scores(data.labels, labels), {}
    if spec.method in PEERS and (curves := curves_of(fitted.history_)):
        record["curves"] = curves
    if spec.method in BY_ARGMAX:
        again = kmeans(fitted.embedding_, data.n_clusters, spec.seed, n_init=10).labels_
        again = scores(data.labels, again)
        scored |= {f"kmeans_{name}": again[name] for name in ("acc", "nmi")}
    if spec.method in PEERS or spec.method in LIBRARIES:
        record["clusters"] = len(set(labels.tolist()))
        by_larger = normalized_mutual_info_score(data.labels, labels, average_method="max")
        scored["nmi_max"] = float(by_larger)
    return record | {"scores": round_floats(scored), "seconds": seconds}
