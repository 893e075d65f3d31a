"""What the pages measure of anchors."""

import numpy as np

from experiments import geometry


def test_similarity_is_sorted_by_class_and_centred():
    anchors = np.array([[1.0, 0.1], [1.0, -0.1], [1.0, 0.1], [1.0, -0.1]])
    raw, centred, classes = geometry.similarity(anchors, np.array([1, 0, 1, 0]))
    assert classes.tolist() == [0, 0, 1, 1] and raw.min() > 0.97
    np.testing.assert_allclose(centred, np.kron([[1, -1], [-1, 1]], np.ones((2, 2))), atol=1e-12)
