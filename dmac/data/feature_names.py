"""Names of columns: what data frames say beyond their numbers, remembered by a fit and compared.

Chapter 19 of the book uses the estimator on a reader's own data frames.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def check_feature_names(views: Views, fitted: Array | None, n_features: Sequence[int]) -> None:
    """Compare the columns of new data frames with those that a model was ``fitted`` on.

    ``ValueError`` if a view has other columns than the fitted one, or the same in another order.
    Views without names pass where the model has some, with a ``UserWarning``.
    """
    if fitted is None:
        return
    if feature_names(views) is None:
        warnings.warn(
            "the model was fitted with feature names, and the views have none: their columns are "
            "taken in the order of the fit",
            stacklevel=3,
        )
        return
    views = views if isinstance(views, (list, tuple)) else [views]
    if len(views) != len(n_features):
        return  # check_views says that
    stops = np.cumsum(n_features)
    for a, (x, names) in enumerate(zip(views, np.split(fitted, stops[:-1])), 1):
        new, old = list(x.columns), list(names)
        if new == old:
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
