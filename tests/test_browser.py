"""The browser prints the book in its order, and says so where there is none."""

import chromium
import pytest
from browser import faint
from print_book import page_numbers, print_book
from pypdf import PdfReader


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


@pytest.mark.parametrize("before, found", [("", ["1.2: words"]), (" class=light", [])])
def test_faint_text_is_found_and_colours_on_their_way_are_not(before, found, tmp_path, browser):
    style = "b { transition: color 60s } .light { color: #eee }"
    script = "document.querySelector('b').classList.toggle('light')"
    look = "getComputedStyle(document.querySelector('b')).color"
    site = tmp_path / "page.html"
    site.write_text(f"<style>{style}</style><b{before}>words</b><script>{look};{script}</script>")
    assert faint(browser.new_page(), site.as_uri()) == found


def test_browser_that_cannot_start_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("CHROMIUM", str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError, match="apt install chromium"):
        with chromium.started():
            pass
