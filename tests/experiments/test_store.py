"""The store of runs: what it names a run by, and that no run is lost or made twice."""

import json
import subprocess
import sys

import joblib
import pytest

from experiments.store import Store, fill, key_of, round_floats, slug

RUN = {"dataset": "toy", "data": "0f", "method": "DMAC", "settings": {"lr": 0.1}, "seed": 1}


def runs(count, file="toy/group"):
    return [(RUN | {"seed": seed}, file, seed) for seed in range(count)]


def seeds(folder):
    lines = (x for path in folder.rglob("*.jsonl") for x in path.read_text().splitlines())
    return sorted(json.loads(line)["seed"] for line in lines)


def test_every_parameter_names_the_run():
    changed = [
        *({}, {"dataset": "toys"}, {"data": "0e"}, {"method": "k-means"}, {"seed": 2}),
        *({"settings": {"lr": 0.2}}, {"settings": {"lr": 0.1, "k": 5}}),
    ]
    assert len({key_of(RUN | change) for change in changed}) == len(changed)
    reordered = dict(reversed(RUN.items())) | {"scores": 1, "settings": {"k": 5, "lr": 0.1}}
    assert key_of(reordered) == key_of(RUN | {"settings": {"lr": 0.1, "k": 5}})
    # One number is one setting, however it is typed; that of a stored run stays.
    assert key_of(RUN | {"settings": {"w": [1000]}}) == key_of(RUN | {"settings": {"w": [1e3]}})
    assert key_of(RUN | {"settings": {"w": 1}}) != key_of(RUN | {"settings": {"w": "1"}})
    assert key_of(RUN) == "dbe92b22934abc2890034d0c423d23ab92d4f6cce429b10d719a1d75846535b9"


def test_records_are_read_again_and_seen_by_others(tmp_path):
    store, other = Store(tmp_path / "runs").refresh(), Store(tmp_path / "runs").refresh()
    assert not store.records
    store.append(RUN | {"scores": {"acc": 0.5}}, "toy/a")
    store.append(RUN | {"scores": {"acc": 0.6}}, "toy/b")
    key = key_of(RUN)
    assert seeds(tmp_path) == [1] and key not in other.records
    assert key in other.refresh().records and other.records[key]["scores"] == {"acc": 0.5}
    assert list(other.records.items()) == list(store.records.items())
    other.append(RUN | {"seed": 2}, "toy/a")
    assert len(store.refresh().records) == 2


@pytest.mark.parametrize("cut", [1, 20, -2, -1])
def test_a_line_that_was_cut_off_is_made_again(cut, tmp_path):
    store, path = Store(tmp_path), tmp_path / "a.jsonl"
    for seed in (1, 2):
        store.append(RUN | {"seed": seed}, "a")
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[:cut])
    store.refresh()
    store.append(RUN | {"seed": 3}, "a")
    # Where an editor removed the end of the last line, the run is whole.
    assert seeds(tmp_path) == ([1, 2, 3] if cut == -1 else [1, 3])
    assert Store(tmp_path).refresh().records == store.records


def test_a_deleted_line_is_a_run_to_be_made(tmp_path):
    store, path = Store(tmp_path), tmp_path / "toy" / "group.jsonl"
    list(fill(store, runs(5), lambda seed: {"made": 1}))
    kept = [x for x in path.read_text().splitlines(keepends=True) if '"seed":3' not in x]
    path.write_text("".join(kept))
    again = list(fill(store, runs(5), lambda seed: {"made": 2}))
    assert [(record["seed"], record["made"]) for record in again] == [(3, 2)]
    path.unlink()
    assert len(store.refresh().records) == 0


def test_damage_is_named(tmp_path):
    Store(tmp_path).append(RUN, "a")
    path = tmp_path / "a.jsonl"
    good = path.read_text()
    lines = "<<<<<<< HEAD\n", '{"key": "0"}\n', "[]\n", "\xff\n"
    for text, message in (
        *((good + line, "a.jsonl, line 2 is not a record") for line in lines),
        (good.replace('"lr":0.1', '"lr":0.2'), "line 1 was changed"),
    ):
        path.write_text(text, encoding="latin-1")
        with pytest.raises(ValueError, match=message):
            Store(tmp_path).refresh()


def test_records_are_found_after_a_parameter_was_added(tmp_path):
    Store(tmp_path).append(RUN, "a")
    new = Store(tmp_path, lambda method, settings: {"momentum": 0.0} | settings).refresh()
    today = key_of(RUN | {"settings": {"lr": 0.1, "momentum": 0.0}})
    assert list(new.records) == [today]
    assert key_of(RUN | {"settings": {"lr": 0.1, "momentum": 0.9}}) not in new.records
    assert new.records[today]["key"] == key_of(RUN)  # where a figure's arrays lie
    assert new.records[today]["settings"] == {"lr": 0.1, "momentum": 0.0}


def test_groups_have_plain_names_of_files_and_numbers_are_rounded():
    assert [slug("MSGL, n / c"), slug("ideas, 2026-11")] == ["msgl-n-c", "ideas-2026-11"]
    found = round_floats({"a": [1 / 3, 2], "b": (float("nan"), "x"), "c": 123456789.0})
    assert found == {"a": [0.333333, 2], "b": [None, "x"], "c": 123457000.0}
    assert round_floats(1 / 3, 2) == 0.33


def test_a_claim_is_held_by_one(tmp_path):
    one, other = Store(tmp_path), Store(tmp_path)
    claim = one.claim("k")
    assert other.claim("k") is None and one.claim("k") is None
    with other.claim("l"):
        claim.close()
    with other.claim("k"):
        assert one.claim("k") is None
    assert not (tmp_path / ".locks" / "k").exists()


def test_a_run_that_fails_is_given_back(tmp_path):
    with pytest.raises(ZeroDivisionError):
        list(fill(Store(tmp_path), runs(4), lambda seed: {"made": 1 / (seed - 2)}))
    assert seeds(tmp_path) == [0, 1]
    assert len(list(fill(Store(tmp_path), runs(4), lambda seed: {}))) == 2


def test_a_run_listed_twice_is_made_once_and_workers_share_the_rest(tmp_path):
    listed = runs(6) + runs(6, "other")
    with joblib.parallel_config("threading"):
        found = list(fill(Store(tmp_path), listed, lambda seed: {"made": seed}, n_jobs=2))
        assert list(fill(Store(tmp_path), listed, lambda seed: {}, n_jobs=2)) == []
    assert sorted(record["made"] for record in found) == seeds(tmp_path) == list(range(6))
    assert not (tmp_path / "other.jsonl").exists()


PROGRAM = """
import os, random, sys, time
from experiments.store import Store, fill

log = os.open(sys.argv[1] + ".log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

def make(seed):
    os.write(log, b"%d\\n" % seed)
    time.sleep(0.04 * random.random())
    return {"filling": "x" * random.choice([10, 100_000])}

run = dict(dataset="toy", data="0f", method="DMAC", settings={"lr": 0.1})
listed = [(run | {"seed": seed}, "toy/group%d" % (seed % 3), seed) for seed in range(60)]
random.shuffle(listed)
for _ in fill(Store(sys.argv[1]), listed, make, patience=0.01):
    pass
"""


def test_processes_on_one_store_neither_lose_nor_repeat_a_run(tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "runs")]
    processes = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert seeds(tmp_path / "runs") == list(range(60))
    assert len((tmp_path / "runs.log").read_text().split()) == 60
