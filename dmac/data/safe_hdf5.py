"""HDF5 files that stay within themselves.

An HDF5 file can name other files: by an external link, by data stored outside, or by a virtual data
set. Whoever opens a file of a stranger would then read files of their own without knowing it, so
none of the three is followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import h5py

if TYPE_CHECKING:
    from dmac._types import PathLike


def open_hdf5(path: PathLike) -> h5py.File:
    """Open a file for reading, once it is known to name no other file.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    h5py.File

    Raises
    ------
    ValueError
        If it is no HDF5 file, or something in it would be read from another file.
    """
    try:
        file = h5py.File(path, "r")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ValueError(f"{path} cannot be read: it is no HDF5 file ({error})") from error
    try:
        _check_group(file, set())
    except ValueError as error:
        file.close()
        raise ValueError(f"{path}: {error}") from error
    return file


def _check_group(group: h5py.Group, seen: set[int]) -> None:
    address = h5py.h5o.get_info(group.id).addr
    if address in seen:  # a group can hold itself
        return
    seen.add(address)
    for name in group:
        link, where = group.get(name, getlink=True), f"{group.name.rstrip('/')}/{name}"
        if isinstance(link, h5py.ExternalLink):
            raise ValueError(f"{where} is a link to another file, which is not followed")
        if isinstance(link, h5py.SoftLink):
            continue  # it leads into this file, to what is looked at by its own name
        item = group[name]
        if isinstance(item, h5py.Group):
            _check_group(item, seen)
        elif isinstance(item, h5py.Dataset) and (item.is_virtual or item.external):
            raise ValueError(f"{where} takes its values from other files, which is not followed")
