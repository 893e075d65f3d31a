"""The network on the averaged graph: its loss, its start, its rotation, its limits."""

import numpy as np
import pytest
import torch

from dmac.averaged_graph import AveragedGraph, draw_sets
from dmac.votes import learned_map
from experiments.ideas.trained_map import _Smooth, trained_map


@pytest.fixture
def case():
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(150) % 3
    x = torch.eye(3)[labels] * 3 + torch.randn(150, 3, generator=generator)
    factor = draw_sets(x, 6, 30, 2, 4, generator)[1]
    return x.double().numpy(), AveragedGraph([factor], [1])


def test_the_trace_and_its_gradient(case):
    features, graph = case
    g = (graph.rows @ graph.rows.T).toarray()
    z = torch.randn(150, 2, dtype=torch.float64, requires_grad=True)
    value = _Smooth.apply(z, graph)
    value.backward()
    assert value.item() == pytest.approx(np.trace(z.detach().numpy().T @ g @ z.detach().numpy()))
    np.testing.assert_allclose(z.grad, 2 * g @ z.detach().numpy(), atol=1e-10)


def test_without_epochs_it_is_the_linear_map(case):
    features, graph = case
    mapping, values = trained_map(features, graph, 3, 0.1, 0, torch.Generator())
    start = learned_map(features, graph, 3, 0.1)
    wanted = features @ start[:-1] + start[-1]
    # The same span, in other coordinates.
    found = mapping(features)
    residual = wanted - found @ np.linalg.lstsq(found, wanted, rcond=None)[0]
    assert abs(residual).max() < 1e-4 * abs(wanted).max()
    assert (np.diff(values) <= 0).all()


def test_training_makes_functions_smoother_and_keeps_them_orthonormal(case):
    features, graph = case
    seeds = [torch.Generator().manual_seed(0) for _ in range(2)]
    _, before = trained_map(features, graph, 3, 0.1, 0, seeds[0])
    mapping, after = trained_map(features, graph, 3, 0.1, 60, seeds[1])
    assert after.sum() > before.sum() + 0.02
    z = mapping(features)
    np.testing.assert_allclose(z.T @ z / len(z), np.eye(3), atol=1e-3)
    np.testing.assert_allclose(z.T @ (graph @ z) / len(z), np.diag(after), atol=1e-3)
    # No function is smoother than the eigenvectors.
    exact = np.linalg.eigvalsh((graph.rows @ graph.rows.T).toarray())[::-1]
    assert (after <= exact[:3] + 1e-3).all()


def test_no_more_functions_than_features(case):
    features, graph = case
    mapping, values = trained_map(features, graph, 10, 0.1, 2, torch.Generator())
    assert mapping(features).shape == (150, 4) and values.shape == (4,)
