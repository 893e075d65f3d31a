"""The grid of the two weights and single numbers, on runs whose answers are known."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from toy_frames import frame, several

from dmac.experiments import sensitivity, wording
from dmac.recipes import RELEASED


def grid(values, dataset="PIE"):
    """Runs of two seeds over weights of CM (rows) and of the structure (columns)."""
    rows = []
    for cm, line in zip((1.0, 1e3), values):
        for sp, acc in zip((1.0, 10.0, 1e3), line):
            settings = {"cm_weight": cm, "sp_weight": sp}
            more = {"oracle_acc": acc, "settings": settings}
            rows += several(dataset, str((cm, sp)), [acc - 1, acc + 1], **more)
    return frame(rows)


def test_shares_of_the_variance():
    means = pd.DataFrame(np.add.outer([0.0, 1.0, 2.0], [0.0, 10.0, 20.0]))
    rows, columns, rest = sensitivity.shares(means)
    assert rows == pytest.approx(1 / 101) and columns == pytest.approx(100 / 101)
    assert rest == pytest.approx(0, abs=1e-12)
    assert np.isnan(sensitivity.shares(means.mask(means == 0))[0])


def test_weights_are_summed_up_with_ties():
    table = sensitivity.weights(grid([[30, 50, 40], [30, 50, 41]]))
    row = table.loc["PIE"]
    assert (RELEASED.cm_weight, RELEASED.sp_weight) == (1e3, 1e3)
    assert row[["lowest", "highest", "RELEASED", "points"]].tolist() == ["30.0", "50.0", "41.0", 6]
    assert row["at structure weight"] == "10" and row["share of CM"] == "0 %"
    tied = sensitivity.weights(grid([[50, 50, 40], [30, 30, 40]]), "oracle_acc").loc["PIE"]
    assert tied["at structure weight"] == "1, 10"


def test_finding_compares_with_the_paper():
    small = sensitivity.finding(grid([[30, 50, 40], [30, 50, 41]]))
    assert "that of CM for 0 %, as in the paper" in small
    assert "the best structure weight is 10, and the largest, 1000, is 9.5 points below" in small
    large = sensitivity.finding(grid([[30, 30, 41], [40, 40, 52]]))
    assert "the largest structure weight, 1000, is the best, as in the paper" in large
    turned = sensitivity.finding(grid([[30, 30, 30], [40, 40, 41]]))
    assert "unlike in the paper" in turned
    assert sensitivity.finding(grid([[30, 50, 40]])) == "No data set has the whole grid yet."
    assert sensitivity.finding(grid([[30, 50, 40]]).iloc[:0]) == wording.NOTHING


def test_spreads_are_tested_against_the_seeds():
    groups = {"k": {2: None, 5: None}, "learning rate": {0.1: None, 1.0: None}}
    found = {
        "k = 2": [30.0, 31, 32], "k = 5": [31.0, 30, 33.5],
        "learning rate = 0.1": [10.0, 10.5, 11], "learning rate = 1.0": [50.0, 51, 50.5],
    }  # fmt: skip
    runs = frame([row for name, values in found.items() for row in several("PIE", name, values)])
    table = sensitivity.spreads(runs, groups)
    assert table.loc[("k", "PIE"), "spread"] == pytest.approx(0.5)
    p = [stats.f_oneway(*some).pvalue for some in np.reshape(list(found.values()), (2, 2, 3))]
    assert table.p.tolist() == [pytest.approx(p[0]), pytest.approx(2 * p[1])]
    shown = sensitivity.spreads_shown(table)
    assert shown.loc[("learning rate", "PIE")].tolist() == ["40.0", "1", "< 0.001"]
    said = sensitivity.lines_finding(table)
    assert "number k moves the mean accuracy by up to 0.5 points (on PIE, best at 5); these" in said
    assert "(on PIE, best at 1); that is more than the scatter of the seeds on PIE." in said
    one = sensitivity.spreads(runs[runs.seed == 1], groups)
    assert one.p.isna().all() and "one seed cannot tell" in sensitivity.lines_finding(one)
    assert sensitivity.lines_finding(sensitivity.spreads(runs, {})) == wording.NOTHING
