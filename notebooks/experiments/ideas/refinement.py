r"""Anchors and noise that learn: the paper's three ideas in forms whose gradient reaches them.

In the paper the anchors move with the embedding, and in the substitutes that were tried before
nothing moved them at all. Here the embedding is given, by the spectral recipe's first graph, and
the anchors of its blocks, or the noise on them, are what a loss trains. The samples of a step are
split in two: anchors get their values from one half, and are judged on the other. Chapter 11 of the
book derives every form, chapter 13 measures them.
"""

import math
from collections import namedtuple

import torch

from dmac.anchor_graph import closed_form_graph
from dmac.scaling import assign, assignment_entropy

#: What `refine` can minimise, by the idea of the paper that it belongs to.
FORMS = {
    "perturbation": ("noise by prediction", "noise by agreement"),
    "anchor learning": ("prediction", "balanced entropy"),
    "consistency": ("cross-entropy", "information"),
}
# Samples of a step, first step size in units of the anchors' spread, first size of the noise.
_BATCH = 2048
_STEP = 0.1
_NOISE = 0.5
# What a predicted assignment is raised by before its logarithm.
_FLOOR = 1e-3
# The bandwidth where every sample coincides with an anchor, as in a view that is constant.
_LEAST = 1e-12


#: What the anchors of a block should know of its samples: filtered ``rows`` of the first graph,
#: (n, K); ``shares``, soft assignments to its clusters, (n, c), whose rows sum to 1; and what the
#: graphs of the ``others``, of the other blocks, predict of these, (n, c).
Targets = namedtuple("Targets", "rows shares others")


def soft_assignments(rows, centers):
    r"""Soft assignments :math:`q_{ik} \propto \exp(-\|z_i - \mu_k\|^2 / \tau)`.

    Parameters
    ----------
    rows : torch.Tensor of shape (n, K)
    centers : torch.Tensor of shape (c, K)

    Returns
    -------
    torch.Tensor of shape (n, c)
        With :math:`\tau` the mean squared distance of a row to its nearest centre.
    """
    d2 = torch.cdist(rows, centers).square()
    width = d2.amin(1).mean().clamp_min(1e-12)
    return torch.softmax(-d2 / width, 1)


def refine(x, u, n_neighbors, form, targets, steps, generator):
    r"""Train the anchors of one set, or the noise on them, by one of `FORMS`.

    With a half A of the samples of a step, the value of anchor j is the weighted mean
    :math:`t_j = \sum_{i \in A} s_{ij} y_i / \sum_{i \in A} s_{ij}`, and what the set predicts of a
    sample of the other half B is :math:`\hat y_i = \sum_j s_{ij} t_j`: the sample graph of
    :eq:`eq:sample-graph` between the halves. The gradient passes through the weights
    :math:`s_{ij}` of :eq:`eq:anchor-graph` to the anchors.

    - "prediction": :math:`\frac{1}{|B|}\sum_{i \in B} \|z_i - \hat z_i\|^2`, the structure loss of
      held-out samples, with the filtered rows z.
    - "balanced entropy": the paper's anchor learning loss :eq:`eq:anchor-learning`, with a
      bandwidth from the data and all anchors kept in use
      (:func:`dmac.anchors.anchor_learning_loss`).
    - "cross-entropy": :math:`-\frac{1}{|B|}\sum_{i \in B} \sum_k p_{ik} \log \hat q_{ik}`, with q
      the soft assignments and p what the other blocks' graphs predict of them.
    - "information": minus the mutual information of :math:`\hat q` and p, with the joint
      distribution :math:`\frac{1}{|B|} \hat Q^T P`, which is not symmetrised.
    - "noise by prediction": anchors stay, and carry noise :math:`\sigma_j \epsilon`; the
      :math:`\sigma_j` minimise the first of these losses.
    - "noise by agreement": the :math:`\sigma_j` minimise the mean squared difference of what two
      disjoint sets with this noise predict, over the variance of that between samples.

    Parameters
    ----------
    x : torch.Tensor of shape (n, r)
        Samples of a block.
    u : torch.Tensor of shape (m, r)
    n_neighbors : int
        k.
    form : str
    targets : Targets
    steps : int
        Of Adam, its step falling to 0.
    generator : torch.Generator
        On the CPU.

    Returns
    -------
    torch.Tensor of shape (m, r)
        Without gradient. For noise, anchors with a draw of it.

    Raises
    ------
    FloatingPointError
        If the anchors stop being finite.
    """
    whole, u = len(x), u.detach()
    spread = assign(x[: min(whole, _BATCH)], u, 1).distances.mean().div(x.shape[1]).sqrt()
    noisy = form.startswith("noise")
    shape = (len(u), 1) if noisy else u.shape
    start = math.log(_NOISE) if noisy else 0.0
    weight = torch.full(shape, start, dtype=u.dtype, device=u.device, requires_grad=True)

    def anchors(base):
        if not noisy:
            return base + spread * weight
        noise = torch.randn(base.shape, generator=generator, dtype=base.dtype).to(base)
        return base + spread * weight.exp() * noise

    with torch.enable_grad():
        optimiser = torch.optim.Adam([weight], lr=_STEP)
        for step in range(steps):
            optimiser.param_groups[0]["lr"] = _STEP * (1 + math.cos(math.pi * step / steps)) / 2
            rows = torch.randperm(whole, generator=generator)[:_BATCH]
            halves = rows[: len(rows) // 2], rows[len(rows) // 2 :]
            second = None
            if form == "noise by agreement":
                second = anchors(x[torch.randperm(whole, generator=generator)[: len(u)]])
            loss = _loss(form, x, anchors(u), second, halves, targets, n_neighbors)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    trained = anchors(u).detach()
    if not torch.isfinite(trained).all():
        raise FloatingPointError(
            f"the anchors that {form!r} trains stopped being finite: are the views on very "
            "different scales, or is one of them constant?"
        )
    return trained


def _loss(form, x, u, second, halves, targets, k):
    a, b = halves
    if form == "balanced entropy":
        batch = x[torch.cat(halves)]
        width = assign(batch, u.detach(), 1).distances.mean().clamp_min(_LEAST)
        return assignment_entropy(batch, u, width, balanced=True)
    y = targets.shares if form in ("cross-entropy", "information") else targets.rows
    predicted = predict(x[a], y[a], x[b], u, k)
    match form:
        case "noise by agreement":
            other = predict(x[a], y[a], x[b], second, k)
            between = predicted.var(0).sum() + other.var(0).sum()
            return (predicted - other).square().sum(1).mean() / between.clamp_min(1e-12)
        case "cross-entropy":
            return -(targets.others[b] * (predicted + _FLOOR).log()).sum(1).mean()
        case "information":
            joint = predicted.T @ targets.others[b] / len(b)
            apart = joint.sum(1, keepdim=True) * joint.sum(0, keepdim=True)
            return -(joint * ((joint + 1e-12) / (apart + 1e-12)).log()).sum()
    return (predicted - y[b]).square().sum(1).mean()


def predict(x_known, y_known, x, u, n_neighbors):
    """What anchors carry of the values (a, q) of some samples to others: -> (b, q).

    Differentiable in the anchors; anchors without a known sample say nothing.
    """
    known, new = (_graph(rows, u, n_neighbors) for rows in (x_known, x))
    ones = y_known.new_ones(len(y_known), 1)
    sums = known.to_anchors(torch.cat([y_known, ones], 1))
    means = sums * known.inverse_degrees()[:, None]
    carried = new.to_samples(means)
    return carried[:, :-1] / carried[:, -1:].clamp_min(_FLOOR)


def _graph(x, u, n_neighbors):
    nearest = assign(x, u, n_neighbors + 1)
    return closed_form_graph(nearest.distances, nearest.indices, len(u))
