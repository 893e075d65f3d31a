"""The tables and figures of what it costs, of made-up measurements."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from toy_frames import frame, several

from experiments import times


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_whole_fits_are_medians_and_say_where_there_is_one_run_or_none():
    rows = [
        *(r | {"fit_seconds": s} for r, s in zip(several("PIE", "A", [1, 2, 3]), (5.0, 90.0, 7.0))),
        *(r | {"fit_seconds": 0.123} for r in several("BBC", "A", [50])),
        {"dataset": "PIE", "variant": "B", "seed": 1, "fit_seconds": 4.0, "error": "no"},
    ]
    runs = frame(rows, variants=["A", "B"], datasets=["PIE", "BBC", "NGs"])
    table = times.format_whole_fits(runs)
    assert list(table.index) == ["A"] and table.loc["A"].tolist() == ["7", "(0.12)", "–"]


@pytest.fixture
def fits():
    def fit(system, dataset, threads, seconds, acc):
        where = dict(system=system, dataset=dataset, threads=threads)
        return where | dict(seconds=seconds, acc=acc)

    def failed(system, error):
        return {"system": system, "dataset": "BBC", "threads": 1, "error": error}

    made = [failed("B", "more than 40 s"), failed("C", "MemoryError: no")]
    for threads in (1, 2):
        made += [
            fit("A", "PIE", threads, 2.0 / threads, 0.8),
            fit("A", "BBC", threads, 8.0 / threads, 0.9),
            fit("B", "PIE", threads, 0.5, 0.6),
        ]
    return {"fits": made}


SIZES = {"BBC": 685, "PIE": 680}


def test_tables_have_a_row_for_each_data_set_and_say_what_was_stopped(fits):
    table = times.recipes_table(fits, ["A", "B"], SIZES)
    assert table.n.to_dict() == {"PIE": 680, "BBC": 685}
    assert list(table["A"]) == ["2.0 / 1.0", "8.0 / 4.0"]
    assert list(table["B"]) == ["0.50 / 0.50", "– / –"]
    systems = times.systems_table(fits, SIZES)
    assert systems.loc["B"].tolist() == ["0.50", "> 40"]
    assert systems.loc["C"].tolist() == ["–", "×"]
    assert times.errors_of(fits) == {("C", "MemoryError: no"): ["BBC"]}


def test_a_system_is_compared_on_the_data_sets_that_it_finished(fits):
    relative = times.relative_to(fits, "A")
    assert relative.sets.tolist() == [2, 1]
    np.testing.assert_allclose(relative.seconds, [1, 0.25])
    np.testing.assert_allclose(relative.acc, [0, -20], atol=1e-9)


@pytest.fixture
def growth():
    """A fit costs 1e-4 s and 2e-6 GB a sample; with its own anchors n^1.5."""
    fits = []
    for n in (1_000, 10_000, 30_000, 100_000):
        each = dict(recipe="CLOSED_FORM", n=n, threads=2)
        fits.append(each | dict(fixed=True, m=512, seconds=1e-4 * n, peak_gb=0.5 + 2e-6 * n))
        fits.append(each | dict(fixed=False, m=9, seconds=1e-6 * n**1.5, peak_gb=1.0))
    on_disk = [dict(n=50_000, seconds=9.0, processor_seconds=6.0, threads=1, peak_gb=0.5)]
    return {"fits": fits, "on_disk": on_disk}


def test_costs_are_those_of_one_more_sample(growth):
    runs = [
        {"name": "growth", "n": n, "m": m, "median": 3e-5 * n, "peak_gb": 0.4 + 5e-6 * n}
        for n in (1_000, 10_000, 100_000)
        for m in (512, 7)
    ]
    table = times.costs_table(growth, [*runs, {"name": "PIE", "median": 9.0}], (10**4, 10**8))
    np.testing.assert_allclose(table["CLOSED_FORM", "GB"], [0.52, 200.5])
    assert table["RELEASED", "machines"].tolist() == [1, 32]
    np.testing.assert_allclose(table["CLOSED_FORM", "seconds"], [1, 1e4])
    np.testing.assert_allclose(table["RELEASED", "seconds"], [0.3, 3e3])
    np.testing.assert_allclose(table["RELEASED", "GB"], [0.45, 500.4])


def test_fits_from_disk_stand_beside_what_is_computed(growth):
    more = {"n": 50_000, "processes": 2, "processor_seconds": 3.0, "peak_gb": [0.5, 0.6]}
    table = times.placed_table(growth | {"sharded": [more]})
    np.testing.assert_allclose(table.to_numpy(float), [[1, 6, 5, 0.5], [2, 3, 2.5, 0.6]])


def test_of_one_thread_the_seconds_are_those_of_the_processor():
    fits = [dict(recipe="CLOSED_FORM", fixed=True, n=n, seconds=9.0, threads=n) for n in (2, 1)]
    for one in fits:
        one["processor_seconds"] = 4.0
    assert times.growth_frame({"fits": fits}).seconds.tolist() == [4, 9]


def test_epochs_stand_beside_the_dense_reading():
    def run(system, name, **more):
        return {"system": system, "name": name, "n": 10, "m": 3, "peak_gb": 2.0} | more

    runs = [
        run("released", "mfeat", median=2.0),
        run("dense", "mfeat", median=6.0),
        run("first layer", "mfeat", median=9.0),
        run("dense", "ALOI", error="more than 20 GB"),
        run("released", "ALOI", median=5.0),
        run("released", "growth", median=1.0),
    ]
    table = times.epochs_table(runs)
    assert table.loc["HandWritten", ["dense", "released", "ratio"]].tolist() == [6, 2, 3]
    assert table.loc["ALOI"].isna().sum() == 2 and table.loc["ALOI", "released"] == 5


def test_bars_are_in_units_of_the_floor():
    one = {"name": "mfeat", "n": 2000, "parts": {"a": 0.3, "b": 0.1}, "seconds": 0.4, "floor": 0.2}
    stored = {"epochs": [one, one | {"name": "growth", "n": 10**6}]}
    table = times.parts_table(stored)
    assert list(table.index) == ["HandWritten", "n = 1,000,000"]
    np.testing.assert_allclose(table.times, 2)
    figure = times.plot_parts(stored)
    widths = sorted(bar.get_width() for bar in figure.axes[0].patches)
    np.testing.assert_allclose(widths, [0.5, 0.5, 1.5, 1.5])


ON_PROCESSOR = [
    {"name": "mfeat", "system": "released", "n": 2000, "m": 141, "median": 0.05},
    {"name": "mfeat", "system": "dense", "n": 2000, "m": 141, "median": 9.0},
    {"name": "ALOI", "system": "revised", "n": 10800, "m": 2078, "error": "more than 20 GB"},
    {"name": "ALOI, 1 of 4 views", "system": "released", "n": 10800, "m": 1039, "median": 1.0},
    {"name": "growth", "system": "released", "n": 1000, "m": 512, "median": 0.01},
    {"name": "growth", "system": "released", "n": 1000, "m": 100, "median": 0.005},
]
BIG = 10**6
ON_CARD = [
    {"system": "RELEASED", "on": "mfeat", "epoch_s": 0.00123456, "peak_gb": 0.2},
    {"system": "REVISED", "on": "mfeat", "epoch_s": 0.002, "peak_gb": 0.3},
    {"system": "REVISED", "on": BIG, "missing": "it does not fit the memory", "peak_gb": 80},
    {"system": "PUBLISHED", "on": BIG, "missing": "not reached"},
]


def test_a_gpu_stands_beside_the_processor():
    table = times.gpu_table({"epochs": ON_CARD}, ON_PROCESSOR)
    assert list(table.index) == ["HandWritten", "ALOI", "n = 1,000", "n = 1,000,000"]
    columns = ["RELEASED, GPU", "RELEASED, processor", "REVISED, processor", "GPU, GB"]
    assert table.loc["HandWritten", columns].tolist() == ["0.00123", "0.05", "–", "0.3"]
    assert table.loc["n = 1,000", "RELEASED, processor"] == "0.01"
    big = table.loc["n = 1,000,000"]
    assert (big["REVISED, GPU"], big["PUBLISHED, GPU"]) == ("memory", "–")


@pytest.mark.parametrize(
    "written, message",
    [
        ('{"card": null, "profile": "full"}', "a full run on a GPU"),
        ('{"card": "A card", "profile": "quick"}', "a full run on a GPU"),
        ("[1", "is not a file of `make gpu`"),
    ],
)
def test_only_a_full_run_on_a_gpu_is_read(written, message, tmp_path):
    path = tmp_path / "gpu.json"
    path.write_text(written)
    with pytest.raises(ValueError, match=message):
        times.read_gpu(path)
