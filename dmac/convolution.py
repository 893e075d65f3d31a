"""Anchor graph convolution (AGCN): which cluster every anchor belongs to, view by view.

Chapter 5 of the book shows what the m x m operator behind it is, and is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dmac.compute.layers import dense_layer

if TYPE_CHECKING:
    from dmac.anchor_graph import AnchorGraph


class AnchorGraphConvolution(nn.Module):
    r"""Anchor clustering distribution :math:`F^{(a)}` of one view, by :eq:`eq:agcn`.

    Each layer is :math:`F \leftarrow \varphi(D_S^{-1} S^T S F W)` from :math:`F = U`, without
    bias; leaky ReLU between the layers, softmax after the last. The product is taken in the order
    of :eq:`eq:association`, :math:`D_S^{-1} S^T (S\,\cdot)`, on whichever of F and F W is narrower,
    so its cost is O(n k min(width)) and no m x m or n x n matrix is formed. Source: Eq. 11 of
    the paper, after Kipf and Welling (2017).

    Parameters
    ----------
    widths : sequence of int
        Widths from the embedding to the clusters, as ``(d, 16, c)``.
    negative_slope : float
        Slope of the leaky ReLU below 0.
    generator : torch.Generator
        Draws the initial weights.
    """

    layers: Any  # a ModuleList, of nn.Linear

    def __init__(
        self, widths: Sequence[int], *, negative_slope: float, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            dense_layer(n_in, n_out, generator, bias=False)
            for n_in, n_out in zip(widths, widths[1:])
        )
        self.negative_slope = negative_slope

    def forward(self, graph: AnchorGraph, u: Tensor) -> Tensor:
        """The anchors' distributions over the clusters.

        Parameters
        ----------
        graph : dmac.anchor_graph.AnchorGraph
            n samples, m anchors.
        u : torch.Tensor of shape (m, d)
            The anchors.

        Returns
        -------
        torch.Tensor of shape (m, c)
            Rows on the simplex. An anchor without samples has a zero row in the operator and so a
            uniform distribution.
        """
        f = u
        for depth, layer in enumerate(self.layers):
            if depth:
                f = F.leaky_relu(f, self.negative_slope)
            narrowing = layer.out_features <= layer.in_features
            f = graph.smooth(layer(f)) if narrowing else layer(graph.smooth(f))
        return F.softmax(f, dim=1)
