"""Results of before: every record is found again in today's layout, with the scores it had."""

import csv
import dataclasses
import json
from collections import Counter

import migrate_results
import numpy as np
import pytest
from toy_runs import load

from dmac.recipes import REVISED
from experiments import plan, provenance, records, switches
from experiments import run as runs
from experiments.ideas import search
from experiments.run import EARLY
from experiments.store import key_of

BASELINE = "closed form, whitened"
HASH = provenance.data_hash(load("toy"))


def old_settings(recipe, **changes):
    """Settings as they were stored before, with the fields that are no more."""
    settings = runs.settings_of(recipe)
    settings["self_weight"] = settings.pop("vote_weight")
    settings["self_share"] = settings.pop("vote_share")
    iterations = 0 if settings["self_weight"] else 1
    gone = dict(neighbor_step=5, self_iterations=iterations, spread=0.5, self_views=True)
    return settings | gone | changes


def old_record(method, settings, **more):
    identity = dict(dataset="toy", data=HASH, method=method, settings=settings, seed=1)
    record = identity | {"scores": {"acc": 0.512345, "nmi": 0.25}} | more
    return {"key": key_of(identity)} | record


def lines(path, rows, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, **options) + "\n" for row in rows))


@pytest.fixture
def old(tmp_path):
    """A results folder as it was: a store, repeated runs, and the folder of chapter 11."""
    compact = dict(separators=(",", ":"))
    weighted = old_settings(EARLY, weighting="tf-idf")
    comparison = [
        old_record(BASELINE, {"n_neighbors": 5}, seconds=1.5),
        old_record("DMAC", old_settings(EARLY), epochs={"loss": [1e-05, 2.0]}, versions={}),
        old_record("DMAC", weighted),
    ]
    lines(tmp_path / "runs/toy/comparison.jsonl", comparison, **compact)
    arrays = tmp_path / "runs" / "arrays" / f"{comparison[1]['key'][:32]}.npz"
    arrays.parent.mkdir()
    np.savez(arrays, anchors=np.arange(3))
    failed = old_record("DMAC", old_settings(REVISED), error="no")
    del failed["scores"]
    lines(tmp_path / "repeated/there/toy/comparison.jsonl", [comparison[1], failed], **compact)

    recipes = tmp_path / "recipes"
    run = dict(dataset="toy", seed=1)
    score = dict(acc=51.23, nmi=25.0)
    fields = {"name": "variant"} | old_settings(REVISED)
    trace = dict(epoch=[1.0, 11.0], loss=[3.0, 2.0], mean_cosine=[0.25, 0.5])
    groups = {
        "baselines": [run | score | {"variant": BASELINE, "seconds": 2.0}],
        "revised": [run | score | {"variant": "revised", "seconds": 3.0, "trace": trace}],
        "switches": [run | score | {"variant": "graph of Z alone beside", "seconds": 4.0}],
        "seconds": [run | score | {"variant": "revised", "seconds": 5.0}],
        "search": [run | score | {"variant": "k = 10"}],
        "unseen": [run | dict(variant="revised", fitted=score, unseen=dict(acc=40.0, nmi=1.0))],
    }
    for group, rows in groups.items():
        lines(recipes / f"{group}.jsonl", rows)
    alone = {"graph of Z alone beside": fields | {"self_views": False}}
    (recipes / "revised.recipes.json").write_text(json.dumps({"revised": fields}))
    (recipes / "switches.recipes.json").write_text(json.dumps(alone))
    return tmp_path


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_records_of_a_store_keep_all_but_their_settings_and_key(old):
    path = old / "runs/toy/comparison.jsonl"
    before = path.read_text().splitlines()
    assert migrate_results.migrate(old, load)
    after = path.read_text().splitlines()
    assert after[0] == before[0]  # a baseline: nothing of it had another name
    for line, now, settings in zip(
        before[1:],
        after[1:],
        (runs.settings_of(EARLY), runs.settings_of(EARLY, weighting="tf-idf")),
    ):
        was, record = json.loads(line), json.loads(now)
        assert record["settings"] == settings and record["was"] == was["key"]
        for name in ("key", "settings", "was"):
            was.pop(name, None), record.pop(name)
        assert record == was
        # Number for number as it was written.
        assert line.split('"seed":')[1][:-1] == now.split('"seed":')[1].split(',"was":')[0]
    store = records.open_store(old).refresh()  # it refuses a key that is not that of the contents
    with np.load(records.arrays_path(store, json.loads(after[1])["key"])) as arrays:
        assert list(arrays["anchors"]) == [0, 1, 2]
    assert len(list((old / "runs" / "arrays").iterdir())) == 1
    again = records.open_repeated(old, "there").refresh()
    assert [r["settings"] for r in again.records()] == [
        runs.settings_of(EARLY),
        runs.settings_of(REVISED),
    ]


def test_runs_of_chapter_11_are_found_as_the_plan_names_them(old):
    migrate_results.migrate(old, load)
    assert not (old / "recipes").exists()
    found = records.index(records.open_store(old).refresh())
    groups = {
        group: records.runs(found, asked["variants"], ["toy"], [1])
        for group, asked in switches.GROUPS.items()
    }
    assert {group: len(frame) for group, frame in groups.items() if len(frame)} == {
        "baselines": 1,
        "revised": 1,
        "unseen": 1,
        "switches": 1,
        "search": 1,
        "seconds": 1,
        "released": 1,
    }
    # What the store had stays as it was; the run of chapter 11 is that one.
    assert groups["baselines"].acc[0] == 100 * 0.512345 and groups["baselines"].seconds[0] == 1.5
    assert groups["revised"].acc[0] == groups["seconds"].acc[0] == 51.23
    assert groups["seconds"].fit_seconds[0] == 5 and groups["revised"].fit_seconds[0] == 3
    assert groups["unseen"].acc[0] == 40 and groups["unseen"].fitted_acc[0] == 51.23
    assert list(groups["switches"].variant) == ["graph of Z alone beside"]
    assert groups["switches"].settings[0]["retired"] == "graph of Z alone"
    assert groups["search"].settings[0] == search.BASE | {"k": 10}
    curves = records.curves(groups["revised"])
    assert list(curves.epoch) == [1, 11] and list(curves.one_minus_cosine) == [0.75, 0.5]
    assert curves.acc.isna().all()
    (record,) = (r for r in found.values() if r.get("was") == "seconds: revised")
    assert record["threads"] == 2 and record["data"] == HASH and record["versions"] is None


def test_a_second_migration_and_one_of_a_new_store_do_nothing(old):
    migrate_results.migrate(old, load)
    before = contents(old)
    assert not migrate_results.migrate(old, load)
    assert contents(old) == before


def test_a_migration_that_was_cut_off_goes_on(old, monkeypatch):
    appended = records.Store.append

    def broken(store, record, file):
        if record["was"].startswith("switches"):
            raise KeyboardInterrupt
        return appended(store, record, file)

    monkeypatch.setattr(records.Store, "append", broken)
    with pytest.raises(KeyboardInterrupt):
        migrate_results.migrate(old, load)
    monkeypatch.undo()
    assert migrate_results.migrate(old, load)
    assert missing_rows(old) == []
    assert len(records.open_store(old).refresh()) == 8


def test_two_scores_for_one_run_are_refused(old):
    path = old / "recipes" / "baselines.jsonl"
    path.write_text(path.read_text().replace("51.23", "51.25"))
    with pytest.raises(ValueError, match="closed form, whitened, toy: two scores for one run"):
        migrate_results.migrate(old, load)


@pytest.mark.parametrize(
    "changes, retired",
    [
        (dict(), None),
        (dict(self_views=False), "graph of Z alone"),
        (dict(self_views=False, self_weight=0.0), None),  # where there was no such graph
        (dict(self_iterations=2), "self_iterations=2"),
        (dict(spread=1.0), None),  # of a perturbation that is off
        (dict(spread=1.0, perturbation=True), "spread=1.0"),
        (dict(neighbor_step=3), None),  # of a schedule that is off
        (dict(neighbor_step=3, neighbor_period=9), "neighbor_step=3"),
    ],
)
def test_a_choice_that_is_gone_is_named_where_it_mattered(changes, retired):
    settings = migrate_results.today_settings(old_settings(REVISED, **changes))
    assert settings.pop("retired", None) == retired
    fields = {k: v for k, v in changes.items() if k in ("perturbation", "neighbor_period")}
    if "self_weight" in changes:
        fields["vote_weight"] = changes["self_weight"]
    assert settings == runs.settings_of(dataclasses.replace(REVISED, **fields))


def manifest(results):
    with open(results / migrate_results.MANIFEST, newline="") as file:
        return list(csv.DictReader(file))


def missing_rows(results):
    """Rows of the manifest whose record is not in the store, or has another name or scores."""
    stores = {"runs": records.open_store(results)}
    stores |= {
        f"repeated/{path.name}": records.open_repeated(results, path.name)
        for path in (results / "repeated").iterdir()
    }
    by_key = {
        name: {record["key"][:16]: record for record in store.refresh().records()}
        for name, store in stores.items()
    }
    wrong = []
    for row in manifest(results):
        recipes = row["store"] == "recipes"
        record = by_key["runs" if recipes else row["store"]].get(row["key"])
        if record is None:
            wrong.append(row)
            continue
        same_run = record["dataset"] == row["dataset"] and str(record["seed"]) == row["seed"]
        if recipes:  # also where the store had the run already
            group, name = row["was"].split(": ", 1)
            method, settings = switches.GROUPS[group]["variants"][name]
            today = runs.complete_settings(method, record["settings"])
            same_run &= (record["method"], today) == (method, settings)
        else:
            same_run &= record.get("was", record["key"])[:16] == row["was"]
        tolerance = 5.1e-5 if recipes else 0  # those were rounded to 0.01 points
        part = record[row["part"]] if row["part"] != "error" else {}
        far = [abs(part[k] - float(row[k])) for k in ("acc", "nmi") if part]
        if not same_run or max(far, default=0) > tolerance or not (part or "error" in record):
            wrong.append(row)
    return wrong


def test_the_manifest_finds_every_record_and_a_changed_one_is_missed(old):
    migrate_results.migrate(old, load)
    rows = manifest(old)
    assert Counter(row["store"] for row in rows) == {"runs": 3, "repeated/there": 2, "recipes": 7}
    assert Counter(row["part"] for row in rows) == {"scores": 10, "fitted": 1, "error": 1}
    assert missing_rows(old) == []
    path = old / "runs/toy/comparison.jsonl"
    text = path.read_text()
    path.write_text(text.replace('"acc":0.512345', '"acc":0.522345', 1))
    # The baseline's: it stands for its own row and for that of chapter 11.
    assert [row["store"] for row in missing_rows(old)] == ["runs", "recipes"]
    path.write_text(text.split("\n", 1)[1])
    assert [row["store"] for row in missing_rows(old)] == ["runs", "recipes"]


def test_every_record_of_the_project_is_found_again():
    if not (records.RESULTS / migrate_results.MANIFEST).exists():
        pytest.skip("no stored runs")
    rows = Counter(row["store"] for row in manifest(records.RESULTS) if row["part"] != "fitted")
    repeated = rows.pop("repeated/same-instructions") + rows.pop("repeated/other-instructions")
    assert rows == {"runs": 2055, "recipes": 2004} and repeated == 84
    assert len({tuple(row.values()) for row in manifest(records.RESULTS)}) == 2055 + 2004 + 84 + 30
    assert missing_rows(records.RESULTS) == []
    assert migrate_results.is_migrated(records.RESULTS)


def test_the_project_lacks_no_run_of_the_plan():
    if not (records.RESULTS / "runs").is_dir():
        pytest.skip("no stored runs")
    found = records.index(records.open_store().refresh())
    absent = [
        (stage, spec)
        for stage, specs in plan.full().items()
        for spec in specs
        if records.run_name(spec.dataset, spec.method, spec.settings, spec.seed) not in found
    ]
    assert absent == []
