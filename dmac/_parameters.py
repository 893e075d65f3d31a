"""A parameter is declared once: its default, its range, and what the docstring says of it.

Recipes and the systems of :mod:`dmac.peers` are dataclasses of such parameters. The ranges are
checked, and the docstrings are written, from the declarations.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import numbers
from collections.abc import Callable
from typing import Any, TypeGuard, TypeVar

_Class = TypeVar("_Class", bound=type)


@dataclasses.dataclass(frozen=True)
class Range:
    """What a parameter may be, in words and as a function."""

    text: str
    holds: Callable[[object], bool]

    def or_(self, other: Range) -> Range:
        """This range or another."""
        return Range(f"{self.text}, or {other.text}", lambda v: self.holds(v) or other.holds(v))


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def at_least(least: int) -> Range:
    """A whole number of at least ``least``."""
    return Range(
        f"an integer of at least {least}",
        lambda v: isinstance(v, numbers.Integral) and _is_number(v) and v >= least,
    )


def one_of(*choices: str) -> Range:
    """One of some words."""
    return Range(f"one of {choices}", lambda value: isinstance(value, str) and value in choices)


def or_none(allowed: Range) -> Range:
    """A range, or None."""
    return Range(f"{allowed.text}, or None", lambda v: v is None or allowed.holds(v))


TEXT = Range("a string", lambda value: isinstance(value, str))
FLAG = Range("True or False", lambda value: isinstance(value, bool))
POSITIVE = Range("a positive number", lambda v: _is_number(v) and 0 < v < math.inf)
NEGATIVE = Range("a negative number", lambda v: _is_number(v) and -math.inf < v < 0)
NON_NEGATIVE = Range("a number of at least 0", lambda v: _is_number(v) and 0 <= v < math.inf)
SHARE = Range("a number from 0 to 1", lambda v: _is_number(v) and 0 <= v <= 1)
BELOW_ONE = Range("a number from 0 to below 1", lambda v: _is_number(v) and 0 <= v < 1)
WEIGHTS = Range(
    "a sequence of numbers of at least 0, one of them larger",
    lambda value: isinstance(value, tuple) and all(map(NON_NEGATIVE.holds, value)) and any(value),
)
WIDTHS = Range(
    "a sequence of integers of at least 1",
    lambda value: (
        isinstance(value, (tuple, list))
        and len(value) > 0
        and all(at_least(1).holds(width) for width in value)
    ),
)


def choice(default: object, allowed: Range, doc: str, kw_only: Any = dataclasses.MISSING) -> Any:
    """A field of a dataclass: its default, its range, and what the docstring says of it.

    With ``kw_only=False`` it may be given by its place where its class has names alone.
    """
    return dataclasses.field(
        default=default, metadata={"range": allowed, "doc": doc}, kw_only=kw_only
    )


def check_ranges(owner: Any, what: str = "") -> None:
    """Raise ValueError if a field of a dataclass is out of its range; the message names it."""
    for field in dataclasses.fields(owner):
        value = getattr(owner, field.name)
        allowed = field.metadata["range"]
        if not allowed.holds(value):
            raise ValueError(f"{what}{field.name} is {value!r}, it must be {allowed.text}")


def documented(cls: _Class, section: str = "Attributes") -> _Class:
    """Append the fields of a dataclass to its docstring, as numpydoc lists them."""
    lines = [section, "-" * len(section)]
    for field in dataclasses.fields(cls):
        lines.append(f"{field.name} : {field.metadata['range'].text}")
        lines += [f"    {line}" for line in inspect.cleandoc(field.metadata["doc"]).splitlines()]
    cls.__doc__ = "\n".join([inspect.cleandoc(cls.__doc__ or ""), "", *lines, ""])
    return cls
