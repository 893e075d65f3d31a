"""The same runs scored in five ways, on runs whose answers are known."""

from toy_frames import grid_frame

from dmac.experiments import protocols, wording


def test_protocols_score_the_same_runs_in_five_ways():
    found = protocols.scored(grid_frame())
    means = found.groupby("protocol", observed=True)[["acc", "nmi"]].mean().round(9)
    assert means.loc["last epoch"].tolist() == [37, 57]
    assert means.loc["epoch"].tolist() == [40, 58]
    assert means.loc["epoch, each metric"].tolist() == [40, 60]
    assert means.loc["grid"].tolist() == [50, 59]
    assert means.loc["grid, each metric"].tolist() == [50, 70]
    assert found.points.max() == 3
    gains = protocols.added(found).drop(columns="dataset").round(9)
    assert gains["epoch, ACC"].tolist() == [3, 3] and gains["grid, ACC"].tolist() == [10, 10]
    assert gains["own epoch, NMI"].tolist() == [2, 2]
    assert gains["grid, NMI"].tolist() == [1, 1] and gains["own place, NMI"].tolist() == [11, 11]
    assert protocols.gains(found).loc["PIE", "own place, NMI"] == "+11.0 ± 0.0"
    shown = protocols.shown(found)
    assert shown.loc[("PIE", "ACC"), "(a) last epoch"] == "37.0 ± 0.0"
    assert shown.loc[("PIE", "ACC"), "the paper"] == "43.24"
    text = protocols.finding(found)
    assert "weights and an epoch of its own" in text and "up to 11.0 points (on PIE)" in text
    assert "adds 3.0 ± 0.0 points" in text and "6.8 points more than the paper's 43.24" in text


def test_protocols_leave_out_points_and_sets_that_are_not_complete():
    grid = grid_frame()
    part = grid[~((grid.variant == str((1.0, 1e3))) & (grid.seed == 2))]
    found = protocols.scored(part)
    assert found.points.max() == 2
    assert found[found.protocol == "grid"].acc.tolist() == [45, 45]
    without = grid[grid.variant != str((1e3, 1e3))]
    assert protocols.scored(without).empty
    assert protocols.finding(protocols.scored(without)) == wording.NOTHING
    assert protocols.gains(protocols.scored(without)).empty
    assert protocols.shown(protocols.scored(without)).empty


def test_without_a_grid_only_the_epoch_is_chosen():
    own = grid_frame()
    own = own[own.variant == str((1e3, 1e3))]
    found = protocols.scored(own)
    assert list(protocols.gains(found)) == ["epoch, ACC", "epoch, NMI", "own epoch, NMI"]
    text = protocols.finding(found)
    assert "pairs of weights" not in text and "NMI at an epoch of its own" in text


def test_one_seed_has_no_interval():
    found = protocols.scored(grid_frame(seeds=(1,)))
    assert protocols.gains(found).loc["PIE", "grid, ACC"] == "+10.0"
    assert "the epoch adds 3.0 points of accuracy" in protocols.finding(found)
