"""The way of a view to the network: each step in closed form, new samples, and restoring."""

import json

import numpy as np
import pytest
import scipy.sparse

from dmac.data.pipeline import ViewPipeline


def counts(n=40, d=9):
    return np.random.default_rng(0).poisson(2.0, size=(n, d)).astype(float)


def signed(n=40, d=9):
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, d)) * np.linspace(3, 0.3, d) + rng.normal(size=d)


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def by_svd(x, r, ridge):
    """The principal directions of unit rows, with the divisor of the docstring, as unit rows."""
    x = unit(x)
    _, s, vt = np.linalg.svd(x - x.mean(0), full_matrices=False)
    variances = s[:r] ** 2 / len(x)
    return unit((x - x.mean(0)) @ vt[:r].T / np.sqrt(variances + ridge * variances.mean()))


def assert_same_up_to_sign(a, b, atol=1e-8):
    np.testing.assert_allclose(a * np.sign((a * b).sum(0)), b, atol=atol)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("r", [None, 3])
@pytest.mark.parametrize("view", [counts, signed])
def test_training_rows_are_transformed_as_new_ones_are(kind, r, view):
    x = kind(view())
    pipeline = ViewPipeline(root=True, n_components=r, ridge=0.03)
    h = pipeline.fit_transform(x)
    again = pipeline.transform(x)
    assert h.shape == again.shape == (40, pipeline.n_features_out_) == (40, r or 9)
    if r is None and kind is scipy.sparse.csr_matrix:
        h, again = h.toarray(), again.toarray()
    np.testing.assert_allclose(again, h, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(h, axis=1), 1, rtol=1e-12)
    part = pipeline.transform(kind(view()[[7]]))
    part = part.toarray() if scipy.sparse.issparse(part) else part
    np.testing.assert_allclose(part, h[[7]], atol=1e-12)
    dense = ViewPipeline(root=True, n_components=r, ridge=0.03).fit_transform(view())
    assert_same_up_to_sign(h, dense)


def test_root_is_entrywise_and_only_for_views_without_negative_entries():
    x = counts()
    before = x.copy()
    pipeline = ViewPipeline(root=True)
    np.testing.assert_allclose(pipeline.fit_transform(x), unit(np.sqrt(x)))
    np.testing.assert_allclose(ViewPipeline().fit_transform(x), unit(x))
    np.testing.assert_array_equal(x, before)
    sparse = scipy.sparse.csr_matrix(x)
    np.testing.assert_allclose(pipeline.fit_transform(sparse).toarray(), unit(np.sqrt(x)))
    np.testing.assert_array_equal(sparse.toarray(), before)
    x[3, 3] = -1e-9  # one negative entry says that these are no counts
    for view in (x, scipy.sparse.csr_matrix(x)):
        out = pipeline.fit_transform(view)
        assert not pipeline.root_
        out = out.toarray() if scipy.sparse.issparse(out) else out
        np.testing.assert_allclose(out, unit(x))


def test_distances_of_rooted_histograms_are_hellingers():
    x = np.random.default_rng(0).dirichlet(np.ones(6), size=20)
    h = ViewPipeline(root=True).fit_transform(x)
    squared = ((h[:, None] - h[None]) ** 2).sum(2)
    bhattacharyya = np.sqrt(x[:, None] * x[None]).sum(2)
    np.testing.assert_allclose(squared, 2 - 2 * bhattacharyya, atol=1e-12)


@pytest.mark.parametrize("ridge", [0.0, 0.03, 2.0])
def test_divisor_of_the_directions_is_the_ridged_deviation(ridge):
    h = ViewPipeline(n_components=4, ridge=ridge).fit_transform(signed())
    assert_same_up_to_sign(h, by_svd(signed(), 4, ridge))


def test_huge_ridge_only_projects():
    x = unit(signed())
    _, _, vt = np.linalg.svd(x - x.mean(0), full_matrices=False)
    h = ViewPipeline(n_components=4, ridge=1e12).fit_transform(signed())
    assert_same_up_to_sign(h, unit((x - x.mean(0)) @ vt[:4].T))


def test_negative_ridge_is_refused():
    with pytest.raises(ValueError, match="ridge must be a number of at least 0"):
        ViewPipeline(n_components=2, ridge=-0.1).fit_transform(signed())


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("value", [0.0, 7.0])
def test_constant_view_becomes_one_column_of_zeros(kind, value):
    pipeline = ViewPipeline(root=True, n_components=3, ridge=0.03)
    x = kind(np.full((10, 4), value))
    np.testing.assert_array_equal(pipeline.fit_transform(x), np.zeros((10, 1)))
    assert pipeline.n_features_out_ == 1
    np.testing.assert_array_equal(pipeline.transform(kind(counts(5, 4))), np.zeros((5, 1)))


def test_new_samples_with_negative_entries_keep_their_sign():
    pipeline = ViewPipeline(root=True)
    h = pipeline.fit_transform(counts())
    np.testing.assert_array_equal(pipeline.transform(-counts()), -h)
    sparse = pipeline.transform(scipy.sparse.csr_matrix(-counts()))
    np.testing.assert_allclose(sparse.toarray(), -h, rtol=1e-12)


@pytest.mark.parametrize("x", [counts(), signed(), np.ones((8, 3))], ids=["counts", "signed", "1"])
@pytest.mark.parametrize("r", [None, 2, 50])
def test_restored_pipeline_is_the_same_to_the_last_bit(x, r):
    pipeline = ViewPipeline(root=True, n_components=r, ridge=0.03)
    pipeline.fit_transform(x)
    numbers, arrays = pipeline.state()
    restored = ViewPipeline.restore(json.loads(json.dumps(numbers)), arrays)
    tiny = 1e-9 * x  # rows below the floor are the case that needs the floor
    for new in (x, -x, x[:1], tiny, scipy.sparse.csr_matrix(x)):
        expected, found = pipeline.transform(new), restored.transform(new)
        assert type(expected) is type(found)
        assert (expected != found).sum() == 0
    assert restored.n_features_out_ == pipeline.n_features_out_
    again = restored.state()
    assert again[0] == numbers and again[1].keys() == arrays.keys()
