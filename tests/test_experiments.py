"""Runs, their table, their file, and the refusal of misspelt notebook parameters."""

import dataclasses

import joblib
import numpy as np
import pytest

import dmac
from dmac import experiments
from dmac.experiments import BASELINES, Run, check_parameters


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    classes = np.arange(60) % 3
    views = [5 * rng.normal(size=(3, d))[classes] + rng.normal(size=(60, d)) for d in (4, 6)]
    return dmac.MultiViewData("toy", views, classes, 3)


@pytest.fixture(scope="module")
def runs(data):
    recipe = dataclasses.replace(
        dmac.recipes.RELEASED, hidden_dim=16, pretrain_epochs=4, epochs=3, lr=1e-4
    )
    return list(experiments.run_all(data, [*BASELINES, recipe], (1, 2), n_jobs=1))


def test_run_holds_what_the_fit_gave(data, runs):
    run = runs[-1]
    recipe = dmac.recipes.Recipe(**run.settings)
    model = dmac.DMAC(3, recipe, random_state=2).fit(data.views)
    assert run.scores == dmac.scores(data.labels, model.labels_)
    assert [e["loss"] for e in run.epochs] == [r.loss for r in model.history_]
    assert run.mean_cosine == pytest.approx(dmac.diagnostics.mean_cosine(model.embedding_))
    assert run.seconds > 0
    assert run.oracle("acc") == max(e["acc"] for e in run.epochs)
    assert runs[0].oracle("acc") is None


def test_parallel_processes_give_the_same_runs_in_the_same_order(data, runs):
    recipe = dmac.recipes.Recipe(**runs[-1].settings)
    again = list(experiments.run_all(data, [*BASELINES, recipe], (1, 2), n_jobs=2))
    assert [(r.method, r.seed) for r in again] == [(r.method, r.seed) for r in runs]
    assert [r.scores for r in again] == [r.scores for r in runs]


# Dask keeps threads and sockets of its own, and closes some of them late.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_dask_cluster_gives_the_same_runs(data, runs):
    from distributed import Client, LocalCluster

    recipe = dmac.recipes.Recipe(**runs[-1].settings)
    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
        joblib.parallel_config("dask"),
    ):
        found = list(experiments.run_all(data, [*BASELINES, recipe], (1, 2)))
    assert [(r.method, r.seed) for r in found] == [(r.method, r.seed) for r in runs]
    assert [r.scores for r in found] == [r.scores for r in runs]


def test_summary_is_mean_and_sample_deviation(runs):
    table = experiments.summary(runs)
    assert list(table.index) == [*BASELINES, "DMAC, released"]
    acc = [100 * run.scores["acc"] for run in runs[-2:]]
    expected = f"{np.mean(acc):.1f} ± {np.std(acc, ddof=1):.1f}"
    assert table.loc["DMAC, released", "ACC"] == expected
    oracle = [100 * run.oracle("nmi") for run in runs[-2:]]
    expected = f"{np.mean(oracle):.1f} ± {np.std(oracle, ddof=1):.1f}"
    assert table.loc["DMAC, released", "NMI, oracle epoch"] == expected
    assert set(table.loc[list(BASELINES), "ACC, oracle epoch"]) == {"–"}
    others = experiments.summary(runs, ("ari", "purity", "f1"))
    assert list(others.columns) == ["ARI", "PURITY", "F1", "seconds"]
    assert "±" not in experiments.summary(runs[:1])["ACC"].iloc[0]


def test_oracle_is_the_best_epoch_and_never_below_the_result():
    epochs = [{"acc": 0.5, "nmi": 0.1}, {"acc": 0.2, "nmi": 0.3}]
    run = Run("toy", "DMAC", 0, {"acc": 0.3, "nmi": 0.4}, 1.0, {}, epochs)
    assert (run.oracle("acc"), run.oracle("nmi")) == (0.5, 0.4)


def test_variants_of_one_name_are_not_averaged(runs):
    other = dataclasses.replace(runs[-1], settings=runs[-1].settings | {"lr": 1.0})
    with pytest.raises(ValueError, match="'DMAC, released' have different settings"):
        experiments.summary([*runs, other])


def test_runs_survive_their_file(runs, tmp_path):
    path = tmp_path / "new folder" / "runs.json"
    experiments.save_runs(runs, path)
    loaded = experiments.load_runs(path)
    assert experiments.summary(loaded).equals(experiments.summary(runs))
    assert [run.settings for run in loaded] == [run.settings for run in runs]
    assert all(isinstance(run, Run) for run in loaded)
    assert '"torch"' in path.read_text()


def test_parameters_of_a_notebook_are_checked():
    namespace = {"In": [], "Out": {}, "_": 1, "seeds": 3, "epochs": None}
    check_parameters(namespace, seeds=int, epochs=(int, type(None)))
    with pytest.raises(ValueError, match="unknown parameter.*'seed'"):
        check_parameters(namespace | {"seed": 1}, seeds=int, epochs=(int, type(None)))
    with pytest.raises(ValueError, match="seeds is '3', it must be int"):
        check_parameters(namespace | {"seeds": "3"}, seeds=int, epochs=(int, type(None)))
    with pytest.raises(ValueError, match="seeds is True"):
        check_parameters(namespace | {"seeds": True}, seeds=int, epochs=(int, type(None)))
