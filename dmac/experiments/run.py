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
from threadpoolctl import threadpool_limits

import dmac
from dmac import baselines
from dmac.compute.threads import exactly
from dmac.experiments import pretraining, provenance, search
from dmac.experiments.measure import measure, measure_held_out
from dmac.experiments.store import round_floats
from dmac.metrics import scores
from dmac.recipes import RELEASED, Recipe

#: The shallow pipelines of chapter 1: name in a table, function, settings.
BASELINES = {
    "k-means, concatenated": (baselines.raw_kmeans, {}),
    "k-means, whitened": (baselines.whitened_kmeans, {}),
    "closed form, whitened": (baselines.closed_form, {"n_neighbors": 5}),
    "closed form, whitened, k = 10": (baselines.closed_form, {"n_neighbors": 10}),
}
#: Every method that is a function of views, number of clusters and seed, and returns labels. A peer
#: joins the comparison by an entry here: its name in a table, the function, its settings.
METHODS = dict(BASELINES)
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
        "DMAC", a key of `METHODS`, or :data:`dmac.experiments.search.METHOD`.
    settings : dict
        Every parameter of the method; for DMAC what `settings_of` returns.
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
        of the samples that is not fitted but predicted. ``threads``: of each operation, where the
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


def complete_settings(method, settings):
    """Settings of a stored record, with recipe fields added since at their defaults."""
    if method != "DMAC":
        return settings
    return _defaults() | settings


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
        Where pre-trained weights are kept (:func:`dmac.experiments.pretraining.share`).
    pretrained_at : sequence of int
        See there.
    load : callable
        Reads the data set.

    Returns
    -------
    dict
        ``scores`` of the returned labels, and for DMAC what
        :func:`dmac.experiments.measure.measure` adds; what the run cost and what made it. A fit
        that failed by its own doing has ``error`` instead of scores. With ``spec.keep`` also
        ``arrays``.

    Raises
    ------
    ValueError
        If the settings name a retired choice.
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
        from dmac.experiments.generalise import disturb  # which lists runs, and imports this file

        data = dataclasses.replace(data, views=disturb(data.views, kind, spec.seed))
    threads, before = spec.settings.get("threads", threads), torch.get_num_threads()
    torch.set_num_threads(threads)
    provenance.reset_peak_memory()
    keeping = contextlib.nullcontext()
    if pretrained is not None:
        keeping = pretraining.share(pretrained, pretrained_at)
    try:
        with threadpool_limits(threads), exactly(threads), keeping:
            outcome = _dmac(data, spec, device) if spec.method == "DMAC" else _labels(data, spec)
    except (FloatingPointError, torch.linalg.LinAlgError) as error:
        outcome = {"error": f"{type(error).__name__}: {error}"}
    finally:
        torch.set_num_threads(before)
    what = ("experiments.search", "metrics") if spec.method == search.METHOD else _CODE
    code = provenance.code_identity(what)
    return outcome | {
        "peak_mb": provenance.peak_memory(),
        "device": torch.cuda.get_device_name(device) if "cuda" in device else device,
        "processor": provenance.processor(),
        "arithmetic": provenance.arithmetic(),
        "threads": threads,
        "versions": provenance.versions(),
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


def _labels(data, spec):
    """Scores and seconds of a method that is a function."""
    functions = {name: function for name, (function, _) in METHODS.items()}
    function = (functions | {search.METHOD: search.spectral_search})[spec.method]
    start = time.perf_counter()
    labels = function(data.views, data.n_clusters, spec.seed, **spec.settings)
    seconds = time.perf_counter() - start
    return {
        "scores": round_floats(scores(data.labels, labels)),
        "seconds": round(seconds, 3),
    }
