"""The package as others get it: who imports whom, what it does without, what its wheel holds."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "importlinter"
]["contracts"]


def broken(folder):
    """The contracts of pyproject.toml that the package below ``folder`` breaks."""
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", code, "--config", ROOT / "pyproject.toml", "--no-cache"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    found = {one["id"] for one in CONTRACTS if f"{one['name']} BROKEN" in done.stdout}
    assert done.returncode == bool(found), done.stdout + done.stderr
    return found


def test_imports_run_one_way():
    assert broken(ROOT) == set()


# What a line more in one file breaks, in a package of empty files under the names of the layers.
BREAKS = {
    ("compute/__init__.py", "from dmac import network"): {"layers"},
    ("network.py", "import dmac.sampling, dmac.experiments"): {"layers"},
    ("nowhere.py", ""): {"layers"},
    ("training.py", "import fcntl"): {"core"},
    ("data/files.py", "import pandas.api"): {"core"},
    ("data/files.py", "def load():\n    from torch import nn"): {"data"},
    ("data/files.py", "from dmac.compute import heavy"): {"layers", "data"},
    ("training.py", "from dmac import reference"): {"reference"},
    ("peers/one.py", "from dmac.peers import other"): {"peers"},
    ("peers/_graphs.py", "from dmac.peers import other"): {"peers"},
    ("peers/one.py", "from dmac.embedding import Encoder"): {"apart"},
}


@pytest.fixture
def toy(tmp_path):
    """A package with every layer that breaks nothing."""
    names = [name for layer in CONTRACTS[0]["layers"] for name in re.findall(r"\w+", layer)]
    files = {f"{name}/__init__.py" if name in ("data", "compute", "peers", "experiments") else
             f"{name}.py": "" for name in names}
    files |= {
        "__init__.py": "from dmac import estimator, peers",
        "experiments/tables.py": "import pandas, fcntl\nfrom dmac import reference",
        "compute/heavy.py": "import torch\nfrom dmac.data import files",
        "data/files.py": "import numpy",
        "peers/__init__.py": "from dmac.peers import one, other",
        "peers/_graphs.py": "from dmac.compute import heavy",
        "peers/one.py": "from dmac.peers._graphs import Layer\nfrom dmac import metrics",
        "peers/other.py": "import dmac.peers._graphs",
    }
    for name, text in files.items():
        path = tmp_path / "dmac" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return tmp_path


def test_sound_package_breaks_no_contract(toy):
    assert broken(toy) == set()


@pytest.mark.parametrize("name, line", BREAKS)
def test_contract_can_be_broken(toy, name, line):
    with open(toy / "dmac" / name, "a") as file:
        file.write(line + "\n")
    assert broken(toy) == BREAKS[name, line]


def test_every_contract_was_broken():
    assert set().union(*BREAKS.values()) == {one["id"] for one in CONTRACTS}


def test_module_works_without_unix_and_without_the_books_packages():
    (core,) = [one for one in CONTRACTS if one["id"] == "core"]
    code = f"""
import importlib.machinery, sys
class Missing:  # torch looks for pandas without importing it
    def find_spec(name, path=None, target=None):
        if name in {core["forbidden_modules"]}:
            return importlib.machinery.ModuleSpec(name, Missing)
    def create_module(spec):
        raise ModuleNotFoundError(spec.name)
    exec_module = create_module
sys.meta_path.insert(0, Missing)
import dataclasses, dmac
recipe = dataclasses.replace(dmac.recipes.RELEASED, pretrain_epochs=2, epochs=2)
data = dmac.load("mfeat")
views = [x[::20] for x in data.views]  # of each class ten
labels = dmac.DMAC(data.n_clusters, recipe, random_state=0).fit_predict(views)
assert not set({core["forbidden_modules"]}) & set(sys.modules)
print(len(labels), sorted(dmac.scores(data.labels[::20], labels)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "100 ['acc', 'ari', 'f1', 'nmi', 'purity']\n"


def test_wheel_holds_every_file_of_the_module(tmp_path):
    listed = subprocess.run(["git", "ls-files", "-z", "dmac"], cwd=ROOT, capture_output=True)
    if listed.returncode:
        pytest.skip("not a git checkout: what is tracked is unknown")
    names = {name for name in listed.stdout.decode().split("\0") if (ROOT / name).is_file()}
    source = tmp_path / "source"  # building leaves files behind
    for name in [*names, "pyproject.toml", "README.md", "LICENSE"]:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--wheel-dir", tmp_path, source]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert held == names - {""} and {"dmac/data/mfeat.npz", "dmac/data/README.md"} <= held
