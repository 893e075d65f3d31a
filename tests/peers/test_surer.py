"""SURER: its convolution and losses against references, and what every system has to do."""

import inspect

import numpy as np
import pytest
import scipy.sparse
import torch
from helpers import assert_matches
from sklearn.base import clone

from dmac.metrics import scores
from dmac.peers.surer import SURER, clustering_loss, unified_convolution


def easy_views(n=90, seed=0):
    """Three views of three well separated clusters, and the clusters."""
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % 3
    return [
        4 * rng.standard_normal((3, d))[classes] + 0.8 * rng.standard_normal((n, d))
        for d in (7, 5, 9)
    ], classes


def quick(**more):
    return SURER(3, **(dict(random_state=0, hidden=(8, 6), n_neighbors=8, pretrain_epochs=4, epochs=4, refresh=2) | more))


def test_finds_easy_clusters():
    views, classes = easy_views()
    fitted = SURER(3, n_neighbors=12, hidden=(16, 16, 8), pretrain_lr=3e-3, lr=1e-3, pretrain_epochs=60,
        epochs=30, random_state=0).fit(views)
    assert scores(classes, fitted.labels_)["acc"] > 0.95


def test_order_of_samples_does_not_matter():
    views, classes = easy_views()
    order = np.random.default_rng(1).permutation(len(classes))
    model = SURER(3, n_neighbors=12, hidden=(16, 16, 8), pretrain_lr=3e-3, lr=1e-3, pretrain_epochs=60,
        epochs=30, random_state=0)
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
    assert set(model.get_params()) == set(inspect.signature(SURER).parameters)


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
    assert fitted.embedding_.shape == (n, 6) and np.isfinite(fitted.embedding_).all()
    assert all(np.isfinite(record.loss) for record in fitted.history_)


def test_sparse_and_dense_views_give_the_same():
    views = [np.abs(x) * (np.arange(x.shape[1]) > 0) for x in easy_views()[0]]
    sparse = [scipy.sparse.csr_matrix(x) for x in views]
    np.testing.assert_allclose(
        quick().fit(sparse).embedding_, quick().fit(views).embedding_, atol=1e-4
    )


def test_too_much_memory_is_refused_before_anything_is_allocated(monkeypatch):
    views, _ = easy_views()
    monkeypatch.setattr(SURER, "_solve", lambda *args: pytest.fail("it began"))
    with pytest.raises(MemoryError, match="SURER on 90 samples"):
        quick(memory_budget=quick().memory(90, (7, 5, 9)) - 1).fit(views)


@pytest.mark.parametrize(
    "bad",
    [{"n_neighbors": 0}, {"hidden": ()}, {"refresh": 0}, {"lambda3": -1}, {"pretrain_lr": np.nan},
     {"device": "abacus"}],
    ids=str,
)
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        quick(**bad).fit(easy_views()[0])


def random(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


@pytest.mark.parametrize("v", [1, 2, 3])
def test_unified_convolution_is_that_of_the_whole_graph(v):
    # Nodes view by view: node a n + i is sample i in view a.
    n = 5

    def slow(h, weight):
        a = torch.zeros(v * n, v * n, dtype=h.dtype)
        for b in range(v):
            block = h[b * n : (b + 1) * n]
            for i in range(n):
                for j in range(n):
                    a[b * n + i, b * n + j] = torch.sigmoid(block[i] @ block[j])
        for b in range(v):
            for d in range(v):
                for i in range(n):
                    a[b * n + i, d * n + i] = a[b * n + i, d * n + i] + 1
        root = torch.diag(a.sum(1) ** -0.5)
        return root @ a @ root @ h @ weight

    assert_matches(
        lambda h, weight: torch.cat(unified_convolution(list(h.split(n)), weight)),
        slow, random(v * n, 3), random(3, 2, seed=1),
    )  # fmt: skip


def test_links_across_views_join_one_samples_copies():
    # With samples far apart in all views, a change of sample 2 in view 1 reaches view 2 at
    # sample 2 alone.
    h = 40 * torch.eye(5, dtype=torch.float64) - 8
    h = [h.clone().requires_grad_(), h.clone()]
    y = unified_convolution(h, torch.eye(5, dtype=torch.float64))[1]
    reached = [
        torch.autograd.grad(y[i].sum(), h[0], retain_graph=True)[0][2].abs().sum() > 1e-3
        for i in range(5)
    ]
    assert reached == [False, False, True, False, False]


def test_clustering_loss_is_its_definition():
    labels = torch.tensor([0, 1, 1, 2, 0, 2])
    p = random(6, 3, seed=2).detach().softmax(1)

    def slow(logits):
        q, loss = logits.softmax(1), 0.0
        for i in range(6):
            for j in range(3):
                loss = loss + 0.7 * p[i, j] * (p[i, j] / q[i, j]).log() / 6
            loss = loss - 0.3 * q[i, labels[i]].log() / 6
        return loss

    assert_matches(
        lambda logits: clustering_loss(logits.softmax(1), p, labels, 0.7, 0.3), slow, random(6, 3)
    )


def test_stages_follow_each_other_and_losses_fall():
    history = quick(pretrain_epochs=30, epochs=20, pretrain_lr=1e-3, lr=1e-3).fit(
        easy_views()[0]
    ).history_
    stages = [record.stage for record in history]
    views = ["view 1", "view 2", "view 3"]
    assert stages == [name for name in views for _ in range(30)] + ["unified"] * 20
    for name in [*views, "unified"]:
        losses = [record.loss for record in history if record.stage == name]
        assert losses[-1] < losses[0]


def test_memory_grows_with_a_square_matrix_a_view_not_with_its_square():
    model = SURER(3)
    n = 1_000_000
    one, two, four = (model.memory(n, (50,) * v) / (4 * n**2) for v in (1, 2, 4))
    assert one == pytest.approx(3, rel=0.05)
    assert two - one == pytest.approx(1, rel=0.05) and four - two == pytest.approx(2, rel=0.05)
