"""What sets clusters apart: closed forms, invariances, and one outlying sample."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

import dmac
from dmac import separation

LABELS = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 2])
REACH = 3 * 1.4826


def table(seed=0, n=10, d=4):
    return np.random.default_rng(seed).normal(size=(n, d))


def separate(*views, labels=LABELS):
    """The differences of each view, without the clusters."""
    return separation.standardized_differences(list(views), labels)[1]


def test_differences_in_closed_form():
    """A feature that is 1 in a cluster with the share p differs by 1 / sqrt(p (1 - p))."""
    (found,) = separate(np.eye(3)[LABELS])
    shares = np.array([0.3, 0.2, 0.5])
    np.testing.assert_allclose(np.diag(found), 1 / np.sqrt(shares * (1 - shares)))
    np.testing.assert_allclose(
        separate(np.eye(2)[LABELS // 2], labels=LABELS // 2)[0], [[2, -2], [-2, 2]]
    )
    # Of another cluster's feature: all of the cluster is 0, and p / (1 - own share) of the rest 1.
    assert found[0, 1] == pytest.approx(-(0.2 / 0.7) / np.sqrt(0.2 * 0.8))


def classical(x, labels):
    """Without robustness."""
    gaps = [x[labels == k].mean(0) - x[labels != k].mean(0) for k in np.unique(labels)]
    return np.array(gaps) / x.std(0)


def clusters(n=90, c=3, d=6, apart=4.0, seed=0):
    rng, labels = np.random.default_rng(seed), np.arange(n) % c
    return rng.normal(size=(n, d)) + apart * rng.normal(size=(c, d))[labels], labels


@pytest.mark.parametrize("n, apart", [(90, 0.3), (90, 30.0), (3000, 2.0)])
def test_of_gaussian_clusters_they_are_the_classical_ones(n, apart):
    x, labels = clusters(n, apart=apart)  # of a thousand values hardly three move
    np.testing.assert_allclose(separate(x, labels=labels)[0], classical(x, labels), atol=0.02)


def test_what_lies_far_from_its_cluster_is_moved_to_three_deviations():
    # The distances from the median are 1 in clusters 0 and 1, and in all; 3 in cluster 2.
    inner = np.repeat([-1.0, 0.0, 1.0], [10, 3, 10])
    x = np.concatenate([inner, inner + 2, 9 + 3 * inner, [-1e6, 50, 50]])
    labels = np.append(np.repeat([0, 1, 2], 23), [0, 1, 2])
    near = [-REACH + 1e-3, 2, 9 + 3 * REACH - 1e-3]
    for last in ([-REACH, 2 + REACH, 9 + 3 * REACH], near):
        expected = classical(np.append(x[:-3], last)[:, None], labels)
        found = separate(x[:, None] + 100, labels=labels)[0]  # a 0 would be a lacking view
        np.testing.assert_allclose(found, expected)
        x[-3:] = near  # next


@pytest.mark.parametrize("far, to", [([50, 60], [REACH, REACH]), ([50, 55, 60], [50, 55, 60])])
def test_a_cluster_of_two_has_the_median_and_spread_of_all(far, to):
    inner = np.repeat([-1.0, 0.0, 1.0], [10, 3, 10])
    labels = np.repeat([0, 1], [23, len(far)])
    x, expected = (np.append(inner, last)[:, None] for last in (far, to))
    np.testing.assert_allclose(separate(x + 100, labels=labels)[0], classical(expected, labels))


@pytest.mark.parametrize("kind", [np.array, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("size", [1e2, -1e9, 1e200])
def test_one_outlying_sample_levels_nothing(kind, size):
    x, labels = clusters()
    before = separate(kind(x), labels=labels)[0]
    assert np.abs(classical(np.vstack([x, np.full(6, 1e9)]), np.append(labels, 0))).max() < 0.5
    x[7] = size
    (after,) = separate(kind(x), labels=labels)
    np.testing.assert_allclose(after, before, atol=0.2)
    labels[7] = 3  # in a cluster of its own
    (alone,) = separate(kind(x), labels=labels)
    sure = abs(before) > 0.5
    assert sure.sum() > 9 and (alone[:3] / before)[sure].min() > 0.5
    assert (np.sign(size) * alone[3] > 1).all()


def test_counts_that_are_mostly_zero_are_not_moved_and_outliers_are():
    labels = np.arange(60) % 2
    x = np.zeros((60, 3))
    x[5, 2] = 1  # a single count
    x[:, 1] = np.arange(60) % 7 + 1  # or the samples would lack the view
    x[labels == 1, 0] = (np.arange(30) % 10 < 4) * (1 + np.arange(30) % 5)
    expected = classical(x, labels)
    np.testing.assert_allclose(separate(x, labels=labels)[0], expected)
    rounded = x + 3 + 1e-15 * np.random.default_rng(0).normal(size=x.shape)
    np.testing.assert_allclose(separate(rounded, labels=labels)[0], expected)
    x[0, 0] = 1e6  # of a cluster without any count
    assert (
        separate(x, labels=labels)[0][0, 0] < 0.3 * expected[0, 0] < 0 < classical(x, labels)[0, 0]
    )


def test_units_offsets_and_the_order_of_samples_change_nothing():
    x, labels = clusters()
    x[3] *= 50
    (found,) = separate(x, labels=labels)
    units, offsets = np.array([1, -1, 1e6, -1e-6, 1, 3.0]), np.array([0, 5, 0, 0, -1e3, 1.0])
    np.testing.assert_allclose(
        separate(units * x + offsets, labels=labels)[0], np.sign(units) * found, rtol=1e-8
    )
    order = np.random.default_rng(1).permutation(90)
    np.testing.assert_allclose(separate(x[order], labels=labels[order])[0], found, rtol=1e-9)


@pytest.mark.parametrize(
    "name, value, atol",
    [
        ("dmac.separation._NUMBERS", 1, 0),  # of features at a time
        ("dmac.separation._SAMPLES", 900, 0.02),  # all of them have a part in the medians
        ("dmac.compute.streaming._ROWS", 16, 1e-12),
    ],
)
def test_medians_of_some_samples_and_of_some_features_at_a_time_do(name, value, atol, monkeypatch):
    x, labels = clusters(900)
    x[:3] = 1e4
    (usual,) = separate(x, labels=labels)
    monkeypatch.setattr(name, value)
    np.testing.assert_allclose(separate(x, labels=labels)[0], usual, rtol=0, atol=atol)


def test_sparse_views_and_views_on_disk_give_what_dense_ones_give(on_disk, monkeypatch):
    x = np.maximum(table(d=6), 0) + np.eye(10, 6)
    x[4] = 0
    x[5:, 0] = 30, 31, 29, 30, 0  # the zero lies far from its cluster, and is moved
    (dense,) = separate(x)
    np.testing.assert_allclose(separate(*on_disk("npy", [x]))[0], dense)
    stored = scipy.sparse.csr_matrix(([0.0], ([0], [2])), (1, 6))  # a zero that is stored
    rows = [scipy.sparse.csr_matrix(x[:4]), stored, scipy.sparse.csr_matrix(x[5:])]
    kept = scipy.sparse.vstack(rows, "csr")
    as_array = scipy.sparse.csr_matrix.toarray

    def small(self, *more, **options):
        assert self.shape[0] < 10, "a sparse view was made dense"
        return as_array(self, *more, **options)

    monkeypatch.setattr(scipy.sparse.csr_matrix, "toarray", small)
    np.testing.assert_allclose(separate(kept)[0], dense)


@pytest.mark.parametrize("value", [0.1, -3.0, 1e9, 0.0])
@pytest.mark.parametrize("kind", [np.array, scipy.sparse.csr_matrix])
def test_features_that_are_constant_but_for_rounding_differ_by_zero(value, kind):
    x = np.column_stack([table(d=1), np.full(10, value)])
    x[0, 1] *= 1 + 1e-13
    (found,) = separate(kind(x))
    assert (found[:, 1] == 0).all() and (found[:, 0] != 0).all()


def test_samples_that_lack_a_view_are_left_out():
    x, y = table(), table(1)
    x[[1, 7]] = 0
    has = [0, 2, 3, 4, 5, 6, 8, 9]
    found = separate(x, y)
    np.testing.assert_allclose(found[0], separate(x[has], labels=LABELS[has])[0])
    np.testing.assert_allclose(found[1], separate(y)[0])
    x[[3, 4]] = 0  # all of cluster 1
    assert np.isnan(separate(x, y)[0]).all(1).tolist() == [False, True, False]


def test_table_of_what_separates():
    x = table()
    x[LABELS == 1, 2] += 50
    frame = pd.DataFrame(x, columns=["a", "b", "c", "d"])
    words = np.array(["one", "two", "three"])[LABELS]
    found = dmac.features_that_separate([frame, table(1, d=2)], words)
    assert list(found) == ["cluster", "view", "feature", "difference"] and len(found) == 3 * 6
    assert found.iloc[0, :3].tolist() == ["two", 1, "c"] and found.difference[0] > 2
    assert found.difference.abs().is_monotonic_decreasing
    assert set(found.feature[found.view == 2]) == {0, 1}
    clusters, (gaps, _) = separation.standardized_differences([frame, table(1, d=2)], words)
    assert clusters.tolist() == ["one", "three", "two"]
    of_a = found[(found.view == 1) & (found.feature == "a")].set_index("cluster").difference
    np.testing.assert_array_equal(of_a[clusters], gaps[:, 0])
    labels, named = torch.as_tensor(LABELS), [list("pqrs")]
    found = dmac.features_that_separate(x, labels, view_names=["genes"], feature_names=named)
    assert found.iloc[0, :3].tolist() == [1, "genes", "r"]
    found = dmac.features_that_separate([x, frame], labels, feature_names=[*named, None])
    assert set(found.feature[found.view == 2]) == {0, 1, 2, 3}
    x[LABELS == 1] = 0
    found = dmac.features_that_separate([x], LABELS)
    assert found.difference[-4:].isna().all() and (found.cluster[-4:] == 1).all()


@pytest.mark.parametrize(
    "labels, more, says",
    [
        (np.zeros(10, int), {}, "all samples are in one cluster"),
        (LABELS[:9], {}, "labels: 9 of them, but there are 10 samples"),
        (LABELS, {"view_names": ["a"]}, "view_names has 1 entries, and there are 2 views"),
        (LABELS, {"feature_names": ["abcd"]}, "feature_names has 1 entries"),
        (LABELS, {"feature_names": ["abcd", "ab"]}, "view 2 has 4 features, and 2 names"),
    ],
)
def test_what_cannot_be_compared(labels, more, says):
    with pytest.raises(ValueError, match=says):
        dmac.features_that_separate([table(), table()], labels, **more)


def test_labels_with_names_are_lined_up_with_the_frames():
    x, labels = clusters()
    (found,) = separate(pd.DataFrame(x), labels=pd.Series(labels).sample(frac=1, random_state=0))
    np.testing.assert_array_equal(found, separate(x, labels=labels)[0])


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
def test_differences_of_values_whose_squares_overflow_or_vanish(kind):
    x, labels = clusters(30, d=4)
    x[np.arange(30) % 5 < 3, 3] = 0
    (expected,) = separate(kind(abs(x)), labels=labels)
    (found,) = separate(kind(abs(x) * [1, 1e300, 1e306, 1e-200]), labels=labels)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
