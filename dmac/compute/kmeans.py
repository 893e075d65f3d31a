"""K-means: the anchors' own, on the device and block by block, and the final one on Z.

Chapter 3 of the book begins with the anchors that it finds.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import torch
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits
from torch import Tensor

from dmac._types import Array, Integers
from dmac.compute.lloyd import lloyd, means
from dmac.compute.threads import many

# Lloyd's iterations of k-means, at most; most end before.
_PASSES = 300
# With more samples an anchor than this, k-means runs to its end on so many of them, and then takes
# a few passes over all: anchors have to represent the samples, and hundreds of passes would not
# move them by more than a small part of their cells. Fewer where the last epoch's are the start:
# the next epoch goes on from there.
_SEED_SAMPLES = 32
_FULL_PASSES = 10
_WARM_PASSES = 2


def kmeans(x: Array, n_clusters: int, seed: int, n_init: int = 1) -> KMeans:
    """Lloyd's k-means of (n, d) from ``n_init`` k-means++ starts, of which the best is kept.

    The same result for the same seed. With fewer distinct rows than clusters some centres coincide;
    that is no error, since a collapsed embedding has to be measurable.
    """
    model = KMeans(n_clusters, n_init=n_init, random_state=seed)
    # One thread: with more, the partial sums are added in the order in which threads finish, and
    # rounding then differs from run to run. BLAS too: its threads and OpenMP's wait for each other.
    with (
        warnings.catch_warnings(action="ignore", category=ConvergenceWarning),
        threadpool_limits(1),
    ):
        return model.fit(x)


def kmeans_anchors(
    z: Tensor, n_anchors: int, generator: torch.Generator, *, tol: float = 1e-4
) -> Tensor:
    r"""Initial anchors :math:`\hat U`: the k-means centres of the fused embedding.

    Greedy k-means++ seeding (Arthur and Vassilvitskii 2007), then Lloyd's iterations until no
    sample changes its anchor or the anchors move by less than ``tol`` times the variance of Z,
    all on the device of ``z``. An anchor that loses its last sample stays where it is. With more
    than 32 m samples, all this on 32 m of them, and then at most 10 iterations on all. The
    generator is on the CPU, so that every device gets the same draws: (n, d) -> (m, d), without
    gradient.
    """
    return WarmAnchors(n_anchors, generator, relocate=False)(z, tol)


class WarmAnchors:
    """K-means anchors from epoch to epoch, each begun where the last one ended.

    The first call is :func:`kmeans_anchors`. Later ones start from the means of the last
    assignment, so an epoch that changes no assignment costs one pass over samples and anchors, and
    none more than 2 with more than 32 m samples. With ``relocate`` an anchor that loses its last
    sample moves to the sample farthest from its own anchor, as in scikit-learn; else it stays.
    """

    def __init__(
        self, n_anchors: int, generator: torch.Generator, *, relocate: bool = True
    ) -> None:
        self.n_anchors, self.generator, self.relocate = n_anchors, generator, relocate
        self.assigned: Tensor | None = None
        self.centres: Tensor | None = None

    def __call__(self, z: Tensor, tol: float = 1e-4) -> Tensor:
        """(n, d), the same samples at every call -> (m, d), without gradient."""
        mean = z.detach().mean(0)
        x = z.detach() - mean
        threshold = tol * x.square().mean()
        passes = _PASSES
        if self.assigned is None or self.centres is None:
            centres = _start(x, self.n_anchors, self.generator, threshold)
        else:
            centres, _ = means(x, self.assigned, self.centres - mean)
        if len(x) > _SEED_SAMPLES * self.n_anchors:
            passes = _FULL_PASSES if self.assigned is None else _WARM_PASSES
        centres, self.assigned = lloyd(
            x, centres, passes, threshold, self.assigned, relocate=self.relocate
        )
        self.centres = centres + mean
        return self.centres

    def state(self) -> dict[str, Tensor]:
        """The assignment of the samples and the centres, for `restore`."""
        if self.assigned is None or self.centres is None:
            return {}
        return {"assigned": self.assigned, "centres": self.centres}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Go on from a `state`."""
        self.assigned, self.centres = state["assigned"], state["centres"]


def sample_anchors(
    x: Tensor, n_anchors: int, generator: torch.Generator, iterations: int
) -> Tensor:
    """A cheap, fresh draw of anchors: random samples, then a few of Lloyd's iterations.

    The draw differs every time, which is its purpose: averaged over epochs, the anchor graph is an
    expectation over anchor sets instead of one set's accident (chapter 12). Above
    :data:`dmac.compute.threads.MANY` samples the iterations see a random part of them, 32 for each
    anchor. (n, d) -> (m, d), no gradient.
    """
    return improved_anchors(x, drawn_order(len(x), n_anchors, generator), n_anchors, iterations)


def drawn_order(
    n: int, n_anchors: int, generator: torch.Generator, among: Tensor | None = None
) -> Tensor:
    """Numbers of random samples for `improved_anchors`, no more than it takes: int64.

    ``among`` (n,) marks those that are drawn from; all by default.
    """
    order = torch.randperm(n, generator=generator)
    if among is not None:
        order = order[among.cpu()[order]]
    return order[: _SEED_SAMPLES * n_anchors].clone()


def improved_anchors(
    x: Tensor, order: Tensor, n_anchors: int, iterations: int, among: Tensor | None = None
) -> Tensor:
    """Lloyd's iterations of `sample_anchors` from the first of a `drawn_order`: (m, d)."""
    x = x.detach()
    anchors = x[order[:n_anchors]]
    if iterations and many(len(x)) and len(order) == _SEED_SAMPLES * n_anchors:
        x = x[order.sort().values]
    elif among is not None:
        x = x[among]
    mean = x.mean(0)
    moved = x - mean if iterations else x[:0]
    return lloyd(moved, anchors - mean, iterations, 0.0)[0] + mean


def representative_centers(centers: Array, labels: Array) -> Integers:
    """For every centre (c, d) the one, of those that coincide with it, that most labels name."""
    d2 = ((centers[:, None] - centers[None]) ** 2).sum(2)
    same = d2 <= 1e-24 * (centers**2).sum(1).max()  # twelve digits
    sizes = np.bincount(labels, minlength=len(centers))
    return (same * (1 + sizes)).argmax(1)


def _start(x: Tensor, m: int, generator: torch.Generator, threshold: float | Tensor) -> Tensor:
    """Where Lloyd's iterations on all samples begin."""
    enough = _SEED_SAMPLES * m
    if len(x) <= enough:
        return _seed_anchors(x, m, generator)
    x = x[torch.randint(len(x), (enough,), generator=generator)]
    return lloyd(x, _seed_anchors(x, m, generator), _PASSES, threshold)[0]


def _seed_anchors(x: Tensor, m: int, generator: torch.Generator) -> Tensor:
    """Greedy k-means++: m rows of x, each the best of 2 + log m draws by squared distance."""
    n, trials = len(x), 2 + int(math.log(m))
    draws = torch.rand(m, trials, generator=generator, dtype=torch.float64).to(x)
    norms = x.square().sum(1)
    chosen = (draws[:1, 0] * n).long().clamp_max(n - 1)
    indices = [chosen]
    closest = (norms + norms[chosen] - 2 * x @ x[chosen[0]]).clamp_min(0)
    for j in range(1, m):
        cumulative = closest.cumsum(0)
        candidates = torch.searchsorted(cumulative, draws[j] * cumulative[-1]).clamp_max(n - 1)
        d2 = torch.addmm(norms, x[candidates], x.T, alpha=-2) + norms[candidates, None]
        potentials = torch.minimum(closest, d2.clamp_min_(0))
        best = potentials.sum(1).argmin()
        closest = potentials[best]
        indices.append(candidates[best, None])
    return x[torch.cat(indices)]
