"""Draws of anchors in the views and in the embedding, against graphs made densely."""

import dataclasses
from types import SimpleNamespace

import pytest
import scipy.sparse
import torch
import torch.nn.functional as F

from dmac import reference
from dmac.anchor_graph import anchor_graph
from dmac.anchors import PerturbationGenerator, anchor_learning_loss
from dmac.compute.distances import squared_distances
from dmac.compute.kmeans import sample_anchors
from dmac.compute.layers import SparseView
from dmac.network import Network
from dmac.recipes import RELEASED, REVISED
from dmac.sampling import Draw, EmbeddingAnchors, ViewAnchors, anchor_means, embedding_draw

N, M, K, V = 30, 8, 3, 3
STILL = SimpleNamespace(perturbation=None)


def views():
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(N, d, generator=generator, dtype=torch.float64) for d in (4, 2, 5)]


def embedding(seed=2):
    return torch.randn(N, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def source(network=STILL, seed=0, **changes):
    recipe = dataclasses.replace(REVISED, **{"n_neighbors": K, "anchor_sets": 3} | changes)
    return ViewAnchors(network, views(), M, recipe, torch.Generator().manual_seed(seed))


def anchors_of(made, i):
    """Anchor set i, one part a view and back at the scale of the views."""
    return [part * V**0.5 for part in made.sets[i].split([4, 2, 5], 1)]


def assert_graph(graph, d2):
    """The graph is the one of these squared distances."""
    torch.testing.assert_close(graph.to_dense(), anchor_graph(d2, K).to_dense())


def test_joint_graph_is_that_of_the_mean_squared_distance():
    made = source()
    for i, graph in enumerate(made.graphs()):
        d2 = [reference.squared_distances(x, u) for x, u in zip(views(), anchors_of(made, i))]
        assert_graph(graph, sum(d2) / V)


def test_graphs_a_view_are_those_of_each_view_by_itself():
    made = source(joint_graph=False, vote_share=0.0, vote_weight=0.0)
    (draw,) = made.draws(None, embedding(), K)
    assert len(draw.graphs) == V
    for graph, x, u in zip(draw.graphs, views(), anchors_of(made, 0)):
        assert_graph(graph, reference.squared_distances(x, u))


def test_draws_visit_the_anchor_sets_in_turn_with_the_neighbours_of_the_epoch():
    made = source(vote_share=0.0)
    assert not torch.equal(made.sets[0], made.sets[1])
    for epoch, k in enumerate((K, 2, K, 4, K, K, 2)):
        both = zip(views(), anchors_of(made, epoch % 3))
        d2 = sum(reference.squared_distances(x, u) for x, u in both) / V
        (draw,) = made.draws(None, embedding(), k)
        torch.testing.assert_close(draw.graphs[0].to_dense(), anchor_graph(d2, k).to_dense())


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_shares_sum_to_one(share):
    draws = source(vote_share=share).draws(None, embedding(), K)
    assert [draw.share for draw in draws] == {0.0: [1.0], 0.3: [0.7, 0.3], 1.0: [1.0]}[share]
    # The graph with Z comes last, and without a weight for Z there is none.
    assert len(source(vote_share=share, vote_weight=0.0).draws(None, embedding(), K)) == 1


def test_graph_with_z_is_in_the_last_draw_alone():
    first, last = (source(vote_share=0.3).draws(None, embedding(s), K) for s in (2, 3))
    same = [
        torch.equal(a.graphs[0].to_dense(), b.graphs[0].to_dense()) for a, b in zip(first, last)
    ]
    assert same == [True, False]


def with_z(vote_weight=1.0, **changes):
    """Graphs on the views beside Z; and the samples and anchors that they should be of."""
    made = source(vote_weight=vote_weight, **changes)
    made.generator = torch.Generator().manual_seed(5)
    rows = vote_weight * F.normalize(embedding(), dim=1)
    x = torch.cat([*(x / V**0.5 for x in views()), rows], 1)
    u = sample_anchors(x, M, torch.Generator().manual_seed(5), 0)
    return made.vote_graphs(10 * embedding(), K), x, u


@pytest.mark.parametrize("weight", [0.5, 2.0])
def test_graph_with_z_takes_its_unit_rows_as_one_more_view(weight):
    (graph,), x, u = with_z(vote_weight=weight)
    assert squared_distances(u, x).min(1).values.max() < 1e-12  # anchors are samples
    assert_graph(graph, reference.squared_distances(x, u))


def test_graphs_a_view_with_z_add_the_distances_in_z():
    graphs, *both = with_z(joint_graph=False)
    *own, z = zip(*(part.split([4, 2, 5, 3], 1) for part in both))
    of_z = reference.squared_distances(*z)
    for graph, pair in zip(graphs, own):
        assert_graph(graph, V * reference.squared_distances(*pair) + of_z)


def test_graph_with_z_is_drawn_anew_and_carries_no_gradient():
    made, z = source(), embedding().requires_grad_()
    first, second = (made.vote_graphs(z, K)[0] for _ in range(2))
    assert not torch.allclose(first.to_dense(), second.to_dense())
    assert not first.weights.requires_grad


def test_perturbation_moves_the_anchors_of_every_draw_and_learns(generator):
    module = PerturbationGenerator(4 + 2 + 5, "softplus", generator=generator).double()
    made = source(SimpleNamespace(perturbation=module, perturb=module), anchor_sets=1)
    still = made.graphs()[0].to_dense()
    draws = [made.draws(None, embedding(), K)[0] for _ in range(2)]
    first, second = (draw.graphs[0].to_dense() for draw in draws)
    assert not torch.allclose(first, still) and not torch.allclose(first, second)
    loss = draws[0].graphs[0].weights.square().sum()
    assert all(g.abs().sum() > 0 for g in torch.autograd.grad(loss, list(module.parameters())))


def test_sparse_views_are_refused_with_the_way_out():
    sparse = SparseView(scipy.sparse.random(N, 6, 0.3, "csr"), torch.float64, "cpu")
    with pytest.raises(ValueError, match="components"):
        ViewAnchors(STILL, [*views(), sparse], M, REVISED, torch.Generator())


def test_anchors_in_the_embedding_can_be_samples_of_it(generator):
    recipe = dataclasses.replace(
        RELEASED, anchor_start="sample", anchor_iterations=0, perturbation=False, embedding_dim=3
    )
    network = Network((4, 2, 5), 2, recipe, generator=generator).double()
    u = EmbeddingAnchors(network, M, recipe, generator).anchors(embedding())
    assert squared_distances(u, F.normalize(embedding(), dim=1)).min(1).values.max() < 1e-12


def test_joint_graph_in_the_embedding_is_that_of_the_mean_squared_distance():
    zs, u = [embedding(seed) for seed in (2, 3)], embedding(4)[:M]
    recipe = dataclasses.replace(RELEASED, joint_graph=True)
    draw = embedding_draw(zs, u, K, recipe)
    (graph,) = draw.graphs
    mean = sum(reference.squared_distances(z, u) for z in zs) / 2
    assert_graph(graph, mean)
    for one in (recipe, dataclasses.replace(recipe, al_weight=0.0)):  # that is only measured
        (al,) = embedding_draw(zs, u, K, one).anchor_learning(None, one)
        torch.testing.assert_close(al, anchor_learning_loss(mean))
    assert draw.convolution_inputs(zs) == ([graph] * 2, [u] * 2)
    with pytest.raises(ValueError, match="at least 9 anchors"):
        embedding_draw(zs, u, M, recipe)


def test_means_of_the_anchors_are_weighted_means_of_their_samples():
    (graph,) = source(anchor_sets=1).graphs()
    s, z = graph.to_dense(), embedding()
    expected = torch.diag(reference.inverse_degrees(s)) @ s.T @ z
    torch.testing.assert_close(anchor_means(graph, z), expected)


def test_anchor_learning_of_anchors_in_the_views_is_between_unit_rows(generator):
    d2 = torch.rand(600, M, generator=generator, dtype=torch.float64)
    z = torch.randn(600, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    draw = Draw([anchor_graph(d2, K)], 1.0)
    (loss,) = draw.anchor_learning(z, REVISED)
    means = F.normalize(anchor_means(draw.graphs[0], z.detach()), dim=1)
    d2 = reference.squared_distances(F.normalize(z, dim=1), means)
    expected = anchor_learning_loss(d2)
    torch.testing.assert_close(loss, expected)
    # The means are held: the gradient is that of the samples alone.
    gradients = [torch.autograd.grad(x, z)[0] for x in (loss, expected)]
    torch.testing.assert_close(*gradients)


def test_convolution_starts_from_the_means_in_every_view():
    (draw,) = source(vote_share=0.0).draws(None, None, K)
    zs = [embedding(seed) for seed in (2, 3, 4)]
    graphs, means = draw.convolution_inputs(zs)
    assert graphs == draw.graphs * 3
    torch.testing.assert_close(means, [anchor_means(draw.graphs[0], z) for z in zs])


def test_anchors_of_a_fitted_model_are_means_in_z():
    made, (graph,) = source(), with_z(vote_weight=REVISED.vote_weight)[0]
    made.generator = torch.Generator().manual_seed(5)
    torch.testing.assert_close(made.anchors(embedding()), anchor_means(graph, embedding()))
