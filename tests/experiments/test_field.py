"""The grids behind published numbers."""

import pytest

from dmac import peers
from experiments import field, paper, plan
from experiments.run import PEERS, peer_settings


@pytest.mark.parametrize("c", field.CLUSTERS.values())
def test_every_point_of_a_grid_can_be_fitted(c):
    points = field.grid(c)
    assert {system for system, _ in points.values()} == set(paper.SHALLOW) - {"GMC"}
    for system, settings in points.values():
        assert settings.keys() == peer_settings(system).keys()
        peers.ALL[system](c, **settings)._check(600)  # raises where a value is not usable
    assert len({repr(run) for run in points.values()}) == len(points)


def test_stored_runs_with_defaults_of_before_are_still_asked_for():
    assert plan.DEEP_PEERS["CMGEC"][1] == peer_settings("CMGEC", metric="euclidean")
    assert field.COSINE["CMGEC, cosine"][1] == peer_settings("CMGEC")
    (tenth,) = field.COSINE_TENTH.values()
    assert tenth[1] == plan.SHORT_PEERS["CMGEC"][1] | {"metric": "cosine"}
    assert all(plan.is_short(s) for s in plan.full()["CMGEC, cosine, a tenth"])
    for system, settings in field.grid(5).values():
        if system == "MSGL" and settings["normalize"]:
            assert settings["beta"] is None


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
