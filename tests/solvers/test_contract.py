"""A recipe names its solver; sizes that do not fit are refused with advice."""

import dataclasses

import pytest

from dmac.agc.solver import SpectralSolver
from dmac.recipes import CLOSED_FORM, RELEASED, REVISED
from dmac.solvers.contract import check_anchors, solver_of
from dmac.solvers.network_solver import NetworkSolver


def test_a_recipe_names_its_solver():
    for recipe, kind in ((REVISED, NetworkSolver), (CLOSED_FORM, SpectralSolver)):
        solver = solver_of(recipe)
        assert type(solver) is kind and solver.recipe is recipe
    assert solver_of(RELEASED).plan(100, (7,), 3).epochs == {
        "PretrainRecord": 1000,
        "EpochRecord": 50,
    }
    assert solver_of(CLOSED_FORM).plan(100, (7,), 3).n_steps == 3


@pytest.mark.parametrize(
    "base, changes, dims, work",
    [
        # Of encoders and of distances, a sample.
        (
            RELEASED,
            {"embedding_dim": 4, "hidden_dim": 5},
            (7, 2),
            5 * (7 + 4) + 5 * (2 + 4) + 11 * 2 * 4,
        ),
        # d = c, at most 2 c columns a view.
        (REVISED, {"hidden_dim": 5}, (7, 2), 5 * (6 + 3) + 5 * (2 + 3) + 11 * (6 + 2)),
        # Three passes over the anchors, three sets: 2 c whitened columns, 128 plain, 50 scaled.
        (CLOSED_FORM, {}, (200, 5), 3 * 11 * (6 + 128 + 50 + 3 * 5) * 3),
    ],
    ids=["released", "revised", "closed form"],
)
def test_work_is_that_of_encoders_and_distances(base, changes, dims, work):
    recipe = dataclasses.replace(base, n_anchors=11, **changes)
    assert solver_of(recipe).plan(100, dims, 3).work == work


@pytest.mark.parametrize(
    "sizes, advice",
    [
        ((9, 10, 5), "n_anchors is 10, but there are only 9 samples"),
        ((9, 5, 5), "n_neighbors to at most 4 or n_anchors to at least 6"),
        ((5, 5, 5), "set n_neighbors to at most 4 in"),
        ((9, 1, 5), "1 anchor is too few for 5 neighbours .* set n_anchors to at least 6"),
        ((3, 1, 5), "set n_anchors to 3 and n_neighbors to at most 2"),
    ],
)
def test_anchors_that_do_not_fit_are_refused_with_advice(sizes, advice):
    check_anchors(6, 6, 5)  # the smallest that fit
    with pytest.raises(ValueError, match=advice):
        check_anchors(*sizes)


@pytest.mark.parametrize(
    "n, c, m, k", [(12, 2, 6, 5), (11, 2, 6, 5), (6, 3, 6, 5), (5, 2, 5, 4), (4, 2, 4, 3)]
)
def test_of_few_samples_the_closed_form_chooses_anchors_and_neighbours(n, c, m, k):
    solver = solver_of(CLOSED_FORM)
    plan = solver.plan(n, (9,), c)
    assert plan.n_anchors == m and plan.recipe.n_neighbors == k
    assert (plan.recipe is CLOSED_FORM) == (n >= 12) and solver.recipe is CLOSED_FORM


def test_fewer_than_two_samples_a_cluster_are_too_few():
    solver = solver_of(CLOSED_FORM)
    assert solver.plan(19, (9,), 10).n_anchors == 9  # of more samples it is no matter
    fixed = solver_of(dataclasses.replace(CLOSED_FORM, n_anchors=5))
    for one, n, c, message in (
        (solver, 5, 3, "at least two a cluster, 6, or ask for at most 2 clus"),
        (solver, 3, 2, "3 samples are too few for n_clusters = 2: .* a cluster, 4$"),
        (fixed, 11, 2, "5 anchors are too few for 5 neighbours"),
    ):
        with pytest.raises(ValueError, match=message):
            one.plan(n, (9,), c)
