r"""The average of many anchor graphs, kept as a sparse factor: :math:`G = B B^T`.

One anchor set is an accident; the average over sets, and over kinds of features, keeps the edges
that most of them support. Sets are drawn in blocks: views side by side and each view alone, at two
levels of features. The average is never formed: B has k entries a row and set, and a product with G
is one with :math:`B^T` and one with B. Chapter 12 of the book derives it.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse
import torch
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from dmac.anchor_graph import AnchorGraph, check_neighbors, closed_form_graph
from dmac.completion import with_values
from dmac.compute.factors import Products, side_by_side_factors
from dmac.compute.kmeans import drawn_order, improved_anchors
from dmac.compute.threads import blas_alone, side_by_side
from dmac.scaling import assign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from torch import Tensor

    from dmac._types import Array, Flags, Matrix
    from dmac.recipes import SpectralRecipe

    #: The anchors and the graph of a set.
    DrawnSet: TypeAlias = tuple[Tensor, AnchorGraph]

# Up to so many samples the eigenvectors come from LAPACK and a dense G of at most 32 MB; with few
# of them to find, Lanczos is faster from 800 samples on.
_DENSE = 2000
# Rows that are more alike than this are not drawn apart further: rounding is among what they have.
_SPREAD = 1e-3
#: Eigenvalues below this count as 0: their eigenvectors cannot be carried to new samples.
SMALLEST = 1e-8


@dataclass(frozen=True)
class Block:
    """Features in which anchor sets are drawn.

    Attributes
    ----------
    name : str
        The level, and the view's number from 0 where it is one view's: "plain", "whitened 2".
    parts : tuple of torch.Tensor of shape (n, r_a)
        Features, of all views or of one, and a ballot's.
    scales : tuple of float
        By whose roots the parts are divided, where there are several.
    weight : float
        Of its graph in the average, not normalised.
    joint : bool
        Whether all views are in it.
    widths : tuple of int
        Columns of each of its views. Further columns are a ballot's.
    """

    name: str
    parts: tuple[torch.Tensor, ...]
    scales: tuple[float, ...]
    weight: float
    joint: bool
    widths: tuple[int, ...]

    @property
    def x(self) -> torch.Tensor:
        """The features side by side, (n, r); put there whenever asked for."""
        if len(self.parts) == 1:
            return self.parts[0]
        scaled = [part / math.sqrt(scale) for part, scale in zip(self.parts, self.scales)]
        return torch.cat(scaled, 1)

    def beside(self, rows: Tensor) -> Block:
        """The block with the rows of a ballot (n, q) beside it."""
        return dataclasses.replace(self, parts=(*self.parts, rows), scales=(*self.scales, 1.0))


def level_names(recipe: SpectralRecipe) -> tuple[str, ...]:
    """The levels of a recipe, in the order of their columns."""
    return ("whitened", "plain") if recipe.levels == "both" else (recipe.levels,)


def blocks_of(
    views: Sequence[Tensor],
    widths: Sequence[Sequence[int]],
    spreads: Sequence[float],
    recipe: SpectralRecipe,
    weights: Sequence[float] | Array | None = None,
) -> list[Block]:
    r"""The blocks of v prepared views, with the weights of their graphs.

    Views side by side are divided by :math:`\sqrt v`, so that a squared distance is the mean of the
    views'. At the whitened level the graph of all views weighs 1 and that of each view 1/v. At the
    plain level, with ``level_weight="spread"``, these are multiplied by the spread
    :math:`s_a = 1 - \|\bar x_a\|^2` of the view's unit rows, their mean for all views: where all
    rows are nearly parallel, plain distances say little. Two rows are :math:`2 s_a` apart in the
    mean of their squared distances; with ``plain_scale="spread"`` plain rows side by side are
    divided by :math:`\sqrt{s_a}` too, or the view of the largest spread would decide alone.

    With weights :math:`V_a` of the views, 1/v becomes :math:`V_a / \sum_b V_b` in all of this:
    the mean of the distances, the mean of the spreads, and the weight of a view's own graph.

    Parameters
    ----------
    views : list of v tensors of shape (n, sum of the view's widths)
        As :class:`dmac.data.levels.LevelPipeline` gives them.
    widths : list of v tuples of int
        Columns of each level.
    spreads : list of v floats
    recipe : dmac.recipes.SpectralRecipe
    weights : list of v floats, optional
        Above 0; equal by default.

    Returns
    -------
    list of Block
    """
    v = len(views)
    weights = [1.0] * v if weights is None else list(weights)
    whole = sum(weights)
    by_view = [x.split(list(w), 1) for x, w in zip(views, widths)]
    blocks = []
    for level, name in enumerate(level_names(recipe)):
        parts = [levels[level] for levels in by_view]
        weighs = name == "plain" and recipe.level_weight == "spread"
        shares = list(spreads) if weighs else [1.0] * v
        if recipe.blocks in ("joint", "both") or v == 1:
            scales = [whole / weight for weight in weights]
            if name == "plain" and recipe.plain_scale == "spread" and v > 1:
                scales = [x * max(s, _SPREAD) for x, s in zip(scales, spreads)]
            of_views = tuple(part.shape[1] for part in parts)
            share = sum(w * s for w, s in zip(weights, shares)) / whole
            blocks.append(Block(name, tuple(parts), tuple(scales), share, True, of_views))
        if recipe.blocks in ("views", "both") and v > 1:
            blocks += [
                Block(f"{name} {a}", (x,), (1.0,), weight * share / whole, False, (x.shape[1],))
                for a, (x, weight, share) in enumerate(zip(parts, weights, shares))
            ]
    return blocks


def own_blocks(blocks: Iterable[Block], views: Flags) -> list[Block]:
    """The blocks of single views, of those that a mask (v,) picks."""
    return [block for block in blocks if not block.joint and views[int(block.name.split()[1])]]


@dataclass(frozen=True)
class AnchorSets:
    """The anchor sets of one block.

    Attributes
    ----------
    u : torch.Tensor of shape (T, m, r)
        Anchors of every set.
    scale : torch.Tensor of shape (T, m)
        One over the root of each anchor's degree among the fitted samples, 0 without samples.
    widths : tuple of int
        Columns of the views of the block, by which a sample that lacks one is compared in the
        others; see `draw_sets`.
    """

    u: torch.Tensor
    scale: torch.Tensor
    widths: tuple[int, ...] = ()


def draw_sets(
    x: Tensor,
    n_sets: int,
    n_anchors: int,
    iterations: int,
    n_neighbors: int,
    generator: torch.Generator,
    widths: tuple[int, ...] = (),
) -> tuple[AnchorSets, Matrix]:
    r"""Draw anchor sets of one block, and the rows of its factor.

    The graph of the block is :math:`\frac1T \sum_t S_t D_t^{-1} S_t^T`, with :math:`S_t` by
    :eq:`eq:anchor-graph` and :math:`D_t = \mathrm{diag}(S_t^T 1)`; so its factor is
    :math:`[S_1 D_1^{-1/2}, \dots, S_T D_T^{-1/2}] / \sqrt T`.

    A row of zeros in a view says nothing. So anchors come from the samples that have all views of
    the block; the other samples are compared with them in the views that they have, and the row of
    one without any is 0 in the factor. That needs 2 (k + 1) samples that have all views; with
    fewer, zeros count as values.

    Parameters
    ----------
    x : torch.Tensor of shape (n, r)
    n_sets : int
        T.
    n_anchors : int
        m; at most half of the samples that have all views.
    iterations : int
        Of Lloyd's, from random samples.
    n_neighbors : int
        k.
    generator : torch.Generator
        On the CPU.
    widths : tuple of int
        Columns of each view of the block; further columns are a ballot's. Empty where zeros are
        values.

    Returns
    -------
    AnchorSets
    scipy.sparse.csr_matrix of shape (n, T m)
        The factor, float64.
    """
    draws, compared, widths = set_draws(
        x, n_sets, n_anchors, iterations, n_neighbors, generator, widths
    )
    drawn = [_drawn(x, draw, n_neighbors, compared) for draw in draws]
    return joined_sets(drawn, widths)


def set_draws(
    x: Tensor,
    n_sets: int,
    n_anchors: int,
    iterations: int,
    n_neighbors: int,
    generator: torch.Generator,
    widths: tuple[int, ...] = (),
) -> tuple[list[Callable[[], Tensor]], tuple[int, ...], tuple[int, ...]]:
    """A function for the anchors of each set that `draw_sets` draws, and the widths that count.

    All that is random is drawn here, so the functions may be called side by side. Where all samples
    have all views, the first widths, of the samples that are here, are empty; the second ones are
    those for new samples.
    """
    check_neighbors(n_neighbors, n_anchors)
    whole, widths = whole_samples(x, widths, n_neighbors)
    if whole is not None:
        n_anchors = min(n_anchors, int(whole.sum()) // 2)
    orders = [drawn_order(len(x), n_anchors, generator, whole) for _ in range(n_sets)]
    draws: list[Callable[[], Tensor]] = [
        functools.partial(improved_anchors, x, order, n_anchors, iterations, whole)
        for order in orders
    ]
    return draws, () if whole is None else widths, widths


def _drawn(
    x: Tensor, draw: Callable[[], Tensor], n_neighbors: int, compared: tuple[int, ...]
) -> DrawnSet:
    u = draw()
    return u, graph_on(x, u, n_neighbors, compared)


def whole_samples(
    x: Tensor, widths: tuple[int, ...], n_neighbors: int
) -> tuple[Tensor | None, tuple[int, ...]]:
    """The mask (n,) of the samples that have all views, None where all do; the widths that count.

    With fewer than 2 (k + 1) such samples none count.
    """
    if not widths:
        return None, widths
    whole = known(x, widths).all(1)
    n_whole = int(whole.sum())
    if n_whole < 2 * (n_neighbors + 1):
        widths = ()
    if not widths or n_whole == len(x):
        return None, widths
    return whole, widths


def joined_sets(
    drawn: Iterable[DrawnSet], widths: tuple[int, ...] = ()
) -> tuple[AnchorSets, Matrix]:
    """Anchors and graphs of several sets -> `AnchorSets` and their factor, as of `draw_sets`."""
    anchors, graphs = zip(*drawn)
    scales = [graph.inverse_degrees().sqrt() for graph in graphs]
    sets = AnchorSets(torch.stack(anchors), torch.stack(scales), widths)
    return sets, _factor(graphs, sets.scale)


def rows_on(sets: AnchorSets, x: Tensor, n_neighbors: int) -> Matrix:
    """The factor's rows of samples (n_new, r) on anchor sets that are there: (n_new, T m)."""
    widths = () if known(x, sets.widths).all() else sets.widths
    return _factor([graph_on(x, u, n_neighbors, widths) for u in sets.u], sets.scale)


def known(x: Tensor, widths: tuple[int, ...]) -> Tensor:
    """Which views a sample has: (n, r) -> (n, number of widths), bool; a row of zeros is none."""
    if not widths:
        return torch.ones(len(x), 1, dtype=torch.bool, device=x.device)
    parts = x[:, : sum(widths)].split(list(widths), 1)
    return torch.stack([with_values(part) for part in parts], 1)


def graph_on(x: Tensor, u: Tensor, n_neighbors: int, widths: tuple[int, ...]) -> AnchorGraph:
    """Nearest anchors by those views that a sample has, and no weight without any."""
    views = known(x, widths)
    if views.all():
        found = assign(x, u, n_neighbors + 1)
        return closed_form_graph(found.nearest, found.indices, len(u))
    indices = torch.zeros(len(x), n_neighbors, dtype=torch.long, device=x.device)
    weights = x.new_zeros(len(x), n_neighbors)
    for pattern in torch.unique(views, dim=0):
        if pattern.any():
            rows = (views == pattern).all(1)
            spread = torch.repeat_interleave(pattern, torch.tensor(widths, device=x.device))
            columns = torch.cat([spread, spread.new_ones(x.shape[1] - len(spread))])
            found = assign(x[rows][:, columns], u[:, columns].contiguous(), n_neighbors + 1)
            graph = closed_form_graph(found.nearest, found.indices, len(u))
            indices[rows], weights[rows] = graph.indices, graph.weights
    return AnchorGraph(indices, weights, len(u))


def _factor(graphs: Sequence[AnchorGraph], scales: Tensor) -> Matrix:
    t, m = scales.shape
    n, k = graphs[0].indices.shape
    kind = np.int32 if max(n * t * k, t * m) < 2**31 else np.int64
    data, indices = np.empty((n, t, k)), np.empty((n, t, k), kind)
    for i, (graph, scale) in enumerate(zip(graphs, scales)):
        columns, order = graph.indices.sort(1)
        weights = graph.weights.double().gather(1, order) * scale.double()[columns] / t**0.5
        data[:, i], indices[:, i] = weights.cpu().numpy(), (columns + m * i).cpu().numpy()
    start = np.arange(0, n * t * k + 1, t * k, dtype=indices.dtype)
    return scipy.sparse.csr_matrix((data.ravel(), indices.ravel(), start), (n, t * m))


def average(factors: Sequence[Matrix], weights: Sequence[float]) -> Matrix:
    """The factor of an average: factors side by side, times the roots of their shares.

    Weights that are all 0, as of plain levels in which all rows are the same, count as equal.
    """
    weights = np.asarray(weights, float) if np.any(weights) else np.ones(len(weights))
    roots = np.sqrt(weights / weights.sum())
    return side_by_side_factors(factors, roots)


def memberships(rows: Matrix, ends: Array) -> Array:
    r"""How sure a label is: the share of a sample's links that end in each cluster.

    A step of the walk on G that begins at sample i ends in cluster k with the probability

    .. math:: P_{ik} = \frac{(G H)_{ik}}{r_i} , \qquad G H = B (B^T H) ,

    so the rows sum to 1, and a sample whose links all stay in one cluster has a 1. It ranks
    samples; it is no probability of being right. Chapter 14 of the book measures it.

    Parameters
    ----------
    rows : scipy.sparse.csr_matrix of shape (n, M)
        Of the factor, of fitted or of new samples.
    ends : numpy.ndarray of shape (M, c)
        Of `AveragedGraph.ends`.

    Returns
    -------
    numpy.ndarray of shape (n, c)
        A sample without links belongs to all clusters alike.
    """
    links = rows @ ends
    whole = links.sum(1, keepdims=True)
    alike = np.full_like(links, 1 / links.shape[1])
    return np.divide(links, whole, out=alike, where=whole > 0)


def n_sets(block: Block, n_views: int, recipe: SpectralRecipe, voting: bool) -> int:
    """Anchor sets of a block: T for all views together, T / v for one; half of them in a vote."""
    t = max(1, recipe.anchor_sets // 2) if voting else recipe.anchor_sets
    return t if block.joint else max(1 if voting else min(2, t), t // n_views)


def draw_graphs(
    blocks: Iterable[Block],
    n_views: int,
    recipe: SpectralRecipe,
    n_anchors: int,
    generator: torch.Generator,
    *,
    voting: bool = False,
) -> tuple[list[AnchorSets], list[Matrix]]:
    """Anchor sets of several blocks, and the factors of their graphs.

    Parameters
    ----------
    blocks : iterable of Block
        May make each block when it is asked for.
    n_views : int
        v.
    recipe : dmac.recipes.SpectralRecipe
    n_anchors : int
    generator : torch.Generator
    voting : bool
        Whether a ballot joins the views: then half of the sets, and no step of Lloyd's.

    Returns
    -------
    list of AnchorSets
    list of scipy.sparse.csr_matrix
    """

    jobs: list[Callable[[], DrawnSet]] = []
    of_blocks: list[tuple[int, tuple[int, ...]]] = []
    k, iterations = recipe.n_neighbors, 0 if voting else recipe.anchor_iterations
    for block in blocks:
        t, x = n_sets(block, n_views, recipe, voting), block.x
        draws, compared, widths = set_draws(x, t, n_anchors, iterations, k, generator, block.widths)
        jobs += [functools.partial(_drawn, x, draw, k, compared) for draw in draws]
        of_blocks.append((t, widths))
    drawn = iter(side_by_side(jobs))
    pairs = [joined_sets(itertools.islice(drawn, t), widths) for t, widths in of_blocks]
    sets, factors = zip(*pairs)
    return list(sets), list(factors)


class AveragedGraph:
    r"""The weighted average of graphs of blocks, :eq:`eq:averaged-graph`.

    :math:`G = \sum_b p_b G_b / \sum_b p_b` is symmetric, doubly stochastic and positive
    semi-definite, since each :math:`S D^{-1} S^T` is :eq:`eq:sample-graph`: its eigenvalues lie
    in [0, 1], and the constant vector has the eigenvalue 1.

    Where a block does not know every sample, the sums of G's rows differ: each is the share
    :math:`r_i` of the weights of the blocks that know sample i. Then eigenvectors are those of
    :math:`R^{-1/2} G R^{-1/2}`, whose largest eigenvalue is 1 again, with the vector of the
    :math:`\sqrt{r_i}`; a walk on G takes its steps by :math:`R^{-1} G`.

    Parameters
    ----------
    factors : list of scipy.sparse.csr_matrix of shape (n, M_b)
        Of the blocks.
    weights : list of float
        :math:`p_b`.

    Attributes
    ----------
    rows : scipy.sparse.csr_matrix of shape (n, M)
        B.
    shares : numpy.ndarray of shape (n,)
        :math:`r_i`.
    """

    def __init__(self, factors: Sequence[Matrix], weights: Sequence[float]) -> None:
        self.rows = average(factors, weights)
        self._products = Products(self.rows)
        self.shares = (self @ np.ones((self.rows.shape[0], 1)))[:, 0]
        self.shares[abs(self.shares - 1) < 1e-6] = 1.0  # but for rounding

    def trace(self) -> float:
        """The sum of the eigenvalues of G."""
        return float((self.rows.data**2).sum())

    def to_anchors(self, x: Array) -> Array:
        """B^T x: (n, d) -> (M, d)."""
        return self._products.back(x)

    def to_samples(self, y: Array) -> Array:
        """B y: (M, d) -> (n, d)."""
        return self._products.forward(y)

    def __matmul__(self, x: Array) -> Array:
        """G x: (n, d) -> (n, d)."""
        return self._products.forward(self.to_anchors(x))

    def ends(self, labels: Array, n_clusters: int) -> Array:
        r"""From a sample's row of the factor to its memberships: :math:`B^T H`, (M, c).

        H has the indicators of the clusters. See `memberships`.
        """
        return self.to_anchors(np.eye(n_clusters)[labels])

    def parts(self, most: int) -> Array:
        """Indicators of the graph's connected parts, the largest first: (n, at most ``most``).

        A sample that no block knows is in none of them.

        Each, times the roots of the shares, is an eigenvector with the eigenvalue 1, and together
        they span all of these.
        """
        n, m = self.rows.shape
        lowest = np.arange(m)
        indices, used = self.rows.indices.reshape(n, -1), self.rows.data.reshape(n, -1) > 0
        while True:  # the smallest number of an anchor that can be reached
            before = lowest.copy()
            samples = np.where(used, lowest[indices], m).min(1)
            if samples.any():
                of_entries = np.broadcast_to(samples[:, None], used.shape)
                np.minimum.at(lowest, indices[used], of_entries[used])
            else:  # all of them reach the first anchor, as in most graphs
                lowest[indices[used]] = 0
            if (lowest == before).all():
                break
        names, sizes = np.unique(samples[samples < m], return_counts=True)
        names = names[np.argsort(-sizes, kind="stable")][:most]
        return (samples[:, None] == names).astype(float)

    def eigenpairs(self, count: int) -> tuple[Array, Array]:
        """The largest eigenvalues of G and their eigenvectors, the constant one first.

        Parameters
        ----------
        count : int
            At most the number of samples less 2.

        Returns
        -------
        values : numpy.ndarray of shape (count,)
            Largest first, cut to [0, 1].
        lift : numpy.ndarray of shape (M, count)
            ``B^T R^(-1/2) U / lambda``, by which any sample's row of B gives its row of the
            eigenvectors U, times the root of its share; 0 where an eigenvalue is below `SMALLEST`.
        """
        n = self.rows.shape[0]
        root = np.sqrt(self.shares)[:, None]
        inverse = np.divide(1, root, out=np.zeros_like(root), where=root > 0)
        # Eigenvectors of eigenvalue 1 are known; Lanczos would miss some where there are several.
        known = root * np.column_stack([np.ones(n), self.parts(count)[:, : count - 1]])
        known = np.linalg.qr(known)[0][:, : np.linalg.matrix_rank(known)]
        more, values = count - known.shape[1], np.ones(known.shape[1])
        small = n <= _DENSE and n <= max(800, 25 * count)
        if more and small:
            dense = (self.rows @ self.rows.T.tocsr()).toarray()
            dense *= inverse
            dense *= inverse.T
            dense -= known @ known.T
            found, u = eigh(dense, subset_by_index=[n - more, n - 1], overwrite_a=True)
        elif more:

            def product(x: Array) -> Array:
                x = x.reshape(n, -1)
                return inverse * (self @ (inverse * x)) - known @ (known.T @ x)

            operator = LinearOperator((n, n), product, matmat=product, dtype=float)
            start = np.random.default_rng(0).standard_normal(n)
            with blas_alone():
                found, u = eigsh(operator, more, v0=start, tol=1e-7, rng=0)
        if more:
            order = np.argsort(found)[::-1]
            values = np.concatenate([values, found[order]])
            known = np.column_stack([known, u[:, order]])
        u = known * np.sign(np.take_along_axis(known, np.abs(known).argmax(0)[None], 0))
        keep = values > SMALLEST
        lift = np.zeros((self.rows.shape[1], count))
        lift[:, keep] = self.to_anchors((inverse * u)[:, keep]) / values[keep]
        return values.clip(0, 1), lift
