"""The paper's equations line by line: dense, slow, and plain to see.

The tests and the chapter on cost compare the package with this reading; nothing else imports it.
Every function takes and returns tensors of one type (float64 in the tests) and is differentiable.
Numbers like "Eq. 2" are the paper's; chapters 2 to 8 of the book derive the equations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def fuse(zs: Sequence[Tensor]) -> Tensor:
    """Eq. 2, :eq:`eq:fusion`: the mean of the view embeddings, v of (n, d) -> (n, d)."""
    return torch.stack(list(zs)).mean(0)


def perturbed_anchors(u_hat: Tensor, mu: Tensor, sigma: Tensor, noise: Tensor) -> Tensor:
    """Eqs. 3 to 6, :eq:`eq:reparameterisation`: U_hat + mu + sigma * noise, all (m, d)."""
    return u_hat + (mu + sigma * noise)


def squared_distances(z: Tensor, u: Tensor) -> Tensor:
    """||z_i - u_j||^2 through the n x m x d differences: (n, d), (m, d) -> (n, m)."""
    difference = z[:, None, :] - u[None, :, :]
    return (difference**2).sum(2)


def similarity(z: Tensor, u: Tensor) -> Tensor:
    """Eq. 7, :eq:`eq:similarity`: Student-t similarity, rows sum to 1: (n, m)."""
    kernel = 1 / (1 + squared_distances(z, u))
    return kernel / kernel.sum(1, keepdim=True)


def anchor_learning_loss(z: Tensor, u: Tensor) -> Tensor:
    """Eq. 9, :eq:`eq:anchor-learning`: the mean entropy of the rows of q, in nats."""
    q = similarity(z, u)
    return -(q * torch.log(q)).sum() / len(z)


def anchor_graph(z: Tensor, u: Tensor, k: int) -> Tensor:
    """Eq. 10 solved row by row, :eq:`eq:anchor-graph`: (n, m) with k entries a row."""
    d = squared_distances(z, u)
    rows = []
    for d_i in d:
        order = torch.argsort(d_i)
        neighbours = order[:k]
        border = d_i[order[k]]
        s_i = torch.zeros_like(d_i)
        s_i[neighbours] = (border - d_i[neighbours]) / (k * border - d_i[neighbours].sum())
        rows.append(s_i)
    return torch.stack(rows)


def gamma(d: Tensor, k: int) -> Tensor:
    """The gamma of each row that gives k neighbours :eq:`eq:row-problem`: (n, m) -> (n,)."""
    nearest = torch.sort(d, dim=1).values[:, : k + 1]
    return (k * nearest[:, k] - nearest[:, :k].sum(1)) / 2


def inverse_degrees(s: Tensor) -> Tensor:
    """Diagonal of the inverse of D_S, with 0 for an anchor without samples: (m,)."""
    degrees = s.sum(0)
    return torch.stack([1 / d if d > 0 else torch.zeros_like(d) for d in degrees])


def convolution_operator(s: Tensor) -> Tensor:
    """D_S^-1 S^T S, as it stands (:eq:`eq:association` avoids it): (n, m) -> (m, m)."""
    return torch.diag(inverse_degrees(s)) @ s.T @ s


def agcn(s: Tensor, u: Tensor, weights: Sequence[Tensor], negative_slope: float = 0.01) -> Tensor:
    """Eq. 11, :eq:`eq:agcn`: F <- phi(D_S^-1 S^T S F W), leaky ReLU, softmax last: (m, c).

    ``weights`` are (n_in, n_out) matrices.
    """
    f = u
    for layer, w in enumerate(weights):
        f = convolution_operator(s) @ f @ w
        if layer < len(weights) - 1:
            f = torch.where(f > 0, f, negative_slope * f)
    exponent = torch.exp(f - f.max(1, keepdim=True).values)
    return exponent / exponent.sum(1, keepdim=True)


def mutual_information(p: Tensor) -> Tensor:
    """Sum of p(x, y) log(p(x, y) / (p(x) p(y))), :eq:`eq:mutual-information`: (c, c) -> ()."""
    return (p * torch.log(p / torch.outer(p.sum(1), p.sum(0)))).sum()


def mutual_information_per_row(f_a: Tensor, f_b: Tensor) -> Tensor:
    """The paper's reading, :eq:`eq:per-row`: the joint of anchor i is a product of rows: (m,)."""
    return torch.stack([mutual_information(torch.outer(x, y)) for x, y in zip(f_a, f_b)])


def mutual_information_joint(f_a: Tensor, f_b: Tensor) -> Tensor:
    """The joint over anchors, :eq:`eq:joint-over-anchors`, symmetrised (Ji et al. 2019): ()."""
    outer = (torch.outer(x, y) for x, y in zip(f_a, f_b))
    p = sum(outer, start=f_a.new_zeros(())) / len(f_a)
    p = (p + p.T) / 2
    return mutual_information(p / p.sum())


def consistency_loss(fs: Sequence[Tensor], reading: str) -> Tensor:
    """Eq. 12, :eq:`eq:consistency-loss`: -sum over a < b of the mutual information."""
    loss = fs[0].new_zeros(())
    for a in range(len(fs)):
        for b in range(a + 1, len(fs)):
            if reading == "per_row":
                loss = loss - mutual_information_per_row(fs[a], fs[b]).sum() / len(fs[a])
            else:
                loss = loss - mutual_information_joint(fs[a], fs[b])
    return loss


def full_graph(s: Tensor) -> Tensor:
    """Eq. 14, :eq:`eq:sample-graph`: G = S D_S^-1 S^T, (n, m) -> (n, n)."""
    return s @ torch.diag(inverse_degrees(s)) @ s.T


def structure_preservation_loss_pairs(z: Tensor, s: Tensor) -> Tensor:
    """Eq. 15, :eq:`eq:pairs-form`: sum over i and j of ||z_i - z_j||^2 g_ij."""
    return (squared_distances(z, z) * full_graph(s)).sum()


def structure_preservation_loss_trace(z: Tensor, s: Tensor) -> Tensor:
    """Eq. 19, :eq:`eq:trace-form`: Tr(Z^T D_G Z - Z^T G Z), with G formed."""
    g = full_graph(s)
    return torch.trace(z.T @ torch.diag(g.sum(1)) @ z - z.T @ g @ z)


def joint_loss(
    zs: Sequence[Tensor],
    z: Tensor,
    u: Tensor,
    k: int,
    agcn_weights: Sequence[Sequence[Tensor]],
    *,
    reading: str,
    sp_form: str,
    al_weight: float,
    cm_weight: float,
    sp_weight: float,
) -> Tensor:
    """Eq. 16, :eq:`eq:joint-loss`, with three weights; AGCN weights are a list a view."""
    structures: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
        "pairs": structure_preservation_loss_pairs,
        "trace": structure_preservation_loss_trace,
        "mean": lambda z, s: structure_preservation_loss_trace(z, s) / len(z),
    }
    graphs = [anchor_graph(z_a, u, k) for z_a in zs]
    fs = [agcn(s, u, weights) for s, weights in zip(graphs, agcn_weights)]
    al = sum(anchor_learning_loss(z_a, u) for z_a in zs)
    sp = sum(structures[sp_form](z, s) for s in graphs)
    return al_weight * al + cm_weight * consistency_loss(fs, reading) + sp_weight * sp
