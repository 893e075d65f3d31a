"""A process of its own: what it returns, how it may fail, and files that are written whole."""

import os

import pytest
import toy_jobs

from experiments import harness
from experiments.harness import Child


@pytest.fixture
def child():
    with Child() as made:
        yield made


def test_one_process_calls_one_function_after_the_other(child):
    first = child.call(toy_jobs.double, 4, plus=1)
    assert first["found"] == 9 and first["process"] != os.getpid()
    assert child.call(toy_jobs.double, 4, plus=1, limit=600) == first
    assert 0 < child.peak_gb < 5
    child.stop()
    assert not child.running
    assert child.call(toy_jobs.double, 1)["process"] != first["process"]


def test_an_error_is_raised_and_the_next_call_has_a_new_process(child):
    first = child.call(toy_jobs.double, 1)["process"]
    with pytest.raises(RuntimeError, match="^ValueError: it broke$"):
        child.call(toy_jobs.fail)
    assert child.call(toy_jobs.double, 1)["process"] != first
    with pytest.raises(RuntimeError, match="(?s)ended with code 7.*last words"):
        child.call(toy_jobs.die)
    assert child.call(toy_jobs.double, 1)["found"] == 2
    with pytest.raises(MemoryError):
        child.call(toy_jobs.fill)


def test_one_that_waits_for_ever_is_stopped_and_the_next_one_goes_on(child):
    child.call(toy_jobs.double, 1)  # it is there, and has what it needs
    with pytest.raises(TimeoutError, match="more than 0.2 s"):
        child.call(toy_jobs.wait_silently, limit=0.2)
    assert not child.running
    assert child.call(toy_jobs.double, 3)["found"] == 6


def test_what_it_said_is_known(child, monkeypatch):
    answers, waiting = [], child.result
    child.send(toy_jobs.wait)
    # No clock: the limit begins when it has spoken.
    while not answers:
        answers.append(child._answers.get())
    child._answers.put(answers[0])
    with pytest.raises(TimeoutError):
        waiting(0)
    assert child.said == {"half": 1}
    harness.say(nobody="hears")  # without a parent


def test_threads_environment_memory_and_log_are_its_own(tmp_path):
    log = tmp_path / "log"
    with Child(threads=2, environment={"OMP_WAIT_POLICY": "PASSIVE"}, log=log) as child:
        assert child.call(toy_jobs.settings, "OMP_NUM_THREADS") == "2"
        assert child.call(toy_jobs.settings, "OMP_WAIT_POLICY") == "PASSIVE"
        child.call(toy_jobs.double, 1)
    assert "this goes to the log" in log.read_text()
    with Child(memory_gb=2) as child:
        assert child.call(toy_jobs.take, 0.1) == 10**8
        with pytest.raises(MemoryError):
            child.call(toy_jobs.take, 3)
