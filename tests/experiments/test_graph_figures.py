"""The figures of chapter 4, and its table of the numbers of neighbours."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from dmac.anchor_graph import anchor_graph
from dmac.compute.distances import squared_distances
from experiments import graph_figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_lines_are_as_thick_as_weights_are_large():
    samples, anchors = torch.tensor([[0.0, 0.0], [3.0, 0.0]]), torch.arange(8.0).view(4, 2)
    graph = anchor_graph(squared_distances(samples, anchors), 2)
    (axis,) = graph_figures.plot_plane(samples, anchors, graph).axes
    *lines, dots, squares = axis.lines
    np.testing.assert_allclose(
        [line.get_linewidth() for line in lines], 5 * graph.weights.flatten(), rtol=1e-6
    )
    assert len(dots.get_xdata()) == 2 and len(squares.get_xdata()) == 4
    assert list(lines[0].get_ydata()) == [0, 1]  # from the first sample to its nearest anchor


def test_water_fills_up_to_its_level():
    d = np.array([4.0, 1.0, 8.0])
    solutions = {1.5: (np.array([0, 1.0, 0]), 4.0), 2.5: (np.array([0.2, 0.8, 0]), 5.0)}
    first, second = graph_figures.plot_water(d, solutions).axes
    assert [bar.get_height() for bar in second.patches] == [4, 1, 8, 1, 4, 0]
    assert [text.get_text() for text in second.texts] == ["0.20", "0.80", "0"]
    assert first.get_title() == "γ = 1.5" and first.get_ylim() == (0, 9)


def test_the_ceiling_is_the_root_of_the_mean_cluster_size():
    table = graph_figures.count_neighbors()
    ceiling = table["floor(m / c)"]
    np.testing.assert_array_equal(ceiling, np.floor(np.sqrt(table.n / table.c)))
    assert ceiling.is_monotonic_increasing and len(table) == 11
    assert list(table.loc["PIE"]) == [680, 68, 215, 3, 5, 3, 3]
    assert list(table.loc["BBC"])[-3:] == [5, 10, 11]
    assert list(table.loc["NUS"])[:2] == [2400, 10]


def test_blocks_are_sorted_by_class():
    labels, anchor_labels = np.array([1, 0, 1, 0]), np.array([1, 0, 0, 1])
    d2 = torch.as_tensor((labels[:, None] != anchor_labels) + np.eye(4) / 10)
    graphs = [anchor_graph(d2, k) for k in (1, 2)]
    _, axis = graph_figures.plot_blocks(graphs, labels, anchor_labels, every=1).axes
    shown = axis.images[0].get_array()
    assert axis.get_title() == "k = 2" and shown.max() == 1
    assert (shown[:2, 2:] == 0).all() and (shown[2:, :2] == 0).all()
    assert (shown[:2, :2].sum(0) > 0).all() and (shown[2:, 2:].sum(0) > 0).all()
