"""Tables and sentences of the experiments, on runs whose answers are known."""

import pytest
from toy_frames import frame, grid_frame, several, three_variants

from dmac.experiments import findings, plan, tables


@pytest.fixture
def runs():
    return three_variants()


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


def test_paper_s_table_marks_its_best():
    table = tables.paper_scores()
    assert table.loc[("ACC", "DMAC"), "PIE"] == "43.24*"
    assert table.loc[("NMI", "DMAC"), "PIE"] == "68.16*"
    assert table.loc[("ACC", "DFP-GNN"), "NUS"] == "29.42*"
    assert table.loc[("NMI", "DFP-GNN"), "NUS"] == "16.12"
    assert "5 of 6" in findings.paper_table() and "NMI on 5" in findings.paper_table()
    assert "MSGL, LMVSC and UDBGL) has the best accuracy on none." in findings.paper_table()


def test_trials_stand_below_each_other_by_data_set():
    runs = frame([*released("PIE", [37.0], [40.0]), *released("BBC", [60.0], [70.0])])
    table = tables.trials(runs, grid_frame())
    assert table.loc[("BBC", "RELEASED")].tolist() == ["70.0", "90.0", "60.0"]
    best = table.loc[("PIE", "best of the grid, CM 1, SP 1000")]
    assert best["ACC"] == "50.0 ± 0.0"
    assert ("BBC", "best of the grid, CM 1, SP 1000") not in table.index
    assert tables.trials(runs.iloc[:0], grid_frame().iloc[:0]).empty


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


def test_grid_chooses_the_best_point_by_its_mean():
    runs = frame(released("PIE", [37.0, 37.0], [40.0, 40.0]))
    table = tables.closest(runs, grid_frame())
    assert table.loc["PIE"].tolist()[:2] == [43.24, 40]
    assert table.loc["PIE", "trial"] == "best of the grid, CM 1, SP 1000"
    assert table.loc["PIE", "best"] == 50
    text = findings.beside_paper(table)
    assert "3.2 points less" in text and "6.8 points more than the paper" in text
    assert 'single run, of "best of the grid, CM 1, SP 1000", has 50.0 %' in text
    assert "the same setting" not in text
    trial = [row | {"variant": "lr 1"} for row in released("PIE", [39.0], [60.0])]
    trial += [row | {"variant": "lr 1"} for row in released("BBC", [20.0], [25.5])]
    more = tables.closest(frame([*released("PIE", [37.0], [40.0]), *trial]), grid_frame())
    assert more.loc["PIE", "elsewhere"] == {"BBC": 25.5}
    assert "On BBC the same setting has 25.5 %." in findings.beside_paper(more)
    alone = tables.closest(runs, grid_frame().iloc[:0])
    assert alone.loc["PIE", "trial"] == "RELEASED"
    assert "No other trial is stored yet" in findings.beside_paper(alone)


def test_choices_name_the_fields_before_and_after():
    table = tables.choices(plan.BEYOND)
    assert list(table.index) == list(plan.BEYOND)
    assert table.loc["Adam"].tolist() == ["optimizer", "rmsprop", "adam"]
    both = table.loc["nothing normalised in the network"]
    assert both.tolist() == ["normalize_embedding, normalize_anchors", "True, True", "False, False"]


def test_ablation_shows_the_paper_and_both_scores():
    rows = [
        row | {"oracle_acc": row["acc"] + 5, "oracle_nmi": row["nmi"] + 5}
        for name, values in {"wo/PD": [30, 31], "wo/CM": [34, 35], "DMAC": [34, 36]}.items()
        for row in several("Yale-3view", name, values)
    ]
    runs = frame(rows, list(plan.ABLATED))
    column = tables.ablation(runs)["ACC", "wo/PD"].loc["Yale-3view"]
    assert column["paper°"] == "66.02" and column["last epoch"] == "30.5 ± 0.7"
    oracle = tables.ablation(runs).loc[("Yale-3view", "oracle epoch")]
    assert oracle["ACC", "DMAC"] == "40.0 ± 1.4"
    text = findings.ablation(runs)
    assert "9.1 points on PIE and 1.5 points on BBC (on its six data sets by 1.5 to 15.9)" in text
    assert text.count("the full model less wo/PD is here +4.5 points over 1 data set") == 2
    assert text.count("at p below 0.05 it is ahead nowhere") == 4


def test_ablation_counts_what_is_left_after_all_tests():
    rows = []
    for dataset, gain in (("PIE", 5), ("BBC", 4), ("mfeat", 0)):
        noise = [0.0, 0.1, -0.1, 0.05] if gain else [3.0, -3.0, 2.0, -2.0]
        rows += several(dataset, "wo/PD", [40.0] * 4)
        rows += several(dataset, "DMAC", [40 - gain + x for x in noise])
    text = findings.ablation(frame(rows))
    assert "is here −5.0 ± 0.1 on PIE and −4.0 ± 0.1 on BBC, and between −5.0 and 0.0" in text
    assert "ahead nowhere and behind on PIE and BBC, each by itself (2 after Holm's" in text


def test_runs_are_counted(runs):
    assert findings.counted(runs) == "17 runs: 3 variants on 2 data sets, each with 2 to 3 seeds."
    one = runs[(runs.variant == "DMAC") & (runs.dataset == "BBC") & (runs.seed == 1)]
    assert findings.counted(one) == "1 run: 1 variant on 1 data set, each with 1 seed."


def test_consistency_sentence_follows_the_values():
    row = {"dataset": "PIE", "variant": "DMAC", "seed": 1, "acc": 1.0}
    small = frame([row | {"epochs": {"acc": [0.1], "nmi": [0.1], "consistency": [1e-9]}}])
    large = frame([row | {"epochs": {"acc": [0.1], "nmi": [0.1], "consistency": [0.2]}}])
    assert "rounding alone" in findings.consistency(small)
    assert "rounding" not in findings.consistency(large)
    assert "of 1" in findings.epochs(small)
