"""The grids behind published numbers, and the table that has them beside ours."""

import numpy as np
import pytest
from toy_frames import frame, several

from dmac import peers
from dmac.experiments import field, paper, plan
from dmac.experiments.run import PEERS, peer_settings


@pytest.mark.parametrize("c", field.CLUSTERS.values())
def test_every_point_of_a_grid_can_be_fitted(c):
    points = field.grid(c)
    assert {system for system, _ in points.values()} == set(paper.SHALLOW) - {"GMC"}
    for system, settings in points.values():
        assert settings.keys() == peer_settings(system).keys()
        peers.ALL[system](c, **settings)._check(600)  # raises where a value is not usable
    assert len({repr(run) for run in points.values()}) == len(points)


def test_grids_have_the_published_values():
    points = [settings for system, settings in field.grid(5).values() if system == "LMVSC"]
    assert {(s["n_anchors"], s["alpha"]) for s in points} == {
        (m, alpha) for m in (5, 50, 100) for alpha in (0.01, 1.0, 100.0)
    }
    assert min(s["n_anchors"] for m, s in field.grid(68).values() if m == "LMVSC") == 68


def test_the_plan_lists_the_groups_on_their_data_sets():
    stages = plan.full()
    for name, group in field.GROUPS.items():
        found = {(s.dataset, s.seed) for s in stages[name]}
        assert found == {(d, seed) for d in group["datasets"] for seed in group["seeds"]}
        assert {s.method for s in stages[name]} <= set(PEERS)
    assert plan.full(["mfeat"])["CMGEC, cosine"] == []


def test_published_numbers_stand_beside_ours_and_the_best_of_the_grid():
    runs = frame(several("PIE", "LMVSC", [40.0, 44.0]))
    points = frame([
        *several("PIE", "LMVSC, a", [50.0, 52.0]),
        *several("PIE", "LMVSC, b", [10.0, 90.0]),
    ])
    points["method"] = "LMVSC"
    table = field.beside_published(runs, {"PIE": points})
    row = table.loc[("LMVSC", "PIE")]
    assert row.published == 36.32 and row.fixed == 42 and row.seeds == 2
    assert row.oracle == 51 and row.point == "LMVSC, a"
    assert np.isnan(table.loc[("LMVSC", "BBC")].fixed) and table.loc[("GMC", "PIE")].seeds == 0
    assert len(table) == 18
    # The defaults are a point, too.
    points["acc"] = 20.0
    row = field.beside_published(runs, {"PIE": points}).loc[("LMVSC", "PIE")]
    assert row.oracle == 42 and row.point == "the defaults"
