"""Functions in a process of their own: with its threads, environment and limits, and JSON back.

    child = Child(threads=2, memory_gb=20)
    result = child.call(function, "mfeat", epochs=5, limit=60)

The process imports the function by its module and name, so arguments and results are what JSON has.
What it prints goes to its log.
"""

import importlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import traceback

from experiments import provenance

_channel = None  # of a child, to its parent


class Child:
    """A process that calls one function after the other; it starts when it is needed.

    One that failed, ended or was too slow is stopped, and the next call has a new one.

    Parameters
    ----------
    threads : int, optional
        Of PyTorch and OpenMP; by default as many as they take.
    memory_gb : float, optional
        Addresses that the process may take.
    environment : dict of str, optional
        Beside what is set here.
    imports : sequence of str
        Modules that are imported when the process starts.
    log : path, optional
        For what the process prints.

    Attributes
    ----------
    said : dict
        The last facts that the function told with `say`.
    peak_gb : float or None
        Peak memory of the process when the last call ended.
    """

    def __init__(self, *, threads=None, memory_gb=None, environment=None, imports=(), log=None):
        self.threads, self.memory_gb, self.imports, self.log = threads, memory_gb, imports, log
        self.environment = environment or {}
        self.said, self.peak_gb, self._process = {}, None, None

    @property
    def running(self):
        """Whether there is a process."""
        return self._process is not None

    def start(self):
        """Begin the process, if there is none."""
        if self._process is not None:
            return
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        if self.threads:
            environment["OMP_NUM_THREADS"] = str(self.threads)
        given = json.dumps([self.threads, self.memory_gb, *self.imports])
        code = f"from experiments.harness import _serve; _serve(*{json.loads(given)})"
        # A log is read at the end, so it needs a file, and a file needs no one who reads it.
        self._printed = open(self.log, "w+b") if self.log else tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
            env=environment | self.environment,
            text=True,
            encoding="utf-8",
        )
        self._answers = queue.SimpleQueue()
        reader = (self._process.stdout, self._answers)
        threading.Thread(target=_read, args=reader, daemon=True).start()

    def send(self, function, *arguments, **options):
        """Let the process call a function, without waiting for `result`."""
        self.start()
        self.said, name = {}, [function.__module__, function.__qualname__]
        try:
            self._process.stdin.write(json.dumps([name, arguments, options]) + "\n")
            self._process.stdin.flush()
        except OSError:
            pass  # it has ended, as `result` will say

    def result(self, limit=None):
        """What the function returned.

        Raises
        ------
        TimeoutError
            If it took longer than ``limit`` seconds: the process is stopped.
        MemoryError
            If its memory did not suffice.
        RuntimeError
            If it failed otherwise, with its error, or the end of the log of a process that ended.
        """
        end = None if limit is None else time.monotonic() + limit
        kind = "said"
        while kind == "said":
            try:
                left = None if end is None else max(0, end - time.monotonic())
                kind, answer, peak = self._answers.get(timeout=left)
            except queue.Empty:
                self.stop()
                raise TimeoutError(f"more than {limit:g} s") from None
            if kind == "said":
                self.said = answer
        if kind == "ended":
            code = self._process.wait()
            self._printed.seek(0)
            printed = self._printed.read()[-6000:].decode("utf-8", "replace").strip()
            self.stop()
            raise RuntimeError(f"its process ended with code {code}\n{printed}".strip())
        self.peak_gb = peak
        if kind == "failed":
            self.stop()  # an error may have left it, or its device, unusable
            raise RuntimeError(answer)
        if kind == "memory":
            raise MemoryError(answer)
        return answer

    def call(self, function, *arguments, limit=None, **options):
        """`send` and `result`."""
        self.send(function, *arguments, **options)
        return self.result(limit)

    def stop(self):
        """End the process, if there is one."""
        if self._process is not None:
            process, self._process = self._process, None
            process.kill()
            process.wait()
            self._printed.close()
            try:
                process.stdin.close()
            except OSError:
                pass  # it did not read what it was sent

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()


def _read(stream, answers):
    """What a process answers, until it ends."""
    with stream:
        for line in stream:
            try:
                answers.put(json.loads(line))
            except ValueError:
                break  # it was killed while it wrote
    answers.put(["ended", None, None])


def _answer(kind, answer):
    line = json.dumps([kind, answer, provenance.peak_memory() / 1e3], default=float)
    _channel.write(line + "\n")
    _channel.flush()


def say(**facts):
    """Tell the parent what is known so far; without a parent nothing happens."""
    if _channel is not None:
        _answer("said", facts)


def _serve(threads, memory_gb, *modules):
    """The child: call what it is told to, until nobody is there."""
    global _channel
    _channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for module in modules:
        importlib.import_module(module)
    if threads:
        import torch

        torch.set_num_threads(threads)
    if memory_gb:
        import resource  # Unix alone has it

        resource.setrlimit(resource.RLIMIT_AS, (int(memory_gb * 1e9),) * 2)
    for line in sys.stdin:
        (module, name), arguments, options = json.loads(line)
        try:
            answer = getattr(importlib.import_module(module), name)(*arguments, **options)
            kind = "result"
        except Exception as error:  # whatever it is, the parent has to know
            traceback.print_exc()
            full = isinstance(error, MemoryError)
            full = full or (isinstance(error, RuntimeError) and "memory" in str(error))
            kind, answer = "memory" if full else "failed", f"{type(error).__name__}: {error}"
        _answer(kind, answer)
