"""Every rendered page, as a browser shows it. `make book` comes first, and Chromium is needed."""

import json
import re

import chromium
import nbformat
import portable
import pytest
import yaml
from browser import dead_links, faint, look, small_labels, wide
from helpers import ROOT, pages

HTML = ROOT / "_build" / "html"
START, *CHAPTERS = pages()
PAGES = [f"{name}.html" for name in [START, *CHAPTERS, "search", "genindex"]]
#: The start, the notation and chapter 1: text, tables, code, figures, solutions.
SOME = [PAGES[0], "book/notation.html", "book/01_multi_view_data.html"]


@pytest.fixture(scope="module")
def book(browser, rendered):
    """The address of the rendered book, served on this machine."""
    with chromium.served(HTML) as root:
        yield root


@pytest.fixture(scope="module")
def seen(browser, book):
    """What was found on each page, looked at once with all folds open.

    Reports and small labels at the width of a telephone, and what is cut off at other widths.
    """
    page = browser.new_page()
    widths = (1100, 1300, 1600)  # 1300 leaves the least to the text
    return {
        name: (look(page, book, name, width=390), small_labels(page), wide(page, widths))
        for name in PAGES
    }


@pytest.fixture
def reports(seen):
    """The reports alone, by page."""
    return {name: report for name, (report, _, _) in seen.items()}


@pytest.mark.parametrize("name", PAGES)
def test_page_is_sound(reports, name):
    assert reports[name].problems == []


@pytest.mark.parametrize("width", [1100, 1600])
def test_pages_fit_other_screens(browser, book, width):
    page = browser.new_page()
    assert {name: look(page, book, name, width).problems for name in SOME} == {n: [] for n in SOME}


def test_tables_and_code_are_read_without_scrolling(seen):
    assert {name: cut for name, (_, _, cut) in seen.items()} == {name: [] for name in PAGES}


def test_link_into_a_fold_opens_it(browser, book):
    page, name = browser.new_page(), "dmac.embedding.ViewEncoder"
    chromium.visit(page, f"{book}book/api_components.html#{name}")
    page.wait_for_function(f"document.getElementById('{name}').checkVisibility()")
    assert page.evaluate("document.querySelectorAll('article details[open]').length") == 1


def test_a_tick_opens_the_assertion_that_holds_its_number(browser, book):
    page = browser.new_page()
    chromium.visit(page, f"{book}book/13_evidence.html")
    ticks, opened = page.locator("button.check"), page.locator(".checks:popover-open code")
    assert ticks.count() > 10 and opened.count() == 0
    ticks.first.press("Enter")
    assert "assert" in opened.inner_text()
    page.keyboard.press("Escape")
    assert opened.count() == 0


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


def test_labels_of_figures_can_be_read_on_a_telephone(seen):
    assert {name: small for name, (_, small, _) in seen.items()} == {name: [] for name in PAGES}


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
    assert f'url={START}.html"' in start
    reports = reports | {"index.html": reports[f"{START}.html"]}
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
    page = browser.new_page()
    moved = [name for name in PAGES if 'class="moving ' in (HTML / name).read_text("utf-8")]
    assert len(moved) == 5
    for name in moved:
        chromium.visit(page, book + name)
        figure = page.locator("article .moving")
        says, slider = figure.locator("output"), figure.locator("input[type=range]").first
        said = {says.inner_text()}
        for key in ("Home", "End"):  # a figure may begin at either
            slider.press(key)
            said.add(says.inner_text())
        assert len(said) > 1, name


def test_notebooks_can_be_downloaded_and_no_button_leads_nowhere(book, reports):
    assert "repository" not in yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    for name in CHAPTERS:
        links = set(reports[f"{name}.html"].links)
        assert not any("mybinder" in link or "colab.research" in link for link in links)
        assert not any(link.endswith(".md") for link in links if "_sources" in link) or (
            "{code-cell}" not in (ROOT / f"{name}.md").read_text("utf-8")
        )
        executed = ROOT / "_build" / "jupyter_execute" / f"{name}.ipynb"
        if executed.exists():
            alone = portable.runs_alone(executed.stem, nbformat.read(executed, 4))
            assert (f"{book}_sources/{name}.ipynb" in links) == alone
        if executed.exists() and alone:
            assert json.loads((HTML / f"_sources/{name}.ipynb").read_text("utf-8"))["cells"]
