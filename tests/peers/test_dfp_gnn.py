"""DFP-GNN: its last loss against a reference, and where its stages end."""

from math import prod

import numpy as np
import pytest
import scipy.sparse
import torch
import torch.nn.functional as F
from helpers import assert_matches
from systems import easy_views, quick, random, reference_link_loss

from dmac.peers._gcn import Links
from dmac.peers.dfp_gnn import Patience, tuning_loss


def test_loss_of_the_last_stage_is_its_definition():
    inputs = random(6, 3), random(6, 4, seed=1), random(6, 2, seed=2), random(6, 4, seed=3)
    p = random(6, 2, seed=4, gradient=False).softmax(1)
    rings = [np.roll(np.eye(6), shift, 1) for shift in (1, 2)]
    graphs = [scipy.sparse.csr_matrix(ring + ring.T) for ring in rings]
    weights = torch.tensor([0.3, 0.7], dtype=torch.float64)
    target = sum(w * torch.as_tensor(g.toarray()) for w, g in zip(weights, graphs)) + torch.eye(6)

    def slow(z, h_hat, logits, h):
        kl = F.kl_div(logits.log_softmax(1), p, reduction="batchmean")
        # Were H no constant, a smaller one would be a better one.
        return (
            ((h.detach() - h_hat) ** 2).mean() + 2 * prod(reference_link_loss(z, target)) + 5 * kl
        )

    links = Links(graphs, torch.device("cpu"))
    assert_matches(
        lambda z, h_hat, logits, h: tuning_loss(
            h, h_hat, z, logits.softmax(1), p, links, weights, 2.0, 5.0
        ),
        slow,
        *inputs,
    )


def test_patience_waits_for_no_better_loss_or_with_a_share_for_a_flat_curve():
    stop = Patience(3)
    assert [stop(loss) for loss in [5, 4, 3.9, 3.8, 3.7999]] == [False] * 5
    assert [stop(loss) for loss in [4, 4, 4]] == [False, False, True]
    losses = [2.0**-epoch + 1 for epoch in range(30)]
    # Over two epochs the loss 1 + 2^-t falls by 3 * 2^-t, first below 1 % of 1 + 4 * 2^-t at t = 9.
    assert list(map(Patience(2, 0.01), losses)).index(True) == 9
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
    mean, total = (
        quick("DFP-GNN", reduction=kind).fit(views).history_[0] for kind in ("mean", "sum")
    )
    assert mean.stage == "view 1"
    assert total.loss == pytest.approx(views[0].shape[1] * mean.loss, rel=1e-6)
