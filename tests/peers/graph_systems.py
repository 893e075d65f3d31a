"""What the tests of the systems with graph convolutions share: easy data, and small settings."""

import numpy as np

from dmac.peers.cmgec import CMGEC
from dmac.peers.dfp_gnn import DFPGNN
from dmac.peers.surer import SURER

#: A handful of epochs, for what does not depend on how good the labels are.
QUICK = {
    CMGEC: dict(
        hidden=(8, 6),
        consensus=(5, 4),
        discriminator=(3, 3),
        fusion_epochs=4,
        embedding_epochs=4,
        epochs=4,
        refresh=2,
    ),
    DFPGNN: dict(
        hidden=(8, 6), shared=(5, 4), n_neighbors=8, pretrain_epochs=4, epochs=4, refresh=2
    ),
    SURER: dict(hidden=(8, 4), n_neighbors=8, pretrain_epochs=4, epochs=4, refresh=2),
}

#: Enough for easy clusters; wider steps than published, since the networks are small.
ENOUGH = {
    CMGEC: dict(fusion_epochs=60, embedding_epochs=40, epochs=40, pretrain_lr=1e-3),
    DFPGNN: dict(
        n_neighbors=12,
        n_fused_neighbors=12,
        hidden=(16, 16, 8),
        shared=(8, 8, 4),
        lr=3e-3,
        pretrain_epochs=60,
        epochs=40,
    ),
    SURER: dict(
        n_neighbors=12,
        hidden=(16, 16, 8),
        pretrain_lr=3e-3,
        lr=1e-3,
        pretrain_epochs=60,
        epochs=30,
    ),
}


def easy_views(n=90, seed=0):
    """Three views of three well separated clusters, and the clusters."""
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % 3
    return [
        4 * rng.standard_normal((3, d))[classes] + 0.8 * rng.standard_normal((n, d))
        for d in (7, 5, 9)
    ], classes


def quick(system, **more):
    """A system that is fitted in a moment."""
    return system(3, **(dict(random_state=0) | QUICK[system] | more))


def enough(system, **more):
    """A system that finds the easy clusters."""
    return system(3, **(dict(random_state=0) | ENOUGH[system] | more))
