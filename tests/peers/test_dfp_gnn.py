"""DFP-GNN: its last loss against a reference, its stages, and what every system has to do."""

import inspect

import numpy as np
import pytest
import scipy.sparse
import torch
from helpers import assert_matches
from sklearn.base import clone

from dmac.metrics import scores
from dmac.peers._gcn import Links
from dmac.peers.dfp_gnn import DFPGNN, tuning_loss


def easy_views(n=90, seed=0):
    """Three views of three well separated clusters, and the clusters."""
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % 3
    return [
        4 * rng.standard_normal((3, d))[classes] + 0.8 * rng.standard_normal((n, d))
        for d in (7, 5, 9)
    ], classes


def quick(**more):
    return DFPGNN(3, **(dict(random_state=0, hidden=(8, 6), shared=(5, 4), n_neighbors=8, pretrain_epochs=4, epochs=4, refresh=2) | more))


def test_finds_easy_clusters():
    views, classes = easy_views()
    fitted = DFPGNN(3, n_neighbors=12, n_fused_neighbors=12, hidden=(16, 16, 8), shared=(8, 8, 4), lr=3e-3,
        pretrain_epochs=60, epochs=40, random_state=0).fit(views)
    assert scores(classes, fitted.labels_)["acc"] > 0.95


def test_order_of_samples_does_not_matter():
    views, classes = easy_views()
    order = np.random.default_rng(1).permutation(len(classes))
    model = DFPGNN(3, n_neighbors=12, n_fused_neighbors=12, hidden=(16, 16, 8), shared=(8, 8, 4), lr=3e-3,
        pretrain_epochs=60, epochs=40, random_state=0)
    labels, permuted = model.fit_predict(views), model.fit_predict([x[order] for x in views])
    assert scores(labels[order], permuted)["acc"] > 0.95
    assert scores(classes[order], permuted)["acc"] > 0.95


def test_same_seed_same_labels_and_no_global_randomness():
    views, _ = easy_views()
    global_state, torch_state = np.random.get_state()[1].copy(), torch.random.get_rng_state()
    first, second, other = (quick(random_state=seed).fit(views) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_array_equal(first.embedding_, second.embedding_)
    assert not np.array_equal(first.embedding_, other.embedding_)
    assert torch.equal(torch.random.get_rng_state(), torch_state)
    np.testing.assert_array_equal(np.random.get_state()[1], global_state)


def test_labels_are_not_used():
    views, classes = easy_views()
    np.testing.assert_array_equal(
        quick().fit(views, classes).embedding_, quick().fit(views).embedding_
    )


def test_parameters_are_stored_and_cloned():
    model = quick(lr=0.5)
    assert clone(model).get_params() == model.get_params()
    assert set(model.get_params()) == set(inspect.signature(DFPGNN).parameters)


def degenerate():
    views, _ = easy_views(24)
    zero_row = [x.copy() for x in views]
    for x in zero_row:
        x[3] = 0
    constant = [np.hstack([x, np.ones((24, 1))]) for x in views]
    return {
        "zero row": zero_row,
        "constant column": constant,
        "sparse": [scipy.sparse.csr_matrix(np.abs(x) * (x > 1)) for x in views],
        "one view": views[:1],
        "five views": [*views, *views[:2]],
        "integers": [np.rint(x).astype(int) for x in views],
        "two distinct samples": [x[np.arange(24) % 2] for x in views],
        "all zero": [np.zeros((24, 4))],
        "three samples": [x[:3] for x in views],
        "one feature": [x[:, :1] for x in views],
    }


@pytest.mark.parametrize("kind", degenerate())
def test_degenerate_views_give_finite_results(kind):
    views = degenerate()[kind]
    fitted = quick().fit(views)
    n = views[0].shape[0]
    assert fitted.labels_.shape == (n,) and set(fitted.labels_) <= {0, 1, 2}
    assert fitted.embedding_.shape == (n, 4) and np.isfinite(fitted.embedding_).all()
    assert all(np.isfinite(record.loss) for record in fitted.history_)


def test_sparse_and_dense_views_give_the_same():
    views = [np.abs(x) * (np.arange(x.shape[1]) > 0) for x in easy_views()[0]]
    sparse = [scipy.sparse.csr_matrix(x) for x in views]
    np.testing.assert_allclose(
        quick().fit(sparse).embedding_, quick().fit(views).embedding_, atol=1e-4
    )


def test_too_much_memory_is_refused_before_anything_is_allocated(monkeypatch):
    views, _ = easy_views()
    monkeypatch.setattr(DFPGNN, "_solve", lambda *args: pytest.fail("it began"))
    with pytest.raises(MemoryError, match="DFPGNN on 90 samples"):
        quick(memory_budget=quick().memory(90, (7, 5, 9)) - 1).fit(views)


@pytest.mark.parametrize(
    "bad",
    [{"n_neighbors": 0}, {"hidden": ()}, {"shared": (3, 0)}, {"flat": -1}, {"lr": np.nan},
     {"patience": 0}, {"device": "abacus"}],
    ids=str,
)
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        quick(**bad).fit(easy_views()[0])


def test_loss_of_the_last_stage_is_its_definition():
    generator = torch.Generator().manual_seed(0)
    z, h_hat, logits = (
        torch.randn(6, d, generator=generator, dtype=torch.float64).requires_grad_()
        for d in (3, 4, 2)
    )
    h = torch.randn(6, 4, generator=generator, dtype=torch.float64)
    p = torch.randn(6, 2, generator=generator, dtype=torch.float64).softmax(1)
    rings = [np.roll(np.eye(6), shift, 1) for shift in (1, 2)]
    graphs = [scipy.sparse.csr_matrix(ring + ring.T) for ring in rings]
    weights = torch.tensor([0.3, 0.7], dtype=torch.float64)

    def slow(z, h_hat, logits):
        q, loss = logits.softmax(1), 0.0
        target = torch.eye(6) + sum(w * torch.as_tensor(g.toarray()) for w, g in zip(weights, graphs))
        edges = target.sum()
        assert edges == pytest.approx(18)  # 6 loops, and 12 of both rings' weighted edges
        for i in range(6):
            for j in range(4):
                loss = loss + (h[i, j] - h_hat[i, j]) ** 2 / 24
            for j in range(2):
                loss = loss + 5 * p[i, j] * (p[i, j] / q[i, j]).log() / 6
            for j in range(6):
                s = torch.sigmoid(z[i] @ z[j])
                cost = -(18 / 18) * target[i, j] * s.log() - (1 - target[i, j]) * (1 - s).log()
                loss = loss + 2 * cost / 36 * 36 / (2 * 18)
        return loss

    links = Links(graphs, torch.device("cpu"))
    assert_matches(
        lambda z, h_hat, logits: tuning_loss(
            h, h_hat, z, logits.softmax(1), p, links, weights, 2.0, 5.0
        ),
        slow, z, h_hat, logits,
    )  # fmt: skip


def test_smaller_features_are_not_rewarded():
    h = torch.randn(5, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    links = Links([scipy.sparse.csr_matrix((5, 5))], torch.device("cpu"))
    q = torch.full((5, 2), 0.5)
    tuning_loss(h, h.detach() + 1 + 0 * h, h, q, q, links, torch.ones(1), 0.0, 1.0).backward()
    assert (h.grad == 0).all()


def test_stages_follow_each_other_and_losses_fall():
    views, _ = easy_views()
    history = quick(pretrain_epochs=40, epochs=6, lr=1e-3, tolerance=0.0).fit(views).history_
    stages = [record.stage for record in history]
    expected = ["view 1", "view 2", "view 3", "shared"]
    assert stages == [name for name in expected for _ in range(40)] + ["tuning"] * 6
    for name in expected:
        losses = [record.loss for record in history if record.stage == name]
        assert losses[-1] < losses[0]


def test_pretraining_ends_where_it_is_flat_and_tuning_where_labels_stay():
    views, _ = easy_views()
    # A rate of zero: nothing changes, so patience and the labels end every stage at once.
    history = quick(lr=0.0, patience=3, refresh=4, pretrain_epochs=50, epochs=50).fit(views).history_
    counts = {name: [r.stage for r in history].count(name) for name in ("view 1", "shared", "tuning")}
    assert counts == {"view 1": 4, "shared": 4, "tuning": 4}
    steady = quick(lr=1e-6, patience=3, pretrain_epochs=30, epochs=0)
    early, published = steady.fit(views).history_, steady.set_params(flat=None).fit(views).history_
    assert len(early) < len(published)


def test_graph_is_a_mean_of_the_views_graphs():
    views, _ = easy_views()
    graph = quick().fit(views).graph_
    assert (abs(graph - graph.T) > 1e-6).nnz == 0
    assert graph.min() >= 0 and graph.max() <= 1 + 1e-6 and graph.nnz > 0


def test_memory_is_linear_in_the_samples():
    model = DFPGNN(3)
    small, large = (model.memory(n, (50, 60)) for n in (100_000, 200_000))
    assert large < 2.01 * small
