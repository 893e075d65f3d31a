"""Views on the way to a solver: shuffled, in memory, on disk, in several processes."""

import numpy as np
import torch
from helpers import positive_views

from dmac.data import disk
from dmac.data.disk import StreamedArray
from dmac.data.levels import LevelPipeline
from dmac.data.pipeline import ViewPipeline
from dmac.solvers import preparing


def test_a_process_keeps_its_samples_of_a_view_on_disk(on_disk, monkeypatch):
    """Samples in random order, read in blocks of which some hold none of this process."""
    x = np.abs(np.random.default_rng(0).normal(size=(60, 7)))
    order = np.random.default_rng(1).permutation(60)
    monkeypatch.setattr(disk, "_NUMBERS", 4 * x.shape[1])
    monkeypatch.setattr(preparing.parallel, "my_rows", lambda n: slice(20, 27))
    (source,) = on_disk("npy", [x])
    cpu, dtype = torch.device("cpu"), torch.float64
    mine = preparing._whole(ViewPipeline(), StreamedArray(source), order, cpu, dtype)
    expected = ViewPipeline().fit_transform(x)[order[20:27]]
    np.testing.assert_allclose(mine.numpy(), expected, rtol=1e-12)


def test_views_of_many_samples_are_prepared_in_blocks_and_released(monkeypatch):
    """The same features, without a copy of a view; what is prepared leaves the list."""
    found, order = [], np.random.default_rng(1).permutation(60)
    for many in (100, 10):
        monkeypatch.setattr(preparing.parallel, "MANY", many)
        monkeypatch.setattr(disk, "_NUMBERS", 50)
        kept = positive_views(60, (7, 4))
        kept[0][5] = 0
        pipelines = [LevelPipeline(True, "both", 3, 0.1, 4) for _ in kept]
        given = order, torch.device("cpu"), torch.float64
        found.append(preparing.prepare(kept, pipelines, *given, release=many == 10).views)
        assert [x is None for x in kept] == [many == 10] * 2
    for whole, blocks in zip(*found):
        torch.testing.assert_close(whole, blocks, rtol=1e-9, atol=1e-9)


def test_the_way_back_undoes_the_shuffle(generator):
    order = preparing.shuffled(50, generator)
    assert sorted(order) == list(range(50)) and (order != np.arange(50)).any()
    assert (preparing.shuffled(50, generator) != order).any()  # the seed decides
    x = np.abs(np.random.default_rng(0).normal(size=(50, 3)))
    prepared = preparing.prepare([x], [ViewPipeline()], order, torch.device("cpu"), torch.float64)
    np.testing.assert_allclose(
        prepared.views[0].numpy()[prepared.back], ViewPipeline().fit_transform(x), rtol=1e-12
    )
