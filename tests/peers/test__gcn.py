"""Graph convolutions, link loss and soft assignments against line-by-line references."""

import math

import numpy as np
import pytest
import scipy.sparse
import torch
from helpers import assert_matches
from systems import random, reference_link_loss

from dmac.compute.layers import SparseView
from dmac.peers import _gcn
from dmac.peers._gcn import (
    GraphAutoencoder,
    GraphView,
    Links,
    balanced_link_loss,
    divergence,
    graph_operator,
    link_loss,
    pretrain,
    rmsprop,
    sharpened,
    student_t,
)
from dmac.peers._graphs import normalized

CPU = torch.device("cpu")


def random_graph(n=9, seed=0):
    upper = np.triu(np.random.default_rng(seed).random((n, n)) < 0.3, 1)
    return scipy.sparse.csr_matrix((upper | upper.T).astype(float))


@pytest.mark.parametrize("block", [2**22, 20])
def test_link_loss_is_its_definition(monkeypatch, block):
    monkeypatch.setattr(_gcn, "_BLOCK", block)
    graphs = [random_graph(seed=seed) for seed in range(3)]
    weights = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)
    target = sum(w * torch.as_tensor(g.toarray()) for w, g in zip(weights, graphs)) + torch.eye(9)
    links = Links(graphs, CPU)
    for loss, expected in (
        (link_loss, lambda z: reference_link_loss(z, target)[0]),
        (balanced_link_loss, lambda z: math.prod(reference_link_loss(z, target))),
    ):
        assert_matches(lambda z, loss=loss: loss(z, links, weights), expected, random(9, 4))


def test_link_loss_knows_graphs_without_edges_and_without_gaps():
    z = random(6, 2)
    empty, full = scipy.sparse.csr_matrix((6, 6)), scipy.sparse.csr_matrix(np.ones((6, 6)))
    assert_matches(
        lambda z: link_loss(z, Links([empty], CPU)),
        lambda z: reference_link_loss(z, torch.eye(6, dtype=z.dtype))[0],
        z,
    )
    assert balanced_link_loss(z, Links([full], CPU)) == 0
    assert torch.isfinite(link_loss(1000 * z, Links([empty], CPU)))


def test_operator_multiplies_by_the_normalised_graph():
    graph = random_graph()
    dense = torch.as_tensor(normalized(graph).toarray())
    x = random(9, 4, gradient=False).float().requires_grad_()
    assert_matches(graph_operator(graph, CPU), lambda x: dense.float() @ x, x, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dims", [(4, 3), (4, 6, 3), (5, 8, 2, 3)])
def test_encoder_and_decoder_are_their_layers(dims, generator):
    model = GraphAutoencoder(list(dims), generator).double()
    a = torch.as_tensor(normalized(random_graph()).toarray())
    h = x = random(9, dims[0], gradient=False)
    for layer, weight in enumerate(model.weights):
        h = a @ h @ weight
        h = h.clamp_min(0) if layer + 2 < len(dims) else h
    torch.testing.assert_close(model.encode(lambda y: a @ y, x), h)
    sparse = SparseView(scipy.sparse.csr_matrix(x.numpy()), torch.float64, CPU)
    torch.testing.assert_close(model.encode(lambda y: a @ y, sparse), h)
    for number, layer in enumerate(model.decode[::2]):
        h = h @ layer.weight.T + layer.bias
        h = h.clamp_min(0) if number + 2 < len(dims) else h
    assert h.shape == x.shape
    torch.testing.assert_close(model.decode(model.encode(lambda y: a @ y, x)), h)


def trained(x, scale=1.0):
    """Pre-training on three cliques of ten: how much longer the weights are, embedding, losses."""
    graph = scipy.sparse.csr_matrix(np.kron(np.eye(3), np.ones((10, 10))))
    model, history = GraphAutoencoder([6, 8, 4], torch.Generator().manual_seed(1)), []
    before = sum(w.square().sum() for w in model.parameters()).item()
    links = Links([graph], CPU)
    view = GraphView(model, x, graph, graph_operator(graph, CPU), links)
    training = rmsprop(model.parameters(), 1e-3, 1e-6), 150, "view 1", history, None, scale
    pretrain(view, 1.0, *training)
    length = sum(w.square().sum() for w in model.parameters()).item() / before
    return length, view.encode().detach(), [record.loss for record in history]


@pytest.mark.parametrize("sparse", [False, True])
def test_pretraining_learns_to_tell_edges_from_gaps(sparse):
    x = random(30, 6, gradient=False)
    view = SparseView(scipy.sparse.csr_matrix(x.numpy()), torch.float32, CPU)
    length, z, losses = trained(view if sparse else x.float())
    inside = torch.as_tensor(np.kron(np.eye(3), np.ones((10, 10)))) > 0
    products = z @ z.T
    assert len(losses) == 150 and losses[-1] < 0.6 * losses[0]
    assert products[inside].min() > products[~inside].max() and length > 1


def test_where_gradients_are_below_the_weight_decay_weights_only_shrink():
    length, _, losses = trained(random(30, 6, gradient=False).float(), 1e-12)
    assert length < 0.9 and losses[-1] > 0.8 * losses[0]


def test_student_t_is_its_definition():
    def slow(z, u):
        kernels = 1 / (1 + (z[:, None] - u).square().sum(2))
        return kernels / kernels.sum(1, keepdim=True)

    z, u = random(7, 3), random(4, 3, seed=1)
    assert_matches(student_t, slow, z, u)
    # Far from the origin the distances keep their digits, in single precision too.
    far = (z.detach() + 1000).float(), (u.detach() + 1000).float()
    torch.testing.assert_close(student_t(*far).double(), slow(z, u).detach(), rtol=0, atol=1e-3)
    # On a centre, at distance 2 from the other: kernels 1 and 1/5.
    q = student_t(torch.tensor([[0.0]]), torch.tensor([[0.0], [2.0]]))
    torch.testing.assert_close(q, torch.tensor([[5 / 6, 1 / 6]]))


def test_target_is_its_definition_and_sharper():
    q = student_t(random(7, 3), random(4, 3, seed=1))
    p, q = sharpened(q), q.detach()
    assert not p.requires_grad
    shares = q**2 / q.sum(0)
    torch.testing.assert_close(p, shares / shares.sum(1, keepdim=True))
    empty = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    torch.testing.assert_close(sharpened(empty), empty)
    assert divergence(empty, torch.full((2, 2), 0.5)) == pytest.approx(math.log(2))
