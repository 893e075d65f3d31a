"""Parameters of the other systems that are out of their range, refused."""

import math
import numbers


def is_integer(value):
    """Whether a value is an integer, and not True or False."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_numbers(estimator, integers=(), reals=()):
    """Refuse numbers out of range.

    Parameters
    ----------
    estimator : object
        Has the parameters as attributes.
    integers, reals : sequences of (str, number)
        Name of a parameter, and the least that it may be.

    Raises
    ------
    ValueError
        Unless it is a finite number of the kind, at least as large.
    """
    for name, least in integers:
        value = getattr(estimator, name)
        if not is_integer(value) or value < least:
            raise ValueError(f"{name} is {value!r}, it must be an integer of at least {least}")
    for name, least in reals:
        value = getattr(estimator, name)
        good = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not good or not least <= value < math.inf:
            raise ValueError(f"{name} is {value!r}, it must be a finite number of at least {least}")


def check_dropout(estimator):
    """Refuse a ``dropout`` that is no number from 0 to below 1."""
    check_numbers(estimator, reals=[("dropout", 0)])
    if estimator.dropout >= 1:
        raise ValueError(f"dropout is {estimator.dropout!r}, it must be below 1")


def check_widths(estimator, *names):
    """Refuse widths of layers that are not a non-empty sequence of positive integers."""
    for name in names:
        value = getattr(estimator, name)
        good = isinstance(value, (tuple, list)) and len(value) > 0
        if not good or any(not is_integer(d) or d < 1 for d in value):
            raise ValueError(f"{name} is {value!r}, it must be a tuple of integers of at least 1")


def check_choice(estimator, name, choices):
    """Refuse a parameter that is none of some strings."""
    value = getattr(estimator, name)
    if not isinstance(value, str) or value not in choices:
        said = ", ".join(map(repr, choices[:-1]))
        raise ValueError(f"{name} is {value!r}, it must be {said} or {choices[-1]!r}")


def check_anchors(estimator, n_samples):
    """Refuse a number of anchors that is no integer from ``n_clusters`` to ``n_samples``."""
    m, c = estimator.n_anchors, estimator.n_clusters
    if m is not None and not (is_integer(m) and c <= m <= n_samples):
        raise ValueError(
            f"n_anchors is {m!r}, it must be an integer from n_clusters = {c} to the number of "
            f"samples, {n_samples}"
        )
