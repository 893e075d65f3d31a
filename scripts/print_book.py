"""Print the rendered book as one PDF: `make pdf`, after `make book`.

Nothing is executed again. Chromium puts the pages of _build/html together into one long page, with
the solutions unfolded and the links between pages turned into links within it, and prints that.
"""

import contextlib
import json
import sys
from pathlib import Path

import pikepdf
from chromium import resize, served, started, visit
from pypdf import PdfReader

HERE = Path(__file__).resolve().parent
COLUMN = 643  # the width of the text on the paper, 170 mm, in pixels
# Chromium would go on from the page breaks of the last printing, and not come to the same ones: so
# the text is taken away and laid out afresh.
NUMBER = """for (const link of document.querySelectorAll(".book-contents a"))
    link.querySelector("span").textContent = %s[link.hash];
document.body.style.display = "none";
document.body.offsetHeight;
document.body.style.display = "";"""


def print_book(browser, html, target, start="book/index.html"):
    """Print the book rendered in ``html`` to the file ``target``; return the names of its pages."""
    style = (HERE / "print_book.css").read_text(encoding="utf-8")
    assemble = (HERE / "print_book.js").read_text(encoding="utf-8")
    paper = {"prefer_css_page_size": True, "print_background": True}
    with served(html) as root, contextlib.closing(browser.new_page()) as page:
        resize(page, COLUMN)
        page.emulate_media(media="print")
        visit(page, root + start)
        book = page.evaluate(f"({assemble})({json.dumps(style)})")
        # Where the chapters begin is known once they are printed; then the contents can say it.
        # That may move a page break, so look again.
        numbers = None
        for _ in range(5):
            page.pdf(path=target, **paper, tagged=True, outline=True)
            before, numbers = numbers, page_numbers(target)
            if numbers == before:
                break
            page.evaluate(NUMBER % json.dumps(numbers))
        else:
            raise RuntimeError("the page numbers do not settle")
    finish(target, book["headings"])
    return book["pages"]


def link(html, name):
    """Link the printed book from the pages that leave a place for it."""
    done = f'<span class="pdf"><a href="../{name}">The whole book as a PDF</a></span>'
    for page in (html / "book").glob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace('<span class="pdf"></span>', done), encoding="utf-8")


def page_numbers(path):
    """The page that each target of a link is on, counted from 1; keys as in a link, "#name"."""
    pdf = PdfReader(path)
    places = {f"#{name.lstrip('/')}": place for name, place in pdf.named_destinations.items()}
    return {name: pdf.get_destination_page_number(place) + 1 for name, place in places.items()}


def finish(path, titles):
    """Write the headings into the outline, since Chromium doubles some, and pack the file.

    Most of its objects are elements of the structure that screen readers follow, a hundred thousand
    of a few words each; packed in streams they are a third as large.
    """
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        entries, left = [], [pdf.Root.Outlines.First]
        while left:
            entry = left.pop()
            entries.append(entry)
            left += [entry[name] for name in ("/Next", "/First") if name in entry]
        if len(entries) != len(titles):
            raise RuntimeError(f"the outline has {len(entries)} entries for {len(titles)} headings")
        for entry, title in zip(entries, titles):
            entry.Title = title
        packed = pikepdf.ObjectStreamMode.generate
        pdf.save(path, object_stream_mode=packed, recompress_flate=True)


if __name__ == "__main__":
    html = HERE.parent / "_build" / "html"
    target = html / "dmac-book.pdf"
    try:
        with started() as browser:
            pages = print_book(browser, html, target)
        link(html, target.name)
    except FileNotFoundError as error:  # no Chromium
        sys.exit(str(error))
    print(f"{len(pages)} pages of the book are in {target} ({target.stat().st_size / 1e6:.1f} MB)")
