"""What users may pass as views and labels, what they are told otherwise, and views on disk."""

import copy
import re
import warnings

import hypothesis
import input_cases
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from hypothesis import strategies as st

from dmac.data import checks
from dmac.data.checks import (
    as_views,
    check_labels,
    check_views,
    digest,
    is_on_disk,
    n_distinct,
    nonzero_rows,
)
from dmac.data.names import NamedView
from dmac.data.whitening import Whitening, normalize_rows

X = np.arange(12.0).reshape(4, 3)
MISSING = (pd.NA, pd.NaT, None, np.nan)


def test_views_are_canonical_copies_and_what_came_in_is_as_it_was():
    unsorted = scipy.sparse.csr_matrix(([1, 2, 3.0, 4], [2, 0, 0, 1], [0, 3, 3, 4]), (3, 3))
    before = copy.deepcopy(unsorted)
    dense = np.asfortranarray(X)
    (out,) = check_views([unsorted])
    assert type(out) is scipy.sparse.csr_matrix and out.has_canonical_format
    np.testing.assert_array_equal(out.toarray(), [[5, 0, 1], [0, 0, 0], [0, 4, 0]])
    assert check_views([dense])[0].flags.c_contiguous and check_views([X])[0] is X
    for x in (unsorted, dense):
        normalize_rows(x)
        Whitening(1).fit_transform(*check_views([x]))
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(unsorted, name), getattr(before, name))
    np.testing.assert_array_equal(dense, X)


def test_views_must_match_the_fitted_ones():
    check_views([X, X], n_features=(3, 3))
    for views, fitted, message in (
        (X, (3, 3), "got 1 view, .* fitted on 2"),
        ([X, X[:, :2]], (3, 5), "view 2 has 2 features.* 5 there: fit again without the f"),
    ):
        with pytest.raises(ValueError, match=message):
            check_views(views, n_features=fitted)


@pytest.mark.parametrize(
    "labels",
    [
        *([3, 1, 3], (3.0, 1.0, 3.0), ["b", "a", "b"], ["NaT", "<NA>", "NaT"], [[3], [1], [3]]),
        *([[3, 1, 3]], np.array([True, False, True])),
        torch.tensor([3, 1, 3]),
    ],
)
def test_labels(labels):
    out = check_labels(labels, 3)
    assert out.dtype == np.int64
    np.testing.assert_array_equal(out, [1, 0, 1])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], "2 of them, but there are 3 samples"),
        *((x, "one-dimensional and not empty") for x in (np.eye(3), [], 1)),
        ([0, 1, np.nan], "labels: entry 2 .* is nan"),
        ([0, 1, np.inf], "labels: entry 2 .* is inf"),
        ([0.5, 1, 2], "labels: entry 0 .* is 0.5"),
        ([0, None, 1], "labels: entry 1 .* is None"),
        (np.array([0, "a", 1], object), "no common order"),
        ([1, "1", 2], "no common order"),
        *((["a", x, "b"], "labels: entry 1 .* is not a class") for x in MISSING),
        (np.array([1j, 2, 3]), "complex128"),
        (np.array(["2020", "NaT", "2021"], "datetime64[Y]"), "datetime64"),
    ],
)
def test_bad_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        check_labels(labels, 3)


def test_what_is_in_a_closed_file_is_refused_wherever_it_is_read():
    with pytest.raises(ValueError, match="view 1 is in an HDF5 file that was closed: open it"):
        check_views(input_cases.closed())


def test_zeros_of_few_columns_may_be_values_and_that_is_said():
    codes, wide = np.array([[0.0], [1], [0], [2]]), np.ones((4, 6))
    for width in (2, 5):
        with pytest.warns(UserWarning, match=rf"view 2 has 2 rows of zeros in its {width} column"):
            check_views([wide, np.repeat(codes, width, 1)], incomplete=True, warns=True)
    pair = np.repeat(codes, 2, 1)
    for views, present in (
        ([wide, pair], [[True, x] for x in codes.any(1)]),
        ([wide, np.where(pair, pair, np.nan)], None),
        ([wide, pair + 1], None),
        ([wide, np.repeat(codes, 6, 1)], None),
        ([pair], None),
    ):
        check_views(views, incomplete=True, present=present, warns=True)


def test_views_of_one_feature_are_told_once_and_by_name():
    named = [NamedView(X[:, :1] + 1, "age"), NamedView(X), NamedView(X[:, 1:2] + 1, "dose")]
    with pytest.warns(UserWarning, match=r"view 1 \(age\) and view 3 \(dose\) have one f") as told:
        check_views(named, incomplete=True, warns=True)
    assert len(told) == 1


def test_what_nullable_types_miss_is_nan():
    table = pd.DataFrame({"a": pd.array([1, None, 3, 4]), "b": pd.array([1.5, None, 2, 2])})
    for given in (table, table.to_numpy(object)):
        found = check_views([X, given], incomplete=True)[1]
        np.testing.assert_array_equal(found, [[1, 1.5], [0, 0], [3, 2], [4, 2]])
    masked = np.ma.masked_array(X.astype(object), np.arange(12).reshape(4, 3) // 3 == 1)
    assert check_views([X, masked], incomplete=True)[1].any(1).tolist() == [True, False, True, True]
    with pytest.raises(ValueError, match="view 2 has NaN or infinite"):
        check_views([X, table.fillna({"a": 2})], incomplete=True)
    with pytest.raises(ValueError, match="entries, 2 of them, the first .nan. at row 0, column 1"):
        check_views([[[1, np.nan], [np.nan, 2]]])


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
def test_distinct_samples_are_counted_over_all_views(kind):
    first, second = np.zeros((300, 3)), np.zeros((300, 2))
    first[::3, 1], first[::5, 1] = 2, -0.0
    second[299] = 1  # far behind the others, in the second view alone
    views = [kind(first), kind(second)]
    if scipy.sparse.issparse(views[0]):  # with zeros that are stored
        stored = (first.ravel(), np.tile([0, 1, 2], 300), 3 * np.arange(301))
        views[0] = scipy.sparse.csr_matrix(stored)
    views = as_views(views)
    assert [n_distinct(views[:1], 10), *(n_distinct(views, most) for most in (10, 2))] == [2, 3, 2]
    assert getattr(views[0], "nnz", 900) == 900


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
def test_rows_that_say_nothing_are_samples_that_lack_the_view(kind):
    x = kind([[0, 2.0], [0, 0], [-1, 1], [np.nan, np.nan]])
    found = check_views([x, np.ones((4, 6))], incomplete=True)[0]
    assert nonzero_rows(found).tolist() == [True, False, True, False]
    assert getattr(found, "nnz", 3) == 3  # no zeros are stored
    for views, message in (
        ([x], r"sample 3 lacks all views \(.* from 0\): remove it"),
        (
            [x, kind([[1.0], [np.nan], [1], [0]])],
            "sample 1 lacks all views .*, and so do 1 others: remove it",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            check_views(views, incomplete=True)
    rows = check_views([[[0, 2], None, [-1, 1]], np.ones((3, 6))], incomplete=True)[0]
    np.testing.assert_array_equal(rows, [[0, 2], [0, 0], [-1, 1]])


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix, "disk", "many"])
def test_a_row_of_zeros_that_was_measured_is_a_value(kind, on_disk):
    x = np.array([[0, 2.0], [0, 0], [-1, 1], [0, 0]])
    has = np.array([[1, 1], [1, 1], [1, 1], [0, 1]])
    options = {"incomplete": True, "streamed": True, "most": 3 if kind == "many" else None}
    given = on_disk("npy", [x])[0] if kind == "disk" else x if kind == "many" else kind(x)
    for view, mask in ((given, has), (NamedView(given, measured=True), None)):
        (found, _) = as_views([view, np.ones((4, 6))], present=mask, **options)
        assert found.presence().tolist() == [True, True, True, mask is None]
        rows = found.read(slice(0, 4))
        np.testing.assert_array_equal(rows.toarray() if hasattr(rows, "toarray") else rows, x)
    assert not x[1].any()  # what came in is as it was
    zeros = np.zeros((4, 2))
    assert as_views([zeros], incomplete=True, present=np.ones((4, 1)))[0].present.all()


def test_a_view_that_all_samples_lack_is_told():
    x = np.arange(12.0).reshape(6, 2) + 1
    with pytest.warns(UserWarning, match="view 2 has no values: all samples lack it"):
        check_views([x, x * np.nan], incomplete=True, warns=True)


@pytest.mark.parametrize("kind", [object, int, float])
def test_a_mask_of_nullable_columns_is_one(kind):
    has = np.array([[True, False], [True, True], [False, True], [True, True]])
    found = check_views([X + 1, X + 1], incomplete=True, present=has.astype(kind))
    np.testing.assert_array_equal([x.any(1) for x in found], has.T)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
def test_a_column_that_is_nearly_all_of_a_view_is_told(kind):
    rng = np.random.default_rng(0)
    values, noise = rng.normal(size=(300, 8)), rng.normal(size=(300, 1))
    other = kind(rng.normal(size=(300, 7)))
    for size in (1e2, 1e6, 1e100):
        view = np.hstack([values, size * noise])
        for views, number in (([other, kind(view)], 2), ([kind(view**2), other], 1)):
            said = rf"view {number} has \S+ % of its variance in column 8"
            with pytest.warns(UserWarning, match=said):
                check_views(views, incomplete=True, warns=True)
    outlier = np.hstack([values, np.eye(300)[:, :1] * 1e6])  # one sample, not the column
    for share, told in ((0.45, False), (0.6, True)):  # the column is all of so many rows
        some = np.hstack([values, 1e6 * noise * (np.arange(300) < 300 * share)[:, None]])
        with warnings.catch_warnings(record=True, action="always") as said:
            check_views([other, kind(some)], incomplete=True, warns=True)
        assert bool(said) == told
    narrow = np.hstack([values[:, :4], 1e6 * noise])
    for view in (outlier, narrow, np.ones((300, 9)), np.zeros((300, 9)), 10 * values):
        check_views([other, kind(view)], incomplete=True, warns=True)  # without a warning
    check_views([np.hstack([values, 1e6 * noise]), other])  # a prediction says nothing


CODES = [-9, -99, -999, -9999, 99, 999, 9999, 1e20, -1e30, -777]


@hypothesis.given(
    code=st.sampled_from(CODES),
    rows=st.booleans(),
    answers=st.booleans(),
    seed=st.integers(0, 2**16),
)
@hypothesis.settings(deadline=None, max_examples=60)
def test_a_code_for_what_is_missing_is_named(code, rows, answers, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(1, 6, (90, 6)) if answers else rng.normal(size=(90, 6))
    coded = rng.random((90, 1) if rows else x.shape) < 0.2
    with pytest.warns(UserWarning, match=re.escape(f"the number {code:.15g} in")) as said:
        as_views([np.where(coded, code, x)], warns=True)
    assert len(said) == 1 and f"say missing={code:.15g} as" in str(said[0].message)


@hypothesis.given(
    kind=st.sampled_from(["counts", "words", "pixels", "scores"]), seed=st.integers(0, 2**16)
)
@hypothesis.settings(deadline=None, max_examples=60)
def test_what_is_usual_in_data_is_no_code(kind, seed):
    rng = np.random.default_rng(seed)
    x = {
        "counts": lambda: rng.poisson(rng.gamma(0.5, 2, 30), (80, 30)),
        "words": lambda: (rng.random((80, 30)) < 0.1) * rng.integers(1, 4, (80, 30)),
        "pixels": lambda: rng.normal(128, 90, (80, 30)).clip(0, 255).round(),
        "scores": lambda: rng.standard_t(3, (80, 30)),
    }[kind]()
    as_views([x], warns=True)  # every warning is an error here


def views():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(150, 7)), rng.normal(size=(150, 5))]


def test_what_counts_as_streamed(on_disk):
    assert all(is_on_disk(x) for kind in ("npy", "h5", "zarr") for x in on_disk(kind, views()))
    assert not any(map(is_on_disk, [views()[0], torch.ones(2, 2), [[1.0]], None]))


def test_bad_entries_are_found_where_they_are(on_disk, monkeypatch):
    monkeypatch.setattr(checks, "_NUMBERS", 12 * 40)
    first, bad = views()
    bad[77, 3] = np.nan  # behind the first block
    _, second = as_views(on_disk("npy", [first, bad]), streamed=True)
    with pytest.raises(ValueError, match=r"view 2 .*\(nan\) at row 77, column 3"):
        list(second)


@pytest.mark.parametrize("kind", ["npy", "h5", "zarr"])
def test_the_disk_does_not_matter(kind, on_disk, monkeypatch):
    monkeypatch.setattr("dmac.data.checks._NUMBERS", 2 * X.shape[1])  # blocks of two rows
    assert digest(as_views(on_disk(kind, [X]), streamed=True)) == digest([X])


def test_equal_numbers_are_equal_and_others_differ():
    same = [X, np.asfortranarray(X), X.astype(np.float32), np.repeat(X, 2, axis=1)[:, ::2]]
    assert len({digest([x]) for x in same}) == 1
    changed = X.copy()
    changed[3, 2] = np.nextafter(changed[3, 2], 9)
    others = [X, changed, X.T, X[::-1], X.ravel(), X.astype(int), scipy.sparse.csr_matrix(X)]
    assert len({digest([x]) for x in others}) == len(others)
    assert digest([X, X]) != digest([X]) and digest([X, changed]) != digest([changed, X])
    unsorted = scipy.sparse.csr_matrix((X[:1, 1:].ravel()[::-1], [2, 1], [0, 2]), (1, 3))
    assert digest([unsorted]) == digest([scipy.sparse.csc_matrix(X[:1])])
