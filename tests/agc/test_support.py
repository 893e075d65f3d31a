"""How far the views' graphs support the clusters: closed forms, chance, a view that takes over."""

import dataclasses
import warnings

import numpy as np
import pytest
import scipy.sparse
from helpers import accuracy as acc

import dmac
from dmac.agc.anchor_sets import Drawn
from dmac.agc.averaged_graph import AveragedGraph, average
from dmac.agc.blocks import Block
from dmac.agc.support import view_agreement, view_support, view_weights, warn_of_one_view
from dmac.recipes import CLOSED_FORM, CLOSED_FORM_2026_11

SMALL = dataclasses.replace(CLOSED_FORM, anchor_sets=4)
EQUAL = dataclasses.replace(CLOSED_FORM_2026_11, anchor_sets=4)


def factor(*anchors):
    """B of samples that are each on one anchor; None is on none."""
    m = max(a for a in anchors if a is not None) + 1
    s = np.array([[a == j for j in range(m)] for a in anchors], float)
    return scipy.sparse.csr_matrix(s / np.sqrt(s.sum(0)))


def drawn(views, factors):
    """Graphs of views by their numbers; None is of all views."""
    return [
        Drawn(Block("plain", a, None, 1.0, ()), None, factor) for a, factor in zip(views, factors)
    ]


def support(labels, *factors, joint=()):
    """Of views with one graph each; those at ``joint`` are graphs of all views, and say nothing."""
    views = [None if a in joint else a for a in range(len(factors))]
    return view_support(np.array(labels), drawn(views, factors), len(factors))


def test_closed_forms():
    """A step stays in its cluster always; in half of the cases; and as often as a pair allows."""
    labels = [0, 0, 1, 1]
    same, across = factor(0, 0, 1, 1), factor(0, 1, 0, 1)
    # Tr G = 2, so chance is (2 - 1) / 3; a step across stays with 1/2, s = 0, (0 - 1/3) / (2/3).
    np.testing.assert_allclose(support(labels, same, across), [1, -0.5])
    np.testing.assert_allclose(support(labels, factor(0, 0, 0, 1)), 0, atol=1e-12)
    np.testing.assert_allclose(support(labels, same, across, joint=[1]), [1, np.nan])
    for clusters, graph in (
        (labels, factor(0, 1, 2, 3)),  # no step leaves a sample
        (labels, factor(0, 0, 0, 0)),  # all are alike
        ([0, 0, 0, 0], same),
    ):
        assert np.isnan(support(clusters, graph)).all()


def test_agreement_in_closed_form():
    """With halves that a view's graph has, has and cuts across, has in part, of three samples."""
    same, across = factor(0, 0, 1, 1), factor(0, 1, 0, 1)
    in_part, lacking = factor(0, 0, 0, 1), factor(0, 1, 1, None)
    graphs = drawn([0, 1, 1, 2, 3, None], [same, same, across, in_part, lacking, across])
    graph = AveragedGraph(average([same, lacking], [1, 1]))  # of the last sample 1/2
    halves, other = np.array([1.0, 1, -1, -1]), np.array([1.0, -1, 1, -1])
    # In part: (1^2 / 3 + 1^2) / 4. Around their mean three are 2/3, 2/3, -4/3: (4 + 2^2 / 2) / 24.
    expected = [1, 1 / 2, 1 / 3, 1 / 4, np.nan]
    found = view_agreement((graph.shares * halves)[:, None], graph, graphs, 5)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    both = 1e-3 * graph.shares[:, None] * np.stack([halves, other], 1)  # in any unit
    np.testing.assert_allclose(view_agreement(both, graph, graphs, 5)[:2], 1 / 2)
    graph = AveragedGraph(lacking)  # of the last sample no graph says anything
    found = view_agreement((graph.shares * halves)[:, None], graph, graphs, 5)
    assert found[3] == pytest.approx(1 / 4)


def test_a_view_answers_for_the_samples_that_it_has():
    labels, anchors = [0, 0, 1, 1, 1, 0], [0, 0, 1, 1, 0, None]
    whole = support(labels, factor(*anchors), factor(0, 0, 0, 1, 1, 1))
    assert whole[0] == pytest.approx(support(labels[:5], factor(*anchors[:5]))[0])


def with_categories(n=150, c=3, k=3, seed=0):
    """Two views of c classes, each with its own noise; classes; k random categories."""
    rng = np.random.default_rng(seed)
    labels, categories = rng.integers(c, size=n), rng.integers(k, size=n)
    views = [2.5 * rng.normal(size=(c, d))[labels] / d**0.5 for d in (20, 30)]
    return [x + rng.normal(size=x.shape) for x in views], labels, categories


def fit(views, c=3, recipe=SMALL, **given):
    return dmac.AnchorGraphClustering(c, recipe, random_state=0, device="cpu").fit(views, **given)


@pytest.mark.parametrize("c, k, seed", [(3, 3, 0), (3, 3, 1), (3, 6, 2), (5, 5, 3)])
def test_random_categories_that_take_over_are_named(c, k, seed):
    views, labels, categories = with_categories(300, c, k, seed)
    good = fit(views, c)  # and without a warning
    assert acc(labels, good.labels_) > 0.85 and good.support_of_others_.min() > 0.25
    views.append(np.eye(k)[categories])
    with pytest.warns(UserWarning, match="view 3 decides alone: its own graph supports .* by 1.00"):
        bad = fit(views, c, EQUAL)
    assert acc(labels, bad.labels_) < 0.5
    assert bad.view_agreement_.argmax() == 2  # which points at the view that leads astray
    assert bad.support_of_others_[2] < 0.05 < 0.4 < bad.support_of_others_[:2].min()
    outvoted = fit(views, c)  # and without a warning
    assert acc(labels, outvoted.labels_) > 0.85
    assert outvoted.model_.weights[2] < 0.2 < 0.8 < outvoted.model_.weights[:2].min()


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_view_that_says_nothing_is_not_asked(value):
    (first, second), *_ = with_categories()
    nothing = np.full((150, 4), value)
    model = fit([first, second, nothing])  # and without a warning
    own = model.model_.support
    assert np.isnan(own).tolist() == [False, False, True]
    np.testing.assert_allclose(model.support_of_others_, [own[1], own[0], own[:2].mean()])
    assert np.isnan(fit([first, nothing]).support_of_others_).tolist() == [True, False]


def test_two_views_one_view_and_recipes_without_graphs_of_views(saved):
    views, _, _ = with_categories()
    two = fit(views)
    np.testing.assert_allclose(two.support_of_others_, two.model_.support[::-1])
    joint = dataclasses.replace(SMALL, blocks="joint")
    for other in (fit(views[:1]), fit(views, recipe=joint)):
        assert np.isnan(other.support_of_others_).all()
    np.testing.assert_array_equal(saved(two).support_of_others_, two.support_of_others_)
    with pytest.warns(FutureWarning, match="view_support_ is support_of_others_"):
        np.testing.assert_array_equal(two.view_support_, two.support_of_others_)


@pytest.mark.parametrize(
    "own, warned",
    [
        ([0.9, 0.0], "view 1"),
        ([0.05, 0.02, 0.5], "view 3"),
        ([0.9, 0.2], None),
        ([0.3, 0.0], None),
        ([0.9, np.nan], None),
        ([0.9, 0.9, 0.0], None),
        ([np.nan, -0.1, 1.0], "view 3"),
    ],
)
def test_when_one_view_decides_alone(own, warned):
    with warnings.catch_warnings(record=True, action="always") as said:
        warn_of_one_view(np.array(own), ["view 1", "view 2", "view 3"])
    assert [str(one.message).split(" decides")[0] for one in said] == [warned] * bool(warned)


def weights(n_clusters, *factors, views=None):
    """Of views with one graph each, or of the given views."""
    views = views or range(len(factors))
    return view_weights(drawn(views, factors), 1 + max(views), n_clusters)


def test_weights_in_closed_form():
    """Two views halve eight samples alike, a third across: chance is (2 - 1) / 7 in each."""
    same, across = factor(0, 0, 0, 0, 1, 1, 1, 1), factor(0, 1, 0, 1, 0, 1, 0, 1)
    # By the other 1, by the third (0 - 1/7) / (6/7): the mean is 5/12. The third has -1/6, so 0.
    delta = np.sqrt(2 / 7 / (2 * 1 * 7))
    expected = [1, 1, delta / (5 / 12 + delta)]
    np.testing.assert_allclose(weights(2, same, same, across), expected)
    np.testing.assert_allclose(weights(2, across, same, same), expected[::-1])
    # Of two levels of a view, the one that the others support counts. The others have
    # (1 - 1/6 + 1) / 3, and it has 1.
    both = weights(2, same, same, across, same, views=[0, 1, 2, 2])
    np.testing.assert_allclose(both, [(11 / 18 + delta) / (1 + delta)] * 2 + [1])


def test_without_a_majority_views_weigh_the_same():
    same, across = factor(0, 0, 1, 1, 0, 1), factor(0, 1, 0, 1, 1, 0)
    alike, alone = factor(0, 0, 0, 0, 0, 0), factor(0, 1, 2, 3, 4, 5)
    for others in ((), (alike,), (alone,)):  # these do not answer
        np.testing.assert_array_equal(weights(2, same, factor(0, 0, 1, 1, 1, 1), *others), 1)
    np.testing.assert_array_equal(weights(1, same, across, same), 1)
    asked = weights(2, same, alike, same, across)
    assert asked[1] == asked[3] < 0.5 < asked[0] == asked[2] == 1
    (first, second), *_ = with_categories()
    joint, three = dataclasses.replace(SMALL, blocks="joint"), [first, second, first]
    for views, recipe in (([first, second], SMALL), (three, EQUAL), (three, joint)):
        assert fit(views, recipe=recipe).model_.weights is None


def test_weighed_views_are_saved_and_predict_what_was_fitted(saved):
    views, _, categories = with_categories()
    views.append(np.eye(3)[categories])
    model = fit(views)
    again = saved(model)
    np.testing.assert_array_equal(again.model_.weights, model.model_.weights)
    for one in (model, again):
        np.testing.assert_array_equal(one.predict(views), model.labels_)
    present = (np.arange(150)[:, None] % 3 != range(3)) | (np.arange(150)[:, None] < 30)
    filled = fit(views, present=present)
    assert filled.model_.completion is not None and filled.model_.weights[2] < 0.5
    np.testing.assert_array_equal(filled.predict(views, present=present), filled.labels_)


def weighed(*weights):
    return dataclasses.replace(SMALL, view_weight=weights)


@pytest.mark.filterwarnings("ignore:(view . decides|.* have all views|the clusters go)")
def test_views_may_be_weighed_by_hand(saved):
    views, classes, categories = with_categories()
    views = [views[0], np.eye(3)[categories]]
    alike, same = fit(views, recipe=weighed(2, 2)), fit(views)
    np.testing.assert_allclose(alike.embedding_, same.embedding_, atol=1e-4)  # but for rounding
    for weights, expected in (((1, 0), classes), ((0, 1), categories), ((20, 1), classes)):
        model = fit(views, recipe=weighed(*weights))
        assert dmac.scores(expected, model.labels_)["ari"] > 0.75
        np.testing.assert_array_equal(model.predict(views), model.labels_)
        assert np.isnan(model.view_agreement_[np.array(weights) == 0]).all()
    assert saved(model).recipe_ == model.recipe_ == weighed(*np.array([20, 1.0]))
    lacking = [np.where(np.arange(150)[:, None] % 3 == a, np.nan, x) for a, x in enumerate(views)]
    for weights in ((3, 1), (1, 0)):
        model = fit(lacking, recipe=weighed(*weights))
        np.testing.assert_array_equal(model.predict(lacking), model.labels_)


def test_weights_of_other_views_are_refused():
    with pytest.raises(ValueError, match="view_weight has 3 weights, and there are 2 views"):
        fit(with_categories()[0], recipe=weighed(1, 1, 1))


@pytest.mark.parametrize(
    "bad", [(), (0, 0), (1, -1), (1, np.nan), (1, np.inf), ("a", "b"), "best"], ids=str
)
def test_what_weighs_nothing_is_refused(bad):
    with pytest.raises(ValueError, match="view_weight is .*, it must be one of .* or a sequence"):
        dataclasses.replace(SMALL, view_weight=bad)


def test_the_recipe_of_november_is_what_it_was():
    """The fields are as recipes had them that did not know them, as saved models have."""
    older = {
        "plain_scale": "rows",
        "view_weight": "equal",
        "levels": "both",
        "level_weight": "spread",
        "scaled_components": 30,
    }
    defaults = {f.name: f.default for f in dataclasses.fields(CLOSED_FORM_2026_11)}
    assert {name: defaults[name] for name in older} == older
    changed = dataclasses.replace(CLOSED_FORM, name="closed_form_2026_11", anchor_sets=6, **older)
    assert changed == CLOSED_FORM_2026_11
