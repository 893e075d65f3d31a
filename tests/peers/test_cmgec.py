"""CMGEC: its losses and eigenvectors against references, and its graph."""

import numpy as np
import pytest
import torch
from helpers import assert_matches
from systems import easy_views, random

from dmac.peers._graphs import nearest_neighbors, normalized
from dmac.peers.cmgec import (
    CMGEC,
    ConsensusEmbedding,
    GraphFusion,
    fused_graph,
    fusion_loss,
    information_loss,
    leading_vectors,
    union_graph,
)


def random_graphs(n=6, v=3):
    upper = np.triu(np.random.default_rng(0).random((v, n, n)) < 0.4, 1)
    return torch.as_tensor((upper | upper.transpose(0, 2, 1)).astype(float))


def test_fusion_loss_is_its_definition():
    graphs = random_graphs()
    mean = graphs.mean(0)
    spread = float((graphs - mean).square().mean())
    q = torch.linalg.qr(random(6, 2, seed=1, gradient=False))[0]

    def slow(output):
        error = sum((output - graph).square().mean() for graph in graphs) / 3
        a = (output.clamp(0, 1) + output.T.clamp(0, 1)) / 2 + torch.eye(6)
        root = torch.diag(a.sum(1) ** -0.5)
        return error + 0.3 * torch.trace(q.T @ (torch.eye(6) - root @ a @ root) @ q)

    assert_matches(lambda a: fusion_loss(a, mean, spread, q, 0.3), slow, random(6, 6))


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


def assert_leading(operator, values):
    """Fan 1949: the largest trace over orthonormal Q is the sum of the c largest eigenvalues."""
    q = leading_vectors(operator, len(values))
    np.testing.assert_allclose(q.T @ q, np.eye(len(values)), atol=1e-8)
    assert np.trace(q.T @ operator @ q) == pytest.approx(values.sum(), abs=1e-10)


@pytest.mark.parametrize("n", [30, 520])
def test_leading_vectors_maximise_the_trace(n):
    points = np.random.default_rng(0).standard_normal((n, 5))
    operator = normalized(union_graph(nearest_neighbors(points, 5))).toarray()
    assert_leading(operator, np.linalg.eigvalsh(operator)[-4:])


def test_leading_vectors_of_eigenvalues_that_hardly_differ_are_found_by_the_dense_way():
    values = 1 - np.geomspace(1e-9, 1, 600)  # many near 1, none equal
    turned = np.linalg.qr(np.random.default_rng(0).standard_normal((600, 600)))[0]
    operator = (turned * values) @ turned.T
    assert_leading((operator + operator.T) / 2, values[:40])


def test_every_part_gets_a_gradient():
    # The discriminator and, through the convolution and the trace, the fusion network among them.
    views, _ = easy_views()
    near = [nearest_neighbors(x, 7) for x in views]
    graphs, draws = [union_graph(part) for part in near], torch.Generator().manual_seed(0)
    fusion = GraphFusion(CMGEC(3), graphs, draws, "cpu")
    embedding = ConsensusEmbedding(CMGEC(3), views, graphs, np.hstack(near), draws, "cpu")
    fusion.loss(fusion(), 0).backward()
    assert all(p.grad.abs().sum() > 0 for p in fusion.parameters())
    fusion.zero_grad()
    with torch.no_grad():  # an output with edges
        fusion.last.bias += 0.5
    embedding.loss(fused_graph(fusion())).backward()
    for part in (fusion, embedding):
        assert all(p.grad.abs().sum() > 0 for p in part.parameters())
