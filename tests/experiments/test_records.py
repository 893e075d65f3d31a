"""Sweeps on a cluster, and stored runs as tables."""

import gzip
import itertools
import json

import joblib
import numpy as np
import pytest
from toy_runs import METHOD, VARIANTS, filled

from experiments import records, studies
from experiments.run import complete_settings


# Dask keeps threads and sockets of its own, and closes some of them late.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_dask_cluster_makes_the_same_runs(made, tmp_path):
    from distributed import Client, LocalCluster

    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
        joblib.parallel_config("dask"),
    ):
        found = filled(tmp_path, n_jobs=-1)[1]
    expected = {r["key"]: r["scores"] for r in made if r["dataset"] == "toy"}
    assert {r["key"]: r["scores"] for r in found} == expected


def test_stored_runs_are_found_without_the_data(folder, made):
    frame = records.read_runs(VARIANTS, ["other", "absent", "toy"], range(1, 11), folder)
    found = list(zip(frame.variant, frame.dataset, frame.seed))
    assert found == list(itertools.product(VARIANTS, ("other", "toy"), (1, 2)))
    record = next(r for r in made if r["dataset"] == "other" and r["method"] == "DMAC")
    row = frame[(frame.dataset == "other") & (frame.variant == "short")].iloc[0]
    took = record["seconds"]
    expected = {
        "acc": 100 * record["scores"]["acc"],
        "neighbors": record["embedding"]["neighbors"],
        "seconds": took["pretraining"] + took["training"],
        "fit_seconds": took["fit"],
    }
    assert row[list(expected)].to_dict() == expected
    assert row.oracle_nmi >= row.nmi - 1e-9 and np.isnan(row.fitted_acc)
    baseline = frame[frame.variant == METHOD].iloc[0]
    assert np.isnan(baseline.oracle_acc) and baseline.seconds == baseline.fit_seconds > 0
    nothing = records.read_runs(VARIANTS, ["absent"], [1], folder)
    assert nothing.empty and list(nothing.columns) == list(frame.columns)


def unnamed(record):
    """What a store is given of a run."""
    return {k: v for k, v in record.items() if k != "key"}


def test_two_data_sets_of_one_name_are_refused(folder, made, tmp_path):
    store = records.open_store(tmp_path)
    for name, change in (("a", {}), ("b", {"data": "00"})):
        store.append(unnamed(made[0]) | change, name)
    with pytest.raises(ValueError, match="two different data sets named 'toy'"):
        records.index(store)


def test_both_copies_of_a_data_set_keep_their_names_where_both_are_shown(made, tmp_path):
    store = records.open_store(tmp_path)
    for name in ("mfeat", "HandWritten"):
        store.append(unnamed(made[0]) | {"dataset": name, "data": name}, name)
    asked = {"it": (made[0]["method"], made[0]["settings"])}
    both, one = (
        records.read_runs(asked, names, [made[0]["seed"]], tmp_path)
        for names in (["mfeat", "HandWritten"], ["mfeat"])
    )
    assert list(both.dataset) == ["mfeat", "HandWritten"]
    assert list(one.dataset) == ["HandWritten"] and one.acc[0] == both.acc[0]


#: What a record says of how it was made.
MADE = {"code", "versions", "date", "processor", "device", "threads", "peak_mb"}


def test_what_made_a_run_is_known_but_for_those_that_are_retired():
    files = (records.RESULTS / "runs").glob("*.jsonl")
    stored = {f.stem: list(map(json.loads, f.read_text("utf-8").splitlines())) for f in files}
    with gzip.open(records.RESULTS / "runs" / "retired.jsonl.gz", "rt", encoding="utf-8") as file:
        retired = list(map(json.loads, file))
    assert len(retired) == 4789
    stored = {name: runs for name, runs in stored.items() if not name.startswith("bench-")}
    of_today = {records.slug(s.file or n) for n, s in studies.STUDIES.items()}
    assert len(stored) > 50 and set(stored) <= of_today | {"sealed", "level-choice"}
    for name, runs in stored.items():
        for run in runs:
            assert all(run.get(part) is not None for part in MADE), name
            assert run["code"]["sha256"] and "retired" not in run["settings"], name
    gone = [run for s in studies.STUDIES.values() if s.retired for run in s.variants.values()]
    for run in retired:
        settings = complete_settings(run["method"], run["settings"])
        assert "sha256" not in run.get("code", {}) or (run["method"], settings) in gone
