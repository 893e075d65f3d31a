"""What the tests of the systems share: easy data, and what is particular to a system."""

import functools
import math

import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import minimize

from dmac.peers import ALL

_CODES = dict(ff_dim=4, pretrain_epochs=3, batch_size=40, n_init=2)
_GRAPHS = dict(n_neighbors=8, pretrain_epochs=4, epochs=4, refresh=2)
_CONSENSUS = dict(hidden=(8, 6), consensus=(5, 4), discriminator=(3, 3), refresh=2)
#: A handful of epochs, for what does not depend on how good the labels are.
QUICK = {
    "GMC": dict(n_neighbors=5),
    "MSGL": dict(n_anchors=3),
    "LMVSC": dict(n_anchors=3),
    "UDBGL": dict(),
    "CMGEC": _CONSENSUS | dict(fusion_epochs=4, embedding_epochs=4, epochs=4),
    "DealMVC": _CODES | dict(widths=(8, 4), n_heads=2, calibration_epochs=3, finetune_epochs=3),
    "GCFAggMVC": _CODES | dict(widths=(8, 4), feature_dim=4, contrastive_epochs=3),
    "DFP-GNN": _GRAPHS | dict(hidden=(8, 6), shared=(5, 4)),
    "SURER": _GRAPHS | dict(hidden=(8, 4)),
    "SNF": dict(n_neighbors=5),
}

_CODES = dict(widths=(32, 16), pretrain_epochs=20, batch_size=40, lr=3e-3, n_init=5)
_GRAPHS = dict(n_neighbors=12, hidden=(16, 16, 8), lr=1e-3, pretrain_epochs=60)
#: Enough for easy clusters; wider steps than published, since the networks are small.
ENOUGH = {
    "GMC": dict(),
    "MSGL": dict(n_anchors=12),
    "LMVSC": dict(n_anchors=12),
    "UDBGL": dict(),
    "CMGEC": dict(fusion_epochs=60, embedding_epochs=40, epochs=40, pretrain_lr=1e-3),
    "DealMVC": _CODES | dict(n_heads=2, calibration_epochs=20, finetune_epochs=60),
    "GCFAggMVC": _CODES | dict(feature_dim=8, ff_dim=8, contrastive_epochs=15),
    "DFP-GNN": _GRAPHS | dict(n_fused_neighbors=12, shared=(8, 8, 4), epochs=40),
    "SURER": _GRAPHS | dict(pretrain_lr=3e-3, epochs=30),
    "SNF": dict(),
}

#: Labels are the components of a graph: their number is what it is.
COMPONENTS = ("GMC", "UDBGL")
#: Nothing is drawn before labels are read off.
DRAWS_NOTHING = (*COMPONENTS, "SNF")
#: Memory grows with n^2.
SQUARE = ("CMGEC", "SURER", "SNF")
#: Not every seed finds easy clusters: a view's clusters are named after what the untrained label
#: head says of that view, and two views can get different names for one cluster.
SEEDS = {"DealMVC": 3}
#: Epochs in which every loss falls, and the stages that a fit then has.
LONG = dict(pretrain_epochs=30, lr=3e-3)
STAGES = {
    "CMGEC": (
        dict(fusion_epochs=30, embedding_epochs=30, epochs=20, pretrain_lr=1e-3),
        {"fusion": 30, "embedding": 30, "joint": 20},
    ),
    "DealMVC": (
        LONG | dict(widths=(32, 16), calibration_epochs=20, finetune_epochs=5),
        {"reconstruction": 30, "calibration": 20, "fine-tuning": 5},
    ),
    "GCFAggMVC": (
        LONG | dict(widths=(32, 16), contrastive_epochs=15),
        {"reconstruction": 30, "contrast": 15},
    ),
    "DFP-GNN": (
        LONG | dict(lr=1e-3, epochs=6, tolerance=0.0, flat=None),
        {"view 1": 30, "view 2": 30, "view 3": 30, "shared": 30, "tuning": 6},
    ),
    "SURER": (
        LONG | dict(epochs=20, pretrain_lr=1e-3, lr=1e-3),
        {"view 1": 30, "view 2": 30, "view 3": 30, "unified": 20},
    ),
}
_DEVICE = dict(device=("abacus",))
_NO_CODES = _DEVICE | dict(widths=((), (4, 0)), batch_size=(1,), lr=(-1, math.nan), dropout=(1.0,))
_NO_CODES |= dict(scale=("rows",))
_WIDTHS = ((), 5, (3, 0), (3.0,), "12", (True,))
_NO_GRAPHS = _DEVICE | dict(n_neighbors=(0,), hidden=_WIDTHS, refresh=(0,))
#: Of every system some parameters and values that none of them may have.
BAD = {
    "GMC": dict(n_neighbors=(0, 2.5, None, "2", True, math.inf), scale=("range",)),
    "MSGL": dict(n_anchors=(2, 91, 7.5), alpha=(-1,), beta=(math.nan,), gamma=(0, 2, math.nan)),
    "LMVSC": dict(n_anchors=(2, 91, 7.5, True), alpha=(-1, math.nan, math.inf, "1", True)),
    "UDBGL": dict(n_anchors=(2, 91), beta=(math.nan, math.inf), scale=("columns", None, ["rows"])),
    "CMGEC": _NO_GRAPHS | dict(dropout=(1.0, -0.1, None), metric=("best",), discriminator=((0,),)),
    "DealMVC": _NO_CODES | dict(n_heads=(0, 3), finetune_epochs=(-1,), threshold=(-0.1, 1.1)),
    "GCFAggMVC": _NO_CODES | dict(temperature=(0,), pretrain_epochs=(-1,)),
    "DFP-GNN": _NO_GRAPHS
    | dict(shared=((3, 0),), patience=(0,), flat=(-1,), lr=(math.nan,), reduction=("none",)),
    "SURER": _NO_GRAPHS | dict(lambda3=(-1,), pretrain_lr=(math.nan,), initial=("abacus",)),
    "SNF": dict(
        n_neighbors=(0, 2.5, None), mu=(0, -1, math.nan), n_iterations=(-1, 0.5), scale=("rows",)
    ),
}


def easy_views(n=90, c=3, seed=0, noise=0.8, spread=4.0, widths=(7, 5, 9)):
    """Three views of samples around c far centres, in no order, and their classes."""
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.arange(n) % c)
    return [
        spread * rng.standard_normal((c, d))[classes] + noise * rng.standard_normal((n, d))
        for d in widths
    ], classes


#: Four classes that lie closer together, for the systems that learn a graph.
close_views = functools.partial(easy_views, n=120, c=4, noise=0.3, spread=2, widths=(7, 12, 9))


def _make(name, settings, n_clusters=3, **more):
    on = dict(device="cpu") if "device" in ALL[name](3).get_params() else {}
    return ALL[name](n_clusters, **(dict(random_state=0) | on | settings | more))


def quick(name, **more):
    """A system that is fitted in a moment."""
    return _make(name, QUICK[name], **more)


def enough(name, **more):
    """A system that finds the easy clusters."""
    return _make(name, ENOUGH[name], **more)


def random(*shape, seed=0, gradient=True):
    """A Gaussian tensor in double precision."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_(gradient)


def same_partition(a, b):
    """Whether two labellings name the same groups."""
    return len(set(zip(a, b))) == len(set(a)) == len(set(b))


def planted_graph(sizes, seed, neighbors=6):
    """A weighted graph with one connected component a size, its nodes shuffled; and their parts."""
    generator = np.random.default_rng(seed)
    parts = generator.permutation(np.repeat(np.arange(len(sizes)), sizes))
    graph = np.zeros((len(parts), len(parts)))
    for part in range(len(sizes)):
        nodes = np.flatnonzero(parts == part)
        for i, node in enumerate(nodes):
            others = generator.choice(nodes, min(neighbors, len(nodes)), replace=False)
            graph[node, others] = generator.random(len(others))
            graph[node, nodes[i - 1]] = 0.5  # a ring keeps the component in one piece
    np.fill_diagonal(graph, 0)
    return graph, parts


def minimum_on_simplex(function, m, jac=None):
    """Where a function of m numbers is smallest on the simplex, by sequential programming."""
    whole = {"type": "eq", "fun": lambda z: z.sum() - 1, "jac": np.ones_like}
    settings = dict(method="SLSQP", bounds=[(0, 1)] * m, options={"ftol": 1e-14, "maxiter": 500})
    return minimize(function, np.full(m, 1 / m), jac=jac, constraints=whole, **settings).x


def reference_link_loss(z, target):
    """The weighted cross-entropy of links by PyTorch's own, and the factor of the balanced one."""
    edges, total = target.sum().item(), len(z) ** 2
    ratio = torch.tensor((total - edges) / edges, dtype=z.dtype)
    loss = F.binary_cross_entropy_with_logits(z @ z.T, target, pos_weight=ratio)
    return loss, total / (2 * (total - edges))
