"""Graph convolutions and link loss against line-by-line references."""

import math

import numpy as np
import pytest
import scipy.sparse
import torch
import torch.nn.functional as F
from helpers import assert_matches

from dmac.peers import _gcn
from dmac.peers._gcn import (
    GraphAutoencoder,
    GraphEncoder,
    Links,
    balanced_link_loss,
    dense_operator,
    graph_operator,
    link_loss,
    pretrain,
    rmsprop,
)
from dmac.peers._graphs import normalized

CPU = torch.device("cpu")


def random(*shape, seed=0, gradient=True):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(*shape, generator=generator, dtype=torch.float64)
    return x.requires_grad_(gradient)


def random_graph(n=9, seed=0):
    upper = np.triu(np.random.default_rng(seed).random((n, n)) < 0.3, 1)
    return scipy.sparse.csr_matrix((upper | upper.T).astype(float))


def slow_link_loss(z, target):
    """The definition, entry by entry; the mean over entries and the factor of the balanced one."""
    n, total = len(z), 0.0
    edges = target.sum().item()
    ratio = (n * n - edges) / edges
    for i in range(n):
        for j in range(n):
            p = 1 / (1 + torch.exp(-(z[i] @ z[j])))
            a = target[i, j]
            total = total - ratio * a * torch.log(p) - (1 - a) * torch.log(1 - p)
    return total / n**2, n * n / (2 * (n * n - edges))


@pytest.mark.parametrize("block", [2**22, 20])
def test_link_loss_is_its_definition(monkeypatch, block):
    monkeypatch.setattr(_gcn, "_BLOCK", block)
    graph = random_graph()
    target = torch.as_tensor(graph.toarray()) + torch.eye(9)
    links = Links([graph], CPU)
    assert_matches(
        lambda z: link_loss(z, links), lambda z: slow_link_loss(z, target)[0], random(9, 4)
    )
    assert_matches(
        lambda z: balanced_link_loss(z, links),
        lambda z: math.prod(slow_link_loss(z, target)),
        random(9, 4),
    )


def test_link_loss_of_several_graphs_is_that_of_their_weighted_mean():
    graphs = [random_graph(seed=seed) for seed in range(3)]
    weights = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)
    target = sum(w * torch.as_tensor(g.toarray()) for w, g in zip(weights, graphs)) + torch.eye(9)
    links = Links(graphs, CPU)
    assert_matches(
        lambda z: link_loss(z, links, weights),
        lambda z: slow_link_loss(z, target)[0],
        random(9, 4),
    )


def test_link_loss_agrees_with_the_function_of_pytorch_and_stays_finite():
    graph = random_graph(30)
    target = torch.as_tensor(graph.toarray()) + torch.eye(30)
    z = (100 * random(30, 4, gradient=False)).requires_grad_()
    ratio = (900 - target.sum()) / target.sum()
    assert_matches(
        lambda z: link_loss(z, Links([graph], CPU)),
        lambda z: F.binary_cross_entropy_with_logits(z @ z.T, target, pos_weight=ratio),
        z,
    )


def test_link_loss_knows_graphs_without_edges_and_without_gaps():
    z = random(6, 2)
    empty, full = scipy.sparse.csr_matrix((6, 6)), scipy.sparse.csr_matrix(np.ones((6, 6)))
    assert_matches(
        lambda z: link_loss(z, Links([empty], CPU)),
        lambda z: slow_link_loss(z, torch.eye(6, dtype=z.dtype))[0],
        z,
    )
    assert balanced_link_loss(z, Links([full], CPU)) == 0


def test_operators_multiply_by_the_normalised_graph():
    graph = random_graph()
    dense = torch.as_tensor(normalized(graph).toarray())
    a = torch.as_tensor(graph.toarray())
    assert_matches(lambda x: dense_operator(a, x), lambda x: dense @ x, random(9, 4))
    operator = graph_operator(graph, CPU)
    x = random(9, 4, gradient=False).float().requires_grad_()
    assert_matches(operator, lambda x: dense.float() @ x, x, rtol=1e-5, atol=1e-6)


def test_dense_operator_is_differentiable_in_the_graph():
    def slow(a, x):
        a = a + torch.eye(len(a))
        root = torch.diag(a.sum(1) ** -0.5)
        return root @ a @ root @ x

    a = torch.as_tensor(random_graph().toarray()).requires_grad_()
    assert_matches(dense_operator, slow, a, random(9, 4))


@pytest.mark.parametrize("dims", [(4, 3), (4, 6, 3), (5, 8, 2, 3)])
def test_encoder_and_decoder_are_their_layers(dims, generator):
    model = GraphAutoencoder(list(dims), generator).double()
    a = torch.as_tensor(normalized(random_graph()).toarray())
    x = random(9, dims[0], gradient=False)
    h = x
    for layer, weight in enumerate(model.weights):
        h = a @ h @ weight
        h = h.clamp_min(0) if layer + 2 < len(dims) else h
    torch.testing.assert_close(model.encode(lambda y: a @ y, x), h)
    for number, layer in enumerate(model.layers):
        h = h @ layer.weight.T + layer.bias
        h = h.clamp_min(0) if number + 2 < len(dims) else h
    assert h.shape == x.shape
    torch.testing.assert_close(model.decode(model.encode(lambda y: a @ y, x)), h)


def test_weights_come_from_the_generator_alone():
    state = torch.random.get_rng_state()
    first, second = (GraphEncoder([5, 4, 3], torch.Generator().manual_seed(1)) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first.weights, second.weights))
    assert torch.equal(torch.random.get_rng_state(), state)


def test_pretraining_learns_to_tell_edges_from_gaps(generator):
    graph = scipy.sparse.csr_matrix(np.kron(np.eye(3), np.ones((10, 10))))
    x = torch.randn(30, 6, generator=generator)
    model, links, history = GraphAutoencoder([6, 8, 4], generator), Links([graph], CPU), []
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, momentum=0.9)
    z = pretrain(
        model,
        x,
        graph_operator(graph, CPU),
        links,
        1.0,
        optimizer,
        epochs=150,
        stage="view 1",
        history=history,
    )
    inside = torch.as_tensor(graph.toarray()) > 0
    products = z @ z.T
    assert not z.requires_grad
    assert products[inside].min() > products[~inside].max()
    assert len(history) == 150 and history[-1].loss < 0.6 * history[0].loss
    assert [record.epoch for record in history] == list(range(1, 151))
    assert all(record.seconds > 0 and record.stage == "view 1" for record in history)


def test_where_gradients_are_below_the_weight_decay_weights_only_shrink():
    # What the mean over thousands of features comes to: RMSprop follows the decay alone.
    graph = scipy.sparse.csr_matrix(np.kron(np.eye(3), np.ones((10, 10))))
    x = torch.randn(30, 6, generator=torch.Generator().manual_seed(0))
    lengths, falls = {}, {}
    for scale in (1.0, 1e-12):
        model = GraphAutoencoder([6, 8, 4], torch.Generator().manual_seed(1))
        before, history = sum(w.square().sum() for w in model.parameters()), []
        pretrain(
            model,
            x,
            graph_operator(graph, CPU),
            Links([graph], CPU),
            1.0,
            rmsprop(model.parameters(), 1e-3, 1e-6),
            epochs=150,
            stage="one",
            history=history,
            scale=scale,
        )
        lengths[scale] = sum(w.square().sum() for w in model.parameters()) / before
        falls[scale] = history[-1].loss / history[0].loss
    assert lengths[1.0] > 1 > 0.9 > lengths[1e-12]
    assert falls[1.0] < 0.6 < 0.8 < falls[1e-12]
