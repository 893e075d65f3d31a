"""Encoders, decoders, fusion and pre-training; sparse views give what dense ones give."""

import math

import numpy as np
import pytest
import scipy.sparse
import torch

from dmac import reference
from dmac.embedding import (
    SparseView,
    ViewDecoder,
    ViewEncoder,
    dense_layer,
    fuse,
    pretrain,
    reconstruction_loss,
    view_tensor,
)


def encoder(generator, n_features=12, normalize=True):
    return ViewEncoder(
        n_features, 8, 5, negative_slope=0.01, normalize=normalize, generator=generator
    ).double()


def leaky(x):
    return torch.where(x > 0, x, 0.01 * x)


def test_encoder_is_two_layers_with_unit_rows(generator):
    module = encoder(generator)
    x = torch.randn(9, 12, generator=generator, dtype=torch.float64)
    w1, b1, w2, b2 = module.parameters()
    z = leaky(leaky(x @ w1.T + b1) @ w2.T + b2)
    torch.testing.assert_close(module(x), z / z.norm(dim=1, keepdim=True))
    module.normalize = False
    torch.testing.assert_close(module(x), z)


def test_decoder_is_the_mirror(generator):
    module = ViewDecoder(12, 8, 5, negative_slope=0.01, generator=generator).double()
    z = torch.randn(9, 5, generator=generator, dtype=torch.float64)
    w1, b1, w2, b2 = module.parameters()
    x = leaky(leaky(z @ w1.T + b1) @ w2.T + b2)
    torch.testing.assert_close(module(z), x / x.norm(dim=1, keepdim=True))


def test_initial_weights_come_from_the_generator_alone():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    layers = [dense_layer(40, 30, torch.Generator().manual_seed(1)) for _ in range(2)]
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(layers[0].weight, layers[1].weight)
    bound = 1 / math.sqrt(40)
    assert 0.95 * bound < layers[0].weight.abs().max() <= bound


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_sparse_view_gives_the_values_and_gradients_of_the_dense_one(dtype):
    matrix = scipy.sparse.random(30, 12, 0.15, "csr", random_state=0)
    results = []
    for view in (matrix, matrix.toarray()):
        generator = torch.Generator().manual_seed(0)
        module = encoder(generator).to(dtype)
        x = view_tensor(view, dtype)
        z = module(x)
        decoder = ViewDecoder(12, 8, 5, negative_slope=0.01, generator=generator).to(dtype)
        loss = reconstruction_loss(decoder(z), x)
        parameters = [*module.parameters(), *decoder.parameters()]
        results.append([z, loss, *torch.autograd.grad(loss, parameters)])
    assert isinstance(view_tensor(matrix), SparseView)
    for sparse, dense in zip(*results):
        torch.testing.assert_close(sparse, dense)


def test_sparse_view_of_an_empty_row_and_column():
    matrix = scipy.sparse.csr_matrix(np.array([[0.0, 0, 0], [1, 0, 2]]))
    view = SparseView(matrix, torch.float64, "cpu")
    w = torch.arange(6.0, dtype=torch.float64).reshape(3, 2)
    torch.testing.assert_close(view.x @ w, torch.tensor([[0, 0], [8, 11]], dtype=torch.float64))


def test_zero_row_stays_finite_through_the_encoder(generator):
    module = encoder(generator)
    with torch.no_grad():
        module.first.bias.zero_()
        module.second.bias.zero_()
    z = module(torch.zeros(2, 12, dtype=torch.float64))
    z.sum().backward()
    assert (z == 0).all()
    assert all(torch.isfinite(p.grad).all() for p in module.parameters())


def test_fusion_is_the_mean(generator):
    zs = [torch.randn(6, 3, generator=generator, dtype=torch.float64) for _ in range(4)]
    torch.testing.assert_close(fuse(zs), reference.fuse(zs))
    z = reference.fuse(zs)
    torch.testing.assert_close(fuse(zs, normalize=True), z / z.norm(dim=1, keepdim=True))


def test_pretraining_lowers_the_loss_it_reports(generator):
    views = [torch.rand(50, d, generator=generator, dtype=torch.float64) for d in (12, 7)]
    views = [torch.nn.functional.normalize(x, dim=1) for x in views]
    encoders = [encoder(generator, x.shape[1]) for x in views]
    decoders = [
        ViewDecoder(x.shape[1], 8, 5, negative_slope=0.01, generator=generator).double()
        for x in views
    ]
    with torch.no_grad():
        z = fuse([e(x) for e, x in zip(encoders, views)], normalize=True)
        first = sum(((d(z) - x) ** 2).mean() for d, x in zip(decoders, views))
    records = list(pretrain(encoders, decoders, views, epochs=100, lr=1e-2, normalize=True))
    assert [r.epoch for r in records] == list(range(1, 101))
    assert records[0].loss == pytest.approx(float(first))
    assert records[-1].loss < 0.5 * records[0].loss


def test_pretraining_is_full_batch_rmsprop():
    x = torch.rand(20, 12, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    results = []
    for by_hand in (False, True):
        generator = torch.Generator().manual_seed(0)
        module = encoder(generator)
        mirror = ViewDecoder(12, 8, 5, negative_slope=0.01, generator=generator).double()
        parameters = [*module.parameters(), *mirror.parameters()]
        if by_hand:
            optimiser = torch.optim.RMSprop(parameters, lr=1e-2, alpha=0.99, eps=1e-8)
            for _ in range(3):
                z = torch.nn.functional.normalize(module(x), dim=1)
                optimiser.zero_grad()
                ((mirror(z) - x) ** 2).mean().backward()
                optimiser.step()
        else:
            list(pretrain([module], [mirror], [x], epochs=3, lr=1e-2, normalize=True))
        results.append([p.detach() for p in parameters])
    for fitted, expected in zip(*results):
        torch.testing.assert_close(fitted, expected)


def test_pretraining_that_diverges_is_an_error(generator):
    module = encoder(generator)
    decoder = ViewDecoder(12, 8, 5, negative_slope=0.01, generator=generator).double()
    with torch.no_grad():
        module.first.weight.fill_(torch.inf)
    x = torch.ones(4, 12, dtype=torch.float64)
    with pytest.raises(FloatingPointError, match="epoch 1"):
        list(pretrain([module], [decoder], [x], epochs=3, lr=1e-3, normalize=True))
