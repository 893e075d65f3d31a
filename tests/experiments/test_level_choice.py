"""The choice of the third level: the rule, what it asks for, and what a table shows."""

import numpy as np
import pandas as pd
import pytest

import dmac
from dmac.recipes import CLOSED_FORM, CLOSED_FORM_0_2
from experiments import level_choice, records
from experiments.row_lengths import BY_LENGTH
from experiments.run import recipe_of, run_name


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


def test_details_are_asked_for_beside_the_weight_that_was_chosen(monkeypatch, tmp_path):
    store = records.open_store(tmp_path)
    first = level_choice.asked(store)
    assert len(first) == 2 * (100 * (6 + 6) + 34 * 2) and {s.seed for s in first} == {1, 2}
    monkeypatch.setattr(level_choice, "chosen_weight", lambda _: "halves")
    recipes = [recipe_of(s.settings) for s in level_choice.asked(store)[::100][:14]]
    chosen = [r for r in recipes if r.level_weight == "halves"]
    assert {r.levels for r in chosen} == {"all"}
    assert {r.anchor_sets for r in chosen} == {3, 4, 6}
    assert {r.scaled_components for r in chosen} == {15, 30, 60}
    assert sum(getattr(r, "normal_scores", False) for r in chosen) == 1


def test_what_is_stored_is_scored_and_chosen_by_kind(monkeypatch):
    frame = scores(halves=52.0)
    for name in ("halves and rank", "equal, with the guard", "rank, with the guard"):
        frame[name] = frame["halves"] - 1
    table = level_choice.by_kind(frame, level_choice.WEIGHTS)
    assert table.n.sum() == 100 and set(table.choice) == {"halves"}
    assert (table.gain > 1).all()
    assert list(level_choice.gains_over(frame).columns) == [
        "34 of the test",
        "66 of the book",
        "all",
    ]
    # A record for each run that is asked for, as a store has them.
    made = {
        run_name(name, *run, seed): {"scores": {"acc": 0.5, "nmi": 0.3}}
        for run in [("DMAC", level_choice.settings_of(CLOSED_FORM_0_2, sealed=True))]
        for name in level_choice.SETS
        for seed in level_choice.SEEDS
    }
    monkeypatch.setattr(records, "index", lambda _: made)
    found = level_choice.scores_of(None)
    assert list(found) == [level_choice.BEFORE] and (found == 40).all(axis=None)


def test_fewer_levels_are_shown_by_the_seeds_that_are_whole(monkeypatch):
    changes = [{}, *level_choice.FEWER_LEVELS.values()]
    names = [
        run_name(x, *level_choice._run(one, CLOSED_FORM), seed)
        for seed in level_choice.SEEDS
        for one in changes
        for x in level_choice.SETS
    ]
    made = {name: {"scores": {"acc": 0.5, "nmi": 0.3}} for name in names}
    assert len(made) == 2 * 7 * 100
    for n, seeds, shown in ((1400, (1, 2), 7), (1399, (1,), 7), (699, (1,), 6)):
        some = dict(list(made.items())[:n])
        monkeypatch.setattr(records, "index", lambda _, some=some: some)
        found, scores = level_choice.of_fewer_levels(None)
        assert found == seeds and len(scores.columns) == shown
    table = level_choice.gains_over(scores, level_choice.AFTER)
    assert list(table.index) == list(level_choice.FEWER_LEVELS)[:5]


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
