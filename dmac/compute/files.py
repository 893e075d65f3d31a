"""Tensors and what is known about them in one file: safetensors with JSON in it, no pickle.

Saved models, checkpoints and kept pre-trainings are such files. "Your own data" in the book
saves one.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from dmac._types import Array, PathLike
from dmac.data.safe_files import check_readable


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to: what is there at the end comes to ``path``, whole or not at all.

    A new file beside an ordinary one takes its name, with the mode that the umask gives; an
    interruption leaves the earlier one as it was. A link stays and is followed. What is no ordinary
    file, such as a pipe or a device, stays what it is, and is written into. The folder must be
    there.
    """
    if path.exists() and not path.is_file():
        with tempfile.TemporaryDirectory() as folder:
            temporary = Path(folder) / "content"
            yield temporary
            with open(temporary, "rb") as file, open(path, "wb") as into:
                shutil.copyfileobj(file, into)
        return
    path = Path(os.path.realpath(path))
    if path.is_symlink():
        raise OSError(f"{path} is a link to itself: name another file")
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    _remove_leftovers(path)
    try:
        temporary.unlink(missing_ok=True)
        with open(temporary, "x") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        yield temporary
        with open(temporary, "r+b") as file:
            os.fsync(file.fileno())  # it is on the disk before it takes the name
        temporary.chmod(mode)  # safetensors writes files that only their owner may read
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_tensors(
    path: PathLike, tensors: Mapping[str, Tensor | Array], about: dict[str, Any]
) -> None:
    """Write tensors or arrays of any shape, on any device, and what JSON can hold about them.

    The folder is made if it is missing. If the file cannot be written, as on a full disk, that is
    an ``OSError``, and an earlier one is still there.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # A copy each: safetensors refuses tensors that share memory.
    copies = {k: torch.as_tensor(x).detach().cpu().contiguous().clone() for k, x in tensors.items()}
    try:
        with replacing(path) as temporary:
            save_file(copies, temporary, {"about": json.dumps(about)})
    except (OSError, SafetensorError) as error:
        kept = "; the one before is still there" if path.exists() else ""
        raise OSError(
            f"{path} could not be written ({error}){kept}: free some space, or name another folder"
        ) from error


def tensors_of(tensors: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    """The tensors whose names begin with a name and a dot, without it."""
    start = f"{name}."
    return {k.removeprefix(start): x for k, x in tensors.items() if k.startswith(start)}


def leaves(branch: Any, start: str = "") -> Iterator[tuple[str, Tensor]]:
    """The tensors of a tree of objects, lists and dictionaries, by their places.

    A place has the names of the branches with dots between; None is left out. `tree_of` is the
    inverse, but for the types of objects, which `built` knows from their annotations.
    """
    if isinstance(branch, list):
        branch = dict(enumerate(branch))
    elif not isinstance(branch, (dict, Tensor)) and hasattr(branch, "__dict__"):
        branch = vars(branch)
    if isinstance(branch, dict):
        for name, value in branch.items():
            yield from leaves(value, f"{start}{name}.")
    elif branch is not None:
        value = branch if isinstance(branch, Tensor) else np.asarray(branch)
        yield start[:-1], torch.as_tensor(value).cpu().contiguous()


def tree_of(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """The tree of `leaves`: arrays and numbers in dictionaries."""
    tree: dict[str, Any] = {}
    for place, value in tensors.items():
        *branches, last = place.split(".")
        branch = tree
        for name in branches:
            branch = branch.setdefault(name, {})
        branch[last] = value.numpy() if value.ndim else value.item()
    return tree


def built(kind: Any, tree: Any, tensor: Callable[[Array], Tensor]) -> Any:
    """A dataclass from a tree as of `tree_of`, by the annotations of its fields.

    ``tensor`` makes one of an array where there is to be one. What is no tree stays as it is.
    """
    if type(None) in get_args(kind):  # of what may lack
        kind = get_args(kind)[0]
    is_branch = isinstance(tree, dict)
    if is_branch and hasattr(kind, "__dataclass_fields__"):
        hints = get_type_hints(kind)
        return kind(**{name: built(hints[name], part, tensor) for name, part in tree.items()})
    if is_branch and get_origin(kind) is list:
        return [built(get_args(kind)[0], tree[i], tensor) for i in sorted(tree, key=int)]
    if get_origin(kind) is tuple:
        return tuple(tree.tolist())
    return tensor(tree) if kind is Tensor else tree


def _remove_leftovers(path: Path) -> None:
    """Remove files, at least an hour old, of processes that were killed while they wrote them."""
    for old in path.parent.glob(f".{path.name}.*"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - old.stat().st_mtime > 3600:
                old.unlink()


def read_tensors(path: PathLike) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors that `write_tensors` wrote, on the CPU, and what it wrote about them.

    ``FileNotFoundError`` without such a file, ``PermissionError`` if it may not be read,
    ``ValueError`` if it is damaged or another's.
    """
    check_readable(path)
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} is missing")
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads(file.metadata()["about"])
            return {name: file.get_tensor(name) for name in file.keys()}, about
    except (SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
        raise ValueError(f"{path} is damaged: {error!r}") from error
