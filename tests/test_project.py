"""The project's files agree with each other: dependencies, pins, contents, notebooks, paths."""

import json
import re
import tomllib

import check_wheel
import pytest
import yaml
from helpers import ROOT, pages, python
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

CONDA_NAMES = {"pytorch": "torch", "python-build": "build"}  # conda-forge calls them otherwise


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


PROJECT = tomllib.loads(read("pyproject.toml"))["project"]


def requirements(lines):
    """Map canonical package names to version ranges."""
    return {canonicalize_name(one.name): one.specifier for one in map(Requirement, lines)}


def project_lines(without=()):
    """Every requirement of the project, extras included but for those ``without``."""
    extras = PROJECT.get("optional-dependencies", {}).items()
    lines = (line for name, extra in extras if name not in without for line in extra)
    return [*PROJECT["dependencies"], *lines]


def test_conda_and_pip_ask_for_the_same():
    environment = yaml.safe_load(read("environment.yml"))
    lines = []  # in pip's names, without pip itself and -e .
    for entry in environment["dependencies"]:
        for line in entry["pip"] if isinstance(entry, dict) else [entry]:
            name = re.match(r"[\w.-]*", line).group()
            if name not in ("pip", "-e"):
                lines.append(CONDA_NAMES.get(name, name) + line[len(name) :])
    # Fuzzing has a folder of its own, and an environment is whole without the libraries that are
    # only compared with.
    pip = requirements(project_lines(without=["fuzz", "lab", "libraries", "field"]))
    pip["python"] = SpecifierSet(PROJECT["requires-python"])
    assert requirements(lines) == pip


def test_every_dependency_has_both_bounds():
    found = requirements(project_lines())
    assert len(found) > 10
    for name, specifiers in found.items():
        assert {one.operator for one in specifiers} == {">=", "<"}, name


def test_pins_are_exact_complete_and_in_range():
    lines = [line for line in read("constraints.txt").splitlines() if line and line[0] != "#"]
    pins = requirements(lines)
    assert all([one.operator for one in specifiers] == ["=="] for specifiers in pins.values())
    for name, allowed in requirements(project_lines(without=["lab"])).items():
        (pinned,) = pins[name]
        assert allowed.contains(pinned.version, prereleases=True), name


def test_versions_agree():
    assert yaml.safe_load(read("CITATION.cff"))["version"] == PROJECT["version"]
    assert f"[Unreleased] {PROJECT['version']}" in read("CHANGELOG.md") or (
        f"[{PROJECT['version']}]" in read("CHANGELOG.md")
    )


def test_contents_lead_to_pages():
    assert len(pages()) > 30
    for page in pages():
        source = ROOT / page.replace("book/experiments/", "notebooks/")  # run by papermill
        assert source.with_suffix(".md").exists() or source.with_suffix(".ipynb").exists(), page


@pytest.mark.parametrize(
    "path",
    [*ROOT.glob("book/*.ipynb"), *ROOT.glob("notebooks/*.ipynb")],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
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
    unix = r"(?<![\w.~$})/-])/(?:home|Users|root|work|tmp|mnt|opt|workspace)/[\w.-]+"
    windows = r"\b[A-Z]:\\+(?:Users|home|tmp|work)\b"
    found = {
        name: re.findall(f"{unix}|{windows}", (ROOT / name).read_text("utf-8", errors="ignore"))
        for name in check_wheel.tracked() or pytest.skip("not a git checkout")
    }
    assert {name: paths for name, paths in found.items() if paths} == {}


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github/workflows").glob("*.yml")), ids=lambda path: path.name
)
def test_workflows_run_the_commands_of_the_readme(path):
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()
    steps = [step for job in jobs for step in job["steps"]]
    ours = [one["run"] for one in steps if not one.get("run", "gh ").startswith("gh ")]
    assert ours and all(command in read("README.md") for command in ours)
    (python,) = {step["with"]["python-version"] for step in steps if "setup-python" in str(step)}
    assert python in SpecifierSet(PROJECT["requires-python"])


@pytest.mark.parametrize(
    "text, folder",
    [
        ("CONTRIBUTING.md", "scripts"),
        ("CONTRIBUTING.md", "notebooks/experiments"),
        ("dmac/__init__.py", "dmac"),
        ("dmac/data/__init__.py", "dmac/data"),
        ("dmac/compute/__init__.py", "dmac/compute"),
    ],
)
def test_a_map_names_every_module(text, folder):
    names, said = [path.stem for path in (ROOT / folder).glob("[!_]*.py")], read(text)
    assert len(names) > 10 and [n for n in names if not re.search(rf"\b{n}`", said)] == []


def test_the_readme_s_tree_has_the_packages():
    names = [path.parent.name for path in (ROOT / "dmac").glob("*/__init__.py")]
    assert len(names) > 4 and all(f"  {name}/  " in read("README.md") for name in names)


def test_hooks_use_the_ruff_of_the_tests():
    hooks = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]
    (ruff,) = [repo["rev"] for repo in hooks if repo["repo"].endswith("ruff-pre-commit")]
    assert f"ruff=={ruff.removeprefix('v')}\n" in read("constraints.txt")
