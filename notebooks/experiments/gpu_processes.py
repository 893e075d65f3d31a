"""What ``make gpu`` runs in processes of their own: the tests, and one measurement after the other.

A test or a measurement that fails, ends its process or takes too long leaves the rest as it is.
"""

import multiprocessing
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]

_OUTCOME = re.compile(r"^(\S+::.+?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)", re.MULTILINE)
_REASON = re.compile(r"^(FAILED|ERROR|SKIPPED) (.*)$", re.MULTILINE)


def run_tests(files, log, seconds):
    """Run test files with pytest alone: no plug-in, no conftest, no installation.

    Parameters
    ----------
    files : list of path
    log : path
        Where the whole output goes.
    seconds : float
        After which it is stopped.

    Returns
    -------
    dict
        ``passed``, ``failed`` and ``skipped`` count tests, ``reasons`` has a line for each that
        failed or was skipped, ``tests_s`` the seconds; ``missing`` if it was stopped or pytest
        could not run, and then ``failed`` is not 0 in the second case.
    """
    command = [sys.executable, "-m", "pytest", *map(str, files), "-v", "-rfEs", "--tb=short"]
    command += ["--noconftest", "-p", "no:cacheprovider", "-o", "addopts=", "-W", "default"]
    paths = [str(ROOT), str(ROOT / "notebooks"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "COLUMNS": "200",
    }
    start, missing, broken = time.monotonic(), {}, 0
    with open(log, "w", encoding="utf-8") as file:
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                env=environment,
                stdout=file,
                stderr=subprocess.STDOUT,
                timeout=max(seconds, 0.1),
            )
            if done.returncode not in (0, 1):
                broken = 1
                missing = {"missing": f"pytest ended with code {done.returncode}: see tests.txt"}
        except subprocess.TimeoutExpired:
            missing = {"missing": f"stopped after {seconds:.0f} s, when the part's time was up"}
    text = Path(log).read_text(encoding="utf-8", errors="replace")
    outcomes = [outcome for _, outcome in _OUTCOME.findall(text)]
    failed = sum(outcome in ("FAILED", "ERROR", "XPASS") for outcome in outcomes)
    return {
        "passed": outcomes.count("PASSED"),
        "failed": failed or broken,
        "skipped": outcomes.count("SKIPPED"),
        "reasons": [" ".join(found)[:500] for found in _REASON.findall(text)],
        "tests_s": time.monotonic() - start,
        **missing,
    }


def _work(connection, device):
    """The process of the measurements: takes jobs, tells what is known, sends what was found."""
    connection.send(("ready", {}))
    while True:
        try:
            job = connection.recv()
        except EOFError:
            return
        try:
            found = job.run(device, lambda **facts: connection.send(("so far", facts)))
        except Exception as error:  # whatever it is, the file has to say it
            found = {"missing": f"{type(error).__name__}: {error}"[:500], "failed": True}
        connection.send(("found", found))


class Worker:
    """A process that measures; one that fails or is too slow is ended, and another takes its place.

    Parameters
    ----------
    device : str
    """

    def __init__(self, device):
        self.device, self.process, self.connection = device, None, None

    def start(self):
        """Begin the process, if there is none: it takes seconds to import what it needs."""
        if self.process is None:
            context = multiprocessing.get_context("spawn")  # a GPU does not survive a fork
            self.connection, other = context.Pipe()
            self.process = context.Process(target=_work, args=(other, self.device), daemon=True)
            self.process.start()
            other.close()

    def run(self, job, seconds):
        """Measure one job.

        Parameters
        ----------
        job : object
            That can be pickled and has ``run(device, progress)``, as
            :class:`experiments.gpu.Job`.
        seconds : float
            After which it is stopped.

        Returns
        -------
        dict
            What was measured; with ``missing`` what was known when it ended, and why it did.
            ``failed`` is True where that was neither the time nor the memory.
        """
        end, known = time.monotonic() + seconds, {}
        self.start()
        try:
            self.connection.send(job)
            while self.connection.poll(max(0, end - time.monotonic())):
                kind, facts = self.connection.recv()
                if kind == "found":
                    if facts.get("failed"):
                        self.stop()  # an error may have left the device unusable
                    return known | facts if "missing" in facts else facts
                known = facts
        except (EOFError, OSError):
            self.process.join()
            code = self.process.exitcode
            self.stop()
            return known | {"missing": f"its process ended with code {code}", "failed": True}
        self.stop()
        return known | {"missing": f"stopped after {seconds:.0f} s, when the part's time was up"}

    def stop(self):
        """End the process, if there is one."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.connection.close()
            self.process = None
