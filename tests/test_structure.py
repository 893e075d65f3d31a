"""The trace form against both dense forms, its factor 2 and its bounds."""

import pytest
import scipy.linalg
import torch
from helpers import assert_matches, problems, random_points
from hypothesis import given

from dmac import reference
from dmac.anchor_graph import anchor_graph
from dmac.compute.distances import squared_distances
from dmac.structure import closed_form_projection, structure_preservation_loss


def loss(z, u, k, fused):
    return structure_preservation_loss(fused, anchor_graph(squared_distances(z, u), k))


@pytest.mark.parametrize(
    "form, factor",
    [
        (reference.structure_preservation_loss_trace, 1),
        (reference.structure_preservation_loss_pairs, 0.5),
    ],
)
@given(problems)
def test_matches_both_forms_of_the_reference(form, factor, problem):
    n, m, d, seed, k = problem
    assert_matches(
        lambda z, u, fused: loss(z, u, k, fused),
        lambda z, u, fused: factor * form(fused, reference.anchor_graph(z, u, k)),
        *random_points(n, m, d, seed),
        random_points(n, m, d + 1, seed + 1)[0],
    )


def test_keeps_its_digits_in_a_collapsed_embedding():
    z, u = (x.detach() for x in random_points(300, 20, 8, 0))
    near = torch.nn.functional.normalize(torch.ones(8, dtype=torch.float64), dim=0) + 1e-4 * z
    single = anchor_graph(squared_distances(z, u).float(), 3)
    exact = float(structure_preservation_loss(near, anchor_graph(squared_distances(z, u), 3)))
    assert float(structure_preservation_loss(near.float(), single)) == pytest.approx(
        exact, rel=1e-3
    )


def test_anchors_without_samples_add_nothing():
    z, u = random_points(12, 4, 3, 0)
    far = torch.cat([u.detach(), torch.full((3, 3), 1e3, dtype=torch.float64)]).requires_grad_()
    value = loss(z, far, 2, z)
    torch.testing.assert_close(value, loss(z, u, 2, z))
    value.backward()
    assert torch.isfinite(z.grad).all() and torch.isfinite(far.grad).all()


# --- the closed form


def projection_problem(n=40, r=4, m=9, k=3, sets=3, seed=0):
    """Features H, some anchor graphs of them, F = [H, 1] and the dense average of their G."""
    h = 0.5 + random_points(n, m, r, seed)[0].detach()
    anchors = [0.5 + random_points(n, m, r, seed + s + 1)[1].detach() for s in range(sets)]
    graphs = [anchor_graph(squared_distances(h, u), k) for u in anchors]
    f = torch.cat([h, torch.ones(n, 1, dtype=torch.float64)], 1)
    return h, graphs, f, sum(reference.full_graph(g.to_dense()) for g in graphs) / sets


@pytest.mark.parametrize("ridge", [(), (1e-12,), (0.5,)])
def test_projection_solves_the_dense_eigenproblem(ridge):
    h, graphs, f, g = projection_problem()
    smoothed, moment = f.T @ g @ f / 40, f.T @ f / 40
    moment += (*ridge, 1e-6)[0] * moment.diagonal().mean() * torch.eye(5).double()
    values = scipy.linalg.eigh(smoothed, moment, eigvals_only=True)[::-1].copy()
    for d in (1, 3, 5):
        weight, bias = closed_form_projection(h, graphs, d, *ridge)
        w = torch.cat([weight, bias[None]])
        torch.testing.assert_close(w.T @ moment @ w, torch.eye(d).double())
        torch.testing.assert_close(w.T @ smoothed @ w, torch.as_tensor(values[:d]).diag())
        if ridge == (1e-12,):  # then it is the loss itself, and its first column is constant
            z, expected = h @ weight + bias, 40 * (1 - values[:d]).sum()
            loss = sum(structure_preservation_loss(z, one) for one in graphs) / len(graphs)
            assert loss.item() == pytest.approx(expected, rel=1e-6, abs=1e-6)
            torch.testing.assert_close(z[:, 0].abs(), torch.ones(40).double())


def test_columns_that_the_features_cannot_fill_are_zero():
    h, graphs, _, _ = projection_problem(r=2)
    weight, bias = closed_form_projection(h.float(), graphs, 5)
    assert [(x.dtype, x.shape) for x in (weight, bias)] == [
        (torch.float32, (2, 5)),
        (torch.float32, (5,)),
    ]
    assert (weight[:, 3:] == 0).all() and (bias[3:] == 0).all()
    assert (weight[:, 1:3].abs().sum(0) > 0).all()


def test_projection_of_dependent_features_is_finite():
    h, graphs, _, _ = projection_problem()
    for bad in (torch.cat([h, h], 1), 0 * h, torch.cat([h, 0 * h[:, :1]], 1)):
        weight, bias = closed_form_projection(bad, graphs, 3)
        z = bad @ weight + bias
        assert torch.isfinite(z).all()
        assert float(z.square().mean(0).max()) < 1 + 1e-4
