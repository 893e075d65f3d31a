"""Runs as the experiments make them, what their records hold, and the list of all of them."""

import dataclasses
import json

import joblib
import numpy as np
import pytest
import scipy.sparse
import torch
from scipy.stats import entropy

import dmac
from dmac import peers
from dmac.recipes import CLOSED_FORM, RELEASED, REVISED, Recipe
from experiments import field, measure, paper, plan, provenance, search
from experiments import records as experiments
from experiments import run as runs
from experiments.generalise import disturb

SHORT = dataclasses.replace(RELEASED, hidden_dim=16, pretrain_epochs=4, epochs=3, lr=1e-4)


def load(name):
    rng = np.random.default_rng(0)
    classes = np.arange(60) % 3
    views = [5 * rng.normal(size=(3, d))[classes] + rng.normal(size=(60, d)) for d in (4, 6)]
    if name == "counts":
        views = [scipy.sparse.csr_matrix(rng.poisson(1.0, x.shape).astype(float)) for x in views]
    return dmac.MultiViewData(name, views, classes, 3)


def specs(**changes):
    settings = runs.settings_of(dataclasses.replace(SHORT, **changes))
    found = [runs.Spec("toy", "DMAC", settings, seed, "some") for seed in (1, 2)]
    method = "closed form, whitened"
    return [*found, runs.Spec("toy", method, runs.BASELINES[method][1], 1, "some")]


def complete(listed, folder, **options):
    store = experiments.open_store(folder)
    return store, list(experiments.complete(listed, store, load=load, **options))


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    return complete(specs(), tmp_path_factory.mktemp("results"))


def test_record_holds_what_the_fit_gave(stored):
    record = stored[1][0]
    data, recipe = load("toy"), runs.recipe_of(record["settings"])
    model = dmac.DMAC(3, recipe, random_state=1).fit(data.views)
    expected = dmac.scores(data.labels, model.labels_)
    assert record["scores"] == pytest.approx(expected, abs=1e-5)
    epochs = record["epochs"]
    assert epochs["loss"] == pytest.approx([r.loss for r in model.history_], rel=1e-4)
    gap = [1 - r.mean_cosine for r in model.history_]
    assert epochs["one_minus_cosine"] == pytest.approx(gap, rel=1e-3)
    assert {len(column) for column in epochs.values()} == {3}
    assert record["oracle"]["acc"] == max([*epochs["acc"], record["scores"]["acc"]])
    assert 0 < record["embedding"]["neighbors"] <= 1
    assert set(record["start"]) == {"acc", "nmi", "one_minus_cosine", "effective_rank"}
    seconds = record["seconds"]
    assert seconds["fit"] > seconds["training"] > 0 and seconds["fit"] > seconds["pretraining"] > 0
    assert {"torch", "numpy", "python"} <= set(record["versions"])
    assert record["threads"] == 1 and record["device"] == "cpu" and record["peak_mb"] > 10
    assert len(record["data"]) == len(record["key"]) == 64
    assert len(json.dumps(stored[1][2])) < 1500 and "epochs" not in stored[1][2]


def test_nothing_is_made_twice_and_a_changed_parameter_is_new(stored):
    folder = stored[0].folder.parent
    assert complete(specs(), folder)[1] == []
    again = complete(specs(cm_weight=1000), folder)[1]
    assert again == []  # 1000 and 1000.0 are the same
    assert [r["seed"] for r in complete(specs(cm_weight=1.0)[:2], folder)[1]] == [1, 2]


def test_workers_and_kept_pretraining_give_the_same(stored, tmp_path):
    with joblib.parallel_config("threading"):
        found = complete(specs(), tmp_path, n_jobs=1, pretrained=tmp_path / "kept")[1]
    more = complete(specs(cm_weight=1.0), tmp_path, pretrained=tmp_path / "kept")[1]
    for one, other in zip(stored[1], found):
        for name in ("key", "scores", "oracle", "epochs", "start", "embedding"):
            assert one.get(name) == other.get(name)
    assert more[0]["start"] == found[0]["start"]
    assert more[0]["seconds"]["pretraining"] == found[0]["seconds"]["pretraining"]
    assert more[0]["seconds"]["fit"] > more[0]["seconds"]["pretraining"]


def test_a_fit_that_fails_is_a_record(tmp_path):
    _, (record, *_) = complete(specs(lr=1e30)[:1], tmp_path)
    assert "FloatingPointError" in record["error"] and "scores" not in record
    assert complete(specs(lr=1e30)[:1], tmp_path)[1] == []


def test_arrays_are_kept_where_a_figure_needs_them(tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "plane", lambda z: z[:, :2])  # UMAP compiles for half a minute
    plain = specs()[0]
    store, (record,) = complete([plain], tmp_path)
    path = experiments.arrays_path(store, record["key"])
    assert not path.exists()
    drawn = dataclasses.replace(plain, keep=True)
    assert experiments.missing([plain], store, load) == []
    assert experiments.missing([drawn], store, load) == [drawn]
    complete([plain, drawn], tmp_path)
    with np.load(path) as arrays:
        assert arrays["anchors"].shape == (13, 64) and arrays["plane"].shape == (60, 2)
        assert set(arrays["anchor_classes"]) == {0, 1, 2}
        np.testing.assert_array_equal(arrays["classes"], load("toy").labels)
    assert len(experiments.open_store(tmp_path).refresh()) == 1
    assert experiments.missing([drawn], store, load) == []


def test_counts_are_weighted_by_term(tmp_path):
    settings = runs.settings_of(SHORT)
    listed = [
        runs.Spec("counts", "DMAC", settings | more, 1, "some")
        for more in ({}, {"weighting": "tf-idf"})
    ]
    plain, weighted = complete(listed, tmp_path)[1]
    assert plain["data"] == weighted["data"] and plain["key"] != weighted["key"]
    assert plain["epochs"]["loss"] != weighted["epochs"]["loss"]
    counts = scipy.sparse.csr_matrix([[2.0, 1.0], [3.0, 0.0]])
    rare = 1 + np.log(3 / 2)  # 1 + log((1 + n) / (1 + df))
    np.testing.assert_allclose(runs.tf_idf(counts).toarray(), [[2, rare], [3, 0]])


def test_a_view_can_be_made_a_bad_one(tmp_path):
    recipe = dataclasses.replace(CLOSED_FORM, anchor_sets=1)
    listed = [
        runs.Spec("toy", "DMAC", runs.settings_of(recipe, **more), 1, "some")
        for more in ({}, {"disturbed": "noise"})
    ]
    plain, noisy = complete(listed, tmp_path)[1]
    assert plain["data"] == noisy["data"] and plain["key"] != noisy["key"]
    assert plain["epochs"] == noisy["epochs"] == {}  # nothing is trained
    model = dmac.DMAC(3, recipe, random_state=1).fit(disturb(load("toy").views, "noise", 1))
    expected = dmac.scores(load("toy").labels, model.labels_)
    assert noisy["scores"] == pytest.approx(expected, abs=1e-5)


def test_a_share_of_the_samples_is_held_out(tmp_path):
    settings = runs.settings_of(SHORT, held_out=0.25)
    (record,) = complete([runs.Spec("toy", "DMAC", settings, 1, "some")], tmp_path)[1]
    data, order = load("toy"), np.random.default_rng(1).permutation(60)
    seen, unseen = order[:45], order[45:]
    model = dmac.DMAC(3, runs.recipe_of(settings), random_state=1)
    model.fit([x[seen] for x in data.views])
    predicted = model.predict([x[unseen] for x in data.views])
    assert record["scores"] == pytest.approx(dmac.scores(data.labels[unseen], predicted), abs=1e-5)
    expected = dmac.scores(data.labels[seen], model.labels_)
    assert record["fitted"] == pytest.approx(expected, abs=1e-5)
    assert record["seconds"]["fit"] > 0


def test_a_timed_run_has_its_own_number_of_threads(monkeypatch):
    used = []

    def function(views, n_clusters, seed, threads):
        used.append(torch.get_num_threads())
        return load("toy").labels

    monkeypatch.setitem(runs.METHODS, "timed", (function, {}))
    before = torch.get_num_threads()
    record = runs.make_run(runs.Spec("toy", "timed", {"threads": 2}, 1, "some"), load=load)
    assert record["threads"] == 2 and used == [2] and record["scores"]["acc"] == 1
    assert torch.get_num_threads() == before


def test_a_run_of_the_search_is_made(tmp_path):
    settings = search.BASE | {"sets": 3, "components": 1.0}
    (record,) = complete([runs.Spec("toy", search.METHOD, settings, 1, "some")], tmp_path)[1]
    labels = search.spectral_search(load("toy").views, 3, 1, **settings)
    assert record["scores"]["nmi"] == pytest.approx(dmac.scores(load("toy").labels, labels)["nmi"])
    # Its code is not that of the fits.
    assert record["code"]["sha256"] != runs.make_run(specs()[2], load=load)["code"]["sha256"]


def test_a_run_of_another_system_is_made(tmp_path):
    settings = runs.peer_settings("LMVSC", n_anchors=5)
    listed = [
        runs.Spec("toy", "LMVSC", settings, 1, "peers"),
        runs.Spec("counts", "UDBGL", runs.peer_settings("UDBGL"), 2, "peers"),
    ]
    record, other = complete(listed, tmp_path)[1]
    data = load("toy")
    labels = peers.LMVSC(3, n_anchors=5, random_state=1).fit_predict(data.views)
    expected = dmac.scores(data.labels, labels)
    # Mutual information is one number; its norm is the mean of two entropies, or the larger.
    entropies = [entropy(np.unique(x, return_counts=True)[1]) for x in (data.labels, labels)]
    expected["nmi_max"] = expected["nmi"] * np.mean(entropies) / max(entropies)
    assert record["scores"] == pytest.approx(expected, abs=1e-5)
    assert record["clusters"] == 3 and other["clusters"] >= 1
    # A run says which code made it: that of its system, and of no other.
    hashes = [r["code"]["sha256"] for r in (record, other)]
    assert hashes[0] == provenance.code_identity(("peers.lmvsc", "metrics")) != hashes[1]
    assert hashes[1] == provenance.code_identity(("peers.udbgl", "metrics"))
    made = [runs.make_run(spec, load=load) for spec in listed]
    assert [one["scores"] for one in made] == [record["scores"], other["scores"]]


def test_a_network_of_another_system_is_on_the_device_of_the_run():
    short = dict(pretrain_epochs=1, epochs=1, hidden=(8, 4), shared=(4, 3))
    spec = runs.Spec("toy", "DFP-GNN", runs.peer_settings("DFP-GNN", **short), 1, "peers")
    assert "scores" in runs.make_run(spec, device="cpu", load=load)
    with pytest.raises(ValueError, match="device 'abacus' is not usable"):
        runs.PEERS["DFP-GNN"](load("toy").views, 3, 1, device="abacus", **spec.settings)


def test_settings_of_another_system_are_all_its_parameters():
    for name, system in peers.ALL.items():
        settings = runs.peer_settings(name)
        assert json.loads(json.dumps(settings, allow_nan=False)).keys() == settings.keys()
        parameters = set(system(2).get_params())
        assert parameters - set(settings) <= {
            "n_clusters",
            "random_state",
            "device",
            "memory_budget",
        }
    chosen = {"n_neighbors": 3, "scale": "standard"}
    assert runs.peer_settings("GMC", n_neighbors=3) == chosen
    with pytest.raises(TypeError, match="GMC has no setting .*'k'.*'n_neighbors'"):
        runs.peer_settings("GMC", k=3)
    # Parameters added later are at their defaults in what was stored before.
    assert runs.complete_settings("LMVSC", {"alpha": 2.0}) == runs.peer_settings("LMVSC", alpha=2.0)


def test_the_list_has_every_other_system_of_the_paper():
    assert set(runs.PEERS) == set(paper.TABLE_2) - {"DMAC"} == set(plan.PEER_SEEDS)
    assert not set(runs.PEERS) & (set(runs.METHODS) | set(plan.COMPARISON))
    stages, counts = plan.full(), {}
    for stage in ("peers, shallow", "peers, deep"):
        for spec in stages[stage]:
            short = plan.is_short(spec)
            if spec.method in paper.SHALLOW or short == (spec.dataset in plan.SHORTENED):
                seeds = counts.setdefault((spec.method, spec.dataset), [])
                seeds.append(spec.seed)
    assert set(counts) == {(name, d) for name in runs.PEERS for d in plan.PEER_DATASETS}
    for (name, _), seeds in counts.items():
        expected = 1 if name == "GMC" else 10 if name in paper.SHALLOW else 3
        assert seeds == list(range(1, expected + 1))
    assert len(stages["peers, shallow"]) == 9 * 31 and len(stages["peers, deep"]) == 9 * 15 + 4 * 15
    assert {s.dataset for s in plan.full(["PIE"])["peers, deep"]} == {"PIE"}


def test_deep_systems_have_their_defaults_but_for_the_end_of_one_stage():
    for name, (method, settings) in plan.DEEP_PEERS.items():
        defaults = runs.peer_settings(name)
        changed = {key: settings[key] for key in defaults if settings[key] != defaults[key]}
        assert method == name and settings.keys() == defaults.keys()
        assert changed == ({"epochs": 2000} if name == "DFP-GNN" else {})


def test_a_tenth_of_a_schedule_changes_nothing_else():
    for name, (method, settings) in plan.SHORT_PEERS.items():
        whole = plan.DEEP_PEERS[name][1]
        changed = {key for key in whole if settings[key] != whole[key]}
        assert method == name and settings.keys() == whole.keys()
        assert changed == {k for k in whole if k.endswith("epochs") or k == "refresh"} != set()
        assert all(10 * settings[key] == whole[key] for key in changed)
        capped = plan.CAPPED_PEERS[name][1]
        also = {key: capped[key] for key in whole if capped[key] != settings[key]}
        assert also == ({"flat": 0.05} if name == "DFP-GNN" else {})
    assert list(field.ONE_PERCENT.values()) == [plan.SHORT_PEERS["DFP-GNN"]]


def test_a_retired_choice_is_found_and_not_made(tmp_path):
    settings = runs.settings_of(SHORT, retired="graph of Z alone")
    spec = runs.Spec("toy", "DMAC", settings, 1, "some")
    with pytest.raises(ValueError, match="cannot be made any more.*'graph of Z alone'"):
        complete([spec], tmp_path)
    store = experiments.open_store(tmp_path)
    store.append(spec.identity(load) | {"scores": {"acc": 1.0, "nmi": 1.0}}, "toy/some")
    assert complete([spec], tmp_path)[1] == []


def test_data_without_labels_are_refused(tmp_path):
    def unlabelled(name):
        return dataclasses.replace(load(name), labels=None)

    with pytest.raises(ValueError, match="has no labels"):
        specs()[0].identity(unlabelled)


def test_settings_hold_every_field_and_make_the_recipe_again():
    for recipe in (RELEASED, REVISED):
        settings = runs.settings_of(recipe)
        assert len(settings) == len(dataclasses.fields(Recipe)) - 1
        assert dataclasses.replace(runs.recipe_of(settings), name=recipe.name) == recipe
    old = {k: v for k, v in runs.settings_of(RELEASED).items() if k != "vote_share"}
    assert runs.complete_settings("DMAC", old) == runs.settings_of(RELEASED)
    assert runs.complete_settings("k-means, whitened", {}) == {}


def test_every_listed_run_can_be_made():
    stages = plan.full()
    listed = [spec for stage in stages.values() for spec in stage]
    assert len(listed) > 2000
    sizes = {"PIE": (680, 68), "Yale-3view": (165, 15), "mfeat": (2000, 10), "BBC": (685, 5)}
    assert not any("retired" in spec.settings for spec in listed)
    seen = set()
    for spec in listed:
        if spec.method != "DMAC":
            known = (*runs.BASELINES, *runs.PEERS, *runs.LIBRARIES, search.METHOD)
            assert spec.method in known
            continue
        text = json.dumps(spec.settings, sort_keys=True, allow_nan=False)
        if spec.dataset in sizes and (spec.dataset, text) not in seen:
            seen.add((spec.dataset, text))
            dmac.estimator._check_sizes(*sizes[spec.dataset], runs.recipe_of(spec.settings))


def test_the_list_has_the_paper_s_protocol():
    stages = plan.full()
    listed = [spec for stage in stages.values() for spec in stage]

    def seeds(dataset, recipe):
        settings = runs.settings_of(recipe)
        return {s.seed for s in listed if s.dataset == dataset and s.settings == settings}

    wo_pd = dataclasses.replace(runs.EARLY, perturbation=False, al_weight=0.0)
    for dataset in (*plan.MAIN, *plan.OTHERS):
        for recipe in (*plan.RECIPES.values(), wo_pd):
            assert seeds(dataset, recipe) == set(range(1, 11)), (dataset, recipe.name)
        assert seeds(dataset, RELEASED) == {1, 2}  # with the authors' schedule of k
    for dataset in plan.MAIN:
        corner = dataclasses.replace(runs.EARLY, cm_weight=1e-3, sp_weight=1e3)
        assert seeds(dataset, corner) == {1, 2, 3}
    assert [s for s in plan.full(["PIE"])["grid"] if s.dataset != "PIE"] == []
    assert plan.full(["my.mat"])["others"][0].dataset == "my.mat"
