"""Loading, checking, row normalisation and whitening of views."""

import hashlib
import importlib.util
import os
from pathlib import Path

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from dmac import registry, views
from dmac.views import MultiViewData, RowNormalizer, Whitening, load, normalize_rows

ROOT = Path(__file__).parents[1]
X = np.arange(12.0).reshape(4, 3)
quick = settings(max_examples=60, deadline=None, derandomize=True)
REAL = {  # samples, dims, classes
    "PIE": (680, (484, 256, 279), 68),
    "BBC": (685, (4659, 4633, 4665, 4684), 5),
    "CCV-20d": (6773, (20, 20, 20), 20),
    "ALOI-10": (1079, (64, 64, 77, 13), 10),
    "Yale-3view": (165, (9, 512, 50), 15),
    "BBCSport": (544, (3183, 3203), 5),
    "NGs": (500, (2000, 2000, 2000), 5),
    "HandWritten": (2000, (240, 76, 216, 47, 64, 6), 10),
    "100Leaves": (1600, (64, 64, 64), 100),
}


def real(filename):
    """A file under the folder named by DMAC_DATA; skips the test where there is none."""
    folder = os.environ.get("DMAC_DATA")
    found = sorted(Path(folder).rglob(filename)) if folder else []
    if not found:
        pytest.skip(f"{filename} is not in the folder named by DMAC_DATA")
    return found[0]


def load_real(name):
    real(registry.DATASETS[name].filename)
    return load(name)


# --- the embedded data set and the registered ones


def test_mfeat():
    data = load()
    assert (data.name, data.n_samples, data.n_views, data.n_clusters) == ("mfeat", 2000, 6, 10)
    assert data.dims == (76, 216, 64, 240, 47, 6)
    assert all(x.dtype == np.float64 and x.flags.c_contiguous for x in data.views)
    assert data.labels.dtype == np.int64
    np.testing.assert_array_equal(data.labels, np.repeat(np.arange(10), 200))
    assert data.views[0][0, 0] == 0.065882 and data.views[5][0, 5] == 1620.2
    expected = "MultiViewData('mfeat', n=2000, dims=(76, 216, 64, 240, 47, 6), c=10)"
    assert repr(data) == expected


def test_mfeat_equals_handwritten_to_five_digits():
    full, rounded = load_real("HandWritten"), load("MFEAT")
    np.testing.assert_array_equal(full.labels, rounded.labels)
    for x in rounded.views:
        (other,) = [y for y in full.views if y.shape == x.shape]
        # half a unit of the fifth digit is at most 5e-5 of the value; the CSV stop at 7 decimals
        np.testing.assert_allclose(x, other, rtol=5e-5 * (1 + 1e-9), atol=5e-8)


def test_script_makes_the_embedded_file_byte_for_byte(tmp_path):
    folder = real("mfeat-fou.csv").parent
    spec = importlib.util.spec_from_file_location("make_mfeat", ROOT / "scripts" / "make_mfeat.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    made = script.make(folder, tmp_path / "mfeat.npz").read_bytes()
    kept = (ROOT / "dmac" / "data" / "mfeat.npz").read_bytes()
    assert hashlib.sha256(made).digest() == hashlib.sha256(kept).digest()


def test_attribution_stands_beside_the_data():
    text = (ROOT / "dmac" / "data" / "README.md").read_text(encoding="utf-8")
    for part in ("Duin", "UCI Machine Learning Repository", "10.24432/C5HC70", "CC BY 4.0"):
        assert part in text


@pytest.mark.parametrize("name", list(REAL))
def test_registered_data(name):
    data = load_real(name)
    n_samples, dims, n_clusters = REAL[name]
    assert (data.n_samples, data.dims, data.n_clusters) == (n_samples, dims, n_clusters)
    assert data.name == name and load(name.swapcase()).name == name
    assert set(data.labels) == set(range(n_clusters)) and data.labels.dtype == np.int64
    for x in data.views:
        assert x.dtype == np.float64
        assert isinstance(x, scipy.sparse.csr_matrix) == (name in ("BBC", "BBCSport"))


def test_single_transposed_view_from_a_real_file():
    data = load(real("Yale_64x64.mat"))
    assert (data.name, data.n_samples, data.dims, data.n_clusters) == (
        "Yale_64x64",
        165,
        (4096,),
        15,
    )
    stored = scipy.io.loadmat(real("Yale_64x64.mat"))["fea"]
    np.testing.assert_array_equal(data.views[0], stored.T)


def test_every_registered_view_is_scaled_and_whitened():
    for name in REAL:
        data = load_real(name)
        for x in data.views:
            if name == "ALOI-10":  # columns at 3e13 beside columns at 1e3
                assert np.isfinite(Whitening().fit_transform(x)).all()
            h = Whitening(2 * data.n_clusters).fit_transform(normalize_rows(x))
            np.testing.assert_allclose(h.T @ h / len(h), np.eye(h.shape[1]), atol=1e-8)


def test_load_from_a_path(tmp_path):
    path = tmp_path / "toy.npz"
    np.savez(path, X1=np.arange(6).reshape(3, 2), X2=np.ones((3, 1), bool), Y=["b", "a", "b"])
    for source in (path, str(path)):
        data = load(source)
        assert (data.name, data.dims, data.n_clusters) == ("toy", (2, 1), 2)
        np.testing.assert_array_equal(data.labels, [1, 0, 1])
    data = load(path, views_key="X2", labels_key=False)
    assert data.dims == (1,) and data.labels is None and data.n_clusters is None
    assert repr(data).endswith("n=3, dims=(1,), c=None)")


def test_load_errors(tmp_path):
    assert views.available() == ["mfeat", *REAL]
    with pytest.raises(ValueError, match="'mfeet'.*mfeat, PIE.*did you mean 'mfeat'"):
        load("mfeet")
    with pytest.raises(FileNotFoundError, match=r"gone\.mat"):
        load(tmp_path / "gone.mat")
    path = tmp_path / "bad.npz"
    np.savez(path, X1=np.array([[1.0, np.nan]]), Y=[0])
    with pytest.raises(ValueError, match=r"bad\.npz: view 1 has 1 NaN"):
        load(path)


def test_multi_view_data_says_when_a_view_is_sparse():
    data = MultiViewData("toy", [np.ones((2, 3)), scipy.sparse.csr_matrix((2, 4))])
    assert repr(data) == "MultiViewData('toy', n=2, dims=(3, 4), c=None, sparse)"


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
    assert np.isfinite(out).all() and normalizer.floor_ > 0 and isinstance(normalizer.floor_, float)
    norms, scale = np.linalg.norm(out, axis=1), np.abs(x).max(1)
    assert (norms <= 1 + 1e-12).all()
    np.testing.assert_allclose(norms[scale > normalizer.floor_], 1, rtol=1e-12)
    sparse = normalizer.transform(scipy.sparse.csc_matrix(x))
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
    out = normalizer.transform(x)
    np.testing.assert_allclose(out[[0, 3, 4]], [[0.6, 0.8]] * 3, rtol=1e-15)
    np.testing.assert_allclose(out[1:3], [[0, 0], [1e-11, 4e-17 / 3e-6]], rtol=1e-12)
    new = normalizer.transform([[3e-6, 4e-6], [1.5e-6, 0.0]])  # on either side of the floor
    np.testing.assert_allclose(new, [[0.6, 0.8], [0.5, 0.0]], rtol=1e-12)


def test_all_zero_view_and_given_floor():
    zero = np.zeros((3, 2))
    assert RowNormalizer().fit(zero).floor_ == 1.0
    np.testing.assert_array_equal(normalize_rows(zero), zero)
    np.testing.assert_array_equal(normalize_rows([[3.0, 4.0]], floor=10), [[0.3, 0.4]])
    for floor in (0, -1, np.nan):
        with pytest.raises(ValueError, match="floor must be a positive number"):
            normalize_rows(X, floor=floor)


def test_ccv_noise_rows_stay_noise():
    """The counts that the docstring of RowNormalizer gives."""
    below = []
    for x in load_real("CCV-20d").views:
        normalizer = RowNormalizer()
        out, norms = normalizer.fit_transform(x), np.linalg.norm(x, axis=1)
        tiny = norms < normalizer.floor_
        below.append((tiny.sum(), (norms < 1e-14).sum(), (norms == 0).sum()))
        assert np.linalg.norm(out[norms < 1e-14], axis=1).max(initial=0) < 1e-7
        np.testing.assert_allclose(np.linalg.norm(out[~tiny], axis=1), 1, rtol=1e-12)
    assert below == [(11, 7, 0), (0, 0, 0), (46, 9, 0)]


# --- whitening


def svd_whitening(x, r):
    """The definition, by a full decomposition."""
    u, _, _ = np.linalg.svd(x - x.mean(0), full_matrices=False)
    return u[:, :r] * np.sqrt(len(x))


def assert_same_up_to_sign(a, b, atol=1e-8):
    np.testing.assert_allclose(a * np.sign((a * b).sum(0)), b, atol=atol)


def random_view(n, d, density=None):
    rng = np.random.default_rng(0)
    if density is None:
        return rng.standard_normal((n, d)) * np.linspace(3, 0.5, d) + rng.standard_normal(d)
    return scipy.sparse.random(n, d, density, "csr", random_state=rng) * 5


@pytest.mark.parametrize("shape", [(40, 7), (12, 30), (30, 30)])
@pytest.mark.parametrize("r", [None, 3])
@pytest.mark.parametrize("density", [None, 0.3])
def test_whitening_is_the_svd(shape, r, density):
    x = random_view(*shape, density=density)
    dense = x if density is None else x.toarray()
    whitening = Whitening(r)
    h = whitening.fit_transform(x)
    rank = r or np.linalg.matrix_rank(dense - dense.mean(0))
    assert h.shape == (shape[0], rank) and whitening.components_.shape == (rank, shape[1])
    assert_same_up_to_sign(h, svd_whitening(dense, rank))
    np.testing.assert_allclose(h.T @ h / len(h), np.eye(rank), atol=1e-9)
    np.testing.assert_allclose(h.mean(0), 0, atol=1e-9)
    np.testing.assert_allclose(whitening.mean_, dense.mean(0), rtol=1e-12, atol=1e-15)
    assert (np.diff(whitening.scale_) <= 0).all()
    new = dense[:4] + 0.5
    expected = (new - whitening.mean_) @ whitening.components_.T / whitening.scale_
    np.testing.assert_allclose(whitening.transform(new), expected, rtol=1e-9, atol=1e-12)
    sparse_new = whitening.transform(scipy.sparse.csr_matrix(new))
    np.testing.assert_allclose(sparse_new, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("density", [None, 0.3])
def test_ridge_keeps_small_directions_small(density):
    x = random_view(40, 7, density)
    dense = x if density is None else x.toarray()
    _, s, vt = np.linalg.svd(dense - dense.mean(0), full_matrices=False)
    variances = s[:3] ** 2 / 40
    divisor = np.sqrt(variances + 0.5 * variances.mean())
    whitening = Whitening(3, ridge=0.5)
    h = whitening.fit_transform(x)
    np.testing.assert_allclose(whitening.scale_, divisor)
    assert_same_up_to_sign(h, (dense - dense.mean(0)) @ vt[:3].T / divisor)
    np.testing.assert_allclose(h.T @ h / 40, np.diag(variances / divisor**2), atol=1e-9)


@quick
@given(matrices, st.integers(1, 7), st.booleans())
def test_whitening_is_finite_and_white_on_anything(x, r, sparse):
    whitening = Whitening(r)
    h = whitening.fit_transform(scipy.sparse.csr_matrix(x) if sparse else x)
    assert np.isfinite(h).all() and h.shape[1] <= min(r, *x.shape)
    assert (whitening.scale_ > 0).all()
    # columns near rounding level are less exactly orthogonal
    accurate = whitening.scale_ > 1e-8 * whitening.scale_.max(initial=0)
    h = h[:, accurate]
    np.testing.assert_allclose(h.T @ h / len(x), np.eye(h.shape[1]), atol=1e-5)


@pytest.mark.parametrize("sparse", [False, True])
def test_constant_and_repeated_columns_are_harmless(sparse):
    x = random_view(50, 4)
    more = np.column_stack([x, x[:, 1], x @ [1, 2, 3, 4], np.full(50, 7e5), np.zeros(50)])
    h = Whitening().fit_transform(scipy.sparse.csr_matrix(more) if sparse else more)
    assert h.shape == (50, 4)
    np.testing.assert_allclose(h.T @ h / 50, np.eye(4), atol=1e-8)


def test_equal_rows_have_no_component():
    for value in (0.0, 0.1, 3.3e13):
        assert Whitening(2).fit_transform(np.full((7, 3), value)).shape == (7, 0)


def test_errors_before_and_at_fit():
    for unfitted in (RowNormalizer(), Whitening()):
        with pytest.raises(NotFittedError, match="call fit first"):
            unfitted.transform(X)
    for bad in (0, -1, 2.5, "all"):
        with pytest.raises(ValueError, match="n_components must be"):
            Whitening(bad).fit(X)
    for bad in (-0.1, np.nan, np.inf):
        with pytest.raises(ValueError, match="ridge must be a number of at least 0"):
            Whitening(ridge=bad).fit(X)
    with pytest.raises(ValueError, match="has 2 features, but the model was fitted on 3"):
        Whitening().fit(X).transform(X[:, :2])
