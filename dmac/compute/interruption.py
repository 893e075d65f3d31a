"""Ctrl-C in a long fit: it ends after the epoch that is running, and not in the middle of one.

:meth:`dmac.DMAC.fit` says what is left then.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def deferred() -> Iterator[threading.Event]:
    """Within it the first Ctrl-C only sets an event, and a second one stops at once.

    That is so where Python's own handler would raise ``KeyboardInterrupt``: in the main thread, if
    the program has set no handler of its own.
    """
    asked = threading.Event()
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield asked
        return

    def note(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            signal.default_int_handler(number, frame)
        asked.set()

    signal.signal(signal.SIGINT, note)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
