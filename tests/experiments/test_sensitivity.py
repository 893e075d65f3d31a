"""Shares of a variance, and the test of one number of a recipe."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from toy_frames import frame, several

from experiments import sensitivity


def test_shares_of_the_variance():
    means = pd.DataFrame(np.add.outer([0.0, 1.0, 2.0], [0.0, 10.0, 20.0]))
    rows, columns, rest = sensitivity.shares(means)
    assert rows == pytest.approx(1 / 101) and columns == pytest.approx(100 / 101)
    assert rest == pytest.approx(0, abs=1e-12)
    assert np.isnan(sensitivity.shares(means.mask(means == 0))[0])


def test_spreads_are_tested_with_the_seed_as_a_block():
    groups = {"k": {2: None, 5: None}, "learning rate": {0.1: None, 1.0: None}}
    scores = {
        "k = 2": [30.0, 31, 32],
        "k = 5": [31.0, 30, 33.5],
        "learning rate = 0.1": [10.0, 10.5, 11],
        "learning rate = 1.0": [50.0, 51, 50.5],
    }
    runs = frame([row for name, values in scores.items() for row in several("PIE", name, values)])
    table = sensitivity.spreads(runs, groups)
    assert table.loc[("k", "PIE"), "spread"] == pytest.approx(0.5)
    pairs = np.reshape(list(scores.values()), (2, 2, 3))
    p = [stats.ttest_rel(*pair).pvalue for pair in pairs]
    assert table.p.tolist() == [pytest.approx(p[0]), pytest.approx(2 * p[1])]
    # A seed that one value lacks is left out of the test, and not of the means.
    lacking = runs[~((runs.variant == "k = 5") & (runs.seed == 3))]
    part = sensitivity.spreads(lacking, {"k": groups["k"]}).loc[("k", "PIE")]
    assert part.spread == pytest.approx(0.5) and part.best == "2"
    assert part.p == pytest.approx(stats.ttest_rel([30.0, 31], [31.0, 30]).pvalue)
