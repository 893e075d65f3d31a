"""What all methods share: shuffling and its undoing, the checks, the refusal of too much memory."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse

from dmac.peers.base import MEMORY_BUDGET, Outcome, Peer, dense

VIEWS = [np.arange(12.0)[:, None] * [1, 10], np.arange(12.0)[:, None] ** 2 + np.zeros((1, 3))]


@dataclass(eq=False, repr=False)
class Echo(Peer):
    """Says what it was given: the value of the first feature is the label of a sample."""

    n_clusters: int
    kind: str = "none"
    n_bytes: int = 0
    random_state: object = None
    memory_budget: int = MEMORY_BUDGET

    def memory(self, n_samples, n_features):
        self.asked_ = n_samples, tuple(n_features)
        return self.n_bytes

    def _solve(self, views, generator):
        self.seen_ = views
        first = dense(views[0])[:, 0]
        graph = None
        if self.kind == "square":
            graph = np.outer(first, first + 1)
        elif self.kind == "sparse square":
            graph = scipy.sparse.coo_matrix(np.outer(first, first + 1))
        elif self.kind.endswith("anchors"):
            graph = first[:, None] * np.arange(1, 1 + int(self.kind.split()[-2]))
            graph = scipy.sparse.csc_matrix(graph) if "sparse" in self.kind else graph
        bipartite = self.kind.endswith("anchors")
        return Outcome(first, dense(views[1]), graph, [generator.random()], bipartite)

    def _check(self, n_samples):
        if self.n_bytes < 0:
            raise ValueError(f"n_bytes is {self.n_bytes} for {n_samples} samples")


def test_samples_are_shuffled_before_and_put_back_after():
    model = Echo(2, random_state=0).fit(VIEWS)
    order = model.seen_[0][:, 0].astype(int)
    assert (order != np.arange(12)).any() and sorted(order) == list(range(12))
    # Every view in the same order.
    np.testing.assert_array_equal(model.seen_[1], VIEWS[1][order])
    np.testing.assert_array_equal(model.labels_, np.arange(12))
    assert model.labels_.dtype == np.int64
    np.testing.assert_array_equal(model.embedding_, VIEWS[1])


@pytest.mark.parametrize("kind", ["square", "sparse square"])
def test_a_graph_between_samples_is_put_back_on_both_sides(kind):
    graph = Echo(2, kind, random_state=0).fit(VIEWS).graph_
    if kind == "sparse square":
        assert graph.format == "csr"
        graph = graph.toarray()
    np.testing.assert_array_equal(graph, np.outer(np.arange(12), np.arange(12) + 1))


@pytest.mark.parametrize("sparse", ["", "sparse "])
@pytest.mark.parametrize("m", [3, 12])  # also as many anchors as samples
def test_a_graph_to_anchors_is_put_back_by_rows_alone(sparse, m):
    graph = Echo(2, f"{sparse}{m} anchors", random_state=0).fit(VIEWS).graph_
    if sparse:
        assert graph.format == "csr"
        graph = graph.toarray()
    np.testing.assert_array_equal(graph, np.arange(12)[:, None] * np.arange(1, m + 1))


def test_what_a_method_does_not_have_is_not_there():
    model = Echo(2, random_state=0).fit(VIEWS)
    assert not hasattr(model, "graph_")
    assert len(model.history_) == 1 and model.n_features_ == (2, 3)
    assert model.fit(VIEWS) is model
    np.testing.assert_array_equal(Echo(2, random_state=0).fit_predict(VIEWS), np.arange(12))


def test_the_seed_decides_the_order_and_the_draws():
    one, again, other = (Echo(2, random_state=s).fit(VIEWS) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.seen_[0], again.seen_[0])
    assert one.history_ == again.history_ != other.history_
    assert (one.seen_[0] != other.seen_[0]).any()
    # A generator of the caller's goes on from fit to fit.
    state = np.random.RandomState(0)
    first = Echo(2, random_state=state).fit(VIEWS).history_
    assert first != Echo(2, random_state=state).fit(VIEWS).history_


def test_sparse_views_stay_sparse_and_the_callers_are_left_alone():
    sparse = scipy.sparse.csr_matrix(VIEWS[0])
    before = sparse.toarray()
    model = Echo(2, random_state=0).fit([sparse, VIEWS[1]])
    assert scipy.sparse.issparse(model.seen_[0]) and model.seen_[0].format == "csr"
    np.testing.assert_array_equal(model.labels_, np.arange(12))
    np.testing.assert_array_equal(sparse.toarray(), before)
    np.testing.assert_array_equal(dense(sparse), before)
    assert dense(VIEWS[0]) is VIEWS[0]


def test_too_much_memory_is_refused_before_anything_is_done():
    model = Echo(2, n_bytes=3 * 2**30, memory_budget=2**30)
    with pytest.raises(MemoryError, match=r"Echo on 12 samples .* 3\.0 GiB.* = 1\.0 GiB"):
        model.fit(VIEWS)
    assert model.asked_ == (12, (2, 3))
    assert not hasattr(model, "seen_") and not hasattr(model, "labels_")
    Echo(2, n_bytes=2**30, memory_budget=2**30).fit(VIEWS)  # as much as the budget is no more
    with pytest.raises(ValueError, match="n_bytes is -1 for 12 samples"):  # checked before
        model.set_params(n_bytes=-1).fit(VIEWS)


@pytest.mark.parametrize("bad", [1, 0, -3, 13, 2.0, "3", None, True])
def test_a_wrong_number_of_clusters_is_refused(bad):
    why = "must be from 2 to .* 12" if type(bad) is int else "must be an integer"
    with pytest.raises(ValueError, match=f"n_clusters is {bad!r}, it {why}"):
        Echo(bad).fit(VIEWS)
