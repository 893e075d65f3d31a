"""Functions in a process of their own, with its threads, environment and limits.

    with Child(threads=2, memory_gb=20) as child:
        answer = child.call(function, "mfeat", epochs=5, limit=60)

The process imports the function by its module and name. What it prints is printed.
"""

import multiprocessing
import os
import traceback
from unittest import mock


class Child:
    """A process that calls functions in turn; it starts when it is needed.

    One that failed, ended or was too slow is stopped, and the next call has a new one.

    Parameters
    ----------
    threads : int, optional
        Of PyTorch and OpenMP; by default as many as they take.
    memory_gb : float, optional
        Addresses that the process may take.
    environment : dict of str, optional
        Beside what is set here.
    """

    def __init__(self, *, threads=None, memory_gb=None, environment=None):
        self._given = threads, memory_gb
        own = {"OMP_NUM_THREADS": str(threads)} if threads else {}
        self._environment = own | (environment or {})
        self._process = None

    def send(self, function, *arguments, **options):
        """Let the process call a function, without waiting for `result`."""
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._connection, theirs = context.Pipe()
            about = (theirs, *self._given)
            self._process = context.Process(target=_serve, args=about, daemon=True)
            with mock.patch.dict(os.environ, self._environment):
                self._process.start()
            theirs.close()
        self._connection.send((function, arguments, options))

    def result(self, limit=None):
        """What the function returned.

        Raises
        ------
        TimeoutError
            If it took longer than ``limit`` seconds: the process is stopped.
        MemoryError
            If its memory did not suffice.
        RuntimeError
            If it failed otherwise, with its error, or if its process ended.
        """
        if not self._connection.poll(limit):
            self.stop()
            raise TimeoutError(f"more than {limit:g} s")
        try:
            kind, answer = self._connection.recv()
        except (EOFError, ConnectionResetError):
            self._process.join()
            code = self._process.exitcode
            self.stop()
            raise RuntimeError(f"its process ended with code {code}") from None
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
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()


def _serve(connection, threads, memory_gb):
    """The child: call what it is told to, until nobody is there."""
    if threads:
        import torch

        torch.set_num_threads(threads)
    if memory_gb:
        import resource  # Unix alone has it

        resource.setrlimit(resource.RLIMIT_AS, (int(memory_gb * 1e9),) * 2)
    while True:
        try:
            function, arguments, options = connection.recv()
        except EOFError:
            return
        try:
            kind, answer = "result", function(*arguments, **options)
        except Exception as error:  # whatever it is, the parent has to know
            traceback.print_exc()
            full = isinstance(error, MemoryError)
            full = full or (isinstance(error, RuntimeError) and "memory" in str(error))
            kind, answer = "memory" if full else "failed", f"{type(error).__name__}: {error}"
        connection.send((kind, answer))
