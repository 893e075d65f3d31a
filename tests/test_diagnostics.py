"""Collapse measures on embeddings whose measures are known."""

import math

import numpy as np
import pytest
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


def test_collapsed_embedding():
    z = torch.ones(50, 8) + 1e-4 * torch.randn(50, 8, generator=torch.Generator().manual_seed(0))
    assert diagnostics.mean_cosine(z) > 0.999999
    assert diagnostics.effective_rank(z) < 1.01


def test_isotropic_embedding_has_full_effective_rank():
    z = torch.eye(6).repeat(5, 1)
    assert diagnostics.effective_rank(z) == pytest.approx(6)


def test_effective_rank_is_the_exponential_of_the_entropy():
    z = torch.diag(torch.tensor([3.0, 1.0]))
    p = np.array([0.75, 0.25])
    assert diagnostics.effective_rank(z) == pytest.approx(math.exp(-(p * np.log(p)).sum()))


def test_zero_embedding():
    assert diagnostics.effective_rank(torch.zeros(4, 3)) == 0
    assert diagnostics.mean_cosine(torch.zeros(4, 3)) == 0


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
