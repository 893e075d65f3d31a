"""The chapters that derive are read with nothing but themselves and dmac open."""

import ast
import json
import os
import re
from pathlib import Path

import pandas as pd
import portable
import pytest
from helpers import ROOT, imported, python, sources

from experiments import evidence, records, repair, studies

BOOK = ROOT / "book"


@pytest.mark.parametrize(
    "chapter",
    # The others show stored runs or drawings of the experiments, and use their modules.
    [
        BOOK / "your_data.ipynb",
        *(path for path in sorted(BOOK.glob("[0-9]*.ipynb")) if path.stem[:2] not in ("10", "13")),
    ],
    ids=lambda path: path.stem,
)
def test_a_chapter_that_derives_imports_nothing_of_the_experiments(chapter):
    packages = set(imported("\n".join(sources(chapter).values())))
    assert "numpy" in packages  # the cells were read
    assert "experiments" not in packages


def test_pages_read_what_the_stored_runs_say():
    stored = json.loads(repair.FILE.read_text(encoding="utf-8"))
    again = json.loads(json.dumps(repair.tables(evidence.read_runs())))
    assert stored == again, "run python -m experiments.repair in notebooks/"


#: What the chapter on costs reads of the stored runs.
READ = """
ours = {name: studies.COMPARISON[name] for name in (studies.CLOSED, "REVISED")}
runs = records.read_runs(ours, studies.SIXTEEN)
runs = runs[["variant", "dataset", "seed", "acc"]]
runs = runs.astype({"variant": str, "dataset": str})
"""


@pytest.mark.parametrize("name, carried", portable.CARRIES.items())
def test_a_download_reads_the_runs_that_it_carries(name, carried, tmp_path, monkeypatch):
    source = "\n".join(sources(BOOK / f"{name}.ipynb").values())
    monkeypatch.chdir(tmp_path)
    exec(portable.packed(source, carried=carried), {})
    for path in re.findall(r'"\.\./notebooks/(results/[a-z_]+\.json)"', source):
        kept = BOOK.parent / "notebooks" / path
        assert Path("stored", path).read_bytes() == kept.read_bytes()
    code = f"""
import sys; sys.path.append("stored")
from experiments import records, studies
{READ}
runs.to_csv("read.csv", index=False)
"""
    python("-c", code, env={key: x for key, x in os.environ.items() if key != "PYTHONPATH"})
    here = {"records": records, "studies": studies}
    exec(READ, here)
    assert len(here["runs"]) > 100
    pd.testing.assert_frame_equal(pd.read_csv("read.csv"), here["runs"])


#: A listing of a page: its file, and its options.
LISTING = re.compile(r"```\{literalinclude\} (\S+)\n((?::[\w-]+:.*\n)*)")


def listings():
    """Every listing of the book: the page, the file, and the options."""
    for page in sorted([*BOOK.rglob("*.ipynb"), *BOOK.rglob("*.md")]):
        notebook = page.suffix == ".ipynb"
        texts = sources(page, "markdown").values() if notebook else [page.read_text("utf-8")]
        for file, options in LISTING.findall("\n".join(texts)):
            yield page, page.parent / file, dict(re.findall(r":([\w-]+): ?(.*)", options))


def test_listings_find_what_they_show():
    seen = list(listings())
    assert len(seen) > 15
    for page, path, options in seen:
        shown = path.read_text(encoding="utf-8")
        if "pyobject" in options:  # a function, a class or a method ("Class.method") of a module
            part = ast.parse(shown)
            for name in options["pyobject"].split("."):
                (part,) = [node for node in part.body if getattr(node, "name", None) == name]
            shown = ast.get_source_segment(shown, part)
        for end in ("start-at", "start-after", "end-at", "end-before"):
            assert options.get(end, "") in shown, f"{page.name}: {options}"
            if end == "start-at" and end in options:
                shown = shown[shown.index(options[end]) :]
