"""Every page of the book shows something, sums it up, and its figures are sharp."""

from pathlib import Path

import chromium
import pytest
from test_book import CHAPTERS, TOC, book  # noqa: F401 (the fixture)
from test_browser import site  # noqa: F401

CONTENTS = f"({(Path(__file__).parent / 'contents.js').read_text(encoding='utf-8')})()"
#: Pages to look something up in.
REFERENCE = ("book/notation", "book/api", "book/errata", "book/bibliography")
#: Pages that are short themselves, or one table.
SHORT = (
    *("book/recipes_in_short", "book/command_line", "book/running_again"),
    *("book/concordance", "book/inputs", "book/how_many_clusters"),
)
PAGES = [name for name in [TOC["root"], *CHAPTERS] if not name.startswith(REFERENCE)]


def contents(page, url, width=1300):
    """Whether a page shows a figure or a table and sums up, and figures below twice their size."""
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


def test_every_page_has_a_summary(found):
    without = [name for name, page in found.items() if not page["sums_up"]]
    assert [name for name in without if name not in SHORT] == []


def test_figures_are_drawings_or_have_twice_the_pixels(found):
    assert {name: page["coarse"] for name, page in found.items() if page["coarse"]} == {}


# Each of these checks can fail.


def test_contents_are_told_from_text(site, browser):  # noqa: F811
    site("text.html", "<h1>A page</h1><p>In short, text.</p><h2>Part</h2>")
    box = '<div class="admonition"><p class="admonition-title">In short</p></div>'
    site("whole.html", f"<h1>A page</h1>{box}<table><tr><td>1</td></tr></table>")
    site("chapter.html", '<h2>7.3. Summary</h2><img src="dot.svg" alt="a dot" width="300">')
    with chromium.served(site.folder) as root:
        page = browser.new_page()
        seen = [contents(page, root + name) for name in ("text.html", "whole.html", "chapter.html")]
    assert [one["shows"] for one in seen] == [False, True, True]
    assert [one["sums_up"] for one in seen] == [False, True, True]
    assert [one["coarse"] for one in seen] == [[], [], []]


def test_coarse_figures_are_reported(site, browser):  # noqa: F811
    width = "document.createElement('canvas')"
    draw = f"const c = {width}; c.width = 300; c.height = 30; const url = c.toDataURL();"
    show = "for (const one of document.images) one.src = url;"
    images = '<img alt="sharp" width="150"><img alt="coarse" width="151">'
    site("a.html", f"{images}<script>{draw}{show}</script>")
    with chromium.served(site.folder) as root:
        seen = contents(browser.new_page(), root + "a.html")
    assert seen["coarse"] == ["300 px shown at 151: coarse"]
