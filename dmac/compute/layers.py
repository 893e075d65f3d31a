"""Linear layers on dense and sparse views, with weights drawn from a generator of our own.

Chapter 2 of the book builds its encoders of them.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import scipy.sparse
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dmac._types import Matrix


def dense_layer(
    n_in: int, n_out: int, generator: torch.Generator, *, bias: bool = True
) -> nn.Linear:
    r"""A linear layer with uniform start on :math:`\pm 1/\sqrt{n_{in}}`, drawn from ``generator``.

    The distribution is PyTorch's default; the draw does not touch the global random state.
    """
    layer = nn.utils.skip_init(nn.Linear, n_in, n_out, bias=bias)
    bound = 1 / math.sqrt(n_in)
    for parameter in layer.parameters():
        nn.init.uniform_(parameter, -bound, bound, generator=generator)
    return layer


def csr_tensor(matrix: Matrix, **kind: Any) -> Tensor:
    """A CSR matrix as a tensor, which shares its memory unless ``kind`` asks for another kind.

    PyTorch takes all threads for a product with it, SciPy one.
    """
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # sparse tensors are young
        return torch.sparse_csr_tensor(
            torch.as_tensor(matrix.indptr),
            torch.as_tensor(matrix.indices),
            torch.as_tensor(matrix.data),
            matrix.shape,
            **kind,
        )


class SparseView:
    """A view kept as compressed sparse rows on the device, with its transpose for the gradient."""

    def __init__(self, matrix: Matrix, dtype: torch.dtype, device: torch.device | str) -> None:
        self.shape = matrix.shape
        self.x = self._tensor(matrix.tocsr(), dtype, device)
        self.x_transposed = self._tensor(matrix.T.tocsr(), dtype, device)
        entries = matrix.tocoo()
        self.rows = torch.as_tensor(entries.row.astype(np.int64), device=device)
        self.columns = torch.as_tensor(entries.col.astype(np.int64), device=device)
        self.values = torch.as_tensor(entries.data, dtype=dtype, device=device)

    @staticmethod
    def _tensor(csr: Matrix, dtype: torch.dtype, device: torch.device | str) -> Tensor:
        csr = csr if csr.has_sorted_indices else csr.sorted_indices()  # as PyTorch wants it
        return csr_tensor(csr, dtype=dtype, device=device, check_invariants=True)


def view_tensor(
    view: Matrix, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"
) -> Tensor | SparseView:
    """Move a view to the device: an array becomes a tensor, a sparse matrix a `SparseView`."""
    if scipy.sparse.issparse(view):
        return SparseView(view, dtype, device)
    return torch.as_tensor(view, dtype=dtype, device=device)


class _SparseProduct(torch.autograd.Function):
    """x w for a constant sparse x; the gradient takes the transpose."""

    @staticmethod
    def forward(ctx: Any, view: SparseView, w: Tensor) -> Tensor:
        ctx.view = view
        # Many times slower on a transposed matrix; see `store_by_columns`.
        return view.x @ w.contiguous()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor]:
        return None, ctx.view.x_transposed @ grad.contiguous()


def store_by_columns(layer: nn.Linear) -> None:
    """Lay a layer's weight out so that its transpose is contiguous, as sparse products need it.

    Shape and values stay the same, and so do those of a saved model.
    """
    layer.weight.data = layer.weight.data.T.contiguous().T


def product(x: Tensor | SparseView, w: Tensor) -> Tensor:
    """A dense tensor or a `SparseView` times a matrix, differentiable in the matrix."""
    return _SparseProduct.apply(x, w) if isinstance(x, SparseView) else x @ w


def linear(layer: nn.Linear, x: Tensor | SparseView) -> Tensor:
    """A linear layer on a dense tensor or a `SparseView`."""
    if isinstance(x, SparseView):
        return product(x, layer.weight.T) + layer.bias
    return layer(x)


def sparse_reconstruction(t: Tensor, view: SparseView, slope: float) -> Tensor:
    """Mean squared error between a sparse view and its reconstruction, :eq:`eq:reconstruction`.

    :func:`dmac.embedding.reconstruction_loss` of the decoder's output, in fewer passes over n x d_a
    numbers: ``t`` (n, d_a) is what the decoder's last linear layer gives, before its leaky ReLU of
    this slope and unit rows.
    """
    return _SparseReconstruction.apply(t, view, slope)


class _SparseReconstruction(torch.autograd.Function):
    r"""The loss, and its gradient with respect to t.

    With :math:`y = \mathrm{leaky\,ReLU}(t)` and rows :math:`\hat x_i = y_i / \|y_i\|` only
    :math:`\|y_i\|` and :math:`\langle y_i, x_i \rangle` are needed, and

    .. math:: \partial \|\hat x_i - x_i\|^2 / \partial y_i
        = \frac{2}{\|y_i\|} \Big(\frac{\langle y_i, x_i \rangle}{\|y_i\|^2} y_i - x_i\Big) .
    """

    @staticmethod
    def forward(ctx: Any, t: Tensor, view: SparseView, slope: float) -> Tensor:
        y = F.leaky_relu(t, slope)
        norms = torch.linalg.vector_norm(y, dim=1)
        inverse = 1 / norms.clamp_min(1e-12)  # as F.normalize has it
        products = torch.zeros_like(norms)
        products.index_add_(0, view.rows, y[view.rows, view.columns] * view.values)
        squares = (norms * inverse).square().sum()
        error = squares - 2 * products @ inverse + view.values.square().sum()
        ctx.save_for_backward(y, inverse, products)
        ctx.view, ctx.slope = view, slope
        return error / y.numel()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        y, inverse, products = ctx.saved_tensors
        view = ctx.view
        scale = 2 * grad / y.numel() * inverse
        dt = (scale * products * inverse.square())[:, None] * y
        places = view.rows * y.shape[1] + view.columns
        dt.view(-1).index_add_(0, places, -scale[view.rows] * view.values)
        # The leaky ReLU keeps signs, so its slope can be read off its output.
        dt = torch.ops.aten.leaky_relu_backward(dt, y, ctx.slope, True)
        return dt, None, None
