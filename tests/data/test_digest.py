"""The hash of a data set: equal for equal numbers, and for no others."""

import numpy as np
import pytest
import scipy.sparse

from dmac.data.digest import digest
from dmac.data.disk import StreamedArray

X = np.arange(12.0).reshape(4, 3) % 5


@pytest.mark.parametrize("kind", ["npy", "h5", "zarr"])
def test_the_disk_does_not_matter(kind, on_disk, monkeypatch):
    monkeypatch.setattr("dmac.data.disk._NUMBERS", 2 * X.shape[1])  # blocks of two rows
    (source,) = on_disk(kind, [X])
    assert digest([StreamedArray(source)]) == digest([X])


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
