"""What people would install instead: multi-view clustering of other libraries, as methods of runs.

Each estimator has its own defaults and gets the views as they are, as arrays. Nothing here is
needed by the rest: ``pip install "dmac[libraries]"`` brings the three libraries, and their stored
runs are read without them. A run names the version that it asks for, so another version is another
run.
"""

import contextlib
import importlib
import importlib.metadata
import signal
import warnings
from collections import namedtuple

import numpy as np

from dmac.peers.base import dense

#: The version of each library that the stored runs have, by the name of its distribution. Newer
#: versions of mvlearn ask for a matplotlib of 2021.
VERSIONS = {"mvlearn": "0.4.1", "imml": "0.6.0", "polyview": "0.1.0"}


class LibraryError(RuntimeError):
    """An estimator of a library failed; the message has its error's class and text."""


#: An estimator of another library: the distribution that has it, a key of `VERSIONS`, the name of
#: the class in its module ``cluster``, and what that calls the number of clusters.
Estimator = namedtuple("Estimator", "library name clusters", defaults=["n_clusters"])
#: Every estimator by its name in tables.
ESTIMATORS = {
    "mvlearn, co-trained spectral": Estimator("mvlearn", "MultiviewSpectralClustering"),
    "mvlearn, co-regularised spectral": Estimator("mvlearn", "MultiviewCoRegSpectralClustering"),
    "mvlearn, spherical k-means": Estimator("mvlearn", "MultiviewSphericalKMeans"),
    "iMML, NEMO": Estimator("imml", "NEMO"),
    "iMML, LFIMVC": Estimator("imml", "LFIMVC"),
    "iMML, EEIMVC": Estimator("imml", "EEIMVC"),
    "polyview, co-regularised spectral": Estimator("polyview", "MultiViewCoRegSpectralClustering"),
    "polyview, NMF": Estimator("polyview", "MultiViewNMF", "n_components"),
}
#: These, and further ones, which are run on samples that lack views (`experiments.incomplete`).
EVERY = ESTIMATORS | {f"iMML, {name}": Estimator("imml", name) for name in ("OPIMC", "SIMCADC")}


def library_settings(name, **more):
    """The settings of a run of one of `EVERY`: the version, and what is not its default.

    ``first_views``: only so many views are given to it. ``limit``: seconds of the processor after
    which it is stopped. Else parameters of the estimator.
    """
    return {"version": VERSIONS[EVERY[name].library]} | more


def installed_version(library):
    """The version of a library that is installed, or None."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None


def versions_of(method, settings):
    """The versions that a run asks for, by library; none for a method of no library."""
    if "version" in settings:
        return {EVERY[method].library: settings["version"]}
    return settings.get("versions", {})


def is_runnable(method, settings):
    """Whether a run can be made here: what it asks for is installed."""
    versions = versions_of(method, settings).items()
    return all(installed_version(name) == version for name, version in versions)


@contextlib.contextmanager
def stopped_after(seconds):
    """A TimeoutError after so many seconds of the processor."""

    def stop(*signals):
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def labels_of(name, versions, limit, fit, views, *arguments):
    """Labels (n,) of views by a method of libraries, as integers.

    An ImportError, if one of these is not there in the version that is asked for; a `LibraryError`,
    if the method fails in whatever way, takes more seconds than its limit, if it has one, or
    returns what are no labels.
    """
    for library, version in versions.items():
        here = installed_version(library)
        if here != version:
            found = "is not installed" if here is None else f"is installed as {here}"
            wanted = " ".join(f'"{key}=={value}"' for key, value in versions.items())
            raise ImportError(
                f"{name} needs {library} {version}, which {found}: pip install {wanted}"
            )
    # They warn of the future of numpy and scikit-learn.
    with warnings.catch_warnings(action="ignore"):
        try:
            with stopped_after(limit) if limit else contextlib.nullcontext():
                labels = np.asarray(fit(views, *arguments))
        # Whatever it is, it is what a user of the library would meet; one leaves the program.
        except (Exception, SystemExit) as error:
            raise LibraryError(f"{type(error).__name__}: {error}") from error
    if labels.shape != (views[0].shape[0],) or not np.all(labels == labels.astype(np.int64)):
        raise LibraryError(f"{name} returned an array {labels.shape} that holds no labels")
    return labels.astype(np.int64)


def fit_library(
    name, views, n_clusters, seed, *, version, first_views=None, limit=None, **parameters
):
    """Labels (n,) of one of `EVERY`, whose settings come last; errors are those of `labels_of`."""
    wanted = EVERY[name]
    parameters |= {wanted.clusters: int(n_clusters), "random_state": seed}

    def fit(views):
        module = importlib.import_module(f"{wanted.library}.cluster")
        # Two of the three libraries take no sparse views.
        arrays = [np.asarray(dense(x), dtype=float) for x in views[:first_views]]
        return getattr(module, wanted.name)(**parameters).fit_predict(arrays)

    return labels_of(name, {wanted.library: version}, limit, fit, views)
