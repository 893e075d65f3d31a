"""What users may pass as views and labels, and what they are told otherwise."""

import numpy as np
import pytest
import scipy.sparse
import torch

from dmac.data.checks import check_labels, check_views, n_distinct
from dmac.data.whitening import Whitening, normalize_rows


class Frame:
    """Stands for a pandas data frame, of which only ``to_numpy`` is used."""

    def __init__(self, x):
        self.x, self.ndim, self.shape = x, x.ndim, x.shape

    def to_numpy(self):
        return self.x


X = np.arange(12.0).reshape(4, 3)
KINDS = {
    "array": X,
    "fortran order": np.asfortranarray(X),
    "strided": np.repeat(X, 2, axis=1)[:, ::2],
    "float32": X.astype(np.float32),
    "integer": X.astype(np.uint8),
    "nested list": X.tolist(),
    "object": X.astype(object),
    "tensor": torch.tensor(X, dtype=torch.bfloat16, requires_grad=True),
    "frame": Frame(X.astype(object)),
    "csr": scipy.sparse.csr_matrix(X),
    "csc array": scipy.sparse.csc_array(X.astype(int)),
    "coo": scipy.sparse.coo_matrix(X),
    "sparse tensor": torch.tensor(X).to_sparse(),
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_of_view(kind):
    (out,) = check_views([KINDS[kind]])
    if any(word in kind for word in ("cs", "coo", "sparse")):
        assert type(out) is scipy.sparse.csr_matrix and out.has_canonical_format
        dense = out.toarray()
    else:
        assert type(out) is np.ndarray and out.flags.c_contiguous
        dense = out
    assert out.dtype == np.float64
    np.testing.assert_array_equal(dense, X)
    if kind != "nested list":
        assert len(check_views(KINDS[kind])) == 1


def test_booleans_count_as_numbers():
    (out,) = check_views(X > 5)
    np.testing.assert_array_equal(out, (X > 5).astype(float))


def test_pandas_frame():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "c": [True, False]})
    np.testing.assert_array_equal(check_views(frame)[0], [[1, 0.5, 1], [2, 1.5, 0]])
    frame["d"] = ["x", "y"]
    with pytest.raises(ValueError, match="view 1 holds 'x' at row 0, column 3"):
        check_views([frame])


def test_input_is_not_modified():
    unsorted = scipy.sparse.csr_matrix(([1, 2, 3.0, 4], [2, 0, 0, 1], [0, 3, 3, 4]), (3, 3))
    before = [unsorted.data.copy(), unsorted.indices.copy(), unsorted.indptr.copy()]
    dense = X.copy()
    (out,) = check_views([unsorted])
    np.testing.assert_array_equal(out.toarray(), [[5, 0, 1], [0, 0, 0], [0, 4, 0]])
    for x in (unsorted, dense):
        normalize_rows(x)
        Whitening(1).fit_transform(*check_views([x]))
    for a, b in zip(before, (unsorted.data, unsorted.indices, unsorted.indptr)):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(dense, X)


NAN, INF = X.copy(), scipy.sparse.csr_matrix(X)
NAN[2, 1] = NAN[3, 0] = np.nan
INF[3, 2] = np.inf
MIXED = X.astype(object)
MIXED[1, 2] = "3.5"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([], "no views"),
        ((), "no views"),
        (None, "must be a list of 2-D arrays, not a NoneType"),
        ("text", "must be a list of 2-D arrays, not a str"),
        (np.ones((2, 3, 4)), r"one array of shape \(2, 3, 4\)"),
        (np.ones(3), r"one array of shape \(3,\)"),
        ([X, np.ones(4)], "view 2 has 1 dimension"),
        ([[1, 2], [3, 4]], "view 1 has 1 dimension"),
        ([X, X[None]], "view 2 has 3 dimension"),
        ([X[:0]], r"view 1 has no samples: its shape is \(0, 3\)"),
        ([X, X[:, :0]], r"view 2 has no features: its shape is \(4, 0\)"),
        ([X, X[:3]], "view 2 has 3 samples, view 1 has 4"),
        ([X, X, scipy.sparse.eye(5)], "view 3 has 5 samples, view 1 has 4"),
        ([X, NAN], r"view 2 has 2 NaN or infinite.*\(nan\) at row 2, column 1 .*rows.*from 0"),
        ([INF], r"view 1 has 1 NaN or infinite.*\(inf\) at row 3, column 2"),
        ([np.ma.masked_equal(X, 5)], "missing.*row 1, column 2"),
        ([X + 1j], "view 1 is complex"),
        ([torch.ones(2, 2, dtype=torch.complex64)], "view 1 is complex"),
        ([scipy.sparse.csr_matrix(X + 1j)], "view 1 is complex"),
        ([X.astype(str)], "view 1 holds <U32 values, not numbers"),
        ([MIXED], "view 1 holds '3.5' at row 1, column 2, not a real number"),
        ([[[1, None], [2, 3]]], "view 1 holds None at row 0, column 1"),
        ([[[1, 2], [3]]], "view 1 has rows of different lengths"),
        ([np.ones((2, 2), "datetime64[s]")], "view 1 holds datetime64"),
        ([[[10**400, 1]]], "view 1 holds an integer beyond"),
    ],
)
def test_bad_views(bad, message):
    with pytest.raises(ValueError, match=message):
        check_views(bad)


def test_views_must_match_the_fitted_ones():
    check_views([X, X], n_features=(3, 3))
    with pytest.raises(ValueError, match="got 1 view.* fitted on 2"):
        check_views(X, n_features=(3, 3))
    with pytest.raises(ValueError, match="view 2 has 3 features, but the model was fitted on 5"):
        check_views([X, X], n_features=(3, 5))


@pytest.mark.parametrize(
    "labels",
    [[3, 1, 3], (3.0, 1.0, 3.0), ["b", "a", "b"], [[3], [1], [3]], torch.tensor([3, 1, 3])],
)
def test_labels(labels):
    out = check_labels(labels, 3)
    assert out.dtype == np.int64
    np.testing.assert_array_equal(out, [1, 0, 1])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], "2 of them, but there are 3 samples"),
        (np.eye(3), "one-dimensional"),
        ([0, 1, np.nan], "labels: entry 2 .* is nan"),
        ([0, 1, np.inf], "labels: entry 2 .* is inf"),
        ([0.5, 1, 2], "labels: entry 0 .* is 0.5"),
        ([0, None, 1], "labels: entry 1 .* is None"),
        (np.array([0, "a", 1], object), "no common order"),
        ([1, "1", 2], "no common order"),
        (["a", float("nan"), "b"], "labels: entry 1 .* is nan"),
        (np.array([1j, 2, 3]), "complex128"),
        (np.array(["2020", "NaT", "2021"], "datetime64[Y]"), "datetime64"),
    ],
)
def test_bad_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        check_labels(labels, 3)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
def test_distinct_samples_are_counted_over_all_views(kind):
    first = np.zeros((300, 3))
    first[::3, 1], first[::5, 1] = 2, -0.0
    second = np.zeros((300, 2))
    second[299] = 1  # far behind the others, in the second view alone
    views = [kind(first), kind(second)]
    if scipy.sparse.issparse(views[0]):
        views[0] = scipy.sparse.csr_matrix(
            (first.ravel(), np.tile([0, 1, 2], 300), 3 * np.arange(301))
        )
    before = [x.copy() for x in views]
    assert n_distinct(views[:1], 10) == 2
    assert n_distinct(views, 10) == 3 and n_distinct(views, 2) == 2
    for x, y in zip(views, before):
        assert getattr(x, "nnz", 0) == getattr(y, "nnz", 0)
