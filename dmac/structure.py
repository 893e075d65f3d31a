"""Structure preservation: the full sample graph behind an anchor graph, and its trace form.

Chapter 7 of the book derives the trace form, its factor 2, and why the graph is never formed.
"""


def structure_preservation_loss(z, graph):
    r"""Smoothness of an embedding on the sample graph :math:`G = S D_S^{-1} S^T`.

    The trace form of the paper (eq. sp_loss_speed),

    .. math:: L_{SP} = \mathrm{Tr}\big(Z^T (I - S D_S^{-1} S^T) Z\big)
              = \|Z\|_F^2 - \sum_j \frac{\|(S^T Z)_j\|^2}{d_j},

    which is half the double sum :math:`\sum_{ij} g_{ij} \|z_i - z_j\|^2` (eq. sp_loss), in
    O(n k d). G is doubly stochastic, so moving every row of Z by the same vector changes nothing;
    the mean row is subtracted first, because in a collapsed embedding the difference of the two
    terms would lose all its digits.

    Parameters
    ----------
    z : torch.Tensor of shape (n, d)
        The fused embedding.
    graph : AnchorGraph
        n samples, m anchors; an anchor without samples contributes nothing.

    Returns
    -------
    torch.Tensor of shape ()
        At least 0 up to rounding, a sum over samples (not divided by n).
    """
    z = z - z.detach().mean(0)
    t = graph.to_anchors(z)
    return z.square().sum() - (t.square().sum(1) * graph.inverse_degrees()).sum()
