"""The spectral recipe as the estimator runs it: planted clusters, new samples, disk, switches."""

import contextlib
import dataclasses

import numpy as np
import pytest
import scipy.sparse
from helpers import accuracy as acc
from helpers import planted as dense
from sklearn.exceptions import ConvergenceWarning

import dmac
from dmac.agc.averaged_graph import AveragedGraph
from dmac.agc.solver import SpectralSolver
from dmac.recipes import CLOSED_FORM, CLOSED_FORM_0_2

SMALL = dataclasses.replace(CLOSED_FORM, anchor_sets=4)


def planted(n=120, c=4, seed=0, noise=0.5):
    """Three views of c groups, one of them sparse counts."""
    views, labels = dense(n, c, (8, 150), 3, noise, seed)
    rng = np.random.default_rng(seed)
    rates = rng.gamma(0.3, 4.0, size=(c, 60))
    return [*views, scipy.sparse.csr_matrix(rng.poisson(rates[labels]).astype(float))], labels


def fit(views, recipe=SMALL, c=4, seed=0, **more):
    return dmac.AnchorGraphClustering(c, recipe, random_state=seed, device="cpu", **more).fit(views)


VARIANTS = {
    "as it is": {},
    "cut": dict(filter="cut"),
    "whitened": dict(levels="whitened"),
    "plain": dict(levels="plain"),
    "joint": dict(blocks="joint"),
    "views": dict(blocks="views"),
    "equal weights": dict(level_weight="equal"),
    "flat votes": dict(vote_rounds=2, vote_form="flat"),
    "filtered votes": dict(vote_rounds=1, vote_form="filtered"),
    "learned votes": dict(vote_form="learned"),
    "no votes": dict(vote_rounds=0),
    "two rounds": dict(vote_rounds=2),
    "guarded votes": dict(vote_rounds=1, guard=0.99),
    "votes refused": dict(vote_rounds=1, guard=1.0),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_planted_clusters_are_found_and_predicted(name, saved):
    views, labels = planted()
    seen, new = ([x[rows] for x in views] for rows in (slice(90), slice(90, None)))
    recipe = dataclasses.replace(SMALL, **VARIANTS[name])
    model = fit(seen, recipe)
    assert acc(labels[:90], model.labels_) > 0.95
    assert acc(labels[90:], model.predict(new)) > 0.9
    # Fitted samples are embedded as they were.
    np.testing.assert_array_equal(model.predict(seen), model.labels_)
    np.testing.assert_allclose(model.transform(seen), model.embedding_, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1, atol=1e-6)
    assert model.n_anchors_ == len(model.anchors_) == int(2 * np.sqrt(90 * 4))
    lengths = np.linalg.norm(model.anchors_, axis=1)  # of means of near rows of unit length
    assert 0.5 < lengths.min() <= lengths.max() < 1 + 1e-6
    again = saved(model)
    np.testing.assert_array_equal(again.transform(views), model.transform(views))
    np.testing.assert_array_equal(again.view_agreement_, model.view_agreement_)
    kept = model.recipe_, model.model_.stabilities
    assert (again.recipe_, again.model_.stabilities) == kept and again.recipe_ == recipe


def test_refused_votes_leave_the_first_stage():
    views = planted(noise=6.0)[0][:2]
    plain, refused, taken = (
        fit(views, dataclasses.replace(SMALL, **changes))
        for changes in (
            {"vote_rounds": 0},
            # A linear map loses what noise has left.
            {"vote_form": "learned", "guard": 1.0},
            {"vote_form": "learned", "guard": 0.0},
        )
    )
    before, after = refused.model_.stabilities
    assert after < before and len(plain.model_.stabilities) == 1
    assert [len(model.model_.stages) for model in (plain, refused, taken)] == [1, 1, 2]
    np.testing.assert_array_equal(refused.labels_, plain.labels_)
    np.testing.assert_array_equal(refused.embedding_, plain.embedding_)
    np.testing.assert_allclose(refused.transform(views), plain.transform(views))
    assert np.abs(taken.embedding_ - plain.embedding_).max() > 1e-3


def test_votes_that_are_as_stable_are_taken():
    halves = np.kron(np.eye(2), np.ones((10, 1))) / np.sqrt(10)  # a walk never leaves its half
    graph = AveragedGraph(scipy.sparse.csr_matrix(halves))
    good, bad = (np.arange(20) // k % 2 for k in (10, 1))
    solver = SpectralSolver(dataclasses.replace(SMALL, guard=1.0))
    for labels, taken in (([good, good], 1), ([good, bad], 0), ([bad, good], 1), ([good], 0)):
        assert solver.guard(graph, labels)[0] == taken


def test_a_view_of_noise_is_named():
    views, labels = planted()
    model = fit([*views, np.random.default_rng(5).normal(size=(120, 30))])
    agreement = model.view_agreement_
    assert agreement.shape == (4,) and agreement.argmin() == 3
    assert 0 < agreement.min() <= agreement.max() <= 1 + 1e-9
    assert acc(labels, model.labels_) > 0.95


def test_degenerate_views_stay_finite():
    views, _ = planted(60)
    for extra in (np.ones((60, 5)), np.zeros((60, 3)), np.full((60, 1), 2.0)):
        one = pytest.warns() if extra.shape[1] == 1 else contextlib.nullcontext()
        with np.errstate(all="raise"), one:
            assert np.isfinite(fit([*views, extra]).embedding_).all()
    for recipe in (SMALL, dataclasses.replace(SMALL, levels="plain")):  # all spreads are 0
        with pytest.warns(ConvergenceWarning, match="1 of 3 .* there is only 1 distinct sample"):
            same = fit([np.ones((30, 4)), np.ones((30, 6))], recipe, c=3)
        assert np.isfinite(same.embedding_).all() and set(same.labels_) <= {0, 1, 2}


@pytest.mark.parametrize(
    "blocks, first, second",
    [("both", 60, 30), ("both", 100, 60), ("views", 60, 30), ("joint", 60, 30)],
)
def test_samples_that_lack_views_are_found_by_the_others(blocks, first, second):
    views, labels = planted(n=240)
    lacking = np.random.default_rng(1).permutation(240)[: first + second]
    views[0][lacking[:first]] = 0
    views[1][lacking[first:]] = 0
    model = fit(views, dataclasses.replace(SMALL, blocks=blocks))
    assert acc(labels, model.labels_) > 0.95
    assert acc(labels[lacking], model.labels_[lacking]) > 0.9
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    assert model.model_.missing.tolist() == [first, second, 0]
    assert (model.model_.completion is not None) == (first == 100)  # fewer than half are whole
    # The others have edges of their own: rows of zeros tie nobody together.
    alone = fit([views[0], views[2]], dataclasses.replace(SMALL, blocks="views", vote_rounds=0))
    assert len(np.unique(alone.labels_[lacking[:first]])) > 1


def rare(seed, n=2000, small=40, distance=20, widths=(10, 20)):
    """Two views of one large group around the origin, and a small one far off."""
    rng = np.random.default_rng(seed)
    labels = (rng.permutation(n) < small).astype(int)
    directions = [z / np.linalg.norm(z) for z in (rng.normal(size=d) for d in widths)]
    views = [distance * np.outer(labels, z) + rng.normal(size=(n, len(z))) for z in directions]
    return views, labels


@pytest.mark.parametrize("seed", range(5))
def test_a_far_group_of_two_in_a_hundred_is_kept(seed, saved):
    views, labels = rare(seed)
    model = fit(views, CLOSED_FORM_0_2, 2, seed)  # without a warning: no view decides alone
    assert dmac.scores(labels, model.labels_)["ari"] > 0.9 and model.model_.cut
    three = fit(views, CLOSED_FORM, 2, seed)  # a level in which lengths count holds it, too
    assert dmac.scores(labels, three.labels_)["ari"] > 0.9
    again = saved(model)
    np.testing.assert_array_equal(again.transform(views), model.transform(views))
    for one in (model, again):
        assert (one.predict(views) == model.labels_).mean() > 0.999
        np.testing.assert_array_equal(one.predict([x[::9] for x in views]), one.predict(views)[::9])


def test_where_no_group_is_lost_the_filter_stays():
    views, labels = planted()
    model = fit(views)
    assert not model.model_.cut and acc(labels, model.labels_) > 0.95
    cut = fit(rare(0)[0], dataclasses.replace(SMALL, filter="cut", vote_rounds=0), 2)
    assert not cut.model_.cut  # it is the cut by itself
