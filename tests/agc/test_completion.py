"""Samples that lack views: closed forms, invariants of the input, accuracy, prediction."""

import dataclasses
import functools
import re
import warnings

import numpy as np
import pytest
import scipy.sparse
import torch
from helpers import accuracy as acc
from helpers import planted, where
from sklearn.metrics import adjusted_rand_score

import dmac
from dmac.agc.completion import (
    Completion,
    fill_in,
    fit_completion,
    is_needed,
    ridge_map,
    shrunken_svd,
    warn_of_patterns,
    with_graphs,
)
from dmac.recipes import CLOSED_FORM
from experiments.incomplete import random_pattern

WIDTHS = (4, 3, 5)


mask = functools.partial(random_pattern, seed=0)


def fit(views, c=4, recipe="closed_form", seed=0, **given):
    return dmac.AnchorGraphClustering(c, recipe, random_state=seed, device="cpu").fit(
        views, **given
    )


@pytest.fixture
def levels(generator):
    draw = functools.partial(torch.randn, generator=generator, dtype=torch.float64)
    common = draw(60, 2)
    return [common @ draw(2, width) + 0.1 * draw(60, width) + 0.5 for width in WIDTHS]


@pytest.fixture
def present():
    return mask(60, 3, 0.4)


@pytest.fixture
def zeroed(levels, present):
    """The levels with zeros in place of what is missing."""
    return [x * torch.as_tensor(present[:, [a]]) for a, x in enumerate(levels)]


def test_with_nothing_missing_it_is_the_singular_value_decomposition(levels):
    whole = torch.cat(levels, 1).numpy()
    _, s, vt = np.linalg.svd(whole - whole.mean(0), full_matrices=False)
    everywhere = np.ones((60, 3), bool)
    found = shrunken_svd(levels, everywhere, 2)
    np.testing.assert_allclose(found.mean, whole.mean(0))
    np.testing.assert_allclose(abs(found.components.T @ vt[:2].T), np.eye(2), atol=1e-9)
    np.testing.assert_allclose(found.kept, np.minimum(1 - s[2] ** 2 / s[:2] ** 2, 0.999))
    np.testing.assert_allclose(
        found.scores(levels, everywhere), (whole - whole.mean(0)) @ found.components
    )
    found = shrunken_svd([torch.arange(5.0)[:, None]], np.ones((5, 1), bool), 1)
    assert (found.mean, found.components, found.kept) == (2, 1, 0.999)


def test_it_begins_with_the_mean_of_what_is_there(zeroed, levels, present):
    whole = np.where(np.repeat(present, WIDTHS, axis=1), np.hstack(levels), np.nan)
    found = shrunken_svd(zeroed, present, 2, rounds=0)
    np.testing.assert_allclose(found.mean, np.nanmean(whole, axis=0))


def test_scores_are_the_fixed_point_of_filling_in(zeroed, levels, present):
    found = shrunken_svd(zeroed, present, 2)
    t = found.scores(zeroed, present)
    x = found.filled(zeroed, present, t)
    np.testing.assert_allclose((x - found.mean) @ found.components, t, atol=1e-9)
    there = np.repeat(present, WIDTHS, axis=1)
    np.testing.assert_array_equal(x[there], torch.cat(levels, 1).numpy()[there])


def test_a_rank_beyond_the_columns_stays_finite():
    views = [torch.full((20, 1), value, dtype=torch.float64) for value in (1, 0)]
    present = mask(20, 2, 0.5)
    found = shrunken_svd(views, present, 9)
    assert found.components.shape == (2, 1)
    assert np.isfinite(found.scores(views, present)).all()


def test_the_map_solves_the_ridge_problem(levels, present):
    f = np.random.default_rng(1).normal(size=(60, 6))
    there = present[:, 1]
    found = ridge_map(f, levels[1], there, 0.1)
    weight = 0.1 * (f[there] ** 2).sum() / 6
    stacked = np.vstack([f[there], np.sqrt(weight) * np.eye(6)])  # least squares, dense
    right = np.vstack([levels[1].numpy()[there], np.zeros((6, WIDTHS[1]))])
    np.testing.assert_allclose(found, np.linalg.lstsq(stacked, right, rcond=None)[0], atol=1e-9)


def test_maps_start_from_eigenvectors_scores_of_unit_length_and_one_1(zeroed, present):
    phi = np.random.default_rng(2).normal(size=(60, 3))
    found, maps = fit_completion(zeroed, WIDTHS, present, phi, 2)
    t = found.scores(zeroed, present)
    f = np.hstack([phi, t / np.linalg.norm(t, axis=1, keepdims=True), np.ones((60, 1))])
    for weight, x, there in zip(maps, zeroed, present.T, strict=True):
        np.testing.assert_allclose(weight, ridge_map(f, x, there), atol=1e-9)


def test_what_is_there_stays_as_it_is(zeroed, present):
    maps = [np.full((1, width), 0.25) for width in WIDTHS]
    filled = fill_in(zeroed, present, np.ones((60, 1)), maps)
    for x, before, there in zip(filled, zeroed, present.T, strict=True):
        np.testing.assert_array_equal(x, np.where(there[:, None], before, 0.25))
        assert (before[~there] == 0).all()


def test_a_view_that_no_fitted_sample_has_counts_as_present(zeroed, present):
    views, phi = [*zeroed, torch.ones(60, 2).double()], np.ones((60, 1))
    silent = np.array([False, False, False, True])
    known = np.insert(present, 3, True, axis=1)
    found = fit_completion([*zeroed, 0 * views[3]], (*WIDTHS, 2), known, phi, 2)
    made = Completion(np.ones(1), np.ones((1, 1)), *found, ~silent, silent)
    filled = made.filled(views, np.insert(present, 3, False, axis=1), phi)
    torch.testing.assert_close(filled[3], views[3], rtol=0, atol=0)
    assert all(x.any(1).all() for x in filled)


def test_it_begins_where_fewer_than_half_of_the_samples_are_whole():
    present = np.ones((100, 3), bool)
    present[:50, 1] = False
    assert not is_needed(present)
    present[50, 2] = False
    assert is_needed(present)
    assert with_graphs(present, 24).tolist() == [True, True, True]  # 2 (k + 1) samples
    assert with_graphs(present, 25).tolist() == [True, False, True]


def test_with_enough_whole_samples_nothing_is_filled_in():
    views, _ = planted()
    for given in (views, where(views, mask(300, 3, 0.1), 0)):
        assert fit(given).model_.completion is None
    for blocks in ("joint", "views"):  # ablations
        recipe = dataclasses.replace(CLOSED_FORM, blocks=blocks)
        half = where(views, mask(300, 3, 0.5), 0)
        assert fit(half, recipe=recipe).model_.completion is None
    assert fit(half).model_.completion is not None


@pytest.fixture(scope="module")
def half():
    """Views, classes, the mask of a half, and a fit."""
    views, classes = planted()
    present = mask(300, 3, 0.5)
    return views, classes, present, fit(where(views, present, np.nan))


SAME = {
    "zeros": lambda x, p: (where(x, p, 0), None),
    "a mask": lambda x, p: (x, p),
    "a mask and 1e9": lambda x, p: (where(x, p, 1e9), p),
    "a mask and infinity": lambda x, p: (where(x, p, np.inf), p.astype(int).tolist()),
    "a mask and NaN": lambda x, p: (where(x, p, np.nan), torch.as_tensor(p)),
    "a mask and some NaN": lambda x, p: (
        [np.where(p[:, [a]] | (np.arange(y.shape[1]) > 2), y, np.nan) for a, y in enumerate(x)],
        p,
    ),
    "a mask of one view, NaN in the others": lambda x, p: (
        [x[0], *where(x, p, np.nan)[1:]],
        np.column_stack([p[:, 0], np.ones((300, 2), bool)]),
    ),
    "lists with None": lambda x, p: (
        [[y.tolist() if there else None for y, there in zip(z, p[:, a])] for a, z in enumerate(x)],
        None,
    ),
    "masked arrays": lambda x, p: (
        [np.ma.array(y, mask=~np.broadcast_to(p[:, [a]], y.shape)) for a, y in enumerate(x)],
        None,
    ),
    "sparse": lambda x, p: ([scipy.sparse.csr_array(y) for y in where(x, p, 0)], None),
    "sparse, NaN": lambda x, p: ([scipy.sparse.csr_array(y) for y in where(x, p, np.nan)], None),
    "sparse, a mask": lambda x, p: ([scipy.sparse.csr_array(y) for y in where(x, p, 7)], p),
    "tensors": lambda x, p: ([torch.as_tensor(y) for y in where(x, p, np.nan)], None),
}


@pytest.mark.parametrize("way", SAME)
def test_every_way_to_say_it_means_the_same(half, way):
    views, _, present, model = half
    given, said = SAME[way](views, present)
    copies = [x.copy() if hasattr(x, "copy") else x for x in given]
    again = fit(given, present=said)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.n_missing_, (~present).sum(0))
    np.testing.assert_array_equal(model.predict(given, present=said), model.labels_)
    for x, before in zip(given, copies):  # the input is not touched
        if isinstance(x, np.ndarray):
            np.testing.assert_array_equal(np.asarray(x), np.asarray(before))


def test_arrays_on_disk(half, on_disk):
    views, _, present, model = half
    for value, said in ((np.nan, None), (0, None), (5, present)):
        given = on_disk("npy", where(views, present, value))
        found = fit(given, present=said)
        assert adjusted_rand_score(found.labels_, model.labels_) > 0.95  # sums in another order
        np.testing.assert_array_equal(found.n_missing_, (~present).sum(0))
        np.testing.assert_array_equal(found.predict(given, present=said), found.labels_)


@pytest.mark.parametrize(("rate", "seed"), [(0.3, 1), (0.5, 0), (0.5, 4), (0.6, 2)])
def test_orders_do_not_matter(rate, seed):
    views, _ = planted(noise=0.5)
    given = where(views, mask(300, 3, rate, seed=seed), np.nan)
    model = fit(given)
    order = np.random.default_rng(3).permutation(300)
    assert adjusted_rand_score(fit([x[order] for x in given]).labels_, model.labels_[order]) > 0.9
    turned = fit(given[::-1])
    assert adjusted_rand_score(turned.labels_, model.labels_) > 0.9
    np.testing.assert_array_equal(turned.n_missing_, model.n_missing_[::-1])


@pytest.mark.filterwarnings("ignore:.*samples have all views")
@pytest.mark.filterwarnings("ignore:the clusters go with")  # those of the zeros do
def test_it_is_far_ahead_of_zeros(monkeypatch):
    """Numerals in six views, an eighth of them, of which hardly one is whole."""
    data = dmac.load("mfeat")
    present = mask(250, 6, 0.7)
    present[present.all(1), 0] = False
    given = where([x[::8] for x in data.views], present, 0)
    filled = fit(given, 10)
    assert filled.model_.completion is not None
    monkeypatch.setattr("dmac.agc.solver.is_needed", lambda present: False)
    zeros = fit(given, 10)
    assert zeros.model_.completion is None
    accs = [acc(data.labels[::8], model.labels_) for model in (filled, zeros)]
    assert accs[0] > accs[1] + 0.25


@pytest.mark.filterwarnings("ignore:the clusters go with")
def test_new_samples_with_patterns_that_no_fitted_one_had(saved):
    views, classes = planted(600, noise=0.5)
    present = mask(400, 3, 0.5)
    present[present.sum(1) == 2] = [True, True, False]  # of pairs only this one
    known = [x[:400] for x in views]
    model = fit(where(known, present, np.nan))
    assert model.model_.completion is not None
    np.testing.assert_array_equal(model.predict(known, present=present), model.labels_)
    new = [x[400:] for x in views]
    again = saved(model)
    np.testing.assert_array_equal(again.n_missing_, (~present).sum(0))
    fitted = acc(classes[:400], model.labels_)
    for pattern in ([1, 1, 1], [0, 1, 1], [1, 0, 1]):
        said = np.tile(np.array(pattern, bool), (200, 1))
        labels = model.predict(new, present=said)
        np.testing.assert_array_equal(again.predict(new, present=said), labels)
        assert acc(classes[400:], labels) > fitted - 0.05
    # A sample's label does not depend on those beside it.
    said = mask(200, 3, 0.5, seed=9)
    alone = [model.predict([x[i : i + 1] for x in new], present=said[i : i + 1]) for i in range(9)]
    np.testing.assert_array_equal(np.concatenate(alone), model.predict(new, present=said)[:9])


@pytest.mark.filterwarnings("ignore:.*samples have all views")
def test_a_view_that_hardly_any_sample_has():
    views, classes = planted()
    present = mask(300, 3, 0.4)
    present[:, 2] = np.arange(300) < 3
    present[~present.any(1), 0] = True
    given = where(views, present, np.nan)
    with pytest.warns(UserWarning, match="view 3 has 3 samples, fewer than the 4 clusters"):
        warnings.filterwarnings("ignore", "(the clusters go|.*entries of view)")
        model = fit(given)
    assert model.model_.completion.own.tolist() == [True, True, False]
    assert np.isnan(model.view_agreement_[2]) and (model.view_agreement_[:2] > 0).all()
    np.testing.assert_array_equal(model.predict(given), model.labels_)
    assert acc(classes, model.labels_) > 0.8


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (np.ones((59, 3), bool), r"as \(60, 3\): it has the shape \(59, 3\)"),
        (np.ones((60, 2), bool), r"as \(60, 3\): it has the shape \(60, 2\)"),
        (np.full((60, 3), 2), "must hold True where a sample has a view"),
        (np.full((60, 3), "yes"), "could not convert string"),
        ([[True] * 3] * 59 + [[True]], r"present must hold .*, as \(60, 3\): setting"),
    ],
    ids=["too few samples", "too few views", "numbers", "words", "a ragged one"],
)
def test_a_mask_that_does_not_fit_is_refused(said, message):
    with pytest.raises(ValueError, match=message):
        fit(planted(60)[0], present=said)


@pytest.mark.parametrize("kind", [dmac.DMAC, dmac.peers.LMVSC])  # as all systems beside it
def test_the_others_say_so(kind):
    views = where(planted(60)[0], mask(60, 3, 0.3), np.nan)
    with pytest.raises(ValueError, match="row is NaN, and only dmac.AnchorGraphClustering"):
        kind(4).fit(views)


def test_warnings_where_the_clusters_are_doubtful():
    labels = np.random.default_rng(0).integers(3, size=200)
    present = mask(200, 2, 0.5)
    rare = np.column_stack([present, np.arange(200) < 2])
    for has, words in (
        (np.column_stack([labels != 0, labels != 1]), ["what is missing.*information is 1.00"]),
        (present & ~(present.all(1, keepdims=True) & [True, False]), ["0 of 200 samples have all"]),
        (
            rare,
            ["have all views, fewer than 12", "view 3 has 2 samples, fewer than the 3 clusters"],
        ),
        (mask(200, 2, 0.3), []),
        (np.ones((200, 2), bool), []),
        (labels[:, None] > 0, []),  # one view: nothing stands for it
    ):
        with warnings.catch_warnings(record=True, action="always") as said:
            warn_of_patterns(has, labels, 3, 5, ["view 1", "view 2", "view 3"])
        assert len(said) == len(words)
        assert all(re.search(w, str(one.message)) for w, one in zip(words, said))


def test_memberships_score_and_the_number_of_clusters(half):
    views, _, present, model = half
    given = where(views, present, np.nan)
    np.testing.assert_allclose(model.membership_.sum(1), 1, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(given), model.membership_, atol=1e-6)
    assert model.score(given) == model.score(views, present=present) > 0.2
    assert dmac.suggest_n_clusters(given, range(2, 9)).n_clusters == 4


@pytest.mark.filterwarnings("ignore:the clusters go with what is missing")
def test_zeros_that_were_measured_make_a_group():
    """Counts of which one group has none, beside a view that hardly tells it."""
    rng, classes = np.random.default_rng(0), np.arange(120) % 3
    rates = 3 * rng.gamma(0.5, 1, (3, 12)) * (np.arange(3)[:, None] > 0)
    counts = rng.poisson(rates[classes]).astype(float)
    counts[(classes > 0) & ~counts.any(1), 0] = 1
    other = rng.normal(size=(3, 8))[classes] * 0.5 + rng.normal(size=(120, 8))
    views, present = [other, counts], np.ones((120, 2), bool)
    model = fit(views, 3, present=present)
    assert model.n_missing_.tolist() == [0, 0] and fit(views, 3).n_missing_.tolist() == [0, 40]
    assert dmac.scores(classes, model.labels_)["acc"] > 0.9
    np.testing.assert_array_equal(model.predict(views, present=present), model.labels_)
