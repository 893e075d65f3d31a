"""Files of strangers, looked at before a compiled reader trusts them: MATLAB 5 and HDF5.

SciPy's reader of MATLAB files trusts what a file says of its own structure: a damaged type code,
flag or size can crash the interpreter or keep it busy for hours. So the structure is walked first,
following "MAT-File Format" (The MathWorks), and anything impossible is a ``ValueError``.

An HDF5 file can name other files: by an external link, by data stored outside, or by a virtual data
set. Whoever opens a file of a stranger would then read files of their own without knowing it, so
none of the three is followed.

Chapter 1 of the book loads such files through :func:`dmac.load`.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import stat
import struct
import zlib
from pathlib import Path
from typing import Any

import h5py
import scipy.io

from dmac._types import PathLike

_CONTAINERS = (1, 2, 3)  # cell, structure, object


def check_readable(path: PathLike) -> None:
    """Raise a ``PermissionError`` that says so where this user may not read an ordinary file."""
    try:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if stat.S_ISREG(os.stat(path).st_mode):  # to open a pipe would take what is in it
                open(path, "rb").close()
    except PermissionError as error:
        raise PermissionError(
            f"{path} may not be read: change its mode, or that of its folder, or ask its owner"
        ) from error


def loadmat(path: PathLike) -> dict[str, Any]:
    """The variables of a MATLAB 4 or 5 file by name, as ``scipy.io.loadmat`` gives them.

    A damaged structure is a ``ValueError``; SciPy's reader may add errors of other kinds.
    """
    data = Path(path).read_bytes()
    if 0 not in data[:4]:  # a zero there means MATLAB 4
        _check_elements(data, 128, len(data), "<" if data[126:128] == b"IM" else ">")
    contents = scipy.io.loadmat(io.BytesIO(data))
    return {key: value for key, value in contents.items() if not key.startswith("__")}


def _check_elements(data: bytes, start: int, end: int, order: str) -> list[tuple[int, int, int]]:
    """Walk data elements, each with a type code and a length, and those inside them.

    Returns the type code, position and length of the content of each element at this level.
    """
    elements = []
    while end - start >= 8:
        code, size = struct.unpack_from(f"{order}II", data, start)
        small = code >> 16  # up to four bytes stored inside the tag itself
        body = start + (4 if small else 8)
        code, size = (code & 0xFFFF, small) if small else (code, size)
        is_type = 1 <= code <= 18 and code not in (8, 10, 11)
        if not is_type or body + size > end or small > 4:
            raise ValueError(f"impossible element (type {code}, {size} bytes) at byte {start}")
        if code == 15:  # compressed; the checksum comes last, too late for a reader of streams
            content = zlib.decompress(data[body : body + size])
            _check_elements(content, 0, len(content), order)
        elif code == 14 and size:
            _check_matrix(_check_elements(data, body, body + size, order), data, order, start)
        elements.append((code, body, size))
        start = start + 8 if small else body + size + (-size % 8 if code != 15 else 0)
    return elements


def _check_matrix(
    elements: list[tuple[int, int, int]], data: bytes, order: str, start: int
) -> None:
    """Flags, sizes and name come first, then the parts that the class in the flags calls for."""
    codes = [code for code, _, _ in elements]
    if codes[:1] != [6]:
        raise ValueError(f"a matrix without flags at byte {start}")
    (flags,) = struct.unpack_from(f"{order}I", data, elements[0][1])
    kind = flags & 0xFF
    if kind in (16, 17):  # functions and opaque objects have no sizes
        return
    _, body, length = [*elements, (0, 0, 0)][1]
    sound = codes[1:2] == [5] and length >= 8 and length % 4 == 0 and kind in range(1, 16)
    if sound and kind in _CONTAINERS:
        n_entries = math.prod(struct.unpack_from(f"{order}{length // 4}I", data, body))
        sound = n_entries <= len(data) and (kind != 1 or n_entries == len(codes) - 3)
    elif sound:  # complex ones have a second part, sparse ones rows and column starts
        n_parts = 1 + bool(flags & 0x800) + 2 * (kind == 5)
        sound = len(codes) >= 3 + n_parts and not {14, 15} & set(codes[3 : 3 + n_parts])
    if not sound:
        raise ValueError(f"impossible matrix (class {kind}, parts {codes}) at byte {start}")


def open_hdf5(path: PathLike) -> h5py.File:
    """Open a file for reading, once it is known to name no other file.

    It is a ``ValueError`` if something in it would be read from one; h5py's own errors say that it
    is damaged.
    """
    file = h5py.File(path, "r")
    outside = file.id.links.visit(_link_out, info=True) or file.visititems(_values_outside)
    if outside:
        file.close()
        raise ValueError(f"/{outside} takes its values from another file, which is not followed")
    return file


def _link_out(name: bytes, link: Any) -> str | None:
    """The name of a link out of a file; a soft one leads to what is looked at by its own name."""
    return None if link.type in (h5py.h5l.TYPE_HARD, h5py.h5l.TYPE_SOFT) else name.decode()


def _values_outside(name: str, item: Any) -> str | None:
    """The name of a data set whose values are in other files."""
    return name if isinstance(item, h5py.Dataset) and (item.is_virtual or item.external) else None
