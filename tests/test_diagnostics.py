"""Collapse measures on embeddings whose measures are known."""

import math

import numpy as np
import pytest
import scipy.sparse
import torch
from helpers import problems, random_points
from hypothesis import given

import dmac
from dmac import diagnostics


@given(problems)
def test_mean_cosine_is_the_mean_over_pairs(problem):
    n, m, d, seed, _ = problem
    z = random_points(n, m, d, seed)[0].detach()
    unit = z / z.norm(dim=1, keepdim=True)
    pairs = (unit @ unit.T)[~torch.eye(n, dtype=bool)]
    assert diagnostics.mean_cosine(z) == pytest.approx(float(pairs.mean()), abs=1e-12)


def test_effective_rank_is_the_exponential_of_the_entropy():
    z = torch.diag(torch.tensor([3.0, 1.0]))
    p = np.array([0.75, 0.25])
    assert diagnostics.effective_rank(z) == pytest.approx(math.exp(-(p * np.log(p)).sum()))


def test_zero_embedding():
    assert diagnostics.effective_rank(torch.zeros(4, 3)) == 0
    assert diagnostics.mean_cosine(torch.zeros(4, 3)) == 0


def test_singular_values_of_the_centred_rows():
    z = torch.randn(20, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    expected = np.linalg.svd((z - z.mean(0)).numpy(), compute_uv=False)
    np.testing.assert_allclose(diagnostics.singular_values(z), expected)
    raw = np.linalg.svd(z.numpy(), compute_uv=False)
    np.testing.assert_allclose(diagnostics.singular_values(z, centred=False), raw)


def test_empty_anchors_counts_zero_columns():
    assert diagnostics.empty_anchors(torch.tensor([0.0, 2.0, 0.0, 1e-30])) == 2


def test_one_row_has_no_pairs():
    with pytest.raises(ValueError, match="two rows"):
        diagnostics.mean_cosine(torch.ones(1, 3))
    assert diagnostics.mean_cosine(torch.tensor([[1.0, 0], [3, 4]])) == pytest.approx(0.6)


LABELS = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 2])


def table(seed=0, n=10, d=4):
    return np.random.default_rng(seed).normal(size=(n, d))


def separate(*views, labels=LABELS):
    """The differences of each view, without the clusters."""
    return diagnostics.standardized_differences(list(views), labels)[1]


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


def test_differences_are_those_of_the_definition():
    x = table() * [1, 100, 0.01, 1] + [0, 0, 0, 1e6]
    (found,) = separate(x)
    for k in range(3):
        mine, rest = x[k == LABELS], x[k != LABELS]
        np.testing.assert_allclose(found[k], (mine.mean(0) - rest.mean(0)) / x.std(0), atol=1e-8)
    np.testing.assert_allclose(separate(5 * x - 3)[0], found, atol=1e-8)


def test_sparse_views_and_views_on_disk_give_what_dense_ones_give(tmp_path, monkeypatch):
    x = np.maximum(table(d=6), 0) + np.eye(10, 6)
    x[4] = 0
    (dense,) = separate(x)
    np.save(tmp_path / "x.npy", x)
    np.testing.assert_allclose(separate(np.load(tmp_path / "x.npy", mmap_mode="r"))[0], dense)
    kept = scipy.sparse.csr_matrix(x)
    kept = scipy.sparse.vstack([kept[:4], scipy.sparse.csr_matrix(([0.0], ([0], [2])), (1, 6))])
    kept = scipy.sparse.vstack([kept, scipy.sparse.csr_matrix(x[5:])]).tocsr()  # with a stored 0
    as_array = scipy.sparse.csr_matrix.toarray

    def small(self, *more, **options):
        assert self.shape[0] < 10, "a sparse view was made dense"
        return as_array(self, *more, **options)

    monkeypatch.setattr(scipy.sparse.csr_matrix, "toarray", small)
    np.testing.assert_allclose(separate(kept)[0], dense)


def test_views_in_blocks_give_what_whole_ones_give(monkeypatch):
    x, labels = table(n=90), np.arange(90) % 3
    (whole,) = separate(x, labels=labels)
    monkeypatch.setattr("dmac.compute.streaming._ROWS", 16)
    (parts,) = separate(x, labels=labels)
    np.testing.assert_allclose(parts, whole, atol=1e-12)


@pytest.mark.parametrize("value", [0.1, -3.0, 1e9, 0.0])
@pytest.mark.parametrize("kind", [np.array, scipy.sparse.csr_matrix])
def test_constant_features_differ_by_zero(value, kind):
    x = np.column_stack([table(d=1), np.full(10, value)])
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
    pd = pytest.importorskip("pandas")
    x = table()
    x[LABELS == 1, 2] += 50
    frame = pd.DataFrame(x, columns=["a", "b", "c", "d"])
    words = np.array(["one", "two", "three"])[LABELS]
    found = dmac.features_that_separate([frame, table(1, d=2)], words)
    assert list(found) == ["cluster", "view", "feature", "difference"] and len(found) == 3 * 6
    assert found.iloc[0, :3].tolist() == ["two", 1, "c"] and found.difference[0] > 2
    sizes = found.difference.abs()
    assert (sizes.to_numpy()[:-1] >= sizes.to_numpy()[1:]).all()
    assert set(found.feature[found.view == 2]) == {0, 1}
    clusters, (gaps, _) = diagnostics.standardized_differences([frame, table(1, d=2)], words)
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
    pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=says):
        dmac.features_that_separate([table(), table()], labels, **more)


def test_labels_with_names_are_lined_up_with_the_frames():
    pandas = pytest.importorskip("pandas")
    rng, labels = np.random.default_rng(0), np.arange(30) % 3
    frame = pandas.DataFrame(rng.normal(size=(30, 4)) + labels[:, None])

    def gaps(view, labels):
        return diagnostics.standardized_differences([view], labels)[1][0]

    expected, series = gaps(frame, labels), pandas.Series(labels, frame.index)
    shuffled = series.iloc[rng.permutation(30)]
    for one in (shuffled, series, pandas.Series(labels, range(5, 35))):
        np.testing.assert_array_equal(gaps(frame, one), expected)
    assert not np.array_equal(gaps(frame.to_numpy(), shuffled), expected)


def test_data_without_clusters_have_the_means_and_covariances_of_the_views():
    views = [table(d=3), table(1, d=2) @ [[1.0, 2], [0, 1]] + 5]
    drawn = [np.hstack(diagnostics.gaussian_like(views, seed)) for seed in range(2000)]
    x, y = np.hstack(views), np.vstack(drawn)
    np.testing.assert_allclose(y.mean(0), x.mean(0), atol=0.1)
    np.testing.assert_allclose(np.cov(y.T), np.cov(x.T), atol=0.1)
    counts = scipy.sparse.csr_matrix(np.arange(30.0).reshape(10, 3) % 4)
    lacking = table() + 1e-9
    lacking[:3] = 0
    of_counts, of_lacking = diagnostics.gaussian_like([counts, lacking], 0)
    assert of_counts.min() == 0 and not of_lacking[:3].any() and of_lacking[3:].all()


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
def test_differences_of_values_whose_squares_overflow(kind):
    rng, labels = np.random.default_rng(0), np.arange(30) % 3
    x = np.abs(rng.normal(size=(30, 4)) + labels[:, None])
    expected = diagnostics.standardized_differences([kind(x)], labels)[1][0]
    found = diagnostics.standardized_differences([kind(x * [1, 1e300, 1e307, 1e5])], labels)[1][0]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
