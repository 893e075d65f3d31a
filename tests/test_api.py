"""The API pages: what a user may call is on them, and what the docstrings say is true."""

import dataclasses
import doctest
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys

import pytest
import yaml
from helpers import ROOT, sources
from numpydoc.docscrape import ClassDoc
from numpydoc.validate import validate

import dmac

PAGES = {path.stem: path.read_text(encoding="utf-8") for path in ROOT.glob("book/api*.md")}
SETTINGS = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["sphinx"]["config"]


def public(module):
    """The classes and functions that a module defines for others, with their methods: by name."""
    found = {}
    for name, item in vars(module).items():
        own = name[0] != "_" and getattr(item, "__module__", None) == module.__name__
        if own and (inspect.isclass(item) or inspect.isfunction(item)):
            found[f"{module.__name__}.{name}"] = item
            members = vars(item).items() if inspect.isclass(item) else []
            found |= {
                f"{module.__name__}.{name}.{key}": getattr(member, "__func__", member)
                for key, member in members
                if not key.startswith("_") and inspect.isroutine(getattr(item, key))
                if not key.endswith("_request")  # scikit-learn makes these
            }
    return found


def complaints(name, item):
    """Parameters that a docstring lists and the signature lacks, or the other way round."""
    if getattr(item, "_is_protocol", False):  # nobody calls it
        return []
    codes = {"GL08", "PR02"} | ({"PR01"} if "Parameters\n" in (item.__doc__ or "") else set())
    found = [said for code, said in validate(name)["errors"] if code in codes]
    if dataclasses.is_dataclass(item):  # which documents its own fields once
        entries = (e for key in ("Parameters", "Attributes") for e in ClassDoc(item)[key])
        listed = {one.strip() for entry in entries for one in entry.name.split(",")}
        own = {field.name for field in dataclasses.fields(item)} & {
            *vars(item).get("__annotations__", ())
        }
        found += own - listed if listed else []
    return found


def test_docstrings_list_the_parameters_of_the_signature():
    wrong = {
        name: found
        for module in pkgutil.walk_packages(dmac.__path__, "dmac.")
        for name, item in public(importlib.import_module(module.name)).items()
        if (found := complaints(name, item))
    }
    assert wrong == {}


@pytest.mark.parametrize(
    "module", re.findall(r"^\.\. automodule:: (dmac\.\w+)$", PAGES["api"], re.MULTILINE)
)
def test_examples_of_the_first_page_are_true(module):
    runner, said = doctest.DocTestRunner(verbose=False), []
    for test in doctest.DocTestFinder().find(importlib.import_module(module)):
        runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)


def markdown(folder):
    """The text of the notebooks of a folder."""
    for path in sorted((ROOT / folder).glob("*.ipynb")):
        yield from sources(path, "markdown").values()


def test_equations_of_docstrings_are_in_the_chapters():
    labels = set(re.findall(r"(?::label: |\$\$ \()(eq:[\w-]+)", "\n".join(markdown("book"))))
    sources = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "dmac").rglob("*.py"))
    referred = set(re.findall(r":eq:`([\w:-]+)`", sources))
    assert len(referred) > 20 and referred <= labels


CONF = """
import json
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx_design"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
root_doc = "api"
for name, value in {settings!r}.items():
    globals()[name] = value

def keep(app, error):
    with open({target!r}, "w") as file:
        json.dump(sorted(app.env.get_domain("py").objects), file)

def setup(app):
    app.connect("build-finished", keep)
"""


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    """The pages by themselves, through Sphinx: what they document, and the warnings."""
    folder = tmp_path_factory.mktemp("api")
    settings = {
        key: value
        for key, value in SETTINGS.items()
        if key.startswith(("autodoc_", "numpydoc_", "nitpick"))
        or key in ("add_module_names", "default_role")
    }
    target = folder / "objects.json"
    (folder / "conf.py").write_text(CONF.format(settings=settings, target=str(target)))
    for name, page in PAGES.items():
        (folder / f"{name}.md").write_text(page)
    # Every reference to a Python name in the chapters, the experiments and the other pages.
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "book").glob("*.md")]
    texts += [*markdown("book"), *markdown("notebooks"), "{py:obj}`lost`"]
    references = sorted({one for text in texts for one in re.findall(r"\{py:\w+\}`[^`]+`", text)})
    text = "\n\n".join(["---\norphan: true\n---\n# References", *references])
    (folder / "references.md").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-b", "pseudoxml", folder, folder / "out"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    elsewhere = (
        "equation not found|unknown document|undefined label|Failed to create a cross"
        "|in any toctree"
    )
    warnings = [line for line in done.stderr.splitlines() if not re.search(elsewhere, line)]
    return set(json.loads(target.read_text())), warnings


def test_what_a_user_calls_is_on_a_page(rendered):
    peers = {f"{one.__module__}.{one.__name__}" for one in dmac.peers.ALL.values()}
    names = {f"dmac.{name}" for name in dmac.__all__ if name != "peers"}
    recipes = {f"dmac.recipes.{name.upper()}" for name in dmac.recipes.RECIPES}
    assert peers | names | recipes | {"dmac.DMAC.fit", "dmac.peers.base.Peer"} <= rendered[0]
    assert not [name for name in rendered[0] if name.startswith("experiments")]


def test_pages_and_references_of_the_book_render_with_the_one_warning_that_is_asked_for(rendered):
    (warning,) = rendered[1]
    assert "target not found: lost" in warning
