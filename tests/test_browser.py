"""The browser prints the book in its order, and says so where there is none."""

from pathlib import Path

import chromium
import pytest
from browser import faint
from print_book import page_numbers, print_book
from pypdf import PdfReader

STATIC = Path(__file__).resolve().parent.parent / "book" / "_static"


def test_book_is_printed_in_the_order_of_its_contents(tmp_path, browser):
    def site(name, html):
        article = f'<article class="bd-article">{html}</article>'
        (tmp_path / name).write_text(f"<!doctype html><title>x</title><body>{article}</body>")

    names = ("index", "two", "one")
    links = "".join(f"<a class='internal' href='{name}.html'>{name}</a>" for name in names)
    side = f"<nav class='bd-links'>{links}</nav>"
    later = "<a href='one.html#x'>later</a>" + "<p>text</p>" * 80
    folded = "<details><summary>more</summary>unfolded</details>"
    site("index.html", f"<h1>Start</h1>{later}</article>{side}")
    site("two.html", "<h1>Second<a class='headerlink' href='#'>#</a></h1><h2>Part</h2>")
    site("one.html", f"<h1>Last</h1><p id='x'>{folded}</p>")
    target = tmp_path / "book.pdf"
    with pytest.raises(RuntimeError, match="none.html"):
        print_book(browser, tmp_path, target, start="none.html")
    assert print_book(browser, tmp_path, target, start="index.html") == list(names)
    pdf = PdfReader(target)
    assert [e.title for e in pdf.outline if not isinstance(e, list)] == ["Start", "Second", "Last"]
    numbers = page_numbers(target)
    last = len(pdf.pages)
    assert (numbers["#index--"], numbers["#two--"], numbers["#one--"]) == (3, last - 1, last)
    assert numbers["#one--x"] == last
    assert "unfolded" in pdf.pages[-1].extract_text()


def test_faint_text_is_found_and_colours_on_their_way_are_not(tmp_path, browser):
    style = "b { transition: color 60s } .light { color: #eee }"
    script = "document.querySelector('b').classList.toggle('light')"
    site = tmp_path / "page.html"
    html = "<style>{}</style><b{}>words</b><script>getComputedStyle({}).color;{}</script>"
    found = []
    for before in ("", " class=light"):
        site.write_text(html.format(style, before, "document.querySelector('b')", script))
        found.append(faint(browser.new_page(), site.as_uri()))
    assert found == [["1.2: words"], []]


def test_checks_are_hidden_behind_one_switch(browser):
    def cell(prompt, output):
        fold = f"<summary><p class=collapsed>{prompt}</p><p class=expanded>Hide</p></summary>"
        return f"<div class=cell><details class=hide>{fold}code</details><p>{output}</p></div>"

    cells = cell("Check", "first") + cell("Show the code", "figure") + cell("Check", "second")
    page = browser.new_page()
    script = (STATIC / "checks.js").read_text(encoding="utf-8")
    script = script.replace('addEventListener("DOMContentLoaded",', "dispatchReady(")
    ready = "document.dispatchReady = (run) => run();"
    article = f"<article class=bd-article><h1>Title</h1>{cells}</article>"
    page.set_content(f"{article}<script>{ready}{script}</script>")
    texts = ("first", "figure", "second")

    def seen():
        return [page.get_by_text(text, exact=True).is_visible() for text in texts]

    switch = page.get_by_role("button")
    assert switch.inner_text() == "Show the 2 checks of this page" and seen() == [
        False,
        True,
        False,
    ]
    switch.click()
    assert switch.inner_text() == "Hide the 2 checks of this page" and all(seen())
    page.close()


def test_browser_that_cannot_start_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("CHROMIUM", str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError, match="apt install chromium"):
        with chromium.started():
            pass
