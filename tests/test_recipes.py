"""Recipes are data: the three of the book, variants, and refusals."""

import dataclasses

import numpy as np
import pytest

from dmac.recipes import PUBLISHED, RELEASED, REVISED, Recipe, get_recipe


def test_the_released_choices():
    # The choices of the authors' implementation, field by field.
    assert dataclasses.asdict(RELEASED) == dict(
        name="released",
        embedding_dim=64,
        hidden_dim=256,
        negative_slope=0.01,
        normalize_embedding=True,
        pretrain_epochs=1000,
        pretrain_lr=1e-3,
        epochs=50,
        lr=5e-3,
        n_anchors=None,
        perturbation=True,
        sigma="relu",
        normalize_anchors=True,
        n_neighbors=5,
        neighbor_step=5,
        neighbor_period=20,
        detach_graph=False,
        agcn_dim=16,
        mutual_information="per_row",
        sp_form="trace",
        al_weight=1.0,
        cm_weight=1e3,
        sp_weight=1e3,
        final_n_init=1,
    )


def test_what_separates_the_recipes():
    released = dataclasses.asdict(RELEASED)
    assert dataclasses.asdict(REVISED) == released | dict(
        name="revised", mutual_information="joint", final_n_init=10
    )
    assert dataclasses.asdict(PUBLISHED) == released | dict(
        name="published",
        normalize_embedding=False,
        normalize_anchors=False,
        pretrain_epochs=0,
        epochs=100,
        neighbor_period=0,
        sp_form="pairs",
        final_n_init=10,
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
    "field, value",
    [
        ("epochs", -1),
        ("epochs", 1.5),
        ("epochs", True),
        ("lr", 0),
        ("lr", float("nan")),
        ("lr", "fast"),
        ("cm_weight", -1),
        ("cm_weight", float("inf")),
        ("n_anchors", 1),
        ("n_neighbors", None),
        ("sigma", "exp"),
        ("perturbation", 1),
        ("mutual_information", "rows"),
        ("name", 3),
    ],
)
def test_fields_out_of_range_are_refused_by_name(field, value):
    with pytest.raises(ValueError, match=field):
        Recipe(**{"name": "x", field: value})
