"""The chapters that derive are read with nothing but themselves and dmac open."""

import ast
import json
import re
from pathlib import Path

import pytest

from experiments import paper

BOOK = Path(__file__).parent.parent / "book"
#: The others show stored runs or drawings of the experiments, and use their modules.
DERIVING = [
    path
    for path in sorted(BOOK.glob("[0-9]*.ipynb"))
    if path.stem[:2] in {*"01 02 03 04 05 06 07 08 09 19 24".split()}
]


def imported(chapter):
    """The top-level packages that the code cells of a chapter import."""
    for cell in json.loads(chapter.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        for node in ast.walk(ast.parse("".join(cell["source"]))):
            if isinstance(node, ast.Import):
                yield from (alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield node.module.split(".")[0]


@pytest.mark.parametrize("chapter", DERIVING, ids=lambda path: path.stem)
def test_a_chapter_that_derives_imports_nothing_of_the_experiments(chapter):
    packages = set(imported(chapter))
    assert "numpy" in packages  # the cells were read
    assert "experiments" not in packages


@pytest.mark.parametrize("name", sorted(set(paper.TABLE_2) - {"DMAC"}))
def test_the_chapter_on_the_field_lists_where_every_system_departs(name):
    cells = json.loads((BOOK / "23_the_field.ipynb").read_text(encoding="utf-8"))["cells"]
    (text,) = ("".join(c["source"]) for c in cells if c["source"][0] == "(sec-departures)=\n")
    rows = text.split(f"\n**{name}**\n")[1].split("\n**")[0].splitlines()
    rows = [row for row in rows if row.startswith("| ")]
    assert len(rows) > 3 and all(row.count(" | ") == 2 for row in rows[1:])


@pytest.mark.parametrize("chapter", sorted(BOOK.glob("[0-9]*.ipynb")), ids=lambda path: path.stem)
def test_a_chapter_has_a_line_to_change_and_says_what_one_sees(chapter):
    cells = json.loads(chapter.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    shown = [c for c in cells if "# change it" in "".join(c["source"])]
    assert len(shown) == 1 and shown[0]["metadata"].get("tags", []) == []  # the reader sees it
    (box,) = re.findall(r"(?s)^::::\{admonition\} Change it$.*?^::::$", text, re.M)
    question, seen = box.split(":::{admonition} What you see\n:class: dropdown\n")
    assert re.search("`[a-z_]+ ?=|`gain_without", question)  # what to write in its place
    assert "{glue:text}`change-" in seen  # numbers that the page computes


@pytest.mark.parametrize("chapter", sorted(BOOK.glob("[0-9]*.ipynb")), ids=lambda path: path.stem)
def test_a_chapter_has_an_exercise_to_draw_or_to_try(chapter):
    cells = json.loads(chapter.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    asked = re.findall(r"(?s)^```\{exercise\}.*?^```$", text, re.M)
    labels = [re.search(r":label: (\S+)", one)[1] for one in asked]
    assert all(f"{{solution-start}} {label}\n:class: dropdown" in text for label in labels)
    assert any(re.search(r"\b([Dd]raw|[Tt]ry|Train|Measure|Take one)\b", one) for one in asked)
