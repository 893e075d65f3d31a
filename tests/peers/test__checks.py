"""Parameters out of range are refused, with their names."""

import math

import numpy as np
import pytest

from dmac.peers._checks import (
    check_anchors,
    check_choice,
    check_dropout,
    check_numbers,
    check_widths,
)


class Settings:
    def __init__(self, **values):
        vars(self).update(values)


@pytest.mark.parametrize("value", [0, 1.5, "2", None, True, math.inf])
def test_wrong_integer_is_refused(value):
    with pytest.raises(ValueError, match="epochs is .*an integer of at least 1"):
        check_numbers(Settings(epochs=value), [("epochs", 1)])
    check_numbers(Settings(epochs=np.int64(3)), [("epochs", 1)])


@pytest.mark.parametrize("value", [-1e-9, math.nan, math.inf, "1", True])
def test_wrong_number_is_refused(value):
    with pytest.raises(ValueError, match="lr is .*a finite number of at least 0"):
        check_numbers(Settings(lr=value), reals=[("lr", 0)])
    check_numbers(Settings(lr=0), reals=[("lr", 0)])


@pytest.mark.parametrize("value", [-0.1, 1, 1.5, None])
def test_wrong_share_is_refused(value):
    with pytest.raises(ValueError, match="dropout is"):
        check_dropout(Settings(dropout=value))
    check_dropout(Settings(dropout=0))


@pytest.mark.parametrize("value", [(), 5, (3, 0), (3.0,), "12", (True,)])
def test_wrong_widths_are_refused(value):
    with pytest.raises(ValueError, match="hidden is"):
        check_widths(Settings(hidden=value), "hidden")
    check_widths(Settings(hidden=[3, np.int64(2)]), "hidden")


@pytest.mark.parametrize("value", ["column", None, 1, ["rows"]])
def test_wrong_choice_is_refused(value):
    with pytest.raises(ValueError, match="scale is .*, it must be 'range', 'standard' or 'rows'"):
        check_choice(Settings(scale=value), "scale", ("range", "standard", "rows"))
    check_choice(Settings(scale="rows"), "scale", ("range", "rows"))


@pytest.mark.parametrize("value", [3, 13, 7.5, True])
def test_wrong_number_of_anchors_is_refused(value):
    with pytest.raises(ValueError, match="n_anchors is .* from n_clusters = 4 to .* samples, 12"):
        check_anchors(Settings(n_anchors=value, n_clusters=4), 12)
    for good in (None, 4, 12, np.int64(5)):
        check_anchors(Settings(n_anchors=good, n_clusters=4), 12)
