"""Samples that lack views: patterns, the recipe without completion, ways to fill in, the runs."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

import dmac
from dmac.recipes import CLOSED_FORM_0_2
from experiments import evidence, incomplete, libraries
from experiments.run import Spec, make_run, settings_of


def test_every_sample_keeps_a_view():
    present, again, other = (incomplete.random_pattern(2000, 4, 0.5, seed) for seed in (0, 0, 1))
    assert present.any(1).all() and abs(present.mean() - 0.5 - 0.5**4 / 4) < 0.02
    np.testing.assert_array_equal(present, again)
    assert (present != other).any()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_unfilled_is_the_recipe_but_for_the_completion(monkeypatch):
    ours = incomplete.OURS["unfilled"]
    assert dataclasses.asdict(ours) == dataclasses.asdict(CLOSED_FORM_0_2) | {"name": "unfilled"}
    views = [x[::8] for x in dmac.load("mfeat").views]
    present = incomplete.random_pattern(250, 6, 0.4, 0)
    given = incomplete.without(views, present)
    (same,) = incomplete.without([scipy.sparse.csr_array(views[1])], present[:, 1:])
    np.testing.assert_array_equal(given[1], np.where(present[:, [1]], views[1], 0))
    np.testing.assert_array_equal(same.toarray(), given[1])
    model = dmac.AnchorGraphClustering(10, ours, 0, "cpu").fit(given)
    assert model.model_.completion is None
    monkeypatch.setattr("dmac.agc.solver.is_needed", lambda present: False)
    same = dmac.AnchorGraphClustering(10, CLOSED_FORM_0_2, 0, "cpu").fit_predict(given)
    np.testing.assert_array_equal(same, model.labels_)


def test_patterns_by_class_and_by_batch():
    labels = np.repeat(["a", "b", "c"], 2000)
    present = incomplete.class_pattern(labels, 4, 0)
    shares = np.array([present[labels == name].mean(0) for name in "abc"])
    near = np.abs(shares - np.array([0.2, 0.8])[:, None, None]) < 0.05  # one view is kept at least
    assert present.any(1).all() and near.any(0).all() and near.any((1, 2)).all()
    present = incomplete.batch_pattern(3000, 5, 0.5, 1)
    kinds, counts = np.unique(present, axis=0, return_counts=True)
    assert len(kinds) <= incomplete.BATCHES and (counts % 300 == 0).all()
    assert present.any(1).all() and not present.all(0).any() and 0.3 < present.mean() < 0.7


def low_rank(n=80, widths=(6, 9)):
    """Non-negative views of one common angle, whose rows are near a line; a mask of a third."""
    angle = np.random.default_rng(0).uniform(0, np.pi / 2, size=n)
    plane = 3 * np.column_stack([np.cos(angle), np.sin(angle)])
    views = [plane[:, (np.arange(d) >= d // 2).astype(int)] for d in widths]
    return views, incomplete.random_pattern(n, len(widths), 0.33, 0)


def test_a_low_rank_is_filled_in():
    views, present = low_rank()
    mean, one, two = (
        np.split(incomplete.imputed(views, present, rank), [6], axis=1) for rank in (0, 1, 2)
    )
    found = incomplete.completed(views, present, 1, 0)  # twice the rank
    for a, x in enumerate(views):
        there = present[:, a]
        unit = x[~there] / np.linalg.norm(x[~there], axis=1, keepdims=True)
        error, of_mean = (((guess[a][~there] - unit) ** 2).mean() for guess in (one, mean))
        assert error < 0.1 * of_mean
        np.testing.assert_array_equal(found[a][there], x[there])
        length = np.linalg.norm(x[there], axis=1).mean()
        np.testing.assert_allclose(found[a][~there], length * two[a][~there])
    rng = np.random.default_rng(1)
    x = rng.uniform(size=(30, 40)) ** 8  # of a high rank, whose guesses go below 0
    present = incomplete.random_pattern(30, 2, 0.5, 0)
    assert min(y.min() for y in incomplete.completed([x, x[:, ::-1]], present, 9, 0)) == 0


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("method", [*incomplete.BASELINES, *incomplete.OURS])
def test_a_run_sees_nothing_of_what_is_missing(method):
    data = dmac.load("mfeat")
    data = dataclasses.replace(data, views=[x[::8] for x in data.views], labels=data.labels[::8])
    present = incomplete.random_pattern(250, 6, 0.4, 0)
    views = [np.where(present[:, [a]], x, 1e3 * x[::-1]) for a, x in enumerate(data.views)]
    other = dataclasses.replace(data, views=views)
    about = {"lacking": {"pattern": "random", "rate": 0.4}}
    settings = settings_of(incomplete.OURS[method], **about) if method in incomplete.OURS else about
    spec = Spec("mfeat", "DMAC" if method in incomplete.OURS else method, settings, 0, "")
    one, two = (make_run(spec, load=lambda _, given=given: given) for given in (data, other))
    assert one["scores"] == two["scores"] and one["scores"]["acc"] > 0.4


def test_a_method_of_imml_gets_rows_of_nan_and_a_limit(monkeypatch):
    data, given = dmac.load("mfeat"), []

    def never_end(views):
        given.extend(views)
        while True:
            pass

    monkeypatch.setattr(libraries, "installed_version", lambda library: "0.6.0")
    module = SimpleNamespace(OPIMC=lambda **parameters: SimpleNamespace(fit_predict=never_end))
    monkeypatch.setattr(libraries.importlib, "import_module", lambda name: module)
    about = {"lacking": {"pattern": "random", "rate": 0.5}, "limit": 0.05}
    settings = libraries.library_settings("iMML, OPIMC", **about)
    record = make_run(Spec("mfeat", "iMML, OPIMC", settings, 1, ""))
    assert record["error"] == "TimeoutError: more than 0.05 s" and "scores" not in record
    present = incomplete.random_pattern(2000, 6, 0.5, 1)
    for x, whole, there in zip(given, data.views, present.T, strict=True):
        np.testing.assert_array_equal(x, np.where(there[:, None], whole, np.nan))


def test_stored_runs_are_complete():
    runs = evidence.read_lacking()
    assert len(runs) == 1062 and runs.acc.isna().sum() == 8
    assert set(runs.data) == set(incomplete.SETS) > set(incomplete.SMALL)
    assert not runs.duplicated(["recipe", "data", "pattern", "rate", "seed"]).any()
    groups = [incomplete.group_of(name) for name in incomplete.SETS]
    assert groups == ["chosen on"] * 4 + ["seen meanwhile"] * 5 + ["new"] * 6
