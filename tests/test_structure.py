"""The trace form against both dense forms, its factor 2 and its bounds."""

import pytest
import torch
from helpers import assert_matches, problems, random_points
from hypothesis import given

from dmac import reference
from dmac.anchor_graph import anchor_graph
from dmac.anchors import squared_distances
from dmac.structure import structure_preservation_loss


def loss(z, u, k, fused):
    return structure_preservation_loss(fused, anchor_graph(squared_distances(z, u), k))


@given(problems)
def test_matches_both_forms_of_the_reference(problem):
    n, m, d, seed, k = problem
    z, u = random_points(n, m, d, seed)
    fused = random_points(n, m, d + 1, seed + 1)[0]

    def fast(z, u, fused):
        return loss(z, u, k, fused)

    def dense(form, factor):
        return lambda z, u, fused: factor * form(fused, reference.anchor_graph(z, u, k))

    assert_matches(fast, dense(reference.structure_preservation_loss_trace, 1), z, u, fused)
    assert_matches(fast, dense(reference.structure_preservation_loss_pairs, 0.5), z, u, fused)


@given(problems)
def test_is_non_negative_and_ignores_a_common_shift_and_the_order(problem):
    n, m, d, seed, k = problem
    z, u = (x.detach() for x in random_points(n, m, d, seed))
    graph = anchor_graph(squared_distances(z, u), k)
    value = float(structure_preservation_loss(z, graph))
    assert value >= -1e-12
    assert float(structure_preservation_loss(z + 3, graph)) == pytest.approx(value, abs=1e-9)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    assert float(loss(z[order], u, k, z[order])) == pytest.approx(float(loss(z, u, k, z)))


def test_is_zero_for_a_collapsed_embedding():
    z, u = (x.detach() for x in random_points(15, 5, 3, 0))
    assert float(loss(z, u, 2, torch.ones(15, 4, dtype=torch.float64))) == 0


def test_keeps_its_digits_in_a_collapsed_embedding():
    z, u = (x.detach() for x in random_points(300, 20, 8, 0))
    graph = anchor_graph(squared_distances(z, u), 3)
    near = torch.nn.functional.normalize(torch.ones(8, dtype=torch.float64), dim=0) + 1e-4 * z
    single = anchor_graph(squared_distances(z, u).float(), 3)
    exact = float(structure_preservation_loss(near, graph))
    assert float(structure_preservation_loss(near.float(), single)) == pytest.approx(exact, rel=1e-3)


def test_anchors_without_samples_add_nothing():
    z, u = random_points(12, 4, 3, 0)
    far = torch.cat([u.detach(), torch.full((3, 3), 1e3, dtype=torch.float64)]).requires_grad_()
    value = loss(z, far, 2, z)
    torch.testing.assert_close(value, loss(z, u, 2, z))
    value.backward()
    assert torch.isfinite(z.grad).all() and torch.isfinite(far.grad).all()
