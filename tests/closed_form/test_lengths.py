"""Rows that differ by their length alone: found, kept from fit to prediction; else left alone."""

import dataclasses
import warnings

import numpy as np
import pytest
import scipy.sparse
from helpers import accuracy as acc
from hypothesis import given, settings
from hypothesis import strategies as st

import dmac
from dmac.closed_form.lengths import RowLengths, row_lengths
from dmac.recipes import CLOSED_FORM, CLOSED_FORM_2026_11

DIVIDED = dataclasses.replace(CLOSED_FORM, length_guard=False)
KEPT, TOLD = "differ by their length alone", "of what varies in view 1 is the length"


def answers(groups, d, rng):
    return np.rint(1.5 + 1.5 * groups[:, None] + 0.8 * rng.normal(size=(len(groups), d))).clip(1, 5)


def visits(groups, d, rng):
    return rng.poisson(2.0 * 2.2 ** groups[:, None] * np.ones(d)).astype(float)


def brightness(groups, d, rng):
    return (50 + 40 * groups[:, None] + 15 * rng.normal(size=(len(groups), d))).clip(0)


def profiles(groups, d, rng, lengths=None):
    """Groups that differ by profile; their lengths are a nuisance."""
    lengths = np.exp(0.5 * rng.normal(size=len(groups))) if lengths is None else lengths
    rows = (1 + 0.3 * rng.normal(size=(3, d)))[groups]
    return lengths[:, None] * abs(rows * (1 + 0.1 * rng.normal(size=(len(groups), d))))


def two_views(kind, n=150, seed=0, dims=(12, 8), **more):
    rng = np.random.default_rng(seed)
    groups = rng.permutation(n) % 3
    return [kind(groups, d, rng, **more) for d in dims], groups


def fit(views, recipe=CLOSED_FORM, seed=0, said=KEPT, **options):
    """A fit, and that it says so once a view."""
    with warnings.catch_warnings(record=True, action="always") as heard:
        model = dmac.AnchorGraphClustering(3, recipe, random_state=seed, device="cpu").fit(
            views, **options
        )
    texts = [str(one.message) for one in heard]
    assert len(set(texts)) == len(texts) and any(said in text for text in texts)
    return model


def kept(model):
    return [pipeline.keeps_lengths is True for pipeline in model.pipelines_]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", [answers, visits, brightness])
def test_groups_by_length_are_found_predicted_and_saved(kind, seed, saved):
    views, groups = two_views(kind, seed=seed)
    divided = dmac.AnchorGraphClustering(3, DIVIDED, random_state=0).fit_predict(views)
    assert acc(groups, divided) < 0.6
    model = fit(views, seed=seed)
    assert kept(model) == [True, True] and acc(groups, model.labels_) > 0.95
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    new, truth = two_views(kind, seed=seed + 9)
    if kind is not visits:  # whose rates are drawn, too
        assert acc(truth, model.predict(new)) > 0.95
    again = saved(model)
    np.testing.assert_array_equal(again.transform(new), model.transform(new))
    np.testing.assert_array_equal(again.predict(views), model.labels_)


@pytest.mark.parametrize("together", [False, True])
def test_a_length_that_is_a_nuisance_is_divided_out_and_told(together):
    lengths = np.exp(0.5 * np.random.default_rng(5).normal(size=150)) if together else None
    views, groups = two_views(profiles, dims=(20, 30), lengths=lengths)
    model = fit(views, said=TOLD)
    assert kept(model) == [False, False] and acc(groups, model.labels_) > 0.99
    without = dmac.AnchorGraphClustering(3, DIVIDED, random_state=0, device="cpu").fit(views)
    np.testing.assert_array_equal(model.embedding_, without.embedding_)  # no draw is disturbed


def test_one_view_is_judged_by_its_halves():
    (x, _), groups = two_views(answers)
    model = fit([x])
    assert kept(model) == [True] and acc(groups, model.labels_) > 0.95
    (x, _), _ = two_views(profiles, dims=(20, 30))
    (found,) = row_lengths([x])
    assert found.vary and not found.kept and np.isnan(found.agrees)


def test_the_length_of_one_view_joins_the_directions_of_another():
    rng = np.random.default_rng(1)
    groups = rng.permutation(150) % 3
    views = [answers(groups, 12, rng), profiles(groups, 20, rng), answers(groups, 4, rng)]
    model = fit(views)
    assert kept(model) == [True, False, False] and acc(groups, model.labels_) > 0.97
    # A length that no other view knows is a nuisance, though its rows say nothing else.
    alone = [profiles(0 * groups, 20, rng), views[1]]
    found = row_lengths(alone)
    assert found[0].lost and found[0].agrees < 4 and not any(one.kept for one in found)
    assert acc(groups, fit(alone, said=TOLD).labels_) > 0.97


def test_samples_that_lack_a_view_are_left_out_and_placed():
    views, groups = two_views(answers, n=240)
    lacking = [np.where(np.arange(240)[:, None] % 4 == a, np.nan, x) for a, x in enumerate(views)]
    model = fit(lacking)
    assert kept(model) == [True, True] and model.n_missing_.tolist() == [60, 60]
    assert acc(groups, model.labels_) > 0.93
    np.testing.assert_array_equal(model.predict(lacking), model.labels_)
    zeros = [np.nan_to_num(x) for x in lacking]
    assert all(one.kept for one in (*row_lengths(views), *row_lengths(zeros)))


@pytest.mark.parametrize("kind", ["sparse", "on disk"])
def test_of_a_part_all_samples_are_placed(kind, on_disk):
    views, groups = two_views(visits, n=400)
    recipe = dataclasses.replace(CLOSED_FORM, fit_samples=150, fit_of_cluster=1)
    expected = fit(views, recipe)
    assert kept(expected) == [True, True] and acc(groups, expected.labels_) > 0.95
    sparse = [scipy.sparse.csr_matrix(x) for x in views]
    model = fit(sparse if kind == "sparse" else on_disk("npy", views), recipe)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.predict(views), model.labels_)


def test_the_number_of_clusters_and_the_score_see_the_lengths(monkeypatch):
    views, _ = two_views(answers, n=300)
    assert dmac.suggest_n_clusters(views, range(2, 8)).n_clusters == 3
    model = fit(views)
    seen = model.score(views)
    monkeypatch.setattr("dmac.model_selection._RECIPE", CLOSED_FORM_2026_11)
    assert seen > 0.4 > 0.2 > model.score(views)
    assert dmac.suggest_n_clusters(views, range(2, 8)).scores["gap"].max() < 0.05


def test_the_first_half_is_what_it_says():
    (x, _), _ = two_views(brightness, n=200)
    (found, _) = row_lengths([x, x[::-1]], root=False)
    u = x.mean(0) / np.linalg.norm(x.mean(0))
    length = x @ u
    expected = {
        "along": (length / np.linalg.norm(x, axis=1)).mean(),
        "share": length.var() / x.var(0).sum(),
        "shared": length.var() / (u**2 @ x.var(0)),
        "leads": length.var() / np.linalg.norm(x - np.outer(length, u), 2) ** 2 * len(x),
    }
    assert {name: getattr(found, name) for name in expected} == pytest.approx(expected)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.integers(0, 1000), st.integers(-300, 300), st.booleans())
def test_units_do_not_matter_and_noise_has_no_length(seed, exponent, signed):
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(60, 8)) if signed else rng.random((60, 8))
    (x, _), _ = two_views(brightness, n=60, seed=seed)
    for one, vary in ((x, True), (noise, False)):
        found, again = (row_lengths([factor * one])[0] for factor in (1.0, 2.0**exponent))
        assert found.vary is vary
        names = ("along", "share", "shared", "leads")
        np.testing.assert_allclose(*([getattr(y, k) for k in names] for y in (found, again)))


@pytest.mark.parametrize(
    "x",
    [
        np.zeros((40, 8)),
        np.ones((40, 8)),
        np.outer(np.arange(1.0, 41), np.ones(8)),
        np.outer(np.arange(1.0, 41), np.eye(8)[0]),
        np.vstack([1e300 * np.ones((20, 8)), 1e-300 * np.ones((20, 8))]),
        np.vstack([np.ones((20, 8)), np.zeros((20, 8))]),
    ],
)
def test_degenerate_views_are_judged_without_a_warning(x):
    for views in ([x], [x, x + 1], [x, np.random.default_rng(0).random((40, 9))]):
        assert all(isinstance(one.kept, bool) for one in row_lengths(views))


def test_what_was_not_looked_at_is_not_kept():
    nothing = RowLengths()
    assert not (nothing.vary or nothing.lost or nothing.kept)
    few = row_lengths([np.outer(np.arange(1.0, 21), np.ones(8)) + np.eye(20, 8)])
    assert few == [nothing] or np.isnan(few[0].directions)
