"""What unit rows do to data in units of their own: two sets of the sealed test.

``python -m experiments.units`` writes ``results/units.json``, which chapter 13 shows: how few of
its columns make a unit row, and the accuracy of k-means on the views as given, on unit rows,
on scaled columns, and on nothing but the lengths of the rows.
"""

import json

import numpy as np
from sklearn.cluster import KMeans

import dmac
from experiments import records, sealed
from experiments.field import equal_power
from experiments.store import round_floats

FILE = records.RESULTS / "units.json"
#: The level is the signal; columns have units of their own.
SHOWN = ("S16", "S12")
SEEDS, STARTS = 3, 10


def unit_rows(x):
    """Rows divided by their lengths; rows of zeros stay."""
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), np.finfo(float).tiny)


def lengths(x):
    """The lengths of the rows, as a view of one column."""
    return np.linalg.norm(x, axis=1, keepdims=True)


def scaled_columns(x):
    """Columns centred and divided by their standard deviations; constant ones are left out."""
    x = x[:, np.ptp(x, axis=0) > 0]
    return (x - x.mean(axis=0)) / x.std(axis=0)


#: What k-means gets of each view.
FORMS = {
    "as given": np.asarray,
    "unit rows": unit_rows,
    "row lengths alone": lengths,
    "scaled columns": scaled_columns,
}


def shares(x):
    """Which share of the squares of unit rows each column has on average, the largest first."""
    return np.sort((unit_rows(x) ** 2).mean(axis=0))[::-1]


def accuracy(data, form):
    """ACC in % of k-means on the views in a form, centred, side by side with equal power."""
    views = [form(np.asarray(x, dtype=float)) for x in data.views]
    rows = equal_power([x - x.mean(axis=0) for x in views])
    fits = (KMeans(data.n_clusters, n_init=STARTS, random_state=i) for i in range(SEEDS))
    return 100 * np.mean([dmac.scores(data.labels, fit.fit_predict(rows))["acc"] for fit in fits])


def measured(name, load=sealed.load):
    """What the page shows of a set."""
    data = load(name)
    largest = [shares(np.asarray(x, dtype=float)) for x in data.views]
    return {
        "columns": [len(x) for x in largest],
        "columns that make 99 %": [int((x.cumsum() < 0.99).sum()) + 1 for x in largest],
        "largest share": [x[0] for x in largest],
        "acc": {title: accuracy(data, form) for title, form in FORMS.items()},
    }


if __name__ == "__main__":
    stored = round_floats({name: measured(name) for name in SHOWN})
    FILE.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
