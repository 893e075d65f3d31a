"""CMGEC: its losses and eigenvectors against references, and its graph."""

import numpy as np
import pytest
import scipy.sparse
import torch
from helpers import assert_matches
from scipy.sparse.linalg import LinearOperator, eigsh
from systems import assert_stages, easy_views, quick, random

from dmac.peers import cmgec
from dmac.peers._graphs import nearest_neighbors, normalized
from dmac.peers.cmgec import (
    CMGEC,
    dense_operator,
    fused_graph,
    fusion_loss,
    information_loss,
    leading_vectors,
    symmetric_part,
    union_graph,
)


def random_graphs(n=6, v=3):
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((v, n, n)) < 0.4, 1)
    return torch.as_tensor((upper | upper.transpose(0, 2, 1)).astype(float))


def test_union_joins_two_samples_if_one_is_near_to_the_other():
    near = nearest_neighbors(np.random.default_rng(0).standard_normal((40, 5)), 7)
    union = np.zeros((40, 40))
    for i in range(40):
        union[i, near[i]] = union[near[i], i] = 1
    np.testing.assert_array_equal(union_graph(near).toarray(), union)


def test_dense_operator_is_its_definition_and_differentiable_in_the_graph():
    def slow(a, x):
        a = a + torch.eye(len(a))
        root = torch.diag(a.sum(1) ** -0.5)
        return root @ a @ root @ x

    a = random_graphs()[0]
    assert_matches(dense_operator, slow, a.clone().requires_grad_(), random(6, 4))
    sparse = torch.as_tensor(normalized(scipy.sparse.csr_matrix(a.numpy())).toarray())
    assert_matches(lambda x: dense_operator(a, x), lambda x: sparse @ x, random(6, 4))


def test_fusion_loss_is_its_definition():
    graphs = random_graphs()
    mean = graphs.mean(0)
    spread = float((graphs - mean).square().mean())
    q = torch.linalg.qr(random(6, 2, seed=1, gradient=False))[0]

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
    torch.testing.assert_close(output.grad, torch.tensor([[0.0, 1, 0], [1, 0, 0], [0, 0, 1]]))


def test_information_loss_is_its_definition_and_knows_the_independent_case():
    def slow(together, apart):
        ours = sum(-torch.log(torch.sigmoid(t)) for t in together) / len(together)
        return ours + sum(-torch.log(1 - torch.sigmoid(t)) for t in apart) / len(apart)

    assert_matches(information_loss, slow, random(7), random(5, seed=1))
    assert information_loss(torch.zeros(3), torch.zeros(3)) == pytest.approx(2 * np.log(2))


@pytest.mark.parametrize("n", [30, 520])
def test_leading_vectors_maximise_the_trace(n):
    # Fan 1949: the largest trace over orthonormal Q is the sum of the c largest eigenvalues.
    points = np.random.default_rng(0).standard_normal((n, 5))
    operator = normalized(union_graph(nearest_neighbors(points, 5))).toarray()
    q = leading_vectors(operator, 4)
    np.testing.assert_allclose(q.T @ q, np.eye(4), atol=1e-8)
    assert np.trace(q.T @ operator @ q) == pytest.approx(np.linalg.eigvalsh(operator)[-4:].sum())


def test_leading_vectors_span_the_parts_of_a_graph():
    blocks = np.kron(np.eye(6), np.full((100, 100), 0.01))
    q = leading_vectors(blocks, 6)
    np.testing.assert_allclose(q @ q.T, blocks, atol=1e-8)


@pytest.mark.parametrize("c", [4, 40])
def test_leading_vectors_of_eigenvalues_that_hardly_differ_take_no_more_than_the_dense_ones(
    monkeypatch, c
):
    products = []

    def count(operator, *args, **kwargs):
        def multiply(x):
            products.append(1)
            return operator @ x

        counted = LinearOperator(operator.shape, multiply, dtype=operator.dtype)
        return eigsh(counted, *args, **kwargs)

    monkeypatch.setattr(cmgec, "eigsh", count)
    n = 600
    values = 1 - np.geomspace(1e-9, 1, n)  # many near 1, none equal
    turned = np.linalg.qr(np.random.default_rng(0).standard_normal((n, n)))[0]
    operator = (turned * values) @ turned.T
    operator = (operator + operator.T) / 2
    q = leading_vectors(operator, c)
    assert 0 < len(products) <= n // 4 + max(2 * c + 1, 20)
    np.testing.assert_allclose(q.T @ q, np.eye(c), atol=1e-8)
    assert np.trace(q.T @ operator @ q) == pytest.approx(values[:c].sum(), abs=1e-10)


def test_stages_follow_each_other_and_losses_fall():
    more = dict(fusion_epochs=30, embedding_epochs=30, epochs=20, pretrain_lr=1e-3)
    history = quick("CMGEC", **more).fit(easy_views()[0]).history_
    assert_stages(history, fusion=30, embedding=30, joint=20)


def test_every_part_gets_a_gradient(monkeypatch):
    # The discriminator and, through the convolution and the trace, the fusion network among them.
    built = {}
    for name in ("GraphFusion", "ConsensusEmbedding"):
        original = getattr(cmgec, name)

        def build(*args, original=original, name=name):
            built[name] = original(*args)
            built[name + " before"] = [p.detach().clone() for p in built[name].parameters()]
            return built[name]

        monkeypatch.setattr(cmgec, name, build)
    # Enough epochs for the fusion network's output to have edges.
    quick("CMGEC", fusion_epochs=40, pretrain_lr=1e-2).fit(easy_views()[0])
    for name in ("GraphFusion", "ConsensusEmbedding"):
        for before, after in zip(built[name + " before"], built[name].parameters()):
            assert not torch.equal(before, after)
    fusion, embedding = built["GraphFusion"], built["ConsensusEmbedding"]
    fusion.zero_grad()
    embedding.loss(fused_graph(fusion())).backward()
    assert all(p.grad.abs().sum() > 0 for p in embedding.parameters())
    assert all(p.grad.abs().sum() > 0 for p in fusion.parameters())


def test_graph_joins_samples_of_a_cluster():
    views, classes = easy_views()
    graph = quick("CMGEC", fusion_epochs=60, epochs=0, pretrain_lr=1e-2).fit(views).graph_.tocoo()
    off = graph.row != graph.col
    assert off.sum() > 200
    assert np.mean(classes[graph.row[off]] == classes[graph.col[off]]) > 0.95


def test_memory_is_quadratic_in_the_samples():
    model = CMGEC(3)
    assert model.memory(20_000, (50, 60)) == pytest.approx(68 * 20_000**2, rel=0.05)
