"""Stored runs of the other systems, found by what they are, and counted."""

from toy_frames import frame, several

from experiments import field_runs, field_tables, paper, studies
from experiments import records as experiments
from experiments.run import peer_settings


def test_runs_are_counted_with_those_that_are_missing():
    seeds = {"GMC": 1, "LMVSC": 3, "SURER": 2}
    rows = several("PIE", "LMVSC", [20.0, 22.0]) + several("mfeat", "LMVSC", [60.0, 61.0, 62.0])
    runs = frame(rows, list(seeds), ["PIE", "mfeat"], seeds=10)
    counts = field_runs.count_stored(runs, seeds)
    assert counts.loc["LMVSC"].tolist() == [3, 6, 5, 1]
    assert counts.loc["SURER"].tolist() == [2, 4, 0, 4]
    assert field_runs.count_stored(runs.iloc[:0], seeds)["not yet run"].tolist() == [2, 6, 4]


def test_stored_runs_are_found_by_what_they_are(tmp_path):
    store = experiments.open_store(tmp_path)

    def add(dataset, method, settings, seed, acc):
        scores = dict(acc=acc, nmi=acc, ari=acc, purity=acc, f1=acc)
        run = dict(dataset=dataset, data="0" * 64, method=method, settings=settings, seed=seed)
        store.append(run | {"scores": scores, "seconds": 1.0}, f"{dataset}/some")

    add("PIE", "LMVSC", peer_settings("LMVSC"), 1, 0.4)
    add("PIE", *next(iter(studies.grid(68).values())), 1, 0.5)
    add("BBC", *studies.PEER_TRIALS["UDBGL, unit rows"].variants["UDBGL, unit rows"], 2, 0.7)
    runs, grids, trials = field_runs.read_published(tmp_path)
    assert runs.acc.tolist() == [40.0] and set(runs.variant.cat.categories) | {"DMAC"} == set(
        paper.TABLE_2
    )
    assert grids["PIE"].acc.tolist() == [50.0] and len(grids["BBC"]) == 0
    assert trials.variant.tolist() == ["UDBGL, unit rows"] and trials.seed.tolist() == [2]
    row = field_tables.beside_published(runs, grids).loc[("LMVSC", "PIE")]
    assert row.oracle == 50 and row.seeds == 1


def test_what_a_stage_leaves_is_measured_from_its_first_epoch(tmp_path):
    nothing = field_runs.read_flattening(tmp_path)
    assert nothing == ({}, {}) and field_runs.measure_flattening(*nothing).empty
    store = experiments.open_store(tmp_path)
    curves = {
        "stopped": {"view 1": {"epochs": 10, "epoch": [1, 10], "loss": [4.0, 2.0]}},
        "endless": {"view 1": {"epochs": 99, "epoch": [1, 99], "loss": [4.0, 1.0]}},
    }
    ((_, on_and_on),) = studies.PEER_ENDS["DFP-GNN, on and on"].variants.values()
    settings = peer_settings("DFP-GNN"), on_and_on
    for one, asked in zip(curves.values(), settings):
        run = dict(dataset="Yale-3view", data="0" * 64, method="DFP-GNN", settings=asked, seed=1)
        scores = dict.fromkeys(("acc", "nmi", "ari", "purity", "f1"), 0.5)
        store.append(run | {"scores": scores, "seconds": 1.0, "curves": one}, "Yale-3view/some")
    found = field_runs.read_flattening(tmp_path)
    assert found == (curves["stopped"], curves["endless"])
    row = field_runs.measure_flattening(*found).loc["view 1"]
    assert row.tolist() == [10, 50, 25]


def test_the_last_stage_is_read_of_each_data_set(tmp_path):
    assert field_runs.read_last_stages(tmp_path) == {}
    store = experiments.open_store(tmp_path)
    kept = {"PIE": studies.DEEP_PEERS["DFP-GNN"][1], "BBC": peer_settings("DFP-GNN")}
    for epochs, (dataset, settings) in enumerate(kept.items(), 7):
        run = dict(dataset=dataset, data="0" * 64, method="DFP-GNN", settings=settings, seed=1)
        scores = dict.fromkeys(("acc", "nmi", "ari", "purity", "f1"), 0.5)
        curves = {"view 1": {"epochs": 3}, "tuning": {"epochs": epochs}}
        store.append(run | {"scores": scores, "seconds": 1.0, "curves": curves}, f"{dataset}/some")
    found = field_runs.read_last_stages(tmp_path)
    assert found == {"PIE": {"epochs": 7}, "BBC": {"epochs": 8}}
