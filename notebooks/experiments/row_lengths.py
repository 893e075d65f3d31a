"""Groups that differ by the length of rows, and lengths that are a nuisance, all generated.

``python -m experiments.row_lengths`` writes ``results/row_lengths.json``, which the book shows: of
generated data of every kind the accuracy of two levels, which divide lengths out, and of three.
"""

import json
import warnings

import numpy as np
from sklearn.cluster import KMeans

import dmac
from dmac.recipes import CLOSED_FORM, CLOSED_FORM_0_2
from experiments import records

FILE = records.RESULTS / "row_lengths.json"
SEEDS = 5
LEVELS = {"two levels": CLOSED_FORM_0_2, "three levels": CLOSED_FORM}


def _agreement(rng, y, d, size):
    """Answers from 1 to 5, the groups ``size`` points apart, with noise of 0.8."""
    middle = (y.max() / 2 - y)[:, None]
    return np.rint(3 - size * middle + 0.8 * rng.normal(size=(len(y), d))).clip(1, 5)


def _spending(rng, y, d, size):
    """Amounts by category, a group with ``size`` times those of the last, logarithmic noise 0.6."""
    shares = np.exp(0.4 * rng.normal(size=d))
    return shares * size ** y[:, None] * np.exp(0.6 * rng.normal(size=(len(y), d)))


def _rms(rng, y, d, size):
    """Root mean squares of 12 readings, ``size`` times as large as in the last group."""
    return size ** y[:, None] * np.sqrt(rng.chisquare(12, (len(y), d)) / 12)


def _visits(rng, y, d, size):
    """Numbers of visits, 2 on average in the first group, ``size`` times that of the last one."""
    return rng.poisson(2.0 * size ** y[:, None] * np.exp(0.3 * rng.normal(size=d))).astype(float)


def _brightness(rng, y, d, size):
    """Grey values from 0 to 255, groups ``size`` apart, with noise of 15."""
    return (50 + size * y[:, None] + 15 * rng.normal(size=(len(y), d))).clip(0, 255)


def _ability(rng, y, d, size):
    """Right answers: a share of 1/2 - ``size`` in one group, of 1/2 + ``size`` in the other."""
    return (rng.random((len(y), d)) < 0.5 + size * (2 * y[:, None] - 1)).astype(float)


def _loads(rng, y, d, size):
    """Loads over a day, one curve, a group with ``size`` times that of the last, noise of 0.25."""
    curve = 1 + 0.5 * np.sin(2 * np.pi * np.arange(d) / d)
    return curve * size ** y[:, None] * np.exp(0.25 * rng.normal(size=(len(y), d)))


def _profiles(rng, y, d, size, lengths=None):
    """A profile for each group, ``size`` the deviation of its entries, times a random length."""
    lengths = np.exp(0.5 * rng.normal(size=len(y))) if lengths is None else lengths
    profile = 1 + size * rng.normal(size=(y.max() + 1, d))
    return lengths[:, None] * abs(profile[y] * (1 + 0.1 * rng.normal(size=(len(y), d))))


def _counts(rng, y, d, size, lengths=None):
    """Counts whose logarithms of rates differ by ``size`` between groups, times a random length."""
    lengths = np.exp(0.5 * rng.normal(size=len(y))) if lengths is None else lengths
    rates = np.exp(rng.normal(size=d) + size * rng.normal(size=(y.max() + 1, d)))
    return rng.poisson(3 * lengths[:, None] * rates[y]).astype(float)


#: Groups that differ by length: how a view is made, the columns of both views, the number of groups
#: and of samples, and the sizes of the difference.
BY_LENGTH = {
    "items of agreement": (_agreement, (12, 8), 3, 300, (0.5, 0.75, 1.0, 1.5)),
    "spending": (_spending, (10, 8), 3, 300, (1.5, 2.0, 2.5, 3.0)),
    "rms of sensors": (_rms, (8, 8), 3, 300, (1.2, 1.4, 1.6, 2.0)),
    "visits": (_visits, (9, 40), 3, 300, (1.3, 1.6, 2.0, 3.0)),
    "brightness": (_brightness, (16, 25), 4, 400, (10, 20, 30, 50)),
    "right answers": (_ability, (30, 20), 2, 300, (0.1, 0.15, 0.2, 0.25)),
    "loads": (_loads, (24, 7), 3, 300, (1.2, 1.3, 1.5, 2.0)),
}
#: The same where lengths are a nuisance, of each view or of both views together.
NUISANCE = {
    "profiles": (_profiles, (20, 30), 3, 300, (0.1, 0.15, 0.3, 0.5)),
    "counts": (_counts, (200, 300), 3, 300, (0.1, 0.15, 0.2, 0.4)),
}


def _by_both(rng, y):
    """Answers of which two groups differ by length, and the third from both by its profile."""
    views = [_agreement(rng, np.minimum(y, 1), d, 2.4) for d in (12, 8)]
    return [np.where((y == 2)[:, None] & (np.arange(x.shape[1]) % 2 == 0), 1, x) for x in views]


def _two_of_noise(rng, y):
    """Two views of noise with one random length, and a third that alone has the groups."""
    lengths = np.exp(0.5 * rng.normal(size=len(y)))
    noise = [_profiles(rng, 0 * y, 20, 0.3, lengths) for _ in range(2)]
    return [*noise, 3 * rng.normal(size=(3, 10))[y] + rng.normal(size=(len(y), 10))]


#: Where one level alone has the groups, or a nuisance is in most views; three groups each.
LIMITS = {"length and profile": _by_both, "two views of noise": _two_of_noise}


def generate(kind, size, seed, together=False):
    """Two views of a kind, and the groups of their samples.

    Parameters
    ----------
    kind : str
        A key of `BY_LENGTH` or `NUISANCE`.
    size : float
        Of the difference.
    seed : int
    together : bool
        Whether both views of a `NUISANCE` have one random length.

    Returns
    -------
    list of two numpy.ndarray of shape (n, d_a)
    numpy.ndarray of shape (n,)
    """
    make, dims, c, n, _ = (BY_LENGTH | NUISANCE)[kind]
    rng = np.random.default_rng(seed)
    y = rng.permutation(n) % c
    options = {"lengths": np.exp(0.5 * rng.normal(size=n))} if together else {}
    return [make(rng, y, d, size, **options) for d in dims], y


def accuracies(views, y, seed):
    """Accuracy in % of two and of three levels.

    ``lengths`` is that of k-means on the length alone, the sum over standardised columns and views.
    """
    c = int(y.max()) + 1
    columns = np.hstack(views)
    sums = ((columns - columns.mean(0)) / columns.std(0)).sum(1, keepdims=True)
    labels = {"lengths": KMeans(c, n_init=10, random_state=seed).fit_predict(sums)}
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        for name, recipe in LEVELS.items():
            model = dmac.AnchorGraphClustering(c, recipe, random_state=seed, device="cpu")
            labels[name] = model.fit_predict(views)
    return {name: 100 * dmac.scores(y, one)["acc"] for name, one in labels.items()}


def on_generated(seeds=range(SEEDS)):
    """`accuracies` of every kind and size: a list of records, with a list over seeds each."""
    found = []
    for kind, (*_, sizes) in (BY_LENGTH | NUISANCE).items():
        for together in (False, True) if kind in NUISANCE else (False,):
            for size in sizes:
                one = [accuracies(*generate(kind, size, i, together), i) for i in seeds]
                about = {"kind": kind, "together": together, "size": size}
                found.append(about | _by_column(one))
    return found


def at_limits(seeds=range(SEEDS)):
    """`accuracies` of each of `LIMITS`: a dict of lists over seeds."""
    found = {}
    for kind, make in LIMITS.items():
        groups = [np.random.default_rng(i).permutation(300) % 3 for i in seeds]
        views = [make(np.random.default_rng([i, 1]), y) for i, y in zip(seeds, groups)]
        found[kind] = _by_column([accuracies(x, y, i) for x, y, i in zip(views, groups, seeds)])
    return found


def _by_column(records):
    return {k: [round(x[k], 1) for x in records] for k in records[0]}


if __name__ == "__main__":
    stored = {"generated": on_generated(), "limits": at_limits()}
    FILE.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
