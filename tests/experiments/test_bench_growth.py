"""Growth of whole fits, fits of several processes, and what is computed from both."""

import json
import sys

import numpy as np
import pytest

from experiments import bench_growth, growth_tables


def test_the_fixed_number_of_anchors_is_the_same_for_every_size():
    for n in (3_000, 10_000, 1_000_000):
        recipe = bench_growth.recipe_with("CLOSED_FORM", n, True)
        m = bench_growth.n_anchors_for(n, 10, recipe.anchor_factor, recipe.anchor_share)
        assert m == bench_growth.ANCHORS
    assert bench_growth.recipe_with("REVISED", 3_000, False) is bench_growth.REVISED


def test_fits_alone_and_by_two_processes_are_stored_once(monkeypatch, tmp_path):
    monkeypatch.setattr(bench_growth, "SIZES", {("CLOSED_FORM", True): (500, 1000)})
    path = tmp_path / "growth.json"
    given = ["--save", str(path), "--most", "500", "--sharded", "500"]
    monkeypatch.setattr(sys, "argv", ["bench_growth", *given])
    bench_growth.main()
    stored = json.loads(path.read_text())
    (alone,), (both,) = stored["fits"], stored["sharded"]
    assert (alone["n"], alone["m"], alone["threads"]) == (500, 250, 2)
    assert (both["n"], both["m"], both["processes"]) == (500, 250, 2)
    assert len(both["peak_gb"]) == 2 and min(both["peak_gb"]) > 0.1
    assert alone["seconds"] > 0 and both["seconds"] > 0
    bench_growth.main()
    assert json.loads(path.read_text()) == stored


def test_a_process_that_fails_says_why():
    with pytest.raises(RuntimeError, match="KeyError"):
        bench_growth.measure_alone("no recipe", 100, True)
    with pytest.raises(RuntimeError, match="KeyError"):
        bench_growth.measure_sharded("no recipe", 100)


@pytest.fixture
def stored():
    """A fit costs 1e-4 s and 2e-6 GB a sample; with its own anchors n^1.5."""
    fits = []
    for n in (1_000, 10_000, 30_000, 100_000):
        each = dict(recipe="CLOSED_FORM", n=n, threads=2)
        fits.append(each | dict(fixed=True, m=512, seconds=1e-4 * n, peak_gb=0.5 + 2e-6 * n))
        fits.append(each | dict(fixed=False, m=9, seconds=1e-6 * n**1.5, peak_gb=1.0))
    sharded = [dict(recipe="CLOSED_FORM", processes=2, n=50_000, m=512, seconds=6.0)]
    sharded[0]["peak_gb"] = [0.5, 0.6]
    return {"fits": fits, "sharded": sharded}


def test_exponents_are_those_of_the_stored_fits(stored):
    figure, exponents = growth_tables.plot_fit_growth(stored)
    np.testing.assert_allclose(exponents.exponent, [1, 1.5])
    assert exponents.n.tolist() == [100_000, 100_000]
    assert len(figure.axes[0].lines) == 4


def test_machines_divide_the_hours_and_the_samples(stored):
    table = growth_tables.machines_table(stored, 10**8, (1, 100))
    np.testing.assert_allclose(table.hours, [1e4 / 3600, 1e2 / 3600])
    np.testing.assert_allclose(table.GB, [200.5, 2.5])
    row = growth_tables.sharded_table(stored).loc[50_000]
    np.testing.assert_allclose(row[["s, measured", "s, computed"]].astype(float), [6, 5])
    np.testing.assert_allclose(row[["GB, measured", "GB, computed"]].astype(float), [0.6, 0.55])
