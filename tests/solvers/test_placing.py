"""A part of many samples is fitted, and all are placed: as new samples are, from anywhere."""

import dataclasses
from unittest.mock import Mock, patch

import numpy as np
import pytest
import scipy.sparse
import torch
from helpers import accuracy as acc
from helpers import planted as in_double

import dmac
from dmac import estimators
from dmac.agc.solver import SpectralSolver
from dmac.data import checks
from dmac.data.checks import as_views
from dmac.data.levels import LevelPipeline
from dmac.recipes import CLOSED_FORM
from dmac.solvers import placing
from dmac.solvers.preparing import prepare

PART = dataclasses.replace(CLOSED_FORM, fit_samples=150, fit_of_cluster=0)


def planted(n=600):
    """Three views of c groups in random order, in single precision."""
    views, labels = in_double(n, 3, (8, 12, 3), 3, 1)
    return [x.astype(np.float32) for x in views], labels


def fit(views, recipe=PART, c=3, **given):
    return dmac.AnchorGraphClustering(c, recipe, random_state=0, device="cpu").fit(views, **given)


@pytest.mark.parametrize(
    "n, c, changes, fitted",
    [
        (300, 10, {}, 300),
        (20_000, 10, {}, 20_000),
        (10**6, 10, {}, 20_000),
        (30_000, 100, {}, 30_000),
        (10**6, 100, {}, 80_000),
        (10**6, 10, {"fit_samples": None}, 10**6),
        (1000, 10, {"fit_samples": 50, "fit_of_cluster": 0}, 50),
    ],
)
def test_how_many_are_fitted(n, c, changes, fitted):
    recipe = dataclasses.replace(CLOSED_FORM, **changes)
    assert SpectralSolver(recipe).plan(n, (9,), c).n_fitted == fitted


def test_all_samples_are_placed_as_new_ones_are(saved, monkeypatch):
    monkeypatch.setitem(placing._ROWS, "cpu", 70)
    views, labels = planted()
    model = fit(views)
    assert acc(labels, model.labels_) > 0.98
    assert len(model.embedding_) == 600 and model.embedding_.dtype == np.float32
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    np.testing.assert_array_equal(model.transform(views).astype(np.float32), model.embedding_)
    np.testing.assert_array_equal(model.predict([x[40:55] for x in views]), model.labels_[40:55])
    again = saved(model)
    for labels in (again.labels_, again.predict(views)):
        np.testing.assert_array_equal(labels, model.labels_)
    assert again.model_.linear is not None
    assert np.isfinite(model.view_agreement_).all() and model.support_of_others_.min() > 0.2


def test_up_to_the_limit_nothing_is_placed():
    views, _ = planted(150)
    one, other = fit(views), fit(views, dataclasses.replace(PART, fit_samples=None))
    np.testing.assert_array_equal(one.embedding_, other.embedding_)
    assert one.model_.linear is None


@pytest.mark.parametrize("kind", ["npy", "h5", "zarr"])
def test_views_on_disk_give_what_those_in_memory_give(kind, on_disk, monkeypatch):
    monkeypatch.setattr(checks, "_NUMBERS", 500)
    views, _ = planted()
    views[1][[3, 500]] = np.nan
    expected = fit(views)
    views = on_disk(kind, views)
    model = fit(views)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_allclose(model.embedding_, expected.embedding_, atol=1e-5)
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    np.testing.assert_array_equal(model.n_missing_, [0, 2, 0])


def test_a_part_and_blocks_are_all_that_is_read_of_a_view_in_memory(monkeypatch):
    monkeypatch.setattr(checks, "_NUMBERS", 800)
    original = checks.ArrayView.part
    with patch.object(checks.ArrayView, "part", autospec=True, side_effect=original) as read:
        fit(planted()[0])
    slices = [rows for (_, rows), _ in read.call_args_list if isinstance(rows, slice)]
    assert max(rows.stop - rows.start for rows in slices) <= 800 // 3


def test_narrow_views_and_sparse_ones_and_samples_that_lack_some():
    views, labels = planted()
    views[1] = scipy.sparse.csr_matrix(np.where(views[1] > 0, views[1], 0))
    views.append(views[0][:, :2])
    rng, present = np.random.default_rng(1), np.ones((600, 4), bool)
    for a in (0, 1):  # and so few are whole that views are filled in
        present[rng.permutation(600)[:250], a] = False
    model = fit(views, present=present)
    assert model.model_.completion is not None and model.model_.weights is not None
    assert acc(labels, model.labels_) > 0.95
    np.testing.assert_array_equal(model.predict(views, present=present), model.labels_)
    assert (model.n_missing_[:2] == 250).all() and 0 < model.score(views, present=present) < 1


def test_samples_that_are_zero_are_counted_among_all():
    kept = ~np.isin(np.arange(600), [9, 400])[:, None]
    with pytest.warns(
        UserWarning, match="2 of 600 samples are zero in every view .the first is row 9"
    ):
        fit([kept * x for x in planted()[0][:2]])


def test_the_score_of_many_samples_is_that_of_a_part_of_them(monkeypatch, on_disk):
    views, _ = planted()
    model = fit(views)
    whole = model.score(views)
    few = dataclasses.replace(CLOSED_FORM, fit_samples=300, fit_of_cluster=0)
    monkeypatch.setattr(estimators, "CLOSED_FORM", few)
    part = model.score(views)
    assert part != whole and abs(part - whole) < 0.1
    assert model.score(on_disk("npy", views)) == pytest.approx(part)


def test_samples_without_any_view_and_entries_that_lack_are_refused_before_the_fit():
    views, _ = planted()
    for x in views:
        x[7] = np.nan
    with pytest.raises(ValueError, match="sample 7 lacks all views"):
        fit(views)
    views[0][7, 0] = 1.0
    with pytest.raises(ValueError, match="view 1 has NaN or infinite"):
        fit(views)


def of_whole_and_part(x, order):
    """The pipelines of a view that is fitted, and of one of which some samples are."""
    whole, part = (LevelPipeline(True, "all", 3, 0.03, 4) for _ in range(2))
    (view,) = as_views([x])
    whole.fit_part(view)
    prepare([view], [part], order, torch.device("cpu"), torch.float64)
    return whole, part


def test_wide_sparse_views_get_their_directions_from_all_samples():
    rng = np.random.default_rng(0)
    x = scipy.sparse.random(90, 2100, 0.02, "csr", rng=rng)
    whole, part = of_whole_and_part(x, rng.permutation(90)[:40])
    for name in ("whitened", "plain"):
        own, of_all = (p.heads_[name].components_ for p in (part, whole))
        np.testing.assert_allclose(abs((own * of_all).sum(1)), 1, atol=1e-3)
    # Units of all samples, of columns that are not constant in the part.
    own, of_all = (p.scaled_.units_ for p in (part, whole))
    assert (own > 0).sum() > 1000
    np.testing.assert_allclose(
        (own * np.ldexp(1.0, -part.scaled_.exponent_))[own > 0],
        (of_all * np.ldexp(1.0, -whole.scaled_.exponent_))[own > 0],
    )


def test_narrow_views_get_their_directions_from_the_moments_of_all(monkeypatch):
    x = np.abs(np.random.default_rng(0).normal(size=(90, 7)))
    x[:5] = 0
    monkeypatch.setattr("dmac.solvers.preparing._ROWS", 16)
    whole, part = of_whole_and_part(x, np.arange(10, 50))
    np.testing.assert_allclose(part.spread_, whole.spread_, rtol=1e-9)
    for name in ("mean_", "components_", "scale_"):
        own, of_all = (getattr(p.heads_["whitened"], name) for p in (part, whole))
        np.testing.assert_allclose(own, of_all, rtol=1e-6, atol=1e-9)
    own, of_all = (p.scaled_.transform(x) for p in (part, whole))
    np.testing.assert_allclose(own, of_all, atol=1e-9)


@pytest.mark.parametrize("votes", [0, 1, 2])
def test_a_few_anchor_sets_without_votes_estimate_the_rows_of_all(votes, generator, monkeypatch):
    recipe = dataclasses.replace(PART, vote_rounds=votes, guard=0.0, n_anchors=40, anchor_sets=6)
    views = as_views([x[:150] for x in planted()[0]])
    plan = SpectralSolver(recipe).plan(150, [x.shape[1] for x in views], 3)
    prepared = prepare(
        views,
        plan.pipelines,
        np.arange(150),
        torch.device("cpu"),
        torch.float64,
    )
    outcome = SpectralSolver(recipe).solve(prepared, plan, generator)
    model, z = outcome.model, outcome.model.embed_new(prepared.views, prepared.present)[0]
    assert len(model.stages) == 1 + votes
    monkeypatch.setattr("dmac.agc.model._LINEAR", 0.0)
    few = model.of_part(prepared.views, outcome.z)
    (stage,) = few.stages
    assert not stage.ballots and [len(s.u) for s in stage.base] == 3 * [2] + 9 * [1]
    assert (few.embed_new(prepared.views, prepared.present)[0] * z).sum(1).mean() > 0.9
    # Every graph keeps the constant vector, and that without votes is a third of a graph with two.
    constant = (3 if votes else 1) ** -0.5 / 150**0.5
    np.testing.assert_allclose(
        few.samples(prepared.views, prepared.present)[2][:, 0], constant, rtol=1e-6
    )
    monkeypatch.setattr("dmac.agc.model._FEWER", 1)
    all_sets = model.of_part(prepared.views, outcome.z).embed_new(prepared.views, prepared.present)[
        0
    ]
    assert (all_sets * z).sum(1).mean() > (0.95 if votes else 1 - 1e-12)


def test_the_linear_map_helps_where_samples_say_little_and_costs_rings_nothing(monkeypatch):
    """Every ring is in a plane of its own, in each view another one, about one centre."""
    rng = np.random.default_rng(0)
    recipe = dataclasses.replace(PART, fit_samples=600)
    labels, rings = rng.integers(4, size=1200), []
    for _ in range(3):
        angle = 2 * np.pi * rng.random(1200)
        planes = np.stack([np.linalg.qr(rng.normal(size=(10, 2)))[0] for _ in range(4)])
        x = np.einsum("nij,nj->ni", planes[labels], np.column_stack([np.cos(angle), np.sin(angle)]))
        rings.append(x + 0.05 * rng.normal(size=x.shape))
    model = fit(rings, recipe, 4)
    assert acc(labels, model.labels_) > 0.99 and model.model_.linear is None
    noisy, labels = in_double(1200, 4, (12, 12, 12), 1, 1.8)
    model = fit(noisy, recipe, 4)
    assert model.model_.linear is not None
    monkeypatch.setattr("dmac.agc.model._LINEAR", 0.0)
    assert acc(labels, model.labels_) > acc(labels, model.predict(noisy))


@pytest.mark.parametrize(("stable", "mapped"), [([0.5, 0.4], False), ([0.005, 0.004], True)])
def test_a_walk_that_forgets_nearly_all_does_not_judge_the_linear_map(stable, mapped, monkeypatch):
    monkeypatch.setattr(SpectralSolver, "guard", lambda *_: (0, stable))
    assert (fit(planted()[0]).model_.linear is not None) == mapped


def test_an_interrupt_leaves_the_estimator_as_it_was(monkeypatch):
    views, _ = planted()
    model = fit([x[:150] for x in views])
    before = model.labels_
    monkeypatch.setattr(placing.NearestCenter, "__call__", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        model.fit(views)
    assert model.labels_ is before and len(model.embedding_) == 150
