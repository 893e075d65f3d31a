"""Data frames are lined up by their index: what is put in order, what is refused, and what said."""

import warnings

import numpy as np
import pytest

from dmac.data.checks import check_views
from dmac.data.sample_names import index_of, lined_up

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
    for x, times in zip(check_views((first, second, first)), (1, 2, 1)):
        np.testing.assert_array_equal(x, times * X)
    for x, times in zip(check_views([second, first]), (2, 1)):
        np.testing.assert_array_equal(x, times * X[order])
    np.testing.assert_array_equal(second.to_numpy(), 2 * X[order])  # what came in is as it was


def test_what_needs_no_order_is_handed_on():
    array, twice = np.ones((6, 1)), frame(list("aabbcc"))
    same = [[frame(), frame()], [frame(NAMES), frame(NAMES)], [frame([*range(6)]), array]]
    for views in (*same, [array, frame()], [twice], [array, array]):
        found = lined_up(views)
        assert all(a is b for a, b in zip(found.views, views)) and found.present is None


def test_sparse_and_nullable_columns_stay_what_they_are():
    sparse = frame(NAMES).astype(pandas.SparseDtype(float, 0)).iloc[::-1]
    out = lined_up([frame(NAMES), sparse]).views[1]
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
        (
            [frame(NAMES), frame(NAMES).iloc[1:]],
            ["5 names are in both, 1 only in view 1 (u);", "frame.loc", "recipe='closed_form'"],
        ),
        ([frame(NAMES), frame()], ["0 names are in both", "only in view 2 (0, 1, 2, ...)"]),
        ([frame(NAMES), frame([1, 2, 3, 4, 5, 6])], ["0 names", "(1, 2, 3, ...)", "by one name"]),
        (
            [frame([1, 2, 3, 4, 5, 6]), frame(list("123456"))],
            ["0 names", "1 and '1' are two names"],
        ),
        ([frame(NAMES), frame(list("UVWXYZ"))], ["0 names", "'u' and 'U' are two names: "]),
        ([frame(NAMES), frame([*NAMES[:5], ["z"]])], ["view 2 ", "cannot be compared", "'list'"]),
        ([frame(NAMES), frame(list("aabbcc"))], ["view 2", "6 samples with 3 names", "(more than"]),
        ([frame(list("uvwxyu")), frame(NAMES)], ["view 1", "more than once: u)", "to_numpy()"]),
        ([frame(list("aabbcc")), frame(list("aabbcc"))], ["more than once: a, b, c)"]),
        ([frame(), frame().iloc[:5]], ["view 2 has 5 samples, view 1 has 6"]),
    ],
)
def test_other_names_and_names_twice_are_refused(views, says):
    with pytest.raises(ValueError) as raised:
        check_views(views)
    message = str(raised.value)
    assert all(text in message for text in says) and len(message) < 300, message


def test_the_union_of_frames_of_other_samples():
    """In the order of the first frame, then of the names that the others add."""
    frames = [
        frame(NAMES, X + 1),
        frame(list("zqxr"), X[:4] + 20),
        frame(list("sq"), X[:2] + 40),  # shares a name with the second alone
    ]
    out = check_views(frames, incomplete=True)
    assert index_of(frames).tolist() == [*NAMES, "q", "r", "s"]
    np.testing.assert_array_equal(out[0], np.vstack([X + 1, np.zeros((3, 2))]))
    zeros = [0, 0]
    second = [zeros, zeros, zeros, X[2] + 20, zeros, X[0] + 20, X[1] + 20, X[3] + 20, zeros]
    np.testing.assert_array_equal(out[1], second)
    np.testing.assert_array_equal(out[2], [zeros] * 6 + [X[1] + 40, zeros, X[0] + 40])
    for values in ([1.0, np.nan], [np.nan, np.nan]):  # NaN where a frame has no row, or has one
        some = frame(["u", "q"], [values, [1, 1]])
        if np.isnan(values).all():
            assert check_views([frames[0], some], incomplete=True)[1][0].tolist() == zeros
        else:
            with pytest.raises(ValueError, match="view 2 .* at row 0, column 1"):
                check_views([frames[0], some], incomplete=True)
    apart = [frame(list("ab"), X[:2]), frame(list("bc"), X[:2]), frame(list("de"), X[:2])]
    with pytest.raises(ValueError, match="views 1 and 3 .*: 0 names are in both.* by one name"):
        check_views(apart, incomplete=True)
    with pytest.raises(ValueError, match="only in view 2 .q, r., and view 3 has no names"):
        check_views([*frames[:2], X], incomplete=True)
    with pytest.raises(ValueError, match="view 2 is a data frame of 2 samples with 1 names"):
        check_views([frames[0], frame(["u", "u"], X[:2])], incomplete=True)
    with pytest.raises(ValueError, match="view 2 has no samples|0 names are in both"):
        check_views([frames[0], frames[0].iloc[:0]], incomplete=True)


def test_one_sample_by_two_names_is_doubted():
    for names in (["u ", *NAMES[1:]], ["U", *NAMES[1:]]):
        with pytest.warns(UserWarning, match="'u' and 'U ?' are taken for two|'u' and 'u ' are"):
            check_views([frame(NAMES), frame(names)], incomplete=True)
    with pytest.warns(UserWarning, match="5 and '5' are taken for two samples"):
        check_views([frame([1, 2, 3, 4, 5, 6]), frame([1, 2, 3, 4, "5", 6])], incomplete=True)
    both = frame(["u", "U", *NAMES[2:]])
    check_views([both, both.iloc[::-1]])  # every frame has both: these are two


@pytest.mark.parametrize("missing", [np.nan, None, pandas.NaT, ("a", float("nan"))])
def test_a_name_that_is_missing_is_refused(missing):
    first, second = frame([missing, *NAMES[1:]]), frame([*NAMES[1:], missing])
    with pytest.raises(ValueError, match="view 1 is .* row 0 has no name .it is"):
        check_views([first, second], incomplete=True)


def test_default_names_among_others_are_doubted():
    kept = frame([0, 2, 3, 5], X[:4])
    assert check_views([frame(), kept], incomplete=True)[1].any(1).tolist() == [1, 0, 1, 1, 0, 1]
    with pytest.warns(UserWarning, match="view 1 is a data frame with the index 0, 1, ..., as"):
        check_views([frame(x=X[:3]), kept], incomplete=True)


def test_a_mask_with_names_is_lined_up():
    frames = [frame(NAMES), frame([*NAMES[:4], "q", "r"], X + 1)]
    names = [*NAMES, "q", "r"]
    has = pandas.DataFrame([[name not in "uq", name != "w"] for name in names], index=names)
    has.loc["q", 0], has.loc["u", 1] = True, True  # the frame says that q lacks the first view
    for present in (has, has.iloc[::-1], has.to_numpy(), has.reset_index(drop=True)):
        out = check_views(frames, incomplete=True, present=present)
        assert out[0].any(1).tolist() == [False, *[True] * 5, False, False]
        assert out[1].any(1).tolist() == [1, 1, 0, 1, 0, 0, 1, 1]
    with pytest.raises(ValueError, match="present is a data frame of 6 rows for 8 .* 2 of them .q"):
        check_views(frames, incomplete=True, present=has.iloc[:6])


def test_a_frame_beside_an_array_is_taken_by_position_with_a_warning():
    with pytest.warns(UserWarning, match="view 2 is a data frame .* view 1 and 3 has none"):
        check_views([X, frame(NAMES), X])
    with pytest.warns(UserWarning, match="rows are taken by position"):
        out = check_views([frame(NAMES), frame(NAMES, 2 * X).iloc[::-1], X])
    for x, times in zip(out, (1, 2, 1)):
        np.testing.assert_array_equal(x, times * X)
    with pytest.warns(UserWarning, match="rows are taken by position"):
        check_views([frame().iloc[::-1], X])
