"""The concordance: it is what the script writes, leaves out nothing, and every link leads on."""

import importlib
import re
from pathlib import Path

import pytest
import write_concordance as concordance

SOURCE = Path(__file__).parents[2] / "shared" / "paper" / "dmac-aaai25.tex"


def test_page_is_what_the_script_writes():
    assert concordance.PAGE.read_text(encoding="utf-8") == concordance.write(), (
        "labels, docstrings or errata have changed: run python scripts/write_concordance.py"
    )


def numbers(kind):
    """The numbers of the paper's equations, tables or figures that the page has, in its order."""
    found = []
    for item in concordance.ITEMS:
        named = re.search(rf"{kind}s? (\d+)(?: (to|and) (\d+))?", item.name, re.IGNORECASE)
        if named:
            found += range(int(named[1]), int(named[3] or named[1]) + 1)
    return found


def test_nothing_of_the_paper_is_left_out():
    assert numbers("equation") == list(range(1, 20))
    assert numbers("table") == [1, 2, 3] and numbers("figure") == [1, 2, 3, 4, 5]


@pytest.mark.skipif(not SOURCE.exists(), reason="the paper's source is not here")
def test_paper_has_as_many():
    lines = SOURCE.read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("%"))
    assert text.count(r"\begin{equation}") == 19 and text.count(r"\begin{theorem}") == 1
    assert len(re.findall(r"\\begin\{table\*?\}", text)) == 3
    assert len(re.findall(r"\\begin\{figure\*?\}", text)) == 5


def test_every_erratum_is_about_something():
    assert len(concordance.errata()) == 8
    named = {label for item in concordance.ITEMS for label in item.errata}
    assert named == set(concordance.errata())


def test_every_function_exists():
    names = re.findall(r"\{py:\w+\}`~?([\w.]+)`", concordance.write())
    assert len(set(names)) > 25
    for name in names:
        *modules, last = name.split(".")
        for cut in range(len(modules), 0, -1):
            try:
                item = importlib.import_module(".".join(modules[:cut]))
                break
            except ImportError:
                continue
        for part in [*modules[cut:], last]:
            if not hasattr(item, part):
                item = importlib.import_module(f"{item.__name__}.{part}")
            else:
                item = getattr(item, part)


def test_equations_have_functions_and_pages():
    rows = [row for row in concordance.write().splitlines() if row.startswith("| Equation")]
    assert len(rows) == 14
    for row in rows:
        name, here, page, functions, _ = row[2:-2].split(" | ")
        assert "{doc}" in page
        if "Equation 8" not in name:
            assert "{eq}" in here and "{py:" in functions, row


def test_unknown_label_is_refused(monkeypatch):
    lost = concordance.Item("Equation 20", "nothing", ("eq:lost",))
    monkeypatch.setattr(concordance, "ITEMS", (lost,))
    with pytest.raises(KeyError, match="eq:lost"):
        concordance.write()
