"""Sweeps on a cluster, stored runs as tables, the page of a notebook, and its refusals."""

import dataclasses
import json

import joblib
import numpy as np
import pandas as pd
import pytest

import dmac
from dmac import experiments, plan, runs
from dmac.experiments import Page, check_parameters
from dmac.recipes import RELEASED

SHORT = dataclasses.replace(RELEASED, hidden_dim=16, pretrain_epochs=2, epochs=3, lr=1e-4)
METHOD = "closed form, whitened"
VARIANTS = {METHOD: plan.COMPARISON[METHOD], "short": ("DMAC", runs.settings_of(SHORT))}
PARAMETERS = dict(
    dataset="", profile="stored", seeds=2, pretrain_epochs=None, epochs=None, device="cpu",
    n_jobs=1, results="",
)  # fmt: skip


def load(name):
    rng = np.random.default_rng(0)
    classes = np.arange(60) % 3
    views = [5 * rng.normal(size=(3, d))[classes] + rng.normal(size=(60, d)) for d in (4, 6)]
    return dmac.MultiViewData(name, views, classes, 3)


def filled(folder, names=("toy",), seeds=(1, 2), **options):
    store = experiments.open_store(folder)
    listed = plan.specs(VARIANTS, names, seeds, "some")
    return store, list(experiments.complete(listed, store, load=load, **options))


def page(folder, **parameters):
    return Page(PARAMETERS | {"results": str(folder)} | parameters)


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
    frame = experiments.stored(VARIANTS, ["other", "absent", "toy"], range(1, 11), folder)
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
    assert row.seconds == record["seconds"]["fit"]
    baseline = frame[frame.variant == METHOD].iloc[0]
    assert np.isnan(baseline.oracle_acc) and baseline.seconds > 0
    assert frame.attrs["seeds"] == 10
    nothing = experiments.stored(VARIANTS, ["absent"], [1], folder)
    assert nothing.empty and list(nothing.columns) == list(frame.columns)


def test_curves_are_the_epochs_in_percent(folder, made):
    frame = experiments.stored(VARIANTS, ["toy"], [1, 2], folder)
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
    (row,) = experiments.stored(variants, ["toy"], [1], tmp_path).itertuples()
    assert "FloatingPointError" in row.error and np.isnan(row.acc) and row.epochs == {}


def test_two_data_sets_of_one_name_are_refused(folder, made, tmp_path):
    store = experiments.open_store(tmp_path)
    store.append({k: v for k, v in made[0].items() if k != "key"}, "a")
    store.append({k: v for k, v in made[0].items() if k != "key"} | {"data": "00"}, "b")
    with pytest.raises(ValueError, match="two different data sets named 'toy'"):
        experiments.index(store)


def test_page_draws_what_is_stored_and_says_what_is_missing(folder, made):
    here = page(folder, seeds=3)
    frame = here.fetch(VARIANTS, "some", ("toy", "absent"))
    assert len(frame) == 4 and frame.attrs["seeds"] == 3
    assert "4 of the 12 runs" in here.status() and "(toy 2, absent 6)" in here.status()
    whole = page(folder)
    assert len(whole.fetch(VARIANTS, "some", ("toy",), seeds=1)) == 2
    assert whole.status() == "This page is drawn from 2 stored runs, all that it asks for."
    assert whole.fetch(VARIANTS, "some", ("toy",), seeds=5).attrs["seeds"] == 2


def test_page_makes_missing_runs_where_it_is_asked_to(folder, made, tmp_path, monkeypatch):
    monkeypatch.setenv("TQDM_DISABLE", "1")
    monkeypatch.setenv("DMAC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(dmac, "load", load)
    filled(tmp_path)
    here = page(tmp_path, profile="full", seeds=3)
    assert len(here.fetch(VARIANTS, "some", ("toy",))) == 6
    assert len(experiments.open_store(tmp_path).refresh()) == 6
    shorter = page(tmp_path, profile="full", epochs=1, seeds=1)
    frame = shorter.fetch(VARIANTS, "some", ("toy",))
    assert frame.settings[frame.variant == "short"].iloc[0]["epochs"] == 1
    assert len(experiments.open_store(tmp_path).refresh()) == 7


def test_page_goes_on_without_data_that_are_not_here(folder, made, monkeypatch):
    def absent(name):
        raise dmac.registry.DownloadError(f"no {name}")

    monkeypatch.setattr(dmac, "load", absent)
    here = page(folder, profile="full")
    assert len(here.fetch(VARIANTS, "some", ("toy", "PIE"))) == 4
    assert here.absent == {"toy": "no toy", "PIE": "no PIE"}
    assert "No data here for: toy, PIE." in here.status()


def test_quick_page_is_small_and_leaves_the_store_alone():
    here = Page(PARAMETERS | dict(profile="quick", seeds=10), quick_seeds=2)
    assert here.datasets == ["mfeat"] and here.seeds == 2
    assert here.store.folder.parent != experiments.RESULTS
    frame = here.fetch({"both": plan.COMPARISON[METHOD], "not": ("no", {})}, "some", quick=["both"])
    assert len(frame) == 2 and set(frame.dataset) == {"mfeat"}
    assert "2 short runs" in here.status()
    assert experiments.few("mfeat").n_samples == 500


def test_only_keeps_variants_from_other_data_sets(folder):
    here = page(folder, dataset="mfeat")
    assert here.fetch(VARIANTS, "some", ("BBC",), only=True).empty
    assert here.status() == "This page is drawn from 0 stored runs, all that it asks for."


def test_arrays_are_those_of_the_first_seed(folder, made):
    store = experiments.open_store(folder).refresh()
    frame = experiments.stored(VARIANTS, ["toy", "other"], [1, 2], folder)
    key = frame[(frame.variant == "short") & (frame.dataset == "toy")].key.iloc[0]
    path = experiments.arrays_path(store, key)
    path.parent.mkdir()
    np.savez_compressed(path, anchors=np.eye(3))
    found = page(folder).arrays(frame)
    assert list(found) == [("toy", "short")]
    np.testing.assert_array_equal(found["toy", "short"]["anchors"], np.eye(3))


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"profile": "fast"}, "profile is 'fast'"),
        ({"seeds": 0}, "seeds is 0"),
        ({"epochs": 0}, "epochs is 0"),
        ({"n_jobs": "2"}, "n_jobs is '2'"),
        ({"dataset": "mfeet"}, "did you mean 'mfeat'"),
        ({"dataset": "PIE, BCB"}, "'BCB' is neither"),
        ({"sedes": 3}, "unknown parameter.*sedes"),
    ],
)
def test_page_refuses_what_it_does_not_understand(wrong, message, folder):
    with pytest.raises(ValueError, match=message):
        page(folder, **wrong)


def test_page_takes_names_in_any_case(folder):
    assert page(folder, dataset="pie, Yale-3VIEW").datasets == ["PIE", "Yale-3view"]


def test_parameters_of_a_notebook_are_checked():
    namespace = {"In": [], "Out": {}, "_": 1, "seeds": 3, "epochs": None, "Page": Page}
    check_parameters(namespace, seeds=int, epochs=(int, type(None)))
    with pytest.raises(ValueError, match="unknown parameter.*'seed'"):
        check_parameters(namespace | {"seed": 1}, seeds=int, epochs=(int, type(None)))
    with pytest.raises(ValueError, match="seeds is '3', it must be int"):
        check_parameters(namespace | {"seeds": "3"}, seeds=int, epochs=(int, type(None)))
    with pytest.raises(ValueError, match="seeds is True"):
        check_parameters(namespace | {"seeds": True}, seeds=int, epochs=(int, type(None)))


def test_records_of_the_project_are_found():
    if not (experiments.RESULTS / "runs").is_dir():
        pytest.skip("no stored runs")
    frame = experiments.stored(plan.COMPARISON, plan.MAIN)
    lines = [
        json.loads(line)["key"]
        for path in (experiments.RESULTS / "runs").rglob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert set(frame.key) <= set(lines) and isinstance(frame, pd.DataFrame)
