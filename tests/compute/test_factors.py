"""Products of sparse factors against dense ones."""

import numpy as np
import pytest
import scipy.sparse

from dmac.compute.factors import csr_tensor, times


def factor(n, m, k, seed=0):
    rng = np.random.default_rng(seed)
    indices = np.sort(np.stack([rng.choice(m, k, replace=False) for _ in range(n)]), 1)
    return scipy.sparse.csr_matrix(
        (rng.random(n * k), indices.ravel(), np.arange(0, n * k + 1, k)), (n, m)
    )


def test_tensors_share_the_memory():
    b = factor(10, 7, 3)
    tensor = csr_tensor(b)
    b.data *= 2
    np.testing.assert_array_equal(tensor.to_dense().numpy(), b.toarray())


@pytest.mark.parametrize("columns", [1, 5, 70])
def test_products(columns):
    b, rng = factor(50, 8, 3), np.random.default_rng(2)
    x, y = rng.standard_normal((50, columns)), rng.standard_normal((8, columns))
    np.testing.assert_allclose(times(csr_tensor(b), y), b.toarray() @ y, atol=1e-13)
    np.testing.assert_allclose(times(csr_tensor(b.T.tocsr()), x), b.toarray().T @ x, atol=1e-13)
