"""Arrays on disk: what counts as one, its blocks, and what is refused."""

import numpy as np
import pytest
import torch

from dmac.data import disk
from dmac.data.checks import check_views
from dmac.data.disk import is_streamed


def views():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(150, 7)), rng.normal(size=(150, 5))]


def test_what_counts_as_streamed(on_disk):
    kinds = ("npy", "h5", "zarr")
    assert all(is_streamed(x) for kind in kinds for x in on_disk(kind, views()))
    assert not any(map(is_streamed, [views()[0], torch.ones(2, 2), [[1.0]], None]))


def test_bad_entries_are_found_where_they_are(on_disk, monkeypatch):
    monkeypatch.setattr(disk, "_NUMBERS", 12 * 40)
    bad = views()[1]
    bad[77, 3] = np.nan  # behind the first block
    _, second = check_views(on_disk("npy", [views()[0], bad]), streamed=True)
    with pytest.raises(ValueError, match=r"view 2 .*\(nan\) at row 77, column 3"):
        list(second.blocks())
