"""The lists of variants: what they change, that they differ, that all run, and where they show."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import run_experiments

import dmac
from dmac import peers
from dmac.data.datasets import DATASETS
from dmac.recipes import CLOSED_FORM, CLOSED_FORM_2026_11, RELEASED, REVISED
from experiments import paper, plan, studies
from experiments.ideas import search
from experiments.run import BASELINES, DISTURBED, PEERS, peer_settings, recipe_of, settings_of
from experiments.studies import EARLY, STUDIES, variant, vary

#: Families of changes by the recipe that they change.
FAMILIES = {
    "ablation": (EARLY, studies.ABLATION),
    "trials": (EARLY, studies.TRIALS | studies.PAIRED_TRIALS),
    "beyond": (EARLY, studies.BEYOND),
    "walk": (REVISED, studies.WALK),
    "released": (REVISED, studies.FROM_RELEASED),
    "ideas": (REVISED, studies.IDEAS),
    "switches": (REVISED, studies.SWITCHES),
    "robustness": (REVISED, studies.ROBUSTNESS),
    "closed form, before": (CLOSED_FORM_2026_11, {"before": studies.BEFORE}),
    "closed form, parts": (CLOSED_FORM, studies.PARTS),
    "closed form, constants": (CLOSED_FORM, studies.CONSTANTS),
    "closed form, ideas": (CLOSED_FORM_2026_11, studies.SPECTRAL_IDEAS),
    "closed form, trained": (CLOSED_FORM_2026_11, studies.TRAINED),
}
ROWS = [(*FAMILIES[f], name) for f in FAMILIES for name in FAMILIES[f][1]]
#: Ideas have tests of their own, and RELEASED's changes those of the network.
MADE = [
    pytest.param(base, fields, id=f"{family}: {name}")
    for family, (base, changes) in FAMILIES.items()
    if base is not EARLY and family not in ("closed form, ideas", "closed form, trained")
    for name, fields in changes.items()
    if "retired" not in fields
]


def text(run):
    return json.dumps(run, sort_keys=True)


def test_data_sets_are_disjoint_and_sixteen_together():
    assert not set(studies.DEVELOPED) & set(studies.CONFIRMED)
    assert not set(studies.NEW) & set(studies.NINE)
    assert {*studies.NEW, *studies.NINE} == set(studies.SIXTEEN)
    sizes = (studies.NINE, studies.DEVELOPED, studies.CONFIRMED, studies.NEW, studies.SIXTEEN)
    assert list(map(len, sizes)) == [9, 9, 7, 7, 16]
    assert studies.CLUSTERS == {"PIE": 68, "BBC": 5}
    # HandWritten and mfeat are two copies of one set.
    assert {*studies.MAIN, *studies.OTHERS} ^ set(studies.NINE) == {"mfeat", "HandWritten"}


@pytest.mark.parametrize("base, family, name", ROWS, ids=lambda x: x if isinstance(x, str) else "")
def test_a_change_sets_its_fields_and_leaves_the_others(base, family, name):
    changes = dict(family[name])
    retired = changes.pop("retired", None)
    ((method, settings),) = vary({name: family[name]}, base).values()
    assert method == "DMAC" and settings.get("retired") == retired
    before, recipe = settings_of(base), recipe_of(settings)
    moved = {k for k in before if k != "kind" and before[k] != getattr(recipe, k)}
    # A change may also restate what is so already, as a trial at the recipe's own rate does.
    assert moved <= set(changes)
    assert all(getattr(recipe, key) == value for key, value in changes.items())


@pytest.mark.parametrize("family", FAMILIES)
def test_variants_of_a_family_differ_and_are_those_of_its_study(family):
    base, changes = FAMILIES[family]
    runs = vary(changes, base)
    assert len({text(run) for run in runs.values()}) == len(runs)
    listed = STUDIES[family].variants
    assert all(runs[name] == run for name, run in listed.items() if name != "RELEASED")
    # Walks end at the recipe, which has a study of its own.
    left_out = [list(changes)[-1]] if family in ("walk", "released") else []
    assert set(runs) - set(listed) == set(left_out)
    assert all(runs[name][1] == settings_of(REVISED) for name in left_out)


def test_steps_of_the_walk_change_the_fields_they_name_and_no_others():
    rows = list(studies.WALK.values())
    changed = [
        {k for k in after if after[k] != before.get(k)} for before, after in zip(rows, rows[1:])
    ]
    assert changed == [set(step) for step in studies._STEPS.values()]
    rows = list(studies.FROM_RELEASED.values())
    assert variant(REVISED, EARLY.name, **rows[0]) == EARLY and rows[-1] == {}
    assert all(after.items() < before.items() for before, after in zip(rows, rows[1:]))


@pytest.mark.parametrize(
    "base, changes, lacking",
    [
        (REVISED, studies.ROBUSTNESS, set()),
        (CLOSED_FORM, studies.CONSTANTS, {"anchor_share x 2"}),  # as many anchors as samples
    ],
)
def test_constants_halve_and_double(base, changes, lacking):
    for name, fields in changes.items():
        field, factor = name.split(" x ")
        value = getattr(base, field)
        expected = float(factor) * value
        assert fields == {field: int(expected) if isinstance(value, int) else expected}
    names = {name.split(" x ")[0] for name in changes}
    assert {f"{n} x {f}" for n in names for f in ("0.5", "2")} - set(changes) == lacking


def test_the_grid_is_that_of_the_paper_and_its_corners_are_four():
    assert len(studies.GRID) == 49 and RELEASED.cm_weight in studies.WEIGHTS
    assert studies.WEIGHTS[0] == 1e-3 and studies.WEIGHTS[-1] == 1e3
    assert len(studies.CORNERS) == 4 and set(studies.CORNERS) < set(studies.GRID)


def test_every_value_of_a_line_is_a_variant_of_its_own():
    lines = studies.line_variants()
    values = [(what, value) for what, values in studies.LINES.items() for value in values]
    assert list(lines) == [f"{what} = {value}" for what, value in values]
    others = [text(run) for run in lines.values() if run != ("DMAC", settings_of(EARLY))]
    assert len(set(others)) == len(others)


def test_settings_beside_the_recipe_join_every_variant_and_unknown_fields_are_an_error():
    assert {s["weighting"] for _, s in studies.WEIGHTED_TRIALS.values()} == {"tf-idf"}
    for kind, (_, settings) in STUDIES["closed form, bad views"].variants.items():
        assert settings == settings_of(CLOSED_FORM, disturbed=kind)
    assert tuple(STUDIES["closed form, bad views"].variants) == DISTURBED
    for name, recipe in (("unseen", REVISED), ("closed form, unseen", CLOSED_FORM)):
        (run,) = STUDIES[name].variants.values()
        assert run == ("DMAC", settings_of(recipe, held_out=0.3))
    with pytest.raises(TypeError, match="learning_rate"):
        vary({"slow": dict(learning_rate=1e-6)})
    with pytest.raises(ValueError, match="n_neighbors"):
        variant(REVISED, n_neighbors=0)


def test_studies_of_recipes_and_pipelines_hold_what_their_names_say():
    assert STUDIES["closed form"].variants == {"closed form": ("DMAC", settings_of(CLOSED_FORM))}
    for name in ("revised", "revised, new sets"):
        assert STUDIES[name].variants == {"revised": ("DMAC", settings_of(REVISED))}
    assert STUDIES["shallow, new sets"].variants.keys() == BASELINES.keys()
    assert STUDIES["shipped"].variants["RELEASED"] == ("DMAC", settings_of(RELEASED))
    for name, (method, settings) in STUDIES["search"].variants.items():
        assert method == search.METHOD and settings == search.BASE | search.VARIANTS[name]


def test_studies_of_the_chapters_name_every_run_once():
    shown = studies.shown_on("11_recipes", "14_network", "15_evidence")
    runs = [
        (dataset, text(run))
        for study in shown.values()
        for run in study.variants.values()
        for dataset in study.datasets
    ]
    assert len(runs) == len(set(runs)) and "revised" in shown and "grid" not in shown


def test_studies_are_shown_on_pages_that_are_there():
    root = Path(__file__).parents[2]
    pages = {path.stem for folder in ("notebooks", "book") for path in (root / folder).iterdir()}
    assert {page for study in STUDIES.values() for page in study.pages.split()} <= pages


def test_the_plan_makes_every_study_on_its_data_sets_but_for_what_is_retired():
    planned = {
        (s.dataset, s.seed, text((s.method, s.settings))) for f in plan.full().values() for s in f
    }
    for name, study in STUDIES.items():
        runs = {
            (dataset, seed, text(run))
            for seed in study.all_seeds
            for run in study.with_seed(seed).values()
            for dataset in study.datasets
            if "retired" not in run[1]
        }
        assert runs <= planned, name
    assert plan.full(["mfeat"])["CMGEC, cosine"] == []
    assert {spec.seed for spec in plan.of("peers, shallow") if spec.method == "GMC"} == {1}


@pytest.mark.parametrize("c", studies.CLUSTERS.values())
def test_every_point_of_a_grid_of_another_system_can_be_fitted(c):
    points = studies.grid(c)
    assert {system for system, _ in points.values()} == set(paper.SHALLOW) - {"GMC"}
    for system, settings in points.values():
        assert settings.keys() == peer_settings(system).keys()
        peers.ALL[system](c, **settings)._check(600)  # raises where a value is not usable
    assert len({text(run) for run in points.values()}) == len(points)
    lmvsc = {(s["n_anchors"], s["alpha"]) for m, s in points.values() if m == "LMVSC"}
    assert lmvsc == {(m, a) for m in {c, 50, 100} if m >= c for a in (0.01, 1.0, 100.0)}


def test_trials_of_other_systems_are_theirs():
    defaults = ("DFP-GNN, to the end", "CMGEC, cosine")
    for study in (studies.PEER_TRIALS | studies.PEER_DEFAULTS | studies.PEER_ENDS).values():
        for name, (system, settings) in study.variants.items():
            assert system in PEERS and name.startswith(system)
            assert settings.keys() == peer_settings(system).keys()
            assert settings != peer_settings(system) or name in defaults


def test_stored_runs_with_defaults_of_before_are_still_asked_for():
    assert studies.DEEP_PEERS["CMGEC"][1] == peer_settings("CMGEC", metric="euclidean")
    assert studies.PEER_TRIALS["CMGEC, cosine"].variants["CMGEC, cosine"][1] == peer_settings(
        "CMGEC"
    )
    (tenth,) = studies.PEER_DEFAULTS["CMGEC, cosine, a tenth"].variants.values()
    assert tenth[1] == studies.SHORT_PEERS["CMGEC"][1] | {"metric": "cosine"}
    assert all(plan.is_short(spec) for spec in plan.of("CMGEC, cosine, a tenth"))
    for system, settings in studies.grid(5).values():
        if system == "MSGL" and settings["normalize"]:
            assert settings["beta"] is None


@pytest.mark.parametrize("base, changes", MADE)
def test_every_variant_runs(base, changes):
    recipe = variant(base, **changes)
    if base is REVISED:
        short = {key: min(getattr(recipe, key), 2) for key in ("pretrain_epochs", "epochs")}
        recipe = dataclasses.replace(recipe, **short)
    rng = np.random.default_rng(0)
    classes = np.arange(60) % 3
    views = [3 * rng.normal(size=(3, d))[classes] + rng.normal(size=(60, d)) for d in (7, 9)]
    views = [np.abs(x) for x in views]  # so that the square root is taken
    model = dmac.DMAC(3, recipe, random_state=0).fit(views)
    assert np.isfinite(model.embedding_).all() and np.isfinite(model.anchors_).all()
    if base is REVISED:
        assert len(model.history_) == recipe.epochs
        assert all(np.isfinite(dataclasses.astuple(record)).all() for record in model.history_)
    np.testing.assert_array_equal(model.predict(views), model.labels_)


def test_further_sets_are_developed_on_or_reported_and_none_of_the_sixteen():
    brought, reported, further = studies.BROUGHT, studies.REPORTED, studies.FURTHER
    assert (len(brought), len(reported), len(set(further))) == (6, 18, 24)
    assert not set(further) & set(studies.SIXTEEN)
    assert {*further, *studies.SIXTEEN} == set(DATASETS)
    assert all({a, b} <= set(reported) for a, b in studies.SAME_SAMPLES.items())
    asked = {name: s for name, s in STUDIES.items() if name.startswith("further sets")}
    assert len(asked) == 8 and all(s.datasets == further for s in asked.values())
    seeds = {name.split(", ")[1]: s.seeds for name, s in asked.items()}
    ten = dict.fromkeys(("closed form", "november", "shallow", "LMVSC"), 10)
    three = dict(revised=3, SNF=3)
    assert seeds == ten | three | {"GMC": 1, "SNF as they come": 1}
    assert asked["further sets, SNF"].variants == {"SNF": ("SNF", peer_settings("SNF"))}
    for name, other in (("closed form", "closed form"), ("shallow", "shallow, new sets")):
        assert asked[f"further sets, {name}"].variants == STUDIES[other].variants


def test_a_line_of_the_command_names_the_recipe_or_what_is_changed():
    scores = {"scores": {"acc": 0.5, "nmi": 0.25}}
    lines = {
        name: run_experiments.show(dict(dataset="PIE", seed=1, method=m, settings=s) | scores)
        for name, (m, s) in (studies.SHIPPED | studies.COMPARISON).items()
    }
    assert lines["CLOSED_FORM"] == "PIE seed 1, closed_form: 50.00 25.00"
    assert lines["k-means, whitened"] == "PIE seed 1, k-means, whitened: 50.00 25.00"
    assert lines["wo/CM"] == "PIE seed 1, neighbor_delay=1 cm_weight=0.0: 50.00 25.00"
    assert len(set(lines.values())) == len(lines)
