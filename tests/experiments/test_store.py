"""The store of runs: what it names a run by, and that no run is lost or made twice."""

import collections
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import joblib
import pytest

import dmac
from experiments.store import Store, key_of, round_floats
from experiments.sweep import fill

RUN = {"dataset": "toy", "data": "0f", "method": "DMAC", "settings": {"lr": 0.1}, "seed": 1}


def runs(count, file="toy/group"):
    return [(RUN | {"seed": seed}, file, seed) for seed in range(count)]


def lines(folder):
    texts = (path.read_text() for path in Path(folder).rglob("*.jsonl"))
    return [line for text in texts for line in text.splitlines()]


def seeds(folder):
    return sorted(json.loads(line)["seed"] for line in lines(folder))


def test_every_parameter_names_the_run():
    changed = [
        {"dataset": "toys"},
        {"data": "0e"},
        {"method": "k-means"},
        {"settings": {"lr": 0.2}},
        {"settings": {"lr": 0.1, "k": 5}},
        {"seed": 2},
    ]
    keys = {key_of(RUN | change) for change in [{}, *changed]}
    assert len(keys) == 1 + len(changed)
    reordered = dict(reversed(RUN.items())) | {"scores": 1, "settings": {"k": 5, "lr": 0.1}}
    assert key_of(reordered) == key_of(RUN | {"settings": {"lr": 0.1, "k": 5}})


def test_records_survive_their_file(tmp_path):
    store = Store(tmp_path / "runs")
    assert len(store.refresh()) == 0
    key = store.append(RUN | {"scores": {"acc": 0.5}}, "toy/a")
    assert store.append(RUN | {"scores": {"acc": 0.6}}, "toy/b") == key
    assert len(lines(tmp_path)) == 1
    again = Store(tmp_path / "runs").refresh()
    assert key in again and again.get(key)["scores"] == {"acc": 0.5}
    assert again.records() == store.records()
    assert again.get("another") is None


def test_another_process_s_records_are_seen(tmp_path):
    one, other = Store(tmp_path).refresh(), Store(tmp_path).refresh()
    key = one.append(RUN, "toy/a")
    assert key not in other
    assert key in other.refresh()
    other.append(RUN | {"seed": 2}, "toy/a")
    assert len(one.refresh()) == 2


@pytest.mark.parametrize("cut", [1, 20, -1])
def test_a_line_that_was_cut_off_is_made_again(cut, tmp_path):
    store = Store(tmp_path)
    for seed in (1, 2):
        store.append(RUN | {"seed": seed}, "a")
    path = tmp_path / "a.jsonl"
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[: cut if cut > 0 else len(second) - 2])
    store = Store(tmp_path).refresh()
    assert [record["seed"] for record in store.records()] == [1]
    store.append(RUN | {"seed": 3}, "a")
    assert seeds(tmp_path) == [1, 3]
    assert Store(tmp_path).refresh().records() == store.records()


def test_a_line_whose_end_an_editor_removed_stays(tmp_path):
    store = Store(tmp_path)
    store.append(RUN, "a")
    path = tmp_path / "a.jsonl"
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    store = Store(tmp_path).refresh()
    assert len(store) == 1
    store.append(RUN | {"seed": 2}, "a")
    assert seeds(tmp_path) == [1, 2]


def test_a_deleted_line_is_a_run_to_be_made(tmp_path):
    store = Store(tmp_path)
    list(fill(store, runs(5), lambda seed: {"made": 1}))
    path = tmp_path / "toy" / "group.jsonl"
    kept = [line for line in path.read_text().splitlines() if '"seed":3' not in line]
    path.write_text("\n".join(kept) + "\n")
    again = list(fill(store, runs(5), lambda seed: {"made": 2}))
    assert [(record["seed"], record["made"]) for record in again] == [(3, 2)]
    assert seeds(tmp_path) == list(range(5))


def test_damage_is_named(tmp_path):
    store = Store(tmp_path)
    store.append(RUN, "a")
    path = tmp_path / "a.jsonl"
    good = path.read_text()
    for bad in ("<<<<<<< HEAD\n", '{"key": "0"}\n', "[]\n", "\xff\n"):
        path.write_text(good + bad, encoding="latin-1")
        with pytest.raises(ValueError, match="a.jsonl, line 2 is not a record"):
            Store(tmp_path).refresh()
    path.write_text(good.replace('"lr":0.1', '"lr":0.2'))
    with pytest.raises(ValueError, match="line 1 was changed"):
        Store(tmp_path).refresh()


def test_records_are_found_after_a_parameter_was_added(tmp_path):
    old = Store(tmp_path)
    key = old.append(RUN, "a")
    new = Store(tmp_path, lambda method, settings: {"momentum": 0.0} | settings).refresh()
    assert key_of(RUN | {"settings": {"lr": 0.1, "momentum": 0.0}}) in new and key in new
    assert key_of(RUN | {"settings": {"lr": 0.1, "momentum": 0.9}}) not in new
    assert len(new) == 1
    today = key_of(RUN | {"settings": {"lr": 0.1, "momentum": 0.0}})
    assert new.written(today) == new.written(key) == key  # where a figure's arrays lie
    assert new.written("other") == "other"


def test_numbers_are_rounded():
    found = round_floats({"a": [1 / 3, 2], "b": (float("nan"), "x"), "c": 123456789.0})
    assert found == {"a": [0.333333, 2], "b": [None, "x"], "c": 123457000.0}
    assert round_floats(1 / 3, 2) == 0.33


def test_a_claim_is_held_by_one(tmp_path):
    one, other = Store(tmp_path), Store(tmp_path)
    claim = one.claim("k")
    assert claim is not None
    assert other.claim("k") is None and one.claim("k") is None
    unrelated = other.claim("l")
    claim.release()
    taken = other.claim("k")
    assert unrelated is not None and taken is not None
    taken.release()
    unrelated.release()
    assert (tmp_path / ".locks" / ".gitignore").read_text() == "*\n"


def test_a_run_that_fails_is_given_back(tmp_path):
    def make(seed):
        if seed == 2:
            raise RuntimeError("no")
        return {}

    store = Store(tmp_path)
    with pytest.raises(RuntimeError):
        list(fill(store, runs(4), make))
    assert seeds(tmp_path) == [0, 1]
    assert len(list(fill(Store(tmp_path), runs(4), lambda seed: {}))) == 2


def test_a_run_listed_twice_is_made_once_and_workers_share_the_rest(tmp_path):
    listed = runs(6) + runs(6, "other")
    with joblib.parallel_config("threading"):
        found = list(fill(Store(tmp_path), listed, lambda seed: {"made": seed}, n_jobs=2))
        assert sorted(record["made"] for record in found) == list(range(6))
        assert seeds(tmp_path) == list(range(6))
        assert not (tmp_path / "other.jsonl").exists()
        assert list(fill(Store(tmp_path), listed, lambda seed: {}, n_jobs=2)) == []


# What the processes below run: without importing dmac, which takes longer than all their runs.
PROGRAM = """
import importlib.util, os, random, sys, time

def module(name):
    spec = importlib.util.spec_from_file_location(name, os.path.join(sys.argv[1], name + ".py"))
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found

store, sweep = module("store"), module("sweep")
folder, count, pause = sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
log = os.open(folder + ".log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

def make(seed):
    os.write(log, b"%d\\n" % seed)
    time.sleep(pause * random.random())
    return {"filling": "x" * random.choice([10, 100_000])}

run = dict(dataset="toy", data="0f", method="DMAC", settings={"lr": 0.1})
listed = [(run | {"seed": seed}, "toy/group%d" % (seed % 3), seed) for seed in range(count)]
random.shuffle(listed)
for _ in sweep.fill(store.Store(folder), listed, make, patience=0.01):
    pass
"""


def start(folder, count, pause):
    package = str(Path(dmac.__file__).parent / "experiments")
    arguments = [package, str(folder), str(count), str(pause)]
    return subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments])


def test_processes_on_one_store_neither_lose_nor_repeat_a_run(tmp_path):
    processes = [start(tmp_path / "runs", 60, 0.02) for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert seeds(tmp_path / "runs") == list(range(60))
    assert len((tmp_path / "runs.log").read_text().split()) == 60


def test_killed_twenty_times_the_store_loads_and_completes(tmp_path):
    rng = random.Random(0)
    folder, kills = tmp_path / "runs", 0
    beside = start(folder, 150, 0.05)  # one that is not killed, for a while
    time.sleep(0.3)
    while kills < 20:
        process = start(folder, 150, 0.05)
        time.sleep(0.15 + 0.1 * rng.random())
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        assert kills or process.returncode == 0
        Store(folder).refresh()
        if kills == 10:
            beside.kill()
            beside.wait()
        if len(lines(folder)) >= 150:  # all done before the twentieth: again from less
            for path in folder.rglob("*.jsonl"):
                path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
            os.truncate(f"{folder}.log", 0)
    assert start(folder, 150, 0.001).wait() == 0
    store = Store(folder).refresh()
    assert sorted(record["seed"] for record in store.records()) == list(range(150))
    assert seeds(folder) == list(range(150))
    # A run was made again only where a kill had stopped it: once a kill.
    made = collections.Counter((tmp_path / "runs.log").read_text().split())
    assert sum(made.values()) <= 150 + kills + 1
