"""Samples that lack views: the patterns, the recipe without completion, plain ways to fill in.

The runs are the studies "lacking views" and those whose names go on from there
(:mod:`experiments.studies`); chapter 13 and the record show them.
"""

import dataclasses
from typing import ClassVar

import numpy as np
import scipy.sparse
from sklearn.utils.extmath import randomized_svd

import dmac
from dmac.agc.solver import SpectralSolver
from dmac.compute.kmeans import kmeans
from dmac.data.whitening import RowNormalizer
from dmac.peers.base import dense
from dmac.recipes import CLOSED_FORM_0_2, SpectralRecipe

#: Where the completion was developed, with labels; sets whose scores were seen meanwhile, or once
#: before; and sets that were chosen, and run, after it was done.
DEVELOPED = ("HandWritten", "BBC", "PIE", "3Sources")
SEEN = ("BBCSport", "100Leaves", "Yale-3view", "MSRC-v1-5view", "Reuters-1200")
NEW = ("NGs", "ORL-4view", "Prokaryotic", "Digits8x8-3", "WebKB", "LandUse-21")
SETS = (*DEVELOPED, *SEEN, *NEW)
#: Up to 700 samples, for the others.
SMALL = (
    *("BBC", "PIE", "3Sources", "BBCSport", "Yale-3view", "MSRC-v1-5view"),
    *("NGs", "ORL-4view", "Prokaryotic"),
)
#: Methods of iMML; DAIMC and IMSR take longer than `LIMIT` on some of these sets.
IMML = tuple(f"iMML, {name}" for name in ("NEMO", "LFIMVC", "EEIMVC", "OPIMC", "SIMCADC"))
RATES = (0.0, 0.3, 0.5, 0.7)
#: Number of batches of random samples in the pattern "batch".
BATCHES = 10
#: Seconds of the processor for a fit of iMML.
LIMIT = 20
#: Rounds of the low rank.
ROUNDS = 30


class UnfilledSolver(SpectralSolver):
    """The closed form that takes rows of zeros as they are, whatever their share is."""

    def completes(self, present):
        return False


@dataclasses.dataclass(frozen=True)
class Unfilled(SpectralRecipe):
    """A recipe of the closed form without completion."""

    solver: ClassVar[str] = "experiments.incomplete:UnfilledSolver"


#: Methods of this project: AGC of 0.2.0, whose runs are stored, and it without completion.
OURS = {
    "unfilled": Unfilled(**vars(CLOSED_FORM_0_2) | {"name": "unfilled"}),
    "closed_form": CLOSED_FORM_0_2,
}


def random_pattern(n, v, rate, seed):
    """Which views each sample has, (n, v): missing at random, but for one of each sample."""
    rng = np.random.default_rng(seed)
    return _with_one(rng.random((n, v)) >= rate, rng)


def _with_one(present, rng):
    """The pattern, in which a sample without any view keeps a random one."""
    none = np.flatnonzero(~present.any(1))
    present[none, rng.integers(present.shape[1], size=len(none))] = True
    return present


def class_pattern(labels, v, seed):
    """Which views each sample has, where a class lacks each of them with 0.2 or 0.8: (n, v)."""
    rng = np.random.default_rng(seed)
    numbers = np.unique(labels, return_inverse=True)[1]
    rates = rng.choice([0.2, 0.8], size=(numbers.max() + 1, v))
    return _with_one(rng.random((len(labels), v)) >= rates[numbers], rng)


def batch_pattern(n, v, rate, seed):
    """Which views each sample has, where random batches lack a view as a whole: (n, v)."""
    rng = np.random.default_rng(seed)
    return random_pattern(BATCHES, v, rate, seed)[rng.permutation(n) % BATCHES]


def lacking(data, seed, *, pattern, rate, empty):
    """The views of a data set without what a pattern takes away.

    Parameters
    ----------
    data : dmac.MultiViewData
    seed : int
    pattern : {"random", "class", "batch"}
    rate : float
        Share of the pairs of sample and view that are missing; by class it is about a half.
    empty : float
        What stands in a missing row: 0, or nan, which makes all views dense.

    Returns
    -------
    list of v arrays (n, d_a)
    """
    n, v = data.n_samples, data.n_views
    if pattern == "class":
        present = class_pattern(data.labels, v, seed)
    else:
        present = {"random": random_pattern, "batch": batch_pattern}[pattern](n, v, rate, seed)
    if empty == 0:
        return without(data.views, present)
    arrays = [np.asarray(dense(x), float) for x in data.views]
    return [np.where(present[:, [a]], x, empty) for a, x in enumerate(arrays)]


def without(views, present):
    """The views with rows of zeros where they are missing."""
    return [scipy.sparse.diags_array(present[:, a].astype(float)) @ x for a, x in enumerate(views)]


def _split(views):
    """Views with rows of NaN as views with rows of zeros, and which rows there are: (n, v)."""
    present = np.column_stack([~np.isnan(x).any(1) for x in views])
    return [np.nan_to_num(x) for x in views], present


def imputed(views, present, rank=0, seed=0):
    r"""Views in unit rows side by side, with rows filled in where they are missing or 0: (n, r).

    First they are the mean :math:`\mu` of the rows that are there. With a rank q, a round takes
    the leading q singular values :math:`s_j` and vectors of all rows about :math:`\mu`, and fills
    in :math:`\mu + \sum_{j \le q} s_j u_j v_j^T` (Troyanskaya et al., 2001). A view without
    negative entries gets none in the end.

    Parameters
    ----------
    views : list of v numpy.ndarray of shape (n, d_a)
    present : numpy.ndarray of shape (n, v), bool
    rank : int
        q, at most n and all columns; 0 leaves the mean.
    seed : int
        Of the random start of the singular vectors.
    """
    rows = [RowNormalizer().fit_transform(x * present[:, [a]]) for a, x in enumerate(views)]
    there = [x.any(1, keepdims=True) for x in rows]
    means = [x.sum(0) / max(1, given.sum()) for x, given in zip(rows, there)]
    rows = [np.where(given, x, mean) for x, given, mean in zip(rows, there, means)]
    if not rank:
        return np.hstack(rows)
    # A wide view by coordinates in the span of its rows: nothing is lost, and a round is short.
    bases = [
        np.linalg.qr((x - mean).T)[0] if x.shape[1] > len(x) else np.eye(x.shape[1])
        for x, mean in zip(rows, means)
    ]
    coordinates = [(x - mean) @ basis for x, mean, basis in zip(rows, means, bases)]
    y, ends = np.hstack(coordinates), np.cumsum([x.shape[1] for x in coordinates])[:-1]
    given = np.hstack([np.broadcast_to(t, x.shape) for t, x in zip(there, coordinates)])
    for _ in range(ROUNDS):
        u, s, vt = randomized_svd(y, rank, n_iter=4, random_state=seed)
        y = np.where(given, y, (u * s) @ vt)
    for a, (x, filled) in enumerate(zip(rows, np.split(y, ends, axis=1))):
        guess = np.maximum(means[a] + filled @ bases[a].T, -np.inf if x.min() < 0 else 0)
        rows[a] = np.where(there[a], x, guess)
    return np.hstack(rows)


def completed(views, present, n_clusters, seed):
    """The views, whose missing rows are those of rank 2c in `imputed`, as long as others are."""
    rank = min(2 * n_clusters, len(views[0]), sum(x.shape[1] for x in views))
    rows = imputed(views, present, rank, seed)
    ends = np.cumsum([x.shape[1] for x in views])[:-1]
    out = []
    for a, (x, guess) in enumerate(zip(views, np.split(rows, ends, axis=1))):
        there = present[:, a] & x.any(1)
        length = np.linalg.norm(x[there], axis=1).mean()
        out.append(np.where(there[:, None], x, length * guess))
    return out


def mean_imputed_kmeans(views, n_clusters, seed):
    """K-means of views with rows of NaN, in whose place the mean row stands: labels (n,)."""
    return kmeans(imputed(*_split(views)), n_clusters, seed, n_init=10).labels_


def svd_imputation(views, n_clusters, seed):
    """The closed form on views with rows of NaN, filled in by a low rank: labels (n,)."""
    filled = completed(*_split(views), n_clusters, seed)
    model = dmac.AnchorGraphClustering(n_clusters, random_state=seed, device="cpu")
    return model.fit_predict(filled)


#: Without completion by graphs: the mean row and k-means, and a low rank and the closed form.
BASELINES = {"mean-imputed k-means": mean_imputed_kmeans, "SVD imputation": svd_imputation}
OTHERS = (*BASELINES, *IMML)


def group_of(name):
    """What was known of a data set while the completion was developed."""
    groups = {"chosen on": DEVELOPED, "seen meanwhile": SEEN, "new": NEW}
    return next(group for group, names in groups.items() if name in names)
