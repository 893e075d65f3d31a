"""Runs as the experiments make them, what their records hold, and the list of all of them."""

import dataclasses
import json

import joblib
import numpy as np
import pytest
import scipy.sparse
import torch
from scipy.stats import entropy
from toy_runs import METHOD, SHORT
from toy_runs import load as load_toy

import dmac
from dmac import peers
from dmac.compute.kmeans import kmeans
from dmac.model_selection import CRITERIA
from dmac.recipes import (
    CLOSED_FORM,
    CLOSED_FORM_0_2,
    CLOSED_FORM_2026_11,
    RELEASED,
    REVISED,
    NetworkRecipe,
)
from dmac.solvers.contract import solver_of
from experiments import incomplete, measure, plan, records
from experiments import run as runs


def load(name):
    data = load_toy(name)
    if name != "counts":
        return data
    counts = np.random.default_rng(0).poisson(1.0, (60, 8)).astype(float)
    return dataclasses.replace(data, views=[scipy.sparse.csr_matrix(counts)] * 2)


def spec(settings=None, method="DMAC", name="toy", seed=1, **changes):
    if settings is None:
        settings = runs.settings_of(dataclasses.replace(SHORT, **changes))
    return runs.Spec(name, method, settings, seed, "some")


def complete(listed, folder, **options):
    return list(records.complete(listed, records.open_store(folder), load=load, **options))


LISTED = [spec(seed=1), spec(seed=2), spec(*reversed(runs.BASELINES[METHOD]))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def stored(folder):
    return complete(LISTED, folder)


def test_record_holds_what_the_fit_gave(stored):
    record, _, shallow = stored
    data, recipe = load("toy"), runs.recipe_of(record["settings"])
    model = dmac.DMAC(3, recipe, random_state=1).fit(data.views)
    assert record["scores"] == pytest.approx(dmac.scores(data.labels, model.labels_), abs=1e-5)
    epochs, gaps = record["epochs"], [1 - r.mean_cosine for r in model.history_]
    assert epochs["loss"] == pytest.approx([r.loss for r in model.history_], rel=1e-4)
    assert epochs["one_minus_cosine"] == pytest.approx(gaps, rel=1e-3)
    assert record["oracle"]["acc"] == max([*epochs["acc"], record["scores"]["acc"]])
    assert {"versions", "code", "threads", "device", "start", "seconds"} < record.keys()
    assert len(json.dumps(shallow)) < 1500 and "epochs" not in shallow


def test_nothing_is_made_twice_and_a_changed_parameter_is_new(stored, folder):
    assert complete([*LISTED, spec(cm_weight=1000)], folder) == []  # 1000 and 1000.0 are the same
    changed = [spec(cm_weight=1.0, seed=seed) for seed in (1, 2)]
    assert [r["seed"] for r in complete(changed, folder)] == [1, 2]


def test_workers_and_kept_pretraining_give_the_same(stored, tmp_path):
    with joblib.parallel_config("threading"):
        found = complete(LISTED, tmp_path, n_jobs=1, pretrained=tmp_path / "kept")
    for one, other in zip(stored, found):
        for name in ("key", "scores", "oracle", "epochs", "start", "embedding"):
            assert one.get(name) == other.get(name)
    (more,) = complete([spec(cm_weight=1.0)], tmp_path, pretrained=tmp_path / "kept")
    assert more["start"] == found[0]["start"]
    assert more["seconds"]["pretraining"] == found[0]["seconds"]["pretraining"]
    assert more["seconds"]["fit"] >= more["seconds"]["pretraining"]


def test_a_fit_that_fails_is_a_record(tmp_path):
    (record,) = complete([spec(lr=1e30)], tmp_path)
    assert "FloatingPointError" in record["error"] and "scores" not in record
    assert complete([spec(lr=1e30)], tmp_path) == []
    failing = {"failing": ("DMAC", record["settings"])}
    (row,) = records.read_runs(failing, ["toy"], [1], tmp_path).itertuples()
    assert "FloatingPointError" in row.error and np.isnan(row.acc) and row.epochs == {}


def test_arrays_are_kept_where_a_figure_needs_them(tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "plane", lambda z: z[:, :2])  # UMAP compiles for half a minute
    (record,) = complete([spec()], tmp_path)
    store = records.open_store(tmp_path).refresh()
    drawn = dataclasses.replace(spec(), keep=True)
    assert records.missing([spec(), drawn], store, load) == [drawn]
    complete([spec(), drawn], tmp_path)
    with np.load(records.arrays_path(store, record["key"])) as arrays:
        assert arrays["anchors"].shape == (13, 64) and arrays["plane"].shape == (60, 2)
    assert len(store.refresh().records) == 1 and records.missing([drawn], store, load) == []


def test_counts_are_weighted_by_term(tmp_path):
    settings = runs.settings_of(SHORT)
    listed = [spec(settings | x, name="counts") for x in ({}, {"weighting": "tf-idf"})]
    plain, weighted = complete(listed, tmp_path)
    assert plain["data"] == weighted["data"] and plain["key"] != weighted["key"]
    assert plain["epochs"]["loss"] != weighted["epochs"]["loss"]
    counts = scipy.sparse.csr_matrix([[2.0, 1.0], [3.0, 0.0]])
    rare = 1 + np.log(3 / 2)  # 1 + log((1 + n) / (1 + df))
    np.testing.assert_allclose(runs.tf_idf(counts).toarray(), [[2, rare], [3, 0]])


def test_a_view_can_be_made_a_bad_one(tmp_path):
    recipe = dataclasses.replace(CLOSED_FORM, anchor_sets=1)
    listed = [spec(runs.settings_of(recipe, **x)) for x in ({}, {"disturbed": "noise"})]
    plain, noisy = complete(listed, tmp_path)
    assert plain["data"] == noisy["data"] and plain["key"] != noisy["key"]
    views = runs.disturb(load("toy").views, "noise", 1)
    labels = dmac.AnchorGraphClustering(3, recipe, random_state=1).fit_predict(views)
    assert noisy["scores"] == pytest.approx(dmac.scores(load("toy").labels, labels), abs=1e-5)


def bad_views(sparse=False):
    rng = np.random.default_rng(0)
    found = [rng.poisson(1.0, (50, 12)) + 1.0, rng.standard_normal((50, 5))]
    return [scipy.sparse.csr_matrix(x) for x in found] if sparse else found


def dense(x):
    return x.toarray() if scipy.sparse.issparse(x) else x


@pytest.mark.parametrize("sparse", [False, True])
def test_disturbing_changes_one_view_and_leaves_the_others(sparse):
    views, (first, second) = bad_views(sparse), bad_views()
    made = {kind: [dense(x) for x in runs.disturb(views, kind, 0)] for kind in runs.DISTURBED}
    other = {kind: [dense(x) for x in runs.disturb(views, kind, 1)] for kind in runs.DISTURBED}
    np.testing.assert_array_equal(dense(views[0]), first)  # what came in
    (rest,) = made.pop("left out")
    np.testing.assert_array_equal(rest, second)
    emptied = made.pop("empty rows")
    empty = ~emptied[0].any(1)
    assert empty.sum() == 20 and (emptied[0] != other["empty rows"][0]).any()
    np.testing.assert_array_equal(emptied[0], np.where(empty[:, None], 0, first))
    for found in (made["duplicate"], made["noise"], made["shuffled"]):
        np.testing.assert_array_equal(found[0], first)
        np.testing.assert_array_equal(found[1], second)
    np.testing.assert_array_equal(made["duplicate"][2], first)
    assert made["noise"][2].shape == (50, 64) and abs(made["noise"][2].mean()) < 0.1
    order = [made["shuffled"][2], other["shuffled"][2], first]
    assert all((a != b).any() for a, b in zip(order, order[1:]))
    np.testing.assert_array_equal(np.sort(order[0], 0), np.sort(first, 0))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (
            lambda: runs.disturb(bad_views(), "upside down", 0),
            ValueError,
            "kind is 'upside down', it must be one of",
        ),
        (
            lambda: spec().identity(lambda name: dataclasses.replace(load(name), labels=None)),
            ValueError,
            "has no labels",
        ),
        (
            lambda: runs.peer_settings("GMC", k=3),
            TypeError,
            "GMC has no setting .*'k'.*'n_neighbors'",
        ),
    ],
    ids=["disturbance", "data without labels", "setting"],
)
def test_what_cannot_be_run_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_share_of_the_samples_is_held_out(tmp_path):
    settings = runs.settings_of(SHORT, held_out=0.25)
    (record,) = complete([spec(settings)], tmp_path)
    data, order = load("toy"), np.random.default_rng(1).permutation(60)
    seen, unseen = order[:45], order[45:]
    model = dmac.DMAC(3, runs.recipe_of(settings), random_state=1)
    model.fit([x[seen] for x in data.views])
    predicted = model.predict([x[unseen] for x in data.views])
    for name, rows, labels in (("scores", unseen, predicted), ("fitted", seen, model.labels_)):
        assert record[name] == pytest.approx(dmac.scores(data.labels[rows], labels), abs=1e-5)


def test_a_timed_run_has_its_own_number_of_threads(monkeypatch):
    used = []

    def function(views, n_clusters, seed, threads):
        used.append(torch.get_num_threads())
        return load("toy").labels

    monkeypatch.setitem(runs.PIPELINES, "timed", function)
    before = torch.get_num_threads()
    record = runs.make_run(spec({"threads": 2}, "timed"), load=load)
    assert record["threads"] == 2 and used == [2] and record["scores"]["acc"] == 1
    assert torch.get_num_threads() == before


def test_a_run_of_another_system_is_made(tmp_path):
    (record,) = complete([spec(runs.peer_settings("LMVSC", n_anchors=5), "LMVSC")], tmp_path)
    data = load("toy")
    labels = peers.LMVSC(3, n_anchors=5, random_state=1).fit_predict(data.views)
    expected = dmac.scores(data.labels, labels)
    # Mutual information is one number; its norm is the mean of two entropies, or the larger.
    entropies = [entropy(np.unique(x, return_counts=True)[1]) for x in (data.labels, labels)]
    expected["nmi_max"] = expected["nmi"] * np.mean(entropies) / max(entropies)
    assert record["scores"] == pytest.approx(expected, abs=1e-5)
    assert record["clusters"] == 3 and "curves" not in record


def test_a_network_of_another_system_is_on_the_device_of_the_run():
    short = dict(pretrain_epochs=1, epochs=1, hidden=(8, 4), shared=(4, 3))
    one = spec(runs.peer_settings("DFP-GNN", **short), "DFP-GNN")
    record, data = runs.make_run(one, load=load), load("toy")
    assert all(c["epoch"] == [1] for c in record["curves"].values())
    # Beside the arg-max of its assignments is what k-means finds in its embedding.
    z = peers.DFPGNN(3, random_state=1, device="cpu", **short).fit(data.views).embedding_
    again = dmac.scores(data.labels, kmeans(z, 3, 1, n_init=10).labels_)
    for name in ("acc", "nmi"):
        assert record["scores"][f"kmeans_{name}"] == pytest.approx(again[name], abs=1e-5)
    with pytest.raises(ValueError, match="device 'abacus' is not usable"):
        runs.make_run(one, device="abacus", load=load)


def test_settings_of_another_system_are_all_its_parameters():
    left_out = {"n_clusters", "random_state", "device", "memory_budget"}
    for name, system in peers.ALL.items():
        settings = runs.peer_settings(name)
        assert json.loads(json.dumps(settings, allow_nan=False)).keys() == settings.keys()
        assert set(system(2).get_params()) - set(settings) <= left_out
    # Parameters added later are at their defaults in what was stored before.
    assert runs.complete_settings("LMVSC", {"alpha": 2.0}) == runs.peer_settings("LMVSC", alpha=2.0)


def test_settings_hold_every_field_and_make_the_recipe_again():
    for recipe in (RELEASED, REVISED, CLOSED_FORM):
        settings = runs.settings_of(recipe)
        assert len(settings) == len(dataclasses.fields(recipe))  # the kind in place of the name
        assert dataclasses.replace(runs.recipe_of(settings), name=recipe.name) == recipe
    old = {k: v for k, v in runs.settings_of(RELEASED).items() if k != "vote_share"}
    assert runs.complete_settings("DMAC", old) == runs.settings_of(RELEASED)
    assert runs.complete_settings("k-means, whitened", {}) == {}
    # Fields that are gone: a guard that moved no label of the sets, and the weight of a level.
    for recipe in (CLOSED_FORM_0_2, CLOSED_FORM_2026_11):
        now = runs.settings_of(recipe)
        for old in ({"length_guard": True}, {"length_guard": False, "scaled_weight": "rank"}):
            assert runs.complete_settings("DMAC", now | old) == now
    now = runs.settings_of(CLOSED_FORM)
    old = now | {"level_weight": "spread", "scaled_weight": "halves"}
    assert runs.complete_settings("DMAC", old) == now
    other = runs.complete_settings("DMAC", old | {"scaled_weight": "rank"})
    assert other == now | {"level_weight": "spread", "retired": "scaled weight rank"}
    other = runs.complete_settings("DMAC", now | {"columns": "centred"})
    assert other == now | {"retired": "columns centred"}
    # Kinds of recipes that are gone, whose fields stay.
    stored = {"kind": "NetworkIdea", "sigma": "spread"}
    found = runs.complete_settings("DMAC", stored)
    assert found == runs.settings_of(NetworkRecipe("")) | {"al_form": "entropy"} | stored


def test_a_retired_choice_is_found_and_not_made(tmp_path):
    one = spec(runs.settings_of(SHORT, retired="graph of Z alone"))
    with pytest.raises(ValueError, match="cannot be made any more.*'graph of Z alone'"):
        complete([one], tmp_path)
    with pytest.raises(ValueError, match="cannot be made any more.*'NetworkIdea'"):
        complete([spec(runs.retired_settings("NetworkIdea", SHORT, {}))], tmp_path)
    store = records.open_store(tmp_path)
    store.append(one.identity(load) | {"scores": {"acc": 1.0, "nmi": 1.0}}, "some")
    assert complete([one], tmp_path) == []


def test_every_listed_run_can_be_made():
    sizes = {
        "PIE": (680, 3, 68),
        "Yale-3view": (165, 3, 15),
        "mfeat": (2000, 6, 10),
        "BBC": (685, 4, 5),
    }
    known = (*runs.PIPELINES, *runs.PEERS, *runs.LIBRARIES, *incomplete.BASELINES)
    known += (runs.SUGGESTED, runs.SURE)
    seen = set()
    for one in (one for stage in plan.full().values() for one in stage):
        assert one.method in known or (one.method == "DMAC" and not runs.is_retired(one.settings))
        text = json.dumps([one.dataset, one.settings], sort_keys=True, allow_nan=False)
        if one.method == "DMAC" and one.dataset in sizes and text not in seen:
            seen.add(text)
            n, n_views, c = sizes[one.dataset]
            solver_of(runs.recipe_of(one.settings)).plan(n, [9] * n_views, c)
    assert len(seen) > 100


def test_the_number_of_clusters_is_suggested_by_every_criterion():
    settings = {"candidates": [2, 3, 4, 900]}
    record = runs.make_run(spec(settings, runs.SUGGESTED, seed=0), load=load)
    assert set(record["suggested"]) == set(CRITERIA) and "scores" not in record
    assert record["suggested"]["gap"] == 3
