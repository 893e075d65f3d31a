"""Tables of the experiments, on runs whose answers are known."""

import pytest
from toy_frames import frame, grid_frame, several, three_variants

from dmac.experiments import plan, tables


@pytest.fixture
def runs():
    return three_variants()


def test_cells_are_mean_and_sample_deviation_with_what_is_missing(runs):
    table = tables.format_scores(runs, "acc")
    assert list(table.index) == ["PIE", "BBC"] and list(table) == ["k-means", "closed", "DMAC"]
    assert table.loc["PIE", "k-means"] == "22.0 ± 2.0"
    assert table.loc["BBC", "DMAC"] == "90.5 ± 0.7 (2)"
    turned = tables.format_scores(runs, "nmi", "variant", "dataset")
    assert turned.loc["closed", "PIE"] == "82.0 ± 2.6"
    assert set(tables.format_scores(runs, "oracle_acc").to_numpy().ravel()) == {"–"}
    without = runs[~((runs.dataset == "PIE") & (runs.variant == "DMAC"))]
    assert tables.format_scores(without, "acc").loc["PIE", "DMAC"] == "–"
    assert tables.format_scores(runs.iloc[:0], "acc").empty
    assert tables.format_scores(runs[runs.seed == 1], "acc").loc["PIE", "DMAC"] == "30.0 (1)"


def test_other_systems_stand_beside_the_paper():
    seeds = {"GMC": 1, "LMVSC": 3, "SURER": 2}
    rows = [
        *several("PIE", "GMC", [20.0]),
        *several("PIE", "LMVSC", [20.0, 22.0]),
        *several("mfeat", "LMVSC", [60.0, 61.0, 62.0]),
    ]
    runs = frame(rows, list(seeds), ["PIE", "mfeat"], seeds=10)
    table = tables.format_other_systems(runs, seeds, seeds)
    names = ["PIE", "PIE, the paper", "mfeat"]
    assert list(table.index) == [(metric, name) for metric in ("ACC", "NMI") for name in names]
    assert table.loc[("ACC", "PIE")].tolist() == ["20.0", "21.0 ± 1.4 (2)", "–"]
    assert table.loc[("NMI", "PIE, the paper")].tolist() == ["44.2", "63.3", "64.2"]
    assert table.loc[("ACC", "mfeat")].tolist() == ["–", "61.0 ± 1.0", "–"]
    counts = tables.count_stored(runs, seeds)
    assert counts.loc["LMVSC"].tolist() == [3, 6, 5, 1]
    assert counts.loc["SURER"].tolist() == [2, 4, 0, 4]
    nothing = runs.iloc[:0]
    assert set(tables.format_other_systems(nothing, seeds, seeds).loc[("ACC", "mfeat")]) == {"–"}
    assert tables.count_stored(nothing, seeds)["not yet run"].tolist() == [2, 6, 4]


def test_failed_runs_are_counted():
    failed = {"dataset": "PIE", "variant": "DMAC", "seed": 3, "error": "FloatingPointError"}
    runs = frame([*several("PIE", "DMAC", [30.0, 32.0]), failed], seeds=3)
    table = tables.format_scores(runs, "acc")
    assert table.loc["PIE", "DMAC"] == "31.0 ± 1.4 (1 failed)"


def test_paper_s_table_marks_its_best():
    table = tables.format_paper_scores()
    assert table.loc[("ACC", "DMAC"), "PIE"] == "43.24*"
    assert table.loc[("NMI", "DMAC"), "PIE"] == "68.16*"
    assert table.loc[("ACC", "DFP-GNN"), "NUS"] == "29.42*"
    assert table.loc[("NMI", "DFP-GNN"), "NUS"] == "16.12"


def test_trials_stand_below_each_other_by_data_set():
    runs = frame([*released_runs("PIE", [37.0], [40.0]), *released_runs("BBC", [60.0], [70.0])])
    table = tables.format_trials(runs, grid_frame())
    assert table.loc[("BBC", "RELEASED")].tolist() == ["70.0", "90.0", "60.0"]
    best = table.loc[("PIE", "best of the grid, CM 1, SP 1000")]
    assert best["ACC"] == "50.0 ± 0.0"
    assert ("BBC", "best of the grid, CM 1, SP 1000") not in table.index
    assert tables.format_trials(runs.iloc[:0], grid_frame().iloc[:0]).empty


def released_runs(dataset, values, oracle):
    rows = several(dataset, "RELEASED", values)
    return [row | {"oracle_acc": o, "oracle_nmi": o + 20} for row, o in zip(rows, oracle)]


def test_beside_the_paper():
    runs = frame(released_runs("PIE", [30.0, 34.0], [35.0, 37.0]))
    table = tables.compare_with_paper(runs, "RELEASED")
    row = table.loc[[("PIE", "ACC")]].iloc[0]
    assert row.tolist() == ["43.24", "36.0 ± 1.4", "37.0", "32.0 ± 2.8", 2]
    assert table.loc[[("PIE", "NMI")]].iloc[0]["its best seed"] == "57.0"
    assert tables.compare_with_paper(runs, "none").empty


def test_grid_chooses_the_best_point_by_its_mean():
    runs = frame(released_runs("PIE", [37.0, 37.0], [40.0, 40.0]))
    table = tables.find_closest(runs, grid_frame())
    assert table.loc["PIE"].tolist()[:2] == [43.24, 40]
    assert table.loc["PIE", "trial"] == "best of the grid, CM 1, SP 1000"
    assert table.loc["PIE", "best"] == 50
    assert table.loc["PIE", ["top", "of"]].tolist() == [50, "best of the grid, CM 1, SP 1000"]
    assert table.loc["PIE", "elsewhere"] == {} and table.loc["PIE", "others"] == 1
    trial = [row | {"variant": "lr 1"} for row in released_runs("PIE", [39.0], [60.0])]
    trial += [row | {"variant": "lr 1"} for row in released_runs("BBC", [20.0], [25.5])]
    more = tables.find_closest(frame([*released_runs("PIE", [37.0], [40.0]), *trial]), grid_frame())
    assert more.loc["PIE", "elsewhere"] == {"BBC": 25.5}
    alone = tables.find_closest(runs, grid_frame().iloc[:0])
    assert alone.loc["PIE", ["trial", "others"]].tolist() == ["RELEASED", 0]


def test_choices_name_the_fields_before_and_after():
    table = tables.format_choices(plan.BEYOND)
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
    column = tables.format_ablation(runs)["ACC", "wo/PD"].loc["Yale-3view"]
    assert column["paper°"] == "66.02" and column["last epoch"] == "30.5 ± 0.7"
    oracle = tables.format_ablation(runs).loc[("Yale-3view", "oracle epoch")]
    assert oracle["ACC", "DMAC"] == "40.0 ± 1.4"
