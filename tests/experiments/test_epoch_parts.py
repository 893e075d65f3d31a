"""Where an epoch's time goes: the parts, and what is drawn of them."""

import json
import sys

import numpy as np
import pytest
import torch

from dmac import training
from dmac.compute import distances
from experiments import epoch_parts, growth_tables


@pytest.fixture(scope="module")
def measured():
    return epoch_parts.epoch_parts("mfeat", 6)


def test_the_parts_make_up_the_epoch(measured):
    assert set(measured["parts"]) == {*epoch_parts.PARTS, "the rest"}
    assert min(measured["parts"].values()) > 0
    assert sum(measured["parts"].values()) == pytest.approx(measured["seconds"], rel=0.5)
    assert (measured["n"], measured["epochs"]) == (2000, 6)
    assert measured["seconds"] > measured["floor"] > 0


def test_nothing_stays_wrapped(measured):
    assert training._epoch.__name__ == "_epoch"
    for where, name in epoch_parts.PARTS.values():
        assert getattr(where, name).__name__ == name


def test_every_size_of_block_is_timed():
    seconds = epoch_parts.block_seconds(2000, powers=(15, 16), repeats=2)
    assert set(seconds) == {15, 16} and min(seconds.values()) > 0


def test_the_command_stores_every_job(monkeypatch, tmp_path):
    path = tmp_path / "parts.json"
    monkeypatch.setattr(epoch_parts, "block_seconds", lambda: {15: 0.5})
    monkeypatch.setattr(epoch_parts, "search_seconds", lambda: {"as it is": 0.25})
    monkeypatch.setattr(epoch_parts, "busy_seconds", lambda threads: {"alone": threads})
    jobs = [("mfeat", None, 2), ("growth", 1000, 2)]
    monkeypatch.setattr(epoch_parts.measure, "__defaults__", (jobs, 1, str))
    monkeypatch.setattr(sys, "argv", ["epoch_parts", "--save", str(path), "--threads", "1"])
    epoch_parts.main()
    stored = json.loads(path.read_text())
    assert [one["n"] for one in stored["epochs"]] == [2000, 1000]
    assert stored["threads"] == 1 and stored["blocks"] == {"15": 0.5}
    assert stored["search"] == {"as it is": 0.25}
    assert stored["beside"] == {"alone": 1}


def test_a_busy_process_comes_and_goes():
    seconds = epoch_parts.busy_seconds(1000, epochs=3, threads=1)
    ways = ("", ", passive", ", one thread")
    assert set(seconds) == {when + way for when in ("alone", "busy") for way in ways}
    assert min(seconds.values()) > 0


def test_both_searches_find_the_same():
    d2 = torch.rand(20, 64, generator=torch.Generator().manual_seed(1))
    for found, expected in zip(epoch_parts._smallest_by_groups(d2, 5), distances.smallest(d2, 5)):
        assert torch.equal(found, expected)
    seconds = epoch_parts.search_seconds(8, 3, blocks=2, repeats=1)
    assert set(seconds) == {"as it is", "by groups"} and min(seconds.values()) > 0


def test_a_process_that_fails_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr(epoch_parts, "block_seconds", dict)
    monkeypatch.setattr(epoch_parts, "search_seconds", dict)
    with pytest.raises(RuntimeError, match="no shape"):
        epoch_parts.measure(tmp_path / "parts.json", [("no shape", None, 2)], 1)


def test_bars_are_in_units_of_the_floor(measured):
    other = measured | {"name": "growth", "n": 10**6}
    stored = {"epochs": [measured, other]}
    table = growth_tables.parts_table(stored)
    assert list(table.index) == ["HandWritten", "n = 1,000,000"]
    np.testing.assert_allclose(table.times, table.seconds / table.floor)
    figure = growth_tables.plot_parts(stored)
    widths = [bar.get_width() for bar in figure.axes[0].patches]
    parts = np.array(list(measured["parts"].values())) / measured["floor"]
    np.testing.assert_allclose(sorted(widths), sorted(np.repeat(parts, 2)))
