"""Anchors and embeddings as the pages show them: matrices, measures, points in the plane."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from toy_frames import frame, several

from dmac import geometry, wording


def test_similarity_is_sorted_by_class_and_centred():
    anchors = np.array([[1.0, 0.1], [1.0, -0.1], [1.0, 0.1], [1.0, -0.1]])
    raw, centred, classes = geometry.similarity(anchors, np.array([1, 0, 1, 0]))
    assert classes.tolist() == [0, 0, 1, 1]
    assert raw.min() > 0.97
    np.testing.assert_allclose(centred, np.kron([[1, -1], [-1, 1]], np.ones((2, 2))), atol=1e-12)
    kept = {"anchors": anchors, "anchor_classes": np.array([1, 0, 1, 0])}
    spread = {"anchors": np.eye(4), "anchor_classes": np.arange(4)}
    table = geometry.anchors({("PIE", "wo/PD"): kept, ("PIE", "DMAC"): spread})
    assert table.loc[("PIE", "wo/PD"), "within"] == pytest.approx(1)
    assert table.loc[("PIE", "wo/PD"), "between"] == pytest.approx(-1)
    assert table.loc[("PIE", "DMAC"), "effective rank"] == pytest.approx(4)
    shown = geometry.anchors_shown(table)
    assert shown.loc[("PIE", "wo/PD")].tolist()[0] == 4
    assert shown.loc[("PIE", "wo/PD"), "between"] == "−1.00"
    assert "as the paper's picture has it" in geometry.anchors_finding(table)
    tied = geometry.anchors({("PIE", "wo/CM"): spread, ("PIE", "DMAC"): spread})
    assert "but wo/CM equals it to two digits" in geometry.anchors_finding(tied)
    swapped = geometry.anchors({("PIE", "wo/PD"): spread, ("PIE", "DMAC"): kept})
    assert "unlike in the paper's picture" in geometry.anchors_finding(swapped)


def test_nearest_is_another_point():
    points = np.array([[0.0, 0], [1, 0], [1.5, 0], [9, 9]])
    assert geometry.nearest(points).tolist() == [1, 2, 1, 2]


def test_planes_show_classes_or_agreement():
    few = {"plane": np.eye(4)[:, :2], "classes": np.array([0, 0, 1, 1])}
    many = {"plane": np.arange(20.0)[:, None].repeat(2, 1), "classes": np.arange(20) // 2}
    figure = geometry.planes({("BBC", "DMAC"): few, ("PIE", "DMAC"): many}, ["BBC", "PIE"])
    upper, lower = figure.axes
    assert len(upper.collections) == 2  # a class each
    agree, differ = (len(c.get_offsets()) for c in lower.collections)
    assert agree + differ == 20 and agree > 0
    plt.close(figure)


def measured(variant, neighbors, silhouette):
    more = {"silhouette": silhouette, "one_minus_cosine": 2e-7, "effective_rank": 1.25}
    rows = several("PIE", variant, [30.0, 32.0], **more)
    return [row | {"neighbors": n} for row, n in zip(rows, neighbors)]


def test_embeddings_are_measured_and_the_best_variant_is_named():
    runs = frame([*measured("wo/PD", [0.5, 0.7], -0.25), *measured("DMAC", [0.4, 0.5], 0.125)])
    row = geometry.embeddings(runs).loc[[("PIE", "wo/PD")]].iloc[0]
    assert row.tolist() == [
        "60.0 ± 14.1", "−0.250 ± 0.000", "2.0e−07", "1.25 ± 0.00", "31.0 ± 1.4", 2,
    ]  # fmt: skip
    said = geometry.embedding_finding(runs)
    assert "On PIE wo/PD has the largest share" in said and "60.0 % (the full model 45.0 %)" in said
    assert "the full model the largest silhouette, 0.125." in said
    assert geometry.embedding_finding(runs.iloc[:2]) == wording.NOTHING
