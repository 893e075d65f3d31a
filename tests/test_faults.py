"""Processes that are killed, and disks that are full: the last good state stays, and is named."""

import os
import re
import subprocess

import pytest
from helpers import ROOT, python

import dmac
from dmac.compute.files import read_tensors
from experiments.store import Store


def test_nothing_is_lost_by_kills():
    """A seeded few of the kills of ``make faults``."""
    script = ROOT / "scripts" / "faults.py"
    said = python(script, "--kills", 5, "--seed", 1, env=os.environ | {"OMP_NUM_THREADS": "1"})
    *parts, last = said.splitlines()
    assert last == "5 kills, nothing lost"
    assert [int(re.search(r": (\d+) kills", part)[1]) for part in parts] == [2, 2, 1]


# Writes until the disk is full, or a file as large as it may be: what was said, line by line.
PROGRAM = """
import dataclasses, os, resource, sys
import numpy as np, torch
import dmac
from dmac.compute.files import write_tensors
from experiments.store import Store
folder, limit = sys.argv[1], int(sys.argv[2])
views = list(np.random.default_rng(0).normal(size=(2, 80, 30)))
recipe = dataclasses.replace(dmac.recipes.RELEASED, pretrain_epochs=3, epochs=3, hidden_dim=8)

def fit(**options):
    return dmac.DMAC(3, recipe, random_state=0, device="cpu").fit(views, **options)

def full():
    # The files before were within the limit, or the disk had room for them.
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        return
    with open(folder + "/filler", "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass

def stop(record, embed):
    if record.epoch == 2:
        full()

store, run = Store(folder + "/runs"), dict(dataset="toy", data="0f", method="DMAC", settings={})
store.append(run | {"seed": 1}, "a")
write_tensors(folder + "/kept", {"a": torch.ones(100)}, {})
whole = fit()
whole.save(folder + "/model")
checkpoint = dict(checkpoint=folder + "/fit", checkpoint_every=1)
for attempt in (
    lambda: fit(**checkpoint, callback=stop),
    lambda: store.append(run | {"seed": 2, "filling": "x" * 500_000}, "a"),
    lambda: write_tensors(folder + "/kept", {"a": torch.zeros(200_000)}, {}),
    lambda: whole.save(folder + "/model"),
    lambda: whole.save(folder + "/another"),
):
    try:
        attempt()
        print("fine")
    except OSError as error:
        print(error)
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
else:
    os.remove(folder + "/filler")
print(np.array_equal(fit(**checkpoint).embedding_, whole.embedding_))
"""


def check(folder, limit):
    """Run the program; everything that was there before the fault must be as it was."""
    fit, run, kept, model, another, resumed = python("-c", PROGRAM, folder, limit).splitlines()
    stays = "; the one before is still there: free some space, or name another folder"
    for line, name in (
        (fit, "fit/checkpoint.safetensors"),
        (kept, "kept"),
        (model, "model/model.safetensors"),
    ):
        assert f"{name} could not be written" in line and stays in line
    assert "runs/a.jsonl could not be written" in run and "the run is made again" in run
    assert "another/model.safetensors could not be written" in another and stays not in another
    assert resumed == "True"
    assert read_tensors(folder / "kept")[0]["a"].tolist() == [1] * 100
    records = Store(folder / "runs").refresh().records.values()
    assert [record["seed"] for record in records] == [1]
    assert (folder / "runs" / "a.jsonl").read_bytes().count(b"\n") == 1
    assert len(dmac.load_model(folder / "model").labels_) == 80
    assert [path.name for path in folder.rglob(".*") if path.name != ".locks"] == []
    return fit


def test_files_that_may_not_grow(tmp_path):
    assert "File too large" in check(tmp_path, 4096)


def test_a_full_disk(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder]
    try:
        done = subprocess.run(mount, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("no mount command: a full disk cannot be made here")
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
    try:
        assert "No space left" in check(folder, 0)
    finally:
        subprocess.run(["umount", folder], check=True)
