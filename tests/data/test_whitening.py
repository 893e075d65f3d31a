"""Row normalisation and whitening."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from dmac.data.whitening import LiftedRows, RowNormalizer, Whitening, normalize_rows

X = np.arange(12.0).reshape(4, 3)
quick = settings(max_examples=60, deadline=None, derandomize=True)


# --- row normalisation

matrices = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 8), st.integers(1, 6)),
    elements=st.floats(-1e300, 1e300) | st.floats(-1, 1) | st.just(0.0),
)


@quick
@given(matrices)
def test_rows_have_unit_length_or_stay_below(x):
    normalizer = RowNormalizer()
    out = normalizer.fit_transform(x)
    assert normalizer.floor_ > 0 and isinstance(normalizer.floor_, float)
    norms, scale = np.linalg.norm(out, axis=1), np.abs(x).max(1)
    assert (norms <= 1 + 1e-12).all()  # and finite
    np.testing.assert_allclose(norms[scale > normalizer.floor_], 1, rtol=1e-12)
    sparse = normalizer.transform(scipy.sparse.csr_matrix(x))
    assert type(sparse) is scipy.sparse.csr_matrix
    np.testing.assert_allclose(sparse.toarray(), out, rtol=1e-14, atol=0)


@quick
@given(hnp.arrays(np.float64, (5, 3), elements=st.floats(0.1, 10)), st.integers(-900, 900))
def test_row_normalisation_does_not_see_the_scale(x, exponent):
    np.testing.assert_array_equal(normalize_rows(x), normalize_rows(np.ldexp(x, exponent)))
    expected = x / np.linalg.norm(x, axis=1, keepdims=True)
    np.testing.assert_allclose(normalize_rows(x), expected, rtol=1e-15)


def test_near_zero_rows_are_not_promoted():
    x = np.array([[3.0, 4.0], [0.0, 0.0], [3e-17, 4e-17], [30.0, 40.0], [0.6, 0.8]])
    normalizer = RowNormalizer().fit(x)
    assert normalizer.floor_ == pytest.approx(1e-6 * 3.0)  # median of 5, 5e-17, 50, 1
    expected = [[0.6, 0.8], [0, 0], [1e-11, 4e-17 / 3e-6], [0.6, 0.8], [0.6, 0.8]]
    np.testing.assert_allclose(normalizer.transform(x), expected, rtol=1e-12)
    new = normalizer.transform(np.array([[3e-6, 4e-6], [1.5e-6, 0.0]]))  # on both sides of it
    np.testing.assert_allclose(new, [[0.6, 0.8], [0.5, 0.0]], rtol=1e-12)
    assert RowNormalizer().fit(np.zeros((3, 2))).floor_ == 1.0


# --- whitening


@pytest.mark.parametrize("shape", [(40, 7), (12, 30), (30, 30)])
@pytest.mark.parametrize("r", [None, 3])
@pytest.mark.parametrize("density", [None, 0.3])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_whitening_is_the_svd(shape, r, density, ridge):
    rng, d = np.random.default_rng(0), shape[1]
    x = (
        rng.standard_normal(shape) * np.linspace(3, 0.5, d) + rng.standard_normal(d)
        if density is None
        else scipy.sparse.random(*shape, density, "csr", random_state=rng) * 5
    )
    dense = x if density is None else x.toarray()
    centred = dense - dense.mean(0)
    rank = r or np.linalg.matrix_rank(centred)
    _, s, vt = np.linalg.svd(centred, full_matrices=False)
    variances = s[:rank] ** 2 / len(dense)
    divisor = np.sqrt(variances + ridge * variances.mean())  # small directions stay small
    whitening = Whitening(r, ridge=ridge)
    h = whitening.fit_transform(x)
    assert h.shape == (shape[0], rank) and whitening.components_.shape == (rank, shape[1])
    expected = centred @ vt[:rank].T / divisor
    np.testing.assert_allclose(h * np.sign((h * expected).sum(0)), expected, atol=1e-8)
    np.testing.assert_allclose(whitening.mean_, dense.mean(0), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(whitening.scale_, divisor)
    new = dense[:4] + 0.5
    expected = (new - whitening.mean_) @ whitening.components_.T / whitening.scale_
    for rows in (new, scipy.sparse.csr_matrix(new)):
        np.testing.assert_allclose(whitening.transform(rows), expected, rtol=1e-9, atol=1e-9)


@quick
@given(matrices, st.integers(1, 7), st.booleans())
def test_whitening_is_finite_and_white_on_anything(x, r, sparse):
    x = np.where(abs(x) > 1e-100, x, 0).clip(-1e100, 1e100)  # squares are in the range of floats
    whitening = Whitening(r)
    h = whitening.fit_transform(scipy.sparse.csr_matrix(x) if sparse else x)
    assert np.isfinite(h).all() and h.shape[1] <= min(r, *x.shape)
    assert (whitening.scale_ > 0).all()
    # columns near rounding level are less exactly orthogonal
    accurate = whitening.scale_ > 1e-8 * whitening.scale_.max(initial=0)
    h = h[:, accurate]
    np.testing.assert_allclose(h.T @ h / len(x), np.eye(h.shape[1]), atol=1e-5)


@pytest.mark.parametrize("kind", [RowNormalizer, Whitening])
def test_a_transform_before_a_fit_is_refused(kind):
    with pytest.raises(NotFittedError, match="call fit"):
        kind().transform(X)


@pytest.mark.parametrize(
    "settings, x, message",
    [
        *(({"n_components": bad}, X, "n_components must be") for bad in (0, -1, 2.5, "all")),
        *(({"ridge": bad}, X, "ridge must be a number of at") for bad in (-0.1, np.nan, np.inf)),
        *(
            ({}, kind(size * X), "largest entry .* whitening squares")
            for kind in (np.asarray, scipy.sparse.csr_matrix)
            for size in (1e-120, 1e120)
        ),
    ],
)
def test_what_cannot_be_whitened_is_refused(settings, x, message):
    with pytest.raises(ValueError, match=message):
        Whitening(**settings).fit(x)


@pytest.mark.parametrize("shape", [(70, 9), (12, 30), (700, 600), (510, 2001)])
def test_whitening_in_blocks_is_that_of_the_whole(shape):
    n, d = shape
    x = normalize_rows(np.random.default_rng(0).normal(size=shape) * np.linspace(1, 0.1, d))
    whole = Whitening(4, 0.1).fit(x)
    blocks = Whitening(4, 0.1).fit_blocks(np.array_split(x, 7))
    np.testing.assert_allclose(blocks.mean_, whole.mean_, atol=1e-13)
    np.testing.assert_allclose(blocks.scale_, whole.scale_, rtol=1e-10)
    np.testing.assert_allclose(blocks.components_, whole.components_, atol=1e-9)
    one, many = RowNormalizer().fit(x), RowNormalizer().fit_blocks(np.array_split(x, 3))
    assert one.floor_ == many.floor_


def test_whitening_from_a_product_leaves_out_what_the_product_has_lost():
    """That it is the whitening of the view else is in the tests of the levels."""
    x = np.random.default_rng(4).normal(size=(80, 2)) + 5
    repeated = np.hstack([x, x])  # of rank two
    found = Whitening(4, 0.03).fit_gram(repeated.T @ repeated, repeated.mean(0), 80)
    assert len(found.components_) == 2


NARROW = np.random.default_rng(5).normal(size=(40, 3)) * [100.0, 0.1, 3.0] + [7.0, -2.0, 0.0]


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("factor", [1.0, 1e300, 1e-310])
def test_lifted_rows_are_standardised_beside_a_constant_at_unit_length(kind, factor):
    x = NARROW.copy()
    expected = normalize_rows(np.column_stack([(x - x.mean(0)) / x.std(0), np.ones(40)]))
    rows = LiftedRows().fit_blocks([kind(factor * x[:25]), kind(factor * x[25:])])
    # below the normal range the entries themselves have few digits
    tolerance = 1e-12 if factor > 1e-300 else 1e-9
    for new in (kind(factor * x), factor * x):
        np.testing.assert_allclose(rows.transform(new), expected, atol=tolerance)


def test_constant_columns_of_a_narrow_view():
    x = NARROW.copy()
    x[:, 1] = 0.1 * 3
    rows = LiftedRows().fit_blocks([x])
    for size in (1, 1e300):
        assert not rows.transform(size * x)[:, 1].any()
    assert np.isfinite(rows.transform(1e308 * np.ones((2, 3)))).all()
    nothing = LiftedRows().fit_blocks([np.zeros((4, 2))])
    np.testing.assert_array_equal(nothing.transform(np.zeros((4, 2))), [[0, 0, 1]] * 4)


def test_rows_of_stored_zeros_are_scaled_without_a_warning():
    x = scipy.sparse.csr_matrix(np.arange(1.0, 13).reshape(3, 4))
    x.data[:4] = 0
    out = RowNormalizer().fit_transform(x).toarray()
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), [0, 1, 1])
