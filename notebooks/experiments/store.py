"""A store of runs: one line of JSON a run, in files that git can compare line by line.

A run is named by what decides its result, its *identity*, and found by the SHA-256 of that. Lines
are only ever appended, under a lock, so that a process can be killed at any moment: a line that was
cut off is not read, and is removed before the next one is written. Who makes a run holds a lock
named after it, which the kernel releases when the process ends, however it ends. To have a run made
again, delete its line.

A system without such locks (``fcntl``) reads the store, and refuses to add to it.
"""

import hashlib
import json
import math
import os
import threading
from dataclasses import dataclass
from pathlib import Path

try:
    import fcntl
except ModuleNotFoundError:  # as on Windows
    fcntl = None

#: The fields of a record that name the run.
IDENTITY = ("dataset", "data", "method", "settings", "seed")


def key_of(identity):
    """SHA-256 of the identity in canonical JSON, as 64 hexadecimal digits.

    Parameters
    ----------
    identity : dict
        With the fields `IDENTITY`; others are not looked at. A changed parameter is another key.
    """
    fields = {name: identity[name] for name in IDENTITY}
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def round_floats(value, digits=6):
    """The same nested value with its floats at so many significant digits; None if not finite."""
    if isinstance(value, dict):
        return {key: round_floats(item, digits) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [round_floats(item, digits) for item in value]
    if isinstance(value, float):
        return float(f"{value:.{digits}g}") if math.isfinite(value) else None
    return value


def lock(file, *, wait=True):
    """Lock an open file until it is closed, or until the process ends.

    Parameters
    ----------
    file : file object
    wait : bool
        For another holder; without that it is an error.

    Raises
    ------
    BlockingIOError
        If another process or thread holds it, and ``wait`` is False.
    RuntimeError
        If the system has no such locks.
    """
    if fcntl is None:
        raise RuntimeError(
            "this system has no fcntl, which locks the store of runs: stored runs can be read, and "
            "new ones be made on Linux, on macOS or in WSL"
        )
    fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


class Claim:
    """The right to make one run, held until `release` or the end of the process."""

    def __init__(self, path, file):
        self._path, self._file = path, file

    def release(self):
        """Give it back."""
        self._path.unlink(missing_ok=True)  # while it is locked: nobody else can be holding it
        self._file.close()


@dataclass
class _Read:
    """How far a file has been read."""

    inode: int
    stop: int
    lines: int


class Store:
    """The records of a folder, read from every ``.jsonl`` file below it.

    Safe for threads of a process and for processes of a machine (or of several, on a file system
    with working locks). A record that two files hold counts once, the first read.

    Parameters
    ----------
    folder : str or path
        Made when the first record or claim needs it.
    complete : callable, optional
        Maps the ``settings`` of a stored record to those of today, where parameters were added
        since: ``complete(method, settings)``. The record is found under both.
    """

    def __init__(self, folder, complete=None):
        self.folder = Path(folder)
        self._complete = complete or (lambda method, settings: settings)
        self._lock = threading.RLock()
        self._forget()

    def _forget(self):
        self._records, self._keys, self._read = {}, {}, {}

    key = staticmethod(key_of)

    def __contains__(self, key):
        return key in self._keys

    def __len__(self):
        return len(self._records)

    def get(self, key):
        """The record of a key, or None."""
        return self._records.get(self._keys.get(key))

    def written(self, key):
        """The key under which a run was written, before parameters were added; its own if none."""
        return self._keys.get(key, key)

    def records(self):
        """All records, in the order of files and lines."""
        return list(self._records.values())

    def refresh(self):
        """Read what was added since the last time; everything, if a file has shrunk or gone.

        Returns
        -------
        Store
            Itself.

        Raises
        ------
        ValueError
            If a line is no record, or was changed by hand so that its key is another's; the
            message names file and line.
        """
        with self._lock:
            paths = sorted(self.folder.rglob("*.jsonl")) if self.folder.is_dir() else []
            sizes = {str(path): path.stat() for path in paths}
            for name, read in self._read.items():
                now = sizes.get(name)
                if now is None or now.st_ino != read.inode or now.st_size < read.stop:
                    self._forget()
                    break
            for path in paths:
                self._take(path)
        return self

    def _take(self, path):
        with open(path, "rb") as file:
            read = self._read.setdefault(str(path), _Read(os.fstat(file.fileno()).st_ino, 0, 0))
            file.seek(read.stop)
            text = file.read()
        *lines, rest = text.split(b"\n")
        for line in lines:
            read.lines += 1
            self._add(line, f"{path}, line {read.lines}")
            read.stop += len(line) + 1
        # Without its end a line is being written, or was cut off, or an editor took the end away.
        if rest and _whole(rest):
            self._add(rest, f"{path}, line {read.lines + 1}")

    def _add(self, line, where):
        if not line.strip():
            return
        try:
            record = json.loads(line)
            key, written = key_of(record), record["key"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{where} is not a record ({error!r}): remove the line, and its run is made again"
            ) from error
        if key != written:
            raise ValueError(
                f"{where} was changed: its key is {str(written)[:12]}…, its contents have "
                f"{key[:12]}…; remove the line, and its run is made again"
            )
        settings = self._complete(record["method"], record["settings"])
        self._records.setdefault(key, record)
        self._keys.setdefault(key, key)
        self._keys.setdefault(key_of(record | {"settings": settings}), key)

    def append(self, record, file):
        """Write a record, unless the store has it; its key is added.

        Parameters
        ----------
        record : dict
            With the fields `IDENTITY`.
        file : str
            Path below the store's folder, without its suffix.

        Returns
        -------
        str
            The key.

        Raises
        ------
        OSError
            If the line cannot be written, as on a full disk; the store is as it was.
        """
        key = key_of(record)
        line = json.dumps({"key": key} | record, separators=(",", ":"), allow_nan=False)
        path = self.folder / f"{file}.jsonl"
        with self._lock, self._writing():
            self.refresh()
            if key in self:
                return key
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                start = _mend(descriptor)
                _write(descriptor, start, line.encode() + b"\n")
            except OSError as error:
                raise OSError(
                    f"{path} could not be written ({error}); the records before are still there: "
                    "free some space, and the run is made again"
                ) from error
            finally:
                os.close(descriptor)
            self.refresh()
        return key

    def _locks(self):
        folder = self.folder / ".locks"
        folder.mkdir(parents=True, exist_ok=True)
        ignore = folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
        return folder

    def _writing(self):
        file = open(self._locks() / "writing", "w")
        try:
            lock(file)
        except BaseException:
            file.close()
            raise
        return file  # closing it, at the end of the with, releases it

    def claim(self, key):
        """Claim a run: a `Claim`, or None while another process or thread holds it.

        Look whether the store has the run only after that, and after a `refresh`: who held the
        claim before may just have written it.
        """
        path = self._locks() / key
        while True:
            file = open(path, "w")
            try:
                lock(file, wait=False)
            except BlockingIOError:
                file.close()
                return None
            except BaseException:
                file.close()
                raise
            try:
                if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                    return Claim(path, file)
            except FileNotFoundError:
                pass
            file.close()  # the holder removed this file before it was locked here


def _whole(line):
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _write(descriptor, start, data):
    """Write bytes at a place, all of them or none."""
    try:
        os.lseek(descriptor, start, os.SEEK_SET)
        while data:
            data = data[os.write(descriptor, data) :]
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, start)
        raise


def _mend(descriptor):
    """Remove a line that was cut off, end one that only lacks its end, and return the size."""
    size = os.fstat(descriptor).st_size
    with open(os.dup(descriptor), "rb") as file:
        file.seek(0)
        text = file.read(size)
    start = text.rfind(b"\n") + 1
    if start == size:
        return size
    if _whole(text[start:]):
        os.lseek(descriptor, size, os.SEEK_SET)
        return size + os.write(descriptor, b"\n")
    os.ftruncate(descriptor, start)
    return start
