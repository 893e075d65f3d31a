"""Bring a results folder of before version 0.1.0 to today's layout; on a new one it does nothing.

    python scripts/migrate_results.py

Before, some recipe fields had other names or are constants now, and the runs behind chapter 11 lay
in a folder of their own, results/recipes, without the hash of their data. Now there is one store:
recipe fields are renamed in every record, which so gets another key, and keeps the old one as
"was"; the runs of chapter 11 join the others under results/runs. results/migrated.csv says where
every record went. Let nothing else write into the folder meanwhile. DMAC_DATA names the folder of
data files, for their hashes. This script goes with the next release.
"""

import argparse
import csv
import json
import os
import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "notebooks"))

import dmac
from experiments import provenance
from experiments.ideas import search
from experiments.records import RESULTS, arrays_path, open_store
from experiments.run import METHODS, recipe_of, settings_of
from experiments.store import Store, key_of

RENAMED = {"self_weight": "vote_weight", "self_share": "vote_share"}
MANIFEST = "migrated.csv"
COLUMNS = ("store", "was", "dataset", "seed", "key", "part", "acc", "nmi")
#: What the records of chapter 11 did not say.
UNKNOWN = dict.fromkeys(("peak_mb", "processor", "arithmetic", "versions", "code", "date"))
#: Fields of a recipe that no longer are.
FIELDS = {*RENAMED, "neighbor_step", "self_iterations", "spread", "self_views"}


def today_settings(settings):
    """Settings of DMAC under today's names.

    Four fields are constants today. Where one of them had another value, and it mattered, the run
    cannot be made any more, and the settings say so as "retired".
    """
    old = dict(neighbor_step=5, self_iterations=1, spread=0.5, self_views=True) | settings
    vote, retired = old.get("self_weight", 0) > 0, []
    if vote and not old["self_views"]:
        retired.append("graph of Z alone")
    if vote and old["self_iterations"] != 0:
        retired.append(f"self_iterations={old['self_iterations']}")
    if old.get("perturbation", True) and old.get("sigma") == "spread" and old["spread"] != 0.5:
        retired.append(f"spread={old['spread']}")
    if old.get("neighbor_period", 20) and old["neighbor_step"] != 5:
        retired.append(f"neighbor_step={old['neighbor_step']}")
    gone = FIELDS - set(RENAMED) | {"name"}
    new = {RENAMED.get(k, k): v for k, v in settings.items() if k not in gone}
    return new | ({"retired": ", ".join(retired)} if retired else {})


def is_old(record):
    return record["method"] == "DMAC" and not FIELDS.isdisjoint(record["settings"])


def rename(record):
    """A record of a store under its settings and key of today."""
    new = record | {"settings": today_settings(record["settings"])}
    return new | {"key": key_of(new), "was": record["key"]}


def rewrite(store):
    """Rename the fields in all files of a store, line by line, and move its arrays."""
    for path in sorted(store.folder.rglob("*.jsonl")):
        lines, changed = [], False
        for line in path.read_text().splitlines():
            record = json.loads(line)
            if is_old(record):
                record, changed = rename(record), True
                arrays = arrays_path(store, record["was"])
                if arrays.exists():
                    arrays.rename(arrays_path(store, record["key"]))
                line = json.dumps(record, separators=(",", ":"), allow_nan=False)
            lines.append(line)
        if changed:
            temporary = path.with_suffix(".migrated")
            temporary.write_text("\n".join(lines) + "\n")
            os.replace(temporary, path)


def fraction(percent):
    return round(percent / 100, 6)


def scores_of(run):
    return {name: fraction(run[name]) for name in ("acc", "nmi")}


def curves(trace):
    """The trace of a run as the store has it: every tenth epoch, and the last."""
    cosines = trace.pop("mean_cosine")
    epochs = [int(epoch) for epoch in trace.pop("epoch")]
    return {"epoch": epochs} | trace | {"one_minus_cosine": [round(1 - c, 7) for c in cosines]}


def records_of(folder, load):
    """The runs of a recipes folder as records of a store, each with its group and a name."""
    hashes = {}
    for path in sorted(folder.glob("*.jsonl")):
        group, described = path.stem, folder / f"{path.stem}.recipes.json"
        recipes = json.loads(described.read_text()) if described.exists() else {}
        for run in map(json.loads, path.read_text().splitlines()):
            name, dataset = run["variant"], run["dataset"]
            if dataset not in hashes:
                hashes[dataset] = provenance.data_hash(load(dataset))
            record = dict(dataset=dataset, data=hashes[dataset])
            record |= dict(zip(("method", "settings"), method_of(group, name, recipes, folder)))
            record["seed"] = run["seed"]
            if group == "unseen":
                record |= dict(scores=scores_of(run["unseen"]), fitted=scores_of(run["fitted"]))
            else:
                record["scores"] = scores_of(run)
            if "trace" in run:
                record["epochs"] = curves(run["trace"])
            seconds = run.get("seconds")
            dmac_run = record["method"] == "DMAC" and seconds is not None
            record["seconds"] = {"fit": seconds} if dmac_run else seconds
            record |= {"device": "cpu", "threads": 2 if group == "seconds" else 1} | UNKNOWN
            yield group, record | {"was": f"{group}: {name}"}


def method_of(group, name, recipes, folder):
    """Method and settings of a variant of a group."""
    if group == "baselines":
        return name, METHODS[name][1]
    if group == "search":
        return search.METHOD, search.BASE | search.VARIANTS[name]
    if group in ("unseen", "seconds"):  # REVISED, which these two groups do not describe
        recipes = json.loads((folder / "revised.recipes.json").read_text())
    settings = today_settings(recipes[name])
    retired = {"retired": settings.pop("retired")} if "retired" in settings else {}
    beside = {"unseen": {"held_out": 0.3}, "seconds": {"threads": 2}}.get(group, {})
    return "DMAC", settings_of(recipe_of(settings)) | retired | beside


def row(store, was, record):
    """Where a record went, in the columns of the manifest."""
    head = dict(store=store, was=was, dataset=record["dataset"], seed=record["seed"])
    head["key"] = key_of(record)[:16]
    for part in ("scores", "fitted"):
        if part in record:
            yield head | {"part": part} | {k: record[part][k] for k in ("acc", "nmi")}
    if "scores" not in record:
        yield head | {"part": "error"}


def manifest(results, load):
    """One row for each old record of a results folder: its old and its new name, and its scores."""
    stores = [("runs", results / "runs")]
    stores += [(f"repeated/{p.name}", p) for p in sorted((results / "repeated").glob("*"))]
    rows = []
    for name, folder in stores:
        for path in sorted(folder.rglob("*.jsonl")):
            for record in map(json.loads, path.read_text().splitlines()):
                new = rename(record) if is_old(record) else record
                rows += row(name, record["key"][:16], new)
    for _, record in records_of(results / "recipes", load):
        rows += row("recipes", record["was"], record)
    return rows


def is_migrated(results):
    texts = (path.read_text() for path in results.glob("r*/**/*.jsonl"))
    fields = re.compile("|".join(f'"{name}":' for name in FIELDS))
    return not (results / "recipes").is_dir() and not any(map(fields.search, texts))


def migrate(results, load=dmac.load):
    """Migrate a results folder, and return whether there was anything to do."""
    results = Path(results)
    if is_migrated(results):
        return False
    if not (results / MANIFEST).exists():  # of a migration that was interrupted: it is complete
        with open(results / MANIFEST, "w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(manifest(results, load))
    for folder in (results / "runs", *(results / "repeated").glob("*")):
        rewrite(Store(folder))
    store = open_store(results).refresh()
    for group, record in records_of(results / "recipes", load):
        key = store.append(record, f"{record['dataset']}/{group}")
        for name in ("acc", "nmi"):  # a run that the store had: the other one was rounded
            if abs(store.get(key)["scores"][name] - record["scores"][name]) > 5.1e-5:
                raise ValueError(f"{record['was']}, {record['dataset']}: two scores for one run")
    if (results / "recipes").is_dir():
        for path in (results / "recipes").iterdir():
            path.unlink()
        (results / "recipes").rmdir()
    return True


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS, help="their folder")
    given = parser.parse_args()
    done = migrate(given.results)
    print(f"{given.results} {'was migrated' if done else 'has today’s layout'}")
