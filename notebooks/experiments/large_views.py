"""Views of many samples, of four kinds, to compare a fit of a part with a fit of all.

Each is ``kind(n, seed) -> views, labels`` with three views (n, d) in single precision.
"""

import numpy as np


def _noisy(r, classes, c, d, noise):
    """Three views of Gaussian clusters, whose centres have entries of deviation 1."""
    centres = [(r.normal(size=(c, d))[classes], r.normal(size=(len(classes), d))) for _ in range(3)]
    return [(centre + noise * x).astype(np.float32) for centre, x in centres]


def gaussian(n, seed, c=10, noise=5.0, d=64):
    """Clusters in so much noise that a sample alone says little."""
    r = np.random.default_rng(seed)
    y = r.integers(0, c, n)
    return _noisy(r, y, c, d, noise), y


def many(n, seed):
    """Fifty noisy clusters, of which a part has few samples each."""
    return gaussian(n, seed, c=50, noise=4.0)


def unequal(n, seed, c=12, noise=3.2, d=40):
    """Noisy clusters whose sizes fall by a factor of fifty."""
    r = np.random.default_rng(seed)
    share = np.geomspace(1, 0.02, c)
    y = r.choice(c, n, p=share / share.sum())
    return _noisy(r, y, c, d, noise), y


def curved(n, seed, c=20, d=30):
    """Every cluster is a ring in a plane of its own, in each view another."""
    r = np.random.default_rng(seed)
    y, views = r.integers(0, c, n), []
    for _ in range(3):
        angle, radius = 2 * np.pi * r.random(n), 1 + 0.12 * r.normal(size=n)
        ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
        centre = 0.55 * r.normal(size=(c, d))
        planes = np.stack([np.linalg.qr(r.normal(size=(d, 2)))[0] for _ in range(c)])
        x = np.einsum("nij,nj->ni", planes[y], ring) + centre[y] + 0.15 * r.normal(size=(n, d))
        views.append(x.astype(np.float32))
    return views, y


KINDS = {"gaussian": gaussian, "many": many, "curved": curved, "unequal": unequal}
