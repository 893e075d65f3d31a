"""The stored table of coverage: of the files that there are, added up, and able to fail."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import coverage
import pandas as pd
import pytest
from tabulate_coverage import PATH, tabulate, too_few

ROOT = Path(__file__).resolve().parents[1]
NUMBERS = ["statements", "statements_run", "branches", "branches_run"]
LEAST = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["coverage"]["report"][
    "fail_under"
]


def core():
    """The files that have statements, but for the two wings that are left out."""
    paths = [*ROOT.glob("dmac/*.py"), *ROOT.glob("dmac/data/*.py"), *ROOT.glob("dmac/compute/*.py")]
    return {path.relative_to(ROOT).as_posix() for path in paths}


def test_stored_table_has_every_file_of_the_core_and_their_sum():
    table = pd.read_csv(PATH)
    files, everything = table[:-1], table.iloc[-1]
    assert set(files.file) == core() and files.file.is_unique, "run make coverage"
    assert everything.file == "all"
    assert (files[NUMBERS].sum() == everything[NUMBERS]).all()
    assert (table.statements_run <= table.statements).all()
    assert (table.branches_run <= table.branches).all()
    assert files.covered.is_monotonic_increasing
    assert too_few(table, LEAST) is None


def test_no_line_of_the_core_is_left_out():
    """The page says so; a pragma would raise the number without a test."""
    assert not [name for name in core() if "pragma: no" in (ROOT / name).read_text("utf-8")]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["coverage"]
    assert not [key for part in settings.values() for key in part if key.startswith("exclude")]


def test_make_coverage_runs_the_tests_of_the_core():
    """Test files that it leaves out exist, and none has the name of a module of the core."""
    makefile = (ROOT / "Makefile").read_text()
    out = re.search(r"^ELSEWHERE := ((?:.*\\\n)*.*)", makefile, re.MULTILINE)[1]
    names = out.replace("\\", "").split()
    assert "book" in names and len(set(names)) == len(names)
    assert all((ROOT / "tests" / f"test_{name}.py").exists() for name in names)
    assert not {f"dmac/{name}.py" for name in names} & core()


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A package of two modules, of which a run has taken one of two branches."""
    package = tmp_path / "toy"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "sign.py").write_text(
        "def sign(x):\n    if x < 0:\n        return -1\n    return 1\n\n\nsign(3)\n"
    )
    (package / "whole.py").write_text("one = 1\n")
    monkeypatch.chdir(tmp_path)
    run = "import toy.sign, toy.whole"
    (tmp_path / "run.py").write_text(run)
    options = ["--branch", "--source=toy", "--data-file=data"]
    command = [sys.executable, "-m", "coverage", "run", *options, "run.py"]
    subprocess.run(command, check=True, capture_output=True)
    measured = coverage.Coverage(data_file="data", config_file=False)
    measured.load()
    return measured


def test_rows_are_what_was_run(toy):
    table = tabulate(toy).set_index("file")
    assert table.loc["toy/sign.py", NUMBERS].tolist() == [5, 4, 2, 1]
    assert table.loc["toy/sign.py", "covered"] == round(100 * 5 / 7, 1)
    assert table.index.tolist() == ["toy/sign.py", "toy/whole.py", "all"]
    assert table.loc["all", NUMBERS].tolist() == [6, 5, 2, 1]


def test_branches_alone_have_to_be_enough(toy):
    table = tabulate(toy)
    assert table.covered.iloc[-1] > 70
    assert too_few(table, 50) is None
    assert "50.0 % of the branches are run, and fail_under asks for 51 %" in too_few(table, 51)
