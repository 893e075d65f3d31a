"""The chapters that derive are read with nothing but themselves and dmac open."""

import ast
import json
from pathlib import Path

import pytest

from dmac import peers

BOOK = Path(__file__).parent.parent / "book"
#: The others show stored runs or drawings of the experiments, and use their modules.
DERIVING = [
    path
    for path in sorted(BOOK.glob("[0-9]*.ipynb"))
    if path.stem[:2] in {*"01 02 03 04 05 06 07 08 09 19 22 24".split()}
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


@pytest.mark.parametrize("name", [name for name in peers.ALL if name != "SNF"])
def test_the_chapter_on_the_field_lists_where_every_system_departs(name):
    cells = json.loads((BOOK / "24_the_field.ipynb").read_text(encoding="utf-8"))["cells"]
    (text,) = ("".join(c["source"]) for c in cells if c["source"][0] == "(sec-departures)=\n")
    rows = text.split(f"\n**{name}**\n")[1].split("\n**")[0].splitlines()
    rows = [row for row in rows if row.startswith("| ")]
    assert len(rows) > 3 and all(row.count(" | ") == 2 for row in rows[1:])
