"""Fits of samples that are in no memory, on a local Dask cluster.

Views are drawn where they are needed, a block of samples at a time, and never stored.
"""

import os
import time
from unittest import mock

import numpy as np
from scipy.optimize import linear_sum_assignment

import dmac
from experiments import provenance
from experiments.bench.measuring import Job
from experiments.bench.shapes import CLUSTERS, DIMS

#: Samples of each fit, and of a block.
SAMPLES, ROWS = (1_000_000, 10_000_000, 100_000_000), 20_000
#: What Dask sets for its workers, so that they give freed memory back at once.
TRIM = "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_"


def block_classes(number, n_samples):
    """Classes of the samples of a block: (b,)."""
    rows = min(ROWS, n_samples - ROWS * number)
    return np.random.default_rng(number).integers(CLUSTERS, size=rows)


def block_of_view(block_id, n_samples, view):
    """Unit rows around the centre of each class in a view: (b, d), float32."""
    number, d = block_id[0], DIMS[view]
    centres = np.random.default_rng([view]).standard_normal((CLUSTERS, d), dtype=np.float32)
    noise = np.random.default_rng([number, view])
    classes = block_classes(number, n_samples)
    x = noise.standard_normal((len(classes), d), dtype=np.float32) + 0.7 * centres[classes]
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def lazy_views(n_samples):
    """Views of so many samples, as Dask arrays."""
    import dask.array

    rows = dask.array.core.normalize_chunks(ROWS, (n_samples,))[0]
    like = dict(dtype=np.float32, meta=np.empty((0, 0), np.float32))
    return [
        dask.array.map_blocks(
            block_of_view, n_samples=n_samples, view=view, chunks=(rows, (d,)), **like
        )
        for view, d in enumerate(DIMS)
    ]


def accuracy(labels):
    """Share of labels that are the classes, matched as well as they can be."""
    table = np.zeros((CLUSTERS, CLUSTERS), np.int64)
    for number, start in enumerate(range(0, len(labels), ROWS)):
        pairs = CLUSTERS * block_classes(number, len(labels)) + labels[start : start + ROWS]
        table += np.bincount(pairs, minlength=table.size).reshape(table.shape)
    return table[linear_sum_assignment(-table)].sum() / len(labels)


def fit_on_workers(n_samples, workers, trims=False, limit=None):
    """Fit so many samples on workers of one thread each.

    With ``trims`` they give freed memory back at once, as Dask's workers do by default. No
    ``limit`` stops it: it runs in this process, as only one that is no child has workers.

    Returns
    -------
    dict
        ``seconds`` of the fit, ``acc``, ``worker_gb`` and ``client_gb``: peak memory of the largest
        worker and of this process; the ``load_before``.
    """
    import dask
    from distributed import Client, LocalCluster

    load = os.getloadavg()[0]
    options = dict(threads_per_worker=1, processes=True, dashboard_address=":0")
    keeps = {} if trims else {TRIM: None}
    with (
        mock.patch.dict(os.environ),  # where a nanny leaves what it sets
        dask.config.set(keeps),
        LocalCluster(workers, **options) as cluster,
        Client(cluster) as client,
    ):
        provenance.reset_peak_memory()
        start = time.perf_counter()
        model = dmac.AnchorGraphClustering(CLUSTERS, random_state=0, device="cpu")
        labels = model.fit_predict(lazy_views(n_samples))
        seconds = time.perf_counter() - start
        peaks = client.run(provenance.peak_gb, "cpu").values()
    found = {"seconds": seconds, "acc": accuracy(labels), "load_before": load}
    return found | {"worker_gb": max(peaks), "client_gb": provenance.peak_gb("cpu")}


def jobs(*_, samples=SAMPLES, workers=2):
    for n in samples:
        yield Job("fits", {"n": n, "workers": workers}, fit_on_workers, n, workers)
        if n == samples[0]:
            yield Job("trimmed", {}, fit_on_workers, n, workers, trims=True)
