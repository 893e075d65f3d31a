"""Recipes are data: the three of the book, variants, and refusals."""

import dataclasses

import pytest

from dmac.recipes import PUBLISHED, RELEASED, REVISED, Recipe, get_recipe


def test_the_released_choices():
    assert (RELEASED.hidden_dim, RELEASED.embedding_dim, RELEASED.agcn_dim) == (256, 64, 16)
    assert (RELEASED.pretrain_epochs, RELEASED.pretrain_lr) == (1000, 1e-3)
    assert (RELEASED.epochs, RELEASED.lr) == (50, 5e-3)
    assert (RELEASED.cm_weight, RELEASED.sp_weight) == (1e3, 1e3)
    assert (RELEASED.n_neighbors, RELEASED.neighbor_step, RELEASED.neighbor_period) == (5, 5, 20)
    assert RELEASED.n_anchors is None


def test_what_separates_the_recipes():
    def differences(a, b):
        a, b = dataclasses.asdict(a), dataclasses.asdict(b)
        return {key for key in a if a[key] != b[key]} - {"name"}

    assert differences(RELEASED, REVISED) == {"mutual_information"}
    assert differences(RELEASED, PUBLISHED) == {
        "normalize_embedding",
        "normalize_anchors",
        "pretrain_epochs",
        "epochs",
        "neighbor_period",
        "sp_form",
    }


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
