"""The stored rows about small groups, and one of them made again."""

import itertools

import numpy as np
import pandas as pd
from rare_groups import DISTANCES, FILE, SEEDS, SMALL, ari


def test_rows_are_whole_and_one_comes_out_again():
    rows = pd.read_csv(FILE)
    keys = list(zip(rows.small, rows.distance, rows.seed))
    assert keys == list(itertools.product(SMALL, DISTANCES, SEEDS))
    stored = rows.ari[(rows.small == 40) & (rows.distance == 20) & (rows.seed == 0)]
    np.testing.assert_allclose(ari(40, 20, 0), stored, atol=0.05)
