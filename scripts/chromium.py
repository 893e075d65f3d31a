"""An installed Chromium, driven by Playwright, and a server for the pages that it looks at.

The book's tests look at its pages, and print_book.py prints them. Playwright's own browsers are not
downloaded: what the system has is used.
"""

import contextlib
import functools
import http.server
import os
import shutil
import threading

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC = ("Chromium", "Google Chrome")
HELP = "Chromium was not found: install it (on Debian: apt install chromium) or name it in CHROMIUM"
OPTIONS = (
    "--no-sandbox",  # root and containers have none; only the book's own pages are opened
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # no name is ever looked up
)
PATIENCE = 300_000  # milliseconds; on a busy machine a long page takes its time


def find():
    """The path of an installed Chromium (or Chrome), or None."""
    named = os.environ.get("CHROMIUM")
    applications = [f"/Applications/{name}.app/Contents/MacOS/{name}" for name in MAC]
    known = [named] if named else [*NAMES, *applications]
    return next(filter(None, map(shutil.which, known)), None)


@contextlib.contextmanager
def started():
    """Start the browser; gives a `playwright.sync_api.Browser`, whose ``new_page`` makes pages."""
    # Here, since `find` is also asked before anything is installed.
    from playwright.sync_api import sync_playwright

    program = find()
    if program is None:
        raise FileNotFoundError(HELP)
    with sync_playwright() as playwright:
        with playwright.chromium.launch(executable_path=program, args=OPTIONS) as browser:
            yield browser


def visit(page, url):
    """Go to ``url`` and wait until it and what it needs have been loaded."""
    answer = page.goto(url, timeout=PATIENCE)
    if answer is not None and answer.status >= 400:
        raise RuntimeError(f"{url}: {answer.status}")


def resize(page, width):
    """Give the window another width, in pixels."""
    page.set_viewport_size({"width": width, "height": 900})


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(folder):
    """Serve a folder on this machine only; gives the address, which ends in a slash."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
