"""The figures of chapter 9."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch

from experiments import collapse_figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture
def runs():
    """Three seeds and ten epochs of a made-up collapse."""
    rng, rows = np.random.default_rng(0), {}
    for seed in range(3):
        for epoch in range(1, 11):
            z = torch.tensor(rng.standard_normal((60, 55))) * 10.0**-epoch
            rows[seed, epoch] = dict(
                spread=10.0**-epoch,
                entropy=0.99,
                effective_rank=3.0,
                empty=0.5,
                f=1.0,
                empty_anchors=30,
                structure_preservation=10.0**-epoch,
                z=z,
            )
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["seed", "epoch"])


def test_planes_match_the_one_before():
    x = torch.tensor(np.random.default_rng(0).standard_normal((50, 2))) @ torch.diag(
        torch.tensor([3.0, 1.0]).double()
    )
    turned = x @ torch.tensor([[0.0, -1.0], [1.0, 0.0]]).double()
    first, second = collapse_figures.leading_planes([x, 0.1 * turned])
    torch.testing.assert_close(second, 0.1 * first)
    assert collapse_figures.radius(second) == pytest.approx(0.1 * collapse_figures.radius(first))


def test_film_has_the_true_scale_above_and_one_size_below():
    truth = np.arange(40) % 10
    start = torch.tensor(np.random.default_rng(0).standard_normal((40, 2)))
    planes = [start - start.mean(0)]
    planes.append(planes[0] / 100)
    figure = collapse_figures.plot_film(planes, truth, epochs=(0, 1))
    (above, below) = np.reshape(figure.axes, (2, 2))
    for row, small in ((above, 100), (below, 1)):
        first, last = (np.ptp(np.concatenate([x.get_ydata() for x in a.lines])) for a in row)
        assert first / last == pytest.approx(small)
        assert row[0].get_xlim() == row[1].get_xlim()
    page = collapse_figures.film_slider(planes, truth, epochs=(0, 1))
    assert page.count("<img") == 2 and "epoch 1" in page and "true scale" in page


def test_panels_show_what_there_is(runs):
    pie = pd.DataFrame({"spread": [1e-1, 1e-2]}, index=[1, 2])
    figure = collapse_figures.plot_collapse(runs, pie, (0.93, 0.94))
    lines = {axis.get_title(): len(axis.lines) for axis in figure.axes}
    assert lines["spread"] == 3 + 1 + 2 and lines["entropy of F / log c"] == 3
    assert lines["$L_{AL}$ / log m"] == 3 + 2
    figure = collapse_figures.plot_losses_alone({"one": runs, "two": runs}, 0.93)
    assert [text.get_text() for text in figure.axes[1].get_legend().texts] == ["one", "two"]


def test_variants_stand_over_the_first(runs):
    tables = {name: runs for name in ("RELEASED", *"abcdefgh")}
    figure = collapse_figures.plot_variants(tables)
    assert [axis.get_title() for axis in figure.axes] == list(tables)
    assert {len(axis.lines) for axis in figure.axes} == {4}
    assert "rank 3.0, 30 empty" in figure.axes[0].texts[0].get_text()


def test_residual_is_relative_to_the_largest(runs):
    accuracy = pd.Series(50.0, runs.index)
    pie = pd.DataFrame({1: [20.0, 30.0], 2: [22.0, 32.0]}, index=[1, 2])
    left, right = collapse_figures.plot_residual(runs.z, accuracy, pie).axes
    assert [line.get_ydata()[0] for line in left.lines] == [1, 1, 1]
    assert list(right.lines[-1].get_ydata()) == [21, 31]
