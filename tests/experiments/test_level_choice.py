"""The choice of the third level: the rule, what it asks for, and what a table shows."""

import numpy as np
import pandas as pd
import pytest
from helpers import ROOT

import dmac
from dmac.recipes import CLOSED_FORM, CLOSED_FORM_0_2
from experiments import evidence, level_choice, records, sealed, studies
from experiments.row_lengths import BY_LENGTH
from experiments.run import is_retired, recipe_of, run_name


def scores(**means):
    """Scores of all sets, the same on each but for a little that is shared."""
    noise = np.random.default_rng(0).normal(0, 1, len(level_choice.SETS))
    columns = {name: mean + i * 0.1 * noise for i, (name, mean) in enumerate(means.items())}
    return pd.DataFrame({level_choice.BEFORE: 50.0} | columns, index=list(level_choice.SETS))


def test_the_simplest_is_taken_that_no_other_beats_by_its_interval():
    level = scores(simple=50.0, other=50.01)
    assert level_choice.choose(level, ["simple", "other"]) == "simple"
    ahead = scores(simple=50.0, other=51.0)
    assert level_choice.choose(ahead, ["simple", "other"]) == "other"
    assert level_choice.choose(ahead, ["other", "simple"]) == "other"


def test_sets_with_the_same_samples_count_once():
    frame = scores(one=50.0)
    mean, _ = level_choice.gain(frame, "one", level_choice.BEFORE)
    frame.loc["Wiki", "one"] += 9
    moved, _ = level_choice.gain(frame, "one", level_choice.BEFORE)
    assert moved - mean == pytest.approx(9 / 2 / 98)


def test_details_are_compared_beside_the_weight_that_was_chosen():
    recipes = [
        recipe_of(settings)
        for step in level_choice.steps().values()
        for _, settings in step.values()
        if not is_retired(settings)
    ]
    chosen = [r for r in recipes if r.level_weight == level_choice.CHOSEN]
    assert {r.levels for r in chosen} == {"all"}
    assert {r.anchor_sets for r in chosen} == {3, 4, 6}
    assert {r.scaled_components for r in chosen} == {15, 30, 60}


def test_what_is_stored_is_scored_and_chosen_by_kind(monkeypatch):
    frame = scores(halves=52.0)
    for name in ("halves and rank", "equal, with the guard", "rank, with the guard"):
        frame[name] = frame["halves"] - 1
    table = level_choice.by_kind(frame, level_choice.WEIGHTS)
    assert table.n.sum() == 100 and set(table.choice) == {"halves"}
    assert (table.gain > 1).all()
    table = level_choice.gains_over(frame)
    assert list(table.columns) == ["34 of the test", "66 of the book", "all"]
    # Of every record half a scoring and half a failed fit, as a store has them.
    both = [{"scores": {"acc": 0.5, "nmi": 0.3}}, {"one_cluster": {"acc": 0.7, "nmi": 0.1}}]
    changes = [{}, *level_choice.FEWER_LEVELS.values()]
    made = {
        run_name(x, *level_choice._run(one, CLOSED_FORM), seed): both[seed - 1]
        for seed in level_choice.SEEDS
        for one in changes
        for x in level_choice.SETS
    }
    monkeypatch.setattr(records, "index", lambda _: made)
    found = level_choice.of_fewer_levels(None)
    assert list(found) == [level_choice.AFTER, *level_choice.FEWER_LEVELS]
    assert np.allclose(found, 40)
    made.popitem()
    with pytest.raises(ValueError, match="a run of plain and scaled on S34 is not stored"):
        level_choice.of_fewer_levels(None)


@pytest.mark.parametrize("n_views", [1, 2])
@pytest.mark.parametrize("kind", ["items of agreement", "brightness", "loads"])
def test_groups_that_differ_by_level_come_out_by_halves_without_the_guard(kind, n_views):
    make, columns, c, n, sizes = BY_LENGTH[kind]
    rng, y = np.random.default_rng(0), np.arange(n) % c
    views = [make(rng, y, d, sizes[-1]) for d in columns[:n_views]]
    (_, halves), *_ = level_choice.steps()["weight"].values()
    accuracy = [
        dmac.scores(y, dmac.AnchorGraphClustering(c, r, random_state=0).fit_predict(views))["acc"]
        for r in (recipe_of(halves), CLOSED_FORM_0_2)
    ]
    assert accuracy[0] > 0.95 and accuracy[1] < 0.6, accuracy


def test_numbers_in_texts_without_glue_are_those_of_the_store():
    """README.md and CHANGELOG.md are not built, so nothing else holds what they say."""
    store = records.open_store().refresh()
    three = level_choice.beside_pipelines(store)
    said = {
        (group, metric): level_choice.gain(
            three.loc[sets].xs(metric, axis=1, level=1), level_choice.AFTER, level_choice.BEFORE
        )
        for group, sets in level_choice.GROUPS.items()
        for metric in ("acc", "nmi")
    }
    of_test, of_nmi, older, older_nmi = (
        f"{round(x, 1) + 0.0:.1f} +- {half:.1f}" for x, half in said.values()
    )
    scores = evidence.scores_of(evidence.read_runs(), (evidence.CLOSED,), ["PIE"])
    pie = evidence.with_study(scores, studies.DEFAULT).xs("acc", axis=1, level=1).loc["PIE"]
    changes = " ".join((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split())
    assert f"gains, with two seeds, {of_test} points of accuracy and {of_nmi} of NMI" in changes
    assert f"{older} and {older_nmi} on the 66 of the book" in changes
    before, after = pie[evidence.CLOSED], pie[studies.DEFAULT]
    assert f"PIE falls from {before:.1f} % to {after:.1f} %" in changes

    opened = sealed.whole_scores(sealed.asked(store))
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    for other in ("PCA + Leiden", evidence.BEST_SINGLE):
        text = sealed.lead(opened, other, "acc").replace("±", "+-").replace("−", "-")
        assert f"({text}" in readme
