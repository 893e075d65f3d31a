"""One thread and two: the stored comparison, and that it would see a difference."""

import numpy as np
import pandas as pd
from compare_threads import PATH, TRAINED, compare

import dmac


def test_page_has_a_row_for_every_data_set_at_hand(data_folder):
    table = pd.read_csv(PATH)
    closed = table[table.recipe == "closed_form"]
    assert set(dmac.available()) <= set(closed.dataset)
    small = set(closed.dataset[closed.samples <= TRAINED])
    assert small and set(table.dataset[table.recipe == "revised"]) == small
    assert ((table.ari == 1) == (table.other_labels == 0)).all()


def test_labels_of_both_numbers_of_threads(small_views):
    views, classes = small_views
    data = dmac.MultiViewData("small", views, classes, 3)
    row = compare("small", data, "closed_form")
    assert row["other_labels"] == 0 and row["ari"] == 1 and row["samples"] == 90


def test_a_difference_is_seen(monkeypatch, small_views):
    views, classes = small_views
    data = dmac.MultiViewData("small", views, classes, 3)
    seeds = iter((0, 1))
    fit = dmac.DMAC.fit_predict

    def other_each_time(self, given):
        labels = fit(self, given)
        return np.roll(labels, next(seeds))

    monkeypatch.setattr(dmac.DMAC, "fit_predict", other_each_time)
    row = compare("small", data, "closed_form")
    assert row["other_labels"] > 0 and row["ari"] < 1
