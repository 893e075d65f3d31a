"""Recipes are data: the three of the book, variants, and refusals."""

import dataclasses

import numpy as np
import pytest

from dmac.recipes import (
    CLOSED_FORM,
    PUBLISHED,
    RELEASED,
    REVISED,
    NetworkRecipe,
    SpectralRecipe,
    get_recipe,
)


def test_published_reads_the_equations_literally():
    # What the paper does not ask for is off, and what it leaves open is as released.
    changed = {name: x for name, x in vars(PUBLISHED).items() if x != getattr(RELEASED, name)}
    del changed["name"], changed["final_n_init"]
    assert changed == dict(
        normalize_embedding=False,
        normalize_anchors=False,
        pretrain_epochs=0,
        epochs=100,
        neighbor_period=0,
        neighbor_delay=0,  # of no period
        sp_form="pairs",
    )


def test_numpy_numbers_become_plain_ones():
    recipe = dataclasses.replace(RELEASED, n_neighbors=np.int64(3), lr=np.float32(0.5))
    assert (type(recipe.n_neighbors), type(recipe.lr)) == (int, float)


def test_lookup_by_name_in_any_case_and_by_instance():
    assert get_recipe("Released") is RELEASED
    variant = dataclasses.replace(RELEASED, n_neighbors=3)
    assert get_recipe(variant) is variant
    for wrong in ("best", None, 3):
        with pytest.raises(ValueError, match="'released'"):
            get_recipe(wrong)


def test_recipes_cannot_be_changed_in_place():
    with pytest.raises(dataclasses.FrozenInstanceError):
        RELEASED.lr = 1.0


@pytest.mark.parametrize(
    "recipe, changes, error, message",
    [
        *(
            (RELEASED, {field: value}, ValueError, field)
            for field, value in (  # the least of every rule, and past its ends
                *[("epochs", value) for value in (-1, 1.5, True)],
                *[("lr", value) for value in (0, float("nan"), "fast")],
                *[("cm_weight", value) for value in (-1, float("inf"))],
                *[
                    ("n_anchors", 1),
                    ("n_neighbors", None),
                    ("embedding_dim", 0),
                    ("anchor_sets", 0),
                ],
                *[("sigma", "exp"), ("perturbation", 1), ("name", 3)],
                *[("anchor_share", 1.5), ("vote_share", -0.1), ("vote_share", 2)],
            )
        ),
        (REVISED, {"components": 0}, ValueError, "closed_form_start needs components"),
        (
            REVISED,
            {"anchor_space": "embedding"},
            ValueError,
            "closed_form_start needs anchor_space",
        ),
        (CLOSED_FORM, {"guard_time": 3}, ValueError, "guard_time is 3, it must be even"),
        (CLOSED_FORM, {"epochs": 3}, TypeError, "epochs"),  # a field of the other kind
        (RELEASED, {"vote_rounds": 3}, TypeError, "vote_rounds"),
    ],
)
def test_fields_that_are_out_of_range_or_do_not_go_together_are_refused(
    recipe, changes, error, message
):
    with pytest.raises(error, match=message):
        dataclasses.replace(recipe, **changes)


@pytest.mark.parametrize(
    "kind, field",
    [(kind, f.name) for kind in (NetworkRecipe, SpectralRecipe) for f in dataclasses.fields(kind)],
)
def test_every_field_is_checked(kind, field):
    # A value of a wrong type for every field; a field that no rule names would take it.
    with pytest.raises(ValueError, match=f"recipe field {field} "):
        kind(**{"name": "x", field: {1}})
