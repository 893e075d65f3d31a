"""Linear layers and sparse views: where the weights come from, and sparse is what dense is."""

import math

import numpy as np
import scipy.sparse
import torch

from dmac.compute.layers import SparseView, dense_layer, product


def test_initial_weights_come_from_the_generator_alone():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    layers = [dense_layer(40, 30, torch.Generator().manual_seed(1)) for _ in range(2)]
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(layers[0].weight, layers[1].weight)
    assert 0.95 < math.sqrt(40) * layers[0].weight.abs().max() <= 1
    assert dense_layer(4, 3, torch.Generator(), bias=False).bias is None


def test_sparse_view_of_an_empty_row_and_column():
    w = torch.arange(6.0, dtype=torch.float64).reshape(3, 2)
    expected = torch.tensor([[0, 0], [8, 11]], dtype=torch.float64)
    unsorted = scipy.sparse.csr_matrix(([2.0, 1.0], [2, 0], [0, 0, 2]), shape=(2, 3))
    for one in (scipy.sparse.csr_matrix(np.array([[0.0, 0, 0], [1, 0, 2]])), unsorted):
        torch.testing.assert_close(product(SparseView(one, torch.float64, "cpu"), w), expected)
    assert unsorted.indices.tolist() == [2, 0]  # the caller's matrix is left alone
