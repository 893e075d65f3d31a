"""The lists of variants: what they change, that they differ, that all run, and where they show."""

import json
import re
from pathlib import Path

import pytest

from dmac import peers
from dmac.data.datasets import DATASETS
from dmac.recipes import CLOSED_FORM_2026_11, RELEASED, REVISED
from experiments import paper, plan, studies
from experiments.run import is_retired, peer_settings, settings_of
from experiments.studies import STUDIES, vary

#: Families of changes by the recipe that they change.
FAMILIES = {
    "ablation": (RELEASED, studies.ABLATION),
    "trials": (RELEASED, studies.TRIALS | studies.PAIRED_TRIALS),
    "beyond": (RELEASED, studies.BEYOND),
    "walk": (REVISED, studies.WALK),
    "released": (REVISED, studies.FROM_RELEASED),
    "ideas": (REVISED, studies.IDEAS),
    "switches": (REVISED, studies.SWITCHES),
    "robustness": (REVISED, studies.ROBUSTNESS),
    "closed form, before": (CLOSED_FORM_2026_11, {"before": studies.BEFORE}),
    "closed form, parts": (CLOSED_FORM_2026_11, studies.PARTS),
    "closed form, constants": (CLOSED_FORM_2026_11, studies.CONSTANTS),
    "closed form, ideas": (CLOSED_FORM_2026_11, studies.SPECTRAL_IDEAS),
}


def text(run):
    return json.dumps(run, sort_keys=True)


@pytest.mark.parametrize("family", FAMILIES)
def test_variants_of_a_family_differ_and_are_those_of_its_study(family):
    base, changes = FAMILIES[family]
    runs = vary(changes, base)
    assert len({text(run) for run in runs.values()}) == len(runs)
    released = ("DMAC", settings_of(RELEASED))
    listed = {k: run for k, run in STUDIES[family].variants.items() if "retired" not in run[1]}
    assert listed == {name: (runs | {"RELEASED": released})[name] for name in listed}
    # Walks end at the recipe, which has a study of its own.
    left_out = [list(changes)[-1]] if family in ("walk", "released") else []
    assert set(runs) - set(listed) == set(left_out)
    assert all(runs[name][1] == settings_of(REVISED) for name in left_out)


def test_studies_of_the_chapters_name_every_run_once():
    shown = studies.shown_on("12_recipes", "11_network", "13_evidence")
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


def test_the_catalogue_of_the_files_is_up_to_date():
    found = plan.CATALOGUE.read_text(encoding="utf-8")
    assert found == plan.catalogue(), "run python -m experiments.plan in notebooks"
    paths = (plan.RESULTS / "runs").glob("*.jsonl*")
    names = {path.name for path in paths if not path.name.startswith("bench-")}
    assert len(names) > 50 and all(re.search(f"`(runs/)?{name}`", found) for name in names)


def test_the_plan_makes_every_study_on_its_data_sets_but_for_what_is_retired():
    planned = {
        (s.dataset, s.seed, text((s.method, s.settings))) for f in plan.full().values() for s in f
    }
    for name, study in STUDIES.items():
        runs = {
            (dataset, seed, text(run))
            for seed in study.all_seeds
            for run in study.variants.values()
            for dataset in study.datasets
            if not is_retired(run[1]) and not study.retired
        }
        assert runs <= planned, name
    assert plan.full(["mfeat"])["CMGEC, Euclidean"] == []
    assert {spec.seed for spec in plan.of("peers, GMC")} == {1}


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


def test_every_data_set_is_in_one_group_by_what_happened_to_it():
    sizes = {name: len(sets) for name, sets in studies.GROUPS.items()}
    before = {"chosen on": 24, "looked at": 8, "touched once": 8}
    assert sizes == before | {"scored before": 10, "never scored": 16}
    assert sorted(sum(studies.GROUPS.values(), ())) == sorted(DATASETS)
    assert {*studies.DEVELOPED, *studies.BROUGHT} < set(studies.GROUPS["chosen on"])
    assert set(studies.REDUCED) < set(studies.HELD_OUT)
    # By which nothing was chosen.
    of_all = "held out", "how sure", "number of clusters", "field", "pre-trained", studies.DEFAULT
    seen = [s for n, s in STUDIES.items() if not n.startswith(of_all)]
    assert not any(set(s.datasets) & set(studies.HELD_OUT) for s in seen)
