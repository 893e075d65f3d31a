"""The page's table of a GPU's run, of a made-up file and of none."""

import json

import pytest

from experiments import gpu_tables

STORED = [
    {"name": "mfeat", "system": "released", "n": 2000, "m": 141, "median": 0.05},
    {"name": "mfeat", "system": "dense", "n": 2000, "m": 141, "median": 9.0},
    {"name": "ALOI", "system": "revised", "n": 10800, "m": 2078, "error": "more than 20 GB"},
    {"name": "ALOI, 1 of 4 views", "system": "released", "n": 10800, "m": 1039, "median": 1.0},
    {"name": "growth", "system": "released", "n": 1000, "m": 512, "median": 0.01},
    {"name": "growth", "system": "released", "n": 1000, "m": 100, "median": 0.005},
]


def made_up():
    return {
        "made": "2030-01-02T03:04:05+00:00",
        "profile": "full",
        "card": "A card",
        "driver": "1.2",
        "versions": {"torch": "9.9"},
        "tests": [{"passed": 40, "failed": 2, "skipped": 1}],
        "epochs": [
            {"system": "RELEASED", "on": "mfeat", "epoch_s": 0.00123456, "peak_gb": 0.2},
            {"system": "REVISED", "on": "mfeat", "epoch_s": 0.002, "peak_gb": 0.3},
            {
                "system": "REVISED",
                "on": 1000000,
                "missing": "it does not fit the memory",
                "peak_gb": 80,
            },
            {"system": "PUBLISHED", "on": 1000000, "missing": "not reached"},
        ],
        "fits": [
            {"system": "RELEASED", "on": "ALOI", "fit_s": 21.4, "target_s": 30, "changes": {}},
            {
                "system": "REVISED",
                "on": 10**6,
                "fit_s": 9,
                "target_s": 60,
                "changes": {"n_anchors": 512},
            },
            {"system": "REVISED", "on": 10**6, "missing": "stopped", "epochs": 7},
        ],
        "scores": [],
    }


def test_the_table_stands_beside_the_processor():
    table = gpu_tables.epochs_table(made_up(), STORED)
    assert list(table.index) == ["HandWritten", "ALOI", "n = 1,000", "n = 1,000,000"]
    assert table.loc["HandWritten", "RELEASED, GPU"] == "0.00123"
    assert table.loc["HandWritten", "RELEASED, processor"] == "0.05"
    assert table.loc["n = 1,000", "RELEASED, processor"] == "0.01"
    assert table.loc["HandWritten", "GPU, GB"] == "0.3"
    assert table.loc["n = 1,000,000", "REVISED, GPU"] == "memory"
    assert table.loc["n = 1,000,000", "PUBLISHED, GPU"] == "–"
    assert table.loc["ALOI", "REVISED, processor"] == "–"


def test_without_a_file_the_processor_stands_alone():
    table = gpu_tables.epochs_table(None, STORED)
    gpu = [name for name in table if "GPU" in name]
    assert len(gpu) == 5 and (table[gpu] == "–").all(axis=None)
    assert table.loc["HandWritten", "RELEASED, processor"] == "0.05"


def test_facts_name_the_card_or_say_that_there_was_none():
    facts = gpu_tables.page_facts(made_up())
    assert facts == {
        "card": "A card",
        "driver": "1.2",
        "torch": "9.9",
        "made": "2030-01-02",
        "tests": "40 of 42",
        "released": "21 s",
        "revised": "not reached",
        "missing": "3",
    }
    none = gpu_tables.page_facts(None)
    assert none.keys() == facts.keys()
    assert "no GPU was at hand" in none["card"] and none["released"] == "not run"


def test_only_a_full_run_on_a_gpu_is_read(tmp_path):
    path = tmp_path / "gpu.json"
    assert gpu_tables.read(path) is None
    path.write_text(json.dumps(made_up()))
    assert gpu_tables.read(path) == made_up()
    for change in ({"card": None, "processor": "a processor"}, {"profile": "quick"}):
        path.write_text(json.dumps(made_up() | change))
        with pytest.raises(ValueError, match="a full run on a GPU"):
            gpu_tables.read(path)
    path.write_text("[1")
    with pytest.raises(ValueError, match="is not a file of `make gpu`"):
        gpu_tables.read(path)
