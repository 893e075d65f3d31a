"""Sweeps on a cluster, and stored runs as tables."""

import dataclasses
import json

import joblib
import numpy as np
import pandas as pd
import pytest
from toy_runs import METHOD, SHORT, VARIANTS, filled, load

from experiments import plan, studies
from experiments import records as experiments
from experiments import run as runs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def made(folder):
    return filled(folder, ("toy", "other"))[1]


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
    frame = experiments.read_runs(VARIANTS, ["other", "absent", "toy"], range(1, 11), folder)
    assert list(zip(frame.variant, frame.dataset, frame.seed)) == [
        (variant, dataset, seed)
        for variant in VARIANTS
        for dataset in ("other", "toy")
        for seed in (1, 2)
    ]
    record = next(r for r in made if r["dataset"] == "other" and r["method"] == "DMAC")
    row = frame[(frame.dataset == "other") & (frame.variant == "short")].iloc[0]
    assert row.acc == 100 * record["scores"]["acc"] and row.oracle_nmi >= row.nmi - 1e-9
    assert row.neighbors == record["embedding"]["neighbors"]
    assert row.seconds == record["seconds"]["pretraining"] + record["seconds"]["training"]
    assert row.fit_seconds == record["seconds"]["fit"] and np.isnan(row.fitted_acc)
    baseline = frame[frame.variant == METHOD].iloc[0]
    assert np.isnan(baseline.oracle_acc) and baseline.seconds == baseline.fit_seconds > 0
    assert frame.attrs["seeds"] == 10
    nothing = experiments.read_runs(VARIANTS, ["absent"], [1], folder)
    assert nothing.empty and list(nothing.columns) == list(frame.columns)


def test_curves_are_the_epochs_in_percent(folder, made):
    frame = experiments.read_runs(VARIANTS, ["toy"], [1, 2], folder)
    found = experiments.curves(frame)
    assert len(found) == 2 * SHORT.epochs and list(found.epoch[:3]) == [1, 2, 3]
    record = next(r for r in made if r["dataset"] == "toy" and r["method"] == "DMAC")
    first = found[found.seed == record["seed"]]
    assert list(first.acc) == pytest.approx([100 * x for x in record["epochs"]["acc"]])
    assert list(first.loss) == record["epochs"]["loss"]
    assert experiments.curves(frame.iloc[:0]).empty
    assert experiments.curves(frame[frame.variant == METHOD]).empty


def test_a_failed_run_has_an_error_and_no_scores(tmp_path):
    failing = dataclasses.replace(SHORT, lr=1e30)
    variants = {"failing": ("DMAC", runs.settings_of(failing))}
    store = experiments.open_store(tmp_path)
    list(experiments.complete(plan.specs(variants, ["toy"], [1], "some"), store, load=load))
    (row,) = experiments.read_runs(variants, ["toy"], [1], tmp_path).itertuples()
    assert "FloatingPointError" in row.error and np.isnan(row.acc) and row.epochs == {}


def test_two_data_sets_of_one_name_are_refused(folder, made, tmp_path):
    store = experiments.open_store(tmp_path)
    store.append({k: v for k, v in made[0].items() if k != "key"}, "a")
    store.append({k: v for k, v in made[0].items() if k != "key"} | {"data": "00"}, "b")
    with pytest.raises(ValueError, match="two different data sets named 'toy'"):
        experiments.index(store)


def test_a_data_set_has_one_name_whichever_copy_was_run(made):
    variants = {"RELEASED": studies.COMPARISON["RELEASED"]}
    shown = experiments.read_runs(variants, ["PIE", "mfeat"])
    assert list(shown.dataset.cat.categories) == ["PIE", "HandWritten"]
    if len(shown):  # the project's store is there
        assert set(shown.dataset) == {"PIE", "HandWritten"}
        assert set(experiments.curves(shown).dataset) == {"PIE", "HandWritten"}


def test_both_copies_of_a_data_set_keep_their_names_where_both_are_shown(made, tmp_path):
    store = experiments.open_store(tmp_path)
    for name in ("mfeat", "HandWritten"):
        record = {k: v for k, v in made[0].items() if k != "key"}
        store.append(record | {"dataset": name, "data": name}, name)
    variants = {"it": (made[0]["method"], made[0]["settings"])}
    seeds = [made[0]["seed"]]
    both = experiments.read_runs(variants, ["mfeat", "HandWritten"], seeds, tmp_path)
    assert list(both.dataset) == ["mfeat", "HandWritten"]
    one = experiments.read_runs(variants, ["mfeat"], seeds, tmp_path)
    assert list(one.dataset) == ["HandWritten"] and one.acc[0] == both.acc[0]


def test_records_of_the_project_are_found():
    if not (experiments.RESULTS / "runs").is_dir():
        pytest.skip("no stored runs")
    frame = experiments.read_runs(studies.COMPARISON, studies.MAIN)
    lines = [
        json.loads(line)["key"]
        for path in (experiments.RESULTS / "runs").rglob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert set(frame.key) <= set(lines) and isinstance(frame, pd.DataFrame)
