"""Anchors and embeddings as the pages show them: matrices, measures, points in the plane."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from toy_frames import frame, several

from experiments import geometry


def test_similarity_is_sorted_by_class_and_centred():
    anchors = np.array([[1.0, 0.1], [1.0, -0.1], [1.0, 0.1], [1.0, -0.1]])
    raw, centred, classes = geometry.similarity(anchors, np.array([1, 0, 1, 0]))
    assert classes.tolist() == [0, 0, 1, 1] and raw.min() > 0.97
    np.testing.assert_allclose(centred, np.kron([[1, -1], [-1, 1]], np.ones((2, 2))), atol=1e-12)
    alike = {"anchors": anchors, "anchor_classes": np.array([1, 0, 1, 0])}
    spread = {"anchors": np.eye(4), "anchor_classes": np.arange(4)}
    table = geometry.measure_anchors({("PIE", "wo/PD"): alike, ("PIE", "DMAC"): spread})
    row = table.loc[("PIE", "wo/PD")]
    assert row[["within", "between"]].tolist() == pytest.approx([1, -1])
    assert table.loc[("PIE", "DMAC"), "effective rank"] == pytest.approx(4)
    assert geometry.format_anchors(table).loc[("PIE", "wo/PD"), "between"] == "−1.00"


def test_planes_show_few_classes_by_markers_and_many_by_their_numbers():
    two = {"plane": np.eye(4)[:, :2], "classes": np.array([0, 0, 1, 1])}
    many = {"plane": np.arange(20.0)[:, None].repeat(2, 1), "classes": np.arange(20) // 2}
    figure = geometry.plot_planes({("BBC", "DMAC"): two, ("PIE", "DMAC"): many}, ["BBC", "PIE"])
    upper, lower = figure.axes
    for axis, classes in ((upper, 2), (lower, 10)):
        assert [len(c.get_offsets()) for c in axis.collections] == [2] * classes
    plt.close(figure)


def test_embeddings_are_measured():
    measures = {"silhouette": -0.25, "one_minus_cosine": 2e-7, "effective_rank": 1.25}
    rows = several("PIE", "wo/PD", [30.0, 32.0], **measures)
    rows = [row | {"neighbors": n} for row, n in zip(rows, (0.5, 0.7))]
    rows += several("PIE", "DMAC", [30.0, 32.0], **measures, neighbors=0.4)
    found = geometry.format_embeddings(frame(rows)).loc[[("PIE", "wo/PD")]].iloc[0].tolist()
    shares, shape = ["60.0 ± 14.1", "50.0"], ["−0.250 ± 0.000", "2 × 10⁻⁷", "1.25 ± 0.00"]
    assert found == [*shares, *shape, "31.0 ± 1.4", 2]


def test_empty_anchors_are_counted_after_the_last_epoch():
    rows = several("PIE", "DMAC", [30.0, 32.0], n_anchors=4, one_minus_cosine=1e-6)
    counts = [1.0, 3.0], [4.0]
    runs = frame([row | {"epochs": {"empty_anchors": x}} for row, x in zip(rows, counts)])
    assert geometry.empty_shares(runs)["empty"].tolist() == [75, 100]
    assert geometry.format_empty_shares(runs).iloc[0].tolist() == ["87.5 ± 17.7", "75.0", 2]
