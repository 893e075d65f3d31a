"""Ballots, and the Markov stability by which the guard decides."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given
from hypothesis import strategies as st

from dmac.agc.anchor_sets import draw_sets
from dmac.agc.averaged_graph import AveragedGraph, average
from dmac.agc.votes import (
    association,
    ballot,
    column_weights,
    filtered,
    learned_map,
    markov_stability,
    n_columns,
    ratio_rows,
    unit_rows,
    voters,
)
from dmac.recipes import CLOSED_FORM


def recipe(**changes):
    return dataclasses.replace(CLOSED_FORM, **changes)


def test_ballots_have_rows_of_the_weight():
    rng = np.random.default_rng(0)
    u, values = np.linalg.qr(rng.normal(size=(30, 6)))[0], np.linspace(1, 0.2, 6)
    x, weight = rng.normal(size=(30, 5)), rng.normal(size=(6, 3))

    def cast(voter, **changes):
        return ballot(voter, u, values, x, weight, 3, recipe(**changes))

    unit = u[:, :3] / np.linalg.norm(u[:, :3], axis=1, keepdims=True)
    np.testing.assert_allclose(cast("flat", vote_weight=2.0), 2 * unit)
    np.testing.assert_allclose(cast("filtered"), filtered(u, values, 3, recipe()))
    expected = x @ weight[:5] + weight[5]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(cast("learned"), expected, atol=1e-12)


def test_voters():
    forms = {f: voters(recipe(vote_form=f)) for f in ("flat", "filtered", "learned", "both")}
    single = {f: (f,) for f in ("flat", "filtered", "learned")}
    assert forms == single | {"both": ("filtered", "learned")}


def test_learned_functions_solve_their_eigenproblem(generator):
    x = torch.randn(40, 3, generator=generator, dtype=torch.float64)
    graph = AveragedGraph(draw_sets(x, 4, 10, 1, 3, generator)[1])
    x = x.numpy()
    w = learned_map(x, graph, 3, 0.2)
    f = np.column_stack([x, np.ones(40)])
    a, b = f.T @ (graph @ f), f.T @ f
    b += 0.2 * np.trace(b) / 4 * np.eye(4)
    values = np.diag(w.T @ a @ w) / np.diag(w.T @ b @ w)
    np.testing.assert_allclose(a @ w, b @ w * values, atol=1e-8)
    assert (np.diff(values) < 0).all() and values[0] < 1
    np.testing.assert_allclose(w.T @ b @ w / 40, np.eye(3), atol=1e-9)  # means over the samples
    assert learned_map(x, graph, 9, 0.2).shape == (4, 4)  # as many as there are


@pytest.mark.parametrize("time", [2, 4, 6])
def test_stability_is_that_of_its_definition_with_samples_by_their_shares(generator, time):
    x = torch.randn(50, 4, generator=generator)
    x[:15, :2] = 0
    factors = [
        draw_sets(x[:, :2], 2, 12, 1, 3, generator, (2,), np.arange(50)[:, None] >= 15)[1],
        draw_sets(x[:, 2:], 2, 12, 1, 3, generator, (2,))[1],
    ]
    graph = AveragedGraph(average(factors, [1, 1]))
    labels = np.arange(50) % 3
    g, r = (graph.rows @ graph.rows.T).toarray(), graph.shares
    walk = np.linalg.matrix_power(g / r[:, None], time)
    h = np.eye(3)[labels]
    wanted = np.trace(h.T @ np.diag(r / r.sum()) @ walk @ h) - ((r @ h / r.sum()) ** 2).sum()
    assert markov_stability(graph, labels, time) == pytest.approx(wanted)


def test_weights_are_those_of_the_equation():
    values = np.array([1.0, 0.9, 0.7, 0.6, 0.2])
    found = column_weights(values, 3, recipe(filter_power=2.0, filter_offset=0.5))
    gaps = np.array([0.3, 0.1, 0.3, 0.4, 0.8])  # the first at the place of the third
    np.testing.assert_allclose(found / found[1], (0.1 + 0.2) ** 2 / (gaps + 0.2) ** 2)
    np.testing.assert_array_equal(column_weights(values, 3, recipe(filter="cut")), [1, 1, 1, 0, 0])


@given(
    values=st.lists(st.floats(0, 1), min_size=4, max_size=12),
    c=st.integers(2, 12),
    power=st.floats(0.5, 4),
    offset=st.floats(0.01, 2),
)
def test_weights_fall_with_the_eigenvalue(values, c, power, offset):
    values = np.array([1.0, *sorted(values, reverse=True)])
    found = column_weights(values, c, recipe(filter_power=power, filter_offset=offset))
    assert found.min() > 0 and found.max() == 1
    assert (np.diff(found[1:]) <= 1e-12).all()
    assert found[0] == found[min(c, len(values)) - 1]


@pytest.mark.parametrize(
    "n, c, filter, expected",
    [
        (1000, 10, "resolvent", 30),
        (1000, 68, "resolvent", 118),  # c and fifty more
        (20, 10, "resolvent", 18),  # what Lanczos can give
        (1000, 10, "cut", 10),
        (9, 10, "cut", 7),
    ],
)
def test_numbers_of_columns(n, c, filter, expected):
    assert n_columns(n, c, recipe(filter=filter)) == expected


def test_rows_have_unit_length_or_are_zero():
    u = np.array([[3.0, 4.0], [0, 0]])
    np.testing.assert_allclose(unit_rows(u), [[0.6, 0.8], [0, 0]])
    u = np.random.default_rng(1).normal(size=(30, 5))
    values = np.linspace(1, 0, 5)
    weighted = u * column_weights(values, 3, recipe())
    expected = weighted / np.linalg.norm(weighted, axis=1, keepdims=True)
    np.testing.assert_allclose(filtered(u, values, 3, recipe()), expected)


def test_association_is_that_of_the_dense_graph_and_below_its_bound():
    rng = np.random.default_rng(0)
    labels = np.r_[np.zeros(30, int), np.ones(10, int)]
    weights = rng.random((40, 12)) * (rng.random((40, 12)) < 0.5) + 0.01
    weights /= weights.sum(1, keepdims=True)
    factor = scipy.sparse.csr_matrix(weights / np.sqrt(weights.sum(0)))
    graph = AveragedGraph(factor)
    dense, q = (factor @ factor.T).toarray(), np.eye(3)[labels]
    stays = [q[:, k] @ dense @ q[:, k] / q[:, k].sum() for k in (0, 1)]
    assert association(graph, labels, 3) == pytest.approx((sum(stays) - 1) / 2)  # one is empty
    values = np.linalg.eigvalsh(dense)[::-1]
    assert values[0] == pytest.approx(1)
    for seed in range(20):
        drawn = np.random.default_rng(seed).integers(3, size=40)
        assert association(graph, drawn, 3) <= values[1:3].mean() + 1e-12


def test_rows_of_the_cut_are_nearly_ratios_whatever_the_shares():
    ratios, shares = np.array([[1.0, 0.3, -0.2], [1.0, -2.0, 0.1]]), np.array([[1.0], [0.25]])
    z = ratio_rows(ratios)
    np.testing.assert_allclose(z[:, 1:] / z[:, :1], ratios[:, 1:] / 30)
    np.testing.assert_allclose(ratio_rows(ratios * shares), z)
