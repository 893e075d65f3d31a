"""Anchors and embeddings as the pages show them: matrices, measures, points in the plane."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from toy_frames import frame, several

from dmac.experiments import geometry, wording


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
        "60.0 ± 14.1", "50.0", "−0.250 ± 0.000", "2.0e−07", "1.25 ± 0.00", "31.0 ± 1.4", 2,
    ]  # fmt: skip
    said = geometry.embedding_finding(runs)
    assert (
        "On PIE 45.0 % of a sample's neighbours" in said
        and "−15.0 ± 63.5 points against wo/PD" in said
    )
    assert "it is clearly ahead of neither, unlike in the paper." in said
    assert geometry.embedding_finding(runs.iloc[:2]) == wording.NOTHING


@pytest.mark.parametrize(
    "others, verdict",
    [
        ((0.3, 0.3), "the full model separates the classes best, as in the paper"),
        ((0.3, 0.5), "it is clearly ahead of only wo/PD, unlike in the paper"),
        ((0.3, 0.7), "it separates them less well than wo/CM, unlike in the paper"),
    ],
)
def test_full_model_is_compared_seed_by_seed(others, verdict):
    rows = [row for v, x in zip(("wo/PD", "wo/CM"), others) for row in measured(v, [x, x + 0.1], 0)]
    runs = frame([*rows, *measured("DMAC", [0.5, 0.6], 0)])
    assert verdict in geometry.embedding_finding(runs)


def test_empty_anchors_are_counted_after_the_last_epoch():
    epochs = {"empty_anchors": [1.0, 3.0]}
    rows = several("PIE", "DMAC", [30.0, 32.0], n_anchors=4, one_minus_cosine=1e-6)
    rows = [rows[0] | {"epochs": epochs}, rows[1] | {"epochs": {"empty_anchors": [4.0]}}]
    runs = frame(rows)
    assert geometry.empty(runs)["empty"].tolist() == [75, 100]
    assert geometry.empty_shown(runs).iloc[0].tolist() == ["87.5 ± 17.7", "75.0", 2]
    kept = {"anchors": np.eye(4), "anchor_classes": np.arange(4)}
    near = {"anchors": np.eye(4) + 1, "anchor_classes": np.arange(4)}
    table = geometry.anchors({("PIE", "DMAC"): kept, ("PIE", "wo/PD"): near})
    both = frame([*rows, *(row | {"variant": "wo/PD"} for row in rows)])
    said = geometry.anchors_finding(table, both)
    assert "own mean cosine is 1 but for 1e−06: the perturbation has moved" in said
    assert "No sample has an edge to 88 % of those of DMAC and 88 % of those of wo/PD." in said
