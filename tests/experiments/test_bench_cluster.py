"""The bench on a Dask cluster: what it draws, how it counts, and what it finds."""

import numpy as np
import pytest

from experiments.bench import cluster
from experiments.bench.cluster import CLUSTERS, ROWS, accuracy, block_classes, lazy_views
from experiments.bench.measuring import measure, measured


def test_views_are_drawn_by_their_blocks_and_differ():
    n = ROWS + 7
    views = lazy_views(n)
    assert {x.chunks[0] for x in views} == {(ROWS, 7)}
    last = [x[ROWS:].compute() for x in views]
    assert all(x.shape == (7, 64) and x.dtype == np.float32 for x in last)
    np.testing.assert_array_equal(last[0], lazy_views(n)[0].blocks[1])
    assert not np.allclose(last[0], last[1])


def test_accuracy_does_not_depend_on_the_names_of_clusters():
    n = ROWS + 500
    classes = np.concatenate([block_classes(number, n) for number in (0, 1)])
    labels = np.random.default_rng(0).permutation(CLUSTERS)[classes]
    assert accuracy(labels) == 1
    labels[: n // 2] = labels[0]
    assert 0.5 < accuracy(labels) < 0.6


# Dask keeps threads and sockets of its own, and closes some of them late.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_fit_on_two_workers_is_measured(tmp_path):
    assert measure(tmp_path, "cluster", cluster.jobs(samples=[600])) == 0
    (found,) = measured("cluster", tmp_path)["fits"]
    assert found["n"] == 600 and found["workers"] == 2 and found["acc"] > 0.99
    assert min(found["seconds"], found["worker_gb"], found["client_gb"]) > 0
