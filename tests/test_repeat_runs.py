"""Stored runs made again: no difference here, and a wrong record is found."""

import argparse
import dataclasses

import pytest
import repeat_runs
from toy_runs import VARIANTS, filled, load

from experiments import records


def test_a_repeated_run_is_the_stored_one(tmp_path):
    _, made = filled(tmp_path, seeds=[1])
    for record in made:
        assert repeat_runs.repeat(record, load=load) == 0
    changed = made[0] | {"scores": made[0]["scores"] | {"nmi": made[0]["scores"]["nmi"] - 0.02}}
    assert repeat_runs.repeat(changed, load=load) == pytest.approx(2)
    with pytest.raises(ValueError, match="toy is not what the stored run was made on"):
        repeat_runs.repeat(made[0] | {"data": "00"}, load=load)


@pytest.mark.parametrize("points, status", [(0.5, 0), (-1.0, 1)])
def test_command_judges_by_the_largest_difference(tmp_path, monkeypatch, capsys, points, status):
    filled(tmp_path, seeds=[1])
    monkeypatch.setattr(repeat_runs, "repeat", lambda record: 0.25)
    options = ["--results", str(tmp_path), "--points", str(points), "--count", "9"]
    assert repeat_runs.main(options) == status
    assert capsys.readouterr().out.count("0.25 points apart") == 2
    assert repeat_runs.main([*options, "--datasets", "other"]) == status


def test_saved_repetitions_are_a_store_of_their_own(tmp_path, capsys):
    store, made = filled(tmp_path, seeds=[1])
    given = argparse.Namespace(results=tmp_path, save="here", seeds=1, jobs=1, datasets=["toy"])
    assert repeat_runs.save(store.refresh(), given, VARIANTS, load=load) == 0
    again = records.open_repeated(tmp_path, "here").refresh()
    assert {record["key"] for record in again.records.values()} == {
        record["key"] for record in made
    }
    assert all("instructions" in record["arithmetic"] for record in again.records.values())
    assert capsys.readouterr().out.count("toy, ") == 2
    repeat_runs.save(store, given, VARIANTS, load=load)
    assert "toy, " not in capsys.readouterr().out  # nothing is made twice

    data = load("toy")
    doubled = dataclasses.replace(data, views=[2 * x for x in data.views])
    with pytest.raises(ValueError, match="toy is not what the stored run was made on"):
        repeat_runs.save(store, given, VARIANTS, load=lambda name: doubled)
