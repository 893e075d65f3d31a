"""DealMVC's losses and its matching of clusters against references."""

import itertools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from helpers import assert_matches

from dmac.peers.dealmvc import (
    calibration_loss,
    calibration_target,
    dual_calibration_loss,
    label_consistency_loss,
    match_clusters,
)


def random(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


def target_by_loops(p, q, threshold=0.8):
    rows = []
    for i in range(len(p)):
        row = []
        for j in range(len(q)):
            agreement = sum(p[i, k] * q[j, k] for k in range(p.shape[1]))
            if i == j:
                agreement = agreement * 0 + 1
            row.append(agreement if agreement >= threshold else agreement * 0)
        rows.append(torch.stack([value / sum(row) for value in row]))
    return torch.stack(rows)


def loss_by_loops(h, g, target):
    total = 0.0
    for i in range(len(h)):
        weights = [torch.exp(h[i] @ g[j]) for j in range(len(g))]
        for j in range(len(g)):
            total = total - target[i, j] * torch.log(weights[j] / sum(weights) + 1e-7)
    return total / len(h)


@pytest.mark.parametrize("threshold", [0.8, 0.3])
def test_targets_and_gradients_are_those_of_the_formula(threshold):
    # Logits large enough that some pairs agree and others do not.
    p, q = 4 * random(6, 3, seed=1).detach(), 4 * random(6, 3, seed=2).detach()
    inputs = p.requires_grad_(), q.requires_grad_()

    def on(function):
        return lambda p, q: function(torch.softmax(p, 1), torch.softmax(q, 1), threshold)

    target = on(calibration_target)(*inputs)
    assert (target == 0).any() and ((target > 0).sum() > 6)
    assert_matches(on(calibration_target), on(target_by_loops), *inputs)


def test_target_of_certain_labels_in_closed_form():
    q = torch.eye(2)[[0, 0, 1]]
    expected = torch.tensor([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]])
    torch.testing.assert_close(calibration_target(q, q), expected)


def test_target_of_uncertain_labels_is_the_identity():
    q = torch.full((4, 3), 1 / 3)
    assert torch.equal(calibration_target(q, q), torch.eye(4))


def test_calibration_and_its_gradients_are_those_of_the_formula():
    h, g, t = random(5, 3, seed=1), random(5, 3, seed=2), random(5, 5, seed=3)

    def on(function):
        return lambda h, g, t: function(F.normalize(h), F.normalize(g), torch.softmax(t, 1))

    assert_matches(on(calibration_loss), on(loss_by_loops), h, g, t)


def test_calibration_of_equal_features_is_log_b():
    h = torch.ones(6, 2)
    loss = calibration_loss(h, h, torch.eye(6))
    assert loss.item() == pytest.approx(math.log(6), rel=1e-5)


def test_label_consistency_takes_every_pair():
    overall, local = random(4, 4), [random(4, 4, seed=s) for s in range(1, 7)]

    def by_loops(overall, *local):
        entries = itertools.product(range(4), range(4))
        return sum((overall[i, j] - t[i, j]) ** 2 / 16 for i, j in entries for t in local)

    assert_matches(lambda o, *t: label_consistency_loss(o, list(t)), by_loops, overall, *local)
    assert label_consistency_loss(overall, []).item() == 0


def test_dual_calibration_adds_all_pairs_the_fusion_and_the_differences():
    hs = [random(4, 3, seed=s) for s in (1, 2, 3)]
    qs = [4 * random(4, 2, seed=s) for s in (4, 5, 6)]
    fused, p = random(4, 3, seed=7), 4 * random(4, 2, seed=8)
    inputs = [x.detach().requires_grad_() for x in (*hs, *qs, fused, p)]

    def normed(inputs):
        features = [F.normalize(x) for x in (*inputs[:3], inputs[6])]
        return features, [torch.softmax(x, 1) for x in (*inputs[3:6], inputs[7])]

    def ours(*inputs):
        (*hs, fused), (*qs, p) = normed(inputs)
        return dual_calibration_loss(hs, qs, fused, p, 0.6)

    def by_loops(*inputs):
        (*hs, fused), (*qs, p) = normed(inputs)
        overall = target_by_loops(p, p, 0.6)
        total = loss_by_loops(fused, fused, overall)
        for v, w in ((0, 1), (0, 2), (1, 2)):
            target = target_by_loops(qs[v], qs[w], 0.6)
            total = total + loss_by_loops(hs[v], hs[w], target)
            total = total + ((overall - target) ** 2).sum() / 16
        return total

    assert_matches(ours, by_loops, *inputs)


def test_matching_is_the_best_of_all_renamings():
    rng = np.random.default_rng(0)
    clusters, labels = rng.integers(4, size=(2, 50))
    agreement = (match_clusters(clusters, labels, 4) == labels).sum()
    renamings = map(np.array, itertools.permutations(range(4)))
    assert agreement == max((names[clusters] == labels).sum() for names in renamings)
