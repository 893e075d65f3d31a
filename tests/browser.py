"""What a browser finds wrong with a page of the book, in words."""

import contextlib
import dataclasses
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from chromium import resize, visit


def script(name):
    """What a file beside this one finds on a page."""
    return f"({(Path(__file__).parent / name).read_text(encoding='utf-8')})()"


@dataclasses.dataclass
class Report:
    """Findings on one page: its title, its problems, where its links lead, the ids it has."""

    title: str
    problems: list
    links: list
    ids: list


def look(page, root, name, width=390):
    """Open a page of the book at ``root`` (an address that ends in a slash) and report on it."""
    resize(page, width)
    page.goto("about:blank")  # nothing of the page before is still under way
    with watched(page, root) as problems:
        visit(page, root + name)
        found = Report(**page.evaluate(script("browser.js")))
    found.problems += problems
    return found


def faint(page, url):
    """Texts that stand out from their background by less than 4.5 to 1.

    This is what the accessibility guidelines (WCAG 2, level AA) ask for.
    """
    visit(page, url)
    page.add_style_tag(content="* { transition: none !important }")  # the colours that come to stay
    return page.evaluate(script("contrast.js"))


def wide(page, widths):
    """Tables and code of the open page that are cut off in windows of ``widths`` pixels."""
    found = []
    for width in widths:
        resize(page, width)
        found += [f"at {width} px, {one}" for one in page.evaluate(script("wide.js"))]
    return found


def small_labels(page):
    """Figures of the open page with text of less than eight pixels."""
    return page.evaluate(script("labels.js"))


@contextlib.contextmanager
def watched(page, root):
    """Within it, collect requests that leave the book or fail, and errors of scripts: a list."""
    problems = []

    def leaves(url):
        if not url.startswith((root, "data:", "blob:", "about:")):
            problems.append(f"reaches outside: {url}")

    def arrives(answer):
        if answer.status >= 400:
            problems.append(f"not found: {answer.url} ({answer.status})")

    def writes(message):
        # What could not be loaded is reported above.
        if message.type in ("error", "assert") and not message.text.startswith("Failed to load"):
            problems.append(f"script error: {message.text}")

    listeners = {
        "request": lambda request: leaves(request.url),
        "websocket": lambda socket: leaves(socket.url),
        "response": arrives,
        "requestfailed": lambda one: problems.append(f"not loaded: {one.url} ({one.failure})"),
        "console": writes,
        "pageerror": lambda error: problems.append(f"script error: {error.name}: {error.message}"),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    try:
        yield problems
    finally:
        for event, listener in listeners.items():
            page.remove_listener(event, listener)


def dead_links(reports, folder, root):
    """Links within the book that lead nowhere, as "page -> target".

    ``reports`` maps the names of all pages to what was found on them. A page that is not among them
    is dead, too: it was left behind by an earlier build.
    """
    dead = set()
    for name, report in reports.items():
        for link in report.links:
            url, fragment = urldefrag(link)
            if not url.startswith(root):
                if urlsplit(url).scheme not in ("https", "http", "mailto"):
                    dead.add(f"{name} -> {link}")
                continue
            target = unquote(urlsplit(url[len(root) :]).path) or "index.html"
            page = target.endswith(".html")
            alive = target in reports if page else (Path(folder) / target).is_file()
            if alive and fragment and target in reports:
                alive = unquote(fragment) in reports[target].ids
            if not alive:
                dead.add(f"{name} -> {link.removeprefix(root)}")
    return sorted(dead)
