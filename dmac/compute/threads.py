"""How many threads a fit takes: one for small work, as many as there are for large work.

Between two operations the threads of OpenMP, with which PyTorch computes, and those of OpenBLAS,
with which NumPy does, wait for each other without sleeping. Beside another busy process one of them
is often off its core, and the others hold theirs until it is back, for milliseconds. Where an
operation takes less than that, a second thread makes a fit many times slower; on a machine that
does nothing else it gains far less. So a fit takes one thread unless an epoch has enough to do.

The environment variable ``DMAC_NUM_THREADS`` sets the number for every size. Threads can be let
sleep, by ``OMP_WAIT_POLICY=PASSIVE`` before Python starts, but then they are slower where nothing
else runs. The load is not looked at: rounding depends on the number of threads, and what else runs
must not change a result.

Work that falls into pieces of its own needs no such waiting: every thread takes a piece, and
computes with one thread (`run_in_threads`), as the anchor sets of a small fit, or parts of many
rows (`map_parts`). The result does not depend on the number of threads. Samples are placed in
pieces (:mod:`dmac.solvers.placing`), and what a network compares with its anchors is in pieces,
too.

"The costs of a fit" in the book measures what that gains.
"""

from __future__ import annotations

import contextvars
import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

import torch
from threadpoolctl import ThreadpoolController
from torch import Tensor

from dmac.compute.device import usual_settings

_Result = TypeVar("_Result")

#: The environment variable that sets the number of threads of a fit.
VARIABLE = "DMAC_NUM_THREADS"

#: Multiplications in an epoch from which on a fit takes all threads that there are.
LARGE = 5_000_000_000

#: Samples above which the comparison with the anchors, its gradient and k-means fall into pieces, a
#: thread each, and Lloyd's steps see a part. That saves little below, where anchors are few, and up
#: to it the results stay those of the stored runs to the last bit.
MANY = 20_000

# Parts of a walk over many rows; their number must not depend on that of the threads, since it
# decides in which order numbers are added.
_PARTS = 4

# Threads that may be asked for, unless the machine has a quarter of that: the memory for many more
# of them ends a fit.
_MAX_THREADS = 256

# A thread that computes a piece does not spread what belongs to it.
_piece = threading.local()
#: Threads that PyTorch had when `threads_for` took them from it.
_before: contextvars.ContextVar[int | None] = contextvars.ContextVar("threads before", default=None)


def n_threads(work: int) -> int | None:
    """The number of threads for some work.

    Parameters
    ----------
    work : int
        Multiplications of an epoch, as a solver counts them (:mod:`dmac.solvers.contract`).

    Returns
    -------
    int or None
        That of the variable ``DMAC_NUM_THREADS``, else 1 for
        work below `LARGE`, else None: as many as PyTorch and BLAS are set to.

    Raises
    ------
    ValueError
        If the variable is no whole number from 1 to 256, or to four times the processors.
    """
    return _given() or (1 if work < LARGE else None)


def _given() -> int | None:
    """The value of the environment variable, None if it is not set."""
    given, processors = os.environ.get(VARIABLE, "").strip(), os.cpu_count() or 1
    most = max(_MAX_THREADS, 4 * processors)
    if given and not (given.isdecimal() and 1 <= int(given[:9]) <= most):
        raise ValueError(
            f"{VARIABLE} is {given!r:.20}, it must be a whole number from 1 to {most}; this "
            f"machine has {processors} processor(s)"
        )
    return int(given) if given else None


@functools.cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def threads_for(work: int) -> Iterator[None]:
    """Within it PyTorch and BLAS take `n_threads` threads, after it as many as before.

    PyTorch has its usual settings in it (``usual_settings`` in ``dmac.compute.device``).

    Parameters
    ----------
    work : int
        Multiplications of an epoch.
    """
    number, before = n_threads(work), torch.get_num_threads()
    with usual_settings():
        if number is None:
            yield
            return
        token = _before.set(before)
        torch.set_num_threads(number)
        try:
            with _libraries().limit(limits=number, user_api="blas"):
                yield
        finally:
            torch.set_num_threads(before)
            _before.reset(token)


def blas_alone() -> AbstractContextManager[Any]:
    """A context in which BLAS takes one thread, for work that goes to and fro with PyTorch.

    The threads of each would wait for the other's without sleeping.
    """
    return _libraries().limit(limits=1, user_api="blas")


def run_in_threads(functions: Sequence[Callable[[], _Result]]) -> list[_Result]:
    """The results of several functions, run as many at a time as there are threads.

    Each is computed by one thread, so the results do not depend on their number.

    Parameters
    ----------
    functions : list of callable
        Without arguments. They must not draw from one generator.

    Returns
    -------
    list
        In the order of the functions.
    """
    number = _given() or _before.get() or torch.get_num_threads()
    if min(len(functions), number) < 2 or getattr(_piece, "inside", False):
        return [function() for function in functions]
    before = torch.get_num_threads()
    pieces: list[Any] = []
    torch.set_num_threads(1)  # a new thread begins with the number that is set
    try:
        with blas_alone():
            workers, grad = _workers(os.getpid(), number), torch.is_grad_enabled()
            try:
                for function in functions:
                    pieces.append(workers.submit(_piece_of, grad, function))
                return [piece.result() for piece in pieces]
            finally:  # after an error the others are not begun, and none is left running
                for piece in pieces:
                    piece.cancel()
                wait(pieces)
    finally:
        torch.set_num_threads(before)


@contextmanager
def as_a_piece() -> Iterator[None]:
    """Within it a thread of somebody else's computes as for a piece: with one thread, and alone."""
    before, inside = torch.get_num_threads(), getattr(_piece, "inside", False)
    torch.set_num_threads(1)
    _piece.inside = True
    try:
        with usual_settings(), torch.no_grad():
            yield
    finally:
        _piece.inside = inside
        torch.set_num_threads(before)


def many(n: int) -> bool:
    """Whether n samples are above `MANY`."""
    return n > MANY


def row_slices(n: int, size: int) -> list[slice]:
    """Slices of n rows, each of at most ``size``; one empty slice for no rows."""
    return [slice(start, min(start + size, n)) for start in range(0, max(n, 1), size)]


def map_parts(
    rows: Sequence[slice],
    function: Callable[[Sequence[slice]], _Result],
    samples: Tensor | None = None,
) -> list[_Result]:
    """Run a function on four parts of the slices, side by side; return the results in order.

    Of ``samples`` that are few (`many`) or on a GPU there is one part; without rows it is empty.
    """
    few = samples is not None and not (many(len(samples)) and samples.device.type == "cpu")
    number = 1 if few else _PARTS
    cuts = [len(rows) * i // number for i in range(number + 1)]
    parts = [rows[start:stop] for start, stop in zip(cuts, cuts[1:]) if stop > start]
    return run_in_threads([functools.partial(function, part) for part in parts or [rows]])


@functools.lru_cache(1)
def _workers(process: int, number: int) -> ThreadPoolExecutor:
    """The threads for pieces. They stay, since a new one has to ask the system for memory again.

    A process that was forked has none of its parent's.
    """
    return ThreadPoolExecutor(number, "dmac")


def _piece_of(grad: bool, function: Callable[[], _Result]) -> _Result:
    """Run a function as a piece in this thread, and return its result."""
    _piece.inside = True
    if torch.get_num_threads() > 1:
        torch.set_num_threads(1)
    with torch.set_grad_enabled(grad):
        return function()
