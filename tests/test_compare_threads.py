"""One thread and two: the stored comparison, and that it would see a difference."""

import numpy as np
import pandas as pd
from compare_threads import PATH, TRAINED, compare, ties

import dmac
from experiments.studies import SIXTEEN


def test_stored_rows_are_of_known_data_sets_and_hang_together():
    table = pd.read_csv(PATH)
    assert not table.duplicated(["recipe", "dataset"]).any() and len(table)
    assert set(table.dataset) <= {*SIXTEEN, "mfeat"}
    assert (table.samples[table.recipe == "revised"] <= TRAINED).all()
    assert ((table.ari == 1) >= (table.other_labels == 0)).all()
    assert (table.tied.notna() == (table.recipe == "closed_form")).all()


def test_labels_of_both_numbers_of_threads(small_views):
    views, classes = small_views
    data = dmac.MultiViewData("small", views, classes, 3)
    row = compare("small", data, "closed_form")
    assert row["other_labels"] == 0 and row["ari"] == 1 and row["samples"] == 90
    assert row["tied"] < 0.1


def test_ties_are_seen():
    views = [np.repeat(np.eye(12), 10, 0)] * 2  # an anchor is equal, or all are as far
    model = dmac.DMAC(3, random_state=0, device="cpu").fit(views)
    assert ties(model, views) > 0.9


def test_a_difference_is_seen(monkeypatch, small_views):
    views, classes = small_views
    data = dmac.MultiViewData("small", views, classes, 3)
    seeds = iter((0, 1))
    fit = dmac.DMAC.fit_predict

    def other_each_time(self, given):
        labels = fit(self, given)
        labels[: 9 * next(seeds)] = 0  # the first time as they are
        return labels

    monkeypatch.setattr(dmac.DMAC, "fit_predict", other_each_time)
    row = compare("small", data, "closed_form")
    assert row["other_labels"] > 0 and row["ari"] < 1
