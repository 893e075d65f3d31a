"""Tensors and what is known about them in one file: safetensors with JSON in it, no pickle.

Saved models, checkpoints and kept pre-trainings are such files. Chapter 12 of the book saves one.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from torch import Tensor

    from dmac._types import Array, PathLike


def write_tensors(
    path: PathLike, tensors: Mapping[str, Tensor | Array], about: dict[str, Any]
) -> None:
    """Write a file whole or not at all: an interruption leaves an earlier one as it was.

    Parameters
    ----------
    path : str or path
        Its folder is made if it is missing.
    tensors : dict of str to torch.Tensor or numpy.ndarray
        Of any shape, on any device.
    about : dict
        Anything that JSON can hold.

    Raises
    ------
    OSError
        If the file cannot be written, as on a full disk; an earlier one is still there.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # A copy each: safetensors refuses tensors that share memory.
    copies = {k: torch.as_tensor(x).detach().cpu().contiguous().clone() for k, x in tensors.items()}
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    _remove_leftovers(path)
    try:
        save_file(copies, temporary, {"about": json.dumps(about)})
        with open(temporary, "r+b") as file:
            os.fsync(file.fileno())  # it is on the disk before it takes the name
        os.replace(temporary, path)
    except (OSError, SafetensorError) as error:
        kept = "; the one before is still there" if path.exists() else ""
        raise OSError(
            f"{path} could not be written ({error}){kept}: free some space, or name another folder"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def _remove_leftovers(path: Path) -> None:
    """What processes that were killed while they wrote have left, once it is an hour old."""
    for old in path.parent.glob(f".{path.name}.*"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - old.stat().st_mtime > 3600:
                old.unlink()


def read_tensors(path: PathLike) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `write_tensors` wrote.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    tensors : dict of str to torch.Tensor
        On the CPU.
    about : dict

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is damaged, or was not written by `write_tensors`.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} is missing")
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads(file.metadata()["about"])
            return {name: file.get_tensor(name) for name in file.keys()}, about
    except (SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
        raise ValueError(f"{path} is damaged: {error!r}") from error
