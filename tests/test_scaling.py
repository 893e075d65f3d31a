"""The blocked pass against the whole n x m tensors and the dense reference, with gradients."""

import math
import sys
import types

import pytest
import torch
from helpers import Shapes, assert_matches, problems, random_points
from hypothesis import given

from dmac import anchor_graph, reference, scaling
from dmac.anchor_graph import closed_form_graph
from dmac.anchors import anchor_learning_loss
from dmac.compute import distances, threads
from dmac.compute.distances import squared_distances


def test_parts_of_many_samples_match_the_reference(monkeypatch):
    """Threads take parts, three rows at a time."""
    monkeypatch.setattr(threads, "MANY", 0)  # every number of samples is many
    monkeypatch.setattr(anchor_graph, "_ROWS", 3)
    monkeypatch.setitem(distances.BLOCK, "cpu", 20)
    test_pass_matches_the_reference.hypothesis.inner_test(20, (23, 7, 4, 0, 2))
    z, u = random_points(23, 7, 4, 1)
    torch.testing.assert_close(distances.nearest(z, u), tuple(squared_distances(z, u).min(1)))


@pytest.mark.parametrize("block_size", [7, 2**17])
@given(problems)
def test_pass_matches_the_reference(block_size, problem):
    n, m, d, seed, k = problem

    def fast(z, u):
        found = scaling.assign(z, u, k + 1, entropy=True)
        graph = closed_form_graph(found.distances, found.indices, m).to_dense()
        return torch.cat([graph.flatten(), found.distances.sum()[None], found.entropy[None]])

    def dense(z, u):
        least = reference.squared_distances(z, u).sort(1).values[:, : k + 1].sum()
        loss = reference.anchor_learning_loss(z, u)
        return torch.cat([reference.anchor_graph(z, u, k).flatten(), least[None], loss[None]])

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(distances.BLOCK, "cpu", block_size)
        assert_matches(fast, dense, *random_points(n, m, d, seed))


@given(problems)
def test_entropy_matches_the_plain_path(problem):
    n, m, d, seed, _ = problem
    assert_matches(
        scaling.assignment_entropy,
        lambda z, u: anchor_learning_loss(squared_distances(z, u)),
        *random_points(n, m, d, seed),
    )


@pytest.mark.parametrize("wanted", ["z", "u", ""], ids=["z", "u", "neither"])
def test_only_what_is_asked_for_gets_a_gradient(wanted):
    points = dict(zip("zu", (x.detach() for x in random_points(12, 6, 3, 2))))
    asked = [points[name].requires_grad_() for name in wanted]
    loss = scaling.assign(*points.values(), 2, entropy=True).entropy
    assert loss.requires_grad == bool(asked)
    if asked:
        plain = anchor_learning_loss(squared_distances(*points.values()))
        torch.testing.assert_close(*(torch.autograd.grad(f, asked) for f in (loss, plain)))


def test_single_precision_keeps_its_digits_in_a_collapsed_embedding():
    z, u = random_points(200, 30, 64, 0)
    base = torch.nn.functional.normalize(torch.ones(64, dtype=torch.float64), dim=0)
    z, u = ((base + 1e-3 / 8 * x.detach()) for x in (z, u))
    exact = reference.squared_distances(z, u).sort(1).values[:, :6]
    z, u = z.float(), u.float()  # the plain Gram identity is off by 10 % here
    for single in (
        scaling.assign(z, u, 6).distances,
        squared_distances(z, u).sort(1).values[:, :6],
    ):
        assert float(((single.double() - exact).abs() / exact).max()) < 1e-3


def test_nothing_of_the_size_n_times_m_is_made(monkeypatch):
    monkeypatch.setitem(distances.BLOCK, "cpu", 2**10)
    n, m, d = 3000, 200, 4
    z, u = random_points(n, m, d, 0)
    with Shapes() as shapes:
        found = scaling.assign(z, u, 6, entropy=True)
        (found.entropy + found.distances.sum()).backward()
    # The largest are the neighbours; n m is 100 times that.
    assert max(map(math.prod, shapes.seen)) == n * 6


@pytest.mark.parametrize("compiler", [None, types.ModuleType("triton")])
def test_a_gpu_with_a_compiler_takes_the_compiled_form(compiler, monkeypatch):
    # The choice of the form is made once in a process; here it is made anew.
    monkeypatch.setattr(scaling, "_compile", scaling._compile.__wrapped__)
    monkeypatch.setitem(sys.modules, "triton", compiler)
    monkeypatch.setattr(torch, "compile", lambda form, dynamic: ("compiled", form, dynamic))
    form = ("compiled", scaling._entropies_functional, True) if compiler else None
    assert scaling._pointwise(torch.device("cuda")) == (form or scaling._entropies)
    assert scaling._pointwise(torch.device("cpu")) is scaling._entropies
