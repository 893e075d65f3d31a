"""Seconds of whole fits, of our recipes, other systems and libraries."""

import contextlib
import functools
import itertools

import numpy as np

import dmac
from dmac.data.datasets import DATASETS
from experiments import libraries, studies
from experiments.bench.measuring import OURS, Job, measured, stopped_after
from experiments.bench.shapes import synthetic_views
from experiments.run import BASELINES, Spec, make_run, settings_of

#: Seconds after which a fit is stopped.
LIMIT = 40


@functools.cache
def fitted_systems():
    """By name in the store: method and settings of the systems whose whole fits are timed.

    RELEASED and the systems that train a network are not among them: with their published
    schedules a fit takes minutes to hours.
    """
    return {
        **{method: (method, settings) for method, settings in BASELINES.values()},
        **{x: ("DMAC", settings_of(OURS[x])) for x in ("CLOSED_FORM", "REVISED", "PUBLISHED")},
        **studies.SHALLOW_PEERS,
        # Its default when fits were timed.
        "MSGL": studies.PEER_DEFAULTS["MSGL, n / c"].variants["MSGL, n / c"],
        **{name: studies.LIBRARIES[name] for name in libraries.ESTIMATORS},
    }


def warm_up(system, threads):
    """Fit three clusters before anything is timed: it loads what is loaded late."""
    views = [abs(x) for x in synthetic_views(90, (8, 8, 8), 3)]
    toy = dmac.MultiViewData("toy", views, np.arange(90) % 3, 3)
    with contextlib.suppress(Exception):  # what a system cannot do with a toy is no matter
        _run(system, "toy", threads, load=lambda _: toy)


def fit_seconds(system, dataset, threads):
    """Fit a system in this process: ``seconds`` and ``acc``, or ``error``."""
    try:
        outcome = _run(system, dataset, threads)
    except Exception as error:  # a system's own refusal is its result
        outcome = {"error": f"{type(error).__name__}: {error}"}
    if "error" in outcome:
        return {"error": outcome["error"]}
    seconds = outcome["seconds"]
    seconds = seconds["fit"] if isinstance(seconds, dict) else seconds
    return {"seconds": round(seconds, 3), "acc": round(outcome["scores"]["acc"], 4)}


def _run(system, dataset, threads, **options):
    method, settings = fitted_systems()[system]
    # The settings of a timed run of DMAC let a fit choose its threads as a user's does.
    own = settings | {"threads": threads} if method == "DMAC" else settings
    return make_run(Spec(dataset, method, own, 0, ""), threads=threads, **options)


def is_installed(system):
    """Whether a system can be run here: those of libraries need their library."""
    estimator = libraries.ESTIMATORS.get(system)
    return estimator is None or libraries.installed_version(estimator.library) is not None


def stopped_on(system, dataset, fits):
    """A data set with at most as many samples and views on which a system was stopped, or None."""
    here, named = DATASETS[dataset], [fit for fit in fits if fit["system"] == system]
    stopped = [fit["dataset"] for fit in named if fit.get("error", "").startswith("more than")]
    for other in (DATASETS[name] for name in stopped):
        if other.n_samples <= here.n_samples and len(other.dims) <= len(here.dims):
            return other.name
    return None


def measure_fit(child, system, dataset, threads, fits=(), most=LIMIT, limit=None):
    """`fit_seconds` in a process that others share; an ``error`` if it was stopped or not begun."""
    if other := stopped_on(system, dataset, fits):
        return {"error": f"more than {LIMIT:g} s on {other}, not begun here"}

    def warm_fit(limit):
        child.call(warm_up, system, threads, limit=limit)
        return child.call(fit_seconds, system, dataset, threads, limit=limit)

    return stopped_after(most, warm_fit, limit)


def jobs(child, folder, device, datasets=studies.SIXTEEN, systems=None):
    """What was stopped with one thread is not begun with two."""
    systems = [system for system in systems or fitted_systems() if is_installed(system)]
    # Small ones first, since what was stopped there is not begun on larger ones.
    datasets = sorted(datasets, key=lambda name: DATASETS[name].n_samples)
    for dataset, threads, system in itertools.product(datasets, (1, 2), systems):
        fits = measured("fits", folder, titles={}).get("fits", [])
        failed = [(fit["system"], fit["dataset"]) for fit in fits if "error" in fit]
        if (system, dataset) not in failed:
            about = {"system": system, "dataset": dataset, "threads": threads}
            yield Job("fits", about, measure_fit, child, **about, fits=fits)
