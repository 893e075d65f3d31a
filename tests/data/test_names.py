"""Views are lined up by the names of their samples, and their columns held against a fit's."""

import re

import numpy as np
import pytest

from dmac.data.checks import check_views
from dmac.data.names import alike, as_named, check_feature_names, column_names, index_of, lined_up

pandas = pytest.importorskip("pandas")

X = np.arange(12.0).reshape(6, 2)
NAMES = list("uvwxyz")


def frame(index=None, x=X):
    return pandas.DataFrame(x, index=index)


def lacks(raised, texts):
    """Those of the texts that an error does not say."""
    return [text for text in texts if text not in str(raised.value)]


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
    for views, expected in (
        ((first, second, first), [X, 2 * X, X]),
        ([second, first], [2 * X[order], X[order]]),
    ):
        np.testing.assert_array_equal(check_views(views), expected)
    np.testing.assert_array_equal(second, 2 * X[order])  # what came in is as it was


def test_what_needs_no_order_is_handed_on():
    array, twice = np.ones((6, 1)), frame(list("aabbcc"))
    for views in (
        [frame(), frame()],
        [frame(NAMES), frame(NAMES)],
        [frame([*range(6)]), array],
        [array, frame()],
        [twice],
        [twice, twice],
        [array, array],
    ):
        found = lined_up(as_named(views))
        assert all(a.values is b and a.present is None for a, b in zip(found, views))


def test_sparse_and_nullable_columns_stay_what_they_are():
    sparse = frame(NAMES).astype(pandas.SparseDtype(float, 0)).iloc[::-1]
    out = lined_up(as_named([frame(NAMES), sparse]))[1].values
    assert all(isinstance(kind, pandas.SparseDtype) for kind in out.dtypes)
    np.testing.assert_array_equal(check_views([frame(NAMES), sparse])[1], X)


@pytest.mark.parametrize(
    "views, says",
    [
        (
            [frame(NAMES), frame(list("abcdef"))],
            [
                "view 1 and view 2",
                "0 names are in both",
                "6 only in view 1 (u, v, w, ...)",
                "(a, b, c",
            ],
        ),
        (
            [frame(NAMES), frame(NAMES), frame([*NAMES[:4], "q", "r"])],
            ["view 1 and view 3", "4 names are in both", "2 only in view 1 (y, z)", "3 (q, r)"],
        ),
        (
            [frame(NAMES), frame(NAMES).iloc[1:]],
            ["5 names are in both, 1 only in view 1 (u);", "frame.loc", "AnchorGraphClustering"],
        ),
        ([frame(NAMES), frame()], ["0 names are in both", "only in view 2 (0, 1, 2, ...)"]),
        ([frame(NAMES), frame([1, 2, 3, 4, 5, 6])], ["0 names", "(1, 2, 3, ...)", "by one name"]),
        (
            [frame([2, 1, 3, 4, 5, 6]), frame(list("213456"))],
            ["0 names", "(2 and '2', 1 and '1' differ"],
        ),
        ([frame(NAMES), frame(list("UVWXYZ"))], ["0 names", "('u' and 'U', 'v' and 'V' differ"]),
        ([frame(NAMES), frame(list("aabbcc"))], ["view 2 names samples twice", "('a', 'b', 'c')"]),
        (
            [frame(list("uvwxyu")), frame(NAMES)],
            ["view 1 names samples twice", "to_numpy()"],
        ),
        ([frame(), frame().iloc[:5]], ["view 2 has 5 samples, view 1 has 6"]),
    ],
)
def test_other_names_and_names_twice_are_refused(views, says):
    with pytest.raises(ValueError, match="names|samples") as raised:
        check_views(views)
    assert lacks(raised, says) == [] and len(str(raised.value)) < 400


def test_names_that_only_count_are_those_of_the_first_frame():
    assert index_of([frame(), frame(range(1, 7))]).tolist() == [*range(6)]


def test_the_union_of_frames_of_other_samples():
    """In the order of the first frame, then of the names that the others add."""
    frames = [
        frame(NAMES, X + 1),
        frame(list("zqxr"), X[:4] + 20),
        frame(list("sq"), X[:2] + 40),  # shares a name with the second alone
    ]
    expected = [one.reindex([*NAMES, "q", "r", "s"], fill_value=0) for one in frames]
    assert index_of(frames).tolist() == expected[0].index.tolist()
    for x, wanted in zip(check_views(frames, incomplete=True), expected, strict=True):
        np.testing.assert_array_equal(x, wanted)
    some = frame(["u", "q"], [[np.nan, np.nan], [1, 1]])  # a row of NaN, and none for others
    assert not check_views([frames[0], some], incomplete=True)[1][0].any()


@pytest.mark.parametrize(
    "views, says",
    [
        (
            [frame(NAMES), frame(["u", "q"], [[1.0, np.nan], [1, 1]])],
            "view 2 .* at row 0, column 1",
        ),
        (
            [frame(NAMES), frame(list("uv"), X[:2]), frame(list("de"), X[:2])],
            "view 1 and view 3 .*: 0 names are",
        ),
        (
            [frame(NAMES), frame(list("uq"), X[:2]), X],
            "view 3 has no names of samples, and the other",
        ),
        ([frame(NAMES), frame(NAMES).iloc[:0]], "0 names are in both"),
        # Times without a zone, and with one.
        (
            [frame(pandas.date_range("2026-01-01", periods=6, tz=zone)) for zone in (None, "UTC")],
            "0 names are in both.*differ in writing alone",
        ),
    ],
)
def test_views_that_cannot_be_united_are_refused(views, says):
    with pytest.raises(ValueError, match=says):
        check_views(views, incomplete=True)


WRITINGS = {
    "case": str.upper,
    "a space": lambda name: f"{name} ",
    "signs": lambda name: name.replace("-", "_"),
    "other signs": lambda name: name.replace("-", "."),
    "an X before a digit": lambda name: f"X{name}",
    "zeros in front": lambda name: f"00{name}",
    "a suffix": lambda name: f"{name}-01A-21",
}


@pytest.mark.parametrize("kind", WRITINGS)
def test_names_that_differ_in_writing_only_are_doubted_with_two_examples(kind):
    names = [f"{i}-p{i}" for i in range(1, 7)]
    other = [WRITINGS[kind](name) for name in names[:3]] + names[3:]
    for first, second in ((names, other), (other, names)):
        examples = re.escape(f": '{first[0]}' and '{second[0]}', '{first[1]}' and '")
        says = f"3 samples may have two names, which differ in writing.*{examples}"
        with pytest.warns(UserWarning, match=says):
            check_views([frame(first), frame(second)], incomplete=True)


ENDS = {
    "a longer barcode": ("-01", "-01A-11R"),
    "two words": ("_rna", "_prot"),
    "two forms of Unicode": ("é", "é".encode().decode().replace("é", "e\u0301")),
    "a zone": (" 00:00:00", "T00:00:00+00:00"),
}


@pytest.mark.parametrize("kind", ENDS)
def test_ends_of_some_names_are_doubted(kind):
    names = [f"S-2026-{i}" for i in range(10, 16)]
    first, second = ([name + end for name in names[:3]] + names[3:] for end in ENDS[kind])
    with pytest.warns(UserWarning, match="3 samples may have two names, which differ in writing"):
        check_views([frame(first), frame(second)], incomplete=True)


def test_names_that_only_count_are_none():
    """Two frames that were filtered alike, of which one forgot its names."""
    kept, text = [1, 2, 4, 6, 7, 9], list("012345")
    for first, second in (
        (None, kept),
        (kept, None),
        (text, [str(i) for i in kept]),
        (None, [10, 11, 12, 13, 14, 15]),
        (range(1, 7), kept),
    ):
        with pytest.raises(
            ValueError, match="view . only counts its samples .*other whole numbers"
        ):
            check_views([frame(first), frame(second)], incomplete=True)
    for first, second in ((None, None), (None, range(1, 7)), (None, text), (text, range(6))):
        found = check_views([frame(first), frame(second, 2 * X)], incomplete=True)
        np.testing.assert_array_equal(found[1], 2 * X)
    with pytest.warns(
        UserWarning, match="view 1 only counts its samples .0, 1, 2, ...., and view 2"
    ):
        found = check_views([frame(), frame().iloc[1:]], incomplete=True)  # which may be so
    np.testing.assert_array_equal(found[1], [[0, 0], *X[1:]])
    np.testing.assert_array_equal(check_views([frame(), frame().iloc[::-1]])[1], X)
    ids = [frame(pandas.RangeIndex(a, a + 6, name="patient"), X + 1) for a in (0, 3)]
    with pytest.warns(UserWarning, match="view 1 only counts its samples"):
        assert len(check_views(ids, incomplete=True)[0]) == 9  # an index with a name is believed


@pytest.mark.parametrize("header", ["Unnamed: 0", "patient_id"])
def test_columns_that_name_samples_are_no_features(header):
    given = frame().assign(**{header: range(6)})
    with pytest.warns(UserWarning, match=f"view 2 has the features {header!r}, which seem to name"):
        check_views([X, given], incomplete=True)
    check_views([X, given.assign(**{header: 1})], incomplete=True)


@pytest.mark.parametrize("wrong", ["Entrez_Gene_Id", "start", "Length", "Total", "gene length"])
def test_rows_that_describe_features_are_no_samples(wrong):
    for names in ([wrong, *NAMES[1:]], [*NAMES[1:], wrong], ["Start", wrong, *NAMES[2:]]):
        with pytest.raises(ValueError, match=f"view 2 has .*{wrong!r}.* where samples are named"):
            check_views([frame(NAMES), frame(names)], incomplete=True)
    check_views([frame([NAMES[0], wrong, *NAMES[2:]])])  # amid others it is a name as others are


def test_names_of_two_samples_are_not_doubted():
    both = frame(["u", "U", *NAMES[2:]])
    check_views([both, both.iloc[::-1]])  # every frame has both: these are two
    for names, pairs in (
        ([["u", "U", "v"], ["U", "w"]], []),
        ([["TCGA-A1-01", "TCGA-A1-02"], ["TCGA-A1-03", "TCGA-A2-02"]], []),
        ([[1, 2], [1.0, "2"]], [(2, "2")]),
    ):
        assert alike(names) == pairs


@pytest.mark.parametrize("missing", [np.nan, None, pandas.NaT, ("a", float("nan"))])
def test_a_name_that_is_missing_is_refused(missing):
    first, second = frame([missing, *NAMES[1:]]), frame([*NAMES[1:], missing])
    with pytest.raises(ValueError, match="view 1 names samples .* not at all .*(nan|None|NaT)"):
        check_views([first, second], incomplete=True)


def test_a_mask_with_names_is_lined_up():
    frames = [frame(NAMES), frame([*NAMES[:4], "q", "r"], X + 1)]
    names = [*NAMES, "q", "r"]
    has = pandas.DataFrame([[name not in "uq", name != "w"] for name in names], index=names)
    has.loc["q", 0], has.loc["u", 1] = True, True  # the frame says that q lacks the first view
    for present in (has, has.iloc[::-1], has.to_numpy(), has.reset_index(drop=True)):
        found = [x.any(1) for x in check_views(frames, incomplete=True, present=present)]
        np.testing.assert_array_equal(found, [[0, 1, 1, 1, 1, 1, 0, 0], [1, 1, 0, 1, 0, 0, 1, 1]])
    with pytest.raises(ValueError, match=r"present must .* as \(8, 2\): it has the shape \(6, 2\)"):
        check_views(frames, incomplete=True, present=has.iloc[:6])


def test_a_frame_beside_an_array_is_taken_by_position_with_a_warning():
    for views, said in (
        ([X, frame(NAMES), X], "view 2 has names of samples, and view 1 and view 3 have none"),
        ([frame().iloc[::-1], X], "view 1 has names of samples, and view 2 has none"),
    ):
        with pytest.warns(UserWarning, match=f"{said}.*rows are taken by position"):
            check_views(views)
    with pytest.raises(ValueError, match="view 3 has no names .* it cannot be told which row is"):
        check_views([frame(NAMES), frame(NAMES, 2 * X).iloc[::-1], X])


# --- names of columns


def columns(*names):
    return pandas.DataFrame(np.ones((3, len(names))), columns=list(names))


def names_of(views):
    return column_names(as_named(views))


def compare(views, fitted, widths):
    check_feature_names(as_named(views), fitted, widths)


FITTED = names_of([columns("a", "b"), columns("c")])


def test_without_a_string_for_every_column_there_are_no_names():
    array = np.ones((3, 2))
    for views in ([array], [columns("a", 2)], columns(0, 1)):
        assert names_of(views).tolist() == [None, None]
    assert names_of([columns("a"), array]).tolist() == ["a", None, None]


def test_each_view_is_compared_with_its_own_names_if_these_are_text():
    array, dates = np.ones((3, 2)), pandas.date_range("2026-01-01", periods=2)
    views = [columns("a", "b"), array, columns(0, 1), columns("a", 1), columns(*dates)]
    fitted = names_of(views)
    assert fitted.tolist() == ["a", "b", *[None] * 8]
    others = array, columns(2, 1), columns("b", 1), columns(*dates[::-1])
    for second in (array, columns("b", "a")):
        compare([columns("a", "b"), second, *others[1:]], fitted, (2,) * 5)
    with pytest.raises(ValueError, match="view 1: .*\n.*same order"):
        compare([columns("b", "a"), *others], fitted, (2,) * 5)
    with pytest.warns(UserWarning, match="view 1.* has none: columns are taken"):
        compare([columns(0, 1), *others], fitted, (2,) * 5)


@pytest.mark.parametrize(
    "views, says, says_not",
    [
        (
            [columns("b", "a"), columns("c")],
            ["view 1: ", "same order as they were in fit"],
            "unseen",
        ),
        (
            [columns("a", "b"), columns("d")],
            ["view 2: ", "unseen at fit time:\n- d\n", "yet now missing:\n- c\n"],
            "order",
        ),
        ([columns("a", "b"), columns("c", *"defghi")], ["- d\n- e\n- f\n- g\n- h\n- ...\n"], "- i"),
    ],
)
def test_other_names_are_listed(views, says, says_not):
    with pytest.raises(ValueError, match="feature names should match") as raised:
        compare(views, FITTED, (2, 1))
    assert lacks(raised, says) == [] and lacks(raised, [says_not]) == [says_not]
    with pytest.raises(ValueError, match="^The feature names should match"):  # of one view
        compare(columns("b"), names_of(columns("a")), (1,))


class Labelled:
    """What is asked of a DataArray of xarray."""

    def __init__(self, values, names, dims=("who", "what")):
        self.values, self.dims, self.ndim, self.shape = values, dims, 2, values.shape
        self.name, coordinate = None, type("Coordinate", (), {})()
        coordinate.values, coordinate.dims = np.array(names), dims[:1]
        self.coords = {"who": coordinate}


@pytest.mark.parametrize("dims", [("who", "what"), ("row", "column")])
def test_arrays_with_coordinates_are_lined_up_by_them(dims):
    order = [3, 0, 5, 1, 4, 2]
    views = [Labelled(X, NAMES, dims), Labelled(2 * X[order], [NAMES[i] for i in order], dims)]
    np.testing.assert_array_equal(check_views(views), [X, 2 * X])


def test_frames_that_go_by_places_are_doubted_where_a_column_names_them():
    ids = np.array([31, 7, 12, 90, 55, 4])
    first, second = (frame(x=x).assign(run=ids) for x in (X, 2 * X))
    check_views([first, second])
    check_views([first.set_index("run"), second.iloc[::-1].set_index("run")])
    with pytest.warns(UserWarning, match=r"the column 'run', .* in other orders, .*set_index"):
        check_views([first, second.iloc[::-1].reset_index(drop=True)])
    check_views([first, second.iloc[::-1].assign(run=range(100, 106)).reset_index(drop=True)])


@pytest.mark.parametrize("what", ["sum", "mean"])
def test_a_last_row_of_a_frame_that_adds_the_others_up_is_refused(what):
    x = 5 + np.random.default_rng(0).normal(size=(9, 4))
    x = np.vstack([x, getattr(x, what)(0)])
    with pytest.raises(ValueError, match=rf"last row of view 1 \(whole\) is the {what} of the oth"):
        check_views([frame([*map(str, range(9)), "whole"], x)])
    check_views([frame([*map(str, range(9)), "whole"], x[::-1])])
