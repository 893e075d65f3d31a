"""Numbers, cells and bold ones of all tables."""

import numpy as np
import pandas as pd
import pytest
from toy_frames import bold, frame, several, three_variants

from experiments import tables


@pytest.fixture
def runs():
    return three_variants()


def test_cells_are_mean_and_sample_deviation_with_what_is_missing(runs):
    table = tables.format_scores(runs, "acc")
    assert table.loc["PIE", "k-means"] == "22.0 ± 2.0"
    assert table.loc["BBC", "DMAC"] == "90.5 ± 0.7 (2)"
    turned = tables.format_scores(runs, "nmi", "variant", "dataset")
    assert turned.loc["closed", "PIE"] == "82.0 ± 2.6"
    assert set(tables.format_scores(runs, "oracle_acc").to_numpy().ravel()) == {"–"}
    assert tables.format_scores(runs[runs.seed == 1], "acc").loc["PIE", "DMAC"] == "30.0 (1)"
    failed = {"dataset": "PIE", "variant": "DMAC", "seed": 3, "error": "FloatingPointError"}
    lacking = frame([*several("PIE", "DMAC", [30.0, 32.0]), failed], seeds=3)
    assert tables.format_scores(lacking, "acc").loc["PIE", "DMAC"] == "31.0 ± 1.4 (1 failed)"


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
