"""Static types: mypy has nothing to say of the module, and what it says of a user's program."""

import os
import pkgutil
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

import dmac

ROOT = Path(__file__).resolve().parent.parent
# What mypy has read of NumPy and PyTorch is kept, or every run would take half a minute.
CACHE = ROOT / ".mypy_cache"


def mypy(*arguments, folder=ROOT, cache=CACHE):
    """What mypy says in a folder, where it looks for modules first; by default of the package."""
    command = [sys.executable, "-m", "mypy", "--cache-dir", cache, *arguments]
    paths = ("MYPYPATH", "PYTHONPATH")
    environment = {key: value for key, value in os.environ.items() if key not in paths}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def test_mypy_finds_nothing():
    said = mypy()
    assert said.startswith("Success"), said


USER = """
from typing import assert_type

import numpy as np
import numpy.typing as npt

import dmac
from dmac import recipes

data = dmac.load("mfeat")
assert data.labels is not None and data.n_clusters is not None
model = dmac.DMAC(data.n_clusters, recipes.REVISED, random_state=0)
assert_type(model.fit(data.views), dmac.DMAC)
labels = dmac.AnchorGraphClustering(10).fit_predict([np.eye(4), np.ones((4, 2))])
assert_type(labels, npt.NDArray[np.int64])
assert_type(dmac.DMAC(10, "revised").fit_predict(np.eye(4)), npt.NDArray[np.int64])
assert_type(dmac.scores(data.labels, labels), dict[str, float])
assert_type(dmac.scores(["a", "b"], [0, 1])["acc"], float)
assert_type(dmac.load_model("folder").transform(data.views).ndim, int)
assert_type(dmac.suggest_n_clusters(data.views).n_clusters, int)
assert_type(dmac.recipes.REVISED.epochs, int)
assert_type(dmac.available(), list[str])
assert_type(dmac.available(by_kind=True)["omics"], list[str])
assert_type(dmac.baselines.raw_kmeans(data.views, 10, seed=0), npt.NDArray[np.int64])
dmac.data.whitening.Whitening(3).fit(np.eye(4)).transform(np.eye(4))

dmac.DMAC("ten")  # wrong: arg-type
dmac.DMAC()  # wrong: call-arg
dmac.DMAC(10, recipe=3)  # wrong: arg-type
dmac.AnchorGraphClustering(10).fit_predict(4)  # wrong: arg-type
dmac.AnchorGraphClustering(10).fit(data.views, callbak=None)  # wrong: call-arg
dmac.load(4)  # wrong: arg-type
dmac.load("mfeat", labels_key=True)  # wrong: arg-type
dmac.laod("mfeat")  # wrong: attr-defined
dmac.data.whitning  # wrong: attr-defined
dmac.scores(data.labels)  # wrong: call-arg
dmac.recipes.NetworkRecipe(name="mine", epoch=3)  # wrong: call-arg
dmac.AnchorGraphClustering(10).labels_ + "a"  # wrong: operator
"""


def test_user_gets_types_from_the_installed_package(tmp_path):
    venv.create(tmp_path / "venv", symlinks=True)
    base = {"base": str(tmp_path / "venv"), "platbase": str(tmp_path / "venv")}
    site = Path(sysconfig.get_path("purelib", "venv", vars=base))
    shutil.copytree(
        ROOT / "dmac", site / "dmac", ignore=shutil.ignore_patterns("__pycache__", "*.npz")
    )
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    path = tmp_path / "program.py"
    path.write_text(USER)
    python = Path(sysconfig.get_path("scripts", "venv", vars=base)) / "python"
    rules = ("--strict", "--python-executable", python)
    said = mypy(*rules, path, folder=tmp_path, cache=CACHE / "user")  # other rules, other cache
    found = re.findall(r"program\.py:(\d+): error: .*\[([\w-]+)\]$", said, re.MULTILINE)
    assert len(found) == said.count(": error: "), said
    marked = enumerate(USER.splitlines(), 1)
    wrong = {(i, line.split("# wrong: ")[1]) for i, line in marked if "# wrong: " in line}
    assert {(int(line), rule) for line, rule in found} == wrong


@pytest.mark.parametrize("package", [dmac, dmac.data, dmac.compute], ids=lambda one: one.__name__)
def test_type_checkers_see_every_module(package):
    text = Path(package.__file__).read_text(encoding="utf-8")
    listed = re.findall(r"^        (\w+) as \1,$", text, re.MULTILINE)
    modules = [one.name for one in pkgutil.iter_modules(package.__path__) if one.name[0] != "_"]
    assert listed == sorted(modules)
