"""Data frames are lined up by their index: what is put in order, what is refused, and what said."""

import warnings

import numpy as np
import pytest

from dmac.data.checks import check_views
from dmac.data.sample_names import lined_up

pandas = pytest.importorskip("pandas")

X = np.arange(12.0).reshape(6, 2)
NAMES = list("uvwxyz")


def frame(index=None, x=X):
    return pandas.DataFrame(x, index=index)


@pytest.fixture(autouse=True)
def no_warning_but_those_that_are_asked_for():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize(
    "names",
    [
        NAMES,
        [5, 3, 1, 0, 2, 4],
        pandas.date_range("2026-01-01", periods=6),
        pandas.MultiIndex.from_product([["a", "b"], [1, 2, 3]]),
        pandas.CategoricalIndex(NAMES),
    ],
    ids=["text", "numbers", "dates", "pairs", "categories"],
)
def test_rows_come_in_the_order_of_the_first_frame(names):
    order = [3, 0, 5, 1, 4, 2]
    first, second = frame(names), frame(names, 2 * X).iloc[order]
    for views in ([first, second], (first, second, second)):
        out = check_views(views)
        np.testing.assert_array_equal(out[0], X)
        for x in out[1:]:
            np.testing.assert_array_equal(x, 2 * X)
    out = check_views([second, first])
    np.testing.assert_array_equal(out[0], 2 * X[order])
    np.testing.assert_array_equal(out[1], X[order])
    np.testing.assert_array_equal(second.to_numpy(), 2 * X[order])  # what came in is as it was


def test_what_needs_no_order_is_handed_on():
    array = np.ones((6, 1))
    for views in (
        [frame(), frame()],
        [frame(NAMES), frame(NAMES)],
        [array, frame()],
        [frame([0, 1, 2, 3, 4, 5]), array],
        [frame(list("aabbcc"))],
        [array, array],
    ):
        assert all(a is b for a, b in zip(lined_up(views), views))


def test_sparse_and_nullable_columns_stay_what_they_are():
    sparse = frame(NAMES).astype(pandas.SparseDtype(float, 0)).iloc[::-1]
    out = lined_up([frame(NAMES), sparse])[1]
    assert all(isinstance(kind, pandas.SparseDtype) for kind in out.dtypes)
    np.testing.assert_array_equal(check_views([frame(NAMES), sparse])[1], X)


@pytest.mark.parametrize(
    "views, says",
    [
        (
            [frame(NAMES), frame(list("abcdef"))],
            ["views 1 and 2", "0 names are in both", "6 only in view 1 (u, v, w, ...)", "(a, b, c"],
        ),
        (
            [X, frame(NAMES), frame(NAMES), frame([*NAMES[:4], "q", "r"])],
            ["views 2 and 4", "4 names are in both", "2 only in view 2 (y, z)", "4 (q, r)"],
        ),
        ([frame(NAMES), frame(NAMES).iloc[1:]], ["5 names are in both, 1 only in view 1 (u);"]),
        ([frame(NAMES), frame()], ["0 names are in both", "only in view 2 (0, 1, 2, ...)"]),
        ([frame(NAMES), frame([1, 2, 3, 4, 5, 6])], ["0 names", "(1, 2, 3, ...)", "frame.loc"]),
        ([frame(NAMES), frame(list("aabbcc"))], ["view 2", "6 samples with 3 names", "(more than"]),
        ([frame(list("uvwxyu")), frame(NAMES)], ["view 1", "more than once: u)", "to_numpy()"]),
        ([frame(list("aabbcc")), frame(list("aabbcc"))], ["more than once: a, b, c)"]),
    ],
)
def test_other_names_and_names_twice_are_refused(views, says):
    with pytest.raises(ValueError) as raised:
        check_views(views)
    message = str(raised.value)
    assert all(text in message for text in says) and len(message) < 300, message


def test_of_frames_without_names_the_number_of_samples_is_said():
    with pytest.raises(ValueError, match="view 2 has 5 samples, view 1 has 6"):
        check_views([frame(), frame().iloc[:5]])


def test_a_frame_beside_an_array_is_taken_by_position_with_a_warning():
    with pytest.warns(UserWarning, match="view 2 is a data frame .* view 1 and 3 has none"):
        out = check_views([X, frame(NAMES), X])
    np.testing.assert_array_equal(out[1], X)
    with pytest.warns(UserWarning, match="rows are taken by position"):
        out = check_views([frame(NAMES), frame(NAMES, 2 * X).iloc[::-1], X])
    for x, times in zip(out, (1, 2, 1)):
        np.testing.assert_array_equal(x, times * X)
    with pytest.warns(UserWarning, match="rows are taken by position"):
        check_views([frame().iloc[::-1], X])
