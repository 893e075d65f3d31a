"""Estimators of other libraries as methods of runs: their names, their errors, and, where they are
installed, what they return."""

import types
from unittest.mock import Mock

import numpy as np
import pytest
from toy_runs import load

import dmac
from experiments import libraries, records
from experiments import run as runs

NAME = "iMML, NEMO"
SPEC = runs.Spec("toy", NAME, libraries.library_settings(NAME), 1, "libraries")


def make(folder, load=load):
    return list(records.complete([SPEC], records.open_store(folder), load=load))


def fit(views, **settings):
    return libraries.fit_library(NAME, views, 3, 1, **SPEC.settings | settings)


def pretend(monkeypatch, fit_predict):
    """Replace a library by one whose estimator does this; returned is what makes the latter."""
    estimator = Mock(return_value=types.SimpleNamespace(fit_predict=fit_predict))
    modules = {"imml.cluster": types.SimpleNamespace(NEMO=estimator)}
    monkeypatch.setattr(libraries.importlib, "import_module", modules.get)
    monkeypatch.setattr(libraries, "installed_version", libraries.VERSIONS.get)
    return estimator


def test_a_library_that_is_missing_or_of_another_version_is_said_and_not_stored(
    monkeypatch, tmp_path
):
    for version, message in ((None, "needs imml 0.6.0, which"), ("9.9", "installed as 9.9")):
        monkeypatch.setattr(libraries, "installed_version", lambda library: version)
        assert not libraries.is_runnable(NAME, SPEC.settings)
        with pytest.raises(ImportError, match=message):
            make(tmp_path)
    assert not list(tmp_path.rglob("*.jsonl"))
    monkeypatch.undo()
    assert libraries.installed_version("no-such-library") is None
    assert libraries.installed_version("numpy") == np.__version__


def test_labels_are_scored_and_the_record_says_the_version(monkeypatch, tmp_path):
    estimator = pretend(monkeypatch, lambda views: load("toy").labels.astype(float))
    (record,) = make(tmp_path)
    estimator.assert_called_once_with(n_clusters=3, random_state=1)
    assert record["scores"]["acc"] == 1 and record["clusters"] == 3
    assert record["versions"]["imml"] == "0.6.0" and record["settings"] == {"version": "0.6.0"}


def test_an_error_of_an_estimator_is_a_record(monkeypatch, tmp_path):
    pretend(monkeypatch, lambda views: 1 / 0)
    (record,) = make(tmp_path)
    assert record["error"] == "ZeroDivisionError: division by zero"
    assert "scores" not in record and make(tmp_path) == []


@pytest.mark.parametrize("wrong", [np.zeros(7), np.full(60, 0.5), np.zeros((60, 2))])
def test_what_are_no_labels_is_an_error(monkeypatch, wrong):
    pretend(monkeypatch, lambda views: wrong)
    with pytest.raises(libraries.LibraryError, match="holds no labels"):
        fit(load("toy").views)


def test_only_the_first_views_are_given_where_it_is_asked_for(monkeypatch):
    pretend(monkeypatch, lambda views: np.full(60, len(views)))
    views = 2 * load("toy").views
    assert [fit(views)[0], fit(views, first_views=3)[0]] == [4, 3]


@pytest.mark.parametrize("name", libraries.ESTIMATORS)
def test_an_installed_estimator_finds_easy_clusters(name):
    settings = libraries.library_settings(name)
    if not libraries.is_runnable(name, settings):
        library = libraries.ESTIMATORS[name].library
        pytest.skip(f"{library} {settings['version']} is not installed: the extra libraries has it")
    data, rng = load("toy"), np.random.default_rng(0)  # some take no negative values
    views = [5 * rng.random((3, d))[data.labels] + 0.1 * rng.random((60, d)) for d in (5, 8)]
    labels = libraries.fit_library(name, views, 3, 1, **settings)
    assert labels.shape == (60,) and labels.dtype == np.int64
    assert dmac.scores(data.labels, labels)["acc"] > 0.6
