"""SURER: its convolution, losses and pseudo-labels against references."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from helpers import assert_matches
from systems import random

from dmac.metrics import scores
from dmac.peers.surer import (
    SURER,
    class_means,
    clustering_loss,
    pseudo_labels,
    unified_convolution,
)


@pytest.mark.parametrize("v", [1, 2, 3])
def test_unified_convolution_is_that_of_the_whole_graph(v):
    # Nodes view by view: node a n + i is sample i in view a.
    n = 5

    def slow(h, weight):
        blocks = [torch.sigmoid(part @ part.T) for part in h.split(n)]
        a = torch.block_diag(*blocks) + torch.eye(n).repeat(v, v)
        root = torch.diag(a.sum(1) ** -0.5)
        return root @ a @ root @ h @ weight

    assert_matches(
        lambda h, weight: torch.cat(unified_convolution(list(h.split(n)), weight)),
        slow,
        random(v * n, 3),
        random(3, 2, seed=1),
    )


def test_clustering_loss_is_its_definition():
    labels = torch.tensor([0, 1, 1, 2, 0, 2])
    p = random(6, 3, seed=2).detach().softmax(1)

    def slow(logits):
        kl = F.kl_div(logits.log_softmax(1), p, reduction="batchmean")
        return 0.7 * kl + 0.3 * F.cross_entropy(logits, labels)

    assert_matches(
        lambda logits: clustering_loss(logits.softmax(1), p, labels, 0.7, 0.3), slow, random(6, 3)
    )


def test_class_means_are_those_of_every_class_and_of_all_rows_without_one():
    z, labels = random(9, 2, gradient=False), torch.tensor([0, 0, 0, 3, 3, 3, 3, 1, 1])
    means = class_means(z, labels, 4)
    for label in (0, 1, 3):
        torch.testing.assert_close(means[label], z[labels == label].mean(0))
    torch.testing.assert_close(means[2], z.mean(0))


@pytest.mark.parametrize(
    "how, sign, low, high",
    [
        *[("kmeans", 1, 1, 1), ("spectral", 1, 1, 1), ("spectral", -1, 1, 1)],
        ("kmeans", -1, -1, 0.3),  # the mean of H and -H is nearly 0, and their graphs are the same
    ],
)
def test_pseudo_labels_are_planted_ones_and_by_graphs_need_no_common_axes(how, sign, low, high):
    labels = np.repeat(range(3), (20, 12, 8))
    h = 4 * torch.eye(3)[torch.as_tensor(labels)] + 0.1 * random(40, 3, gradient=False).float()
    other = 1e-3 * random(40, 3, seed=1, gradient=False).float() + sign * h
    found = pseudo_labels([h, other], 3, 0, how)
    assert found.dtype == np.int64 and low <= scores(labels, found)["ari"] <= high


@pytest.mark.parametrize(
    "initial, v, graphs", [("kmeans", 1, 5), ("kmeans", 4, 5), ("spectral", 1, 10)]
)
def test_memory_is_that_of_one_views_graph_whatever_the_number_of_views(initial, v, graphs):
    found = SURER(3, initial=initial).memory(10**6, (50,) * v)
    assert found == pytest.approx(4 * graphs * 10**12, rel=0.03)
