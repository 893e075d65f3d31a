"""The API pages: every public name is on them, and what the docstrings say is true and renders."""

import doctest
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from numpydoc.docscrape import ClassDoc, FunctionDoc

import dmac

ROOT = Path(__file__).resolve().parent.parent
PAGES = {  # what most readers need, what the chapters derive, and the rest
    name: (ROOT / "book" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("api", "api_components", "api_rest")
}
EVERY_MODULE = sorted(
    found.name for found in pkgutil.walk_packages(dmac.__path__, "dmac.") if not found.ispkg
)
# One that begins with an underscore has no section, but it has docstrings.
MODULES = [name for name in EVERY_MODULE if "._" not in name]
SETTINGS = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["sphinx"]["config"]


def public(module):
    """The classes and functions that a module defines for others, with their methods: by name."""
    found = {}
    for name, item in vars(module).items():
        if name.startswith("_") or getattr(item, "__module__", None) != module.__name__:
            continue
        if not (inspect.isclass(item) or inspect.isfunction(item)):
            continue
        found[f"{module.__name__}.{name}"] = item
        if inspect.isclass(item):
            found |= {
                f"{module.__name__}.{name}.{key}": getattr(member, "__func__", member)
                for key, member in vars(item).items()
                if not key.startswith("_") and inspect.isroutine(getattr(item, key))
                if not key.endswith("_request")  # scikit-learn makes these
            }
    return found


# What `dmac` itself hands on is documented under that name.
HANDED_ON = {
    f"{item.__module__}.{name}": f"dmac.{name}"
    for name, item in ((name, getattr(dmac, name)) for name in dmac.__all__)
    if not inspect.ismodule(item)
}
EVERYTHING = {
    name: item
    for module in EVERY_MODULE
    for name, item in public(importlib.import_module(module)).items()
}


def undocumented(name, item):
    """Parameters that a docstring lists and the signature lacks, or the other way round."""
    if getattr(item, "_is_protocol", False):  # nobody calls it
        return set()
    doc = ClassDoc(item) if inspect.isclass(item) else FunctionDoc(item)
    listed = {
        part.strip().lstrip("*")
        for section in ("Parameters", "Other Parameters")
        for entry in doc[section]
        for part in entry.name.split(",")
    }
    if not listed and not (inspect.isclass(item) and doc["Attributes"]):
        return set()
    try:
        signature = set(inspect.signature(item).parameters)
    except ValueError:  # an exception without a constructor of its own
        return listed
    signature -= {"self", "cls"} - listed  # a plain function may take a class
    if inspect.isclass(item) and not listed:  # a dataclass documents its fields once
        fields = {part.strip() for entry in doc["Attributes"] for part in entry.name.split(",")}
        return signature - fields
    return signature ^ listed


def chapters(page):
    """The modules of the page, by the chapter under which they stand."""
    found, chapter = {}, None
    for line in page.splitlines():
        if line.startswith("## "):
            chapter = None
        elif chapter is None and (named := re.search(r"\{doc\}`(\d\d)_\w+`\.", line)):
            chapter = int(named[1])
        elif line.startswith(".. automodule:: "):
            found[line.split()[-1]] = chapter
    return found


def sections(page):
    """The modules that have a section on a page, in its order."""
    return re.findall(r"^### `(.*)`$", page, re.MULTILINE)


def test_every_module_has_one_section():
    assert {path.stem for path in (ROOT / "book").glob("api*.md")} == set(PAGES)
    for page in PAGES.values():
        assert sections(page) == re.findall(r"^\.\. automodule:: (\S+)$", page, re.MULTILINE)
    assert sorted(module for page in PAGES.values() for module in sections(page)) == MODULES


def test_estimator_is_first_and_components_follow_the_chapters():
    assert sections(PAGES["api"])[0] == "dmac.estimator"
    numbers = [number for number in chapters(PAGES["api_components"]).values() if number]
    assert numbers == sorted(numbers)
    named = {number for page in PAGES.values() for number in chapters(page).values()}
    assert named - {None} == set(range(1, 15))
    # What the data, the mathematics and the experiments stand on is on the last page.
    assert all(name.count(".") == 1 for name in sections(PAGES["api_components"]))
    assert all(name.count(".") == 2 for name in sections(PAGES["api_rest"]))


FIRST = sections(PAGES["api"])


@pytest.mark.parametrize("module", FIRST)
def test_examples_of_the_first_page_are_there_and_true(module):
    module = importlib.import_module(module)
    finder = doctest.DocTestFinder(recurse=True, exclude_empty=False)
    found = {test.name: test for test in finder.find(module)}
    for name, item in public(module).items():
        if inspect.isclass(item) or name.count(".") == 2:  # a class shows its methods at work
            examples = found[name].examples
            assert examples, f"{name} has no example"
            assert not any(doctest.SKIP in one.options for one in examples), name
            assert not re.search("released|published", found[name].docstring.split("Examples")[1])
    runner = doctest.DocTestRunner(verbose=False)
    said = []
    for test in found.values():
        runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)


@pytest.mark.parametrize("module", MODULES)
def test_module_names_its_chapter(module):
    text = importlib.import_module(module).__doc__
    chapter = next(page[module] for page in map(chapters, PAGES.values()) if module in page)
    assert text
    if chapter:
        named = re.findall(r"[Cc]hapters? (\d+)", text)
        assert str(chapter) in named, f"{module} does not say that chapter {chapter} is about it"


def test_every_public_name_has_a_docstring():
    assert [name for name, item in EVERYTHING.items() if not item.__doc__] == []


def test_docstrings_list_the_parameters_of_the_signature():
    wrong = {name: undocumented(name, item) for name, item in EVERYTHING.items()}
    assert {name: parameters for name, parameters in wrong.items() if parameters} == {}


def test_equations_of_docstrings_are_in_the_chapters():
    book = "".join(
        "".join(cell["source"])
        for path in sorted((ROOT / "book").glob("[0-9]*.ipynb"))
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "markdown"
    )
    labels = set(re.findall(r":label: (eq:[\w-]+)|\$\$ \((eq:[\w-]+)\)", book))
    labels = {label for pair in labels for label in pair if label}
    sources = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "dmac").rglob("*.py"))
    referred = set(re.findall(r":eq:`([\w:-]+)`", sources))
    assert len(referred) > 20
    assert referred - labels == set()


CONF = """
import json
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx_design"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
root_doc = "api"
for name, value in {settings!r}.items():
    globals()[name] = value

def keep(app, error):
    objects = app.env.get_domain("py").objects
    with open({target!r}, "w") as file:
        json.dump(sorted(objects), file)

def setup(app):
    app.connect("build-finished", keep)
"""


RESOLVED = ["{py:func}`dmac.data.checks.check_views`", "{py:meth}`fitting <dmac.DMAC.fit>`"]
UNRESOLVED = ["{py:func}`dmac.views.nothing`", "{py:obj}`lost`"]


def book_references():
    """Every reference to a Python name in the chapters, the experiments and the other pages."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "book").glob("*.md")]
    for path in [*(ROOT / "book").glob("*.ipynb"), *(ROOT / "notebooks").glob("*.ipynb")]:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts += ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    return sorted({one for text in texts for one in re.findall(r"\{py:\w+\}`[^`]+`", text)})


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
    target = str(folder / "objects.json")
    conf = CONF.format(settings=settings, target=target)
    (folder / "conf.py").write_text(conf)
    for name, page in PAGES.items():
        (folder / f"{name}.md").write_text(page)
    for name, references in (("book", book_references()), ("other", [*RESOLVED, *UNRESOLVED])):
        text = "\n\n".join(references)
        (folder / f"{name}.md").write_text(f"---\norphan: true\n---\n# References\n\n{text}\n")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "pseudoxml", folder, folder / "out"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    elsewhere = "equation not found|unknown document|undefined label|Failed to create a cross"
    elsewhere += "|in any toctree"
    warnings = [line for line in done.stderr.splitlines() if not re.search(elsewhere, line)]
    other = (folder / "out" / "other.pseudoxml").read_text()
    return json.loads((folder / "objects.json").read_text()), warnings, other


def test_every_public_name_is_on_a_page(rendered):
    on_page = set(rendered[0])
    names = {name for name in EVERYTHING if "._" not in name}
    for defined, public_name in HANDED_ON.items():
        names = {re.sub(rf"^{re.escape(defined)}\b", public_name, name) for name in names}
    assert {"dmac.load", "dmac.DMAC.fit"} <= names
    assert names - on_page == set()
    assert set(MODULES) <= on_page
    assert {f"dmac.recipes.{name}" for name in ("PUBLISHED", "RELEASED", "REVISED")} <= on_page


def test_pages_and_references_of_the_book_render_without_a_warning(rendered):
    assert len(book_references()) > 30
    assert [line for line in rendered[1] if "other.md" not in line] == []


def test_unknown_name_is_warned_of(rendered):
    _, warnings, other = rendered
    links = re.findall(r'refuri="(\w+#[\w.]+)"', other)
    assert links == ["api_rest#dmac.data.checks.check_views", "api#dmac.DMAC.fit"]
    missing = [re.search(r"target not found: (\S+)", w)[1] for w in warnings if "other.md" in w]
    assert missing == ["dmac.views.nothing", "lost"]


def listings(text):
    """The code that a page shows: file, object and the line where it starts, or None."""
    for file, options in re.findall(r"```\{literalinclude\} (\S+)\n(.*?)```", text, re.DOTALL):
        named = dict(re.findall(r"^:([\w-]+): *(.*)$", options, re.MULTILINE))
        yield file, named.get("pyobject"), named.get("start-at")


def lost_listings(text):
    """Those of them that the module does not have any more."""
    lost = []
    for file, name, start in listings(text):
        module = file.removeprefix("../").removesuffix(".py").replace("/", ".")
        item = importlib.import_module(module)
        for part in name.split("."):
            item = getattr(item, part, None)
        if item is None or (start or "") not in inspect.getsource(item):
            lost.append((file, name, start))
    return lost


@pytest.mark.parametrize("path", sorted((ROOT / "book").glob("[0-9]*.ipynb")), ids=lambda p: p.stem)
def test_code_that_a_chapter_shows_is_there(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert lost_listings("\n".join("".join(cell["source"]) for cell in cells)) == []


# The checks above only mean something if each of them can fail.


def test_checks_can_fail():
    def short(a, b):
        """Add.

        Parameters
        ----------
        a : int
        c : int
        """

    class Listed:
        """A class.

        Parameters
        ----------
        a, b : int
        """

        def __init__(self, a, b):
            pass

    assert undocumented("short", short) == {"b", "c"}
    assert undocumented("Listed", Listed) == set()
    assert undocumented("chapters", chapters) == set()
    page = "## One\n\nIn {doc}`01_one`.\n.. automodule:: dmac.a\n## Two\n.. automodule:: dmac.b\n"
    assert chapters(page) == {"dmac.a": 1, "dmac.b": None}

    shown = "```{{literalinclude}} ../dmac/compute/kmeans.py\n:pyobject: {}\n:start-at: {}\n```\n"
    assert lost_listings(shown.format("WarmAnchors.state", "return {}")) == []
    gone = shown.format("WarmAnchors.lost", "return") + shown.format("kmeans", "warmed =")
    assert [name for _, name, _ in lost_listings(gone)] == ["WarmAnchors.lost", "kmeans"]
