"""The same runs scored in five ways, on runs whose answers are known."""

from toy_frames import grid_frame

from experiments import protocols


def test_protocols_leave_out_points_and_sets_that_are_not_complete():
    grid = grid_frame()
    part = grid[~((grid.variant == str((1.0, 1e3))) & (grid.seed == 2))]
    scores = protocols.score_runs(part)
    assert scores.points.max() == 2
    assert scores[scores.protocol == "grid"].acc.tolist() == [45, 45]
    assert protocols.score_runs(grid[grid.variant != str((1e3, 1e3))]).empty
