"""Names of columns: what data frames say beyond their numbers, remembered by a fit and compared.

Chapter 19 of the book uses the estimator on a reader's own data frames.
"""

from __future__ import annotations

import numbers
import warnings
import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dmac._types import Array, Views

_MISMATCH = "The feature names should match those that were passed during fit."


def feature_names(views: Views) -> Array | None:
    """Names of the columns of all views, side by side: (sum of the d_a,), object.

    None unless every view is a data frame whose columns all have strings as names.
    """
    names = []
    for x in views if isinstance(views, (list, tuple)) else [views]:
        columns = getattr(x, "columns", None)
        if columns is None or not all(isinstance(name, str) for name in columns):
            return None
        names.extend(columns)
    return np.array(names, dtype=object) if names else None


def column_names(views: Views, n_features: Sequence[int]) -> Array:
    """The same with None for the columns of views that have no names, and with other names.

    ``n_features`` are the widths of the views.
    """
    views = views if isinstance(views, (list, tuple)) else [views]
    found = [_names(x) or [None] * d for x, d in zip(views, n_features)]
    return np.array([name for names in found for name in names], dtype=object)


def _names(x: object) -> list[Any] | None:
    """What the columns of a view are called: all text, or whole numbers, which may be codes."""
    columns = list(getattr(x, "columns", ()))
    if all(isinstance(name, str) for name in columns):
        return columns or None
    whole = all(isinstance(name, numbers.Integral) for name in columns)
    # Dates, or names of several levels: their order is compared, as that of numbers is.
    return [int(x) if whole else zlib.crc32(str(x).encode()) for x in columns]


def check_feature_names(views: Views, fitted: Array | None, n_features: Sequence[int]) -> None:
    """Compare the columns of new data frames with those that a model was ``fitted`` on.

    ``ValueError`` if a view has other columns than the fitted one, or the same in another order; of
    columns whose names are no text only the order counts. Views without names pass where the model
    has some, with a ``UserWarning``.
    """
    views = views if isinstance(views, (list, tuple)) else [views]
    if fitted is None or len(views) != len(n_features):
        return  # check_views counts the views
    stops = np.cumsum(n_features)
    unnamed = False
    for a, (x, names) in enumerate(zip(views, np.split(fitted, stops[:-1])), 1):
        new, old = _names(x), list(names)
        text = isinstance(old[0], str)
        unnamed |= text and (new is None or not isinstance(new[0], str))
        if new is None or new == old or type(new[0]) is not type(old[0]):
            continue
        if not text and sorted(new) != sorted(old):
            continue
        where = f"view {a}: " if len(views) > 1 else ""
        unseen, missing = sorted(set(new) - set(old)), sorted(set(old) - set(new))
        reasons = [
            f"{what}:\n" + "".join(f"- {name}\n" for name in some[:5]) + "- ...\n" * (len(some) > 5)
            for what, some in (
                ("Feature names unseen at fit time", unseen),
                ("Feature names seen at fit time, yet now missing", missing),
            )
            if some
        ] or ["Feature names must be in the same order as they were in fit.\n"]
        raise ValueError(f"{where}{_MISMATCH}\n{''.join(reasons)}")
    if unnamed:
        warnings.warn(
            "the model was fitted with feature names, and the views have none: their columns are "
            "taken in the order of the fit",
            stacklevel=3,
        )
