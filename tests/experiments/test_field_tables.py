"""The other systems: their stored runs, published numbers beside ours, and losses of stages."""

import numpy as np
import pytest
from toy_frames import bold, frame, several

from experiments import field_tables, paper, studies
from experiments import records as experiments
from experiments.run import peer_settings


@pytest.fixture
def counted():
    """Runs of three systems, some of them missing, and how many seeds each has."""
    seeds = {"GMC": 1, "LMVSC": 3, "SURER": 2}
    rows = [
        *several("PIE", "GMC", [20.0]),
        *several("PIE", "LMVSC", [20.0, 22.0]),
        *several("mfeat", "LMVSC", [60.0, 61.0, 62.0]),
    ]
    return frame(rows, list(seeds), ["PIE", "mfeat"], seeds=10), seeds


def test_runs_are_counted_with_those_that_are_missing(counted):
    runs, seeds = counted
    counts = field_tables.count_stored(runs, seeds)
    assert counts.loc["LMVSC"].tolist() == [3, 6, 5, 1]
    assert counts.loc["SURER"].tolist() == [2, 4, 0, 4]
    assert field_tables.count_stored(runs.iloc[:0], seeds)["not yet run"].tolist() == [2, 6, 4]


@pytest.fixture
def add(tmp_path):
    """Put a run with one score into a new store."""
    store = experiments.open_store(tmp_path)

    def add(dataset, method, settings, seed=1, acc=0.5, **more):
        scores = dict.fromkeys(("acc", "nmi", "ari", "purity", "f1"), acc)
        run = dict(dataset=dataset, data="0" * 64, method=method, settings=settings, seed=seed)
        store.append(run | {"scores": scores, "seconds": 1.0} | more, f"{dataset}/some")

    return add


def test_stored_runs_are_found_by_what_they_are(add, tmp_path):
    add("PIE", "LMVSC", peer_settings("LMVSC"), acc=0.4)
    add("PIE", *next(iter(studies.grid(68).values())))
    add("BBC", *studies.PEER_TRIALS["UDBGL, unit rows"].variants["UDBGL, unit rows"], 2)
    runs, grids, trials = field_tables.read_published(tmp_path)
    assert runs.acc.tolist() == [40.0]
    assert grids["PIE"].acc.tolist() == [50.0] and len(grids["BBC"]) == 0
    assert trials.variant.tolist() == ["UDBGL, unit rows"] and trials.seed.tolist() == [2]
    row = field_tables.beside_published(runs, grids).loc[("LMVSC", "PIE")]
    assert row.oracle == 50 and row.seeds == 1


def test_what_a_stage_leaves_is_measured_from_its_first_epoch(add, tmp_path):
    curves = {
        "stopped": {"view 1": {"epochs": 10, "epoch": [1, 10], "loss": [4.0, 2.0]}},
        "endless": {"view 1": {"epochs": 99, "epoch": [1, 99], "loss": [4.0, 1.0]}},
    }
    ((_, on_and_on),) = studies.PEER_ENDS["DFP-GNN, on and on"].variants.values()
    for one, asked in zip(curves.values(), (peer_settings("DFP-GNN"), on_and_on)):
        add("Yale-3view", "DFP-GNN", asked, curves=one)
    found = field_tables.read_flattening(tmp_path)
    assert found == (curves["stopped"], curves["endless"])
    assert field_tables.measure_flattening(*found).loc["view 1"].tolist() == [10, 50, 25]


def test_the_last_stage_is_read_of_each_data_set(add, tmp_path):
    kept = {"PIE": studies.DEEP_PEERS["DFP-GNN"][1], "BBC": peer_settings("DFP-GNN")}
    for epochs, (dataset, settings) in enumerate(kept.items(), 7):
        curves = {"view 1": {"epochs": 3}, "tuning": {"epochs": epochs}}
        add(dataset, "DFP-GNN", settings, curves=curves)
    found = field_tables.read_last_stages(tmp_path)
    assert found == {"PIE": {"epochs": 7}, "BBC": {"epochs": 8}}


def test_published_numbers_stand_beside_ours_and_the_best_of_the_grid():
    runs = frame(several("PIE", "LMVSC", [40.0, 44.0]))
    points = [*several("PIE", "LMVSC, a", [50.0, 52.0]), *several("PIE", "LMVSC, b", [10.0, 90.0])]
    points = frame(points).assign(method="LMVSC")
    table = field_tables.beside_published(runs, {"PIE": points})
    row = table.loc[("LMVSC", "PIE")]
    assert row.published == 36.32 and row.fixed == 42 and row.seeds == 2
    assert row.oracle == 51 and row.point == "LMVSC, a"
    assert np.isnan(table.loc[("LMVSC", "BBC")].fixed) and table.loc[("GMC", "PIE")].seeds == 0
    # The defaults are a point, too.
    row = field_tables.beside_published(runs, {"PIE": points.assign(acc=20.0)})
    assert row.loc[("LMVSC", "PIE"), ["oracle", "point"]].tolist() == [42, "the defaults"]


def test_gaps_are_ours_minus_what_is_published():
    points = frame(several("PIE", "MSGL, a", [50.0, 52.0, 54.0])).assign(method="MSGL")
    points["settings"] = [
        dict(normalize=normalize, alpha=alpha)
        for normalize, alpha in ((True, 0.1), (True, 1), (False, 0.1))
    ]
    runs = frame(several("PIE", "MSGL", [40.0, 44.0]))
    rows = [("BBC", "UDBGL", 60.0), ("PIE", "UDBGL", 20.0), ("BBC", "GMC", 70.0)]
    trials = frame([several(d, f"{m}, unit rows", [acc])[0] for d, m, acc in rows])
    off, small, unit, gmc = field_tables.measure_gaps(runs, {"PIE": points}, trials)
    published = paper.value("PIE", "acc", "MSGL")
    assert off.acc["MSGL", "PIE"] == 42 - published
    assert off.best_acc["MSGL", "PIE"] == 52 - published
    assert small.tolist() == points.nmi.tolist()[:1] and unit.acc.tolist() == [60.0]
    row = gmc.loc["BBC"]
    assert row.acc == 70 and row.published_acc == 69.05 and row.published_nmi == 47.87


def test_the_other_nine_tenths_are_worth_the_change_at_equal_seeds():
    short = frame([*several("PIE", "SURER", [30.0, 32.0]), *several("BBC", "SURER", [50.0])])
    whole = frame([*several("PIE", "SURER", [29.0, 34.0, 90.0]), *several("PIE", "CMGEC", [9.0])])
    table = field_tables.format_schedules(whole, short)
    assert list(table.index) == [("SURER", "PIE")]
    assert table.iloc[0].tolist() == ["31.0 ± 1.4", "31.5 ± 3.5", "0.5 ± 2.1"]
    assert field_tables.measure_schedules(whole, short).to_dict() == {("SURER", "PIE"): 0.5}
    by_nmi = field_tables.format_schedules(whole, short, "nmi")
    assert by_nmi.iloc[0]["a tenth"] == "41.0 ± 1.4"


def test_other_systems_stand_beside_the_paper(counted):
    runs, seeds = counted
    table = field_tables.format_other_systems(runs, seeds, seeds)
    assert bold(table) == {("PIE", "LMVSC"), ("PIE, the paper", "LMVSC"), ("mfeat", "LMVSC")}
    assert table.data.loc["PIE"].tolist() == ["20.0", "21.0 ± 1.4 (2)", "–"]
    assert table.data.loc["mfeat"].tolist() == ["–", "61.0 ± 1.0", "–"]
    by_nmi = field_tables.format_other_systems(runs, seeds, seeds, "nmi").data
    assert by_nmi.loc["PIE, the paper"].tolist() == ["44.2", "63.3", "64.2"]
