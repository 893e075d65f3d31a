"""The browser that looks at the book reports what it should, and prints what it should.

tests/test_book.py finds nothing in a sound book. Here its checks are seen to fail.
"""

import importlib.resources
import shutil

import chromium
import pytest
from browser import dead_links, look
from print_book import page_numbers, print_book
from pypdf import PdfReader

DEFECTS = {
    r'<p>where <span class="math">x is</span> small</p>': "formula not typeset: x is",
    r'<div class="math">\[\sqrt{\]</div>': r"formula not typeset: \[\sqrt{",
    r'<div class="math">\[\frac{1}\]</div>': r"formula with an error: Missing argument for \frac",
    r'<div class="math">\[\nosuch\]</div>': "formula with an unknown macro: \\nosuch",
    r"<p>so that \(z = 1\) holds</p>": "formula not typeset: so that \\(z",
    r"<p>so that $z$ holds</p>": "formula not typeset: so that $z$",
    "<p>that is *no whitening*, *no ridge*</p>": "markup not understood: that is *no whit",
    "<p>see `dmac.x` for it</p>": "markup not understood: see `dmac.x` for",
    "<p>see Section ??</p>": "unresolved reference: see Section ??",
    "<p>as in [?]</p>": "unresolved reference: as in [?]",
    "<p>by (eq:anchor-graph)</p>": "unresolved reference: by (eq:anchor-graph)",
    "<p>by {ref}`ch-x`</p>": "unresolved reference: by {ref}`ch-x`",
    '<p>by <code class="xref py">dmac.x</code></p>': "unresolved reference: dmac.x",
    '<p><span class="problematic">*a</span></p>': "complaint of the parser: *a",
    '<img src="none.png" alt="a curve">': "image not loaded: none.png",
    '<img src="dot.svg">': "image without a text: dot.svg",
    '<img src="dot.svg" alt="_images/dot.svg">': "file name as text: _images/dot.svg",
    '<table><tr><td style="min-width: 500px">wide</td></tr></table>': "scrolls sideways: ",
    r'<p style="overflow: hidden"><span class="math">\(' + "x+" * 40 + r"x\)</span></p>": (
        "formula cut off: x"
    ),
    '<link rel="preconnect" href="https://cdn.example.org">': "reaches outside: https://cdn.exa",
    '<script src="https://cdn.example.org/a.js"></script>': "reaches outside: https://cdn.example",
    '<script src="none.js"></script>': "not found: http",
    "<script>console.error('broken')</script>": "script error: broken",
    "<script>throw new Error('thrown')</script>": "script error: Error: thrown",
}
MATHJAX = """<script>window.MathJax = {tex: {macros: {R: "\\\\mathbb{R}"}}, options:
    {ignoreHtmlClass: "no-math", processHtmlClass: "math"}}</script>
    <script defer src="/mathjax.js"></script>"""


@pytest.fixture
def site(tmp_path):
    """A folder with what the pages of the tests below need."""
    package = importlib.resources.files("mathjax")
    with importlib.resources.as_file(package / "static" / "mathjax" / "es5") as folder:
        shutil.copy(folder / "tex-svg-full.js", tmp_path / "mathjax.js")
    (tmp_path / "dot.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"><path/></svg>')

    def write(name, html):
        head = f'<!doctype html><title>x</title><link rel="icon" href="data:,">{MATHJAX}'
        article = f'<article class="bd-article">{html}</article>'
        (tmp_path / name).write_text(f'{head}<body class="no-math">{article}</body>')

    write.folder = tmp_path
    return write


def test_every_defect_is_reported(site, browser):
    site("a.html", "".join(DEFECTS))
    with chromium.served(site.folder) as root:
        problems = look(browser.new_page(), root, "a.html").problems
    assert [d for d in DEFECTS.values() if not any(p.startswith(d) for p in problems)] == []
    named = (*DEFECTS.values(), "not loaded: https://cdn", f"not loaded: {root}none.js")
    assert [p for p in problems if not p.startswith(named)] == []


def test_every_dead_link_is_reported(site, browser):
    dead = ["none.html", "b.html#none", "#none", "none.pdf", "old.html", "file:///etc"]
    alive = ["b.html", "b.html#there", "b.html?q=1", "dot.svg", "#", "https://example.org/none"]
    site("a.html", "".join(f"<a href='{link}'>x</a>" for link in [*dead, *alive]))
    site("b.html", "<p id='there'>text</p>")
    site("old.html", "<p>left behind by an earlier build</p>")
    with chromium.served(site.folder) as root:
        reports = {name: look(browser.new_page(), root, name) for name in ("a.html", "b.html")}
        found = dead_links(reports, site.folder, root)
    assert found == sorted(f"a.html -> {'a.html' * (link[0] == '#')}{link}" for link in dead)


def test_book_is_printed_in_the_order_of_its_contents(site, browser):
    names = ("index", "two", "one")
    links = "".join(f"<a class='internal' href='{name}.html'>{name}</a>" for name in names)
    side = f"<nav class='bd-links'>{links}</nav>"
    later = "<a href='one.html#x'>later</a>" + "<p>text</p>" * 80
    folded = "<details><summary>more</summary>unfolded</details>"
    site("index.html", f"<h1>Start</h1>{later}</article>{side}")
    site("two.html", "<h1>Second<a class='headerlink' href='#'>#</a></h1><h2>Part</h2>")
    site("one.html", f"<h1>Last</h1><p id='x'>{folded}</p>")
    target = site.folder / "book.pdf"
    with pytest.raises(RuntimeError, match="none.html"):
        print_book(browser, site.folder, target, start="none.html")
    assert print_book(browser, site.folder, target, start="index.html") == list(names)
    pdf = PdfReader(target)
    assert [e.title for e in pdf.outline if not isinstance(e, list)] == ["Start", "Second", "Last"]
    numbers = page_numbers(target)
    last = len(pdf.pages)
    assert (numbers["#index--"], numbers["#two--"], numbers["#one--"]) == (3, last - 1, last)
    assert numbers["#one--x"] == last
    assert "unfolded" in pdf.pages[-1].extract_text()


def test_browser_that_cannot_start_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("CHROMIUM", str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError, match="apt install chromium"):
        with chromium.started():
            pass
