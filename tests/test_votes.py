"""Ballots, and the Markov stability by which the guard decides."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse
import torch

from dmac.averaged_graph import AveragedGraph, draw_sets
from dmac.recipes import CLOSED_FORM
from dmac.spectral_filter import filtered
from dmac.structure import closed_form_projection
from dmac.votes import ballot, beside, learned_map, markov_stability, voters


def recipe(**changes):
    return dataclasses.replace(CLOSED_FORM, **changes)


def test_ballots_have_rows_of_the_weight():
    rng = np.random.default_rng(0)
    u, values = np.linalg.qr(rng.normal(size=(30, 6)))[0], np.linspace(1, 0.2, 6)
    x, weight = rng.normal(size=(30, 5)), rng.normal(size=(6, 3))

    def cast(voter, **changes):
        return ballot(voter, u, values, x, weight, 3, recipe(**changes))

    flat = cast("flat", vote_weight=2.0)
    assert flat.shape == (30, 3)
    np.testing.assert_allclose(np.linalg.norm(flat, axis=1), 2)
    np.testing.assert_allclose(np.cross(flat, u[:, :3]), 0, atol=1e-12)  # the same directions
    np.testing.assert_allclose(cast("filtered"), filtered(u, values, 3, recipe()))
    learned = cast("learned")
    np.testing.assert_allclose(np.linalg.norm(learned, axis=1), 1)
    np.testing.assert_allclose(np.cross(learned, x @ weight[:5] + weight[5]), 0, atol=1e-12)


def test_voters():
    forms = {f: voters(recipe(vote_form=f)) for f in ("flat", "filtered", "learned", "both")}
    assert forms.pop("both") == ("filtered", "learned")
    assert all(found == (form,) for form, found in forms.items())


@pytest.fixture
def drawn(generator):
    x = torch.randn(40, 3, generator=generator, dtype=torch.float64)
    _, factor = draw_sets(x, 4, 10, 1, 3, generator)
    return x.numpy(), AveragedGraph([factor], [1])


def test_learned_functions_solve_their_eigenproblem(drawn):
    x, graph = drawn
    w = learned_map(x, graph, 3, 0.2)
    f = np.column_stack([x, np.ones(40)])
    a, b = f.T @ (graph @ f), f.T @ f
    b += 0.2 * np.trace(b) / 4 * np.eye(4)
    values = np.diag(w.T @ a @ w) / np.diag(w.T @ b @ w)
    np.testing.assert_allclose(a @ w, b @ w * values, atol=1e-8)
    assert (np.diff(values) < 0).all() and values[0] < 1
    assert learned_map(x, graph, 9, 0.2).shape == (4, 4)  # as many as there are


def test_learned_functions_and_their_ballot_come_block_by_block(drawn, monkeypatch):
    x, graph = drawn
    u, values = np.eye(40)[:, :6], np.linspace(1, 0.2, 6)

    def both():
        w = learned_map(x, graph, 3, 0.2)
        return w, ballot("learned", u, values, x, w, 3, recipe())

    whole = both()
    monkeypatch.setattr("dmac.votes._ROWS", 7)
    for found, expected in zip(both(), whole):
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_with_hardly_a_ridge_they_are_the_closed_form_of_the_network(generator):
    from dmac.anchor_graph import anchor_graph
    from dmac.compute.distances import squared_distances

    x = torch.randn(40, 3, generator=generator, dtype=torch.float64)
    sets, factor = draw_sets(x, 1, 10, 1, 3, generator)
    graph = anchor_graph(squared_distances(x, sets.u[0]), 3)
    weight, bias = closed_form_projection(x, [graph], 3, ridge=1e-9)
    expected = x @ weight + bias
    found = learned_map(x.numpy(), AveragedGraph([factor], [1]), 3, 1e-9)
    found = x.numpy() @ found[:-1] + found[-1]
    overlap = np.abs(np.corrcoef(np.hstack([found[:, 1:], expected.numpy()[:, 1:]]).T))[:2, 2:]
    np.testing.assert_allclose(overlap, np.eye(2), atol=1e-4)


def test_a_column_of_noise_gets_little_weight():
    rng = np.random.default_rng(2)
    labels = np.arange(200) % 2
    signal = torch.as_tensor(np.eye(2)[labels] * 4 + rng.normal(size=(200, 2)))
    _, factor = draw_sets(signal, 6, 30, 2, 5, torch.Generator().manual_seed(0))
    x = np.column_stack([signal.numpy(), rng.normal(size=(200, 2)) * 3])
    w = learned_map(x, AveragedGraph([factor], [1]), 2, 0.01)
    strength = np.abs(w[:-1] * x.std(0)[:, None]).max(1)
    assert strength[2:].max() < 0.2 * strength[:2].min()


def test_distances_beside_a_ballot_add_up(generator):
    x = torch.randn(9, 3, generator=generator)
    rows = np.random.default_rng(1).normal(size=(9, 2))
    both = beside(x, rows)
    assert both.dtype == x.dtype
    added = torch.cdist(x, x) ** 2 + torch.cdist(*2 * [torch.as_tensor(rows).float()]) ** 2
    torch.testing.assert_close(torch.cdist(both, both) ** 2, added)


@pytest.mark.parametrize("time", [2, 4, 6])
def test_stability_is_that_of_its_definition(generator, time):
    x = torch.randn(40, 3, generator=generator, dtype=torch.float64)
    _, factor = draw_sets(x, 4, 10, 1, 3, generator)
    graph = AveragedGraph([factor], [1])
    labels = np.arange(40) % 3
    one = np.eye(3)[labels]
    power = np.linalg.matrix_power(graph @ np.eye(40), time)
    expected = np.trace(one.T @ power @ one) / 40 - ((one.sum(0) / 40) ** 2).sum()
    assert markov_stability(graph, labels, time) == pytest.approx(expected)


def test_stability_of_parts_and_of_chance():
    parts = scipy.sparse.csr_matrix(np.kron(np.eye(2), np.ones((10, 1))) / np.sqrt(10))
    graph = AveragedGraph([parts], [1])  # a walk never leaves its half
    halves = np.repeat([0, 1], 10)
    assert markov_stability(graph, halves, 4) == pytest.approx(0.5)
    assert markov_stability(graph, np.tile([0, 1], 10), 4) == pytest.approx(0)
    assert markov_stability(graph, np.zeros(20, int), 4) == pytest.approx(0)


def test_stability_counts_samples_by_their_shares(generator):
    x = torch.randn(50, 4, generator=generator)
    x[:15, :2] = 0
    factors = [
        draw_sets(x[:, :2], 2, 12, 1, 3, generator, widths=(2,))[1],
        draw_sets(x[:, 2:], 2, 12, 1, 3, generator, widths=(2,))[1],
    ]
    graph = AveragedGraph(factors, [1, 1])
    labels = np.arange(50) % 3
    g, r = (graph.rows @ graph.rows.T).toarray(), graph.shares
    walk = np.linalg.matrix_power(g / r[:, None], 4)
    h = np.eye(3)[labels]
    wanted = np.trace(h.T @ np.diag(r / r.sum()) @ walk @ h) - ((r @ h / r.sum()) ** 2).sum()
    assert markov_stability(graph, labels, 4) == pytest.approx(wanted)
