"""What all methods share: shuffling and its undoing, the checks, the refusal of too much memory."""

import inspect
import re

import numpy as np
import pytest
import scipy.sparse

from dmac._parameters import NON_NEGATIVE, TEXT, choice
from dmac.peers.base import Outcome, Peer, dense, parameters, unit_range

VIEWS = [np.arange(12.0)[:, None] * [1, 10], np.arange(12.0)[:, None] ** 2 + np.zeros((1, 3))]


@parameters
class Echo(Peer):
    """Says what it was given: the value of the first feature is the label of a sample."""

    kind: str = choice("none", TEXT, "Of its graph.")
    n_bytes: int = choice(0, NON_NEGATIVE, "What it says it takes.")

    def memory(self, n_samples, n_features):
        self.asked_ = n_samples, tuple(n_features)
        return self.n_bytes

    def _solve(self, views, generator):
        self.seen_ = views
        first, graph = dense(views[0])[:, 0], None
        bipartite = self.kind.endswith("anchors")
        if self.kind.endswith("square"):
            graph = np.outer(first, first + 1)
        elif bipartite:
            graph = first[:, None] * np.arange(1, 1 + int(self.kind.split()[-2]))
        if self.kind.startswith("sparse"):
            graph = scipy.sparse.coo_matrix(graph)
        return Outcome(first, dense(views[1]), graph, [generator.random()], bipartite)


def test_samples_are_shuffled_before_and_put_back_after():
    model = Echo(2, random_state=0)
    assert model.fit(VIEWS) is model
    order = model.seen_[0][:, 0].astype(int)
    assert order.tolist() != sorted(order) == list(range(12))
    # Every view in the same order.
    np.testing.assert_array_equal(model.seen_[1], VIEWS[1][order])
    np.testing.assert_array_equal(model.labels_, np.arange(12))
    np.testing.assert_array_equal(model.embedding_, VIEWS[1])
    assert not hasattr(model, "graph_")  # what a method does not have is not there
    assert len(model.history_) == 1 and model.n_features_ == (2, 3)


def test_a_later_fit_leaves_nothing_of_an_earlier_one():
    model = Echo(2, kind="square", random_state=0).fit(VIEWS)
    assert model.graph_.shape == (12, 12)
    assert not hasattr(model.set_params(kind="none").fit(VIEWS), "graph_")


@pytest.mark.parametrize("sparse", ["", "sparse "])
def test_a_graph_is_put_back_on_both_sides_and_one_to_anchors_by_rows_alone(sparse):
    i = np.arange(12)
    for kind, expected in (
        ("square", np.outer(i, i + 1)),
        ("3 anchors", i[:, None] * np.arange(1, 4)),
        ("12 anchors", i[:, None] * np.arange(1, 13)),  # as many as samples
    ):
        graph = Echo(2, kind=sparse + kind, random_state=0).fit(VIEWS).graph_
        assert getattr(graph, "format", "") == ("csr" if sparse else "")
        np.testing.assert_array_equal(scipy.sparse.csr_matrix(graph).toarray(), expected)


def test_a_generator_of_the_callers_goes_on_from_fit_to_fit():
    model = Echo(2, random_state=np.random.RandomState(0))
    assert model.fit(VIEWS).history_ != model.fit(VIEWS).history_


def test_sparse_views_stay_sparse_and_the_callers_are_left_alone():
    sparse = scipy.sparse.csr_matrix(VIEWS[0])
    model = Echo(2, random_state=0).fit([sparse, VIEWS[1]])
    assert model.seen_[0].format == "csr"
    np.testing.assert_array_equal(model.labels_, np.arange(12))
    np.testing.assert_array_equal(dense(sparse), VIEWS[0])


def test_too_much_memory_is_refused_before_anything_is_done():
    model = Echo(2, n_bytes=3 * 2**30, memory_budget=2**30)
    with pytest.raises(MemoryError, match=r"Echo on 12 samples .* 3\.0 GiB.* = 1\.0 GiB"):
        model.fit(VIEWS)
    assert model.asked_ == (12, (2, 3))
    assert not hasattr(model, "seen_") and not hasattr(model, "labels_")
    Echo(2, n_bytes=2**30, memory_budget=2**30).fit(VIEWS)  # as much as the budget is no more
    with pytest.raises(
        ValueError, match="n_bytes is -1, it must be a number of at least 0"
    ):  # checked before
        model.set_params(n_bytes=-1).fit(VIEWS)


@pytest.mark.parametrize("bad", [1, 0, -3, 13, 2.0, "3", None, True])
def test_a_wrong_number_of_clusters_is_refused(bad):
    why = "and there are 12 samples" if bad == 13 else "it must be an integer of at least 2"
    with pytest.raises(ValueError, match=f"n_clusters is {bad!r}, {why}"):
        Echo(bad).fit(VIEWS)


@pytest.mark.parametrize("call", [Echo(2).fit, Echo(2).fit_predict])
def test_a_view_in_the_place_of_labels_is_refused(call):
    with pytest.raises(ValueError, match=r"y has the shape \(12, 3\).*fit\(\[rna, protein\]\)"):
        call(*VIEWS)


def test_a_parameter_is_declared_once():
    # Docstring, signature and what scikit-learn asks for follow from the fields.
    names = ["n_clusters", "random_state", "memory_budget", "kind", "n_bytes"]
    signature = inspect.signature(Echo).parameters.values()
    assert [p.name for p in signature] == names and sorted(names) == list(Echo(2).get_params())
    assert [p.name for p in signature if p.kind is not p.KEYWORD_ONLY] == ["n_clusters"]
    assert "kind : a string\n    Of its graph." in Echo.__doc__
    assert re.findall(r"^(\w+) : ", Echo.__doc__.partition("Parameters")[2], re.MULTILINE) == names


def test_features_are_scaled_to_their_range():
    x = np.array([[1.0, 5, -1e308], [3, 5, 1e308], [2, 5, 0]])
    np.testing.assert_allclose(unit_range(x, 1.0), [[0, 1, 0], [1, 1, 1], [0.5, 1, 0.5]])
    np.testing.assert_array_equal(unit_range(x)[:, 1], 0)
