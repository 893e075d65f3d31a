"""Whole fits in processes of their own: what is timed, stopped, refused and stored."""

import json
import sys

import numpy as np
import pytest

from experiments import bench_fits, fit_tables

FEW = ["k-means, whitened", "CLOSED_FORM", "UDBGL"]


def test_every_system_is_timed_but_those_that_train_for_minutes():
    names = set(bench_fits.SYSTEMS)
    assert {"CLOSED_FORM", "REVISED", "PUBLISHED", "GMC", "MSGL", "LMVSC", "UDBGL"} < names
    assert "RELEASED" not in names and "CMGEC" not in names
    assert len(names) == 19


def test_a_file_is_filled_and_not_timed_again(tmp_path):
    path, said = tmp_path / "fits.json", []
    bench_fits.measure(path, ["mfeat"], FEW[:1], threads=(1,), report=said.append)
    first = json.loads(path.read_text())
    stored = bench_fits.measure(path, ["mfeat"], FEW[:2], threads=(1,), report=said.append)
    assert [one["system"] for one in said] == FEW[:2]
    assert stored["fits"][:1] == first["fits"]
    for one in stored["fits"]:
        assert one["seconds"] > 0 and 0.6 < one["acc"] <= 1 and one["threads"] == 1
    assert stored["machine"]["cores"] > 0


def test_a_fit_beyond_the_limit_is_stopped_and_the_next_one_goes_on():
    names = ["PUBLISHED", "k-means, whitened"]
    records = list(bench_fits.run_child("mfeat", names, 1, limit=3))
    assert [one["system"] for one in records] == names
    assert records[0]["error"] == "more than 3 s"
    assert records[1]["seconds"] < 3


def test_a_process_that_fails_says_why():
    with pytest.raises(RuntimeError, match="invalid choice"):
        list(bench_fits.run_child("mfeat", ["no system"], 1, limit=4))
    with pytest.raises(RuntimeError, match="no data set"):
        list(bench_fits.run_child("no data set", ["GMC"], 1, limit=4))


def test_an_error_of_a_system_is_its_record(monkeypatch):
    def refuse(spec, **_):
        raise ValueError("too large")

    monkeypatch.setattr(bench_fits, "make_run", refuse)
    found = []
    bench_fits.fit_all("mfeat", ["GMC"], 1, 60, found.append)
    assert found == [
        {"system": "GMC", "dataset": "mfeat", "threads": 1, "error": "ValueError: too large"}
    ]


def test_what_was_stopped_is_not_begun_on_what_is_no_smaller(monkeypatch, tmp_path):
    stopped = {"system": "GMC", "dataset": "HW2sources", "threads": 1, "error": "more than 9 s"}
    of = bench_fits.stopped_on
    assert of("GMC", "HandWritten", [stopped]) == "HW2sources"  # as many samples, more views
    assert of("GMC", "MNIST-4", [stopped]) == "HW2sources"
    assert of("GMC", "BBC", [stopped]) is None and of("MSGL", "MNIST-4", [stopped]) is None
    assert of("GMC", "MNIST-4", [stopped | {"dataset": "HandWritten"}]) is None  # six views
    assert of("GMC", "MNIST-4", [stopped | {"error": "ValueError: no"}]) is None

    monkeypatch.setattr(bench_fits, "run_child", lambda *given: iter(()))
    path = tmp_path / "fits.json"
    path.write_text(json.dumps({"fits": [stopped]}))
    found = bench_fits.measure(path, ["MNIST-4"], ["GMC"], limit=9, report=str)["fits"]
    assert [one["threads"] for one in found] == [1, 1]
    assert found[1]["error"] == "more than 9 s on HW2sources, not begun here"
    table = fit_tables.systems_table({"fits": found}, {"MNIST-4": 4000, "HW2sources": 2000})
    assert table.loc["GMC"].tolist() == ["> 9", "> 9"]


def test_a_missing_library_is_not_begun(monkeypatch):
    monkeypatch.setattr(bench_fits.libraries, "installed_version", lambda name: None)
    assert bench_fits.installed(["GMC", "iMML, NEMO"]) == ["GMC"]


def test_the_command_times_what_it_is_told(monkeypatch, tmp_path):
    path = tmp_path / "fits.json"
    given = ["--save", str(path), "--datasets", "mfeat", "--systems", FEW[0], "--threads", "1"]
    monkeypatch.setattr(sys, "argv", ["bench_fits", *given])
    bench_fits.main()
    assert [one["system"] for one in json.loads(path.read_text())["fits"]] == FEW[:1]


@pytest.fixture
def stored():
    def fit(system, dataset, threads, seconds, acc):
        scores = {"acc": acc, "nmi": acc}
        return dict(system=system, dataset=dataset, threads=threads, seconds=seconds) | scores

    fits = []
    for threads in (1, 2):
        fits += [
            fit("A", "PIE", threads, 2.0 / threads, 0.8),
            fit("A", "BBC", threads, 8.0 / threads, 0.9),
            fit("B", "PIE", threads, 0.5, 0.6),
        ]
    fits.append({"system": "B", "dataset": "BBC", "threads": 1, "error": "more than 40 s"})
    fits.append({"system": "C", "dataset": "BBC", "threads": 1, "error": "MemoryError: no"})
    return {"fits": fits}


SIZES = {"BBC": 685, "PIE": 680}


def test_tables_have_a_row_for_each_data_set_and_say_what_was_stopped(stored):
    table = fit_tables.recipes_table(stored, ["A", "B"], SIZES)
    assert list(table.index) == ["PIE", "BBC"]
    assert list(table["n"]) == [680, 685]
    assert list(table["A"]) == ["2.0 / 1.0", "8.0 / 4.0"]
    assert list(table["B"]) == ["0.50 / 0.50", "– / –"]
    systems = fit_tables.systems_table(stored, SIZES)
    assert systems.loc["B"].tolist() == ["0.50", "> 40"]
    assert systems.loc["C"].tolist() == ["–", "×"]
    assert fit_tables.errors_of(stored) == {("C", "MemoryError: no"): ["BBC"]}


def test_a_system_is_compared_on_the_data_sets_that_it_finished(stored):
    relative = fit_tables.relative_to(stored, "A")
    assert relative.sets.tolist() == [2, 1]
    np.testing.assert_allclose(relative.seconds, [1, 0.25])
    np.testing.assert_allclose(relative.acc, [0, -20], atol=1e-9)
    figure = fit_tables.plot_relative(relative, {"ours": ["A"], "others": ["B"]}, 2)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert sorted(texts) == ["A", "B (1)"]
