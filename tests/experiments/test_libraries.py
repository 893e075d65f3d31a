"""Estimators of other libraries as methods of runs: their names, their errors, and, where they are
installed, what they return."""

import types

import numpy as np
import pytest

import dmac
from experiments import libraries, plan
from experiments import records as experiments
from experiments import run as runs

NAME = "iMML, NEMO"


def load(name):
    rng = np.random.default_rng(0)
    classes = np.arange(60) % 3
    views = [5 * rng.random((3, d))[classes] + 0.1 * rng.random((60, d)) for d in (5, 8)]
    return dmac.MultiViewData(name, views, classes, 3)


def pretend(monkeypatch, fit_predict, name=NAME):
    """Replace a library by one whose estimator does this."""
    wanted = libraries.ESTIMATORS[name]

    class Estimator:
        def __init__(self, **parameters):
            self.parameters = parameters

    Estimator.fit_predict = fit_predict
    module = types.SimpleNamespace(**{wanted.name: Estimator})
    modules = {f"{wanted.library}.cluster": module}
    monkeypatch.setattr(libraries.importlib, "import_module", modules.get)
    monkeypatch.setattr(libraries, "installed_version", libraries.VERSIONS.get)


def spec(name=NAME, **more):
    return runs.Spec("toy", name, libraries.library_settings(name, **more), 1, "libraries")


def test_all_estimators_that_people_would_install_are_there():
    by_library = {}
    for name, one in libraries.ESTIMATORS.items():
        by_library.setdefault(one.library, []).append(one.name)
        assert runs.LIBRARIES[name].args == (name,)
    assert by_library == {
        "mvlearn": [
            "MultiviewSpectralClustering",
            "MultiviewCoRegSpectralClustering",
            "MultiviewSphericalKMeans",
        ],
        "imml": ["NEMO", "LFIMVC", "EEIMVC"],
        "polyview": ["MultiViewCoRegSpectralClustering", "MultiViewNMF"],
    }
    assert set(libraries.VERSIONS) == set(by_library)
    assert not set(libraries.ESTIMATORS) & (set(runs.METHODS) | set(runs.PEERS))


def test_the_plan_has_ten_seeds_of_each_on_the_data_sets_of_the_other_systems_or_three():
    listed = plan.full()["libraries"]
    seeds = {}
    for one in listed:
        if (one.method, one.settings) in plan.LIBRARIES.values():
            seeds.setdefault((one.method, one.dataset), set()).add(one.seed)
    everywhere = {(name, d) for name in libraries.ESTIMATORS for d in plan.PEER_DATASETS}
    assert set(seeds) == everywhere - {("mvlearn, co-trained spectral", "MNIST-4")}
    for (_, dataset), found in seeds.items():
        assert found == set(range(1, (3 if dataset in plan.SHORTENED else 10) + 1))
    assert plan.full(["my.mat"])["libraries"] == []


def test_a_library_that_is_missing_or_of_another_version_is_said_and_not_stored(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(libraries, "installed_version", lambda library: None)
    assert not libraries.is_runnable(NAME, spec().settings)
    with pytest.raises(ImportError, match=r"needs imml 0\.6\.0, which is not installed: pip"):
        list(experiments.complete([spec()], experiments.open_store(tmp_path), load=load))
    monkeypatch.setattr(libraries, "installed_version", lambda library: "9.9")
    with pytest.raises(ImportError, match=r"is installed as 9\.9"):
        libraries.fit_library(NAME, load("toy").views, 3, 1, version="0.6.0")
    assert not list(tmp_path.rglob("*.jsonl"))
    monkeypatch.undo()
    assert libraries.installed_version("no-such-library") is None
    assert libraries.installed_version("numpy") == np.__version__


def test_labels_are_scored_and_the_record_says_the_version(monkeypatch, tmp_path):
    def fit_predict(self, views):
        assert self.parameters == {"n_clusters": 3, "random_state": 1}
        assert [x.dtype for x in views] == [float, float]
        return load("toy").labels.astype(float)

    pretend(monkeypatch, fit_predict)
    assert libraries.is_runnable(NAME, spec().settings)
    store = experiments.open_store(tmp_path)
    (record,) = experiments.complete([spec()], store, load=load)
    assert record["scores"]["acc"] == 1 and record["clusters"] == 3
    assert record["versions"]["imml"] == "0.6.0" and record["settings"] == {"version": "0.6.0"}
    assert (
        "imml"
        not in runs.make_run(runs.Spec("toy", "k-means, concatenated", {}, 1, "some"), load=load)[
            "versions"
        ]
    )


def test_an_error_of_an_estimator_is_a_record(monkeypatch, tmp_path):
    def fit_predict(self, views):
        raise ValueError("Number of views of data must be 2")

    pretend(monkeypatch, fit_predict)
    store = experiments.open_store(tmp_path)
    (record,) = experiments.complete([spec()], store, load=load)
    assert record["error"] == "ValueError: Number of views of data must be 2"
    assert "scores" not in record and experiments.missing([spec()], store, load) == []


@pytest.mark.parametrize("wrong", [np.zeros(7), np.full(60, 0.5), np.zeros((60, 2))])
def test_what_are_no_labels_is_an_error(monkeypatch, wrong):
    pretend(monkeypatch, lambda self, views: wrong)
    with pytest.raises(libraries.LibraryError, match="holds no labels"):
        libraries.fit_library(NAME, load("toy").views, 3, 1, version="0.6.0")


def test_only_the_first_views_are_given_where_it_is_asked_for(monkeypatch):
    pretend(monkeypatch, lambda self, views: np.full(60, len(views)))
    views = [*load("toy").views, load("toy").views[0]]
    counts = [
        libraries.fit_library(NAME, views, 3, 1, version="0.6.0", first_views=k)[0]
        for k in (None, 2)
    ]
    assert counts == [3, 2]


@pytest.mark.parametrize("name", libraries.ESTIMATORS)
def test_an_installed_estimator_finds_easy_clusters(name):
    settings = libraries.library_settings(name)
    if not libraries.is_runnable(name, settings):
        library = libraries.ESTIMATORS[name].library
        pytest.skip(f"{library} {settings['version']} is not installed: the extra libraries has it")
    data = load("toy")
    labels = libraries.fit_library(name, data.views, 3, 1, **settings)
    assert labels.shape == (60,) and labels.dtype == np.int64
    assert dmac.scores(data.labels, labels)["acc"] > 0.6
