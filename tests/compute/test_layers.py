"""Linear layers and sparse views: where the weights come from, and sparse is what dense is."""

import math

import numpy as np
import pytest
import scipy.sparse
import torch

from dmac.compute.layers import SparseView, dense_layer, linear, product, view_tensor


def test_initial_weights_come_from_the_generator_alone():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    layers = [dense_layer(40, 30, torch.Generator().manual_seed(1)) for _ in range(2)]
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(layers[0].weight, layers[1].weight)
    bound = 1 / math.sqrt(40)
    assert 0.95 * bound < layers[0].weight.abs().max() <= bound
    assert dense_layer(4, 3, torch.Generator(), bias=False).bias is None


def test_sparse_view_of_an_empty_row_and_column():
    matrix = scipy.sparse.csr_matrix(np.array([[0.0, 0, 0], [1, 0, 2]]))
    view = SparseView(matrix, torch.float64, "cpu")
    w = torch.arange(6.0, dtype=torch.float64).reshape(3, 2)
    expected = torch.tensor([[0, 0], [8, 11]], dtype=torch.float64)
    torch.testing.assert_close(view.x @ w, expected)
    unsorted = scipy.sparse.csr_matrix(([2.0, 1.0], [2, 0], [0, 0, 2]), shape=(2, 3))
    torch.testing.assert_close(product(SparseView(unsorted, torch.float64, "cpu"), w), expected)
    assert unsorted.indices.tolist() == [2, 0]  # the caller's matrix is left alone


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_linear_layer_on_a_sparse_view_is_the_dense_one(dtype, generator):
    matrix = scipy.sparse.random(30, 12, 0.15, "csr", random_state=0)
    layer = dense_layer(12, 4, generator).to(dtype)
    results = []
    for view in (matrix, matrix.toarray()):
        out = linear(layer, view_tensor(view, dtype))
        assert out.dtype == dtype
        results.append([out, *torch.autograd.grad(out.square().sum(), list(layer.parameters()))])
    for sparse, dense in zip(*results):
        torch.testing.assert_close(sparse, dense)


def test_view_tensor_keeps_the_kind_of_a_view():
    matrix = scipy.sparse.csr_matrix(np.eye(3))
    assert isinstance(view_tensor(matrix), SparseView)
    dense = view_tensor(np.eye(3), torch.float64)
    assert dense.dtype == torch.float64 and torch.equal(dense, torch.eye(3, dtype=torch.float64))
