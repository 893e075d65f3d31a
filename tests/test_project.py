"""The project's files agree with each other: dependencies, pins, contents, notebooks, paths."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from helpers import pages, python
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


def machine_paths(text):
    """Absolute paths that exist on one machine only."""
    unix = r"(?<![\w.~$})/-])/(?:home|Users|root|work|tmp|mnt|opt|workspace)/[\w.-]+"
    windows = r"\b[A-Z]:\\+(?:Users|home|tmp|work)\b"
    return re.findall(f"{unix}|{windows}", text)


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
    pip = requirements(project_lines(project, without=["fuzz", "lab", "libraries", "field"]))
    pip["python"] = SpecifierSet(project["requires-python"])
    assert disagreements(conda, pip) == []


def test_every_dependency_has_both_bounds(project):
    for name, specifiers in requirements(project_lines(project)).items():
        assert {one.operator for one in specifiers} == {">=", "<"}, name


def test_pins_are_exact_complete_and_in_range(project):
    lines = [line for line in read("constraints.txt").splitlines() if line and line[0] != "#"]
    pins = requirements(lines)
    assert all([one.operator for one in specifiers] == ["=="] for specifiers in pins.values())
    for name, allowed in requirements(project_lines(project, without=["lab"])).items():
        (pinned,) = pins[name]
        assert allowed.contains(pinned.version, prereleases=True), name


def test_versions_agree(project):
    assert yaml.safe_load(read("CITATION.cff"))["version"] == project["version"]
    assert f"[Unreleased] {project['version']}" in read("CHANGELOG.md") or (
        f"[{project['version']}]" in read("CHANGELOG.md")
    )


def test_contents_lead_to_pages():
    for page in pages():
        source = ROOT / page.replace("book/experiments/", "notebooks/")  # run by papermill
        assert source.with_suffix(".md").exists() or source.with_suffix(".ipynb").exists(), page


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_notebook_stores_no_results(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    for number, cell in enumerate(notebook["cells"]):
        stored = [key for key in ("outputs", "execution_count", "attachments") if cell.get(key)]
        assert not stored, f"cell {number} stores its {stored}"


@pytest.mark.parametrize("command", [["check", "--no-cache"], ["format", "--check"]], ids=" ".join)
def test_ruff_has_nothing_to_say(command):
    python("-m", "ruff", *command, ".", cwd=ROOT)


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


WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_the_commands_of_the_readme(path):
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()
    steps = [step for job in jobs for step in job["steps"]]
    commands = [step["run"] for step in steps if "run" in step]
    ours = [command for command in commands if not command.startswith("gh ")]
    assert ours and all(command in read("README.md") for command in ours)
    (python,) = {step["with"]["python-version"] for step in steps if "setup-python" in str(step)}
    assert python in SpecifierSet(
        tomllib.loads(read("pyproject.toml"))["project"]["requires-python"]
    )


def test_hooks_use_the_ruff_of_the_tests():
    hooks = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]
    (ruff,) = [repo["rev"] for repo in hooks if repo["repo"].endswith("ruff-pre-commit")]
    assert f"ruff=={ruff.removeprefix('v')}\n" in read("constraints.txt")
