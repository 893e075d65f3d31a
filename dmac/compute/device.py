"""Where tensors live and how wide their numbers are, by name; and what PyTorch is set to."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import torch

# Settings that all threads share: how many blocks need the usual ones, and what they were before.
_lock = threading.Lock()
_inside: list[tuple[torch.dtype, str]] = []


@contextlib.contextmanager
def usual_settings() -> Iterator[None]:
    """Within it PyTorch is set as it starts, whatever its user has set; after it as before.

    The default type and device, the precision of products, autocast, inference mode and gradients
    would otherwise change what a seed gives, or end in an error.
    """
    with _lock:
        _inside.append((torch.get_default_dtype(), torch.get_float32_matmul_precision()))
        torch.set_default_dtype(torch.float32)
        torch.set_float32_matmul_precision("highest")
    try:
        elsewhere = torch.get_default_device().type != "cpu"
        with (
            torch.autocast("cpu", enabled=False),
            torch.autocast("cuda", enabled=False),
            torch.inference_mode(False),
            torch.enable_grad(),
            torch._C.DisableTorchFunction() if elsewhere else contextlib.nullcontext(),
        ):
            yield
    finally:
        with _lock:
            dtype, precision = _inside.pop()  # the first stays until the last is done
            if not _inside:
                torch.set_default_dtype(dtype)
                torch.set_float32_matmul_precision(precision)


def resolve_device(device: str) -> torch.device:
    """Return the device of a name, "auto" being a GPU when there is one; ValueError if unusable."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    resolved = None
    try:
        resolved = torch.device(device)
        torch.empty(0, device=resolved).cpu()  # from the device meta there is no way back
    except (RuntimeError, TypeError, AssertionError) as error:
        why = ""
        if resolved is not None and not isinstance(error, NotImplementedError):  # a list of kernels
            why = f" ({str(error).splitlines()[0]:.100})"
        raise ValueError(
            f"device {device!r} is not usable here{why}: pass 'cpu', 'cuda' or 'auto'"
        ) from error
    return resolved


def resolve_dtype(dtype: str) -> torch.dtype:
    """Return the type of "float32" or "float64"; ValueError for anything else."""
    types = {"float32": torch.float32, "float64": torch.float64}
    if not isinstance(dtype, str) or dtype not in types:
        raise ValueError(f"dtype is {dtype!r}, it must be one of {sorted(types)}")
    return types[dtype]
