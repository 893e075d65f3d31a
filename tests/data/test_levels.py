"""The levels of a view: what each keeps, new samples, streams, and degenerate views."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from dmac.compute.files import leaves, tree_of
from dmac.data.checks import ArrayView
from dmac.data.levels import (
    LevelPipeline,
    Projection,
    ScaledColumns,
    agreement_of_halves,
    is_counts,
    moments,
)
from dmac.data.pipeline import ViewPipeline


def view(n=60, d=40, seed=0):
    rng = np.random.default_rng(seed)
    return np.abs(rng.normal(size=(n, 5)) @ rng.normal(size=(5, d)) + 0.1 * rng.normal(size=(n, d)))


def pipeline(levels="both", **changes):
    given = dict(root=True, levels=levels, n_components=6, ridge=0.03, plain_components=8)
    return LevelPipeline(**given | changes)


@pytest.mark.parametrize("n, d", [(60, 40), (2100, 30), (30, 2100), (5, 40)])
def test_projection_has_the_leading_singular_directions(n, d):
    x = np.random.default_rng(0).normal(size=(n, d))  # no gap in the spectrum helps
    found = Projection(7).fit(x).components_
    s = np.linalg.svd(x, compute_uv=False)[:7]
    np.testing.assert_allclose(found @ found.T, np.eye(len(s)), atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(x @ found.T, axis=0), s, rtol=1e-8)
    np.testing.assert_array_equal(found.max(1), abs(found).max(1))  # the sign


@pytest.mark.parametrize("sparse", [False, True])
def test_projection_of_a_wide_and_long_view_is_that_by_a_product(monkeypatch, sparse):
    x = scipy.sparse.csr_matrix(view(90, 70)) if sparse else view(90, 70)
    by_product = Projection(5).fit(x).transform(x)
    monkeypatch.setattr("dmac.data.linalg.GRAM", 10)
    by_passes = Projection(5).fit(x).transform(x)
    np.testing.assert_allclose(by_passes, by_product, atol=1e-6)


def test_projection_leaves_out_directions_that_are_not_there():
    of_rank_one = np.outer(np.arange(1.0, 31), np.arange(1.0, 21))
    for x in (of_rank_one, of_rank_one.T):
        assert Projection(4).fit(x).components_.shape == (1, x.shape[1])
        assert Projection(4).fit(0 * x).transform(0 * x).shape == (len(x), 0)


def test_narrow_view_stays_as_it_is():
    x = view(50, 6)
    np.testing.assert_array_equal(Projection(6).fit(x).transform(x), x)


def test_whitened_level_is_that_of_the_trained_recipe():
    x = view()
    made = pipeline()
    both = made.fit_transform(x)
    whitened = ViewPipeline(True, 6, 0.03).fit_transform(x)
    np.testing.assert_allclose(both[:, :6], whitened, atol=1e-9)  # that one takes no product
    assert made.widths_ == (6, 8) and made.n_features_out_ == 14
    np.testing.assert_allclose(np.linalg.norm(both[:, 6:], axis=1), 1)
    np.testing.assert_array_equal(pipeline("whitened").fit_transform(x), both[:, :6])
    np.testing.assert_array_equal(pipeline("plain").fit_transform(x), both[:, 6:])


@pytest.mark.parametrize("x, ridge", [(view(), 0.0), (view(20, 40), 0.03)])
def test_without_a_ridge_or_with_few_samples_no_digits_are_lost(x, ridge):
    found = pipeline("whitened", ridge=ridge).fit_transform(x)
    np.testing.assert_array_equal(found, ViewPipeline(True, 6, ridge).fit_transform(x))


def test_spread_is_half_the_mean_squared_distance_of_rows():
    x = view()
    made = pipeline()
    made.fit_transform(x)
    rows = np.sqrt(x) / np.linalg.norm(np.sqrt(x), axis=1, keepdims=True)
    pairs = ((rows[:, None] - rows[None]) ** 2).sum(2)
    assert made.spread_ == pytest.approx(pairs.mean() / 2)
    made.fit_transform(np.ones((20, 1)) @ np.arange(1.0, 31)[None])  # rows that are parallel
    assert made.spread_ == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("levels", ["whitened", "plain", "scaled", "both", "all"])
@pytest.mark.parametrize("sparse", [False, True])
def test_new_samples_and_saved_states(levels, sparse):
    x = scipy.sparse.csr_matrix(view()) if sparse else view()
    made = pipeline(levels)
    fitted = made.fit_transform(x)
    again = pipeline(levels).restore(tree_of(dict(leaves(made.state()))))
    for rows in (slice(None), slice(5, 8)):
        np.testing.assert_allclose(made.transform(x[rows]), fitted[rows], atol=1e-12)
        np.testing.assert_array_equal(again.transform(x[rows]), made.transform(x[rows]))
    assert (again.widths_, again.weights_) == (made.widths_, made.weights_)


def test_a_row_that_the_directions_hardly_see_stays_short():
    x = np.pad(np.random.default_rng(0).normal(size=(80, 3)), ((0, 0), (0, 27)))
    x[[7, 50]] = np.eye(30)[9] + 1e-9 * np.eye(30)[:2]
    made = pipeline("plain", plain_components=3)
    found = made.fit_transform(x)
    lengths, floor = np.linalg.norm(found, axis=1), made.lengths_["plain"].floor_
    assert 0.5e-6 < floor < 2e-6
    np.testing.assert_allclose(lengths[[7, 50]], 1e-9 / floor, rtol=0.1)
    np.testing.assert_allclose(np.delete(lengths, [7, 50]), 1)
    np.testing.assert_allclose(made.transform(x), found, atol=1e-12)


def test_of_one_direction_lengths_are_kept():
    made = pipeline(n_components=1, plain_components=1)
    x = view()
    found = made.fit_transform(x)
    assert made.widths_ == (1, 1)
    np.testing.assert_allclose(abs(found).max(0), 1)
    assert len(np.unique(found[:, 1])) > 50
    np.testing.assert_array_equal(made.transform(x), found)


@pytest.mark.parametrize(
    "x",
    [
        *(np.zeros((12, 5)), np.zeros((12, 30)), np.ones((12, 9)), np.eye(12)[:, :3]),
        *(
            np.ones((12, 1)),
            1.0 * (np.arange(12)[:, None] > 5),
            np.eye(12) * 1e-300,
            np.eye(12) * 1e300,
        ),
    ],
)
@pytest.mark.parametrize("levels", ["both", "all"])
def test_degenerate_views_stay_finite(x, levels):
    made = pipeline(levels, n_components=2, plain_components=2)
    found = made.fit_transform(x)
    assert np.isfinite(found).all() and found.shape == (12, made.n_features_out_)
    assert np.isfinite(made.transform(x + 1)).all()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("d", [3, 30])
def test_samples_that_lack_the_view_teach_nothing(sparse, d):
    x = np.random.default_rng(0).normal(size=(80, d)) + 2
    present = np.arange(80) % 4 > 0
    kind = scipy.sparse.csr_matrix if sparse else np.asarray
    part = ArrayView(kind(x * present[:, None]), present=present)
    whole, made = pipeline("all"), pipeline("all")
    found = made.fit_part(part)
    wanted = np.zeros_like(found)
    wanted[present] = whole.fit_transform(kind(x[present]))
    np.testing.assert_array_equal(found, wanted)
    assert made.spread_ == whole.spread_
    np.testing.assert_allclose(made.of_part(part), found, atol=1e-9)
    nothing = ArrayView(part.values, present=~np.ones(80, bool))
    assert not made.of_part(nothing).any() and not pipeline("all").fit_part(nothing).any()


def products(x):
    """Inner products of the rows of a scaled level, which no turn of its directions changes."""
    rows = ScaledColumns().fit(x).transform(x)
    return rows @ rows.T


@pytest.mark.parametrize("n, d, gram", [(200, 40, 99), (200, 80, 99), (60, 80, 99), (100, 90, 60)])
def test_scaled_level_is_that_of_scikit_learn(n, d, gram, monkeypatch):
    """By products of up to so many columns or rows, or by passes."""
    for module in ("levels", "linalg"):
        monkeypatch.setattr(f"dmac.data.{module}.GRAM", gram)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 35)) * np.linspace(9, 1, 35) @ rng.normal(size=(35, d)) + 4
    x[:, 2] = 7
    z = StandardScaler().fit_transform(x)
    rows = z if d <= 50 else PCA(30, svd_solver="full").fit_transform(z)
    wanted = rows @ rows.T / np.mean((rows**2).sum(1))
    np.testing.assert_allclose(products(x), wanted, atol=1e-6)
    np.testing.assert_allclose(products(scipy.sparse.csr_matrix(x)), wanted, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-300, 300), min_size=7, max_size=7), st.integers(0, 2**16))
def test_scaled_level_knows_no_units(powers, seed):
    x = np.random.default_rng(seed).normal(size=(25, 7)) + 3
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_allclose(products(x * 10.0 ** np.array(powers)), products(x), atol=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
def test_counts_are_brought_to_one_sum_and_logged(kind):
    counts = np.random.default_rng(0).poisson(2, size=(90, 60)).astype(float)
    made = ScaledColumns().fit(kind(counts))
    sums = counts.sum(1, keepdims=True)
    assert made.total_ == np.median(sums)
    logged = np.log1p(counts / sums * made.total_)
    found = made.transform(kind(counts))
    np.testing.assert_allclose(found @ found.T, products(logged), atol=1e-9)
    twice = made.transform(kind(2 * counts))  # a deeper count of the same sample
    np.testing.assert_allclose(twice, found, atol=1e-9)
    assert np.isfinite(made.transform(kind(-1e300 * counts))).all()


def test_what_is_taken_for_counts():
    wide, few = np.arange(60.0)[None].repeat(4, 0), np.arange(20.0).reshape(4, 5)
    assert is_counts(wide) and is_counts(np.eye(5)) and is_counts(scipy.sparse.eye(5, format="csr"))
    for x in (few, wide + 0.5, -wide, wide * 2.0**60):
        assert not is_counts(x)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("d", [30, 90])
def test_scaled_level_of_a_part_has_the_units_of_all(kind, d):
    x = np.random.default_rng(0).normal(size=(400, 35)) @ np.random.default_rng(1).normal(
        size=(35, d)
    )
    x += 1e6 if kind is np.asarray else 3  # digits that a sum of squares would lose
    all_of_it, blocks = (
        ScaledColumns().fit(kind(x)),
        [kind(x[i : i + 90]) for i in range(0, 400, 90)],
    )
    part = ScaledColumns().fit(kind(x[:150]), moments_of=lambda f: moments(map(f, blocks)))
    found, wanted = (one.transform(kind(x)) for one in (part, all_of_it))
    np.testing.assert_allclose(found @ found.T, wanted @ wanted.T, atol=1e-6)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
def test_halves_agree_as_far_as_they_span_the_same_directions(kind):
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 3))
    same = z @ rng.normal(size=(3, 40))
    assert agreement_of_halves(kind(same), 3) == pytest.approx(1)
    assert agreement_of_halves(kind(rng.normal(size=(300, 40))), 3) < 0.05
    # One direction of three is shared: the others of each half are noise.
    one = 100 * z[:, :1] @ np.ones((1, 40)) + rng.normal(size=(300, 40))
    assert agreement_of_halves(kind(one), 3) == pytest.approx(1 / 3, abs=0.05)
    assert agreement_of_halves(kind(np.ones((300, 40))), 3) == 0
    assert 0 <= agreement_of_halves(kind(rng.normal(size=(7, 8))), 5) <= 1
    assert agreement_of_halves(kind(np.ones((0, 8))), 1) == 0


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
def test_levels_weigh_what_halves_of_the_columns_tell_each_other(kind):
    rng, y = np.random.default_rng(0), np.arange(300) % 3
    answers = (3.0 + y[:, None] + 0.3 * rng.normal(size=(300, 12))).clip(0.1)  # one direction
    profiles = np.exp(0.5 * rng.normal(size=(300, 1)))  # lengths are a nuisance
    profiles = profiles * np.exp(rng.normal(size=(3, 12)))[y] * (1 + 0.1 * rng.random((300, 12)))
    for x, told, other in ((answers, "scaled", "plain"), (profiles, "plain", "scaled")):
        made, spread = pipeline("all", n_clusters=3, halves=True), pipeline("all", n_clusters=3)
        found, same = (one.fit_transform(kind(x)) for one in (made, spread))
        np.testing.assert_array_equal(found, same)  # only weights differ
        assert spread.weights_ == {"whitened": 1, "plain": made.spread_, "scaled": 1}
        ratio = {name: made.weights_[name] / spread.weights_[name] for name in made.weights_}
        assert ratio["whitened"] == pytest.approx(ratio["plain"])
        assert ratio[told] == pytest.approx(1) and 0 <= ratio[other] < 1
    few = pipeline("all", n_clusters=3, halves=True)
    few.fit_transform(answers[:, :5])
    assert few.weights_["whitened"] == few.weights_["scaled"] == 1
    alike = pipeline("all", n_clusters=3, halves=True)
    alike.fit_transform(np.ones((30, 8)))
    assert alike.weights_["whitened"] == alike.weights_["scaled"] == 1


def test_an_array_of_few_entries_is_taken_as_sparse():
    x = np.random.default_rng(0).poisson(0.03, size=(90, 700)).astype(float)
    x[:, 0] += 1
    dense = pipeline()
    rows = pipeline().fit_transform(scipy.sparse.csr_matrix(x))
    for found in (dense.fit_transform(x), dense.transform(x)):
        np.testing.assert_allclose(found, rows, atol=1e-8)
