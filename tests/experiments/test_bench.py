"""Operation counts, the growth fit, and the systems that are timed."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from dmac.anchor_graph import anchor_graph
from dmac.anchors import anchor_learning_loss
from dmac.compute.distances import squared_distances
from dmac.network import Network
from dmac.recipes import RELEASED
from experiments import bench as scaling


def test_operations_are_those_that_a_counter_sees():
    n, m, dims = 300, 40, (7, 30)
    network = Network(dims, 4, RELEASED, generator=torch.Generator().manual_seed(0))
    views = [torch.randn(n, d) for d in dims]
    u = torch.randn(m, 64, requires_grad=True)
    with FlopCounterMode(display=False) as counter:
        zs = network.embed_views(views)
        d2s = [squared_distances(z, u) for z in zs]
        loss = sum(anchor_learning_loss(d2) + anchor_graph(d2, 3).weights.max() for d2 in d2s)
        loss.backward()
        zs[0].detach() @ u.detach().T  # a pass of k-means
    # the gradient of the distances by the samples and by the anchors, from autograd's n x m tensors
    assert counter.get_total_flops() == scaling.operations(n, dims, m)


def test_growth_exponent_of_a_power_law():
    n = np.array([1e3, 1e4, 1e5, 1e6])
    slope, half = scaling.growth_exponent(n, 3e-5 * n**1.5)
    assert slope == pytest.approx(1.5)
    assert half == pytest.approx(0, abs=1e-6)
    noise = np.array([1.1, 0.9, 1.1, 0.9])
    slope, half = scaling.growth_exponent(n, n * noise)
    assert abs(slope - 1) < half


def test_synthetic_views_are_unit_rows_and_repeat():
    views = scaling.synthetic_views(50, (3, 8), 4)
    assert [x.shape for x in views] == [(50, 3), (50, 8)]
    for x, again in zip(views, scaling.synthetic_views(50, (3, 8), 4)):
        assert x.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, rtol=1e-5)
        np.testing.assert_array_equal(x, again)


@pytest.mark.parametrize("system", scaling.SYSTEMS)
def test_every_system_runs_in_this_process(system):
    found = scaling.epoch_seconds(system, "growth", epochs=2, n_samples=80, n_anchors=15)
    assert (found["n"], found["m"], found["v"]) == (80, 15, 3)
    assert len(found["seconds"]) == 2 and min(found["seconds"]) > 0
    assert ("operations" in found) == (system == "released")


def test_measuring_in_a_process_reports_threads_and_memory():
    found = scaling.measure("released", "growth", epochs=3, threads=1, n_samples=500, n_anchors=20)
    assert found["threads"] == 1 and found["n"] == 500
    assert found["median"] == pytest.approx(np.median(found["seconds"][1:]), abs=1e-4)
    assert 0.1 < found["peak_gb"] < 5


def test_too_little_memory_is_an_answer():
    found = scaling.measure("dense", "half ALOI", epochs=1, memory_gb=4)
    assert found["error"] == "more than 4 GB"
    assert "median" not in found


def test_what_fails_otherwise_is_an_error():
    with pytest.raises(RuntimeError, match="mfeet"):
        scaling.measure("released", "mfeet", epochs=1)
    done = subprocess.run(
        [sys.executable, "-m", "experiments.bench", "fastest", "mfeat"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "invalid choice" in done.stderr


def test_matrix_rate_is_a_rate():
    assert 1e8 < scaling.matrix_rate(256, 3) < 1e14
    json.dumps(scaling.matrix_rate(64, 1))
