"""What tables and figures compute of runs: numbers, cells, protocols, times, anchors."""

import numpy as np
import pandas as pd
import pytest
from toy_frames import bold, frame, grid_frame, several, three_variants

from experiments import geometry, protocols, tables, times


def test_cells_are_mean_and_sample_deviation_with_what_is_missing():
    runs = three_variants()
    failed = {"dataset": "PIE", "variant": "DMAC", "seed": 3, "error": "FloatingPointError"}
    lacking = frame([*several("PIE", "DMAC", [30.0, 32.0]), failed], seeds=3)
    for given, asked, cell, text in (
        (runs, ["acc"], ("PIE", "k-means"), "22.0 ± 2.0"),
        (runs, ["acc"], ("BBC", "DMAC"), "90.5 ± 0.7 (2)"),
        (runs, ["nmi", "variant", "dataset"], ("closed", "PIE"), "82.0 ± 2.6"),
        (runs[runs.seed == 1], ["acc"], ("PIE", "DMAC"), "30.0 (1)"),
        (lacking, ["acc"], ("PIE", "DMAC"), "31.0 ± 1.4 (1 failed)"),
    ):
        assert tables.format_scores(given, *asked).loc[cell] == text
    assert set(tables.format_scores(runs, "oracle_acc").to_numpy().ravel()) == {"–"}


def test_best_are_bold_and_equal_ones_all_of_them():
    values = pd.DataFrame({"a": [1.04, np.nan], "b": [1.0, 3.0], "c": [0.9, 2.0]}, ["x", "y"])
    table = tables.mark_best(values.map("{:.1f}".format), values)
    assert bold(table) == {("x", "a"), ("x", "b"), ("y", "b")}


@pytest.mark.parametrize(
    "x, digits, text",
    [
        *((5.0, 2, "5"), (0.0, 1, "0"), (15.99, 3, "16"), (100.0, 3, "100"), (-0.5, 2, "−0.5")),
        *((3e-10, 1, "3 × 10⁻¹⁰"), (1e-17, 2, "10⁻¹⁷"), (123456, 2, "1.2 × 10⁵")),
        *((-2.34e-7, 2, "−2.3 × 10⁻⁷"), (9.99e-4, 2, "0.001"), (float("nan"), 2, "–")),
    ],
)
def test_numbers_have_few_digits_and_powers_of_ten(x, digits, text):
    assert tables.format_number(x, digits) == text


def test_protocols_leave_out_points_and_sets_that_are_not_complete():
    grid = grid_frame()
    scores = protocols.score_runs(grid[~((grid.variant == str((1.0, 1e3))) & (grid.seed == 2))])
    assert scores.points.max() == 2
    assert scores[scores.protocol == "grid"].acc.tolist() == [45, 45]
    assert protocols.score_runs(grid[grid.variant != str((1e3, 1e3))]).empty


def test_a_system_is_compared_on_the_data_sets_that_it_finished():
    names = ("system", "dataset", "seconds", "acc")
    rows = ("A", "PIE", 2.0, 0.8), ("A", "BBC", 8.0, 0.9), ("B", "PIE", 0.5, 0.6)
    fits = [dict(zip(names, row)) | {"threads": 1} for row in rows]
    fits.append({"system": "B", "dataset": "BBC", "threads": 1, "error": "more than 40 s"})
    relative = times.relative_to({"fits": fits}, "A")
    assert relative.sets.tolist() == [2, 1]
    np.testing.assert_allclose(relative.seconds, [1, 0.25])
    np.testing.assert_allclose(relative.acc, [0, -20], atol=1e-9)


def test_similarity_is_sorted_by_class_and_centred():
    anchors = np.array([[1.0, 0.1], [1.0, -0.1], [1.0, 0.1], [1.0, -0.1]])
    raw, centred, classes = geometry.similarity(anchors, np.array([1, 0, 1, 0]))
    assert classes.tolist() == [0, 0, 1, 1] and raw.min() > 0.97
    np.testing.assert_allclose(centred, np.kron([[1, -1], [-1, 1]], np.ones((2, 2))), atol=1e-12)
