"""Scores on cases with a known answer, and against brute force over matchings."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import dmac
from dmac.metrics import contingency, matched

labellings = st.integers(1, 30).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(-3, 2), min_size=n, max_size=n) for _ in "ab"))
)


def brute_force(true, predicted):
    """Best accuracy over every injective matching, and the best macro F1 among those."""
    classes, clusters = sorted(set(true)), sorted(set(predicted))
    padded = clusters + [None] * max(0, len(classes) - len(clusters))
    best = []
    for chosen in itertools.permutations(padded, len(classes)):
        hits = [
            sum(t == j and p == k for t, p in zip(true, predicted)) for j, k in zip(classes, chosen)
        ]
        f1 = [
            2 * hit / (true.count(j) + predicted.count(k))
            for hit, j, k in zip(hits, classes, chosen)
        ]
        best.append((sum(hits) / len(true), round(sum(f1) / len(classes), 12)))
    return max(best)


@given(labellings)
def test_accuracy_and_f1_are_those_of_the_best_matching(pair):
    result = dmac.scores(*pair)
    assert (result["acc"], result["f1"]) == pytest.approx(brute_force(*pair))


@given(labellings, st.permutations(range(6)), st.permutations(range(6)))
def test_renaming_clusters_and_classes_changes_nothing(pair, names, class_names):
    true, predicted = pair
    renamed = [f"cluster {names[p + 3]}" for p in predicted]
    renamed_true = [f"class {class_names[t + 3]}" for t in true]
    assert dmac.scores(renamed_true, renamed) == pytest.approx(dmac.scores(true, predicted))


@given(st.integers(1, 2000), st.integers(0, 10**6))
def test_one_sample_outweighs_f1_in_tables_of_many_classes(n, seed):
    rng = np.random.default_rng(seed)
    true, predicted = rng.integers(0, 150, n), rng.integers(0, 150, n)
    table = contingency(true, predicted)
    optimum = table[linear_sum_assignment(table, maximize=True)].sum()
    assert dmac.scores(true, predicted)["acc"] == optimum / n


def test_series_with_names_are_lined_up():
    pandas = pytest.importorskip("pandas")
    true, names = [0, 0, 0, 1, 1, 2], list("abcdef")
    series = pandas.Series(true, names)
    assert dmac.scores(series.iloc[[3, 0, 4, 5, 1, 2]], series)["ari"] == 1
    other = pandas.Series(true, list("uvwxyz"))
    with pytest.warns(UserWarning, match="first difference is 'a' and 'u'.: rows are taken by pos"):
        assert dmac.scores(series, other)["ari"] == 1


@pytest.mark.parametrize(
    "true, predicted, expected",
    [
        (
            ["b", "a", "b", "c"],
            [10, -2, 10, 7],
            dict(acc=1, nmi=1, ari=1, purity=1, f1=1),
        ),
        (
            # Two classes of 4; the second is split 3 + 1.
            [0, 0, 0, 0, 1, 1, 1, 1],
            [5, 5, 5, 5, 6, 6, 6, 9],
            dict(
                acc=7 / 8,  # the sample of the odd cluster counts as wrong
                purity=1,
                # The clusters say all about the classes: log 2, beside an entropy of their own.
                nmi=2 * np.log(2) / (1.5 * np.log(2) + 3 / 8 * np.log(8 / 3) + np.log(8) / 8),
                f1=(1 + 2 * 3 / (4 + 3)) / 2,
            ),
        ),
    ],
    ids=["perfect", "more clusters than classes"],
)
def test_scores_that_are_known(true, predicted, expected):
    result = dmac.scores(true, predicted)
    assert {name: result[name] for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize(
    "true, predicted, message",
    [
        ([0, 1], [0], "2 labels.*1"),
        ([], [], "empty"),
        ([0.0, float("nan")], [0, 1], "true: entry 1 .* is nan"),
        ([None, "a"], [0, 1], "true: entry 0 .* is None"),
        ([0, 1], [0, None], "predicted: entry 1 .* is None"),
        (np.zeros((2, 2)), [0, 1], "one-dimensional"),
    ],
)
def test_unusable_labels_are_refused(true, predicted, message):
    with pytest.raises(ValueError, match=message):
        dmac.scores(true, predicted)


def test_matched_clusters_have_the_names_of_their_classes():
    true, predicted = ["a", "a", "a", "b", "b"], [5, 5, 2, 7, 7]
    assert matched(true, predicted).tolist() == [0, 0, -1, 1, 1]
    assert (matched(true, predicted) == [0, 0, 0, 1, 1]).mean() == dmac.scores(true, predicted)[
        "acc"
    ]
