"""Dask arrays as views: what NumPy arrays give, from tasks that hold a model and a block."""

import os
from pathlib import Path

import cloudpickle
import dask
import dask.array
import numpy as np
import pytest
from helpers import python
from test_placing import PART, fit, planted

import dmac
from dmac import estimators
from dmac.data import checks
from dmac.data.checks import as_views
from dmac.recipes import CLOSED_FORM

N = 1200
# Dask keeps threads and sockets of its own, and closes some of them late.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{name}")
    for name in (
        *("ResourceWarning", "DeprecationWarning"),
        "pytest.PytestUnraisableExceptionWarning",
    )
]


@pytest.fixture(scope="module")
def views():
    """Three views of three groups, one of them narrow; some samples lack the second."""
    views, _ = planted(N)
    views[1][[3, 500, 1100]] = np.nan
    return views


def lazy(views, chunks=((100, 8), (350, 5), (1200, 3))):
    """The arrays in chunks that are not alike."""
    return [dask.array.from_array(x, chunks=of_view) for x, of_view in zip(views, chunks)]


def test_samples_that_are_zero_are_counted(views):
    given = [np.where(np.isin(np.arange(N), [700, 900])[:, None], 0, x) for x in views[:2]]
    with pytest.warns(UserWarning, match="2 of 1200 samples are zero in .* first is row 700"):
        model = fit(lazy(given))
    np.testing.assert_array_equal(model.n_missing_, [2, 5])


def test_a_later_fit_leaves_nothing_of_an_earlier_one(views, tmp_path):
    model = fit([x[:100] for x in views])
    assert model.membership_.shape == (100, 3)
    model.fit(lazy(views))
    assert len(model.labels_) == N
    assert not {"membership_", "confidence_"} & vars(model).keys()
    model.save(tmp_path)
    np.testing.assert_array_equal(dmac.load_model(tmp_path).labels_, model.labels_)


def made_of_seed(block_id, width, folder=None, block=3):
    """A block of 100 samples; at the third call for one block its worker is killed."""
    if folder is not None and block_id[0] == block:
        calls = len(os.listdir(folder))
        Path(folder, str(calls)).touch()
        if calls == 2:
            os._exit(1)
    rng = np.random.default_rng(block_id[0])
    return (3 * np.eye(3, 12)[rng.integers(3, size=100)] + rng.standard_normal((100, 12)))[
        :, :width
    ]


def generated(n_blocks, **options):
    """Two views that are made where they are needed."""
    chunks, like = (100,) * n_blocks, np.empty((0, 0))
    return [
        dask.array.map_blocks(
            made_of_seed, width=d, chunks=(chunks, (d,)), dtype=float, meta=like, **options
        )
        for d in (12, 8)
    ]


def test_a_task_holds_the_model_and_its_block_and_no_more(views):
    model = fit(generated(12))
    sizes, of_model = {}, len(cloudpickle.dumps((model.model_, model.pipelines_)))
    for n_blocks in (12, 48):
        (lazily,) = dask.optimize(model.predict(generated(n_blocks)))
        graph = dict(lazily.__dask_graph__())
        *tasks, largest = sorted(len(cloudpickle.dumps(task)) for task in graph.values())
        assert len(tasks) >= n_blocks and max(tasks) < 3000 < largest < 1.1 * of_model
        sizes[n_blocks] = len(cloudpickle.dumps(lazily.__dask_graph__()))
    # A task more costs its name and its references: the model is there once.
    assert sizes[48] - sizes[12] < 36 * 1000 < of_model


def test_large_chunks_are_cut_and_alike_ones_stay(monkeypatch, views):
    monkeypatch.setattr(checks, "_NUMBERS", 23 * 100)
    model = fit(views[:2])
    chunks = model.predict(lazy(views[:2], ((350, 8), (1200, 5)))).chunks
    assert chunks == ((88, 88, 87, 87) * 3 + (75, 75),)
    given = lazy(views[:2], ((100, 8), (100, 12)))
    assert all(view.values is x for view, x in zip(as_views(given, lazy=True), given))


def test_few_samples_are_all_fitted(views):
    some = [x[:150] for x in views]
    model, expected = fit(lazy(some)), fit(some)
    for name in ("labels_", "embedding_", "membership_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name), name)
    z = expected.transform(lazy(some))
    np.testing.assert_allclose(model.fit_transform(lazy(some)), z, atol=1e-6)


@pytest.mark.parametrize("recipe", [PART, CLOSED_FORM], ids=["of a part", "of all"])
def test_scores_are_those_of_arrays(recipe, monkeypatch, views):
    monkeypatch.setattr(estimators, "CLOSED_FORM", recipe)  # by which samples are drawn
    views = [x[:600] for x in views]
    model = fit(views)
    assert model.score(lazy(views)) == pytest.approx(model.score(views), rel=1e-9)


def test_what_is_wrong_is_said_where_it_is(views):
    given, model = lazy(views), fit([x[:600] for x in views])
    bad = lazy([x.copy() for x in views])
    bad[1][1000, 4] = np.inf
    for some, options, message in (
        (given, {"present": np.ones((N, 3))}, "present= is not for Dask arrays: where a sample la"),
        (given, {"as_frame": True}, "as_frame=True is not for Dask arrays"),
        (lazy(views[1:]) + given[:1], {}, "view 1 has 12 features, but the model was fitted on 8"),
        (bad, {}, "view 2 .* the first .inf. at row 1000, column 4"),
    ):
        with pytest.raises(ValueError, match=message):
            model.predict(some, **options).compute()


def test_without_dask_arrays_dask_is_not_imported():
    code = (
        "import sys, dmac, numpy as np; x = np.random.default_rng(0).normal(size=(60, 4)); "
        "model = dmac.AnchorGraphClustering(2, random_state=0).fit([x, x]); model.predict([x, x]); "
        "model.predict_proba([x, x]); model.score([x, x]); model.fit_transform([x, x]); "
        "assert not {'dask', 'distributed'} & {name.split('.')[0] for name in sys.modules}"
    )
    python("-c", code)


# --- on a cluster, which later tests of this file would use, too


@pytest.fixture(scope="module")
def cluster():
    """Two workers, each a process with one thread."""
    from distributed import Client, LocalCluster

    workers = LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=":0")
    with workers as cluster, Client(cluster) as client:
        yield client


def test_a_cluster_gives_what_arrays_give(cluster, views):
    given = lazy(views)
    model, expected = fit(given), fit(views)
    assert type(model.labels_) is np.ndarray and model.labels_.dtype == np.int64
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.n_missing_, expected.n_missing_)
    ways = ("predict", "transform", "predict_proba")
    made = [getattr(model, way)(given) for way in ways]
    computed = dask.compute(*made)
    for way, lazily, found in zip(ways, made, computed):
        plain = getattr(expected, way)(views)
        assert isinstance(lazily, dask.array.Array) and lazily.shape == plain.shape
        assert lazily.dtype == plain.dtype and lazily.chunks[0] == (100,) * 12
        np.testing.assert_allclose(found, plain, atol=1e-5)
    np.testing.assert_array_equal(computed[0], model.labels_)


def test_a_worker_that_dies_while_samples_are_placed_changes_nothing(cluster, tmp_path):
    given = generated(12)
    model = fit(given)
    before = cluster.scheduler_info(n_workers=-1)["workers"]
    # A block is made for the part, for the moments and to be placed.
    again = fit([generated(12, folder=str(tmp_path))[0], given[1]])
    assert len(list(tmp_path.iterdir())) > 3
    cluster.wait_for_workers(2)
    assert cluster.scheduler_info(n_workers=-1)["workers"].keys() != before.keys()
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.embedding_, model.embedding_)
