"""How many threads a fit takes, by its size and by the variable."""

import dataclasses
import functools
import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
import torch
from helpers import as_set
from threadpoolctl import threadpool_info

import dmac
from dmac import anchor_graph
from dmac.compute import distances, threads
from dmac.estimators import estimator_of
from dmac.recipes import CLOSED_FORM, RELEASED
from dmac.solvers import placing, preparing

SHORT = dataclasses.replace(RELEASED, pretrain_epochs=1, epochs=2, lr=1e-4)


def blas_threads():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


@pytest.fixture
def two_threads(monkeypatch):
    """PyTorch with two threads, as on a machine with two cores."""
    monkeypatch.delenv(threads.VARIABLE, raising=False)
    with as_set("num_threads", 2):
        yield


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


@pytest.mark.parametrize(
    "call",
    [
        lambda: threads.n_threads(0),
        lambda: threads.run_in_threads([int, int]),
        lambda: dmac.AnchorGraphClustering(2).fit(np.eye(8)),
    ],
    ids=["number", "pieces", "fit"],
)
@pytest.mark.parametrize(
    "wrong", ["0", "-1", "two", "1.5", "99999", "9" * 5000], ids=lambda x: x[:5]
)
def test_what_is_no_number_of_threads_is_refused(wrong, call, monkeypatch):
    monkeypatch.setenv(threads.VARIABLE, wrong)
    said = r"DMAC_NUM_THREADS is '.{,20}, it must be a whole number from 1 to \d+; this machine"
    with pytest.raises(ValueError, match=said):
        call()


def test_fit_and_transform_take_that_number(two_threads, monkeypatch):
    views = [np.random.default_rng(0).normal(size=(60, 5))]
    for variable, number in (("", 1), ("2", 2)):
        monkeypatch.setenv(threads.VARIABLE, variable)
        counts, model = [], dmac.DMAC(3, SHORT, random_state=0)
        model.fit(views, callback=lambda *_: counts.append(torch.get_num_threads()))
        embed = model.model_.embed_new
        model.model_.embed_new = lambda *x: counts.append(torch.get_num_threads()) or embed(*x)
        model.predict(views)
        assert counts == [number] * 4
    assert torch.get_num_threads() == 2


def test_pieces_are_computed_side_by_side_with_one_thread_each(two_threads, monkeypatch):
    both = threading.Barrier(2, timeout=30)  # passed only if two are on their way at once

    def piece(i):
        both.wait()
        return i, torch.get_num_threads()

    with threads.threads_for(0):  # small work has one thread in an operation, and two for pieces
        found = threads.run_in_threads([functools.partial(piece, i) for i in range(4)])
    assert found == [(i, 1) for i in range(4)]
    assert torch.get_num_threads() == 2
    monkeypatch.setenv(threads.VARIABLE, "1")
    assert threads.run_in_threads([threading.get_ident] * 2) == [threading.get_ident()] * 2
    monkeypatch.setenv(threads.VARIABLE, "2")
    with pytest.raises(ZeroDivisionError):
        threads.run_in_threads([lambda: 1 / 0] * 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_threads_for_pieces_stay_and_a_fork_has_its_own(two_threads):
    def at_once():
        both = threading.Barrier(2, timeout=30)
        return set(threads.run_in_threads([lambda: (both.wait(), threading.get_ident())[1]] * 2))

    assert at_once() == at_once()
    # A fork beside threads is warned of.
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        child = os.fork()
    if not child:
        signal.alarm(30)  # a thread of the parent's would never answer
        os._exit(0 if len(at_once()) == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_no_piece_is_on_its_way_after_an_error(two_threads):
    begun, ended = [], []

    def piece():
        begun.append(1)
        time.sleep(0.05)
        ended.append(1)

    with pytest.raises(ZeroDivisionError):
        threads.run_in_threads([piece, lambda: 1 / 0] + [piece] * 20)
    assert len(begun) == len(ended)


def test_pieces_of_a_piece_stay_in_its_thread(two_threads):
    def outer():
        return threading.get_ident(), threads.run_in_threads([threading.get_ident] * 2)

    for own, inner in threads.run_in_threads([outer] * 2):
        assert inner == [own] * 2


@pytest.mark.parametrize("enabled", [True, False])
def test_pieces_record_gradients_where_the_caller_does(enabled, two_threads):
    with torch.set_grad_enabled(enabled):
        assert threads.run_in_threads([torch.is_grad_enabled] * 2) == [enabled] * 2


@pytest.mark.parametrize(
    "n, expected", [(5, [(0, 2), (2, 4), (4, 5)]), (4, [(0, 2), (2, 4)]), (0, [(0, 0)])]
)
def test_slices_cover_the_rows_and_are_never_none(n, expected):
    assert threads.row_slices(n, 2) == [slice(*ends) for ends in expected]


def test_a_walk_takes_consecutive_rows_in_order():
    rows = [slice(i, i + 1) for i in range(11)]
    found = threads.map_parts(rows, lambda part: [x.start for x in part])
    assert [start for part in found for start in part] == list(range(11)) and len(found) == 4
    assert threads.map_parts(rows[:2], len) == [1, 1] and threads.map_parts([], len) == [0]


PART = dataclasses.replace(CLOSED_FORM, fit_samples=200, fit_of_cluster=0)


@pytest.mark.parametrize("recipe", [PART, SHORT], ids=["closed form", "released"])
def test_fits_of_many_samples_do_not_depend_on_the_number_of_threads(
    recipe, two_threads, monkeypatch
):
    """As if 300 were many, in blocks of a few rows: what waits for nothing is the same to a bit."""
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(300, 6)) + np.repeat(4 * np.eye(3, 6), 100, 0) for _ in range(2)]
    monkeypatch.setattr(threads, "MANY", 100)
    monkeypatch.setattr(anchor_graph, "_ROWS", 16)
    monkeypatch.setitem(placing._ROWS, "cpu", 32)
    monkeypatch.setattr(preparing, "_ROWS", 32)
    monkeypatch.setitem(distances.BLOCK, "cpu", 500)
    fits = []
    for number in (1, 2):
        torch.set_num_threads(number)
        fits.append(estimator_of(recipe)(3, recipe, 0, "cpu").fit(views))
    np.testing.assert_array_equal(fits[0].embedding_, fits[1].embedding_)
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
