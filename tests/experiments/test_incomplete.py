"""Runs on samples that lack views: patterns, the recipe without completion, and the stored rows."""

import dataclasses
import itertools

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


def test_without_the_rows():
    views = [np.ones((3, 2)), scipy.sparse.csr_array(np.ones((3, 1)))]
    found = incomplete.without(views, np.array([[1, 0], [0, 1], [1, 1]], bool))
    np.testing.assert_array_equal(found[0], [[1, 1], [0, 0], [1, 1]])
    np.testing.assert_array_equal(found[1].toarray(), [[0], [1], [1]])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_unfilled_is_the_recipe_but_for_the_completion(monkeypatch):
    ours, theirs = incomplete.unfilled(), CLOSED_FORM
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs) | {"name": "unfilled"}
    data = dmac.load("mfeat")
    views = [x[::8] for x in data.views]
    given = incomplete.without(views, incomplete.random_pattern(250, 6, 0.4, 0))
    model = dmac.DMAC(10, ours, 0, "cpu").fit(given)
    assert model.network_.completion is None
    monkeypatch.setattr("dmac.solvers.spectral.is_needed", lambda present: False)
    np.testing.assert_array_equal(dmac.DMAC(10, theirs, 0, "cpu").fit_predict(given), model.labels_)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_rows_are_computed_once(tmp_path, monkeypatch):
    monkeypatch.setattr(incomplete, "measure", lambda *given: [50.0, 40.0, 0.1])
    arguments = ["mfeat", "--rates", "0.5", "--seeds", "0", "1", "--out", str(tmp_path / "out.csv")]
    incomplete.main(arguments)
    monkeypatch.setattr(incomplete, "measure", None)
    incomplete.main(arguments)
    rows = incomplete.read(tmp_path / "out.csv")
    assert len(rows) == 4 and {row["seed"] for row in rows} == {0, 1}
    assert incomplete.means(rows)["closed_form", "mfeat", 0.5] == 50


def test_stored_rows_are_complete_and_say_what_the_changelog_says():
    rows = incomplete.read()
    keys = {tuple(row[field] for field in incomplete.FIELDS[:4]) for row in rows}
    grid = itertools.product(
        ("unfilled", "closed_form"), incomplete.SETS, incomplete.RATES, incomplete.SEEDS
    )
    assert len(rows) == len(keys) and keys == set(grid)
    acc = incomplete.means(rows)
    for rate, gain in zip(incomplete.RATES, (1, 4, 15)):
        changes = [
            acc["closed_form", name, rate] - acc["unfilled", name, rate] for name in incomplete.SETS
        ]
        assert np.mean(changes) > gain and min(changes) > -2.5
        below = {name for name, change in zip(incomplete.SETS, changes) if change < -1}
        assert below <= {"100Leaves"}
