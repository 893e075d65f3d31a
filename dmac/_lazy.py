"""Modules that are imported when they are first asked for, since PyTorch alone takes seconds."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from typing import Any


def on_demand(package: str, defined: Mapping[str, str] = {}) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package (PEP 562) that imports its modules on demand.

    Parameters
    ----------
    package : str
        Its name.
    defined : dict of str to str
        Names that the package hands on, and the modules that define them.

    Returns
    -------
    callable
    """

    def __getattr__(name: str) -> Any:
        if name in defined:
            value = getattr(importlib.import_module(defined[name]), name)
            setattr(sys.modules[package], name, value)  # found without this function from now on
            return value
        if name.startswith("_") or importlib.util.find_spec(f"{package}.{name}") is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return importlib.import_module(f"{package}.{name}")

    return __getattr__
