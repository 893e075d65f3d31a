"""Soft assignments, their target and their losses against line-by-line references."""

import math

import numpy as np
import pytest
import torch
from helpers import assert_matches
from sklearn.metrics import adjusted_rand_score

from dmac.peers._gcn import divergence, sharpened, student_t
from dmac.peers.surer import class_means, pseudo_labels


def random(*shape, seed=0, gradient=True):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(*shape, generator=generator, dtype=torch.float64)
    return x.requires_grad_(gradient)


def test_student_t_is_its_definition():
    def slow(z, u):
        rows = []
        for row in z:
            kernel = torch.stack([1 / (1 + (row - center).square().sum()) for center in u])
            rows.append(kernel / kernel.sum())
        return torch.stack(rows)

    z, u = random(7, 3), random(4, 3, seed=1)
    assert_matches(student_t, slow, z, u)
    # Far from the origin the distances keep their digits, in single precision too.
    far = (z.detach() + 1000).float(), (u.detach() + 1000).float()
    torch.testing.assert_close(student_t(*far).double(), slow(z, u).detach(), rtol=0, atol=1e-3)


def test_student_t_of_two_points():
    # On a centre, at distance 2 from the other: kernels 1 and 1/5.
    q = student_t(torch.tensor([[0.0]]), torch.tensor([[0.0], [2.0]]))
    torch.testing.assert_close(q, torch.tensor([[5 / 6, 1 / 6]]))


def test_target_is_its_definition_and_sharper():
    q = student_t(random(7, 3), random(4, 3, seed=1))
    p, q = sharpened(q), q.detach()
    assert not p.requires_grad
    for i in range(7):
        row = [float(q[i, j] ** 2 / q[:, j].sum()) for j in range(4)]
        np.testing.assert_allclose(p[i], np.array(row) / sum(row), rtol=1e-12)
    even = torch.tensor([[0.6, 0.4], [0.4, 0.6]])
    torch.testing.assert_close(sharpened(even)[0, 0], torch.tensor(0.36 / 0.52))


def test_target_survives_an_empty_cluster():
    q = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    torch.testing.assert_close(sharpened(q), q)
    assert divergence(q, torch.full((2, 2), 0.5)) == pytest.approx(math.log(2))


def test_divergence_is_its_definition():
    def slow(q):
        return sum(p[i, j] * (p[i, j] / q[i, j]).log() for i in range(7) for j in range(4)) / 7

    p = random(7, 4, seed=2, gradient=False).softmax(1)
    assert_matches(
        lambda logits: divergence(p, logits.softmax(1)),
        lambda logits: slow(logits.softmax(1)),
        random(7, 4),
    )
    assert divergence(p, p) == pytest.approx(0, abs=1e-12)


def test_class_means_are_those_of_every_class_and_of_all_rows_without_one():
    z, labels = random(9, 2, gradient=False), torch.tensor([0, 0, 0, 3, 3, 3, 3, 1, 1])
    means = class_means(z, labels, 4)
    for label in (0, 1, 3):
        torch.testing.assert_close(means[label], z[labels == label].mean(0))
    torch.testing.assert_close(means[2], z.mean(0))


def planted(sizes=(20, 12, 8)):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    h = 4 * torch.eye(len(sizes))[torch.as_tensor(labels)]
    return labels, h + 0.1 * random(len(labels), len(sizes), gradient=False).float()


@pytest.mark.parametrize("how", ["kmeans", "spectral"])
def test_pseudo_labels_are_the_planted_ones(how):
    labels, h = planted()
    found = pseudo_labels([h, h + 0.01], 3, 0, how)
    assert found.dtype == np.int64 and found.shape == labels.shape
    assert adjusted_rand_score(labels, found) == 1


def test_pseudo_labels_by_the_graphs_need_no_common_axes():
    # The mean of H and -H is 0, and their graphs are the same.
    labels, h = planted()
    assert adjusted_rand_score(labels, pseudo_labels([h, -h], 3, 0, "spectral")) == 1
    blind = pseudo_labels([h, 1e-3 * random(*h.shape).detach().float() - h], 3, 0, "kmeans")
    assert adjusted_rand_score(labels, blind) < 0.3
