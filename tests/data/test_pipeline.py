"""The way of a view to the network: each step in closed form, new samples, and restoring."""

import contextlib

import numpy as np
import pytest
import scipy.sparse

import dmac
from dmac.compute.files import leaves, tree_of
from dmac.data.checks import as_views
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


KINDS = ["dense", "sparse", "streamed"]


def dense(x):
    return x.toarray() if scipy.sparse.issparse(x) else x


def stored(pipeline):
    """What a file has of a pipeline."""
    return tree_of(dict(leaves(pipeline.state())))


@pytest.fixture
def fit(on_disk):
    """The rows of a fit to an array, to a sparse matrix or to an array on disk."""

    def rows(pipeline, x, kind, label="a view"):
        if kind == "streamed":
            (stream,) = as_views(on_disk("npy", [x]), streamed=True)
            out = pipeline.fit_blocks(stream, x.shape, label)
            return pipeline.transform(x) if pipeline.n_components is None else out
        x = scipy.sparse.csr_matrix(x) if kind == "sparse" else x
        return dense(pipeline.fit_transform(x, label))

    return rows


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("r", [None, 3])
@pytest.mark.parametrize("view", [counts, signed])
def test_training_rows_are_transformed_as_new_ones_are(kind, r, view):
    x = kind(view())
    pipeline = ViewPipeline(root=True, n_components=r, ridge=0.03)
    h = dense(pipeline.fit_transform(x))
    assert h.shape == (40, pipeline.n_features_out_) == (40, r or 9)
    for rows in (slice(None), [7]):
        np.testing.assert_allclose(dense(pipeline.transform(x[rows])), h[rows], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(h, axis=1), 1, rtol=1e-12)
    of_array = ViewPipeline(root=True, n_components=r, ridge=0.03).fit_transform(view())
    assert_same_up_to_sign(h, of_array)


@pytest.mark.parametrize("kind", KINDS[:2])
def test_root_is_entrywise_and_only_for_views_without_negative_entries(kind, fit):
    x, other = counts(40, 6), signed(40, 6)  # as few columns as have unit rows
    for given, root, expected in ((x, True, np.sqrt(x)), (x, False, x), (other, True, other)):
        np.testing.assert_allclose(fit(ViewPipeline(root=root), given, kind), unit(expected))
    np.testing.assert_array_equal(x, counts(40, 6))  # what came in


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [1.0, 1e-8, 1e8])
def test_negative_rounding_errors_count_as_zero(kind, factor, fit):
    clean = factor * counts()
    dirty = clean.copy()
    dirty[clean == 0] = -1e-9 * factor  # many of them: they are what a subtraction leaves
    dirty[0, 0] = -1e-12 * factor
    clean[0, 0] = 0
    expected = ViewPipeline(root=True, n_components=3).fit_transform(clean)
    pipeline = ViewPipeline(root=True, n_components=3)
    assert_same_up_to_sign(fit(pipeline, dirty, kind), expected)
    assert pipeline.root_
    # new samples as well, also after a save, and other negative entries keep their sign
    signed = dirty.copy()
    signed[1, 1] = -factor
    again = ViewPipeline(root=True, n_components=3).restore(stored(pipeline))
    for p in (pipeline, again):
        np.testing.assert_array_equal(p.transform(dirty), p.transform(clean))
        assert np.abs(p.transform(signed) - p.transform(clean)).max() > 0.1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "n, n_negative, warns",
    [(100, 1, True), (100, 6, True), (100, 8, False), (100, 100, False), (10, 1, True)],
)
def test_a_few_negative_entries_are_reported(kind, n, n_negative, warns, fit):
    x = counts(n, 12)
    x.ravel()[:: x.size // n_negative][:n_negative] = -0.5
    x.ravel()[1] = -1e-12  # a rounding error counts on neither side
    pipeline = ViewPipeline(root=True)
    said = (
        rf"{n_negative} of the {x.size} entries of view 2 \(rna\) are negative, .* is -0.5: it is "
        "taken as signed, without the square root"
    )
    with pytest.warns(UserWarning, match=said) if warns else contextlib.nullcontext():
        fit(pipeline, x, kind, "view 2 (rna)")
    assert not pipeline.root_
    np.testing.assert_allclose(pipeline.transform(x), unit(x))


#: The registered data sets, and their views that have negative entries, counted from 1.
SIGNED = {
    **{name: set() for name in ("PIE", "BBC", "BBCSport", "NGs", "100Leaves")},
    **{"mfeat": {3}, "HandWritten": {5}, "ALOI-10": {4}, "Yale-3view": {1}, "CCV-20d": {1, 2, 3}},
}


@pytest.mark.parametrize("name", SIGNED)
def test_root_of_the_registered_views_is_refused_to_signed_ones_without_a_warning(
    name, data_folder
):
    pipelines = [ViewPipeline(root=True) for _ in dmac.load(name).views]
    for pipeline, x in zip(pipelines, dmac.load(name).views):
        pipeline.fit_transform(x)
    assert {a for a, pipeline in enumerate(pipelines, 1) if not pipeline.root_} == SIGNED[name]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("root", [False, True])
@pytest.mark.parametrize("r", [None, 4])
def test_view_of_one_column_keeps_its_order(kind, root, r, fit):
    x = np.random.default_rng(0).uniform(1, 9, size=(30, 1))
    pipeline = ViewPipeline(root=root, n_components=r, ridge=0.03)
    out = fit(pipeline, x, kind)
    assert out.shape == x.shape and abs(out).max() == pytest.approx(1)
    rooted = np.sqrt(x) if root else x
    line = np.polyfit(rooted[:, 0], out[:, 0], 1)  # an affine image of the (rooted) column
    np.testing.assert_allclose(np.polyval(line, rooted), out, atol=1e-12)
    assert line[0] > 0.05
    np.testing.assert_allclose(pipeline.transform(x), out, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("root", [False, True])
@pytest.mark.parametrize("r", [None, 2, 9])
@pytest.mark.parametrize("d", [2, 5])
def test_narrow_view_is_lifted_after_the_root(kind, root, r, d, fit):
    x = counts(30, d) + 0.5
    pipeline = ViewPipeline(root=root, n_components=r, ridge=0.03)
    out = fit(pipeline, x, kind)
    rooted = np.sqrt(x) if root else x
    z = np.column_stack([(rooted - rooted.mean(0)) / rooted.std(0), np.ones(30)])
    if r is None:
        np.testing.assert_allclose(out, unit(z), atol=1e-12)
    else:
        assert_same_up_to_sign(out, by_svd(z, r, 0.03))
    assert out.shape == (30, pipeline.n_features_out_) == (30, min(r or 9, d + 1))


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("value", [0.0, 7.0])
def test_constant_view_becomes_one_column_of_zeros(kind, value):
    pipeline = ViewPipeline(root=True, n_components=3, ridge=0.03)
    x = kind(np.full((10, 4), value))
    np.testing.assert_array_equal(pipeline.fit_transform(x), np.zeros((10, 1)))
    assert pipeline.n_features_out_ == 1
    np.testing.assert_array_equal(pipeline.transform(kind(counts(5, 4))), np.zeros((5, 1)))


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
def test_new_samples_with_negative_entries_keep_their_sign(kind):
    pipeline = ViewPipeline(root=True)
    h = pipeline.fit_transform(counts())
    np.testing.assert_allclose(dense(pipeline.transform(kind(-counts()))), -h, rtol=1e-12)


@pytest.mark.parametrize(
    "x",
    [counts(), signed(), counts(30, 5), signed(30, 2), np.ones((8, 3))],
    ids=["counts", "signed", "narrow counts", "narrow and signed", "constant"],
)
@pytest.mark.parametrize("r", [None, 2, 50])
def test_restored_pipeline_is_the_same_to_the_last_bit(x, r):
    pipeline, again = (ViewPipeline(root=True, n_components=r, ridge=0.03) for _ in range(2))
    pipeline.fit_transform(x)
    again.restore(stored(pipeline))
    # Rows below the floor are the case that needs the floor.
    for new in (x, -x, x[:1], 1e-9 * x, scipy.sparse.csr_matrix(x)):
        expected, found = pipeline.transform(new), again.transform(new)
        assert type(expected) is type(found) and (expected != found).sum() == 0
    assert again.n_features_out_ == pipeline.n_features_out_
    assert stored(again).keys() == stored(pipeline).keys()


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_standardised(kind, fit):
    x, pipeline = signed() * 10.0 ** np.arange(9) + 5, ViewPipeline(columns="standardised")
    mean = 0 if kind == "sparse" else x.mean(0)
    expected = unit((x - mean) / x.std(0))
    np.testing.assert_allclose(fit(pipeline, x, kind), expected, atol=1e-12)
    again = ViewPipeline(columns="standardised").restore(stored(pipeline))
    for new in (x[:5], scipy.sparse.csr_matrix(x[:5])):
        np.testing.assert_allclose(dense(again.transform(new)), expected[:5], atol=1e-12)
