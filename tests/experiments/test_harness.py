"""A process of its own: what it returns, and how it may fail."""

import os

import pytest
import toy_jobs

from experiments.harness import Child


@pytest.fixture
def child():
    with Child() as made:
        yield made


def test_one_process_calls_one_function_after_the_other(child):
    first = child.call(toy_jobs.double, 4, plus=1)
    assert first["doubled"] == 9 and first["process"] != os.getpid()
    assert child.call(toy_jobs.double, 4, plus=1, limit=600) == first
    child.stop()
    assert child.call(toy_jobs.double, 1)["process"] != first["process"]


def test_an_error_is_raised_and_the_next_call_has_a_new_process(child):
    first = child.call(toy_jobs.double, 1)["process"]
    with pytest.raises(RuntimeError, match="^ValueError: it broke$"):
        child.call(toy_jobs.fail)
    assert child.call(toy_jobs.double, 1)["process"] != first
    with pytest.raises(RuntimeError, match="ended with code 7"):
        child.call(toy_jobs.die)
    assert child.call(toy_jobs.double, 1)["doubled"] == 2
    with pytest.raises(MemoryError):
        child.call(toy_jobs.fill)


def test_one_that_waits_for_ever_is_stopped_and_the_next_one_goes_on(child):
    first = child.call(toy_jobs.double, 1)["process"]  # it is there, and has what it needs
    with pytest.raises(TimeoutError, match="more than 0.2 s"):
        child.call(toy_jobs.wait, limit=0.2)
    assert child.call(toy_jobs.double, 1)["process"] != first


def test_threads_environment_and_memory_are_its_own():
    with Child(threads=2, environment={"OMP_WAIT_POLICY": "PASSIVE"}) as child:
        assert child.call(toy_jobs.settings, "OMP_NUM_THREADS") == "2"
        assert child.call(toy_jobs.settings, "OMP_WAIT_POLICY") == "PASSIVE"
    assert "OMP_WAIT_POLICY" not in os.environ
    with Child(memory_gb=2) as child:
        assert child.call(toy_jobs.take, 0.1) == 10**8
        with pytest.raises(MemoryError):
            child.call(toy_jobs.take, 3)
