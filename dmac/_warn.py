"""Warnings that point at the line of a user's program, however deep they arise."""

import sys
import warnings


class ViewWarning(UserWarning):
    """What is said of views as they come: of all their samples, and never of some."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost caller outside of `dmac`."""
    level = 1
    frame = sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "dmac":
        level += 1
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level)
