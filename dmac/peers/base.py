"""What a method of the comparison must offer, and what all of them share.

The book's chapter on the field introduces the systems and says how to add one.
"""

import math
from dataclasses import MISSING, dataclass, field

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClusterMixin

from dmac._parameters import (
    NON_NEGATIVE,
    Range,
    at_least,
    check_ranges,
    choice,
    documented,
    or_none,
)
from dmac.compute.threads import threads_for
from dmac.data.checks import as_views, check_no_views, check_seed
from dmac.data.names import column_names

#: Bytes that a method may plan for unless told otherwise.
MEMORY_BUDGET = 8 * 2**30

#: What `fit` looks at itself.
_SEED = Range("an integer, numpy.random.RandomState or None", lambda value: True)
_DEVICE = Range("a string", lambda value: True)


def parameters(cls):
    """Make a `Peer` a dataclass of its parameters, given by name, and list them in its docstring.

    A parameter is ``name: type = choice(default, range, doc)``. `Peer.fit` checks the ranges.
    """
    return documented(dataclass(eq=False, repr=False, kw_only=True)(cls), "Parameters")


@dataclass
class Outcome:
    """What a method found, its samples in the order in which it got them.

    Attributes
    ----------
    labels : numpy.ndarray of shape (n,)
        Integers from 0. There may be more or fewer of them than clusters were asked
        for, where the method reads them off a graph.
    embedding : numpy.ndarray of shape (n, d) or None
    graph : numpy.ndarray or scipy.sparse matrix of shape (n, n) or (n, m), or None
    history : list
        One record (a dataclass or a number) per iteration.
    bipartite : bool
        Whether the columns of the graph are anchors, of which there may be as many as
        samples. Otherwise they are the samples, in the order of the rows.
    """

    labels: np.ndarray
    embedding: np.ndarray | None = None
    graph: object = None
    history: list = field(default_factory=list)
    bipartite: bool = False


@parameters
class Peer(ClusterMixin, BaseEstimator):
    """A multi-view clustering method: a list of views in, labels out.

    A subclass has two methods, ``_solve`` and `memory`. One with parameters of its own declares
    them as fields, under the decorator `parameters`; a third method, ``_check``, refuses what
    their ranges do not. The samples are shuffled before ``_solve`` sees them and put back after, so
    that nothing can be learned from the order of a file.

    Attributes
    ----------
    labels_ : numpy.ndarray of shape (n,), int64
    embedding_ : numpy.ndarray of shape (n, d)
        Where the method has one.
    graph_ : numpy.ndarray or scipy.sparse.csr_matrix of shape (n, n) or (n, m)
        Where the method has one.
    history_ : list
        One record an iteration or an epoch.
    n_features_ : tuple of int
        Widths of the views.
    n_features_in_ : int
        Their sum.
    feature_names_in_ : numpy.ndarray of shape (sum of the d_a,), object
        Names of the columns of all views, where every view was a data frame that has them.
    """

    n_clusters: int = choice(MISSING, at_least(2), "c, at most the number of samples.", False)
    random_state: object = choice(None, _SEED, "Where all that is random is drawn from.")
    memory_budget: int = choice(MEMORY_BUDGET, NON_NEGATIVE, "Bytes that a fit may take.")

    @property
    def n_features_in_(self):
        return sum(self.n_features_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check(self, n_samples):
        """Raise ValueError if parameters do not fit together or n; called before `memory`."""

    def _solve(self, views, generator):
        """Cluster v checked views, float64 arrays or CSR matrices (n, d_a).

        Parameters
        ----------
        views : list
        generator : numpy.random.Generator
            Draws everything that is random.

        Returns
        -------
        Outcome
        """
        raise NotImplementedError

    def _work(self, n_samples, n_features):
        """Multiplications of an epoch; few take one thread (`dmac.compute.threads`)."""
        return math.inf

    def memory(self, n_samples, n_features):
        """Bytes that a fit takes at its peak, beside the views.

        Parameters
        ----------
        n_samples : int
        n_features : sequence of int
            Widths of the views.

        Returns
        -------
        int
        """
        raise NotImplementedError

    def fit(self, views, y=None):
        """Cluster the samples.

        Parameters
        ----------
        views : list of v array_likes of shape (n, d_a)
        y : ignored

        Returns
        -------
        Peer
            Itself.

        Raises
        ------
        ValueError
            If the views, the number of clusters or another parameter are not usable.
        MemoryError
            If the fit would take more than ``memory_budget`` bytes; nothing is allocated before.
        """
        check_no_views(y)
        checked = as_views(views)
        views = [x.values for x in checked]
        n = views[0].shape[0]
        check_ranges(self)
        if self.n_clusters > n:
            raise ValueError(f"n_clusters is {self.n_clusters}, and there are {n} samples")
        self._check(n)
        widths = tuple(x.shape[1] for x in views)
        needed = self.memory(n, widths)
        if needed > self.memory_budget:
            raise MemoryError(
                f"{type(self).__name__} on {n} samples would take about {needed / 2**30:.1f} GiB, "
                f"more than memory_budget = {self.memory_budget / 2**30:.1f} GiB: take fewer "
                "samples, a method that is linear in them, or a larger memory_budget"
            )
        seed = check_seed(self.random_state).randint(2**31 - 1)
        generator = np.random.default_rng(seed)
        order = generator.permutation(n)
        back = np.argsort(order)
        with threads_for(self._work(n, widths)):
            outcome = self._solve([x[order] for x in views], generator)
        self.labels_ = np.asarray(outcome.labels)[back].astype(np.int64)
        self.history_ = outcome.history
        self.n_features_ = widths
        for name in ("feature_names_in_", "embedding_", "graph_"):  # of an earlier fit
            vars(self).pop(name, None)
        names = column_names(checked)
        if None not in names.tolist():
            self.feature_names_in_ = names
        if outcome.embedding is not None:
            self.embedding_ = outcome.embedding[back]
        if outcome.graph is not None:
            graph = outcome.graph
            graph = graph.tocsr()[back] if scipy.sparse.issparse(graph) else graph[back]
            self.graph_ = graph if outcome.bipartite else graph[:, back]
        return self

    def fit_predict(self, views, y=None):
        """Cluster the samples, and return their labels: (n,), int64.

        Parameters and errors are those of `fit`.
        """
        return self.fit(views, y).labels_


@parameters
class TrainedPeer(Peer):
    """A system that PyTorch trains."""

    device: str = choice("auto", _DEVICE, '"auto" takes a GPU where there is one.')


@parameters
class AnchorPeer(Peer):
    """A system whose graphs lead from samples to anchors."""

    n_anchors: int | None = choice(
        None,
        or_none(at_least(2)),
        "m, from c to n; None is 100, or c if that is more, but at most n.",
    )

    def _check(self, n_samples):
        m = self.n_anchors
        if m is not None and not self.n_clusters <= m <= n_samples:
            raise ValueError(
                f"n_anchors is {m}, it must be from n_clusters = {self.n_clusters} to the number "
                f"of samples, {n_samples}"
            )

    def _anchors(self, n):
        """m for n samples."""
        return min(n, max(100, self.n_clusters)) if self.n_anchors is None else self.n_anchors


def dense(x):
    """A view as an array."""
    return x.toarray() if scipy.sparse.issparse(x) else x


def unit_range(x, constant=0.0):
    """Every feature of (n, d) scaled to [0, 1] by its range; a constant one becomes ``constant``.

    Numbers are halved first, so that no range overflows.
    """
    low = x.min(0) / 2
    width = x.max(0) / 2 - low
    return np.where(width > 0, (x / 2 - low) / np.where(width > 0, width, 1), constant)


def within_one(x, axis):
    """Divided by the largest size of an entry along an axis, so that no square overflows."""
    size = np.abs(x).max(axis, keepdims=True)
    return x / np.where(size > 0, size, 1)
