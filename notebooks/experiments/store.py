"""A store of runs: one line of JSON a run, in files that git can compare line by line.

A run is named by what decides its result, its *identity*, and found by the SHA-256 of that. Lines
are only ever appended, under a lock, so that a process can be killed at any moment: a line that was
cut off is not read, and is removed before the next one is written. Who makes a run holds a lock
named after it, which the kernel releases when the process ends, however it ends. To have a run made
again, delete its line.
"""

import contextlib
import gzip
import hashlib
import itertools
import json
import math
import os
import re
import threading
import time
from pathlib import Path

from filelock import FileLock, Timeout
from joblib import Parallel, delayed

#: The fields of a record that name the run.
IDENTITY = ("dataset", "data", "method", "settings", "seed")


def canonical(value):
    """A nested value as JSON that is equal for equal values: 1000 and 1000.0 are one number."""
    whole = _with_floats(value, lambda x: int(x) if x.is_integer() else x)
    return json.dumps(whole, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _with_floats(value, change):
    """A nested value, whose floats are changed."""
    if isinstance(value, dict):
        return {key: _with_floats(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_floats(item, change) for item in value]
    return change(value) if isinstance(value, float) else value


def key_of(identity):
    """SHA-256 of the fields `IDENTITY` as `canonical` JSON, as 64 hexadecimal digits."""
    fields = {name: identity[name] for name in IDENTITY}
    return hashlib.sha256(canonical(fields).encode()).hexdigest()


def slug(name):
    """The name of the file of a group of runs: "closed form, 2026-11" is "closed-form-2026-11"."""
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")


def round_floats(value, digits=6):
    """A nested value with its floats at so many significant digits; None if not finite."""
    return _with_floats(value, lambda x: float(f"{x:.{digits}g}") if math.isfinite(x) else None)


class Store:
    """The records of a folder, read from every ``.jsonl`` file below it, ``.jsonl.gz`` among them.

    Safe for threads of a process and for processes of a machine (or of several, on a file system
    with working locks). A record that two files hold counts once, the first read.

    Parameters
    ----------
    folder : str or path
        Made when the first record or claim needs it.
    complete : callable, optional
        Maps the ``settings`` of a stored record to those of today, where parameters were added
        since: ``complete(method, settings)``. The record is found by these and has them; its
        ``key`` stays the one that it was written with.

    Attributes
    ----------
    records : dict of str to dict
        By their keys, in the order of files and lines, as `refresh` read them.
    """

    def __init__(self, folder, complete=None):
        self.folder = Path(folder)
        self.records = {}
        self._complete = complete or (lambda method, settings: settings)
        self._lock = threading.RLock()
        self._files = {}  # what tells whether a file changed: its records, each after its key

    def refresh(self):
        """Read what has changed since the last time, and return the store itself.

        Raises
        ------
        ValueError
            If a line is no record, or was changed by hand so that its key is another's; the
            message names file and line.
        """
        with self._lock:
            files = {}
            for path in sorted((*self.folder.rglob("*.jsonl"), *self.folder.rglob("*.jsonl.gz"))):
                now = path.stat()
                state = path, now.st_ino, now.st_size, now.st_mtime_ns
                known = self._files.get(state)
                files[state] = self._read(path, now.st_size) if known is None else known
            if files.keys() != self._files.keys():
                self._files, self.records = files, {}
                for key, record in itertools.chain.from_iterable(files.values()):
                    self.records.setdefault(key, record)
        return self

    def _read(self, path, size):
        """The records of a file's first bytes with today's settings, each after its key."""
        with open(path, "rb") as file:
            content = file.read(size)
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        *lines, rest = content.split(b"\n")
        # Without its end a line is being written, or was cut off, or an editor took the end away.
        lines += [rest] if _whole(rest) else []
        numbered = [(i, line) for i, line in enumerate(lines, 1) if line.strip()]
        return [self._record(line, f"{path}, line {i}") for i, line in numbered]

    def _record(self, line, where):
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
        if settings == record["settings"]:
            return key, record
        record["settings"] = settings
        return key_of(record), record

    def append(self, record, file):
        """Write a record, to which its key is added, unless the store has it.

        ``file`` is a path below the store's folder, without its suffix. If the line cannot be
        written, as on a full disk (OSError), the store is as it was.
        """
        key = key_of(record)
        line = json.dumps({"key": key} | record, separators=(",", ":"), allow_nan=False)
        path = self.folder / f"{file}.jsonl"
        with self._lock, FileLock(self.folder / ".locks" / "writing"):
            if key not in self.refresh().records:
                path.parent.mkdir(parents=True, exist_ok=True)
                try:
                    _append(path, line.encode() + b"\n")
                except OSError as error:
                    raise OSError(
                        f"{path} could not be written ({error}); the records before are still "
                        "there: free some space, and the run is made again"
                    ) from error
                self.refresh()

    def claim(self, key):
        """Claim a run until the result is closed; None while another process or thread has it.

        Look whether the store has the run only after that, and after a `refresh`: who held the
        claim before may just have written it.
        """
        path = self.folder / ".locks" / key
        lock = FileLock(path, thread_local=False)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return None
        claim = contextlib.ExitStack()
        claim.callback(lock.release)
        claim.callback(path.unlink, missing_ok=True)  # comes before the release
        return claim


def _whole(line):
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _append(path, line):
    """Write a line at a file's end, all of it or nothing; a line that was cut off goes."""
    with open(path, "a+b", buffering=0) as file:
        file.seek(0)
        text = file.read()
        end = text.rfind(b"\n") + 1
        if _whole(text[end:]):  # it only lacks its end
            end, line = len(text), b"\n" + line
        file.truncate(end)
        try:
            while line:
                line = line[file.write(line) :]
            os.fsync(file.fileno())
        except OSError:
            file.truncate(end)
            raise


def _is_stored(store, key, what):
    return key in store.records


def fill(store, runs, make, *, n_jobs=1, before=None, done=_is_stored, patience=1.0):
    """Make the runs that a store lacks, each by one process only, append them, and yield records.

    Runs that another process is making are left to it, and looked at again at the end: what it
    did not finish is made here. It can be stopped at any time.

    Parameters
    ----------
    store : Store
    runs : list of (dict, str, object)
        Identity, file in the store, and what ``make`` is called with. A run listed twice is made
        once.
    make : callable
        Returns the rest of the record. It runs in joblib's processes unless ``n_jobs`` is 1, and
        on a cluster where joblib is told so (``with joblib.parallel_config("dask")``); only the
        calling process touches the store.
    n_jobs : int
        As in joblib.
    before : callable, optional
        ``before(key, made)`` is called in this process with what ``make`` returned, and returns
        what goes into the record.
    done : callable
        ``done(store, key, what)`` says whether a run can be left out; by default whether the store
        has it.
    patience : float
        Seconds between two looks at what others are making.
    """
    by_key, claims = {}, {}
    for run in runs:
        by_key.setdefault(key_of(run[0]), run)
    # Claimed one by one as workers become free, so that several processes share a list.
    parallel = Parallel(
        n_jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs"
    )

    def is_done(key):
        return done(store.refresh(), key, by_key[key][2])

    def claimed(keys, busy):
        for key in keys:
            claim = store.claim(key)
            if claim is None:
                busy.append(key)
            elif is_done(key):
                claim.close()
            else:
                claims[key] = claim
                yield key

    lacking = list(by_key)
    try:
        while lacking := [key for key in lacking if not is_done(key)]:
            busy = []
            keys = claimed(lacking, busy)
            for key, made in parallel(delayed(_make_one)(k, make, by_key[k][2]) for k in keys):
                identity, file, _ = by_key[key]
                store.append(identity | (before(key, made) if before else made), file)
                claims.pop(key).close()
                yield store.records[key]
            lacking = busy
            if busy:
                time.sleep(patience)
    finally:
        for claim in claims.values():
            claim.close()


def _make_one(key, make, what):
    return key, make(what)
