"""The package as others get it: who imports whom, what it does without, what its wheel holds."""

import shutil
import sys
import tarfile
import tomllib
import zipfile

import check_wheel
import pytest
from helpers import ROOT, imported, python
from packaging.requirements import Requirement

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DEPENDENCIES = [Requirement(line) for line in PYPROJECT["project"]["dependencies"]]


def test_imports_run_one_way():
    """The contracts of pyproject.toml, which says how to read them."""
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    python("-c", code, "--no-cache", cwd=ROOT)


def test_module_works_without_unix_and_without_the_books_packages(tmp_path):
    contracts = PYPROJECT["tool"]["importlinter"]["contracts"]
    (core,) = [one for one in contracts if one["id"] == "core"]
    code = f"""
import importlib.machinery, sys
class Missing:
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
from experiments.store import Store
store = Store(sys.argv[1])
with store.claim("a") as claimed:
    assert store.claim("a") is None
run = dict(dataset="toy", data="0f", method="DMAC", settings={{}}, seed=1)
store.append(run, "b")
print(len(store.records) == 1)
"""
    found, stored = python("-c", code, tmp_path / "runs").splitlines()
    assert found == "100 ['acc', 'ari', 'f1', 'nmi', 'purity']" and stored == "True"


HEAVY = {"torch", "sklearn", "scipy", "numpy"}


@pytest.mark.parametrize(
    "line, brought",
    [
        ("dmac.available", {"numpy", "scipy"}),
        ("dmac.scores", {"numpy", "scipy", "sklearn"}),
        ("dmac.compute.kmeans.kmeans, dmac.data.whitening.normalize_rows", HEAVY),
        ("from dmac import *; DMAC, peers.ALL, recipes.REVISED", HEAVY),
    ],
)
def test_import_takes_no_torch(line, brought):
    """The seconds of PyTorch and scikit-learn come when they are used."""
    code = f"import sys, dmac; assert not {HEAVY | {'pandas'}} & set(sys.modules); "
    assert HEAVY & set(python("-c", f"{code}{line}; print(*sys.modules)").split()) == brought


def test_names_that_the_package_lacks_are_said():
    import dmac

    assert set(dmac.__all__) <= set(dir(dmac))
    for package in (dmac, dmac.data, dmac.compute):
        with pytest.raises(AttributeError, match=f"{package.__name__}' has no attribute 'lost'"):
            getattr(package, "lost")  # noqa: B009


def test_core_dependencies_are_what_is_imported():
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "dmac").rglob("*.py"))
    found = {name for source in sources for name in imported(source)}
    optional = {"triton", "anndata", "mudata", "dask"}  # imported where they are at hand
    found -= sys.stdlib_module_names | {"dmac"} | optional
    names = {{"sklearn": "scikit-learn"}.get(name, name) for name in found}
    assert names == {one.name for one in DEPENDENCIES}


def test_lowest_versions_are_those_of_the_ranges():
    text = (ROOT / "lowest.txt").read_text(encoding="utf-8")
    pins = {line for line in text.splitlines() if line and line[0] != "#"}
    lowest = {}
    for one in DEPENDENCIES:
        (floor,) = [part.version for part in one.specifier if part.operator == ">="]
        lowest[one.name] = floor + ".0" * (2 - floor.count("."))
    lowest.pop("torch")  # see the file
    assert pins == {f"{name}=={version}" for name, version in lowest.items()}


def copy(names, folder):
    """Copy files of the repository into another folder."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


@pytest.fixture
def tracked():
    """The files under version control."""
    return check_wheel.tracked() or pytest.skip("not a git checkout: what is tracked is unknown")


def test_wheel_holds_every_file_of_the_module_and_nothing_else(tracked, tmp_path):
    """Not the experiments, either: they are there in a clone."""
    names = {name for name in tracked if name.startswith("dmac/")}
    source = tmp_path / "source"  # building leaves files behind
    more = ["pyproject.toml", "README.md", "LICENSE", "notebooks/experiments/__init__.py"]
    copy([*names, *more], source)
    alone = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation")
    python("-m", "pip", "wheel", *alone, "--wheel-dir", tmp_path, source)
    (wheel,) = tmp_path.glob("*.whl")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert held == names >= {"dmac/data/mfeat.npz", "dmac/data/README.md", "dmac/py.typed"}


def test_sdist_holds_the_repository(tracked, tmp_path):
    source = tmp_path / "source"
    copy(tracked, source)
    for name in ("_build/html/x.html", "book/experiments/x.ipynb", "dmac/__pycache__/x.pyc"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).touch()  # built things stay at home
    code = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    python("-c", code, tmp_path, cwd=source)
    (sdist,) = tmp_path.glob("*.tar.gz")
    assert check_wheel.left_out(sdist, tracked) == []
    with tarfile.open(sdist) as archive:
        files = [member.name for member in archive if member.isfile()]
    held = {name.partition("/")[2] for name in files}
    more = {name for name in held - tracked if not name.startswith("dmac.egg-info/")}
    assert more <= {"PKG-INFO", "setup.cfg"}
