"""Accuracy where samples lack views: the closed form, two plain ways to fill in, and iMML.

    python -m experiments.incomplete                  # fifteen sets, 0 to 70 %, three seeds
    python -m experiments.incomplete BBC --rates 0.5 --seeds 0
    python -m experiments.incomplete --others         # small sets; dmac[libraries]
    python -m experiments.incomplete --pattern class  # or batch
    python -m experiments.incomplete --cost           # seconds and memory of 100,000 samples

(from ``notebooks``, or with it on the path). Pairs of sample and view are missing at random, or by
class, or for whole batches (`PATTERNS`). Rows that the file has are not computed again. A
method of iMML has its defaults, and is stopped after `LIMIT` seconds of the processor; its row has
no scores then, and it is not tried on that data set again.
"""

import argparse
import contextlib
import csv
import dataclasses
import os
import signal
import time
from pathlib import Path
from typing import ClassVar

import numpy as np
import scipy.sparse
from sklearn.utils.extmath import randomized_svd

import dmac
from dmac.compute.kmeans import kmeans
from dmac.data.whitening import RowNormalizer
from dmac.peers.base import dense
from dmac.recipes import CLOSED_FORM, SpectralRecipe
from dmac.solvers.spectral import SpectralSolver
from experiments import provenance
from experiments.bench import synthetic_views
from experiments.harness import Child, write_json
from experiments.libraries import LibraryError, fit_library, library_settings

RESULTS = Path(__file__).resolve().parents[1] / "results"
FILE, COST = RESULTS / "incomplete.csv", RESULTS / "incomplete_cost.json"
#: Where the completion was developed, with labels; sets whose scores were seen meanwhile, or once
#: before; and sets that were chosen, and run, after it was done.
DEVELOPED = ("HandWritten", "BBC", "PIE", "3Sources")
SEEN = ("BBCSport", "100Leaves", "Yale-3view", "MSRC-v1-5view", "Reuters-1200")
NEW = ("NGs", "ORL-4view", "Prokaryotic", "Digits8x8-3", "WebKB", "LandUse-21")
SETS = (*DEVELOPED, *SEEN, *NEW)
#: Up to 700 samples, for the others.
SMALL = ("BBC", "PIE", "3Sources", "BBCSport", "Yale-3view", "MSRC-v1-5view")
SMALL = (*SMALL, "NGs", "ORL-4view", "Prokaryotic")
#: Methods of iMML; DAIMC and IMSR take longer than `LIMIT` on some of these sets.
IMML = tuple(f"iMML, {name}" for name in ("NEMO", "LFIMVC", "EEIMVC", "OPIMC", "SIMCADC"))
#: Without completion by graphs: the mean row and k-means, and a low rank and the closed form.
BASELINES = ("mean-imputed k-means", "SVD imputation")
OTHERS = (*BASELINES, *IMML)
RATES, SEEDS = (0.0, 0.3, 0.5, 0.7), (0, 1, 2)
FIELDS = ("recipe", "data", "pattern", "rate", "seed", "acc", "nmi", "seconds")
#: How pairs are missing: at random; each class lacks each view with probability 0.2 or 0.8; or one
#: in ten batches of random samples lacks a view as a whole, or has it.
PATTERNS, BATCHES = ("random", "class", "batch"), 10
#: Seconds of the processor for a fit of iMML.
LIMIT = 20
#: Rounds of the low rank.
ROUNDS = 30
#: Samples, columns of the views, and clusters where cost is measured.
MANY, DIMS, CLUSTERS = 100_000, (30, 30, 30, 30), 10


class UnfilledSolver(SpectralSolver):
    """The closed form that takes rows of zeros as they are, whatever their share is."""

    def completes(self, blocks, present):
        return False


@dataclasses.dataclass(frozen=True)
class Unfilled(SpectralRecipe):
    """Its recipe."""

    solver: ClassVar[str] = "experiments.incomplete:UnfilledSolver"


def unfilled(recipe=CLOSED_FORM):
    """The recipe without completion."""
    return Unfilled(**vars(recipe) | {"name": "unfilled"})


#: Methods of this project: the closed form, and it without completion.
OURS = {"unfilled": unfilled(), "closed_form": CLOSED_FORM}


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


def without(views, present):
    """The views with rows of zeros where they are missing."""
    return [scipy.sparse.diags_array(present[:, a].astype(float)) @ x for a, x in enumerate(views)]


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
    means = [x.sum(0) / max(1, known.sum()) for x, known in zip(rows, there)]
    rows = [np.where(known, x, mean) for x, known, mean in zip(rows, there, means)]
    if not rank:
        return np.hstack(rows)
    # A wide view by coordinates in the span of its rows: nothing is lost, and a round is short.
    bases = [
        np.linalg.qr((x - mean).T)[0] if x.shape[1] > len(x) else np.eye(x.shape[1])
        for x, mean in zip(rows, means)
    ]
    parts = [(x - mean) @ basis for x, mean, basis in zip(rows, means, bases)]
    y, ends = np.hstack(parts), np.cumsum([part.shape[1] for part in parts])[:-1]
    known = np.hstack([np.broadcast_to(t, part.shape) for t, part in zip(there, parts)])
    for _ in range(ROUNDS):
        u, s, vt = randomized_svd(y, rank, n_iter=4, random_state=seed)
        y = np.where(known, y, (u * s) @ vt)
    for a, (x, part) in enumerate(zip(rows, np.split(y, ends, axis=1))):
        guess = np.maximum(means[a] + part @ bases[a].T, -np.inf if x.min() < 0 else 0)
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


def labels_of(method, views, present, n_clusters, seed):
    """Labels by one of `OURS`, of `BASELINES`, or of `IMML`, which take rows of NaN: (n,)."""
    if method in OURS:
        return fitted(OURS[method], without(views, present), n_clusters, seed)
    arrays = [np.asarray(dense(x), float) for x in views]
    if method == "mean-imputed k-means":
        return kmeans(imputed(arrays, present), n_clusters, seed, n_init=10).labels_
    if method == "SVD imputation":
        return fitted(CLOSED_FORM, completed(arrays, present, n_clusters, seed), n_clusters, seed)
    given = [np.where(present[:, [a]], x, np.nan) for a, x in enumerate(arrays)]
    settings = library_settings("iMML, NEMO")  # the version, which is that of all
    with stopped_after(LIMIT):
        return fit_library(method, given, n_clusters, seed, **settings)


def fitted(recipe, views, n_clusters, seed):
    """Labels of a fit: (n,)."""
    return dmac.DMAC(n_clusters, recipe, random_state=seed, device="cpu").fit_predict(views)


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


def measure(method, data, pattern, rate, seed):
    """One fit: accuracy and NMI in per cent, nan if it failed, and seconds of the processor."""
    n, v = data.n_samples, data.n_views
    present = {
        "random": lambda: random_pattern(n, v, rate, seed),
        "class": lambda: class_pattern(data.labels, v, seed),
        "batch": lambda: batch_pattern(n, v, rate, seed),
    }[pattern]()
    scores, start = {"acc": np.nan, "nmi": np.nan}, time.process_time()
    try:
        labels = labels_of(method, data.views, present, data.n_clusters, seed)
        scores = dmac.scores(data.labels, labels)
    except LibraryError as error:
        print(f"{method} on {data.name}: {error}", flush=True)
    seconds = time.process_time() - start
    return [round(100 * scores["acc"], 2), round(100 * scores["nmi"], 2), round(seconds, 2)]


def group_of(name):
    """What was known of a data set while the completion was developed."""
    groups = {"chosen on": DEVELOPED, "seen meanwhile": SEEN, "new": NEW}
    (found,) = (group for group, names in groups.items() if name in names)
    return found


def read(file=FILE):
    """What was measured: dictionaries by `FIELDS`, all but the first three numbers."""
    if not Path(file).exists():
        return []
    with open(file, newline="", encoding="utf-8") as lines:
        return [
            {k: x if k in FIELDS[:3] else float(x) for k, x in row.items()}
            for row in csv.DictReader(lines)
        ]


def means(rows, what="acc"):
    """Mean over the seeds by (recipe, data, rate), of pairs that are missing at random."""
    found = {}
    for row in rows:
        if row["pattern"] == "random":
            found.setdefault((row["recipe"], row["data"], row["rate"]), []).append(row[what])
    return {key: float(np.mean(values)) for key, values in found.items()}


def methods_at(rate, others=False, pattern="random"):
    """Whom to measure; with nothing missing the closed form, since nothing is filled in."""
    if pattern != "random":
        return tuple(OURS) if rate == 0.5 and not others else ()
    if others:
        return OTHERS if rate else ()
    return tuple(OURS) if rate else ("closed_form",)


def fit_many(method, rate, n=MANY):
    """Seconds of the processor of a fit of generated views in this process, and its peak memory."""
    views = synthetic_views(n, DIMS, CLUSTERS)
    present = random_pattern(n, len(views), rate, 0)
    views = [x * present[:, [a]] for a, x in enumerate(views)]
    before, start = provenance.peak_memory() / 1e3, time.process_time()
    model = dmac.DMAC(CLUSTERS, OURS[method], random_state=0, device="cpu").fit(views)
    seconds = round(time.process_time() - start, 1)
    peak = provenance.peak_memory() / 1e3
    filled = model.network_.completion is not None
    return {"seconds": seconds, "peak_gb": peak, "before_gb": before, "filled": filled}


def cost(n=MANY):
    """`fit_many` with nothing missing and a half, each in a process of one thread."""
    rows = []
    for method, rate in (("closed_form", 0.0), ("unfilled", 0.5), ("closed_form", 0.5)):
        with Child(threads=1, environment={"DMAC_NUM_THREADS": "1"}) as child:
            found = child.call(fit_many, method, rate, n)
        rows.append({"recipe": method, "rate": rate, **found, "load": os.getloadavg()[0]})
        print(rows[-1], flush=True)
    about = {"n": n, "dims": DIMS, "clusters": CLUSTERS, "threads": 1}
    return about | {"machine": provenance.machine(), "fits": rows}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", nargs="*", help="by default all")
    parser.add_argument("--rates", nargs="+", type=float, default=RATES)
    parser.add_argument("--seeds", nargs="+", type=int, help="by default three")
    parser.add_argument("--pattern", choices=PATTERNS, default="random")
    parser.add_argument("--others", action="store_true", help="the methods that are not ours")
    parser.add_argument("--cost", action="store_true", help="seconds and memory, nothing else")
    parser.add_argument("--out", type=Path, default=FILE)
    given = parser.parse_args(arguments)
    if given.cost:
        write_json(COST, cost())
        return
    rows = read(given.out)
    done = {tuple(row[field] for field in FIELDS[:5]) for row in rows}
    failed = {(row["recipe"], row["data"]) for row in rows if np.isnan(row["acc"])}
    if not done:
        with open(given.out, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow(FIELDS)
    for name in given.data or (SMALL if given.others else SETS):
        data = dmac.load(name)
        for rate in given.rates:
            for method in methods_at(rate, given.others, given.pattern):
                for seed in given.seeds or SEEDS:
                    key = (method, name, given.pattern, rate, seed)
                    if key in done:
                        continue
                    row = [*key, *3 * [np.nan]]
                    if key[:2] not in failed:
                        row = [*key, *measure(method, data, *key[2:])]
                    if np.isnan(row[5]):
                        failed.add(key[:2])
                    with open(given.out, "a", newline="", encoding="utf-8") as file:
                        csv.writer(file, lineterminator="\n").writerow(row)
                    print(*row, flush=True)


if __name__ == "__main__":
    from experiments import incomplete  # by its name, by which other processes find its functions

    incomplete.main()
