"""The stored rows about small groups, and one of them made again."""

import itertools

import numpy as np
import pandas as pd
from rare_groups import DISTANCES, FILE, SEEDS, SMALL, two_groups

import dmac


def test_rows_are_whole_and_one_comes_out_again():
    rows = pd.read_csv(FILE)
    keys = list(zip(rows.small, rows.distance, rows.seed))
    assert keys == list(itertools.product(SMALL, DISTANCES, SEEDS))
    views, inside = two_groups(40, 20, 0)
    labels = dmac.DMAC(2, random_state=0, device="cpu").fit_predict(views)
    stored = rows.ari[(rows.small == 40) & (rows.distance == 20) & (rows.seed == 0)]
    np.testing.assert_allclose(dmac.scores(inside, labels)["ari"], stored, atol=0.05)
