"""What the tests of the systems share: easy data, and settings that are fitted soon."""

import numpy as np

from dmac.peers import ALL

#: A handful of epochs, for what does not depend on how good the labels are.
QUICK = {
    "GMC": dict(n_neighbors=5),
    "MSGL": dict(n_anchors=3),
    "LMVSC": dict(n_anchors=3),
    "UDBGL": dict(),
    "CMGEC": dict(
        hidden=(8, 6),
        consensus=(5, 4),
        discriminator=(3, 3),
        fusion_epochs=4,
        embedding_epochs=4,
        epochs=4,
        refresh=2,
    ),
    "DealMVC": dict(
        widths=(8, 4),
        n_heads=2,
        ff_dim=4,
        pretrain_epochs=3,
        calibration_epochs=3,
        finetune_epochs=3,
        batch_size=40,
        n_init=2,
    ),
    "GCFAggMVC": dict(
        widths=(8, 4),
        feature_dim=4,
        ff_dim=4,
        pretrain_epochs=3,
        contrastive_epochs=3,
        batch_size=40,
        n_init=2,
    ),
    "DFP-GNN": dict(
        hidden=(8, 6), shared=(5, 4), n_neighbors=8, pretrain_epochs=4, epochs=4, refresh=2
    ),
    "SURER": dict(hidden=(8, 4), n_neighbors=8, pretrain_epochs=4, epochs=4, refresh=2),
    "SNF": dict(n_neighbors=5),
}

#: Enough for easy clusters; wider steps than published, since the networks are small.
ENOUGH = {
    "GMC": dict(),
    "MSGL": dict(n_anchors=12),
    "LMVSC": dict(n_anchors=12),
    "UDBGL": dict(),
    "CMGEC": dict(fusion_epochs=60, embedding_epochs=40, epochs=40, pretrain_lr=1e-3),
    "DealMVC": dict(
        widths=(32, 16),
        n_heads=2,
        pretrain_epochs=20,
        calibration_epochs=20,
        finetune_epochs=60,
        batch_size=40,
        lr=3e-3,
        n_init=5,
    ),
    "GCFAggMVC": dict(
        widths=(32, 16),
        feature_dim=8,
        ff_dim=8,
        pretrain_epochs=20,
        contrastive_epochs=15,
        batch_size=40,
        lr=3e-3,
        n_init=5,
    ),
    "DFP-GNN": dict(
        n_neighbors=12,
        n_fused_neighbors=12,
        hidden=(16, 16, 8),
        shared=(8, 8, 4),
        lr=1e-3,
        pretrain_epochs=60,
        epochs=40,
    ),
    "SURER": dict(
        n_neighbors=12,
        hidden=(16, 16, 8),
        pretrain_lr=3e-3,
        lr=1e-3,
        pretrain_epochs=60,
        epochs=30,
    ),
    "SNF": dict(),
}


def easy_views(n=90, c=3, seed=0, noise=0.8, spread=4.0, widths=(7, 5, 9)):
    """Three views of samples around c far centres, in no order, and their classes."""
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.arange(n) % c)
    return [
        spread * rng.standard_normal((c, d))[classes] + noise * rng.standard_normal((n, d))
        for d in widths
    ], classes


def _make(name, settings, n_clusters=3, **more):
    on = dict(device="cpu") if "device" in ALL[name](3).get_params() else {}
    return ALL[name](n_clusters, **(dict(random_state=0) | on | settings | more))


def quick(name, **more):
    """A system that is fitted in a moment."""
    return _make(name, QUICK[name], **more)


def enough(name, **more):
    """A system that finds the easy clusters."""
    return _make(name, ENOUGH[name], **more)
