"""How sure a label is: the share of a sample's links that end in each cluster."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import dmac
from dmac.agc.averaged_graph import AveragedGraph
from dmac.agc.membership import link_ends, memberships
from dmac.recipes import CLOSED_FORM


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.integers(4, 30), st.integers(2, 5))
def test_shares_are_those_of_the_dense_graph_whatever_the_order_and_the_names(seed, n, c):
    rng, s = np.random.default_rng(seed), np.zeros((n, 6))
    for row in s:  # two links a sample: rows of B B^T sum to 1
        row[rng.choice(6, 2, replace=False)] = rng.dirichlet([1, 1])
    rows = scipy.sparse.csr_matrix(s / np.sqrt(np.where(s.sum(0) > 0, s.sum(0), 1)))
    labels = rng.integers(c, size=n)
    graph = AveragedGraph(rows)
    shares = memberships(graph.rows, link_ends(graph, labels, c))
    dense = (rows @ rows.T).toarray()
    np.testing.assert_allclose(shares, dense @ np.eye(c)[labels] / dense.sum(1, keepdims=True))
    np.testing.assert_allclose(shares.sum(1), 1)
    order, names = rng.permutation(n), rng.permutation(c)
    other = AveragedGraph(rows[order])
    again = memberships(other.rows, link_ends(other, names[labels[order]], c))
    np.testing.assert_allclose(again[:, names], shares[order])


def test_a_group_without_links_to_others_has_1_and_a_sample_without_links_is_everyones():
    block = np.full((3, 2), 0.5) / np.sqrt(1.5)
    rows = scipy.sparse.csr_matrix(scipy.sparse.block_diag([block, block]))
    graph = AveragedGraph(rows)
    ends = link_ends(graph, np.array([0, 0, 0, 1, 1, 1]), 2)
    np.testing.assert_allclose(memberships(graph.rows, ends)[:, 0], [1, 1, 1, 0, 0, 0])
    np.testing.assert_array_equal(memberships(rows[:1] * 0, ends), [[0.5, 0.5]])


@pytest.fixture(scope="module")
def data():
    whole = dmac.load("mfeat")
    return dmac.MultiViewData("quarter", [x[::4] for x in whole.views], whole.labels[::4], 10)


@pytest.fixture(scope="module")
def model(data):
    return dmac.AnchorGraphClustering(10, random_state=0).fit(data.views)


def test_right_labels_are_surer_and_the_surer_half_is_better(model, data):
    assert (model.membership_.argmax(1) == model.labels_).mean() > 0.98
    classes = np.array([np.bincount(data.labels[model.labels_ == k]).argmax() for k in range(10)])
    right = classes[model.labels_] == data.labels
    assert model.confidence_[right].mean() > model.confidence_[~right].mean() + 0.2
    assert right[model.confidence_ > np.median(model.confidence_)].mean() > right.mean()


def test_new_samples_get_theirs_and_a_saved_model_keeps_them(model, data, saved):
    shares = model.predict_proba(data.views)
    np.testing.assert_allclose(shares, model.membership_, atol=1e-6)
    some = [x[:7] for x in data.views]
    kept = saved(model)
    np.testing.assert_allclose(model.predict_proba(some), shares[:7], atol=1e-6)
    np.testing.assert_array_equal(kept.membership_, model.membership_)
    np.testing.assert_array_equal(kept.predict_proba(some), model.predict_proba(some))


def test_samples_that_are_placed_have_them_as_those_of_the_fit(model, data):
    recipe = dataclasses.replace(CLOSED_FORM, fit_samples=250, fit_of_cluster=10)
    part = dmac.AnchorGraphClustering(10, recipe, random_state=0).fit(data.views)
    np.testing.assert_allclose(part.membership_, part.predict_proba(data.views), atol=1e-6)
    assert abs(part.confidence_.mean() - model.confidence_.mean()) < 0.1
    assert np.corrcoef(part.confidence_, model.confidence_)[0, 1] > 0.5


def test_a_frame_has_names_clusters_and_how_sure_they_are(model, data):
    names = [f"numeral {i}" for i in range(5)]
    frame = model.predict([pd.DataFrame(x[:5], names) for x in data.views], as_frame=True)
    assert frame.index.tolist() == names and frame.columns.tolist() == ["cluster", "confidence"]
    np.testing.assert_array_equal(frame.cluster, model.labels_[:5])
    np.testing.assert_allclose(frame.confidence, model.confidence_[:5], atol=1e-6)
    unnamed = model.predict([x[:5] for x in data.views], as_frame=True)
    assert unnamed.index.tolist() == [*range(5)]
