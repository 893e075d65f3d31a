"""Collapse measures on embeddings whose measures are known."""

import math

import numpy as np
import pytest
import scipy.sparse
import torch
from helpers import problems, random_points
from hypothesis import given

from dmac import diagnostics


@given(problems)
def test_mean_cosine_is_the_mean_over_pairs(problem):
    n, m, d, seed, _ = problem
    z = random_points(n, m, d, seed)[0].detach()
    unit = z / z.norm(dim=1, keepdim=True)
    pairs = (unit @ unit.T)[~torch.eye(n, dtype=bool)]
    assert diagnostics.mean_cosine(z) == pytest.approx(float(pairs.mean()), abs=1e-12)


@pytest.mark.parametrize(
    "z, rank",
    [
        (
            torch.diag(torch.tensor([3.0, 1.0])),
            math.exp(-0.75 * math.log(0.75) - 0.25 * math.log(0.25)),
        ),
        (np.outer(*(np.random.default_rng(0).normal(size=size) for size in (50, 6))), 1),
        (torch.zeros(4, 3), 0),
    ],
    ids=["of 3 and 1", "of one direction", "of zeros"],
)
def test_effective_rank_is_the_exponential_of_the_entropy(z, rank):
    assert diagnostics.effective_rank(z) == pytest.approx(rank, abs=1e-5)


def test_singular_values_of_the_centred_rows():
    z = torch.randn(20, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    expected = np.linalg.svd((z - z.mean(0)).numpy(), compute_uv=False)
    np.testing.assert_allclose(diagnostics.singular_values(z), expected)
    raw = np.linalg.svd(z.numpy(), compute_uv=False)
    np.testing.assert_allclose(diagnostics.singular_values(z, centred=False), raw)


def test_empty_anchors_counts_zero_columns():
    assert diagnostics.empty_anchors(torch.tensor([0.0, 2.0, 0.0, 1e-30])) == 2


def test_one_row_has_no_pairs():
    with pytest.raises(ValueError, match="two rows"):
        diagnostics.mean_cosine(torch.ones(1, 3))
    assert diagnostics.mean_cosine(torch.tensor([[1.0, 0], [3, 4]])) == pytest.approx(0.6)
    assert diagnostics.mean_cosine(torch.zeros(4, 3)) == 0


def table(seed=0, n=10, d=4):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_data_without_clusters_have_the_means_and_covariances_of_the_views():
    views = [table(d=3), table(1, d=2) @ [[1.0, 2], [0, 1]] + 5]
    drawn = [np.hstack(diagnostics.gaussian_like(views, seed)) for seed in range(2000)]
    x, y = np.hstack(views), np.vstack(drawn)
    np.testing.assert_allclose(y.mean(0), x.mean(0), atol=0.1)
    np.testing.assert_allclose(np.cov(y.T), np.cov(x.T), atol=0.1)
    counts = scipy.sparse.csr_matrix(np.arange(30.0).reshape(10, 3) % 4)
    lacking = table() / 10  # with negative values, if small ones
    lacking[:3] = 0
    of_counts, of_lacking = diagnostics.gaussian_like([counts, lacking], 0)
    assert of_counts.min() == 0 and not of_lacking[:3].any() and of_lacking[3:].all()
