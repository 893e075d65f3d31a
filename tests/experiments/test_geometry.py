"""What the pages measure of anchors."""

import numpy as np
import pytest

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
