"""The concordance: it is what the script writes, leaves out nothing, and refuses lost labels."""

import re

import pytest
import write_concordance as concordance


def test_page_is_what_the_script_writes():
    assert concordance.PAGE.read_text(encoding="utf-8") == concordance.write(), (
        "labels, docstrings or errata have changed: run python scripts/write_concordance.py"
    )


@pytest.mark.parametrize("kind, count", [("equation", 19), ("table", 3), ("figure", 5)])
def test_nothing_of_the_paper_is_left_out(kind, count):
    found = []
    for item in concordance.ITEMS:
        if named := re.search(rf"{kind}s? (\d+)(?: (to|and) (\d+))?", item.name, re.IGNORECASE):
            found += range(int(named[1]), int(named[3] or named[1]) + 1)
    assert found == list(range(1, count + 1))


def test_every_erratum_is_about_something():
    named = {label for item in concordance.ITEMS for label in item.errata}
    assert named == set(concordance.errata()) and len(named) == 8


def test_unknown_label_is_refused(monkeypatch):
    lost = concordance.Item("Equation 20", "nothing", ("eq:lost",))
    monkeypatch.setattr(concordance, "ITEMS", (lost,))
    with pytest.raises(KeyError, match="eq:lost"):
        concordance.write()
