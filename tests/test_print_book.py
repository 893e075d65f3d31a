"""The rendered book as a PDF. `make book` comes first, and Chromium is needed.

Printing takes minutes, so that these tests are a file of their own, which runs beside the others.
"""

import html
import re

import pytest
from helpers import ROOT, pages
from print_book import link, print_book
from pypdf import PdfReader

BUILT = ROOT / "_build"
PDF = BUILT / "html" / "dmac-book.pdf"


@pytest.fixture(scope="module")
def pdf(browser, rendered, tmp_path_factory):
    """The whole book as a PDF: that of `make pdf`, if it is not older than the pages."""
    target = PDF
    if not PDF.exists() or PDF.stat().st_mtime < rendered:
        target = tmp_path_factory.mktemp("pdf") / PDF.name
        print_book(browser, BUILT / "html", target)
    return PdfReader(target)


def title_of(name):
    """The title of a page, which stands in its head before that of the book."""
    head = (BUILT / "html" / f"{name}.html").read_text(encoding="utf-8")
    return html.unescape(re.search(r"<title>(.*?) &#8212;", head)[1])


def plain(text):
    """Text with single blanks and without ligatures."""
    return " ".join(text.replace("\ufb01", "fi").replace("\ufb02", "fl").split())


def places(pdf, entries=None):
    """The titles of chapters and sections with the pages they are on, as the outline has them."""
    for entry in pdf.outline if entries is None else entries:
        if isinstance(entry, list):
            yield from places(pdf, entry)
        else:
            yield plain(entry.title), pdf.get_destination_page_number(entry)


def test_pdf_holds_every_chapter_in_its_order(pdf):
    titles = [title_of(name) for name in pages()]
    begins = [page for title, page in places(pdf) if title in titles]
    assert [title for title, _ in places(pdf) if title in titles] == titles
    assert begins == sorted(set(begins)) and len(pdf.pages) >= 2 * len(titles)
    contents = plain(" ".join(pdf.pages[i].extract_text() for i in range(1, begins[0])))
    for title, begin in zip(titles, begins):
        assert f"{title} {begin + 1}" in contents, "the contents name another page"
        assert title in plain(pdf.pages[begin].extract_text())


def test_pdf_shows_what_the_screen_folds(pdf):
    chapter = title_of("book/01_multi_view_data")
    start = next(page for title, page in places(pdf) if title == chapter)
    exercises = next(page for title, page in places(pdf) if title.endswith("Exercises"))
    pages = [*pdf.pages[start : start + 4], *pdf.pages[exercises : exercises + 3]]
    text = plain(" ".join(page.extract_text() for page in pages))
    assert "ax.imshow(part" in text and "Show the code" not in text
    assert "Solution to Exercise" in text and "Click to show" not in text


def test_a_page_that_leaves_a_place_links_the_pdf(tmp_path):
    page = tmp_path / "book" / "index.html"
    page.parent.mkdir()
    page.write_text('<p><span class="pdf"></span></p>')
    link(tmp_path, PDF.name)
    assert '<a href="../dmac-book.pdf">' in page.read_text()
