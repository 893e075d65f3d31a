"""Every rendered page, as a browser shows it. `make book` comes first, and Chromium is needed."""

import json
import re
from pathlib import Path

import chromium
import pytest
import yaml
from browser import dead_links, faint, look, small_labels, wide_tables
from print_book import print_book
from pypdf import PdfReader

ROOT = Path(__file__).resolve().parent.parent
HTML = ROOT / "_build" / "html"
PDF = ROOT / "_build" / "dmac-book.pdf"
SOURCES = ("book/*.ipynb", "book/*.md", "book/*.bib", "book/experiments/*.ipynb", "_*.yml")
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
CHAPTERS = [chapter["file"] for part in TOC["parts"] for chapter in part["chapters"]]
PAGES = [f"{name}.html" for name in [TOC["root"], *CHAPTERS, "search", "genindex"]]
#: The start, the notation and chapter 1: text, tables, code, figures, solutions.
SOME = [PAGES[0], "book/notation.html", "book/01_multi_view_data.html"]


@pytest.fixture(scope="module")
def book(browser):
    """The address of the rendered book, served on this machine."""
    if not (HTML / "genindex.html").is_file():
        pytest.skip("the book is not rendered: run make book first")
    built = (HTML / "genindex.html").stat().st_mtime  # the page that is written last
    newer = [path for kind in SOURCES for path in ROOT.glob(kind) if path.stat().st_mtime > built]
    if newer:
        pytest.skip(f"the book is older than {newer[0].relative_to(ROOT)}: run make book first")
    with chromium.served(HTML) as root:
        yield root


@pytest.fixture(scope="module")
def reports(browser, book):
    """What was found on each page, looked at once, at the width of a telephone."""
    page = browser.new_page()
    return {name: look(page, book, name, width=390) for name in PAGES}


@pytest.mark.parametrize("name", PAGES)
def test_page_is_sound(reports, name):
    assert reports[name].problems == []


@pytest.mark.parametrize("width", [1100, 1600])
def test_pages_fit_other_screens(browser, book, width):
    page = browser.new_page()
    assert {name: look(page, book, name, width).problems for name in SOME} == {n: [] for n in SOME}


def test_tables_are_read_without_scrolling(browser, book):
    page, widths = browser.new_page(), (1100, 1300, 1600)  # 1300 leaves the least to the text
    found = {name: wide_tables(page, book + name, widths) for name in PAGES}
    assert found == {name: [] for name in PAGES}


def test_link_into_a_fold_opens_it(browser, book):
    page, name = browser.new_page(), "dmac.embedding.ViewEncoder"
    chromium.visit(page, f"{book}book/api_components.html#{name}")
    page.wait_for_function(f"document.getElementById('{name}').checkVisibility()")
    assert page.evaluate("document.querySelectorAll('article details[open]').length") == 1


def test_no_line_of_code_is_cut_off(browser, book):
    page, found = browser.new_page(), {}
    chromium.resize(page, 1300)
    for name in PAGES:
        chromium.visit(page, book + name)
        found[name] = page.evaluate(
            """[...document.querySelectorAll("article pre")]
                .filter((one) => one.closest("details")?.open ?? true)
                .filter((one) => one.scrollWidth > one.clientWidth + 1)
                .map((one) => one.textContent.slice(0, 80))"""
        )
    assert found == {name: [] for name in PAGES}


def test_first_column_stays_in_sight_on_a_telephone(browser, book):
    page = browser.new_page()
    chromium.resize(page, 390)
    chromium.visit(page, f"{book}book/experiments/01_comparison.html")
    left = "(one) => one.getBoundingClientRect().left"
    places = page.evaluate(
        f"""(() => {{
            const box = [...document.querySelectorAll("article .text_html")]
                .find((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth + 100);
            const cells = box.querySelectorAll("tbody tr:first-child > *");
            const before = [cells[0], cells[1]].map({left});
            box.scrollLeft = 100;
            return [before, [cells[0], cells[1]].map({left})];
        }})()"""
    )
    (name, value), (name_after, value_after) = places
    assert abs(name_after - name) < 2 and value_after == value - 100


def test_labels_of_figures_can_be_read_on_a_telephone(browser, book):
    page = browser.new_page()
    found = {name: small_labels(page, book + name, 390) for name in PAGES}
    assert found == {name: [] for name in PAGES}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(browser, book, scheme):
    page = browser.new_page(color_scheme=scheme)
    assert {name: faint(page, book + name) for name in SOME} == {name: [] for name in SOME}
    assert page.evaluate("document.documentElement.dataset.theme") == scheme


def test_pages_open_from_the_disk_as_well(browser, book):
    page, root = browser.new_page(), HTML.as_uri() + "/"
    assert [look(page, root, name).problems for name in SOME] == [[]] * len(SOME)


def test_links_lead_somewhere(reports, book):
    start = (HTML / "index.html").read_text(encoding="utf-8")  # only sends the reader on
    assert f'url={TOC["root"]}.html"' in start
    reports = reports | {"index.html": reports[f"{TOC['root']}.html"]}
    assert dead_links(reports, HTML, book) == []


def test_search_finds_the_anchor_graph(browser, book):
    page = browser.new_page()
    chromium.visit(page, f"{book}search.html?q=anchor+graph")
    found = page.evaluate(
        """new Promise((resolve, reject) => {
            const look = (tries) => {
                const links = [...document.querySelectorAll("#search-results li a")];
                const ended = /Search finished|did not match/.test(document.body.innerText);
                if (ended) resolve(links.map((link) => link.pathname.slice(1)));
                else if (tries) setTimeout(look, 100, tries - 1);
                else reject(new Error("the search does not end"));
            };
            look(100);
        })"""
    )
    assert set(found) <= set(PAGES)
    about = {name for name in PAGES if re.search("notation|anchor_graph|recipe", name)}
    assert about and about <= set(found)


def test_figures_that_readers_move_answer(browser, book):
    page, moved = browser.new_page(), []
    for name in PAGES:
        if 'class="moving ' not in (HTML / name).read_text(encoding="utf-8"):
            continue
        chromium.visit(page, book + name)
        figure = page.locator("article .moving")
        says, slider = figure.locator("output"), figure.locator("input[type=range]").first
        said = {says.inner_text()}
        for key in ("Home", "End"):  # a figure may begin at either
            slider.press(key)
            said.add(says.inner_text())
        assert len(said) > 1, name
        moved.append(name)
    assert len(moved) == 5


def test_notebooks_can_be_downloaded_and_no_button_leads_nowhere(book, reports):
    assert "repository" not in yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    for name in CHAPTERS:
        links = set(reports[f"{name}.html"].links)
        assert not any("mybinder" in link or "colab.research" in link for link in links)
        assert not any(link.endswith(".md") for link in links if "_sources" in link) or (
            "{code-cell}" not in (ROOT / f"{name}.md").read_text("utf-8")
        )
        if (ROOT / f"{name}.ipynb").exists() or name.startswith("book/experiments/"):
            assert f"{book}_sources/{name}.ipynb" in links
            assert json.loads((HTML / f"_sources/{name}.ipynb").read_text("utf-8"))["cells"]


@pytest.fixture(scope="module")
def pdf(browser, book, tmp_path_factory):
    """The whole book as a PDF: that of `make pdf`, if it is not older than the pages."""
    target = PDF
    if not PDF.exists() or PDF.stat().st_mtime < (HTML / "genindex.html").stat().st_mtime:
        target = tmp_path_factory.mktemp("pdf") / PDF.name
        print_book(browser, HTML, target)
    return PdfReader(target)


def plain(text):
    """Text with single blanks and without ligatures."""
    return " ".join(text.replace("\ufb01", "fi").replace("\ufb02", "fl").split())


def places(pdf):
    """The titles of chapters and sections with the pages they are on, as the outline has them."""

    def walk(entries):
        for entry in entries:
            if isinstance(entry, list):
                yield from walk(entry)
            else:
                yield plain(entry.title), pdf.get_destination_page_number(entry)

    return list(walk(pdf.outline))


def test_pdf_holds_every_chapter_in_its_order(pdf, reports):
    titles = [plain(reports[f"{name}.html"].title) for name in [TOC["root"], *CHAPTERS]]
    begins = [page for title, page in places(pdf) if title in titles]
    assert [title for title, _ in places(pdf) if title in titles] == titles
    assert begins == sorted(set(begins)) and len(pdf.pages) >= 2 * len(titles)
    contents = plain(" ".join(pdf.pages[i].extract_text() for i in range(1, begins[0])))
    for title, begin in zip(titles, begins):
        assert f"{title} {begin + 1}" in contents, "the contents name another page"
        assert title in plain(pdf.pages[begin].extract_text())


def test_pdf_shows_what_the_screen_folds(pdf, reports):
    chapter = plain(reports["book/01_multi_view_data.html"].title)
    start = next(page for title, page in places(pdf) if title == chapter)
    exercises = next(page for title, page in places(pdf) if title.endswith("Exercises"))
    pages = [*pdf.pages[start : start + 4], *pdf.pages[exercises : exercises + 3]]
    text = plain(" ".join(page.extract_text() for page in pages))
    assert "ax.imshow(part" in text and "Show the code" not in text
    assert "Solution to Exercise" in text and "Click to show" not in text
