"""Views on the way to a solver: shuffled, prepared, released."""

import numpy as np
import torch
from helpers import positive_views

from dmac.data.checks import as_views
from dmac.data.levels import LevelPipeline
from dmac.solvers import preparing


def test_views_that_are_prepared_leave_the_list_if_asked():
    """The same features, without a copy of a view."""
    found, order = [], np.random.default_rng(1).permutation(60)
    for release in (False, True):
        views = positive_views(60, (7, 4))
        views[0][5] = 0
        kept = as_views(views)
        pipelines = [LevelPipeline(True, "both", 3, 0.1, 4) for _ in kept]
        given = order, torch.device("cpu"), torch.float64
        found.append(preparing.prepare(kept, pipelines, *given, release=release).views)
        assert [len(x.values) == 0 for x in kept] == [release] * 2
    for one, other in zip(*found):
        assert torch.equal(one, other)


def test_samples_are_shuffled_by_the_generator(generator):
    """The way back is in every test that predicts what was fitted."""
    order = preparing.shuffled(50, generator)
    assert sorted(order) == list(range(50)) and (order != np.arange(50)).any()
    assert (preparing.shuffled(50, generator) != order).any()
