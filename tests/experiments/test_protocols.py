"""The same runs scored in five ways, on runs whose answers are known."""

from toy_frames import grid_frame

from experiments import protocols


def test_protocols_score_the_same_runs_in_five_ways():
    scores = protocols.score_runs(grid_frame())
    means = scores.groupby("protocol", observed=True)[["acc", "nmi"]].mean().round(9)
    assert means.loc["last epoch"].tolist() == [37, 57]
    assert means.loc["epoch"].tolist() == [40, 58]
    assert means.loc["epoch, each metric"].tolist() == [40, 60]
    assert means.loc["grid"].tolist() == [50, 59]
    assert means.loc["grid, each metric"].tolist() == [50, 70]
    gains = protocols.gains(scores).drop(columns="dataset").round(9)
    assert gains["grid, NMI"].tolist() == [1, 1] and gains["own place, NMI"].tolist() == [11, 11]


def test_protocols_leave_out_points_and_sets_that_are_not_complete():
    grid = grid_frame()
    part = grid[~((grid.variant == str((1.0, 1e3))) & (grid.seed == 2))]
    scores = protocols.score_runs(part)
    assert scores.points.max() == 2
    assert scores[scores.protocol == "grid"].acc.tolist() == [45, 45]
    assert protocols.score_runs(grid[grid.variant != str((1e3, 1e3))]).empty
