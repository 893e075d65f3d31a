"""The blocked pass against the whole n x m tensors and the dense reference, with gradients."""

import math
import sys
import types

import pytest
import torch
from helpers import Shapes, assert_matches, problems, random_points
from hypothesis import given

from dmac import anchor_graph, reference
from dmac import scaling as assignment
from dmac.anchor_graph import closed_form_graph
from dmac.anchors import anchor_learning_loss
from dmac.compute import distances, threads
from dmac.compute.distances import squared_distances
from dmac.scaling import assign, assignment_entropy


@pytest.fixture
def as_of_many(monkeypatch):
    """Every number of samples is many: threads take parts, three rows at a time."""
    monkeypatch.setattr(threads, "MANY", 0)
    monkeypatch.setattr(anchor_graph, "_ROWS", 3)
    monkeypatch.setitem(distances.BLOCK, "cpu", 20)


def test_parts_of_many_samples_match_the_reference(as_of_many):
    test_pass_matches_the_reference.hypothesis.inner_test(20, (23, 7, 4, 0, 2))
    z, u = random_points(23, 7, 4, 1)
    d2, indices = distances.nearest(z, u)
    least = squared_distances(z, u).min(1)
    torch.testing.assert_close(d2, least.values)
    assert torch.equal(indices, least.indices)


@pytest.mark.parametrize("block_size", [7, 2**17])
@given(problems)
def test_pass_matches_the_reference(block_size, problem):
    n, m, d, seed, k = problem

    def fast(z, u):
        found = assign(z, u, k + 1, entropy=True)
        graph = closed_form_graph(found.nearest, found.indices, m).to_dense()
        return torch.cat([graph.flatten(), found.nearest.sum()[None], found.entropy[None]])

    def dense(z, u):
        d2 = reference.squared_distances(z, u)
        least = d2.sort(1).values[:, : k + 1].sum()
        loss = reference.anchor_learning_loss(z, u)
        return torch.cat([reference.anchor_graph(z, u, k).flatten(), least[None], loss[None]])

    whole = distances.BLOCK["cpu"]
    distances.BLOCK["cpu"] = block_size
    try:
        assert_matches(fast, dense, *random_points(n, m, d, seed))
    finally:
        distances.BLOCK["cpu"] = whole


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("bandwidth", [(), (0.2,)], ids=["1", "0.2"])
@given(problems)
def test_entropy_matches_the_plain_path(balanced, bandwidth, problem):
    n, m, d, seed, _ = problem
    assert_matches(
        lambda z, u: assignment_entropy(z, u, *bandwidth, balanced=balanced),
        lambda z, u: anchor_learning_loss(squared_distances(z, u), *bandwidth, balanced=balanced),
        *random_points(n, m, d, seed),
    )


@pytest.mark.parametrize("wanted", ["z", "u", "neither"])
def test_only_what_is_asked_for_gets_a_gradient(wanted):
    z, u = (x.detach() for x in random_points(12, 6, 3, 2))
    for name, x in (("z", z), ("u", u)):
        x.requires_grad_(wanted == name)
    loss = assign(z, u, 2, entropy=True).entropy
    assert loss.requires_grad == (wanted != "neither")
    if wanted != "neither":
        of = z if wanted == "z" else u
        plain = anchor_learning_loss(squared_distances(z, u))
        torch.testing.assert_close(*(torch.autograd.grad(f, of)[0] for f in (loss, plain)))


def test_single_precision_keeps_its_digits_in_a_collapsed_embedding():
    z, u = random_points(200, 30, 64, 0)
    base = torch.nn.functional.normalize(torch.ones(64, dtype=torch.float64), dim=0)
    z, u = ((base + 1e-3 / 8 * x.detach()) for x in (z, u))
    exact = reference.squared_distances(z, u).sort(1).values[:, :6]
    z, u = z.float(), u.float()  # the plain Gram identity is off by 10 % here
    for single in (assign(z, u, 6).nearest, squared_distances(z, u).sort(1).values[:, :6]):
        assert float(((single.double() - exact).abs() / exact).max()) < 1e-3


def test_nothing_of_the_size_n_times_m_is_made(monkeypatch):
    monkeypatch.setitem(distances.BLOCK, "cpu", 2**10)
    n, m, d = 3000, 200, 4
    z, u = random_points(n, m, d, 0)
    with Shapes() as shapes:
        found = assign(z, u, 6, entropy=True)
        (found.entropy + found.nearest.sum()).backward()
    # The largest are the neighbours; n m is 100 times that.
    assert max(map(math.prod, shapes.seen)) == n * 6


@pytest.fixture
def fresh_compile():
    """The choice of the form is made once in a process; here it is made anew, and forgotten."""
    assignment._compile.cache_clear()
    yield
    assignment._compile.cache_clear()


@pytest.mark.parametrize("compiler", [None, types.ModuleType("triton")])
def test_a_gpu_with_a_compiler_takes_the_compiled_form(compiler, fresh_compile, monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", compiler)
    monkeypatch.setattr(torch, "compile", lambda form, dynamic: ("compiled", form, dynamic))
    form = ("compiled", assignment._entropies_functional, True) if compiler else None
    assert assignment._pointwise(torch.device("cuda")) == (form or assignment._entropies)
    assert assignment._pointwise(torch.device("cpu")) is assignment._entropies
