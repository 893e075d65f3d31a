"""The trainable parts of DMAC put together, for any recipe.

Chapter 8 of the book walks through the algorithm that trains them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dmac.anchors import PerturbationGenerator
from dmac.compute.layers import SparseView, store_by_columns
from dmac.compute.streaming import PreparedView, encode
from dmac.convolution import AnchorGraphConvolution
from dmac.embedding import (
    ResidualEncoder,
    ViewDecoder,
    ViewEncoder,
    fuse,
    fusion_factor,
    orthonormalize,
)
from dmac.recipes import NetworkRecipe


class Network(nn.Module):
    """All trainable parts of DMAC for v views.

    Encoders :eq:`eq:encoder`, decoders, the generator of the perturbation
    :eq:`eq:reparameterisation` and the anchor graph convolutions :eq:`eq:agcn`; which of them a
    loss reaches is measured in chapter 8.

    Parameters
    ----------
    dims : sequence of int
        Widths of the views as the encoders see them.
    n_clusters : int
    recipe : dmac.recipes.NetworkRecipe
    generator : torch.Generator
        On the CPU; draws every initial weight.
    """

    encoders: Any  # a ModuleList, as are the decoders
    decoders: Any
    factor: Tensor

    def __init__(
        self,
        dims: Sequence[int],
        n_clusters: int,
        recipe: NetworkRecipe,
        *,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        d = n_clusters if recipe.embedding_dim is None else recipe.embedding_dim
        hidden = recipe.hidden_dim
        shared: dict[str, Any] = dict(negative_slope=recipe.negative_slope, generator=generator)
        self.normalize = recipe.normalize_embedding
        self.orthonormal = recipe.orthonormal
        encoder = ViewEncoder if recipe.encoder == "mlp" else ResidualEncoder
        more: dict[str, Any] = {"correction": False} if recipe.encoder == "linear" else {}
        self.encoders = nn.ModuleList(
            encoder(dim, hidden, d, normalize=self.normalize, **more, **shared) for dim in dims
        )
        self.decoders = nn.ModuleList(ViewDecoder(dim, hidden, d, **shared) for dim in dims)
        self.perturbation: nn.Module | None = None
        if recipe.perturbation:
            width = d if recipe.anchor_space == "embedding" else sum(dims)
            self.perturbation = PerturbationGenerator(width, recipe.sigma, generator=generator)
        self.convolutions = nn.ModuleList(
            AnchorGraphConvolution((d, recipe.agcn_dim, n_clusters), **shared) for _ in dims
        )
        if self.orthonormal:
            self.register_buffer("factor", torch.eye(d, dtype=torch.float64))

    @property
    def device(self) -> torch.device:
        """Of the weights."""
        return next(self.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        """Of the weights."""
        return next(self.parameters()).dtype

    def to_device(self, device: torch.device, dtype: torch.dtype) -> Self:
        """Move to a device and a type; the factor of the fusion stays in float64. Returns self."""
        self.to(device, dtype)
        if self.orthonormal:
            self.factor = self.factor.double()
        return self

    def store_for(self, views: Sequence[PreparedView]) -> Self:
        """Lay out the weights that meet sparse views as their products need them. Returns self."""
        for encoder, x in zip(self.encoders, views):
            if isinstance(x, SparseView):
                for layer in (encoder.first, getattr(encoder, "linear", None)):
                    if layer is not None:
                        store_by_columns(layer)
        return self

    def embed_views(self, views: Sequence[PreparedView]) -> list[Tensor]:
        """v views -> the list of v view embeddings (n, d)."""
        return [encode(encoder, x) for encoder, x in zip(self.encoders, views)]

    def embed(self, views: Sequence[PreparedView]) -> tuple[list[Tensor], Tensor]:
        """v views -> the list of v view embeddings (n, d), and their fusion (n, d).

        For all training samples at once: under the orthonormality constraint it is their own
        second moment that becomes the identity. The view embeddings get the same factor, so that Z
        stays their mean.
        """
        zs = self.embed_views(views)
        if self.orthonormal:
            factor = fusion_factor(fuse(zs))
            zs = [orthonormalize(z, factor) for z in zs]
        return zs, fuse(zs, normalize=self.normalize and not self.orthonormal)

    def store_factor(self, views: Sequence[PreparedView]) -> None:
        """Keep the fusion's factor of the training samples, for `embed_new`."""
        if self.orthonormal:
            with torch.no_grad():
                self.factor = fusion_factor(fuse(self.embed_views(views)))

    def embed_new(
        self, views: Sequence[PreparedView], present: object = None
    ) -> tuple[Tensor, None]:
        """v views of any number of samples -> their fusion (n, d), each sample by itself.

        And None, since a network has no memberships. It takes samples to have all views.
        """
        z = fuse(self.embed_views(views), normalize=self.normalize and not self.orthonormal)
        return (orthonormalize(z, self.factor) if self.orthonormal else z), None

    def perturb(self, u_hat: Tensor, noise: Tensor) -> Tensor:
        """(m, d) initial anchors, (m, d) noise -> (m, d) anchors."""
        return u_hat if self.perturbation is None else self.perturbation(u_hat, noise)

    def anchors(self, u_hat: Tensor, noise: Tensor, *, normalize: bool) -> Tensor:
        """`perturb`, and rows of unit length if asked for."""
        u = self.perturb(u_hat, noise)
        return F.normalize(u, dim=1) if normalize else u
