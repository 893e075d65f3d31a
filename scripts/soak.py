"""Two hundred random data sets through one process: does its memory grow? `make soak` runs it.

After the first fifty fits libraries have loaded and caches are filled; from then on the resident
size of the process may rise by 5 %.

    python scripts/soak.py [FITS]
"""

import gc
import sys
import warnings

import numpy as np
import psutil
import scipy.sparse

import dmac

WARM = 50
ALLOWED = 0.05


def data(number):
    """Views of one random data set: how many, how wide, dense or sparse, and how many clusters."""
    rng = np.random.default_rng(number)
    n, c = int(rng.integers(60, 600)), int(rng.integers(2, 12))
    classes = rng.integers(c, size=n)
    views = []
    for _ in range(rng.integers(1, 4)):
        d = int(rng.integers(2, 120))
        x = 3 * rng.normal(size=(c, d))[classes] + rng.normal(size=(n, d))
        views.append(scipy.sparse.csr_array(np.maximum(x, 0)) if rng.random() < 0.3 else x)
    return views, c


def resident():
    """Bytes of this process that are in memory, after everything unused is freed."""
    gc.collect()
    return psutil.Process().memory_info().rss


def soak(n_fits=200):
    """Fit, predict and score one data set after the other.

    Returns
    -------
    list of int
        Resident bytes after every fit.
    """
    sizes = []
    for number in range(n_fits):
        views, c = data(number)
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            model = dmac.AnchorGraphClustering(c, random_state=number, device="cpu").fit(views)
            assert set(model.predict(views)) <= set(range(c))
        sizes.append(resident())
        if number % 10 == 9:
            print(f"{number + 1} fits: {sizes[-1] / 2**20:.1f} MiB", flush=True)
    return sizes


def drift(sizes, warm=WARM):
    """By how much the last ten sizes are above the first ten after the warm-up, as a share.

    Medians, since one large data set leaves a hole that the next ones fill.
    """
    before, after = np.median(sizes[warm : warm + 10]), np.median(sizes[-10:])
    return after / before - 1


if __name__ == "__main__":
    change = drift(soak(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
    print(f"memory after {WARM} fits and at the end differs by {100 * change:+.2f} %")
    sys.exit(int(change > ALLOWED))  # a NumPy truth value would be printed and count as an error
