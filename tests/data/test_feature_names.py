"""Names of the columns of data frames: which are known, and what is said of others."""

import warnings

import numpy as np
import pytest

from dmac.data.feature_names import check_feature_names, column_names, feature_names

pandas = pytest.importorskip("pandas")


def frame(*names):
    return pandas.DataFrame(np.ones((3, len(names))), columns=list(names))


FITTED = feature_names([frame("a", "b"), frame("c")])


def test_names_of_all_views_side_by_side():
    assert FITTED.tolist() == ["a", "b", "c"] and FITTED.dtype == object
    assert feature_names(frame("a", "b")).tolist() == ["a", "b"]
    assert feature_names((frame("a"), frame("a"))).tolist() == ["a", "a"]


def test_without_a_string_for_every_column_there_are_no_names():
    array = np.ones((3, 2))
    for views in ([frame("a"), array], [frame("a", 2)], frame(0, 1), array, [], [frame()]):
        assert feature_names(views) is None


def test_the_fitted_names_pass_silently():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_feature_names([frame("a", "b"), frame("c")], FITTED, (2, 1))
        check_feature_names([np.ones((3, 2))], None, (2,))
        check_feature_names(frame("a"), feature_names(frame("a")), (1,))
        check_feature_names([frame("a", "b")], FITTED, (2, 1))  # check_views counts the views


def test_each_view_is_compared_with_its_own_names():
    array = np.ones((3, 2))
    fitted = column_names([frame("a", "b"), array, frame(0, 1), frame("a", 1)], (2, 2, 2, 2))
    assert fitted[:6].tolist() == ["a", "b", None, None, 0, 1]
    others = array, frame(1, 2), frame(2, "a")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_feature_names([frame("a", "b"), frame("b", "a"), *others[1:]], fitted, (2,) * 4)
    with pytest.raises(ValueError, match="view 1: .*\n.*same order"):
        check_feature_names([frame("b", "a"), *others], fitted, (2,) * 4)
    with pytest.raises(ValueError, match="view 3: .*\n.*same order"):
        check_feature_names([frame("a", "b"), array, frame(1, 0), array], fitted, (2,) * 4)
    with pytest.raises(ValueError, match="view 4: .*\n.*same order"):
        check_feature_names([frame("a", "b"), array, frame(0, 1), frame(1, "a")], fitted, (2,) * 4)
    with pytest.warns(UserWarning, match="the views have none"):
        check_feature_names([frame(0, 1), *others], fitted, (2,) * 4)


@pytest.mark.parametrize(
    "names",
    [
        pandas.MultiIndex.from_product([["a", "b"], [1, 2]]),
        pandas.date_range("2026-01-01", periods=4),
        [b"a", b"b", b"c", b"d"],
        [0.5, 1.5, 2.5, 3.5],
    ],
    ids=["pairs", "dates", "bytes", "fractions"],
)
def test_names_of_every_kind_are_compared_in_their_order(names):
    x = pandas.DataFrame(np.ones((3, 4)), columns=names)
    fitted = column_names([x], (4,))
    assert all(isinstance(name, int) for name in fitted)  # which a saved model can hold
    check_feature_names([x], fitted, (4,))
    check_feature_names([x.iloc[:, [0, 1, 2, 2]]], fitted, (4,))
    with pytest.raises(ValueError, match="must be in the same order"):
        check_feature_names([x.iloc[:, ::-1]], fitted, (4,))


def test_views_without_names_are_taken_with_a_warning():
    with pytest.warns(UserWarning, match="the views have none"):
        check_feature_names([np.ones((3, 2)), np.ones((3, 1))], FITTED, (2, 1))


@pytest.mark.parametrize(
    "views, says, says_not",
    [
        ([frame("b", "a"), frame("c")], ["view 1: ", "same order as they were in fit"], "unseen"),
        (
            [frame("a", "b"), frame("d")],
            ["view 2: ", "unseen at fit time:\n- d\n", "yet now missing:\n- c\n"],
            "order",
        ),
        ([frame("a", "b"), frame("c", *"defghi")], ["- d\n- e\n- f\n- g\n- h\n- ...\n"], "- i"),
    ],
)
def test_other_names_are_listed(views, says, says_not):
    with pytest.raises(ValueError, match="feature names should match") as raised:
        check_feature_names(views, FITTED, (2, 1))
    message = str(raised.value)
    assert all(text in message for text in says) and says_not not in message, message
    with pytest.raises(ValueError, match="^The feature names should match"):  # of one view
        check_feature_names(frame("b"), feature_names(frame("a")), (1,))
