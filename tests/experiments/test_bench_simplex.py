"""The programmes that are timed, and the two solvers they are compared with."""

import json
import sys

import numpy as np
import pytest

from dmac.peers._simplex import solve_rows
from experiments import bench, bench_simplex


def view(n=40, d=6, c=4):
    return bench.synthetic_views(n, (d,), c)[0].astype(float)


def test_programmes_are_those_of_lmvsc():
    x = view()
    anchors, hessian, linear = bench_simplex.programmes(x, 5, alpha=0.5)
    z = np.random.default_rng(0).dirichlet(np.ones(5), len(x))
    direct = ((x - z @ anchors) ** 2).sum(1) + 0.5 * (z**2).sum(1)
    quadratic = (0.5 * (z @ hessian) * z + linear * z).sum(1) + (x**2).sum(1)
    np.testing.assert_allclose(quadratic, direct)


def test_the_solvers_agree():
    x = view()
    anchors, hessian, linear = bench_simplex.programmes(x, 5, alpha=0.5)
    together = solve_rows(hessian, linear, tol=1e-12).z
    factor = np.vstack([anchors.T, np.sqrt(0.5) * np.eye(5)])
    for i in range(len(x)):
        slsqp = bench_simplex.solve_by_slsqp(hessian, linear[i])
        active = bench_simplex.solve_by_active_set(factor, np.append(x[i], np.zeros(5)))
        np.testing.assert_allclose(slsqp, together[i], atol=1e-4)
        np.testing.assert_allclose(active, together[i], atol=1e-5)


def test_relative_gaps_are_those_of_the_batched_solver():
    _, hessian, linear = bench_simplex.programmes(view(), 5)
    found = solve_rows(hessian, linear, tol=1e-3)
    gaps = bench_simplex.relative_gaps(hessian, linear, found.z)
    np.testing.assert_allclose(gaps, found.gap, atol=1e-12)
    assert gaps.max() > 0


def test_a_measurement_says_what_was_timed(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(bench.SHAPES, "ALOI", (60, (5, 7), 4))
    path = tmp_path / "simplex.json"
    arguments = ["bench", "--samples", "6", "--threads", "1", "--save", str(path)]
    monkeypatch.setattr(sys, "argv", arguments)
    measure = bench_simplex.measure
    monkeypatch.setattr(bench_simplex, "measure", lambda **given: measure(n_anchors=5, **given))
    bench_simplex.main()
    stored = json.loads(path.read_text())
    assert json.loads(capsys.readouterr().out) == stored
    assert (stored["n"], stored["m"], stored["n_samples"], stored["threads"]) == (60, 5, 6, 1)
    assert [one["d"] for one in stored["views"]] == [5, 7]
    for one in stored["views"]:
        assert one["gap"] <= bench_simplex.TOLERANCE and one["iterations"] > 0
        assert one["seconds"] > 0 and set(one["one_by_one"]) == {"SLSQP", "active set"}
        for solver in one["one_by_one"].values():
            assert solver["gap"] == pytest.approx(0, abs=1e-4) and solver["seconds"] > 0
