"""What RELEASED is changed to: every change is one that a recipe can have, and no other field."""

import pytest

from dmac.recipes import RELEASED
from experiments import changes
from experiments.ideas.network_ideas import change
from experiments.run import EARLY, settings_of

FIELDS = changes.ABLATION | changes.TRIALS | changes.PAIRED_TRIALS | changes.LONG_TRIALS
FIELDS |= changes.WEIGHTED_TRIALS | changes.BEYOND


@pytest.mark.parametrize("name", FIELDS)
def test_a_change_sets_its_fields_and_leaves_the_others(name):
    # Without the schedule of k, which would override a k.
    (method, settings), before = changes.vary(FIELDS)[name], settings_of(EARLY)
    before |= {"kind": settings["kind"], "al_form": "entropy"}
    moved = {key: value for key, value in settings.items() if before[key] != value}
    expected = settings_of(change(EARLY, **FIELDS[name]))
    assert method == "DMAC" and settings == expected
    # A change may also restate what is so already, as a trial at the recipe's own rate does.
    assert set(moved) <= set(FIELDS[name]), moved


def test_further_settings_join_every_variant():
    variants = changes.vary(changes.WEIGHTED_TRIALS, weighting="tf-idf")
    assert {settings["weighting"] for _, settings in variants.values()} == {"tf-idf"}


def test_the_grid_is_that_of_the_paper_and_its_corners_are_four():
    assert len(changes.GRID) == 49 and RELEASED.cm_weight in changes.WEIGHTS
    assert changes.WEIGHTS[0] == 1e-3 and changes.WEIGHTS[-1] == 1e3
    assert len(changes.CORNERS) == 4 and set(changes.CORNERS) < set(changes.vary(changes.GRID))


def test_every_value_of_a_line_is_a_variant_of_its_own():
    lines = changes.line_variants()
    values = [(what, value) for what, values in changes.LINES.items() for value in values]
    assert list(lines) == [f"{what} = {value}" for what, value in values]
    settings = [str(sorted(settings.items(), key=str)) for _, settings in lines.values()]
    at_recipe = str(sorted(settings_of(EARLY).items(), key=str))
    repeated = [s for s in settings if s != at_recipe]
    assert len(set(repeated)) == len(repeated)


def test_an_unknown_field_is_an_error():
    with pytest.raises(TypeError, match="learning_rate"):
        changes.vary({"slow": dict(learning_rate=1e-6)})
