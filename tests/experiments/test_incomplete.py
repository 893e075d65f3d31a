"""Runs on samples that lack views: patterns, the recipe without completion, and the stored rows."""

import dataclasses
import json

import numpy as np
import pytest
import scipy.sparse

import dmac
from dmac.recipes import CLOSED_FORM
from experiments import incomplete


def test_every_sample_keeps_a_view():
    present = incomplete.random_pattern(2000, 4, 0.5, 0)
    assert present.any(1).all() and abs(present.mean() - 0.5 - 0.5**4 / 4) < 0.02
    np.testing.assert_array_equal(present, incomplete.random_pattern(2000, 4, 0.5, 0))
    assert (present != incomplete.random_pattern(2000, 4, 0.5, 1)).any()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_unfilled_is_the_recipe_but_for_the_completion(monkeypatch):
    ours, theirs = incomplete.unfilled(), CLOSED_FORM
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs) | {"name": "unfilled"}
    data = dmac.load("mfeat")
    views = [x[::8] for x in data.views]
    present = incomplete.random_pattern(250, 6, 0.4, 0)
    given = incomplete.without(views, present)
    (same,) = incomplete.without([scipy.sparse.csr_array(views[1])], present[:, 1:])
    np.testing.assert_array_equal(given[1], np.where(present[:, [1]], views[1], 0))
    np.testing.assert_array_equal(same.toarray(), given[1])
    model = dmac.DMAC(10, ours, 0, "cpu").fit(given)
    assert model.network_.completion is None
    monkeypatch.setattr("dmac.solvers.spectral.is_needed", lambda present: False)
    np.testing.assert_array_equal(dmac.DMAC(10, theirs, 0, "cpu").fit_predict(given), model.labels_)


def test_patterns_by_class_and_by_batch():
    labels = np.repeat(["a", "b", "c"], 2000)
    present = incomplete.class_pattern(labels, 4, 0)
    shares = np.array([present[labels == name].mean(0) for name in "abc"])
    near = [abs(shares - share) < 0.05 for share in (0.2, 0.8)]  # one view is kept at least
    assert present.any(1).all() and (near[0] | near[1]).all() and near[0].any() and near[1].any()
    present = incomplete.batch_pattern(3000, 5, 0.5, 1)
    kinds, counts = np.unique(present, axis=0, return_counts=True)
    assert len(kinds) <= incomplete.BATCHES and (counts % 300 == 0).all()
    assert present.any(1).all() and not present.all(0).any() and 0.3 < present.mean() < 0.7


def test_rows_are_computed_once(tmp_path, monkeypatch):
    monkeypatch.setattr(incomplete, "measure", lambda *given: [50.0, 40.0, 0.1])
    arguments = ["mfeat", "--rates", "0.5", "--seeds", "0", "1", "--out", str(tmp_path / "out.csv")]
    incomplete.main(arguments)
    monkeypatch.setattr(incomplete, "measure", None)
    incomplete.main(arguments)
    rows = incomplete.read(tmp_path / "out.csv")
    assert len(rows) == 4 and incomplete.means(rows)["closed_form", "mfeat", 0.5] == 50


def low_rank(n=80, widths=(6, 9)):
    """Non-negative views of one common angle, whose rows are near a line; a mask of a third."""
    angle = np.random.default_rng(0).uniform(0, np.pi / 2, size=n)
    views = []
    for d in widths:
        first = np.arange(d) < d // 2
        views.append(3 * np.outer(np.cos(angle), first) + 3 * np.outer(np.sin(angle), ~first))
    return views, incomplete.random_pattern(n, len(widths), 0.33, 0)


def test_the_mean_row_is_filled_in():
    views, present = low_rank()
    views[1][3] = 0  # says nothing, as if it was missing
    present[3] = True
    found = incomplete.imputed(views, present)
    for a, (x, filled) in enumerate(zip(views, np.split(found, [6], axis=1))):
        unit = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)
        there = present[:, a] & x.any(1)
        expected = np.where(there[:, None], unit, unit[there].mean(0))
        np.testing.assert_allclose(filled, expected)


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
def test_baselines_see_nothing_of_what_is_missing():
    data = dmac.load("mfeat")
    views, present = [x[::8] for x in data.views], incomplete.random_pattern(250, 6, 0.4, 0)
    other = [np.where(present[:, [a]], x, 1e3 * x[::-1]) for a, x in enumerate(views)]
    for method in incomplete.BASELINES:
        labels = [incomplete.labels_of(method, x, present, 10, 0) for x in (views, other)]
        np.testing.assert_array_equal(*labels)
        assert dmac.scores(data.labels[::8], labels[0])["acc"] > 0.4


def test_a_method_of_imml_gets_rows_of_nan_and_a_limit(monkeypatch):
    data, seen = dmac.load("mfeat"), []

    def fails(name, views, n_clusters, seed, **settings):
        seen.extend(views)
        raise incomplete.LibraryError("no")

    monkeypatch.setattr(incomplete, "fit_library", fails)
    row = incomplete.measure("iMML, OPIMC", data, "random", 0.5, 1)
    assert np.isnan(row[:2]).all() and row[2] >= 0
    present = incomplete.random_pattern(2000, 6, 0.5, 1)
    for x, whole, there in zip(seen, data.views, present.T):
        np.testing.assert_array_equal(x, np.where(there[:, None], whole, np.nan))
    with pytest.raises(TimeoutError, match="more than 0.05 s"), incomplete.stopped_after(0.05):
        while True:
            pass


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_stored_costs():
    stored = json.loads(incomplete.COST.read_text(encoding="utf-8"))
    assert (stored["n"], stored["threads"]) == (incomplete.MANY, 1)
    whole, zeros, filled = stored["fits"]
    assert [fit["filled"] for fit in stored["fits"]] == [False, False, True]
    assert filled["rate"] == zeros["rate"] == 0.5 and whole["rate"] == 0
    assert filled["seconds"] < 2 * zeros["seconds"] and filled["peak_gb"] < 1.5 * zeros["peak_gb"]
    found = incomplete.fit_many("closed_form", 0.5, 1000)
    assert found.keys() <= filled.keys() and found["filled"]


def test_stored_rows_are_complete():
    rows = incomplete.read()
    keys = {tuple(row[field] for field in incomplete.FIELDS[:5]) for row in rows}
    sets = {True: incomplete.SMALL, False: incomplete.SETS}
    grid = {
        (method, name, pattern, rate, seed)
        for others, names in sets.items()
        for name in names
        for pattern in incomplete.PATTERNS
        for rate in incomplete.RATES
        for method in incomplete.methods_at(rate, others, pattern)
        for seed in incomplete.SEEDS
    }
    assert len(rows) == len(keys) and keys == grid
    groups = [incomplete.group_of(name) for name in incomplete.SETS]
    assert groups == ["chosen on"] * 4 + ["seen meanwhile"] * 5 + ["new"] * 6
    assert set(incomplete.SMALL) < set(incomplete.SETS)
