"""The same runs scored in five ways, on runs whose answers are known."""

from toy_frames import grid_frame

from dmac import findings, protocols, wording


def test_protocols_score_the_same_runs_in_five_ways():
    found = protocols.scored(grid_frame())
    means = found.groupby("protocol", observed=True)[["acc", "nmi"]].mean().round(9)
    assert means.loc["last epoch"].tolist() == [37, 57]
    assert means.loc["epoch"].tolist() == [40, 58]
    assert means.loc["epoch, each metric"].tolist() == [40, 60]
    assert means.loc["grid"].tolist() == [50, 59]
    assert means.loc["grid, each metric"].tolist() == [50, 70]
    assert found.points.max() == 3
    gains = protocols.gains(found).loc["PIE"].round(9)
    assert gains["epoch, ACC"] == 3 and gains["grid, ACC"] == 10
    assert gains["own epoch, NMI"] == 2
    shown = protocols.shown(found)
    assert shown.loc[("PIE", "ACC"), "(a) last epoch"] == "37.0 ± 0.0"
    assert shown.loc[("PIE", "ACC"), "the paper"] == "43.24"
    text = findings.protocols(found)
    assert "adds 3.0 points" in text and "6.8 points more than the paper's 43.24" in text


def test_protocols_leave_out_points_and_sets_that_are_not_complete():
    grid = grid_frame()
    part = grid[~((grid.variant == str((1.0, 1e3))) & (grid.seed == 2))]
    found = protocols.scored(part)
    assert found.points.max() == 2
    assert found[found.protocol == "grid"].acc.tolist() == [45, 45]
    without = grid[grid.variant != str((1e3, 1e3))]
    assert protocols.scored(without).empty
    assert findings.protocols(protocols.scored(without)) == wording.NOTHING
    assert protocols.shown(protocols.scored(without)).empty
