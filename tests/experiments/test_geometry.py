"""Anchors and embeddings as the pages show them: matrices, measures, points in the plane."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from toy_frames import frame, several

from experiments import geometry


def test_similarity_is_sorted_by_class_and_centred():
    anchors = np.array([[1.0, 0.1], [1.0, -0.1], [1.0, 0.1], [1.0, -0.1]])
    raw, centred, classes = geometry.similarity(anchors, np.array([1, 0, 1, 0]))
    assert classes.tolist() == [0, 0, 1, 1]
    assert raw.min() > 0.97
    np.testing.assert_allclose(centred, np.kron([[1, -1], [-1, 1]], np.ones((2, 2))), atol=1e-12)
    alike = {"anchors": anchors, "anchor_classes": np.array([1, 0, 1, 0])}
    spread = {"anchors": np.eye(4), "anchor_classes": np.arange(4)}
    table = geometry.measure_anchors({("PIE", "wo/PD"): alike, ("PIE", "DMAC"): spread})
    assert table.loc[("PIE", "wo/PD"), "within"] == pytest.approx(1)
    assert table.loc[("PIE", "wo/PD"), "between"] == pytest.approx(-1)
    assert table.loc[("PIE", "DMAC"), "effective rank"] == pytest.approx(4)
    shown = geometry.format_anchors(table)
    assert shown.loc[("PIE", "wo/PD")].tolist()[0] == 4
    assert shown.loc[("PIE", "wo/PD"), "between"] == "−1.00"


def test_nearest_is_another_point():
    points = np.array([[0.0, 0], [1, 0], [1.5, 0], [9, 9]])
    assert geometry.nearest_neighbors(points).tolist() == [1, 2, 1, 2]


def test_planes_show_classes_or_agreement():
    two = {"plane": np.eye(4)[:, :2], "classes": np.array([0, 0, 1, 1])}
    many = {"plane": np.arange(20.0)[:, None].repeat(2, 1), "classes": np.arange(20) // 2}
    figure = geometry.plot_planes({("BBC", "DMAC"): two, ("PIE", "DMAC"): many}, ["BBC", "PIE"])
    upper, lower = figure.axes
    assert len(upper.collections) == 2  # a class each
    agree, differ = (len(c.get_offsets()) for c in lower.collections)
    assert agree + differ == 20 and agree > 0
    plt.close(figure)


def runs_with_measures(variant, neighbors, silhouette):
    more = {"silhouette": silhouette, "one_minus_cosine": 2e-7, "effective_rank": 1.25}
    rows = several("PIE", variant, [30.0, 32.0], **more)
    return [row | {"neighbors": n} for row, n in zip(rows, neighbors)]


def test_embeddings_are_measured():
    rows = runs_with_measures("wo/PD", [0.5, 0.7], -0.25)
    runs = frame([*rows, *runs_with_measures("DMAC", [0.4, 0.5], 0.125)])
    row = geometry.format_embeddings(runs).loc[[("PIE", "wo/PD")]].iloc[0]
    assert row.tolist() == [
        "60.0 ± 14.1",
        "50.0",
        "−0.250 ± 0.000",
        "2 × 10⁻⁷",
        "1.25 ± 0.00",
        "31.0 ± 1.4",
        2,
    ]


def test_empty_anchors_are_counted_after_the_last_epoch():
    epochs = {"empty_anchors": [1.0, 3.0]}
    rows = several("PIE", "DMAC", [30.0, 32.0], n_anchors=4, one_minus_cosine=1e-6)
    rows = [rows[0] | {"epochs": epochs}, rows[1] | {"epochs": {"empty_anchors": [4.0]}}]
    runs = frame(rows)
    assert geometry.empty_shares(runs)["empty"].tolist() == [75, 100]
    assert geometry.format_empty_shares(runs).iloc[0].tolist() == ["87.5 ± 17.7", "75.0", 2]
