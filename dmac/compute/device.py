"""Where tensors live and how wide their numbers are, by name."""

from __future__ import annotations

import torch


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
