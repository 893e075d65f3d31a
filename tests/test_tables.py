"""Tables and sentences of the experiments, on runs whose answers are known."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dmac import findings, paper, plan, tables


def frame(rows, variants=None, datasets=None, seeds=0):
    """Runs from dicts; what they leave out is as of a run without epochs."""
    empty = {"error": None, "epochs": {}, "settings": {}, "start_acc": np.nan}
    blank = dict.fromkeys(("acc", "nmi", "oracle_acc", "oracle_nmi"), np.nan)
    runs = pd.DataFrame([empty | blank | row for row in rows])
    for name, order in (("variant", variants), ("dataset", datasets)):
        order = order or list(dict.fromkeys(runs[name]))
        runs[name] = pd.Categorical(runs[name], order, ordered=True)
    runs.attrs["seeds"] = seeds
    return runs


def several(dataset, variant, values, **more):
    return [
        {"dataset": dataset, "variant": variant, "seed": s, "acc": a, "nmi": a + 10} | more
        for s, a in enumerate(values, 1)
    ]


@pytest.fixture
def runs():
    return frame(
        [
            *several("PIE", "k-means", [20.0, 22.0, 24.0]),
            *several("PIE", "closed", [70.0, 71.0, 75.0]),
            *several("PIE", "DMAC", [30.0, 35.0, 34.0]),
            *several("BBC", "k-means", [70.0, 75.0, 71.0]),
            *several("BBC", "closed", [60.0, 60.5, 61.0]),
            *several("BBC", "DMAC", [90.0, 91.0]),
        ],
        seeds=3,
    )


def test_cells_are_mean_and_sample_deviation_with_what_is_missing(runs):
    table = tables.cells(runs, "acc")
    assert list(table.index) == ["PIE", "BBC"] and list(table) == ["k-means", "closed", "DMAC"]
    assert table.loc["PIE", "k-means"] == "22.0 ± 2.0"
    assert table.loc["BBC", "DMAC"] == "90.5 ± 0.7 (2)"
    assert tables.cells(runs, "nmi", "variant", "dataset").loc["closed", "PIE"] == "82.0 ± 2.6"
    assert set(tables.cells(runs, "oracle_acc").to_numpy().ravel()) == {"–"}
    without = runs[~((runs.dataset == "PIE") & (runs.variant == "DMAC"))]
    assert tables.cells(without, "acc").loc["PIE", "DMAC"] == "–"
    assert tables.cells(runs.iloc[:0], "acc").empty
    assert tables.cells(runs[runs.seed == 1], "acc").loc["PIE", "DMAC"] == "30.0 (1)"


def test_failed_runs_are_counted():
    failed = {"dataset": "PIE", "variant": "DMAC", "seed": 3, "error": "FloatingPointError"}
    table = tables.cells(frame([*several("PIE", "DMAC", [30.0, 32.0]), failed], seeds=3), "acc")
    assert table.loc["PIE", "DMAC"] == "31.0 ± 1.4 (1 failed)"


def test_paired_is_the_paired_t_test(runs):
    found = tables.paired(runs, "DMAC", "closed").loc["PIE"]
    expected = stats.ttest_rel([30, 35, 34], [70, 71, 75])
    assert found["mean"] == pytest.approx(-39) and found.p == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval()
    assert (found["mean"] - found.half, found["mean"] + found.half) == pytest.approx((low, high))
    assert tables.paired(runs, "DMAC", "closed").loc["BBC"].seeds == 2
    one = tables.paired(runs[runs.seed == 1], "DMAC", "closed").loc["PIE"]
    assert one["mean"] == -40 and np.isnan(one.p) and np.isnan(one.half)
    assert tables.paired(runs, "closed", "closed").p.tolist() == [1.0, 1.0]
    assert tables.paired(runs, "DMAC", "absent").empty


def test_holm_is_monotone_and_leaves_out_what_is_not_tested():
    found = tables.holm([0.01, 0.04, np.nan, 0.03, 0.9])
    np.testing.assert_allclose(found, [0.04, 0.09, np.nan, 0.09, 0.9])
    assert tables.holm([0.5, 0.6]).tolist() == [1.0, 1.0]


def test_significance_takes_the_best_baseline_of_each_data_set(runs):
    table = tables.significance(runs, ["DMAC"], ["k-means", "closed"])
    assert table["reference"].tolist() == ["closed", "k-means"]
    assert table["mean"].tolist() == [pytest.approx(-39), pytest.approx(18)]
    shown = tables.differences(table)
    assert shown.difference.iloc[0].startswith("−39.0 ±") and shown.seeds.tolist() == [3, 2]
    assert "1 is a loss" not in findings.significance(table, "DMAC")
    assert "0 are gains and 1 a loss" in findings.significance(table, "DMAC")
    text = findings.comparison(runs, ["k-means", "closed"], ["DMAC"])
    assert "on 1 of 2 data sets (BBC)" in text and "−39.0 points, on PIE" in text
    assert findings.significance(table, "none") == findings._NOTHING


def test_paper_s_table_marks_its_best():
    table = tables.paper_scores()
    assert table.loc["DMAC", "PIE"] == "43.24* / 68.16*"
    assert table.loc["DFP-GNN", "NUS"] == "29.42* / 16.12"
    assert "5 of 6" in findings.paper_table() and "NMI on 5" in findings.paper_table()


def released(dataset, values, oracle):
    rows = several(dataset, "RELEASED", values)
    return [row | {"oracle_acc": o, "oracle_nmi": o + 20} for row, o in zip(rows, oracle)]


def test_beside_the_paper():
    runs = frame(released("PIE", [30.0, 34.0], [35.0, 37.0]))
    table = tables.beside_paper(runs, "RELEASED")
    row = table.loc[[("PIE", "ACC")]].iloc[0]
    assert row.tolist() == ["43.24", "36.0 ± 1.4", "37.0", "32.0 ± 2.8", 2]
    assert table.loc[[("PIE", "NMI")]].iloc[0]["its best seed"] == "57.0"
    assert tables.beside_paper(runs, "none").empty


def grid_frame(dataset="PIE", seeds=(1, 2)):
    """RELEASED's own weights and two other points, one better by ACC and one by NMI."""
    rows = []
    points = {(1e3, 1e3): (40.0, 60.0), (1.0, 1e3): (50.0, 61.0), (1e-3, 1.0): (45.0, 70.0)}
    for (cm, sp), (acc, nmi) in points.items():
        for seed in seeds:
            epochs = {"acc": [acc / 100 - 0.05, acc / 100], "nmi": [nmi / 100, nmi / 100 - 0.02]}
            rows.append(
                {
                    "dataset": dataset, "variant": str((cm, sp)), "seed": seed,
                    "acc": acc - 3, "nmi": nmi - 3, "oracle_acc": acc, "oracle_nmi": nmi,
                    "epochs": epochs, "settings": {"cm_weight": cm, "sp_weight": sp},
                }
            )  # fmt: skip
    return frame(rows)


def test_protocols_score_the_same_runs_in_five_ways():
    found = tables.protocols(grid_frame())
    means = found.groupby("protocol", observed=True)[["acc", "nmi"]].mean().round(9)
    assert means.loc["last epoch"].tolist() == [37, 57]
    assert means.loc["epoch"].tolist() == [40, 58]
    assert means.loc["epoch, each metric"].tolist() == [40, 60]
    assert means.loc["grid"].tolist() == [50, 59]
    assert means.loc["grid, each metric"].tolist() == [50, 70]
    assert found.points.max() == 3
    gains = tables.gains(found).loc["PIE"].round(9)
    assert gains["epoch, ACC"] == 3 and gains["grid, ACC"] == 10
    assert gains["own epoch, NMI"] == 2
    shown = tables.protocols_shown(found)
    assert shown.loc["(a) last epoch", "PIE ACC"] == "37.0 ± 0.0"
    assert shown.loc["the paper", "PIE ACC"] == "43.24"
    text = findings.protocols(found)
    assert "adds 3.0 points" in text and "6.8 points more than the paper's 43.24" in text


def test_protocols_leave_out_points_and_sets_that_are_not_complete():
    grid = grid_frame()
    part = grid[~((grid.variant == str((1.0, 1e3))) & (grid.seed == 2))]
    found = tables.protocols(part)
    assert found.points.max() == 2
    assert found[found.protocol == "grid"].acc.tolist() == [45, 45]
    without = grid[grid.variant != str((1e3, 1e3))]
    assert tables.protocols(without).empty
    assert findings.protocols(tables.protocols(without)) == findings._NOTHING
    assert tables.protocols_shown(tables.protocols(without)).shape[1] == 0


def test_grid_chooses_the_best_point_by_its_mean():
    runs = frame(released("PIE", [37.0, 37.0], [40.0, 40.0]))
    table = tables.closest(runs, grid_frame())
    assert table.loc["PIE"].tolist()[:2] == [43.24, 40]
    assert table.loc["PIE", "trial"] == "best of the grid, CM 1, SP 1000"
    assert table.loc["PIE", "best"] == 50
    text = findings.beside_paper(table)
    assert "3.2 points less" in text and "6.8 points more than the paper" in text
    alone = tables.closest(runs, grid_frame().iloc[:0])
    assert alone.loc["PIE", "trial"] == "RELEASED"
    assert "No other trial is stored yet" in findings.beside_paper(alone)


def test_shares_of_the_variance():
    means = pd.DataFrame(np.add.outer([0.0, 1.0, 2.0], [0.0, 10.0, 20.0]))
    rows, columns, rest = tables.shares(means)
    assert rows == pytest.approx(1 / 101) and columns == pytest.approx(100 / 101)
    assert rest == pytest.approx(0, abs=1e-12)
    assert np.isnan(tables.shares(means.mask(means == 0))[0])


def test_changes_are_paired_and_averaged_over_common_data_sets():
    rows = [
        *several("PIE", "RELEASED", [30.0, 40.0]),
        *several("PIE", "up", [32.0, 42.0]),
        *several("PIE", "down", [29.0, 39.0]),
        *several("BBC", "RELEASED", [60.0]),
        *several("BBC", "up", [64.0]),
    ]
    table = tables.changes(frame(rows))
    assert table.loc["up"].tolist() == [2, 4, 2] and table.loc["down", "mean"] == -1
    assert tables.changes_shown(frame(rows)).loc["up", "PIE"] == "+2.0 ± 0.0"
    text = findings.beyond(table)
    assert '"up" raises the accuracy most' in text and '"down" lowers it most' in text
    assert "no variant raises" in findings.beyond(-table.loc[["up"]])
    assert tables.changes(frame(rows[:2])).empty


def test_ablation_shows_the_paper_and_both_scores():
    rows = [
        row | {"oracle_acc": row["acc"] + 5, "oracle_nmi": row["nmi"] + 5}
        for name, values in {"wo/PD": [30, 31], "wo/CM": [34, 35], "DMAC": [34, 36]}.items()
        for row in several("Yale-3view", name, values)
    ]
    runs = frame(rows, list(plan.ABLATED))
    row = tables.ablation(runs).loc[[("Yale-3view", "ACC")]].iloc[0]
    assert row["paper", "wo/PD"] == "66.02°" and row["last epoch", "wo/PD"] == "30.5 ± 0.7"
    assert row["oracle epoch", "DMAC"] == "40.0 ± 1.4"
    text = findings.ablation(runs)
    assert "1.5 to 15.9 points lower" in text and "is +4.5 points" in text


def test_similarity_is_sorted_by_class_and_centred():
    anchors = np.array([[1.0, 0.1], [1.0, -0.1], [1.0, 0.1], [1.0, -0.1]])
    raw, centred, classes = tables.similarity(anchors, np.array([1, 0, 1, 0]))
    assert classes.tolist() == [0, 0, 1, 1]
    assert raw.min() > 0.97
    np.testing.assert_allclose(centred, np.kron([[1, -1], [-1, 1]], np.ones((2, 2))), atol=1e-12)
    kept = {"anchors": anchors, "anchor_classes": np.array([1, 0, 1, 0])}
    spread = {"anchors": np.eye(4), "anchor_classes": np.arange(4)}
    table = tables.anchors({("PIE", "wo/PD"): kept, ("PIE", "DMAC"): spread})
    assert table.loc[("PIE", "wo/PD"), "within"] == pytest.approx(1)
    assert table.loc[("PIE", "wo/PD"), "between"] == pytest.approx(-1)
    assert table.loc[("PIE", "DMAC"), "effective rank"] == pytest.approx(4)
    shown = tables.anchors_shown(table)
    assert shown.loc[("PIE", "wo/PD")].tolist()[0] == 4
    assert shown.loc[("PIE", "wo/PD"), "between"] == "−1.00"
    assert "as the paper's picture has it" in findings.anchors(table)
    swapped = tables.anchors({("PIE", "wo/PD"): spread, ("PIE", "DMAC"): kept})
    assert "unlike in the paper's picture" in findings.anchors(swapped)


def test_nearest_is_another_point():
    points = np.array([[0.0, 0], [1, 0], [1.5, 0], [9, 9]])
    assert tables.nearest(points).tolist() == [1, 2, 1, 2]


def test_consistency_sentence_follows_the_values():
    row = {"dataset": "PIE", "variant": "DMAC", "seed": 1, "acc": 1.0}
    small = frame([row | {"epochs": {"acc": [0.1], "nmi": [0.1], "consistency": [1e-9]}}])
    large = frame([row | {"epochs": {"acc": [0.1], "nmi": [0.1], "consistency": [0.2]}}])
    assert "rounding alone" in findings.consistency(small)
    assert "rounding" not in findings.consistency(large)
    assert "of 1" in findings.epochs(small)


def test_run_times_have_the_paper_s_and_ours():
    rows = [
        row | {"seconds": s}
        for row, s in zip(several("BBC", "DMAC, released", [1.0, 1.0, 1.0]), (5.0, 9.0, 7.0))
    ]
    timings = [
        {"name": "ALOI", "system": "released", "median": 2.0249},
        {"name": "ALOI", "system": "dense", "error": "more than 20 GB"},
    ]
    table = tables.run_times(frame(rows), timings)
    assert table.loc["DMAC", "ALOI"] == paper.RUN_TIMES["DMAC"][3]
    assert table.loc["with pre-training here", "BBC"] == 7
    assert table.loc["with pre-training here"].isna().sum() == 3
    assert table.loc["100 epochs here"].dropna().to_dict() == {"ALOI": pytest.approx(202.49)}
    said = findings.run_times(table)
    assert "50 % on ALOI" in said and "39 % on BBC" in said
    slow = table.copy()
    slow.loc["with pre-training here"] *= 10
    assert "4 times as long on BBC" in findings.run_times(slow)
    assert findings.run_times(table.iloc[:6].reindex([*table.index])) == findings._NOTHING
