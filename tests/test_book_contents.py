"""Every page of the book shows something, and its figures are sharp."""

from pathlib import Path

import chromium
import pytest
from test_book import CHAPTERS, TOC, book  # noqa: F401 (the fixture)

CONTENTS = f"({(Path(__file__).parent / 'contents.js').read_text(encoding='utf-8')})()"
#: Pages to look something up in.
REFERENCE = ("book/notation", "book/api", "book/errata", "book/bibliography")
PAGES = [name for name in [TOC["root"], *CHAPTERS] if not name.startswith(REFERENCE)]


def contents(page, url, width=1300):
    """Whether a page shows a figure or a table, and figures below twice their size."""
    chromium.resize(page, width)
    chromium.visit(page, url)
    return page.evaluate(CONTENTS)


@pytest.fixture(scope="module")
def found(browser, book):  # noqa: F811
    """What each page holds."""
    page = browser.new_page()
    return {name: contents(page, f"{book}{name}.html") for name in PAGES}


def test_every_page_shows_something(found):
    assert [name for name, page in found.items() if not page["shows"]] == []


def test_figures_are_drawings_or_have_twice_the_pixels(found):
    assert {name: page["coarse"] for name, page in found.items() if page["coarse"]} == {}
