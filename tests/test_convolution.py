"""AGCN against the dense reference, and what its operator is and is not."""

import torch
from helpers import assert_matches, problems, random_points
from hypothesis import given

from dmac import reference
from dmac.anchor_graph import anchor_graph
from dmac.compute.distances import squared_distances
from dmac.convolution import AnchorGraphConvolution


@given(problems)
def test_matches_the_reference(problem):
    n, m, d, seed, k = problem
    z, u = random_points(n, m, d, seed)
    generator = torch.Generator().manual_seed(seed)
    # 5 -> 7 widens and 7 -> 3 narrows, so both orders of the product are taken.
    module = AnchorGraphConvolution((d, 7, 3), negative_slope=0.01, generator=generator).double()
    weights = [layer.weight.T for layer in module.layers]
    assert_matches(
        lambda z, u, *_: module(anchor_graph(squared_distances(z, u), k), u),
        lambda z, u, *_: reference.agcn(reference.anchor_graph(z, u, k), u, weights),
        z,
        u,
        *module.parameters(),
    )


def test_anchor_without_samples_is_uniform(generator):
    z, u = random_points(10, 4, 3, 1)
    far = torch.cat([u.detach(), torch.full((1, 3), 1e3, dtype=torch.float64)])
    module = AnchorGraphConvolution((3, 4, 5), negative_slope=0.01, generator=generator).double()
    f = module(anchor_graph(squared_distances(z, far), 2), far)
    torch.testing.assert_close(f[-1], torch.full((5,), 0.2, dtype=torch.float64))
    torch.testing.assert_close(f.sum(1), torch.ones(5, dtype=torch.float64))
