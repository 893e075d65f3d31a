"""DFP-GNN: its last loss against a reference, and where its stages end."""

import numpy as np
import pytest
import scipy.sparse
import torch
from helpers import assert_matches
from systems import assert_stages, easy_views, quick, random

from dmac.peers._gcn import Links
from dmac.peers.dfp_gnn import DFPGNN, Patience, tuning_loss


def test_loss_of_the_last_stage_is_its_definition():
    inputs = random(6, 3), random(6, 4, seed=1), random(6, 2, seed=2)
    h = random(6, 4, seed=3, gradient=False)
    p = random(6, 2, seed=4, gradient=False).softmax(1)
    rings = [np.roll(np.eye(6), shift, 1) for shift in (1, 2)]
    graphs = [scipy.sparse.csr_matrix(ring + ring.T) for ring in rings]
    weights = torch.tensor([0.3, 0.7], dtype=torch.float64)

    def slow(z, h_hat, logits):
        q, loss = logits.softmax(1), 0.0
        target = torch.eye(6)
        for weight, graph in zip(weights, graphs):
            target = target + weight * torch.as_tensor(graph.toarray())
        edges = target.sum()
        assert edges == pytest.approx(18)  # 6 loops, and 12 of both rings' weighted edges
        for i in range(6):
            for j in range(4):
                loss = loss + (h[i, j] - h_hat[i, j]) ** 2 / 24
            for j in range(2):
                loss = loss + 5 * p[i, j] * (p[i, j] / q[i, j]).log() / 6
            for j in range(6):
                s = torch.sigmoid(z[i] @ z[j])
                cost = -(18 / 18) * target[i, j] * s.log() - (1 - target[i, j]) * (1 - s).log()
                loss = loss + 2 * cost / 36 * 36 / (2 * 18)
        return loss

    links = Links(graphs, torch.device("cpu"))
    assert_matches(
        lambda z, h_hat, logits: tuning_loss(
            h, h_hat, z, logits.softmax(1), p, links, weights, 2.0, 5.0
        ),
        slow,
        *inputs,
    )


def test_smaller_features_are_not_rewarded():
    h = torch.randn(5, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    links = Links([scipy.sparse.csr_matrix((5, 5))], torch.device("cpu"))
    q = torch.full((5, 2), 0.5)
    tuning_loss(h, h.detach() + 1 + 0 * h, h, q, q, links, torch.ones(1), 0.0, 1.0).backward()
    assert (h.grad == 0).all()


def test_stages_follow_each_other_and_losses_fall():
    model = quick("DFP-GNN", pretrain_epochs=40, epochs=6, lr=1e-3, tolerance=0.0)
    history = model.fit(easy_views()[0]).history_
    assert_stages(history[:-6], view_1=40, view_2=40, view_3=40, shared=40)
    assert [record.stage for record in history[-6:]] == ["tuning"] * 6


def test_patience_waits_for_no_better_loss_or_with_a_share_for_a_flat_curve():
    stop = Patience(3)
    assert [stop(loss) for loss in [5, 4, 3.9, 3.8, 3.7999]] == [False] * 5
    assert [stop(loss) for loss in [4, 4, 4]] == [False, False, True]
    losses = [2.0**-epoch + 1 for epoch in range(30)]
    stop = Patience(2, 0.01)
    ended = next(epoch for epoch, loss in enumerate(losses) if stop(loss))
    # Over two epochs the loss 1 + 2^-t falls by 3 * 2^-t, first below 1 % at t = 9.
    gains = [1 - losses[t] / losses[t - 2] for t in range(2, 30)]
    assert ended == 2 + next(t for t, gain in enumerate(gains) if gain <= 0.01) == 9
    assert not any(map(Patience(2), losses))


def test_pretraining_ends_where_it_is_flat_and_tuning_where_labels_stay():
    views, _ = easy_views()
    # A rate of zero: nothing changes, so patience and the labels end every stage at once.
    still = quick("DFP-GNN", lr=0.0, patience=3, refresh=4, pretrain_epochs=50, epochs=50)
    stages = [record.stage for record in still.fit(views).history_]
    assert [stages.count(name) for name in ("view 1", "shared", "tuning")] == [4, 4, 4]
    steady = quick("DFP-GNN", lr=1e-6, patience=3, pretrain_epochs=30, epochs=0)
    early, published = steady.fit(views).history_, steady.set_params(flat=None).fit(views).history_
    assert len(early) < len(published)


def test_a_sum_over_the_features_is_so_many_times_their_mean():
    views, _ = easy_views()
    first = {}
    for reduction in ("mean", "sum"):
        history = quick("DFP-GNN", reduction=reduction).fit(views).history_
        first[reduction] = [r.loss for r in history if r.stage == "view 1"]
    d = views[0].shape[1]
    assert first["sum"][0] == pytest.approx(d * first["mean"][0], rel=1e-6)


def test_graph_is_a_mean_of_the_views_graphs():
    views, _ = easy_views()
    graph = quick("DFP-GNN").fit(views).graph_
    assert (abs(graph - graph.T) > 1e-6).nnz == 0
    assert graph.min() >= 0 and graph.max() <= 1 + 1e-6 and graph.nnz > 0


def test_memory_is_linear_in_the_samples():
    model = DFPGNN(3)
    small, large = (model.memory(n, (50, 60)) for n in (100_000, 200_000))
    assert large < 2.01 * small
