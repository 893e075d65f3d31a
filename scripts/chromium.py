"""A headless Chromium, spoken to in its own protocol (DevTools) over two pipes.

Neither a driver program nor a package is needed: the browser reads its commands from file
descriptor 3 and answers on 4. The book's tests look at its pages, and print_book.py prints them.
"""

import base64
import contextlib
import fcntl
import functools
import http.server
import json
import os
import select
import shutil
import signal
import tempfile
import threading
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC = ("Chromium", "Google Chrome")
HELP = "Chromium was not found: install it (on Debian: apt install chromium) or name it in CHROMIUM"
OPTIONS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",  # root and containers have none; only the book's own pages are opened
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # no name is ever looked up
)


def find():
    """The path of an installed Chromium (or Chrome), or None."""
    named = os.environ.get("CHROMIUM")
    applications = [f"/Applications/{name}.app/Contents/MacOS/{name}" for name in MAC]
    known = [named] if named else [*NAMES, *applications]
    return next(filter(None, map(shutil.which, known)), None)


class Chromium:
    """A running browser: ``with Chromium() as browser: page = browser.page()``."""

    def __init__(self, program=None, patience=60.0):
        program = program or find()
        if program is None:
            raise FileNotFoundError(HELP)
        self.patience = patience
        self._folder = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        self._noise = Path(self._folder.name, "stderr")
        # Numbers above 10, so that making them 3 and 4 in the browser overwrites none of them.
        pipes = [os.pipe(), os.pipe()]
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for pipe in pipes for end in pipe]
        for end in (end for pipe in pipes for end in pipe):
            os.close(end)
        commands, self._commands, self._answers, answers = ends
        self._buffer = bytearray()
        self._last = 0
        self._pages = {}
        write = os.O_WRONLY | os.O_CREAT
        self._process = os.posix_spawn(
            program,
            [program, *OPTIONS, f"--user-data-dir={self._folder.name}", "about:blank"],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, str(self._noise), write, 0o600),
                (os.POSIX_SPAWN_DUP2, commands, 3),
                (os.POSIX_SPAWN_DUP2, answers, 4),
            ],
            setpgroup=0,
        )
        os.close(commands)
        os.close(answers)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            os.close(self._commands)  # the browser leaves when nobody commands it any more
        for _ in range(50):
            if os.waitpid(self._process, os.WNOHANG)[0]:
                break
            time.sleep(0.1)
        else:
            os.killpg(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
        os.close(self._answers)
        self._folder.cleanup()

    def send(self, method, session=None, /, **params):
        """Send one command, collect the events on the way, return the result."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = memoryview(json.dumps(message).encode() + b"\0")
        with contextlib.suppress(BrokenPipeError):  # a browser that has ended is noticed below
            while data:
                data = data[os.write(self._commands, data) :]
        wanted, end = self._last, time.monotonic() + self.patience
        while True:
            answer = self.receive(end, method)
            if answer.get("id") == wanted:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def receive(self, end, what):
        """The next message before the time ``end``; an event also goes to its page."""
        while (stop := self._buffer.find(b"\0")) < 0:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"Chromium did not answer in {self.patience:g} s: {what}")
            data = os.read(self._answers, 1 << 20)
            if not data:
                noise = self._noise.read_text(errors="replace")[-2000:]
                raise RuntimeError(f"Chromium ended during {what}:\n{noise}")
            self._buffer += data
        message = json.loads(self._buffer[:stop])
        del self._buffer[: stop + 1]
        page = self._pages.get(message.get("sessionId"))
        if page is not None and "method" in message:
            page.events.append((message["method"], message["params"]))
        return message

    def page(self, width=1100, height=900):
        """A new, empty page."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Network", "Runtime", "Log"):
            page.send(f"{domain}.enable")
        page.send("Page.setLifecycleEventsEnabled", enabled=True)
        page.resize(width, height)
        return page


class Page:
    """One tab. ``events`` holds what happened since the last ``open``, as (name, parameters)."""

    def __init__(self, browser, session):
        self.events = []
        self._browser = browser
        self._session = session

    def send(self, method, /, **params):
        return self._browser.send(method, self._session, **params)

    def resize(self, width, height=900):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **size)

    def open(self, url):
        """Go to ``url`` and wait until it and what it needs have been loaded."""
        self._go("about:blank")  # nothing of the page before is still under way
        self.events.clear()
        self._go(url)

    def _go(self, url):
        answer = self.send("Page.navigate", url=url)
        if "errorText" in answer:
            raise RuntimeError(f"{url}: {answer['errorText']}")
        loader, end = answer["loaderId"], time.monotonic() + self._browser.patience
        while ("load", loader) not in [(p.get("name"), p.get("loaderId")) for _, p in self.events]:
            self._browser.receive(end, f"loading {url}")
        for name, params in self.events:
            if name == "Network.responseReceived" and params["requestId"] == loader:
                if params["response"]["status"] >= 400:
                    raise RuntimeError(f"{url}: {params['response']['status']}")

    def evaluate(self, expression):
        """The value of a JavaScript expression; a promise is waited for."""
        answer = self.send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", details).get("description", str(details)))
        return answer["result"].get("value")

    def pdf(self, path, **settings):
        """Print the page to a file."""
        printed = self.send("Page.printToPDF", **settings)
        Path(path).write_bytes(base64.b64decode(printed["data"]))


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
