"""Functions for another process, in a file that imports nothing heavy."""

import os
import threading


def double(x, *, plus=0):
    return {"doubled": 2 * x + plus, "process": os.getpid()}


def settings(name):
    return os.environ.get(name)


def fail(text="it broke"):
    raise ValueError(text)


def fill():
    raise MemoryError


def die():
    os._exit(7)


def wait(*given, **options):
    threading.Event().wait()


def take(gigabytes):
    return len(bytearray(int(gigabytes * 1e9)))


def seconds():
    return {15: 0.123456789}
