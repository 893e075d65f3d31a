"""Views of the shapes that are timed: random ones, and those of data sets."""

import numpy as np

from dmac.data.datasets import DATASETS
from dmac.views import load

#: Shapes of data sets that are not at hand: samples, widths of the views, clusters.
SHAPES = {
    "NUS": (2400, (64, 144, 73, 128, 225, 500), 10),
    "CCV": (6773, (4000, 5000, 5000), 20),
    "half ALOI": (5400, (77, 13, 64, 125), 50),
    "ALOI": (10800, (77, 13, 64, 125), 100),
    "ALOI, 1 of 4 views": (10800, (77,), 100),
}

#: Of "growth": the fixed number of anchors, the clusters, and the widths of the views.
ANCHORS, CLUSTERS, DIMS = 512, 10, (64, 64, 64)


def synthetic_views(n_samples, dims, n_clusters, seed=0, centres=None):
    """Unit rows around random centres: v arrays (n, d_a), float32.

    ``centres`` is a seed of these alone, for views that are drawn some samples at a time.
    """
    rng = np.random.default_rng(seed)
    classes = rng.integers(n_clusters, size=n_samples)
    own = rng if centres is None else np.random.default_rng(centres)
    views = []
    for d in dims:
        centres = 0.7 * own.standard_normal((n_clusters, d), dtype=np.float32)
        x = rng.standard_normal((n_samples, d), dtype=np.float32)
        x += centres[classes]
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        views.append(x)
    return views


def problem(name, n_samples, drawn=False):
    """Views and the number of clusters: of a data set, or random ones, also of its shape."""
    if name == "growth":
        return synthetic_views(n_samples, DIMS, CLUSTERS), CLUSTERS
    if name in SHAPES:
        n, dims, c = SHAPES[name]
        return synthetic_views(n, dims, c), c
    if drawn and name in DATASETS:
        known = DATASETS[name]
        return synthetic_views(known.n_samples, known.dims, known.n_clusters), known.n_clusters
    data = load(name)
    return data.views, data.n_clusters
