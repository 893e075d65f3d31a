"""Ballots, and the Markov stability by which the guard decides."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse
import torch

from dmac.averaged_graph import AveragedGraph, draw_sets
from dmac.recipes import CLOSED_FORM
from dmac.spectral_filter import filtered
from dmac.votes import ballot, beside, markov_stability


def recipe(**changes):
    return dataclasses.replace(CLOSED_FORM, **changes)


def test_ballots_have_rows_of_the_weight():
    rng = np.random.default_rng(0)
    u, values = np.linalg.qr(rng.normal(size=(30, 6)))[0], np.linspace(1, 0.2, 6)
    flat = ballot(u, values, 3, recipe(vote_form="flat", vote_weight=2.0))
    assert flat.shape == (30, 3)
    np.testing.assert_allclose(np.linalg.norm(flat, axis=1), 2)
    np.testing.assert_allclose(flat / np.linalg.norm(flat, axis=1)[:, None] * np.linalg.norm(
        u[:, :3], axis=1)[:, None], u[:, :3])
    soft = ballot(u, values, 3, recipe(vote_form="filtered"))
    np.testing.assert_allclose(soft, filtered(u, values, 3, recipe()))


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
