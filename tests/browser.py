"""What a browser finds wrong with a page of the book, in words."""

import dataclasses
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

HERE = Path(__file__).parent
LOOK = f"({(HERE / 'browser.js').read_text(encoding='utf-8')})()"
FAINT = f"({(HERE / 'contrast.js').read_text(encoding='utf-8')})()"
TABLES = f"({(HERE / 'tables.js').read_text(encoding='utf-8')})()"
LOCAL = ("data:", "blob:", "about:")


@dataclasses.dataclass
class Report:
    """Findings on one page: its title, its problems, where its links lead, the ids it has."""

    title: str
    problems: list
    links: list
    ids: list


def look(page, root, name, width=390):
    """Open a page of the book at ``root`` (an address that ends in a slash) and report on it."""
    page.resize(width)
    page.open(root + name)
    found = Report(**page.evaluate(LOOK))
    found.problems += [*network_problems(page.events, root), *console_problems(page.events)]
    return found


def faint(page, url):
    """Texts that stand out from their background by less than 4.5 to 1.

    This is what the accessibility guidelines (WCAG 2, level AA) ask for.
    """
    page.open(url)
    return page.evaluate(FAINT)


def wide_tables(page, url, widths):
    """Tables that are wider than their place in windows of ``widths`` pixels, with that width."""
    page.open(url)
    found = []
    for width in widths:
        page.resize(width)
        found += [f"at {width} px, {table}" for table in page.evaluate(TABLES)]
    return found


def network_problems(events, root):
    """Requests that leave the book, and those that failed."""
    asked = {}
    for event, params in events:
        if event == "Network.requestWillBeSent":
            url = asked[params["requestId"]] = params["request"]["url"]
            if not url.startswith((root, *LOCAL)):
                yield f"reaches outside: {url}"
        elif event == "Network.webSocketCreated":
            yield f"reaches outside: {params['url']}"
        elif event == "Network.responseReceived" and params["response"]["status"] >= 400:
            yield f"not found: {params['response']['url']} ({params['response']['status']})"
        elif event == "Network.loadingFailed":
            yield f"not loaded: {asked.get(params['requestId'])} ({params['errorText']})"


def console_problems(events):
    """Errors that scripts have raised or written; those of the network are reported there."""
    for event, params in events:
        if event == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            yield "script error: " + details.get("exception", details).get(
                "description", details["text"]
            )
        elif event == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            words = [str(a.get("value", a.get("description", ""))) for a in params["args"]]
            yield "script error: " + " ".join(words)
        elif event == "Log.entryAdded" and params["entry"]["level"] == "error":
            if params["entry"]["source"] != "network":
                yield "script error: " + params["entry"]["text"]


def dead_links(reports, folder, root):
    """Links within the book that lead nowhere, as "page -> target".

    ``reports`` maps the names of all pages to what was found on them. A page that is not among them
    is dead, too: it was left behind by an earlier build.
    """
    dead = set()
    for name, report in reports.items():
        for link in report.links:
            url, fragment = urldefrag(link)
            scheme = urlsplit(url).scheme
            if not url.startswith(root):
                if scheme not in ("https", "http", "mailto"):
                    dead.add(f"{name} -> {link}")
                continue
            target = unquote(urlsplit(url[len(root) :]).path) or "index.html"
            if target.endswith(".html"):
                alive = target in reports
            else:
                alive = (Path(folder) / target).is_file()
            if alive and fragment and target in reports:
                alive = unquote(fragment) in reports[target].ids
            if not alive:
                dead.add(f"{name} -> {link.removeprefix(root)}")
    return sorted(dead)
