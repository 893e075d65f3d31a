"""DealMVC: its losses and its matching of clusters against references, and what must learn."""

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from helpers import assert_matches
from systems import easy_views, enough, random

from dmac.peers.dealmvc import (
    ViewWeights,
    _Network,
    dual_calibration_loss,
    match_clusters,
)


def target_by_loops(p, q, threshold):
    rows = []
    for i in range(len(p)):
        row = [p[i] @ q[j] if i != j else 1 + 0 * p[i, 0] for j in range(len(q))]
        row = [agreement if agreement >= threshold else 0 * agreement for agreement in row]
        rows.append(torch.stack(row) / sum(row))
    return torch.stack(rows)


def loss_by_loops(h, g, target):
    total = 0.0
    for i in range(len(h)):
        weights = [torch.exp(h[i] @ g[j]) for j in range(len(g))]
        shares = [weight / sum(weights) for weight in weights]
        total = total - sum(t * torch.log(share + 1e-7) for t, share in zip(target[i], shares))
    return total / len(h)


@pytest.mark.parametrize("v", [1, 3])
def test_dual_calibration_adds_all_pairs_the_fusion_and_the_differences(v):
    inputs = [random(4, 3, seed=s, gradient=False) for s in range(v + 1)]
    inputs += [4 * random(4, 2, seed=9 + s, gradient=False) for s in range(v + 1)]
    inputs = [x.requires_grad_() for x in inputs]

    def normed(inputs):
        features = [F.normalize(x) for x in inputs[: v + 1]]
        return features, [torch.softmax(x, 1) for x in inputs[v + 1 :]]

    def ours(*inputs):
        (*hs, fused), (*qs, p) = normed(inputs)
        return dual_calibration_loss(hs, qs, fused, p, 0.6)

    def by_loops(*inputs):
        (*hs, fused), (*qs, p) = normed(inputs)
        overall = target_by_loops(p, p, 0.6)
        total = loss_by_loops(fused, fused, overall)
        for a, b in itertools.combinations(range(v), 2):
            target = target_by_loops(qs[a], qs[b], 0.6)
            difference = ((overall - target) ** 2).sum() / 16
            total = total + loss_by_loops(hs[a], hs[b], target) + difference
        return total

    assert_matches(ours, by_loops, *inputs)


def test_matching_is_the_best_of_all_renamings():
    clusters, labels = np.random.default_rng(0).integers(4, size=(2, 50))
    agreement = (match_clusters(clusters, labels, 4) == labels).sum()
    renamings = map(np.array, itertools.permutations(range(4)))
    assert agreement == max((names[clusters] == labels).sum() for names in renamings)


def test_view_weights_are_a_share_and_follow_the_views():
    weights = ViewWeights(3, 8, 2, 5, 0.5, torch.Generator().manual_seed(0)).double()
    means = random(3, 8, gradient=False)
    w = weights(means)
    assert w.sum().item() == pytest.approx(1 / 3) and (w > 0).all()
    for other in (weights(2 * means), weights(means, torch.Generator().manual_seed(1))):
        assert not torch.allclose(w, other)


def test_every_weight_gets_a_gradient_and_those_of_the_views_move():
    views, _ = easy_views(110)
    model = enough("DealMVC", threshold=0.1)  # so that labels are certain enough
    network = _Network((7, 5, 9), model, torch.Generator().manual_seed(0))
    batch = [torch.as_tensor(x[:40], dtype=torch.float32) for x in views]
    codes, images = zip(*(net(x) for net, x in zip(network.autoencoders, batch)))
    error = sum(F.mse_loss(image, x) for image, x in zip(images, batch))
    model._loss(network, codes, error, None).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad.abs().max() > 0, name
    untrained, trained = (
        model.set_params(calibration_epochs=n).fit(views).view_weights_ for n in (0, 20)
    )
    assert np.abs(trained - untrained).max() > 1e-3
