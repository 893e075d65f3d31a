"""The variants behind REVISED: what they change, that they differ, and that all of them run."""

import dataclasses
import json

import numpy as np
import pytest

import dmac
from dmac.recipes import REVISED
from experiments.ideas import search
from experiments.run import EARLY, recipe_of, settings_of
from experiments.switches import (
    FROM_RELEASED,
    GROUPS,
    IDEAS,
    ROBUSTNESS,
    SWITCHES,
    WALK,
    variant,
)

FAMILIES = {
    "walk": WALK,
    "released": FROM_RELEASED,
    "ideas": IDEAS,
    "switches": SWITCHES,
    "robustness": ROBUSTNESS,
}
ALL = {f"{family}: {name}": c for family, vs in FAMILIES.items() for name, c in vs.items()}
MADE = {name: changes for name, changes in ALL.items() if "retired" not in changes}


def fields(changes):
    """What tells variants apart; one that is retired is told by that."""
    changes = dict(changes)
    retired = changes.pop("retired", None)
    return (retired, *dataclasses.asdict(variant(changes, "x")).items())


def test_walk_ends_at_revised_and_every_step_changes_something():
    steps = [variant(changes, REVISED.name) for changes in WALK.values()]
    assert steps[-1] == REVISED
    assert all(before != after for before, after in zip(steps, steps[1:]))


def test_steps_of_the_walk_change_the_fields_they_name_and_no_others():
    rows = list(WALK.values())
    changed = [
        {key for key in after if after[key] != before.get(key)}
        for before, after in zip(rows, rows[1:])
    ]
    assert changed == [
        {"anchor_factor", "anchor_share"},
        {"root"},
        {"whitening_ridge"},
        {"vote_weight", "vote_share"},
        {"anchor_sets", "anchor_iterations"},
        {"epochs", "lr"},
    ]


def test_walk_from_released_turns_every_field_once_from_its_value_to_that_of_revised():
    rows = list(FROM_RELEASED.values())
    assert variant(rows[0], EARLY.name) == EARLY
    assert rows[-1] == {}
    for before, after in zip(rows, rows[1:]):
        assert after.items() < before.items()


@pytest.mark.parametrize("family", list(FAMILIES))
def test_variants_of_a_family_differ_from_revised_and_from_each_other(family):
    variants = [fields(changes) for changes in FAMILIES[family].values()]
    assert len(set(variants)) == len(variants)
    assert (fields({}) in variants) == (family in ("walk", "released"))  # whose last row it is


def test_switches_and_ideas_do_not_repeat_each_other():
    variants = [fields(c) for family in (IDEAS, SWITCHES, ROBUSTNESS) for c in family.values()]
    assert len(set(variants)) == len(variants)


def test_robustness_halves_and_doubles():
    names = ("components", "anchor_factor", "n_neighbors", "lr", "epochs", "hidden_dim")
    assert len(ROBUSTNESS) == 2 * len(names)
    for name in names:
        value = getattr(REVISED, name)
        half, double = ROBUSTNESS[f"{name} x 0.5"], ROBUSTNESS[f"{name} x 2"]
        assert double == {name: 2 * value}
        assert half == {name: value // 2 if isinstance(value, int) else value / 2}


def test_groups_hold_every_variant_once_and_revised_in_its_own():
    families = ("revised", "ideas", "switches", "robustness", "walk", "released")
    texts = [
        json.dumps(settings, sort_keys=True)
        for group in families
        for _, settings in GROUPS[group]["variants"].values()
    ]
    assert len(texts) == len(set(texts)) == len({fields(c) for c in ALL.values()} | {fields({})})
    for group, family in FAMILIES.items():
        for name, (_, settings) in GROUPS[group]["variants"].items():
            changes = dict(family[name])
            assert settings.get("retired") == changes.pop("retired", None)
            assert recipe_of(settings) == variant(changes)
    assert GROUPS["revised"]["variants"] == {"revised": ("DMAC", settings_of(REVISED))}


def test_groups_beside_the_families_are_revised_and_the_search():
    for group, beside in (("unseen", {"held_out": 0.3}), ("seconds", {"threads": 2})):
        (run,) = GROUPS[group]["variants"].values()
        assert run == ("DMAC", settings_of(REVISED, **beside))
    for name, (method, settings) in GROUPS["search"]["variants"].items():
        assert method == search.METHOD and settings.keys() == search.BASE.keys()
        assert settings == search.BASE | search.VARIANTS[name]


def test_variant_is_revised_with_a_name_of_its_own():
    assert variant({}) == dataclasses.replace(REVISED, name="variant")
    assert variant({"lr": 0.5}, "fast").lr == 0.5
    with pytest.raises(ValueError, match="n_neighbors"):
        variant({"n_neighbors": 0})


@pytest.mark.parametrize("name", list(MADE))
def test_every_variant_runs(name):
    recipe = variant(MADE[name])
    short = {key: min(getattr(recipe, key), 2) for key in ("pretrain_epochs", "epochs")}
    recipe = dataclasses.replace(recipe, **short)
    rng = np.random.default_rng(0)
    classes = np.arange(60) % 3
    views = [3 * rng.normal(size=(3, d))[classes] + rng.normal(size=(60, d)) for d in (7, 9)]
    views = [np.abs(x) for x in views]  # so that the square root is taken
    model = dmac.DMAC(3, recipe, random_state=0).fit(views)
    assert len(model.history_) == recipe.epochs
    assert np.isfinite(model.embedding_).all() and np.isfinite(model.anchors_).all()
    assert all(np.isfinite(dataclasses.astuple(record)).all() for record in model.history_)
    np.testing.assert_array_equal(model.predict(views), model.labels_)
