"""The project's files agree with each other: dependencies, pins, contents, notebooks, paths."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
CONDA_NAMES = {"pytorch": "torch", "python-build": "build"}  # conda-forge calls them otherwise
NOTEBOOKS = sorted([*ROOT.glob("book/*.ipynb"), *ROOT.glob("notebooks/*.ipynb")])


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def requirements(lines):
    """Map canonical package names to version ranges."""
    parsed = (Requirement(line) for line in lines)
    return {canonicalize_name(r.name): r.specifier for r in parsed}


def project_lines(project, without=()):
    """Every requirement of a [project] table, extras included but for those ``without``."""
    extras = project.get("optional-dependencies", {}).items()
    lines = (line for name, extra in extras if name not in without for line in extra)
    return [*project["dependencies"], *lines]


def conda_lines(environment):
    """Every requirement of an environment file, in pip's names; pip itself and -e . left out."""
    lines = []
    for entry in environment["dependencies"]:
        for line in entry["pip"] if isinstance(entry, dict) else [entry]:
            name = re.match(r"[\w.-]*", line).group()
            if name not in ("pip", "-e"):
                lines.append(CONDA_NAMES.get(name, name) + line[len(name) :])
    return lines


def disagreements(left, right):
    """Packages that only one side has, or that both have with other ranges."""
    return sorted(name for name in left.keys() | right.keys() if left.get(name) != right.get(name))


def unbounded(ranges):
    """Packages without a lower or without an upper bound."""
    operators = {name: {s.operator for s in specifiers} for name, specifiers in ranges.items()}
    return sorted(
        name
        for name, used in operators.items()
        if not (used & {">=", "==", "~="} and used & {"<", "<=", "==", "~="})
    )


def pin_problems(pins, ranges):
    """Pins that are not exact, that leave the declared range, or that are missing."""
    problems = []
    for name, specifiers in pins.items():
        if [s.operator for s in specifiers] != ["=="]:
            problems.append(f"{name} is not pinned exactly: {specifiers}")
    for name, allowed in ranges.items():
        pinned = [s.version for s in pins.get(name, ())]
        if not pinned:
            problems.append(f"{name} has no pin")
        elif not allowed.contains(pinned[0], prereleases=True):
            problems.append(f"{name} is pinned to {pinned[0]}, outside {allowed}")
    return problems


def without_reason(text, lines):
    """Requirements whose line in pyproject.toml says nothing after a #."""
    return [
        line
        for line in lines
        if not re.search(rf'^\s*"{re.escape(line)}",?\s*#.*\w\w', text, re.MULTILINE)
    ]


def notebook_problems(notebook):
    """Stored results and foreign kernels."""
    problems = []
    kernel = notebook["metadata"].get("kernelspec", {}).get("name")
    if kernel != "python3":
        problems.append(f"kernel is {kernel!r}, not 'python3'")
    for number, cell in enumerate(notebook["cells"]):
        if cell.get("outputs"):
            problems.append(f"cell {number} stores outputs")
        if cell.get("execution_count") is not None:
            problems.append(f"cell {number} stores an execution count")
        if cell.get("attachments"):
            problems.append(f"cell {number} stores an attachment")
    return problems


def machine_paths(text):
    """Absolute paths that exist on one machine only."""
    unix = r"(?<![\w.~$})/-])/(?:home|Users|root|work|tmp|mnt|opt|workspace)/[\w.-]+"
    windows = r"\b[A-Z]:\\+(?:Users|home|tmp|work)\b"
    return re.findall(f"{unix}|{windows}", text)


def missing_pages(toc, exists):
    """Pages of the contents that have no source; an experiment's source is its notebook."""
    pages = [toc["root"]]
    for part in toc["parts"]:
        pages += [chapter["file"] for chapter in part["chapters"]]
    return [
        page
        for page in pages
        if not any(
            exists(page.replace("book/experiments/", "notebooks/") + suffix)
            for suffix in (".md", ".ipynb")
        )
    ]


def tracked_files():
    """Files of the project that are under version control or about to be."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout: what is tracked is unknown")
    return [ROOT / name for name in listed.decode().split("\0") if name]


@pytest.fixture(scope="module")
def project():
    return tomllib.loads(read("pyproject.toml"))["project"]


def test_conda_and_pip_ask_for_the_same(project):
    conda = requirements(conda_lines(yaml.safe_load(read("environment.yml"))))
    # Fuzzing has a folder of its own, and an environment is whole without the libraries that are
    # only compared with.
    pip = requirements(project_lines(project, without=["fuzz", "libraries"]))
    pip["python"] = SpecifierSet(project["requires-python"])
    assert disagreements(conda, pip) == []


def test_every_dependency_has_both_bounds(project):
    assert unbounded(requirements(project_lines(project))) == []


def test_every_dependency_has_a_reason(project):
    assert without_reason(read("pyproject.toml"), project_lines(project)) == []


def test_pins_are_exact_complete_and_in_range(project):
    lines = [line for line in read("constraints.txt").splitlines() if line and line[0] != "#"]
    assert pin_problems(requirements(lines), requirements(project_lines(project))) == []


def test_versions_agree(project):
    assert yaml.safe_load(read("CITATION.cff"))["version"] == project["version"]
    assert f"[Unreleased] {project['version']}" in read("CHANGELOG.md") or (
        f"[{project['version']}]" in read("CHANGELOG.md")
    )


def test_contents_lead_to_pages():
    toc = yaml.safe_load(read("_toc.yml"))
    assert missing_pages(toc, lambda name: (ROOT / name).exists()) == []


def test_mathjax_is_local():
    settings = yaml.safe_load(read("_config.yml"))["sphinx"]["config"]
    assert "//" not in settings["mathjax_path"]
    assert settings["mathjax_path"] in read("Makefile")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_notebook_stores_no_results(path):
    assert notebook_problems(json.loads(path.read_text(encoding="utf-8"))) == []


def lint(*arguments):
    """What ruff has to say, by the rules in pyproject.toml, of files or of its input."""
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format", "concise"]
    done = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return [line for line in done.stdout.splitlines() if re.match(r".*:\d+:\d+: ", line)]


def test_ruff_finds_nothing():
    assert lint(".") == []


@pytest.mark.parametrize(
    "code, rule",
    [
        ("import os\n", "F401"),
        ("def add(x, to=[]):\n    return to + x\n", "B006"),
        ("import sys\nimport os\n\nprint(os, sys)\n", "I001"),
        (f"x = '{'a' * 100}'\n", "E501"),
        ("from typing import List\n\nx: List[int] = []\n", "UP"),
        ("import numpy as np\n\nnp.random.seed(0)\n", "NPY002"),
        ("x = 1  # noqa: E501\n", "RUF100"),
    ],
)
def test_ruff_can_find(code, rule, tmp_path):
    path = tmp_path / "one.py"
    path.write_text(code)
    found = lint("--config", str(ROOT / "pyproject.toml"), str(path))
    assert any(rule in line for line in found), found


def test_no_path_of_one_machine():
    found = {}
    for path in tracked_files():
        try:
            paths = machine_paths(path.read_text(encoding="utf-8"))
        except (UnicodeDecodeError, FileNotFoundError):  # data, or deleted and not yet committed
            continue
        if paths:
            found[path.relative_to(ROOT).as_posix()] = paths
    assert found == {}


# The checks above only mean something if each of them can fail.


def test_checks_of_requirements_can_fail():
    conda = {"dependencies": ["pytorch>=2,<3", "numpy>=1", "pip", {"pip": ["pooch<2", "-e ."]}]}
    left = requirements(conda_lines(conda))
    assert disagreements(left, requirements(["pooch<2", "numpy>=1", "torch<3,>=2"])) == []
    assert disagreements(left, requirements(["torch>=2,<4", "numpy>=1", "h5py"])) == [
        "h5py",
        "pooch",
        "torch",
    ]
    assert unbounded(requirements(["a>=1,<2", "b>=1", "c<2", "d", "e~=1.0"])) == ["b", "c", "d"]
    pins = requirements(["torch==1.9", "numpy>=1", "pooch==1.1"])
    assert pin_problems(pins, requirements(["torch>=2,<3", "pooch<2", "scipy"])) == [
        "numpy is not pinned exactly: >=1",
        "torch is pinned to 1.9, outside <3,>=2",
        "scipy has no pin",
    ]
    text = '    "a>=1",  # reads files\n    "b>=1",\n    "c>=1",  #\n'
    assert without_reason(text, ["a>=1", "b>=1", "c>=1", "d>=1"]) == ["b>=1", "c>=1", "d>=1"]


def test_checks_of_files_can_fail():
    clean = {"cell_type": "code", "outputs": [], "execution_count": None}
    kernel = {"kernelspec": {"name": "python3"}}
    assert notebook_problems({"metadata": kernel, "cells": [clean]}) == []
    dirty = [clean | {"outputs": [{}]}, clean | {"execution_count": 1}, {"attachments": {"x": {}}}]
    assert len(notebook_problems({"metadata": {}, "cells": dirty})) == 4

    for folder in ("home", "Users", "root", "work", "tmp"):  # in pieces, or this file is found
        assert machine_paths(f"see /{folder}" + "/ann")
    assert machine_paths("C:" + r"\Users" + r"\ann")
    fine = "book/work/x ../home/y https://a.org/home/z $HOME/tmp/x {root}/tmp/f"
    assert machine_paths(fine) == []

    chapters = [{"file": "book/b"}, {"file": "book/experiments/c"}]
    toc = {"root": "a", "parts": [{"chapters": chapters}]}
    assert missing_pages(toc, {"a.md", "book/b.ipynb", "notebooks/c.ipynb"}.__contains__) == []
    assert missing_pages(toc, {"a.md", "book/b.ipynb"}.__contains__) == ["book/experiments/c"]
