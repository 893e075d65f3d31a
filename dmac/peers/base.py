"""What a method of the comparison must offer, and what all of them share.

The book's chapter on the field introduces the systems and says how to add one.
"""

import inspect
import math
import numbers
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClusterMixin

from dmac.compute.threads import threads_for
from dmac.data.checks import check_seed, check_views
from dmac.data.names import feature_names

#: Bytes that a method may plan for unless told otherwise.
MEMORY_BUDGET = 8 * 2**30

#: Parameters that mean one thing in every method: `Peer` adds them to its classes' docstrings.
SHARED = {
    "device": 'str\n    "auto" takes a GPU where there is one.',
    "random_state": "int, numpy.random.RandomState or None",
    "memory_budget": "int\n    Bytes that a fit may take.",
}


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


class Peer(ClusterMixin, BaseEstimator):
    """A multi-view clustering method: a list of views in, labels out.

    A subclass is a dataclass, without ``eq`` and ``repr``, or has an ``__init__`` that stores its
    parameters under their names, ``n_clusters``, ``random_state`` and ``memory_budget`` among them.
    It has two methods, ``_solve`` and `memory`; a third, ``_check``, refuses parameters, where
    there is something to refuse. What its docstring says of its parameters is completed by
    `SHARED`. The samples are shuffled before ``_solve`` sees them and put back after, so that
    nothing can be learned from the order of a file.

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

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if cls.__doc__ and "\nParameters\n" in (text := inspect.cleandoc(cls.__doc__)):
            text, *rest = text.split("\n\nAttributes\n")
            for name, meaning in SHARED.items():
                if name in vars(cls) and f"\n{name} : " not in text:
                    text += f"\n{name} : {meaning}"
            cls.__doc__ = "\n\nAttributes\n".join([text, *rest])

    @property
    def n_features_in_(self):
        return sum(self.n_features_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check(self, n_samples):
        """Raise ValueError if a parameter is not usable; called before `memory` and ``_solve``."""

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
        names = feature_names(views)
        views = check_views(views)
        n = views[0].shape[0]
        _check_clusters(self.n_clusters, n)
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
        self.history_, self.n_features_ = outcome.history, widths
        vars(self).pop("feature_names_in_", None)
        if names is not None:
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


def dense(x):
    """A view as an array."""
    return x.toarray() if scipy.sparse.issparse(x) else x


def _check_clusters(c, n):
    if not isinstance(c, numbers.Integral) or isinstance(c, bool):
        raise ValueError(f"n_clusters is {c!r}, it must be an integer")
    if not 2 <= c <= n:
        raise ValueError(f"n_clusters is {c}, it must be from 2 to n_samples = {n}")
