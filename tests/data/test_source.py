"""Checked views: what counts as on disk, its blocks, what is refused, and the hash of data."""

import numpy as np
import pytest
import scipy.sparse
import torch

from dmac.data import checks
from dmac.data.checks import as_views, digest, is_on_disk


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


X = np.arange(12.0).reshape(4, 3) % 5


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
