"""The variants behind REVISED: what they change, that they differ, and that all of them run."""

import dataclasses
import json

import numpy as np
import pytest

import dmac
from dmac.experiments.switches import (
    FROM_RELEASED,
    GROUPS,
    IDEAS,
    ROBUSTNESS,
    SWITCHES,
    WALK,
    by_variant,
    steps,
    variant,
)
from dmac.recipes import RELEASED, REVISED

FAMILIES = {
    "walk": WALK,
    "released": FROM_RELEASED,
    "ideas": IDEAS,
    "switches": SWITCHES,
    "robustness": ROBUSTNESS,
}
ALL = {f"{family}: {name}": c for family, vs in FAMILIES.items() for name, c in vs.items()}


def fields(changes):
    return tuple(dataclasses.asdict(variant(changes, "x")).items())


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
        {"self_weight", "self_share"},
        {"anchor_sets", "anchor_iterations"},
        {"epochs", "lr"},
    ]


def test_walk_from_released_turns_every_field_once_from_its_value_to_that_of_revised():
    rows = list(FROM_RELEASED.values())
    assert variant(rows[0], RELEASED.name) == RELEASED
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
    assert GROUPS["revised"][0] == {"revised": {}}
    held = [fields(c) for variants, _ in GROUPS.values() for c in variants.values()]
    assert len(held) == len(set(held))
    assert set(held) == {fields(changes) for changes in ALL.values()} | {fields({})}


def test_variant_is_revised_with_a_name_of_its_own():
    assert variant({}) == dataclasses.replace(REVISED, name="variant")
    assert variant({"lr": 0.5}, "fast").lr == 0.5
    with pytest.raises(ValueError, match="n_neighbors"):
        variant({"n_neighbors": 0})


@pytest.mark.parametrize("name", list(ALL))
def test_every_variant_runs(name):
    recipe = variant(ALL[name])
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


@pytest.fixture
def folder(tmp_path):
    """REVISED at 90 and 60 on two data sets, three seeds, with variants at known distances."""
    sets = {"PIE": 90.0, "BBC": 60.0}

    def write(group, offsets):
        lines = [
            {"variant": name, "dataset": d, "seed": seed, "acc": acc + of(d, seed), "nmi": acc}
            for name, of in offsets.items()
            for d, acc in sets.items()
            for seed in (1, 2, 3)
        ]
        (tmp_path / f"{group}.jsonl").write_text("\n".join(map(json.dumps, lines)))

    write("revised", {"revised": lambda d, seed: seed})
    write("ideas", {"consistency": lambda d, seed: 2 * seed + (d == "PIE")})
    write("walk", {name: lambda d, seed, i=i: i for i, name in enumerate(list(WALK)[:-1])})
    return tmp_path


def test_changes_are_paired_by_set_and_seed(folder):
    table = by_variant("ideas", folder)
    assert list(table.index) == ["consistency"]
    row = table.loc["consistency"]
    assert (row["PIE"], row["BBC"], row["mean ACC"]) == (3.0, 2.0, 2.5)
    assert row["± (acc)"] == pytest.approx(4.303 / 3**0.5, rel=1e-3)  # of 1.5, 2.5, 3.5
    assert row["mean NMI"] == row["± (nmi)"] == 0


@pytest.mark.parametrize("group, table", [("ideas", by_variant), ("walk", steps)])
def test_groups_with_a_missing_run_are_refused(group, table, folder):
    path = folder / f"{group}.jsonl"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]))
    arguments = (WALK,) if table is steps else ()
    with pytest.raises(ValueError, match=f"runs of '{group}' are not complete"):
        table(group, *arguments, folder)


def test_steps_end_at_revised(folder):
    table = steps("walk", WALK, folder)
    assert list(table.index) == list(WALK)
    assert list(table["mean ACC"]) == pytest.approx([75, 76, 77, 78, 79, 80, 77])
    assert list(table.columns) == ["PIE", "BBC", "mean ACC", "mean NMI"]
