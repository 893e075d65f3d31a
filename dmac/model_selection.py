"""Choosing without labels: the graph of some views, on which labels can be judged.

Chapter 11 of the book derives the graph and the Markov stability.
"""

import numpy as np
import torch

from dmac.averaged_graph import AveragedGraph, draw_sets
from dmac.blocks import blocks_of
from dmac.fitting import prepare_views
from dmac.recipes import CLOSED_FORM
from dmac.spectral import n_sets


def averaged_graph(views, n_clusters, *, n_anchors, seed):
    """The averaged graph of some views, :eq:`eq:averaged-graph`, with CLOSED_FORM's constants.

    Parameters
    ----------
    views : list of v checked views
    n_clusters : int
        c, of which the widths of the whitened views depend.
    n_anchors : int
        m.
    seed : int
        Draws the anchor sets.

    Returns
    -------
    dmac.averaged_graph.AveragedGraph
        Its rows in the order of the samples.
    """
    recipe = CLOSED_FORM
    generator = torch.Generator().manual_seed(seed)
    order = np.arange(views[0].shape[0])
    pipelines, tensors = prepare_views(
        views, n_clusters, recipe, order, torch.float32, torch.device("cpu")
    )
    widths = [pipeline.widths_ for pipeline in pipelines]
    spreads = [pipeline.spread_ for pipeline in pipelines]
    blocks = blocks_of(tensors, widths, spreads, recipe)
    factors = []
    for block in blocks:
        sets = n_sets(block, len(views), recipe, False)
        factors.append(
            draw_sets(
                block.x, sets, n_anchors, recipe.anchor_iterations, recipe.n_neighbors, generator
            )[1]
        )
    return AveragedGraph(factors, [block.weight for block in blocks])
