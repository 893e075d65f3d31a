"""SURER: its convolution, losses and pseudo-labels against references."""

import numpy as np
import pytest
import torch
from helpers import assert_matches
from systems import assert_stages, easy_views, enough, quick, random

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
        a = torch.zeros(v * n, v * n, dtype=h.dtype)
        for b in range(v):
            block = h[b * n : (b + 1) * n]
            for i in range(n):
                for j in range(n):
                    a[b * n + i, b * n + j] = torch.sigmoid(block[i] @ block[j])
        for b in range(v):
            for d in range(v):
                for i in range(n):
                    a[b * n + i, d * n + i] = a[b * n + i, d * n + i] + 1
        root = torch.diag(a.sum(1) ** -0.5)
        return root @ a @ root @ h @ weight

    assert_matches(
        lambda h, weight: torch.cat(unified_convolution(list(h.split(n)), weight)),
        slow,
        random(v * n, 3),
        random(3, 2, seed=1),
    )


def test_links_across_views_join_one_samples_copies():
    # With samples far apart in all views, a change of sample 2 in view 1 reaches view 2 at
    # sample 2 alone.
    h = 40 * torch.eye(5, dtype=torch.float64) - 8
    h = [h.clone().requires_grad_(), h.clone()]
    y = unified_convolution(h, torch.eye(5, dtype=torch.float64))[1]
    reached = [
        torch.autograd.grad(y[i].sum(), h[0], retain_graph=True)[0][2].abs().sum() > 1e-3
        for i in range(5)
    ]
    assert reached == [False, False, True, False, False]


def test_clustering_loss_is_its_definition():
    labels = torch.tensor([0, 1, 1, 2, 0, 2])
    p = random(6, 3, seed=2).detach().softmax(1)

    def slow(logits):
        q, loss = logits.softmax(1), 0.0
        for i in range(6):
            for j in range(3):
                loss = loss + 0.7 * p[i, j] * (p[i, j] / q[i, j]).log() / 6
            loss = loss - 0.3 * q[i, labels[i]].log() / 6
        return loss

    assert_matches(
        lambda logits: clustering_loss(logits.softmax(1), p, labels, 0.7, 0.3), slow, random(6, 3)
    )


def test_class_means_are_those_of_every_class_and_of_all_rows_without_one():
    z, labels = random(9, 2, gradient=False), torch.tensor([0, 0, 0, 3, 3, 3, 3, 1, 1])
    means = class_means(z, labels, 4)
    for label in (0, 1, 3):
        torch.testing.assert_close(means[label], z[labels == label].mean(0))
    torch.testing.assert_close(means[2], z.mean(0))


def test_pseudo_labels_are_the_planted_ones_and_by_the_graphs_need_no_common_axes():
    labels = np.repeat(range(3), (20, 12, 8))
    h = 4 * torch.eye(3)[torch.as_tensor(labels)] + 0.1 * random(40, 3, gradient=False).float()
    other = 1e-3 * random(40, 3, seed=1, gradient=False).float() - h
    # The mean of H and -H is nearly 0, and their graphs are the same.
    for how, hs, low, high in (
        ("kmeans", [h, h + 0.01], 1, 1),
        ("spectral", [h, h + 0.01], 1, 1),
        ("spectral", [h, -h], 1, 1),
        ("kmeans", [h, other], -1, 0.3),
    ):
        found = pseudo_labels(hs, 3, 0, how)
        assert found.dtype == np.int64 and low <= scores(labels, found)["ari"] <= high


def test_stages_follow_each_other_and_losses_fall():
    more = dict(pretrain_epochs=30, epochs=20, pretrain_lr=1e-3, lr=1e-3)
    history = quick("SURER", **more).fit(easy_views()[0]).history_
    assert_stages(history, view_1=30, view_2=30, view_3=30, unified=20)


def test_memory_is_that_of_one_views_graph_whatever_the_number_of_views():
    model = SURER(3)
    n = 1_000_000
    one, four = (model.memory(n, (50,) * v) / (4 * n**2) for v in (1, 4))
    assert one == pytest.approx(5, rel=0.02) and four == pytest.approx(one, rel=0.03)


def test_spectral_pseudo_labels_find_the_classes_and_take_memory_in_doubles():
    views, labels = easy_views()
    model = enough("SURER", initial="spectral", random_state=0)
    assert scores(labels, model.fit_predict(views))["acc"] > 0.95
    n = 1_000_000
    assert SURER(3, initial="spectral").memory(n, (50,)) == pytest.approx(8 * 5 * n**2, rel=0.02)
