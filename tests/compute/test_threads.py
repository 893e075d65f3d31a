"""How many threads a fit takes, by its size and by the variable."""

import dataclasses
import functools
import threading

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

import dmac
from dmac.compute import threads
from dmac.recipes import RELEASED


def blas_threads():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


@pytest.fixture
def two_threads(monkeypatch):
    """PyTorch with two threads, as on a machine with two cores."""
    monkeypatch.delenv(threads.VARIABLE, raising=False)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_small_work_takes_one_thread_and_large_work_what_there_is(two_threads):
    before = blas_threads()
    with threads.threads_for(threads.LARGE - 1):
        assert torch.get_num_threads() == 1 and blas_threads() == {1}
    assert torch.get_num_threads() == 2 and blas_threads() == before
    with threads.threads_for(threads.LARGE):
        assert torch.get_num_threads() == 2 and blas_threads() == before
    with pytest.raises(KeyError), threads.threads_for(0):
        raise KeyError
    assert torch.get_num_threads() == 2 and blas_threads() == before


def test_variable_sets_the_number(two_threads, monkeypatch):
    monkeypatch.setenv(threads.VARIABLE, "3")
    for work in (0, threads.LARGE):
        with threads.threads_for(work):
            assert torch.get_num_threads() == 3
    assert threads.n_threads(0) == 3
    monkeypatch.setenv(threads.VARIABLE, "")
    assert threads.n_threads(0) == 1
    for wrong in ("0", "-1", "two", "1.5"):
        monkeypatch.setenv(threads.VARIABLE, wrong)
        with pytest.raises(ValueError, match="DMAC_NUM_THREADS is .* whole number of at least 1"):
            threads.n_threads(0)


def test_fit_and_transform_take_that_number(two_threads, monkeypatch):
    views = [np.random.default_rng(0).normal(size=(60, 5))]
    recipe = dataclasses.replace(RELEASED, pretrain_epochs=1, epochs=1)
    model, counts = dmac.DMAC(3, recipe, random_state=0), []

    def fit(variable):
        counts.clear()
        monkeypatch.setenv(threads.VARIABLE, variable)
        model.fit(views, callback=lambda *_: counts.append(torch.get_num_threads()))
        original = model.network_.embed_new
        monkeypatch.setattr(
            model.network_,
            "embed_new",
            lambda x: counts.append(torch.get_num_threads()) or original(x),
        )
        model.predict(views)
        return counts

    assert fit("") == [1, 1, 1]
    assert fit("2") == [2, 2, 2]
    assert torch.get_num_threads() == 2


def test_pieces_are_computed_side_by_side_with_one_thread_each(two_threads, monkeypatch):
    both = threading.Barrier(2, timeout=30)  # passed only if two are on their way at once

    def piece(i):
        both.wait()
        return i, torch.get_num_threads()

    with threads.threads_for(0):  # small work has one thread in an operation, and two for pieces
        found = threads.side_by_side([functools.partial(piece, i) for i in range(4)])
    assert found == [(i, 1) for i in range(4)]
    assert torch.get_num_threads() == 2
    monkeypatch.setenv(threads.VARIABLE, "1")
    caller = threading.get_ident()
    assert threads.side_by_side([threading.get_ident] * 2) == [caller] * 2
    monkeypatch.setenv(threads.VARIABLE, "2")
    with pytest.raises(ZeroDivisionError):
        threads.side_by_side([lambda: 1 / 0] * 2)


def test_anchor_sets_do_not_depend_on_the_number_of_threads(monkeypatch):
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(300, 6)) + np.repeat(4 * np.eye(3, 6), 100, 0) for _ in range(2)]
    fits = []
    for number in ("1", "2"):
        monkeypatch.setenv(threads.VARIABLE, number)
        fits.append(dmac.DMAC(3, random_state=0, device="cpu").fit(views).network_.stages[0])
    for one, two in zip(fits[0].base, fits[1].base):
        torch.testing.assert_close(one.u, two.u)
