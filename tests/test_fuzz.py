"""Odd views through every recipe and every system: labels in range, or an error that is ours."""

import collections
import os

import pytest
from fuzzing import KINDS, METHODS, judge, judge_partial, partials, problems
from hypothesis import HealthCheck, given, settings

#: Cases a method; `make fuzz` sets more, and draws new ones.
CASES = int(os.environ.get("DMAC_FUZZ_CASES", 8))
MANY = CASES > 100
#: What came of them.
OUTCOMES = collections.defaultdict(collections.Counter)


@pytest.mark.parametrize("method", METHODS)
def test_odd_views(method):
    @settings(
        max_examples=CASES,
        derandomize=not MANY,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(problem=problems())
    def run(problem):
        OUTCOMES[method][judge(method, problem)] += 1

    run()
    assert sum(OUTCOMES[method].values()) >= CASES
    assert OUTCOMES[method]["labels"] >= 0.4 * CASES  # not everything is refused
    print(method, dict(OUTCOMES[method]))


def test_samples_that_lack_views():
    outcomes = collections.Counter()

    @settings(
        max_examples=2 * CASES,
        derandomize=not MANY,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(problem=partials())
    def run(problem):
        outcomes[judge_partial(problem)] += 1

    run()
    assert outcomes["labels"] >= 0.4 * CASES and outcomes["refused"] >= 1
    print(dict(outcomes))


def test_every_kind_of_view_is_drawn():
    assert len(KINDS) > 15 and CASES * len(METHODS) >= 100


def test_judge_can_fail(monkeypatch):
    import fuzzing
    import numpy as np

    problem = fuzzing.Problem(2, 4, [np.ones((4, 2))], [], False)

    class Model:
        def __init__(self, act):
            self.act = act

        def fit_predict(self, views):
            return self.act()

    def outside():
        np.zeros(2).reshape(3)

    def warned():
        np.log(np.zeros(1))
        return np.zeros(4, np.int64)

    for act in (
        outside,
        warned,
        lambda: np.full(4, 7),
        lambda: np.zeros(3, np.int64),
        lambda: np.full(4, np.nan),
    ):
        monkeypatch.setattr(fuzzing, "make", lambda *args, act=act: Model(act))
        with pytest.raises(AssertionError):
            judge("released", problem)
    monkeypatch.setattr(fuzzing, "make", lambda *args: Model(lambda: np.zeros(4, np.int64)))
    assert judge("released", problem) == "labels"
    problem.broken = True
    with pytest.raises(AssertionError, match="NaN"):
        judge("released", problem)
