"""CMGEC: its losses against references, its graph, and what every system has to do."""

import inspect

import numpy as np
import pytest
import scipy.sparse
import torch
from helpers import assert_matches
from sklearn.base import clone

from dmac.metrics import scores
from dmac.peers.cmgec import (
    CMGEC,
    fused_graph,
    fusion_loss,
    information_loss,
    symmetric_part,
)


def easy_views(n=90, seed=0):
    """Three views of three well separated clusters, and the clusters."""
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % 3
    return [
        4 * rng.standard_normal((3, d))[classes] + 0.8 * rng.standard_normal((n, d))
        for d in (7, 5, 9)
    ], classes


def quick(**more):
    return CMGEC(3, **(dict(random_state=0, hidden=(8, 6), consensus=(5, 4), discriminator=(3, 3), fusion_epochs=4, embedding_epochs=4,
                 epochs=4, refresh=2) | more))


def test_finds_easy_clusters():
    views, classes = easy_views()
    fitted = CMGEC(3, fusion_epochs=60, embedding_epochs=40, epochs=40, pretrain_lr=1e-3, random_state=0).fit(views)
    assert scores(classes, fitted.labels_)["acc"] > 0.95


def test_order_of_samples_does_not_matter():
    views, classes = easy_views()
    order = np.random.default_rng(1).permutation(len(classes))
    model = CMGEC(3, fusion_epochs=60, embedding_epochs=40, epochs=40, pretrain_lr=1e-3, random_state=0)
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
    assert set(model.get_params()) == set(inspect.signature(CMGEC).parameters)


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
    monkeypatch.setattr(CMGEC, "_solve", lambda *args: pytest.fail("it began"))
    with pytest.raises(MemoryError, match="CMGEC on 90 samples"):
        quick(memory_budget=quick().memory(90, (7, 5, 9)) - 1).fit(views)


@pytest.mark.parametrize(
    "bad",
    [{"n_neighbors": 0}, {"hidden": ()}, {"refresh": 0}, {"dropout": 1.0}, {"dropout": -0.1},
     {"metric": "best"}, {"discriminator": (0,)}, {"device": "abacus"}],
    ids=str,
)
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        quick(**bad).fit(easy_views()[0])


def random(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


def random_graphs(n=6, v=3):
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((v, n, n)) < 0.4, 1)
    return torch.as_tensor((upper | upper.transpose(0, 2, 1)).astype(float))


def test_fusion_loss_is_its_definition():
    graphs = random_graphs()
    mean = graphs.mean(0)
    spread = float((graphs - mean).square().mean())
    q = torch.linalg.qr(random(6, 2, seed=1).detach())[0]

    def slow(output):
        loss = 0.0
        for graph in graphs:
            for i in range(6):
                for j in range(6):
                    loss = loss + (output[i, j] - graph[i, j]) ** 2 / 36 / 3
        a = torch.zeros(6, 6, dtype=output.dtype)
        for i in range(6):
            for j in range(6):
                a[i, j] = (output[i, j].clamp(0, 1) + output[j, i].clamp(0, 1)) / 2 + (i == j)
        root = torch.diag(a.sum(1) ** -0.5)
        return loss + 0.3 * torch.trace(q.T @ (torch.eye(6) - root @ a @ root) @ q)

    assert_matches(lambda a: fusion_loss(a, mean, spread, q, 0.3), slow, random(6, 6))


def test_trace_falls_to_zero_as_the_graph_falls_into_parts_and_its_gradient_cuts_between_them():
    parts = torch.kron(torch.eye(2), torch.ones(4, 4)).double()
    weak = 0.1 * (1 - parts)
    output = (parts + weak).requires_grad_()
    a = symmetric_part(output.detach()) + torch.eye(8)
    root = torch.diag(a.sum(1) ** -0.5)
    q = torch.linalg.eigh(root @ a @ root)[1][:, -2:]
    loss = fusion_loss(output, output.detach(), 0.0, q, 1.0)
    assert loss > 0.1
    loss.backward()
    assert (output.grad[weak > 0] > 0).all()
    assert fusion_loss(parts, parts, 0.0, q, 1.0) == pytest.approx(0, abs=1e-12)


def test_fused_graph_is_symmetric_keeps_strong_entries_and_their_gradient():
    output = torch.tensor([[2.0, 0.9, 0.1], [0.5, -1.0, 0.3], [0.2, 0.4, 0.45]], requires_grad=True)
    graph = fused_graph(output)
    expected = torch.tensor([[1.0, 0.7, 0.0], [0.7, 0.0, 0.0], [0.0, 0.0, 0.45]])
    torch.testing.assert_close(graph.detach(), expected)
    graph.sum().backward()
    # Both entries of a pair that stays move; those clamped or cut do not.
    torch.testing.assert_close(
        output.grad, torch.tensor([[0.0, 1, 0], [1, 0, 0], [0, 0, 1]])
    )


def test_information_loss_is_its_definition_and_knows_the_independent_case():
    def slow(together, apart):
        ours = sum(-torch.log(torch.sigmoid(t)) for t in together) / len(together)
        return ours + sum(-torch.log(1 - torch.sigmoid(t)) for t in apart) / len(apart)

    assert_matches(information_loss, slow, random(7), random(5, seed=1))
    assert information_loss(torch.zeros(3), torch.zeros(3)) == pytest.approx(2 * np.log(2))


def test_stages_follow_each_other_and_losses_fall():
    history = quick(fusion_epochs=30, embedding_epochs=30, epochs=20, pretrain_lr=1e-3).fit(
        easy_views()[0]
    ).history_
    assert [r.stage for r in history] == ["fusion"] * 30 + ["embedding"] * 30 + ["joint"] * 20
    for name in ("fusion", "embedding", "joint"):
        losses = [record.loss for record in history if record.stage == name]
        assert losses[-1] < losses[0]


def test_every_part_gets_a_gradient(monkeypatch):
    # The discriminator and, through the convolution and the trace, the fusion network among them.
    import dmac.peers.cmgec as module

    built = {}
    for name in ("_Fusion", "_Embedding"):
        original = getattr(module, name)

        def build(*args, original=original, name=name):
            built[name] = original(*args)
            built[name + " before"] = [p.detach().clone() for p in built[name].parameters()]
            return built[name]

        monkeypatch.setattr(module, name, build)
    # The fusion network has learned its graph; then only the last stage trains it.
    quick(fusion_epochs=40, pretrain_lr=1e-2).fit(easy_views()[0])
    for name in ("_Fusion", "_Embedding"):
        for before, after in zip(built[name + " before"], built[name].parameters()):
            assert not torch.equal(before, after)
    fusion, embedding = built["_Fusion"], built["_Embedding"]
    fusion.zero_grad()
    embedding.loss(fused_graph(fusion())).backward()
    assert all(p.grad.abs().sum() > 0 for p in embedding.parameters())
    assert all(p.grad.abs().sum() > 0 for p in fusion.parameters())


def test_graph_joins_samples_of_a_cluster():
    views, classes = easy_views()
    graph = quick(fusion_epochs=60, epochs=0, pretrain_lr=1e-2).fit(views).graph_.tocoo()
    off = graph.row != graph.col
    assert off.sum() > 200
    assert np.mean(classes[graph.row[off]] == classes[graph.col[off]]) > 0.95


@pytest.mark.parametrize("metric", ["cosine", "manhattan"])
def test_other_metrics(metric):
    views, classes = easy_views()
    assert np.isfinite(quick(metric=metric).fit(views).embedding_).all()


def test_memory_is_quadratic_in_the_samples():
    model = CMGEC(3)
    assert model.memory(20_000, (50, 60)) == pytest.approx(60 * 20_000**2, rel=0.05)
