"""The sealed test on stand-ins: what is refused, what fails, what is counted, and what is drawn."""

import dataclasses
import functools
import re
from collections import Counter
from unittest.mock import Mock

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats

import dmac
from dmac import peers
from dmac.recipes import CLOSED_FORM, CLOSED_FORM_0_2, RELEASED
from experiments import compare, field, libraries, paper, records, sealed
from experiments import run as runs

#: Shapes of the stand-ins.
SMALL = {
    "S01": sealed.SealedSet(60, (6, 4), 3, "cells", ""),
    "S02": sealed.SealedSet(70, (5, 4, 3), 2, "text", "", name="Letters"),
    "S03": sealed.SealedSet(65, (7, 5), 3, "text", ""),
}
TEST = dataclasses.replace(sealed.FIRST, sets=SMALL, related=[])


@pytest.fixture
def stand_ins(tmp_path, monkeypatch):
    monkeypatch.setenv("DMAC_DATA", str(tmp_path))
    return sealed.make_stand_ins(tmp_path, TEST)


def test_manifest_is_that_of_the_protocol():
    assert list(sealed.SETS) == [f"S{i:02d}" for i in range(1, 35)]
    assert len({about.kind for about in sealed.SETS.values()}) == 10
    assert sum(about.samples > 4000 for about in sealed.SETS.values()) == 8
    hashes = {about.sha256 for about in sealed.SETS.values()}
    assert all(about.name and about.about and about.source for about in sealed.SETS.values())
    assert len(hashes) == 34 and all(re.fullmatch("[0-9a-f]{64}", x) for x in hashes)
    assert sealed.FIRST.sealed.isoformat() == "2026-11-28"
    grouped = [name for group in sealed.FIRST.related for name in group]
    assert len(grouped) == len(set(grouped)) and set(grouped) <= set(sealed.SETS)


def test_the_second_test_has_other_sets_and_the_recipe_of_0_2_0_beside_the_default():
    second = sealed.SECOND
    assert list(second.sets) == [f"T{i:02d}" for i in range(1, 41)]
    hashes = {about.sha256 for test in sealed.TESTS.values() for about in test.sets.values()}
    assert len(hashes) == 74 and all(re.fullmatch("[0-9a-f]{64}", x) for x in hashes)
    assert not any(about.name or about.source for about in second.sets.values())
    first, listed = sealed.studies_of(), sealed.studies_of(second)
    both = {"AGC 0.3.0": CLOSED_FORM, "AGC 0.2.0": CLOSED_FORM_0_2}
    assert listed["closed form"].variants == {
        name: ("DMAC", runs.settings_of(recipe, sealed=True)) for name, recipe in both.items()
    }
    assert list(listed["how sure"].variants) == [second.tested] == ["AGC 0.3.0"]
    assert second.reference in sealed.PIPELINES and sealed.FIRST.reference is None
    assert set(listed["recipes"].variants) == {*first["recipes"].variants, *sealed.FIRST.beside}
    for name in ("pipelines", "systems", "trained systems", "cells and bulk"):
        assert listed[name].variants == first[name].variants


def test_every_method_of_the_protocol_runs_with_its_defaults_and_seeds():
    listed = sealed.studies_of()
    seeds = {name: study.all_seeds[-1] for study in listed.values() for name in study.variants}
    found = {name: run for study in listed.values() for name, run in study.variants.items()}
    ten = (sealed.CLOSED, sealed.DATED, *sealed.PIPELINES)
    systems = "SNF", *(name for name in paper.TABLE_2 if name in peers.ALL)
    three = (
        "REVISED",
        "RELEASED",
        *field.CELLS_ONLY,
        *systems,
        runs.SUGGESTED,
        *sealed.FIRST.beside,
    )
    assert {*sealed.SCORED, "how sure", "number of clusters"} == set(listed)
    assert seeds == dict.fromkeys(ten, 10) | dict.fromkeys(three, 3)
    assert len(ten) == 9 and len(three) == 16
    for name in systems:
        assert found[name] == (name, runs.peer_settings(name) | {"sealed": True})
    assert runs.recipe_of(found["RELEASED"][1], RELEASED.name) == RELEASED
    method, closed = listed["closed form"].variants[sealed.CLOSED]
    assert method == "DMAC"
    assert runs.recipe_of(closed, CLOSED_FORM_0_2.name) == CLOSED_FORM_0_2
    assert listed["how sure"].variants[sealed.CLOSED][1] == closed | {"of": "DMAC", "fits": 1}
    kinds = Counter(sealed.SETS[name].kind for name in listed["cells and bulk"].datasets)
    assert kinds == {"cells": 8, "bulk": 6}


def test_files_are_read_as_they_are(stand_ins, tmp_path):
    data = sealed.load("S02", stand_ins)
    with np.load(tmp_path / "sealed" / "S02.npz") as arrays:
        np.testing.assert_array_equal(data.labels, arrays["labels"])
        for a, x in enumerate(data.views):
            np.testing.assert_array_equal(x, arrays[f"view{a}"])
    assert (data.name, data.n_clusters, data.n_views) == ("S02", 2, 3)


OTHER_FILE = r"S01\.npz is not the sealed .*0{64}, found .*Replace"
OTHER_SIZES = r"S01\.npz has 60 samples.*the manifest says"


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"sha256": "0" * 64}, OTHER_FILE),
        ({"samples": 61}, OTHER_SIZES),
        ({"columns": (4, 6)}, OTHER_SIZES),
        ({"classes": 4}, OTHER_SIZES),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)
def test_a_file_that_is_not_the_sealed_one_is_refused(stand_ins, changes, message):
    sets = stand_ins.sets | {"S01": stand_ins.sets["S01"]._replace(**changes)}
    other = dataclasses.replace(stand_ins, sets=sets)
    with pytest.raises(ValueError, match=message):
        sealed.load("S01", other)


def test_without_one_of_the_files_nothing_is_run(stand_ins, tmp_path):
    store = records.open_store(tmp_path)
    (tmp_path / "sealed" / "S03.npz").unlink()
    with pytest.raises(ValueError, match=r"sealed lacks S03: place"):
        list(sealed.make(store, stand_ins))
    assert not store.refresh().records


def test_without_its_libraries_nothing_is_run(stand_ins, tmp_path, monkeypatch):
    monkeypatch.setattr(libraries, "is_runnable", lambda method, _: method != "PCA + Leiden")
    with pytest.raises(ValueError, match=r"PCA \+ Leiden cannot be run here: pip install"):
        list(sealed.make(records.open_store(tmp_path), stand_ins))


def made(function, stand_ins, monkeypatch, seed=1, **settings):
    """The record of a run of a function on the first stand-in."""
    monkeypatch.setitem(runs.PIPELINES, "tried", function)
    spec = runs.Spec("S01", "tried", settings or {"sealed": True}, seed, "")
    return runs.make_run(spec, load=functools.partial(sealed.load, test=stand_ins))


def test_shuffling_is_undone(stand_ins, monkeypatch):
    data, orders = sealed.load("S01", stand_ins), []

    def parts(views, n_clusters, seed):
        """Labels that depend on the order of the samples: the first half, and the others."""
        orders.append([int(np.flatnonzero((data.views[0] == row).all(1))[0]) for row in views[0]])
        np.testing.assert_array_equal(views[1], data.views[1][orders[-1]])
        return np.arange(60) // 30

    for seed in (1, 2):
        record = made(parts, stand_ins, monkeypatch, seed)
        labels = np.empty(60, dtype=int)
        labels[orders[-1]] = np.arange(60) // 30
        assert record["scores"] == pytest.approx(dmac.scores(data.labels, labels), abs=1e-5)
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(60)) != orders[0] != orders[1]


@pytest.mark.parametrize("error", [ValueError, MemoryError, ZeroDivisionError])
def test_whatever_fails_is_a_record_with_the_scores_of_one_cluster(stand_ins, monkeypatch, error):
    failing = Mock(side_effect=error("too large"))
    record = made(failing, stand_ins, monkeypatch)
    assert record["error"] == f"{error.__name__}: too large" and "scores" not in record
    largest = np.bincount(sealed.load("S01", stand_ins).labels).max() / 60
    scores = [record["one_cluster"][metric] for metric in ("acc", "nmi")]
    assert scores == pytest.approx([largest, 0])
    with pytest.raises(error, match="too large"):
        made(failing, stand_ins, monkeypatch, sealed=False)


def test_a_missing_library_is_no_failure(stand_ins, monkeypatch):
    with pytest.raises(ImportError, match="scanpy"):
        made(Mock(side_effect=ImportError("scanpy")), stand_ins, monkeypatch)


@pytest.fixture
def listed(tmp_path):
    """All runs with random scores in their records."""
    rng, listed = np.random.default_rng(0), []
    for run in sealed.asked(records.open_store(tmp_path), TEST):
        record = {
            "scores": dict(zip(("acc", "nmi"), rng.uniform(0.2, 0.9, 2).round(3))),
            "suggested": dict.fromkeys(sealed.CRITERIA, SMALL[run.spec.dataset].classes),
            "code": {"commit": None, "sha256": "x"},
            "cpu_seconds": 1.0,
            "membership": [{"auc": 0.75, "curve": np.linspace(0.9, 0.45, 10).tolist()}],
        }
        listed.append(dataclasses.replace(run, record=record))
    return listed


def failing(listed, variant, dataset, seed=1):
    """The same runs, of which one failed."""
    error = {"error": "it failed", "one_cluster": {"acc": 0.4, "nmi": 0.0}, "code": {}}
    is_it = [(r.variant, r.spec.dataset, r.spec.seed) == (variant, dataset, seed) for r in listed]
    assert any(is_it)
    return [dataclasses.replace(r, record=error) if it else r for r, it in zip(listed, is_it)]


def values(listed, variant, metric="acc"):
    """By set, the scores of a method over its seeds, in %."""
    rows = {}
    for run in listed:
        if run.variant == variant and run.study in sealed.SCORED:
            rows.setdefault(run.spec.dataset, []).append(100 * run.record["scores"][metric])
    return rows


def scores_of(listed):
    return sealed.scores_of(sealed.frame_of(listed))


def test_the_primary_comparison_is_with_the_pipeline_that_is_best_on_average(listed):
    means = {name: np.mean(list(values(listed, name).values())) for name in sealed.PIPELINES}
    scores = scores_of(listed)
    best = sealed.best_pipeline(scores)
    assert best == max(means, key=means.get) and len(means) == 7
    for metric in ("acc", "nmi"):
        ours, theirs = (values(listed, name, metric) for name in (sealed.CLOSED, best))
        change = [np.mean(ours[name]) - np.mean(theirs[name]) for name in SMALL]
        table = sealed.by_group(scores, best, SMALL)
        test = stats.ttest_1samp(change, 0)
        expected = np.mean(change), np.ptp(test.confidence_interval()) / 2, test.pvalue
        found = table.loc["all", [metric, f"±{metric}", f"p {metric}"]]
        assert tuple(found) == pytest.approx(expected)
        of_kinds = change[0], np.mean(change[1:])
        assert tuple(table.loc[["cells", "text"], metric]) == pytest.approx(of_kinds)
        above = np.array([x > 0 for x in change])
        if metric == "acc":
            assert table.ahead[["all", "cells", "text"]].tolist() == [
                *(above.sum(), above[:1].sum(), above[1:].sum())
            ]
    assert list(table.n) == [3, 1, 2, 2, 1, 3]  # all, cells, text, two views, more, below 1,000


def test_groups_are_those_of_the_protocol():
    groups = sealed.groups_of()
    assert len(groups) == 1 + 10 + 4 and len(groups["all"]) == 34
    pairs = ("two views", "more views"), ("below 1,000 samples", "1,000 samples and more")
    for one, other in pairs:
        assert sorted(groups[one] + groups[other]) == groups["all"]
    assert "S15" in groups["1,000 samples and more"] and len(groups["two views"]) == 17


def test_against_each_method_p_is_that_of_holm(listed):
    table = sealed.against_methods(scores_of(listed))
    scored = {run.variant for run in listed if run.study in sealed.SCORED}
    assert set(table.index) == scored - {sealed.CLOSED, *sealed.FIRST.beside}
    raw = {}
    for name in table.index:
        ours, theirs = values(listed, sealed.CLOSED), values(listed, name)
        change = [np.mean(ours[key]) - np.mean(theirs[key]) for key in theirs]
        raw[name] = stats.ttest_1samp(change, 0).pvalue if len(change) > 1 else np.nan
    np.testing.assert_allclose(table["p acc"], compare.holm([*raw.values()]))
    assert table.loc["WNN + Leiden", "n"] == 1 and table.loc["SNF", "n"] == 3


def test_a_failed_fit_of_the_closed_form_counts_as_one_cluster(listed):
    scores = scores_of(failing(listed, sealed.CLOSED, "S02", seed=4))
    expected = values(listed, sealed.CLOSED)["S02"]
    expected[3] = 40.0
    assert scores.loc["S02", (sealed.CLOSED, "acc")] == pytest.approx(np.mean(expected))
    assert sealed.by_group(scores, "SNF", SMALL).n["all"] == 3


@pytest.mark.parametrize("method", ["GMC", sealed.DATED, "SURER"])
def test_a_failed_fit_of_another_method_leaves_the_set_out(listed, method):
    failed = failing(listed, method, "S03")
    table = sealed.against_methods(scores_of(failed))
    assert table.loc[method, "n"] == 2 and table.loc["SNF", "n"] == 3
    assert sealed.counts(failed).xs(method, level="method").failed.item() == 1
    words = sealed.tables(failed, TEST)[f"{sealed.CLOSED} against each method"]
    assert words["left out"].to_dict() == dict.fromkeys(words.index, 0) | {method: 1}
    text = [x for title, x in sealed.score_tables(failed, SMALL).items() if method in x]
    assert [x.loc["S03", method] for x in text] == ["–", "–"]


def test_a_failed_pipeline_leaves_the_set_out_of_the_choice_and_of_its_comparison(listed):
    best = sealed.best_pipeline(scores_of(listed))
    scores = scores_of(failing(listed, best, "S01"))
    means = {
        name: np.mean([x for key, x in values(listed, name).items() if key != "S01"])
        for name in sealed.PIPELINES
    }
    assert sealed.best_pipeline(scores) == max(means, key=means.get)
    assert sealed.differences(scores, best).index.tolist() == ["S02", "S03"]


def test_related_sets_count_as_one(listed):
    scores, related = scores_of(listed), [["S01", "S03"]]
    each = sealed.differences(scores, "SNF").acc
    once = sealed.differences(scores, "SNF", related).acc
    assert once.to_dict() == pytest.approx({"S01": (each.S01 + each.S03) / 2, "S02": each.S02})
    assert sealed.against_methods(scores, related).n["SNF"] == 2
    for of, n_titles in ((related, 2), ([], 0)):
        titles = sealed.tables(listed, dataclasses.replace(TEST, related=of))
        assert sum("related" in title for title in titles) == n_titles


def test_a_reference_that_the_protocol_names_is_compared_with_first(listed):
    named = dataclasses.replace(TEST, reference="PCA + k-means")
    first, second, *_ = sealed.tables(listed, named)
    assert first == f"{sealed.CLOSED} against PCA + k-means, named beforehand"
    assert second.endswith("the best pipeline on average")


def test_confidence_and_the_number_of_clusters(listed):
    sure = sealed.confidence(listed, SMALL).loc["all"]
    expected = {"area": 0.75, "surer half": 70, "all": 45, "gain": 25, "n": 3}
    assert sure[list(expected)].to_dict() == pytest.approx(expected)
    assert sealed.suggested(listed, SMALL).loc["gap"].tolist() == [3, 3, 3, 1]
    # Of S02, with two classes.
    seen = iter([dict.fromkeys(sealed.CRITERIA, x) for x in (6, 3, 6)])
    changed = [
        dataclasses.replace(r, record={"suggested": next(seen)})
        if r.study == "number of clusters" and r.spec.dataset == "S02"
        else r
        for r in listed
    ]
    # The median is 6, three times too many.
    assert sealed.suggested(changed, SMALL).loc["gap"].tolist() == [3, 2, 2, 1]
    one = next(i for i, run in enumerate(listed) if run.study == "how sure")
    listed[one] = dataclasses.replace(listed[one], record={"error": "no", "code": {}})
    out = sealed.confidence(listed, SMALL).loc["all"]
    assert out.n == 2 and out.area == pytest.approx(0.75)


def test_nothing_is_drawn_before_the_primary_comparison_is_whole(listed):
    needed = {sealed.PIPELINES[-1]: False, "closed form": False, "how sure": True, "SURER": True}
    for one, still in needed.items():
        lacking = next(i for i, run in enumerate(listed) if one in (run.variant, run.study))
        partial = list(listed)
        partial[lacking] = dataclasses.replace(listed[lacking], record=None)
        found = sealed.tables(partial, TEST)
        plots = sealed.plot_by_set(partial, SMALL), sealed.plot_by_method(partial)
        shown = (
            bool(found),
            bool(sealed.score_tables(partial, SMALL)),
            *(x is not None for x in plots),
        )
        assert shown == (still,) * 4
        assert f"{len(listed) - 1} of {len(listed)} runs" in sealed.state(partial)
    assert "SURER" not in found[f"{sealed.CLOSED} against each method"].index
    plt.close("all")


def test_later_seeds_of_a_trained_system_need_a_short_first_fit(tmp_path):
    store, took = records.open_store(tmp_path), {"S01": 1199.0, "S02": 1200.0, "S03": 5.0}
    first = [r for r in sealed.asked(store, TEST) if r.variant == "SURER"]
    assert [r.spec.seed for r in first] == [1, 1, 1]
    for run in first:
        name, settings = run.spec.dataset, run.spec.settings
        identity = dict(dataset=name, data="x", method="SURER", seed=1, settings=settings)
        outcome = {"error": "no"} if name == "S03" else {"scores": {}}
        store.append(identity | outcome | {"cpu_seconds": took[name]}, "x")
    listed = [r.spec for r in sealed.asked(store, TEST) if r.variant == "SURER"]
    assert {(one.dataset, one.seed) for one in listed} == {
        *(("S01", seed) for seed in (1, 2, 3)),
        *(("S02", 1), ("S03", 1)),
    }


def test_the_whole_path_from_files_to_tables_and_figures(stand_ins, tmp_path, monkeypatch):
    """Cheap methods in the place of those that take long, two seeds."""

    def cheap(views, n_clusters, seed, device="cpu", **settings):
        return peers.LMVSC(n_clusters, n_anchors=5, random_state=seed).fit(views)

    for name in (*sealed.TRAINED, "GMC", "MSGL", "UDBGL"):
        monkeypatch.setitem(runs.PEERS, name, cheap)
    for name in field.EVERY:
        monkeypatch.setitem(runs.LIBRARIES, name, lambda *about, **more: cheap(*about).labels_)
    monkeypatch.setattr(libraries, "is_runnable", lambda *about: True)
    short = dataclasses.replace(RELEASED, hidden_dim=8, pretrain_epochs=1, epochs=1, lr=1e-4)
    for name, value in (("RECIPES", {"RELEASED": short}), ("SEEDS", 2), ("FEW", 2)):
        monkeypatch.setattr(sealed, name, value)
    store, small = records.open_store(tmp_path), {k: stand_ins.sets[k] for k in ("S01", "S02")}
    brief = {k: dataclasses.replace(x, pretrain_epochs=1) for k, x in stand_ins.beside.items()}
    small = dataclasses.replace(stand_ins, sets=small, beside=brief)
    done = list(sealed.make(store, small))
    listed = sealed.asked(store.refresh(), small)
    assert len(done) == len(listed) and all(run.record is not None for run in listed)
    assert sealed.counts(listed)[["sets", "runs", "failed"]].loc["systems"].to_numpy().tolist() == [
        [2, 4, 0]
    ] * len(sealed.SYSTEMS)
    assert list(sealed.make(store, small)) == []
    assert {run.record["settings"]["sealed"] for run in listed} == {True}
    assert [run.record["error"] for run in listed if run.failed] == []
    assert (tmp_path / "runs" / "sealed.jsonl").exists()
    sealed.draw(listed, tmp_path / "drawn", small)
    assert {path.suffix for path in (tmp_path / "drawn").iterdir()} == {".csv", ".svg"}
    plots = sealed.plot_by_set(listed, small.sets), sealed.plot_by_method(listed)
    rows = [[label.get_text() for label in x.axes[0].get_yticklabels()] for x in plots]
    assert rows[0] == ["S02 Letters", "S01", "mean of all"]  # by the difference in accuracy
    scored = {run.variant for run in listed if run.study in sealed.SCORED}
    assert set(rows[1]) == scored - {sealed.CLOSED, *sealed.FIRST.beside}
    assert sealed.code_of(listed).runs.tolist() == [len(listed)]
    plt.close("all")


def test_the_command_makes_no_run_before_the_test_is_opened(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DMAC_DATA", str(tmp_path))
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")  # what the command sets goes with the test
    is_sealed = dataclasses.replace(sealed.FIRST, commit="")
    monkeypatch.setitem(sealed.TESTS, "sealed", is_sealed)
    sealed.main(["--dry-run", "--results", str(tmp_path)])
    assert "The test is sealed: 0 of " in capsys.readouterr().out
    with pytest.raises(SystemExit):
        sealed.main(["--results", str(tmp_path)])
    assert "name the commit" in capsys.readouterr().err
    opened = dataclasses.replace(sealed.FIRST, commit="0123456789ab")
    monkeypatch.setitem(sealed.TESTS, "sealed", opened)
    with pytest.raises(SystemExit):
        sealed.main(["--results", str(tmp_path)])
    said = capsys.readouterr()
    assert "was opened at commit 0123456789ab: 0 of" in said.out
    assert "lacks S01, S02" in said.out and "lacks S01, S02" in said.err
