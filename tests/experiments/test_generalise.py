"""The variants behind CLOSED_FORM: that they differ and run, their data sets, and bad views."""

import dataclasses
import json

import numpy as np
import pytest
import scipy.sparse

import dmac
from dmac.data.datasets import DATASETS
from dmac.recipes import CLOSED_FORM, REVISED
from experiments import plan, switches
from experiments.generalise import (
    BEFORE,
    BROUGHT,
    CONFIRMED,
    CONSTANTS,
    DEVELOPED,
    DISTURBED,
    FURTHER,
    GROUPS,
    NEW,
    PARTS,
    REPORTED,
    SAME_SAMPLES,
    SIXTEEN,
    disturb,
    variant,
)
from experiments.run import BASELINES, peer_settings, recipe_of, settings_of

MADE = {**PARTS, **CONSTANTS, "before": BEFORE}


def fields(changes):
    return dataclasses.astuple(variant(changes, "x"))


def test_sets_are_disjoint_and_sixteen_together():
    assert not set(DEVELOPED) & set(CONFIRMED)
    assert SIXTEEN == (*DEVELOPED, *CONFIRMED)
    assert (len(DEVELOPED), len(CONFIRMED), len(set(SIXTEEN))) == (9, 7, 16)


def test_new_sets_are_those_that_revised_had_not_met():
    assert not set(NEW) & set(switches.DATASETS)
    assert set(NEW) | set(switches.DATASETS) == set(SIXTEEN)


def test_variants_differ_from_closed_form_and_from_each_other():
    variants = [fields({}), *(fields(changes) for changes in MADE.values())]
    assert len(set(variants)) == len(variants)


@pytest.mark.parametrize("name", list(MADE))
def test_variants_change_what_they_name(name):
    made, changes = variant(MADE[name]), MADE[name]
    assert changes
    for field in dataclasses.fields(CLOSED_FORM):
        value = getattr(made, field.name)
        if field.name in changes:
            assert value == changes[field.name] != getattr(CLOSED_FORM, field.name)
        elif field.name != "name":
            assert value == getattr(CLOSED_FORM, field.name)


def test_constants_halve_and_double():
    for name, changes in CONSTANTS.items():
        field, factor = name.split(" x ")
        value = getattr(CLOSED_FORM, field)
        expected = float(factor) * value
        assert changes == {field: int(expected) if isinstance(value, int) else expected}
    halved = {name.split(" x ")[0] for name in CONSTANTS if name.endswith("0.5")}
    doubled = {name.split(" x ")[0] for name in CONSTANTS if name.endswith("x 2")}
    assert halved - doubled == {"anchor_share"} and doubled < halved


def test_groups_name_every_run_once():
    runs = [
        (dataset, method, json.dumps(settings, sort_keys=True))
        for group in GROUPS.values()
        for method, settings in group["variants"].values()
        for dataset in group["datasets"]
    ]
    assert len(runs) == len(set(runs))


def test_groups_hold_what_their_names_say():
    assert GROUPS["closed form"]["variants"] == {"closed form": ("DMAC", settings_of(CLOSED_FORM))}
    assert GROUPS["revised, new sets"]["variants"] == {"revised": ("DMAC", settings_of(REVISED))}
    assert GROUPS["shallow, new sets"]["variants"].keys() == BASELINES.keys()
    for group, family in (("closed form, parts", PARTS), ("closed form, constants", CONSTANTS)):
        for name, (_, settings) in GROUPS[group]["variants"].items():
            assert recipe_of(settings) == variant(family[name])
    (run,) = GROUPS["closed form, unseen"]["variants"].values()
    assert run == ("DMAC", settings_of(CLOSED_FORM, held_out=0.3))
    for kind, (_, settings) in GROUPS["closed form, bad views"]["variants"].items():
        assert settings == settings_of(CLOSED_FORM, disturbed=kind)
    assert tuple(GROUPS["closed form, bad views"]["variants"]) == DISTURBED


def test_further_sets_are_developed_on_or_reported_and_none_of_the_sixteen():
    assert (len(BROUGHT), len(REPORTED), len(set(FURTHER))) == (6, 18, 24)
    assert not set(FURTHER) & set(SIXTEEN) and {*FURTHER, *SIXTEEN} == set(DATASETS)
    assert all({second, first} <= set(REPORTED) for second, first in SAME_SAMPLES.items())
    groups = {name: asked for name, asked in GROUPS.items() if name.startswith("further sets")}
    assert len(groups) == 7
    for asked in groups.values():
        assert asked["datasets"] == FURTHER
    seeds = {name.split(", ")[1]: len(asked["seeds"]) for name, asked in groups.items()}
    ten, three = dict.fromkeys(("closed form", "shallow", "LMVSC"), 10), dict(revised=3, SNF=3)
    assert seeds == ten | three | {"GMC": 1, "SNF as they come": 1}
    for name, (method, settings) in groups["further sets, SNF"]["variants"].items():
        assert name == method == "SNF" and settings == peer_settings("SNF")
    assert groups["further sets, closed form"]["variants"] == GROUPS["closed form"]["variants"]
    assert groups["further sets, shallow"]["variants"] == GROUPS["shallow, new sets"]["variants"]


def test_groups_are_among_the_stages():
    assert set(GROUPS) <= set(plan.full())


def views(sparse=False):
    rng = np.random.default_rng(0)
    found = [rng.poisson(1.0, (50, 12)) + 1.0, rng.standard_normal((50, 5))]
    return [scipy.sparse.csr_matrix(x) for x in found] if sparse else found


def dense(x):
    return x.toarray() if scipy.sparse.issparse(x) else x


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", DISTURBED)
def test_disturbing_changes_one_view_and_leaves_the_others(kind, sparse):
    before, clean = views(sparse), views(sparse)
    after = disturb(before, kind, seed=0)
    for one, other in zip(before, clean):
        np.testing.assert_array_equal(dense(one), dense(other))  # what came in
    if kind == "left out":
        (rest,) = after
        np.testing.assert_array_equal(dense(rest), dense(clean[1]))
        return
    np.testing.assert_array_equal(dense(after[1]), dense(clean[1]))
    first = dense(clean[0])
    if kind == "empty rows":
        empty = ~dense(after[0]).any(1)
        assert len(after) == 2 and empty.sum() == 20
        assert scipy.sparse.issparse(after[0]) == sparse
        np.testing.assert_array_equal(dense(after[0])[~empty], first[~empty])
        return
    np.testing.assert_array_equal(dense(after[0]), first)
    assert len(after) == 3
    if kind == "duplicate":
        np.testing.assert_array_equal(dense(after[2]), first)
    if kind == "noise":
        assert after[2].shape == (50, 64) and abs(after[2].mean()) < 0.1
    if kind == "shuffled":
        assert (dense(after[2]) != first).any()
        np.testing.assert_array_equal(np.sort(dense(after[2]), 0), np.sort(first, 0))


@pytest.mark.parametrize("kind", ["noise", "shuffled", "empty rows"])
def test_disturbing_hangs_on_the_seed_alone(kind):
    first, again, other = (disturb(views(), kind, seed) for seed in (0, 0, 1))
    assert all((a == b).all() for a, b in zip(first, again))
    assert any((a != b).any() for a, b in zip(first, other))


def test_unknown_disturbances_are_refused():
    with pytest.raises(ValueError, match="kind is 'upside down', it must be one of"):
        disturb(views(), "upside down", 0)


@pytest.mark.parametrize("name", list(MADE))
def test_every_variant_runs(name):
    rng = np.random.default_rng(0)
    classes = np.arange(60) % 3
    x = [np.abs(3 * rng.normal(size=(3, d))[classes] + rng.normal(size=(60, d))) for d in (7, 9)]
    model = dmac.DMAC(3, variant(MADE[name]), random_state=0).fit(x)
    assert np.isfinite(model.embedding_).all() and set(model.labels_) == {0, 1, 2}
    np.testing.assert_array_equal(model.predict(x), model.labels_)
