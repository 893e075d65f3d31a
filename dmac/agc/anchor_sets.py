"""Anchor sets drawn in blocks, and the rows of samples on them: fitted samples and new ones.

Chapter 12 of the book says what an average over anchor sets keeps.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from dmac._types import Flags, Matrix
from dmac.agc.blocks import Block, patterns
from dmac.anchor_graph import AnchorGraph
from dmac.compute.kmeans import drawn_order, improved_anchors
from dmac.compute.threads import run_in_threads
from dmac.recipes import SpectralRecipe
from dmac.scaling import assigned_graph


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
        others; empty where the rows of zeros of such samples are values. See `draw_sets`.
    """

    u: torch.Tensor
    scale: torch.Tensor
    widths: tuple[int, ...] = ()


@dataclass(frozen=True)
class Drawn:
    """A block of samples, fitted or new ones, with anchor sets and the graph on them.

    Attributes
    ----------
    block : dmac.agc.blocks.Block
    sets : AnchorSets
    factor : scipy.sparse.csr_matrix of shape (n, T m)
        Of the graph; see `draw_sets`.
    """

    block: Block
    sets: AnchorSets
    factor: Matrix


def draw_sets(
    x: Tensor,
    n_sets: int,
    n_anchors: int,
    iterations: int,
    n_neighbors: int,
    generator: torch.Generator,
    widths: tuple[int, ...] = (),
    present: Flags | None = None,
) -> tuple[AnchorSets, Matrix]:
    r"""Draw anchor sets of one block, and the rows of its factor.

    The graph of the block is :math:`\frac1T \sum_t S_t D_t^{-1} S_t^T`, with :math:`S_t` by
    :eq:`eq:anchor-graph` and :math:`D_t = \mathrm{diag}(S_t^T 1)`; so its factor is
    :math:`[S_1 D_1^{-1/2}, \dots, S_T D_T^{-1/2}] / \sqrt T`.

    Anchors come from the samples that have all views of the block; the other samples are compared
    with them in the views that they have, and the row of one without any is 0 in the factor. That
    needs 2 (k + 1) samples that have all views; with fewer, the zeros of the others are values.

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
        Columns of each view of the block; further columns are a ballot's.
    present : numpy.ndarray of shape (n, number of widths), bool, optional
        Which views each sample has; by default all.

    Returns
    -------
    AnchorSets
    scipy.sparse.csr_matrix of shape (n, T m)
        The factor, float64.
    """
    draws, widths = deferred_sets(
        x, n_sets, n_anchors, iterations, n_neighbors, generator, widths, present
    )
    return joined_sets([draw() for draw in draws], widths)


def deferred_sets(
    x: Tensor,
    n_sets: int,
    n_anchors: int,
    iterations: int,
    n_neighbors: int,
    generator: torch.Generator,
    widths: tuple[int, ...] = (),
    present: Flags | None = None,
) -> tuple[list[Callable[[], tuple[Tensor, AnchorGraph]]], tuple[int, ...]]:
    """As `draw_sets`, but for each set a function that finds it, and the widths that count.

    Everything random is drawn here, so the functions may be called side by side. `joined_sets`
    puts together what they return.
    """
    whole, widths = whole_samples(x, widths, present, n_neighbors)
    if whole is not None:
        n_anchors = min(n_anchors, int(whole.sum()) // 2)

    def draw(order: Tensor) -> tuple[Tensor, AnchorGraph]:
        u = improved_anchors(x, order, n_anchors, iterations, whole)
        return u, graph_on(x, u, n_neighbors, widths, present)

    orders = [drawn_order(len(x), n_anchors, generator, whole) for _ in range(n_sets)]
    return [functools.partial(draw, order) for order in orders], widths


def whole_samples(
    x: Tensor, widths: tuple[int, ...], present: Flags | None, n_neighbors: int
) -> tuple[Tensor | None, tuple[int, ...]]:
    """The mask (n,) of the samples that have all views, None where all do; the widths that count.

    With fewer than 2 (k + 1) such samples none count.
    """
    whole = np.ones(len(x), bool) if present is None else present.all(1)
    if whole.sum() < 2 * (n_neighbors + 1):
        return None, ()
    return None if whole.all() else torch.as_tensor(whole, device=x.device), widths


def joined_sets(
    drawn: Iterable[tuple[Tensor, AnchorGraph]], widths: tuple[int, ...] = ()
) -> tuple[AnchorSets, Matrix]:
    """Anchors and graphs of several sets -> `AnchorSets` and their factor, as of `draw_sets`."""
    anchors, graphs = zip(*drawn)
    scales = [graph.inverse_degrees().sqrt() for graph in graphs]
    sets = AnchorSets(torch.stack(anchors), torch.stack(scales), widths)
    return sets, _factor(graphs, sets.scale)


def rows_on(sets: AnchorSets, x: Tensor, n_neighbors: int, present: Flags | None = None) -> Matrix:
    """The factor's rows of samples (n_new, r) on anchor sets that are there: (n_new, T m)."""
    graphs = [graph_on(x, u, n_neighbors, sets.widths, present) for u in sets.u]
    return _factor(graphs, sets.scale)


def graph_on(
    x: Tensor, u: Tensor, n_neighbors: int, widths: tuple[int, ...], present: Flags | None
) -> AnchorGraph:
    """Nearest anchors by those views that a sample has, and no weight without any.

    Without ``widths`` it has all.
    """
    if not widths or present is None or present.all():
        return assigned_graph(x, u, n_neighbors)[0]
    indices = torch.zeros(len(x), n_neighbors, dtype=torch.long, device=x.device)
    weights = x.new_zeros(len(x), n_neighbors)
    for pattern, samples in patterns(present):
        if pattern.any():
            columns = np.repeat([*pattern, True], [*widths, x.shape[1] - sum(widths)])
            rows, columns = (torch.as_tensor(one, device=x.device) for one in (samples, columns))
            graph = assigned_graph(x[rows][:, columns], u[:, columns].contiguous(), n_neighbors)[0]
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


def n_sets(block: Block, n_views: int, recipe: SpectralRecipe, voting: bool) -> int:
    """Anchor sets of a block: T for all views together, T / v for one; half of them in a vote."""
    t = max(1, recipe.anchor_sets // 2) if voting else recipe.anchor_sets
    return t if block.view is None else max(1 if voting else min(2, t), t // n_views)


def draw_graphs(
    blocks: Sequence[Block],
    n_views: int,
    recipe: SpectralRecipe,
    n_anchors: int,
    generator: torch.Generator,
    voting: bool = False,
) -> list[Drawn]:
    """Draw anchor sets in every block, the sets of all blocks side by side.

    Parameters
    ----------
    blocks : list of dmac.agc.blocks.Block
    n_views : int
        v.
    recipe : dmac.recipes.SpectralRecipe
    n_anchors : int
    generator : torch.Generator
    voting : bool
        Whether a ballot joins the views: then half of the sets, and no step of Lloyd's.

    Returns
    -------
    list of Drawn
    """
    k, iterations = recipe.n_neighbors, 0 if voting else recipe.anchor_iterations
    of_blocks = [
        deferred_sets(
            block.x,
            n_sets(block, n_views, recipe, voting),
            n_anchors,
            iterations,
            k,
            generator,
            block.widths,
            block.present,
        )
        for block in blocks
    ]
    drawn = iter(run_in_threads([draw for draws, _ in of_blocks for draw in draws]))
    return [
        Drawn(block, *joined_sets(itertools.islice(drawn, len(draws)), widths))
        for block, (draws, widths) in zip(blocks, of_blocks)
    ]


def placed(blocks: Iterable[Block], sets: Iterable[AnchorSets], n_neighbors: int) -> list[Drawn]:
    """Assign samples to the anchor sets of a fit, block by block, as far as there are both."""
    return [Drawn(b, s, rows_on(s, b.x, n_neighbors, b.present)) for b, s in zip(blocks, sets)]
