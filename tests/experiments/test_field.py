"""The tools of the field as methods of runs: what they get, their errors, and, where they are
installed, what they return."""

import sys
import warnings
from unittest.mock import Mock

import numpy as np
import pytest
import scipy.sparse
from toy_runs import load

import dmac
from experiments import field, libraries, records
from experiments import run as runs

NAME = "PCA + k-means"
SPEC = runs.Spec("toy", NAME, field.field_settings(NAME), 1, "field")


def make(folder):
    return list(records.complete([SPEC], records.open_store(folder), load=load))


def pretend(monkeypatch, fit):
    """Replace a tool by this function, and the libraries by their versions."""
    monkeypatch.setitem(field.EVERY, NAME, field.Tool(fit, ("scanpy",)))
    monkeypatch.setattr(libraries, "installed_version", field.VERSIONS.get)


@pytest.fixture
def needed():
    """Skip where the libraries of the extra field are not installed in the versions of the runs."""
    for name in field.EVERY:
        if not libraries.is_runnable(name, field.field_settings(name)):
            pytest.skip("the extra field is not installed")
    with warnings.catch_warnings(action="ignore"):
        yield


def test_counts_are_told_by_their_values():
    rng = np.random.default_rng(0)
    wide, narrow = rng.poisson(3.0, (20, 51)), rng.poisson(3.0, (20, 50))
    rare = rng.poisson(0.2, (20, 5))
    for x, counts in ((wide, True), (narrow, False), (rare, True)):
        for same in (x, x.astype(float), scipy.sparse.csr_array(x.astype(float))):
            assert field.is_counts(same) == counts
        assert not field.is_counts(x + 0.5) and not field.is_counts(-x)
    assert field.is_counts(scipy.sparse.csr_array((20, 51)))


def test_views_have_the_same_power_side_by_side():
    rng = np.random.default_rng(0)
    rows = [scale * rng.normal(size=(40, d)) for scale, d in ((1e-3, 2), (1.0, 30), (1e4, 7))]
    for x, before in zip(np.split(field.equal_power(rows), [2, 32], axis=1), rows):
        assert np.mean(np.sum(x**2, axis=1)) == pytest.approx(1)
        assert np.allclose(x / before, x[0, 0] / before[0, 0])


def test_neighbours_are_a_tenth_of_the_samples_within_bounds():
    assert [field.n_neighbors(n) for n in (12, 59, 60, 199, 200, 10_000)] == [5, 5, 6, 19, 20, 20]


@pytest.mark.parametrize("c", [1, 2, 7, 40])
def test_the_resolution_is_bisected_until_there_are_c_clusters(c):
    asked = []

    def cluster(resolution):
        asked.append(resolution)
        return np.arange(60) % max(1, round(10 * resolution))

    assert len(np.unique(field.bisected(cluster, c))) == c
    assert asked[0] == pytest.approx(1) and len(asked) <= field.HALVINGS


def test_where_no_resolution_gives_c_clusters_it_is_the_nearest_number():
    asked = []

    def cluster(resolution):
        asked.append(resolution)
        return np.arange(60) % (3 if resolution < 0.37 else 8)

    for c, nearest in ((2, 3), (5, 3), (6, 8), (30, 8)):
        asked.clear()
        assert len(np.unique(field.bisected(cluster, c))) == nearest
        assert len(asked) == field.HALVINGS
        if 3 < c < 8:  # between the two, it closes in on the step
            assert asked[-1] == pytest.approx(0.37, rel=1e-3)


def test_what_is_missing_is_said_with_its_pip_line_and_not_stored(monkeypatch, tmp_path):
    name = "WNN + Leiden"
    here = field.VERSIONS | {"muon": None}
    settings = field.field_settings(name)
    monkeypatch.setattr(libraries, "installed_version", here.get)
    assert not libraries.is_runnable(name, settings)
    assert libraries.is_runnable(NAME, SPEC.settings)
    line = 'pip install "scanpy==1.11.5" "igraph==1.0.0" "muon==0.1.9"$'
    with pytest.raises(ImportError, match=f"needs muon 0.1.9, which is not installed: {line}"):
        field.fit_field(name, load("toy").views, 3, 1, **settings)
    here["scanpy"] = "9.9"
    with pytest.raises(ImportError, match="needs scanpy 1.11.5, which is installed as 9.9"):
        make(tmp_path)
    assert not list(tmp_path.rglob("*.jsonl"))


def test_labels_are_scored_and_the_record_says_the_versions(monkeypatch, tmp_path):
    fit = Mock(return_value=load("toy").labels)
    pretend(monkeypatch, fit)
    (record,) = make(tmp_path)
    assert fit.call_args.args[1:] == (3, 1)  # the number of clusters and the seed
    assert record["scores"]["acc"] == 1 and record["clusters"] == 3
    assert record["versions"]["scanpy"] == field.VERSIONS["scanpy"]
    assert record["settings"] == {"versions": {"scanpy": "1.11.5"}, "limit": field.LIMIT}


def never_end(*arguments):
    while True:
        pass


@pytest.mark.parametrize(
    "fit, message",
    [
        (lambda *arguments: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda *arguments: sys.exit(1), "SystemExit: 1"),
        (never_end, "TimeoutError: more than 0.1 s"),
        (lambda *arguments: np.full(60, 0.5), "holds no labels"),
    ],
)
def test_a_tool_that_fails_is_a_library_error(monkeypatch, fit, message):
    pretend(monkeypatch, fit)
    settings = SPEC.settings | {"limit": 0.1}
    with pytest.raises(libraries.LibraryError, match=message):
        field.fit_field(NAME, load("toy").views, 3, 1, **settings)


def test_wide_views_become_thirty_components_of_scaled_features(needed):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 80)) @ np.diag(np.logspace(-3, 3, 80)) + rng.normal(size=80)
    u, s, _ = np.linalg.svd((x - x.mean(0)) / x.std(0, ddof=1), full_matrices=False)
    expected = u[:, :30] * s[:30]
    for view in (x, np.hstack([x, np.full((90, 3), 0.1)]), scipy.sparse.csr_array(x)):
        got = field.components(view, 1)
        assert got.shape == (90, 30)
        assert np.allclose(got @ got.T, expected @ expected.T, atol=1e-3 * s[0] ** 2)
    assert field.components(x[:20], 1).shape == (20, 19)


def test_narrow_views_are_scaled_and_kept_as_they_are(needed):
    x = np.random.default_rng(0).normal(3.0, 5.0, (90, 50))
    for view in (x, scipy.sparse.csr_array(x), np.hstack([x, np.ones((90, 2))])):
        assert np.allclose(field.components(view, 1), (x - x.mean(0)) / x.std(0, ddof=1))
    assert field.varying([np.ones((90, 60)), np.ones((90, 2))], 1) == []


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_counts_are_normalised_to_the_median_sum_and_logged(needed, kind):
    x = np.random.default_rng(0).poisson(2.0, (30, 60)).astype(float)
    view, total = kind(x.copy()), x.sum(1, keepdims=True)
    assert np.allclose(field.dense(field.logged(view).X), np.log1p(x * np.median(total) / total))
    assert np.array_equal(field.dense(view), x)  # the caller's view is as it was
    assert np.allclose(field.dense(field.logged(kind(x - 1)).X), x - 1)
    x[0] = 0
    assert not field.dense(field.logged(kind(x)).X)[0].any()


def test_neighbours_are_exact_with_many_samples_too(needed):
    rows = np.random.default_rng(0).normal(size=(8200, 3))
    graph = field.with_graph(rows, 1).obsp["distances"]
    for i in (0, 8199):
        far = np.linalg.norm(rows - rows[i], axis=1)
        nearest = np.argsort(far)[1:20]  # with the sample itself they are twenty
        found = dict(zip(graph[[i]].indices, graph[[i]].data))
        assert found == pytest.approx(dict(zip(nearest, far[nearest])))


@pytest.mark.parametrize("name", field.EVERY)
def test_every_tool_finds_well_separated_blobs(needed, name):
    rng, classes = np.random.default_rng(0), np.repeat([0, 1, 2], [30, 40, 50])
    centers = [20 * rng.normal(size=(3, d)) for d in (5, 60)]
    views = [x[classes] + rng.normal(size=(120, x.shape[1])) for x in centers]
    settings = field.field_settings(name)
    labels = field.fit_field(name, views, 3, 1, **settings)
    assert labels.dtype == np.int64 and dmac.scores(classes, labels)["acc"] == 1
    assert np.array_equal(labels, field.fit_field(name, views, 3, 1, **settings))
